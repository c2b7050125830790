//! Counts, lists of ranks, times and sizes in messages.

use ftmpi_wire::Rank;
use std::time::Duration;

/// A count with its noun: `1 failure`, `2 failures`.
pub fn count<N: Copy + PartialEq + From<u8> + std::fmt::Display>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A count with a noun whose plural is irregular.
pub fn count_of(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Ranks in ascending order, neighbours as ranges: `rank 3`, `ranks 0-2, 5`.
pub fn ranks(ranks: &[Rank]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank.0 => *last = rank.0,
            _ => ranges.push((rank.0, rank.0)),
        }
    }
    let one = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let list: Vec<String> = ranges.iter().map(one).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", list.join(", "))
}

/// A time that was measured: `0.42 s`, `63 s`, `4 m 12 s`, `3 h 05 m`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds < 0.01 => format!("{:.1} ms", 1e3 * seconds),
        _ if seconds < 10.0 => format!("{seconds:.2} s"),
        _ if seconds < 100.0 => format!("{seconds:.1} s"),
        _ if seconds < 3600.0 => {
            let whole = seconds.round() as u64;
            format!("{} m {:02} s", whole / 60, whole % 60)
        }
        _ => {
            let minutes = (seconds / 60.0).round() as u64;
            format!("{} h {:02} m", minutes / 60, minutes % 60)
        }
    }
}

/// A time as options take it: `500ms`, `30s`, `2m`, `4h`.
pub fn option_time(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        _ if !ms.is_multiple_of(1000) => format!("{ms}ms"),
        _ if ms.is_multiple_of(3_600_000) && ms > 0 => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) && ms > 0 => format!("{}m", ms / 60_000),
        _ => format!("{}s", ms / 1000),
    }
}

/// A size: `312 B`, `1.2 MB`, `48 GB`.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB"].into_iter().peekable();
    loop {
        let unit = units.next().unwrap_or("PB");
        if value < 999.5 || units.peek().is_none() {
            let digits = usize::from(value < 9.95 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1e3;
    }
}

/// A part of the whole, in per cent: `0.3 %`, `12 %`.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        _ if percent > 0.0 && percent < 0.05 => "less than 0.1 %".to_owned(),
        _ if percent < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_two_or_three_digits() {
        let ms = Duration::from_millis;
        let times = [4, 420, 12_340, 63_000, 252_000, 11_100_000].map(|at| time(ms(at)));
        assert_eq!(times, ["4.0 ms", "0.42 s", "12.3 s", "63.0 s", "4 m 12 s", "3 h 05 m"]);
        let options = [500, 1500, 30_000, 120_000, 7_200_000, 90_000].map(|at| option_time(ms(at)));
        assert_eq!(options, ["500ms", "1500ms", "30s", "2m", "2h", "90s"]);
        let sizes = [0, 312, 1_234_567, 48_000_000_000, 999_999].map(size);
        assert_eq!(sizes, ["0 B", "312 B", "1.2 MB", "48 GB", "1.0 MB"]);
        let parts = [0.0, 0.0001, 0.0034, 0.123].map(percent);
        assert_eq!(parts, ["0.0 %", "less than 0.1 %", "0.3 %", "12 %"]);
    }

    #[test]
    fn nouns_agree_with_their_counts() {
        assert_eq!(count(0_usize, "failure"), "0 failures");
        assert_eq!(count(1_u64, "failure"), "1 failure");
        assert_eq!(count(2_u32, "failure"), "2 failures");
    }

    #[test]
    fn neighbouring_ranks_become_ranges() {
        let list = |numbers: &[u32]| ranks(&numbers.iter().copied().map(Rank).collect::<Vec<_>>());
        assert_eq!(list(&[3]), "rank 3");
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "ranks 0-2, 5, 7-8");
    }
}
