//! The processes of this host's ranks, by rank.

use super::directory::RankKey;
use super::rank_process::RankProcess;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a process does as soon as it has been started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartWish {
    /// It runs.
    Run,
    /// It gets this signal.
    Kill(i32),
}

/// The ranks of this host.
#[derive(Debug, Default)]
pub struct Ranks {
    processes: BTreeMap<Rank, RankProcess>,
    /// Incarnations whose images are being fetched: they have no process yet.
    starting: BTreeMap<Rank, Incarnation>,
    /// Incarnations whose processes are being started.
    being_started: BTreeMap<Rank, (Incarnation, StartWish)>,
    /// Incarnations that found an image damaged which was not checked as a whole before.
    checked: BTreeMap<Rank, Incarnation>,
    /// How each rank last died here. Kept only under protocols where other ranks go on
    /// ([`ftmpi_wire::control::RankEnv::died`]).
    deaths: BTreeMap<Rank, Death>,
}

/// A death of a rank.
#[derive(Debug, Clone, Copy)]
struct Death {
    /// The newest incarnation up to which the rank has not run again.
    incarnation: Incarnation,
    /// In nanoseconds since 1970.
    at: u64,
}

impl Ranks {
    /// The process of this incarnation.
    pub fn get(&self, rank: Rank, incarnation: Incarnation) -> Option<&RankProcess> {
        self.processes.get(&rank).filter(|process| process.incarnation == incarnation)
    }

    /// As [`Ranks::get`].
    pub fn get_mut(&mut self, rank: Rank, incarnation: Incarnation) -> Option<&mut RankProcess> {
        self.processes.get_mut(&rank).filter(|process| process.incarnation == incarnation)
    }

    /// The process of this incarnation, if its process number is `pid`.
    pub fn get_pid(&mut self, (rank, incarnation): RankKey, pid: u32) -> Option<&mut RankProcess> {
        self.get_mut(rank, incarnation).filter(|process| process.id().pid == pid)
    }

    /// The process of this incarnation, if the rank has said hello and the process runs.
    pub fn connected(&self, (rank, incarnation): RankKey) -> Option<&RankProcess> {
        self.get(rank, incarnation).filter(|process| process.is_connected())
    }

    /// The newest process of a rank.
    pub fn newest(&self, rank: Rank) -> Option<&RankProcess> {
        self.processes.get(&rank)
    }

    /// As [`Ranks::newest`].
    pub fn newest_mut(&mut self, rank: Rank) -> Option<&mut RankProcess> {
        self.processes.get_mut(&rank)
    }

    /// All processes, also those that have ended and whose output is still read.
    pub fn all(&self) -> impl Iterator<Item = &RankProcess> {
        self.processes.values()
    }

    /// Processes that run.
    pub fn running(&self) -> impl Iterator<Item = &RankProcess> {
        self.all().filter(|process| !process.has_ended())
    }

    /// How many ranks have a process.
    pub fn count(&self) -> usize {
        self.processes.len()
    }

    /// Whether a rank has a process here, or is about to have one.
    pub fn is_here(&self, rank: Rank) -> bool {
        self.processes.contains_key(&rank)
            || self.starting.contains_key(&rank)
            || self.being_started.contains_key(&rank)
    }

    /// Adds a process.
    pub fn insert(&mut self, process: RankProcess) {
        self.processes.insert(process.rank, process);
    }

    /// Takes the newest process of a rank out.
    pub fn remove(&mut self, rank: Rank) -> Option<RankProcess> {
        self.processes.remove(&rank)
    }

    /// The image of this incarnation is being fetched.
    pub fn fetch_began(&mut self, rank: Rank, incarnation: Incarnation) {
        self.starting.insert(rank, incarnation);
    }

    /// The fetch for a rank is void; the incarnation that it was for.
    pub fn cancel_fetch(&mut self, rank: Rank) -> Option<Incarnation> {
        let incarnation = self.starting.remove(&rank)?;
        self.never_ran((rank, incarnation));
        Some(incarnation)
    }

    /// The fetch for this incarnation has ended. `false`: the fetch was void by then.
    pub fn fetch_ended(&mut self, (rank, incarnation): RankKey) -> bool {
        let wanted = self.starting.get(&rank) == Some(&incarnation);
        if wanted {
            self.starting.remove(&rank);
        }
        wanted
    }

    /// The process of this incarnation is being started.
    pub fn start_began(&mut self, (rank, incarnation): RankKey) {
        self.being_started.insert(rank, (incarnation, StartWish::Run));
    }

    /// A process that is being started for a rank is not wanted any more.
    pub fn cancel_start(&mut self, rank: Rank) {
        self.being_started.remove(&rank);
    }

