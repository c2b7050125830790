//! The clock of timed faults.

use super::{Fault, ServerKind, When, Whom, ends_of, host_names};
use crate::machine::Machine;
use ftmpi_faults::Draws;
use ftmpi_wire::Rank;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// A rank.
    Rank(Rank),
    /// The server of this kind and number, or all of the kind.
    Server(ServerKind, Option<usize>),
    /// The agent of this host.
    Agent(String),
    /// The way between these hosts, by their indices, is cut (`true`) or mended.
    Cut([u32; 2], bool),
    /// This host goes down (`true`) or comes back.
    Host(String, bool),
    /// The process of this rank is stopped (`true`) or goes on.
    Stop(Rank, bool),
}

#[derive(Debug)]
struct Timer {
    fault: Fault,
    when: When,
    next: Duration,
    left: u64,
    /// The end of what lasts for a time.
    ends: bool,
    /// The hosts of a cut.
    pair: [u32; 2],
    random: StdRng,
}

/// All timed faults of a job.
#[derive(Debug)]
pub struct FaultClock {
    timers: Vec<Timer>,
    /// What is drawn from models.
    draws: Vec<Draws>,
    /// The names of the hosts.
    hosts: Vec<String>,
    ranks: u32,
}

impl FaultClock {
    /// The faults of a job of so many ranks on these hosts.
    pub fn new(faults: &[Fault], ranks: u32, machines: &[Machine]) -> Self {
        let names = host_names(machines);
        let draws = faults.iter().filter_map(|fault| match fault {
            Fault::Model(model) => Some(Draws::new(model, &names, ranks)),
            _ => None,
        });
        Self {
            timers: faults.iter().flat_map(|fault| timers_of(fault, machines)).collect(),
            draws: draws.collect(),
            hosts: names.into_iter().map(|host| host.name).collect(),
            ranks,
        }
    }

    /// What is due at `now`, counted from the moment when all ranks had started. `host_of`: where a
    /// rank runs.
    pub fn take_due(&mut self, now: Duration, host_of: impl Fn(Rank) -> u32) -> Vec<Due> {
        let mut due = self.timers_due(now);
        for draws in &mut self.draws {
            let hosts = &self.hosts;
            let name = |host: u32| hosts[host as usize].clone();
            due.extend(draws.take_due(now, &host_of).into_iter().map(|drawn| match drawn {
                ftmpi_faults::Due::Kill(rank) => Due::Rank(rank),
                ftmpi_faults::Due::Stop(rank, stop) => Due::Stop(rank, stop),
                ftmpi_faults::Due::Host(host, down) => Due::Host(name(host), down),
                ftmpi_faults::Due::Cut(pair, cut) => Due::Cut(pair, cut),
            }));
        }
        due
    }

    /// The process of a rank has ended.
    pub fn process_ended(&mut self, rank: Rank) {
        self.draws.iter_mut().for_each(|draws| draws.process_ended(rank));
    }

    fn timers_due(&mut self, now: Duration) -> Vec<Due> {
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
                    Fault::Cut { .. } => due.push(Due::Cut(timer.pair, !timer.ends)),
                    Fault::HostDown { host, .. } => due.push(Due::Host(host.clone(), !timer.ends)),
                    Fault::StopRank { rank, .. } => due.push(Due::Stop(*rank, !timer.ends)),
                    Fault::KillAtPoint { .. }
                    | Fault::DelayLogger(_)
                    | Fault::SlowDisk(_)
                    | Fault::Model(_) => {}
                }
            }
        }
        due
    }
}

/// The times of one fault.
fn timers_of(fault: &Fault, machines: &[Machine]) -> Vec<Timer> {
    let pair = match fault {
        // Checked before the start.
        Fault::Cut { ends, .. } => match ends_of(ends, machines) {
            Ok(pair) => pair,
            Err(_) => return Vec::new(),
        },
        _ => [0; 2],
    };
    let timer = |when: When, ends| Timer {
        fault: fault.clone(),
        when,
        next: when.first,
        left: when.count,
        ends,
        pair,
        random: StdRng::seed_from_u64(when.seed),
    };
    let once = |first, ends| timer(When { first, every: None, count: 1, seed: 0 }, ends);
    match fault {
        Fault::KillRank { when, .. }
        | Fault::KillServer { when, .. }
        | Fault::KillAgent { when, .. } => vec![timer(*when, false)],
        Fault::Cut { span, .. } | Fault::HostDown { span, .. } | Fault::StopRank { span, .. } => {
            let end = span.lasts.map(|lasts| once(span.at.saturating_add(lasts), true));
            std::iter::once(once(span.at, false)).chain(end).collect()
        }
        Fault::KillAtPoint { .. }
        | Fault::DelayLogger(_)
        | Fault::SlowDisk(_)
        | Fault::Model(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_faults::{Kind, Model, Source};

    #[test]
    fn a_seed_gives_the_same_kills_and_the_count_is_kept() {
        let faults = [Fault::parse("kill:every=2s,count=5,seed=7").unwrap()];
        let run = || {
            let mut clock = FaultClock::new(&faults, 4, &[]);
            let mut all = Vec::new();
            for second in 0..30 {
                let due = clock.take_due(Duration::from_secs(second), |_| 0);
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
    fn what_lasts_has_a_begin_and_an_end() {
        let faults = ["cut:a-b,at=3s,for=5s", "host:c,at=4s,for=ever", "stop:rank=1,at=5s,for=1s"]
            .map(|text| {
                let Ok(fault) = Fault::parse(text) else { panic!("{text}") };
                fault
            });
        let Ok(machines) = crate::cli::parse_list("a,b,c") else { panic!("three hosts") };
        let mut clock = FaultClock::new(&faults, 2, &machines);
        let due = clock.take_due(Duration::from_secs(3), |_| 0);
        assert_eq!(due, [Due::Cut([0, 1], true)]);
        let due = clock.take_due(Duration::from_secs(1000), |_| 0);
        assert_eq!(
            due,
            [
                Due::Cut([0, 1], false),
                Due::Host("c".into(), true),
                Due::Stop(Rank(1), true),
                Due::Stop(Rank(1), false),
            ]
        );
        assert_eq!(clock.take_due(Duration::MAX, |_| 0), []);
    }

    #[test]
    fn cuts_of_a_model_are_between_two_hosts_whatever_their_names() {
        let source = Source::new(Kind::Cut, Duration::from_secs(1), Some(Duration::from_secs(2)));
        let model = Model { seed: 1, sources: vec![Source { count: 1, ..source }] };
        let Ok(machines) = crate::cli::parse_list("a-b,c") else { panic!("two hosts") };
        let mut clock = FaultClock::new(&[Fault::Model(model)], 2, &machines);
        let due = clock.take_due(Duration::from_secs(100), |_| 0);
        assert_eq!(due, [Due::Cut([0, 1], true), Due::Cut([0, 1], false)]);
    }

    #[test]
    fn all_means_all_at_once() {
        let faults = [Fault::parse("kill:rank=all,at=5s").unwrap()];
        let mut clock = FaultClock::new(&faults, 3, &[]);
        assert_eq!(clock.take_due(Duration::from_secs(4), |_| 0), []);
        assert_eq!(clock.take_due(Duration::from_secs(6), |_| 0).len(), 3);
        assert_eq!(clock.take_due(Duration::from_secs(60), |_| 0), []);
    }
}
