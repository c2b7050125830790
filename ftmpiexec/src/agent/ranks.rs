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
    /// When each rank last died, in nanoseconds since 1970. Kept only under protocols where the
    /// other ranks go on ([`ftmpi_wire::control::RankEnv::died`]).
    deaths: BTreeMap<Rank, u64>,
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
        self.starting.remove(&rank)
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

    /// A rank has died now.
    pub fn record_death(&mut self, rank: Rank) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.deaths.insert(rank, now.as_nanos() as u64);
    }

    /// When a rank last died, in nanoseconds since 1970; 0: never.
    pub fn last_death(&self, rank: Rank) -> u64 {
        self.deaths.get(&rank).copied().unwrap_or(0)
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
}
