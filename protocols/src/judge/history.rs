//! What the judge remembers: deaths of each rank without progress, process faults and losses of
//! each host.
//!
//! Guarantee: bounded. Of each host only the latest times are kept.

use super::{Fact, Ground, Recovery, Verdict};
use crate::ending::Ending;
use crate::tuning::FAULT_TIMES_KEPT;
use ftmpi_wire::Rank;
use std::collections::VecDeque;
use std::time::Duration;

/// The deaths of a rank without progress in between.
#[derive(Debug, Clone, Default)]
pub(super) struct Deaths {
    /// The last one.
    last: Option<(Ending, u32)>,
    progress: u64,
    /// Equal deaths in a row.
    pub(super) times: u32,
    /// Those on the present host.
    pub(super) times_here: u32,
    /// The host that the rank left because of them.
    pub(super) left: Option<u32>,
}

/// Everything that is remembered.
#[derive(Debug)]
pub(super) struct History {
    ranks: Vec<Deaths>,
    /// When processes of each host died, oldest first.
    faults: Vec<VecDeque<Duration>>,
    /// When each host was last lost.
    losses: Vec<Option<Duration>>,
}

impl History {
    pub(super) fn new(ranks: usize, hosts: usize) -> Self {
        Self {
            ranks: vec![Deaths::default(); ranks],
            faults: vec![VecDeque::new(); hosts],
            losses: vec![None; hosts],
        }
    }

    pub(super) fn ranks_added(&mut self, ranks: usize) {
        self.ranks.resize(self.ranks.len() + ranks, Deaths::default());
    }

    pub(super) fn host_added(&mut self) {
        self.faults.push(VecDeque::new());
        self.losses.push(None);
    }

    pub(super) fn record(&mut self, fact: &Fact, now: Duration) {
        match *fact {
            Fact::Process { rank, host, ending, progress } => {
                let deaths = &mut self.ranks[rank.index()];
                let same = deaths.last.is_some_and(|(last, _)| last == ending)
                    && progress <= deaths.progress;
                let here = same && deaths.last.is_some_and(|(_, last)| last == host);
                deaths.times = if same { deaths.times + 1 } else { 1 };
                deaths.times_here = if here { deaths.times_here + 1 } else { 1 };
                deaths.left = deaths.left.filter(|_| same);
                (deaths.last, deaths.progress) = (Some((ending, host)), progress);
                let faults = &mut self.faults[host as usize];
                faults.push_back(now);
                if faults.len() > FAULT_TIMES_KEPT {
                    faults.pop_front();
                }
            }
            Fact::Host { host, .. } => self.losses[host as usize] = Some(now),
            Fact::Sound { host } => {
                self.faults[host as usize].clear();
                self.losses[host as usize] = None;
            }
            Fact::Cut { .. } | Fact::Stall { .. } | Fact::Suspect { .. } => {}
        }
    }

    /// What a verdict leads to.
    pub(super) fn judged(&mut self, fact: &Fact, verdict: &Verdict) {
        if let (Fact::Process { rank, host, .. }, Ground::SameDeath { .. }, Recovery::Migrate) =
            (fact, &verdict.ground, verdict.named.recovery)
        {
            self.ranks[rank.index()].left = Some(*host);
        }
    }

    pub(super) fn progressed(&mut self, rank: Rank) {
        self.ranks[rank.index()] = Deaths::default();
    }

    pub(super) fn deaths(&self, rank: Rank) -> &Deaths {
        &self.ranks[rank.index()]
    }

    /// How many processes of a host died within this time.
    pub(super) fn faults(&self, host: u32, now: Duration, window: Duration) -> u32 {
        let recent = |at: &&Duration| **at + window >= now;
        self.faults[host as usize].iter().filter(recent).count() as u32
    }

    /// Whether a host was lost within this time.
    pub(super) fn was_lost(&self, host: u32, now: Duration, window: Duration) -> bool {
        self.losses[host as usize].is_some_and(|at| at + window >= now)
    }
}
