//! Where a world or a process returns and is repeated from logs: choices that decide what is
//! spawned, the event logger that stores them, and who may leave.

use super::{Mutant, Returns, World};
use ftmpi_wire::{Incarnation, Logging, ProtocolTraits, Rank, Recovery};
use std::collections::{BTreeMap, BTreeSet};

/// What outlives processes.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// What processes chose before their questions, as far as it is stable.
    pub(super) choices: BTreeMap<(Rank, u32), u32>,
    /// The answers so far; none: the spawn failed.
    pub(super) answers: BTreeMap<(Rank, u64), Option<Rank>>,
    /// Worlds that failed, by their first number.
    pub(super) failed: BTreeSet<Rank>,
    /// Processes that have ended in order.
    pub(super) left: BTreeSet<Rank>,
}

impl Returns {
    pub(super) fn traits(self) -> ProtocolTraits {
        let recovery = match self {
            Self::All => Recovery::Waves,
            Self::World => Recovery::ClusterWaves,
            Self::Process => Recovery::Restart,
        };
        let logging = if self == Self::All { Logging::None } else { Logging::Pessimistic };
        ProtocolTraits { recovery, logging, logger: self != Self::All, memory: false }
    }

    /// The clusters of the first world: one for all, or one for each process.
    pub(super) fn clusters(self, seed: u64, size: u32) -> Option<Vec<u32>> {
        match self {
            Self::Process => None,
            Self::World if seed.is_multiple_of(2) => Some((0..size).collect()),
            _ => Some(vec![0; size as usize]),
        }
    }
}

impl World {
    /// What the process chooses before this question, and whether that is stable. It depends on
    /// timing, so it is another choice in each execution.
    pub(super) fn chooses(&mut self, rank: Rank, number: u32) -> (u32, bool) {
        if self.returns == Returns::All {
            return (0, true);
        }
        match self.logs.choices.get(&(rank, number)) {
            Some(known) => (*known, true),
            None => (self.below(3) as u32, self.strikes(Mutant::AskedTooEarly)),
        }
    }

    /// A spawn begins one world, whoever asks again.
    pub(super) fn begins_once(&self, path: &[usize]) {
        let known = self.paths.values().find(|(_, known)| known == path);
        let once = self.returns == Returns::All || known.is_none();
        assert!(once, "the spawn {path:?} begins a second world, after {known:?}");
    }

    /// A process begins: if it is to repeat anything, it needs the logs of those that it has met.
    pub(super) fn repeats(&self, rank: Rank) {
        if self.dispatcher.location(rank).1 > Incarnation(0) {
            let left = &self.logs.left;
            assert!(left.is_empty(), "rank {rank} is repeated, and these have left: {left:?}");
        }
    }

    /// Processes are told that they may end.
    pub(super) fn all_may_leave(&self, told: Rank) {
        if self.returns == Returns::All {
            return;
        }
        let own = self.world_of(told);
        // Nobody needs the logs of a world that has met no other one.
        let alone = !self.joins.has_met(own);
        let worlds = self.paths.values().map(|(world, _)| world);
        let worlds = worlds.filter(|world| !alone || **world == own);
        let whole = worlds.filter(|world| !self.logs.failed.contains(&Rank(world.first)));
        for rank in whole.flat_map(|world| world.processes().map(Rank)) {
            let key = (rank, self.dispatcher.location(rank).1);
            let leaves = self.processes.get(&key).is_some_and(|process| process.exiting);
            assert!(leaves, "others are told that all leave, and rank {rank} does not");
        }
    }
}
