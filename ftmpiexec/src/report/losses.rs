//! The time that each failure cost.
//!
//! A rank that is restarted costs the time from its death until it has caught up: it repeats what
//! it had done. Ranks that return to a wave also lose the work since the wave, as far as an earlier
//! return had not given it up already.

use super::Recorder;
use crate::history::History;
use ftmpi_protocols::dispatcher::Failure;
use ftmpi_wire::Rank;
use std::collections::BTreeMap;
use std::time::Duration;

/// A stretch of time that a failure cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// From here.
    pub from: Duration,
    /// To here.
    pub to: Duration,
}

impl Loss {
    /// How long it is.
    pub fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

/// What each of these failures cost, in their order. `None`: its rank never caught up.
pub(super) fn losses(
    failures: &[Failure],
    history: &History,
    recorder: &Recorder,
) -> Vec<Option<Loss>> {
    let group =
        |rank: Rank| recorder.clusters.as_ref().map_or(rank.0, |clusters| clusters[rank.index()]);
    let of = |failure: &Failure| {
        let died = recorder.died_at(failure);
        let goes_on_from = match (recorder.clusters.is_some(), failure.image) {
            (false, _) => died,
            (true, None) => Duration::ZERO,
            (true, Some(_)) => {
                history.resumed_at(failure.rank, failure.incarnation).unwrap_or(died)
            }
        };
        Fact {
            group: group(failure.rank),
            from: goes_on_from.min(died),
            known: failure.at,
            caught_up: failure.caught_up_at,
        }
    };
    stretches(&failures.iter().map(of).collect::<Vec<_>>())
}

/// A failure.
#[derive(Debug, Clone, Copy)]
struct Fact {
    /// The ranks that return together, or the rank.
    group: u32,
    /// From where the rank goes on.
    from: Duration,
    known: Duration,
    caught_up: Option<Duration>,
}

fn stretches(failures: &[Fact]) -> Vec<Option<Loss>> {
    // Ranks that fail again before they have caught up begin the next loss.
    let mut next: BTreeMap<u32, Duration> = BTreeMap::new();
    let mut ends = Vec::with_capacity(failures.len());
    for failure in failures.iter().rev() {
        let again = next.insert(failure.group, failure.known);
        ends.push(failure.caught_up.or(again));
    }
    let mut before: BTreeMap<u32, Duration> = BTreeMap::new();
    let mut losses = Vec::with_capacity(failures.len());
    for (failure, end) in failures.iter().zip(ends.into_iter().rev()) {
        let earlier = before.get(&failure.group).copied().unwrap_or_default();
        let from = failure.from.max(earlier.min(failure.known));
        losses.push(end.map(|to| Loss { from, to }));
        if let Some(end) = end {
            before.insert(failure.group, end);
        }
    }
    losses
}

/// The time that all of these cost: what overlaps counts once.
pub(super) fn together(losses: impl Iterator<Item = Loss>) -> Duration {
    let mut losses: Vec<Loss> = losses.collect();
    losses.sort_by_key(|loss| loss.from);
    let (mut total, mut until) = (Duration::ZERO, Duration::ZERO);
    for loss in losses {
        total += loss.to.saturating_sub(loss.from.max(until));
        until = until.max(loss.to);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn loss(from: u32, to: u32) -> Loss {
        Loss { from: from * S, to: to * S }
    }

    fn fact(group: u32, from: u32, known: u32, caught_up: Option<u32>) -> Fact {
        let caught_up = caught_up.map(|at| at * S);
        Fact { group, from: from * S, known: known * S, caught_up }
    }

    #[test]
    fn what_an_earlier_return_gave_up_is_lost_once() {
        // A wave at 10 s, a death at 20 s that is over at 22 s, and one at 25 s that returns to the
        // same wave: the second loses the work from 22 s on.
        let facts = [fact(1, 10, 20, Some(22)), fact(1, 10, 25, Some(26)), fact(2, 24, 25, None)];
        assert_eq!(stretches(&facts), [Some(loss(10, 22)), Some(loss(22, 26)), None]);
    }

    #[test]
    fn a_rank_that_dies_while_it_comes_back_loses_time_without_a_gap() {
        let facts = [fact(0, 3, 3, None), fact(1, 4, 4, Some(5)), fact(0, 5, 5, Some(6))];
        let expected = [Some(loss(3, 5)), Some(loss(4, 5)), Some(loss(5, 6))];
        assert_eq!(stretches(&facts), expected);
    }

    #[test]
    fn time_that_several_ranks_lose_together_counts_once() {
        let all = [loss(1, 4), loss(2, 3), loss(3, 6), loss(8, 9)];
        assert_eq!(together(all.into_iter()), 6 * S);
        assert_eq!(together(std::iter::empty()), Duration::ZERO);
    }
}
