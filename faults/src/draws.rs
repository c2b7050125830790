//! Draws faults from a model.
//!
//! Guarantee: a process that was stopped and has ended counts as stopped no more. So its next
//! incarnation can be stopped as often as the rate says.

use crate::dice::Dice;
use crate::model::{Kind, Model, Source};
use ftmpi_protocols::judge::HostName;
use ftmpi_wire::Rank;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is to be done now. Hosts are indices into the hosts of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The process of a rank dies.
    Kill(Rank),
    /// The process of a rank is stopped (`true`) or goes on.
    Stop(Rank, bool),
    /// A host goes down (`true`) or comes back.
    Host(u32, bool),
    /// Two hosts do not reach each other (`true`), or do so again.
    Cut([u32; 2], bool),
}

/// What can fail as one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    Rank(Rank),
    Hosts(Vec<u32>),
    Pair([u32; 2]),
}

/// A source, and its next fault.
#[derive(Debug)]
struct Drawing {
    source: Source,
    units: Vec<Unit>,
    /// Hosts that the source concerns.
    concerned: Vec<bool>,
    dice: Dice,
    next: Option<Duration>,
    left: u64,
}

impl Drawing {
    /// The time of the next fault, after this time. All units together fail as often as they are
    /// many.
    fn draw(&mut self, after: Duration) {
        let mean = self.source.every.as_secs_f64() / self.units.len() as f64;
        let next = Duration::try_from_secs_f64(self.dice.exponential(mean));
        let next = next.ok().and_then(|pause| after.checked_add(pause));
        self.next = next.filter(|next| self.source.until.is_none_or(|until| *next <= until));
    }
}

/// What is down for a reason: how many reasons there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Stopped(Rank),
    Down(u32),
    Cut([u32; 2]),
}

impl State {
    fn due(self, begins: bool) -> Due {
        match self {
            Self::Stopped(rank) => Due::Stop(rank, begins),
            Self::Down(host) => Due::Host(host, begins),
            Self::Cut(pair) => Due::Cut(pair, begins),
        }
    }
}

/// All faults of a model, as they become due.
#[derive(Debug)]
pub struct Draws {
    drawings: Vec<Drawing>,
    /// Ends of states, in order of time; the number tells equal times apart.
    ends: BTreeMap<(Duration, u64), State>,
    reasons: BTreeMap<State, u32>,
    ended: u64,
}

impl Draws {
    /// The faults of a job with these hosts and so many ranks.
    #[must_use]
    pub fn new(model: &Model, hosts: &[HostName], ranks: u32) -> Self {
        let purpose = |number: usize| {
            let kind = model.sources[number].kind;
            let before = model.sources[..number].iter().filter(|source| source.kind == kind);
            (kind as u64) << 32 | before.count() as u64
        };
        let drawing = |(number, source): (usize, &Source)| {
            let units = units(source, hosts, ranks);
            let mut drawing = Drawing {
                concerned: hosts.iter().map(|host| source.concerns(host)).collect(),
                dice: Dice::of(model.seed, purpose(number)),
                next: None,
                left: source.count,
                source: source.clone(),
                units,
            };
            if !drawing.units.is_empty() {
                drawing.draw(source.from);
            }
            drawing
        };
        let drawings = model.sources.iter().enumerate().map(drawing).collect();
        Self { drawings, ends: BTreeMap::new(), reasons: BTreeMap::new(), ended: 0 }
    }

