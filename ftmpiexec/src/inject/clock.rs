//! The clock of timed faults.

use super::{Fault, ServerKind, When, Whom};
use ftmpi_wire::Rank;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// A target that is to be killed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// A rank.
    Rank(Rank),
    /// The server of this kind and number, or all of the kind.
    Server(ServerKind, Option<usize>),
    /// The agent of this host.
    Agent(String),
}

#[derive(Debug)]
struct Timer {
    fault: Fault,
    when: When,
    next: Duration,
    left: u64,
    random: StdRng,
}

/// All timed faults of a job.
#[derive(Debug)]
pub struct FaultClock {
    timers: Vec<Timer>,
    ranks: u32,
}

impl FaultClock {
    /// The faults of a job of so many ranks.
    pub fn new(faults: &[Fault], ranks: u32) -> Self {
        let timers = faults
            .iter()
            .filter_map(|fault| match fault {
                Fault::KillRank { when, .. }
                | Fault::KillServer { when, .. }
                | Fault::KillAgent { when, .. } => Some(Timer {
                    fault: fault.clone(),
                    when: *when,
                    next: when.first,
                    left: when.count,
                    random: StdRng::seed_from_u64(when.seed),
                }),
                Fault::KillAtPoint { .. } | Fault::DelayLogger(_) => None,
            })
            .collect();
        Self { timers, ranks }
    }

    /// What is due at `now`, counted from the moment when all ranks had started.
    pub fn take_due(&mut self, now: Duration) -> Vec<Due> {
        let mut due = Vec::new();
        let ranks = self.ranks;
        for timer in &mut self.timers {
            while timer.left > 0 && timer.next <= now {
                timer.left -= 1;
                timer.next = timer.next.saturating_add(timer.when.every.unwrap_or(Duration::MAX));
                match &timer.fault {
                    Fault::KillRank { whom: Whom::All, .. } => {
                        due.extend((0..ranks).map(|rank| Due::Rank(Rank(rank))));
                    }
                    Fault::KillRank { whom: Whom::Rank(rank), .. } => due.push(Due::Rank(*rank)),
                    Fault::KillRank { whom: Whom::Random, .. } => {
                        due.push(Due::Rank(Rank(timer.random.random_range(0..ranks))));
                    }
                    Fault::KillServer { kind, number, .. } => {
                        due.push(Due::Server(*kind, *number));
                    }
                    Fault::KillAgent { host, .. } => due.push(Due::Agent(host.clone())),
                    Fault::KillAtPoint { .. } | Fault::DelayLogger(_) => {}
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_kills_and_the_count_is_kept() {
        let faults = [Fault::parse("kill:every=2s,count=5,seed=7").unwrap()];
        let run = || {
            let mut clock = FaultClock::new(&faults, 4);
            let mut all = Vec::new();
            for second in 0..30 {
                let due = clock.take_due(Duration::from_secs(second));
                assert!(due.len() <= 1);
                all.extend(due.into_iter().map(|due| (second, due)));
            }
            assert!(clock.timers.iter().all(|timer| timer.left == 0));
            all
        };
        let first = run();
        assert_eq!(first.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2, 4, 6, 8, 10]);
        assert_eq!(first, run());
    }

    #[test]
    fn all_means_all_at_once() {
        let faults = [Fault::parse("kill:rank=all,at=5s").unwrap()];
        let mut clock = FaultClock::new(&faults, 3);
        assert_eq!(clock.take_due(Duration::from_secs(4)), []);
        assert_eq!(clock.take_due(Duration::from_secs(6)).len(), 3);
        assert_eq!(clock.take_due(Duration::from_secs(60)), []);
    }
}
