//! Counts and lists of ranks in messages.

use ftmpi_wire::Rank;

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

#[cfg(test)]
mod tests {
    use super::*;

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
