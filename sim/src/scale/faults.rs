//! What faults leave of the time: the share in which a job makes progress, by the time between two
//! faults of one rank.
//!
//! Faults come at random (exponential), one rank at a time, `ranks / mtbf` of them in a second.
//! Each is noticed, its ranks fetch their images, and work since the image is done again. What the
//! machines measured (slowdown, events, waves) comes from the [`Row`](super::Row).
//! The formula is [`ftmpi_protocols::fault_cost`].

use super::model::Model;
use super::{Row, returning};
use clap::ValueEnum;
use ftmpi_protocols::fault_cost::{self, Costs};
use std::fmt::Write;

/// What is left under one rate of faults.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// Seconds between two faults of one rank.
    pub mtbf_s: f64,
    /// The best time between two images of a rank, in seconds.
    pub period_s: f64,
    /// Share of the time that is progress; 1 is a run without protocol and faults.
    pub efficiency: f64,
}

/// What faults leave of the time under the protocol and on the ranks of this row.
#[must_use]
pub fn left(row: &Row, mtbf_s: f64, model: &Model) -> Left {
    let rate = f64::from(row.ranks) / mtbf_s;
    // A server stores the images of its ranks one behind the other, whatever their order.
    let all_s = model.images_s(row.ranks, row.ranks);
    let back = returning(row.variant, row.ranks, model);
    let stored_s = model.images_s(row.ranks, back);
    let stop_s = model.pause_s + row.wave_ms / 1e3;
    let costs = Costs {
        all_return: row.variant.is_coordinated(),
        slowdown: row.slowdown,
        stop_s,
        stored_s,
        all_stored_s: all_s,
        noticed_s: model.detect_s + row.events_ms / 1e3,
    };
    let fault_cost::Left { period_s, efficiency } = costs.left(rate);
    Left { mtbf_s, period_s, efficiency }
}

/// All rows under all rates, with a heading.
#[must_use]
pub fn csv(rows: &[Row], mtbfs: &[f64], model: &Model) -> String {
    let mut text = "protocol,ranks,extrapolated,mtbf s,period s,efficiency\n".to_owned();
    for row in rows {
        let name = row.variant.to_possible_value().expect("no protocol is hidden");
        for &mtbf in mtbfs {
            let Left { mtbf_s, period_s, efficiency } = left(row, mtbf, model);
            let _ = writeln!(
                text,
                "{},{},{},{mtbf_s},{period_s:e},{efficiency:e}",
                name.get_name(),
                row.ranks,
                row.origin == super::Origin::Extrapolated,
            );
        }
    }
    text
}

/// For each rate of faults the best protocol at each number of ranks.
#[must_use]
pub fn table(rows: &[Row], mtbfs: &[f64], model: &Model) -> String {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.ranks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut text =
        String::from("one rank fails every | ranks: the protocol that leaves most of the time\n");
    for &mtbf in mtbfs {
        let _ = write!(text, "{:>20} |", format!("{:.4} d", mtbf / 86400.0));
        for &ranks in &sizes {
            let here = rows.iter().filter(|row| row.ranks == ranks);
            let best = here
                .map(|row| (left(row, mtbf, model).efficiency, row.variant))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((efficiency, variant)) = best {
                let name = variant.to_possible_value().expect("no protocol is hidden");
                let _ = write!(text, " {ranks}: {} {:.1} %;", name.get_name(), 100.0 * efficiency);
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol_config::Variant;
    use crate::scale::{grow, sizes};

    fn model() -> Model {
        Model {
            steps: 4,
            cluster: 4,
            bandwidth: 12.5e6,
            image: 1e9,
            per_server: 64,
            ..Model::default()
        }
    }

    fn row(variant: Variant) -> Row {
        let all = grow(variant, &sizes(16), 64, &model());
        *all.last().expect("a size was run")
    }

    /// mpich-v-2006, figure 9: every protocol has a rate past which nothing progresses, and
    /// coordination comes to it first; without faults both do well.
    #[test]
    fn coordination_stops_before_logging_as_faults_become_more() {
        let (waves, logs) = (row(Variant::Nonblocking), row(Variant::Vcausal));
        let at = |row: &Row, hours: f64| left(row, hours * 3600.0 * 16.0, &model()).efficiency;
        assert!(at(&waves, 1000.0) > 0.9 && at(&logs, 1000.0) > 0.9);
        assert!(at(&waves, 0.3) < 0.1, "{}", at(&waves, 0.3));
        assert!(at(&logs, 0.3) > 2.0 * at(&waves, 0.3));
        for row in [&waves, &logs] {
            let mut last = 1.0;
            for hours in [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01] {
                let now = at(row, hours);
                assert!((0.0..=last).contains(&now), "{now} after {last}");
                last = now;
            }
        }
    }

    #[test]
    fn every_row_has_every_rate() {
        let rows = [row(Variant::Blocking), row(Variant::Hierarchical)];
        assert_eq!(csv(&rows, &[1e5, 1e6], &model()).lines().count(), 5);
        assert_eq!(table(&rows, &[1e5, 1e6], &model()).lines().count(), 3);
    }
}
