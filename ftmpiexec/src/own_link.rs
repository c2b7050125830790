//! Whether the silence of hosts is the silence of the launcher's own link.
//!
//! When one of several hosts is silent, that host is lost. When all of them are silent at once, it
//! is the link of the launcher's own host that is down. The launcher then counts no host as lost
//! for a time (`--launcher-patience`), and the agents let their ranks compute.
//!
//! An agent cannot see which of both it is, so it asks the other agents for how long the launcher
//! has not answered them ([`crate::agent`], `lease`). It holds on if it reaches all of them and all
//! of them have waited for [`Times::all_silent`] (*S*).
//!
//! Guarantees, together with the lease: the launcher starts a rank elsewhere only after the agent
//! of its old host has ended it. For let all agents say so within [`Times::ask_limit`] (*A*) of one
//! another, the first of them at the instant *o*. A *contact* is a heartbeat that says that a fresh
//! answer (at most [`Times::fresh`], *F*, old) has arrived. No contact from before *o* rests on an
//! answer sent after *o* + *A* − *S*, and no later one on an answer sent before *o* − *F*. So the
//! answers of which the launcher hears leave a gap of at least [`Times::gap`]. It finds the gap at
//! a tick, or at the next contact at the latest, and from then on excuses every host that has had
//! no contact since. An excused host is lost when it has been silent for the whole patience, and
//! its agent gives up [`Times::margin`] earlier.
//!
//! A host whose agent has just come up is no witness: hosts that were silent before may not know
//! that they would have to ask it.

use crate::heartbeat::Times;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time without contact to any host after which the user is told. A shorter silence is excused, and
/// not worth a word.
pub const SAID_AFTER: Duration = Duration::from_secs(3);

/// Hosts that must be there: the silence of one says nothing about the link.
const WITNESSES_MIN: usize = 2;

/// Answers that are remembered for each host: more than are sent while one is fresh.
const ANSWERS_KEPT: usize = 8;

/// What the launcher knows of one host.
#[derive(Debug, Default)]
struct Host {
    /// Since when its agent is up, if it is, and on another host than the launcher.
    up: Option<Instant>,
    /// Answers that were sent to it last.
    answers: VecDeque<(u64, Instant)>,
    last_answer: u64,
    /// When the newest answer was sent that is known to have arrived.
    contact: Option<Instant>,
    /// When its last heartbeat came.
    heard: Option<Instant>,
    /// It fell silent together with all others.
    excused: bool,
}

/// The contacts of the launcher.
#[derive(Debug)]
pub struct OwnLink {
    times: Times,
    patience: Duration,
    hosts: Vec<Host>,
    /// The newest contact of any witness.
    newest: Option<Instant>,
    /// Since when the own link has been down.
    down: Option<Instant>,
}

/// What a look at the contacts found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// All hosts are silent: the own link seems to be down.
    Down,
    /// Some host answers again, after so long.
    Back(Duration),
}

impl OwnLink {
    /// No host is up.
    pub fn new(hosts: usize, patience: Duration, times: Times) -> Self {
        let hosts = (0..hosts).map(|_| Host::default()).collect();
        Self { times, patience, hosts, newest: None, down: None }
    }

    /// One more host, whose agent is not up yet.
    pub fn add_host(&mut self) {
        self.hosts.push(Host::default());
    }

    /// Where the lease is longer than the patience, silence is never excused.
    fn is_off(&self) -> bool {
        self.patience < self.times.lease() + self.times.margin()
    }

    /// The agent of a host is up, and counts its heartbeats from one on. `remote`: the host is
    /// another one than the launcher's.
    pub fn joined(&mut self, host: u32, remote: bool, now: Instant) {
        self.hosts[host as usize] = Host { up: remote.then_some(now), ..Host::default() };
    }

    /// The agent of a host is gone.
    pub fn left(&mut self, host: u32) {
        self.hosts[host as usize].up = None;
    }

