//! The processes of this host's ranks, by rank.

use super::directory::RankKey;
use super::rank_process::RankProcess;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The ranks of this host.
#[derive(Debug, Default)]
pub struct Ranks {
    processes: BTreeMap<Rank, RankProcess>,
    /// Incarnations whose images are being fetched: they have no process yet.
    starting: BTreeMap<Rank, Incarnation>,
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
        self.processes.contains_key(&rank) || self.starting.contains_key(&rank)
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