    /// When something is due next.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        let drawn = self.drawings.iter().filter(|drawing| drawing.left > 0);
        let drawn = drawn.filter_map(|drawing| drawing.next).min();
        let end = self.ends.keys().next().map(|(at, _)| *at);
        [drawn, end].into_iter().flatten().min()
    }

    /// What is due at `now`, in its order. `host_of`: where a rank runs.
    pub fn take_due(&mut self, now: Duration, host_of: impl Fn(Rank) -> u32) -> Vec<Due> {
        let mut due = Vec::new();
        while let Some(at) = self.next().filter(|at| *at <= now) {
            if let Some(end) = self.ends.first_entry().filter(|end| end.key().0 == at) {
                let state = end.remove();
                self.is_over(state, &mut due);
                continue;
            }
            let due_now = |drawing: &&mut Drawing| drawing.left > 0 && drawing.next == Some(at);
            let Some(drawing) = self.drawings.iter_mut().find(due_now) else { break };
            let unit = drawing.dice.below(drawing.units.len() as u64) as usize;
            let unit = drawing.units[unit].clone();
            drawing.draw(at);
            if let Unit::Rank(rank) = unit
                && !drawing
                    .concerned
                    .get(host_of(rank) as usize)
                    .is_some_and(|concerned| *concerned)
            {
                // Its host is sound.
                continue;
            }
            drawing.left -= 1;
            let (kind, end) = (drawing.source.kind, drawing.source.lasts.map(|lasts| at + lasts));
            match unit {
                Unit::Rank(rank) if kind == Kind::Process => due.push(Due::Kill(rank)),
                Unit::Rank(rank) => self.begins(State::Stopped(rank), end, &mut due),
                Unit::Pair(pair) => self.begins(State::Cut(pair), end, &mut due),
                Unit::Hosts(hosts) => {
                    hosts.into_iter().for_each(|h| self.begins(State::Down(h), end, &mut due));
                }
            }
        }
        due
    }

    /// The process of a rank has ended, for whatever reason: nothing is left that could go on.
    pub fn process_ended(&mut self, rank: Rank) {
        let state = State::Stopped(rank);
        if self.reasons.remove(&state).is_some() {
            self.ends.retain(|_, ends| *ends != state);
        }
    }

    fn begins(&mut self, state: State, end: Option<Duration>, due: &mut Vec<Due>) {
        let reasons = self.reasons.entry(state).or_default();
        *reasons += 1;
        if *reasons == 1 {
            due.push(state.due(true));
        }
        if let Some(end) = end {
            self.ended += 1;
            self.ends.insert((end, self.ended), state);
        }
    }

    fn is_over(&mut self, state: State, due: &mut Vec<Due>) {
        let Some(reasons) = self.reasons.get_mut(&state) else { return };
        *reasons -= 1;
        if *reasons == 0 {
            self.reasons.remove(&state);
            due.push(state.due(false));
        }
    }
}