    /// A process that is being started for a rank is to get this signal. `false`: none is being
    /// started.
    pub fn kill_when_started(&mut self, rank: Rank, signal: i32) -> bool {
        let known = self.being_started.get_mut(&rank);
        known.map(|(_, wish)| *wish = StartWish::Kill(signal)).is_some()
    }

    /// The process of this incarnation was started, or could not be; what it is to do. `None`: it
    /// is not wanted any more.
    pub fn start_ended(&mut self, (rank, incarnation): RankKey) -> Option<StartWish> {
        let (meant, wish) = self.being_started.get(&rank).copied()?;
        (meant == incarnation).then(|| {
            self.being_started.remove(&rank);
            wish
        })
    }

    /// From now on this incarnation takes only images that its server has checked as a whole.
    /// `false`: that was so before.
    pub fn demand_checked(&mut self, rank: Rank, incarnation: Incarnation) -> bool {
        self.checked.insert(rank, incarnation) != Some(incarnation)
    }

    /// Whether this incarnation takes only images that its server has checked as a whole.
    pub fn demands_checked(&self, rank: Rank, incarnation: Incarnation) -> bool {
        self.checked.get(&rank) == Some(&incarnation)
    }

    /// This incarnation has died now.
    pub fn record_death(&mut self, (rank, incarnation): RankKey) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.deaths.insert(rank, Death { incarnation, at: now.as_nanos() as u64 });
    }

    /// This incarnation has ended before the program went on: the death before it counts.
    pub fn never_ran(&mut self, (rank, incarnation): RankKey) {
        if let Some(death) = self.deaths.get_mut(&rank)
            && death.is_right_before(incarnation)
        {
            death.incarnation = incarnation;
        }
    }

    /// When the rank died whose incarnation is to be started, in nanoseconds since 1970; 0 if it
    /// did not run here last. `returns`: the ranks that return with it, whose later deaths count.
    pub fn died_before(&self, (rank, incarnation): RankKey, returns: impl Fn(Rank) -> bool) -> u64 {
        match self.deaths.get(&rank).filter(|death| death.is_right_before(incarnation)) {
            None => 0,
            Some(own) => {
                let others = self.deaths.iter().filter(|(rank, _)| returns(**rank));
                others.map(|(_, death)| death.at).fold(own.at, u64::max)
            }
        }
    }
}

impl Death {
    fn is_right_before(&self, incarnation: Incarnation) -> bool {
        incarnation.0.checked_sub(self.incarnation.0).is_some_and(|later| later <= 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_being_started_can_be_killed_and_replaced() {
        let mut ranks = Ranks::default();
        let (first, second) = ((Rank(3), Incarnation(0)), (Rank(3), Incarnation(1)));
        assert!(!ranks.kill_when_started(Rank(3), 9), "nothing is being started");
        ranks.start_began(first);
        assert!(ranks.is_here(Rank(3)) && ranks.kill_when_started(Rank(3), 9));
        assert_eq!(ranks.start_ended(first), Some(StartWish::Kill(9)));
        assert_eq!(ranks.start_ended(first), None);
        ranks.start_began(first);
        ranks.cancel_start(Rank(3));
        ranks.start_began(second);
        assert_eq!(ranks.start_ended(first), None, "the later one counts");
        assert_eq!(ranks.start_ended(second), Some(StartWish::Run));
        assert!(!ranks.is_here(Rank(3)));
    }

    #[test]
    fn the_death_right_before_a_start_counts() {
        let mut ranks = Ranks::default();
        let key = |rank, incarnation| (Rank(rank), Incarnation(incarnation));
        let alone = |_| false;
        assert_eq!(ranks.died_before(key(3, 1), alone), 0);
        ranks.record_death(key(3, 0));
        let first = ranks.died_before(key(3, 1), alone);
        assert!(first > 0);
        assert_eq!(ranks.died_before(key(3, 2), alone), 0, "it ran elsewhere in between");
        // It was not started in between.
        ranks.fetch_began(Rank(3), Incarnation(1));
        assert_eq!(ranks.cancel_fetch(Rank(3)), Some(Incarnation(1)));
        assert_eq!(ranks.died_before(key(3, 2), alone), first);
        // It refused an image.
        ranks.never_ran(key(3, 2));
        assert_eq!(ranks.died_before(key(3, 2), alone), first);
        // Of ranks that return together the last death counts.
        std::thread::sleep(std::time::Duration::from_millis(1));
        ranks.record_death(key(4, 0));
        assert_eq!(ranks.died_before(key(3, 3), alone), first);
        let last = ranks.died_before(key(4, 1), alone);
        assert!(last > first);
        assert_eq!(ranks.died_before(key(3, 3), |rank| rank.0 == 4), last);
        assert_eq!(ranks.died_before(key(5, 1), |_| true), 0, "it did not run here");
    }
}