    /// A heartbeat came that says which answer arrived last; the number of the answer to it.
    pub fn heartbeat(&mut self, host: u32, answered: u64, now: Instant) -> (u64, Option<Change>) {
        let state = &mut self.hosts[host as usize];
        state.heard = Some(now);
        let sent = state.answers.iter().find(|(number, _)| *number == answered);
        let sent = sent.map(|(_, sent)| *sent);
        state.last_answer += 1;
        state.answers.push_back((state.last_answer, now));
        if state.answers.len() > ANSWERS_KEPT {
            state.answers.pop_front();
        }
        let number = state.last_answer;
        let fresh = sent.filter(|sent| now.saturating_duration_since(*sent) <= self.times.fresh());
        let Some(sent) = fresh else { return (number, None) };
        if self.hosts[host as usize].contact.is_some_and(|known| known >= sent) {
            return (number, None);
        }
        if self.is_witness(host, now) {
            if let Some(newest) = self.newest
                && sent.saturating_duration_since(newest) >= self.times.gap()
            {
                self.excuse(newest);
            }
            self.newest = self.newest.max(Some(sent));
        }
        let down = if self.hosts[host as usize].up.is_some() { self.down.take() } else { None };
        let change = down.map(|since| Change::Back(now.duration_since(since)));
        let state = &mut self.hosts[host as usize];
        state.contact = Some(sent);
        state.excused = false;
        (number, change)
    }

    /// Looks whether all hosts are silent.
    pub fn look(&mut self, now: Instant) -> Option<Change> {
        let newest = self.newest?;
        let silence = now.saturating_duration_since(newest);
        if silence < self.times.gap() || !self.excuse(newest) || silence < SAID_AFTER {
            return None;
        }
        let gap = self.times.gap();
        let is_recent = |contact: Instant| now.saturating_duration_since(contact) < gap;
        let up = self.hosts.iter().filter(|host| host.up.is_some());
        if self.is_down() || up.filter_map(|host| host.contact).any(is_recent) {
            return None;
        }
        self.down = Some(newest);
        Some(Change::Down)
    }

    /// Whether a silent host is not lost: its silence may be that of the own link.
    pub fn is_excused(&self, host: u32, now: Instant) -> bool {
        let state = &self.hosts[host as usize];
        let silent_since = state.up.max(state.heard).max(state.contact);
        state.excused && silent_since.is_some_and(|since| now.duration_since(since) < self.patience)
    }

    /// Whether the own link seems to be down now.
    pub fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Excuses all hosts without contact after this instant. `false`: there are too few hosts to
    /// tell, or silence is never excused.
    fn excuse(&mut self, newest: Instant) -> bool {
        let up = self.hosts.iter().filter(|host| host.up.is_some()).count();
        if up < WITNESSES_MIN || self.is_off() {
            return false;
        }
        for host in self.hosts.iter_mut().filter(|host| host.up.is_some()) {
            host.excused |= host.contact.is_none_or(|contact| contact <= newest);
        }
        true
    }

    /// A host that fell silent before this one came up is lost by now, or excused.
    fn is_witness(&self, host: u32, now: Instant) -> bool {
        let young = self.times.interval() * (self.times.missed_max() + 2);
        self.hosts[host as usize].up.is_some_and(|up| now.duration_since(up) >= young)
    }
}