/// What a source can strike.
fn units(source: &Source, hosts: &[HostName], ranks: u32) -> Vec<Unit> {
    let concerned: Vec<u32> =
        (0..hosts.len() as u32).filter(|host| source.concerns(&hosts[*host as usize])).collect();
    match source.kind {
        Kind::Process | Kind::Stop => (0..ranks).map(|rank| Unit::Rank(Rank(rank))).collect(),
        Kind::Host => concerned.into_iter().map(|host| Unit::Hosts(vec![host])).collect(),
        Kind::Switch => {
            let mut switches: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for host in concerned {
                if let Some(switch) = &hosts[host as usize].switch {
                    switches.entry(switch).or_default().push(host);
                }
            }
            switches.into_values().map(Unit::Hosts).collect()
        }
        Kind::Cut => {
            let pairs = concerned.iter().enumerate().flat_map(|(number, a)| {
                concerned[number + 1..].iter().map(|b| Unit::Pair([*a, *b]))
            });
            pairs.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hosts() -> Vec<HostName> {
        let host = |(name, switch): (&str, &str)| HostName {
            name: name.to_owned(),
            switch: Some(switch.to_owned()),
        };
        [("a1", "s"), ("a2", "s"), ("b1", "t")].map(host).to_vec()
    }

    fn of(sources: Vec<Source>) -> Draws {
        Draws::new(&Model { seed: 3, sources }, &hosts(), 4)
    }

    /// What happens within so many seconds, asked in steps of this length.
    fn within(draws: &mut Draws, seconds: u32, step: Duration) -> Vec<Due> {
        let mut all = Vec::new();
        let mut now = Duration::ZERO;
        while now <= SECOND * seconds {
            all.extend(draws.take_due(now, |rank| rank.0 % 3));
            now += step;
        }
        all
    }

    #[test]
    fn the_seed_decides_and_not_when_it_is_asked() {
        let sources = || {
            vec![
                Source::new(Kind::Process, SECOND * 30, None),
                Source::new(Kind::Host, SECOND * 40, Some(SECOND * 3)),
                Source::new(Kind::Cut, SECOND * 50, Some(SECOND * 2)),
            ]
        };
        let often = within(&mut of(sources()), 200, SECOND / 10);
        assert_eq!(often, within(&mut of(sources()), 200, SECOND * 10));
        // A source more changes no other one.
        let stops = Source::new(Kind::Stop, SECOND * 60, Some(SECOND));
        let more = [stops].into_iter().chain(sources()).collect();
        let more = within(&mut of(more), 200, SECOND);
        let (stops, others): (Vec<Due>, Vec<Due>) =
            more.into_iter().partition(|due| matches!(due, Due::Stop(..)));
        assert_eq!(others, often);
        assert!(stops.len() > 4);
    }

    #[test]
    fn each_process_has_its_rate_and_other_hosts_are_spared() {
        let source = Source {
            hosts: vec!["a1".to_owned()],
            ..Source::new(Kind::Process, SECOND * 10, None)
        };
        // Ranks 0 and 3 are on a1.
        let due = within(&mut of(vec![source]), 10_000, SECOND);
        assert!(due.iter().all(|due| matches!(due, Due::Kill(Rank(0 | 3)))));
        assert!((1850..2150).contains(&due.len()), "{}", due.len());
    }

    #[test]
    fn what_fails_for_two_reasons_comes_back_once() {
        let (length, often) = (Some(SECOND * 5), SECOND * 4);
        let mut draws = of(vec![
            Source::new(Kind::Host, often, length),
            Source { count: 50, ..Source::new(Kind::Switch, often, length) },
        ]);
        let mut down = [false; 3];
        for due in within(&mut draws, 2000, SECOND) {
            let Due::Host(host, goes) = due else { panic!("{due:?}") };
            assert_ne!(std::mem::replace(&mut down[host as usize], goes), goes);
        }
    }

    #[test]
    fn a_process_that_was_stopped_for_ever_and_died_is_stopped_again_later() {
        let stop = Source::new(Kind::Stop, SECOND * 10, None);
        let mut draws = Draws::new(&Model { seed: 3, sources: vec![stop] }, &hosts(), 1);
        for round in 1..20u32 {
            let due = draws.take_due(SECOND * 1000 * round, |_| 0);
            assert_eq!(due, [Due::Stop(Rank(0), true)], "round {round}");
            draws.process_ended(Rank(0));
        }
        // The end of a stop is not due any more.
        let stop = Source { count: 1, ..Source::new(Kind::Stop, SECOND, Some(SECOND * 500)) };
        let mut draws = Draws::new(&Model { seed: 3, sources: vec![stop] }, &hosts(), 1);
        assert_eq!(draws.take_due(SECOND * 100, |_| 0), [Due::Stop(Rank(0), true)]);
        draws.process_ended(Rank(0));
        assert_eq!((draws.next(), draws.take_due(SECOND * 9999, |_| 0)), (None, vec![]));
    }

    #[test]
    fn limits_are_kept() {
        let limited = Source {
            from: SECOND * 100,
            until: Some(SECOND * 200),
            ..Source::new(Kind::Host, SECOND * 20, Some(SECOND))
        };
        let mut draws = of(vec![limited]);
        assert!(draws.take_due(SECOND * 100, |_| 0).is_empty());
        assert!(!draws.take_due(SECOND * 202, |_| 0).is_empty());
        assert_eq!((draws.next(), draws.take_due(SECOND * 9999, |_| 0)), (None, vec![]));
        let twice = Source { count: 2, ..Source::new(Kind::Process, SECOND, None) };
        let mut draws = of(vec![twice]);
        assert_eq!(draws.take_due(SECOND * 100, |_| 0).len(), 2);
        assert_eq!(draws.next(), None);
        // For good.
        let mut draws = of(vec![Source { count: 1, ..Source::new(Kind::Cut, SECOND, None) }]);
        assert_eq!(draws.take_due(SECOND * 100, |_| 0).len(), 1);
        assert_eq!(draws.next(), None);
    }
}