/// How long an agent holds on under this patience, if all others are silent, too.
pub fn agents_patience(patience: Duration, times: Times) -> Option<Duration> {
    patience.checked_sub(times.margin()).filter(|held| *held >= times.lease())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    const PATIENCE: Duration = Duration::from_secs(60);

    const TIMES: Times = Times::of(Duration::from_secs(10));

    #[test]
    fn the_times_fit_together() {
        assert_eq!(agents_patience(60 * S, TIMES), Some(55 * S));
        assert_eq!(agents_patience(60 * S, Times::of(S)), Some(60 * S - S / 2));
        assert_eq!(agents_patience(Duration::ZERO, TIMES), None);
    }

    /// Three hosts; each beats every second and echoes the answer before.
    struct Job {
        link: OwnLink,
        begin: Instant,
        echo: [u64; 3],
        changes: Vec<(u64, Change)>,
    }

    impl Job {
        fn new(patience: Duration) -> Self {
            let begin = Instant::now();
            let mut link = OwnLink::new(3, patience, TIMES);
            (0..3).for_each(|host| link.joined(host, true, begin));
            Self { link, begin, echo: [0; 3], changes: Vec::new() }
        }

        /// Hosts of the list are heard in each second from one to before the other.
        fn run(&mut self, from: u64, to: u64, heard: &[u32]) {
            for second in from..to {
                let now = self.begin + S * second as u32;
                for &host in heard {
                    let (number, change) = self.link.heartbeat(host, self.echo[host as usize], now);
                    self.echo[host as usize] = number;
                    self.changes.extend(change.map(|change| (second, change)));
                }
                let change = self.link.look(now);
                self.changes.extend(change.map(|change| (second, change)));
            }
        }

        fn excused(&self, second: u64) -> [bool; 3] {
            [0, 1, 2].map(|host| self.link.is_excused(host, self.begin + S * second as u32))
        }
    }

    #[test]
    fn one_silent_host_is_not_excused() {
        let mut job = Job::new(PATIENCE);
        job.run(0, 20, &[0, 1, 2]);
        job.run(20, 40, &[0, 1]);
        assert_eq!(job.excused(30), [false; 3]);
        job.run(40, 60, &[0]);
        assert_eq!(job.excused(60), [false; 3], "the others one after the other, too");
        assert_eq!(job.changes, []);
    }

    #[test]
    fn all_silent_is_the_own_link_until_the_patience_is_over() {
        let mut job = Job::new(PATIENCE);
        job.run(0, 20, &[0, 1, 2]);
        job.run(20, 32, &[]);
        assert_eq!(job.excused(31), [true; 3]);
        assert!(job.link.is_down());
        // Hosts come back one after the other: TCP waits longer and longer between its attempts.
        job.run(32, 45, &[1]);
        assert_eq!(job.excused(44), [true, false, true]);
        assert!(!job.link.is_down());
        assert!(matches!(job.changes[..], [(_, Change::Down), (_, Change::Back(_))]));
        job.run(45, 60, &[0, 1]);
        assert_eq!(job.excused(59), [false, false, true]);
        assert_eq!(job.excused(19 + 60), [false; 3], "the patience is over");
        let mut job = Job::new(Duration::ZERO);
        job.run(0, 20, &[0, 1, 2]);
        job.run(20, 32, &[]);
        assert_eq!((job.excused(31), job.changes.len()), ([false; 3], 0));
    }

    /// Nobody looked in between: the launcher was stopped.
    #[test]
    fn a_gap_that_only_the_next_contact_shows_excuses_as_well() {
        let mut job = Job::new(PATIENCE);
        job.run(0, 20, &[0, 1, 2]);
        job.run(28, 31, &[2]);
        assert_eq!(job.excused(30), [true, true, false]);
    }

    #[test]
    fn answers_that_arrive_late_prove_no_contact() {
        let mut job = Job::new(PATIENCE);
        job.run(0, 20, &[0, 1, 2]);
        let late = job.begin + 26 * S;
        job.link.heartbeat(2, job.echo[2], late);
        assert!(job.link.look(late).is_some(), "the answer is of the time before the gap");
        assert_eq!(job.excused(26), [true; 3]);
    }

    #[test]
    fn a_host_that_joins_later_counts_as_the_others() {
        let mut job = Job::new(PATIENCE);
        job.run(0, 20, &[0, 1, 2]);
        job.link.add_host();
        let joined = job.begin + 20 * S;
        job.link.joined(3, true, joined);
        let (number, _) = job.link.heartbeat(3, 0, joined);
        job.run(20, 23, &[0, 1, 2]);
        job.link.heartbeat(3, number, joined + S);
        job.run(23, 34, &[]);
        assert!(job.link.is_down() && job.link.is_excused(3, job.begin + 33 * S));
    }

    #[test]
    fn young_hosts_and_single_ones_say_nothing() {
        let begin = Instant::now();
        let mut link = OwnLink::new(2, PATIENCE, TIMES);
        link.joined(0, true, begin);
        let mut echo = 0;
        for second in 0..20 {
            echo = link.heartbeat(0, echo, begin + S * second).0;
        }
        assert_eq!(link.look(begin + 30 * S), None);
        assert!(!link.is_excused(0, begin + 30 * S), "the only other host");
        link.joined(1, true, begin + 21 * S);
        let (number, _) = link.heartbeat(1, 0, begin + 21 * S);
        link.heartbeat(1, number, begin + 22 * S);
        // Host 0 is silent since 19 s, and host 1 does not count yet: host 0 is excused, which is
        // safe, and nothing is said.
        assert_eq!(link.look(begin + 23 * S), None);
        assert!(link.is_excused(0, begin + 30 * S) && !link.is_excused(1, begin + 23 * S));
    }
}
