//! A network that splits: two hosts do not reach each other, for a time or for good, and the
//! launcher reaches both. Channels between their ranks break, and new ones are not made. The agents
//! report it again and again, as the launcher does for hosts that come back.

use super::{Event, World};
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_wire::{Incarnation, Rank};

/// Between two looks at the channels of a cut.
const LOOK: u64 = 150;
/// The cut is reported once in so many looks.
const REPORT_EVERY: u64 = 6;

/// A cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    hosts: [usize; 2],
    looks: u64,
}

impl World {
    /// Two hosts do not reach each other from now on. There is one cut at a time.
    pub(super) fn network_splits(&mut self) {
        let hosts = self.setup.hosts as u64;
        let a = self.below(hosts) as usize;
        let b = (a + 1 + self.below(hosts - 1) as usize) % self.setup.hosts;
        let free = self.cut.is_none() && self.is_launched();
        self.network_splits_between(a, b);
        if free && self.below(2) == 0 {
            let delay = 500 + self.below(6000);
            self.after(delay, Event::CutMended);
        }
    }

    /// As [`World::network_splits`], for these hosts.
    pub(super) fn network_splits_between(&mut self, a: usize, b: usize) {
        if self.cut.is_some() || !self.is_launched() {
            return;
        }
        self.note(|| format!("hosts {a} and {b} do not reach each other"));
        self.cut = Some(Cut { hosts: [a, b], looks: 0 });
        self.after(1, Event::CutLooks);
    }

    /// Whether the cut that there is, if there is one, is between these hosts.
    pub(super) fn is_cut_between(&self, ends: [usize; 2]) -> bool {
        self.cut.is_some_and(|cut| cut.hosts == ends || cut.hosts == [ends[1], ends[0]])
    }

    /// The cut takes the channels that are there.
    pub(super) fn look_at_cut(&mut self) {
        let Some(cut) = &mut self.cut else { return };
        cut.looks += 1;
        let (hosts, report) = (cut.hosts, cut.looks % REPORT_EVERY == 0);
        let crossing: Vec<_> = self
            .channels
            .keys()
            .filter(|(a, b)| self.is_alive(*a) && self.is_alive(*b) && self.is_cut(a.0, b.0))
            .copied()
            .collect();
        if !self.has_memories() {
            crossing.into_iter().for_each(|ends| self.break_channel(ends));
        }
        if report && self.setup.mutant != Some(Mutant::CutNotReported) {
            let input =
                Input::Cut { hosts: hosts.map(|host| host as u32), why: "silence".to_owned() };
            self.report(hosts[0], input);
        }
        self.after(LOOK, Event::CutLooks);
    }

    /// The two hosts reach each other again.
    pub(super) fn cut_ends(&mut self) {
        if let Some(Cut { hosts, .. }) = self.cut.take() {
            self.note(|| format!("hosts {} and {} reach each other again", hosts[0], hosts[1]));
            self.seen.cut_noticed.is_over();
            let hosts = hosts.map(|host| host as u32);
            self.report(hosts[0] as usize, Input::CutMended { hosts });
        }
    }

    /// Whether the hosts of two ranks do not reach each other.
    pub(super) fn is_cut(&self, a: usize, b: usize) -> bool {
        let Some(Cut { hosts: [x, y], .. }) = self.cut else { return false };
        let ends = (self.host_of(a), self.host_of(b));
        ends == (x, y) || ends == (y, x)
    }

    /// A channel is wanted that no way leads to now.
    pub(super) fn open_later(&mut self, a: (usize, Incarnation), b: (usize, Incarnation)) {
        self.after(LOOK, Event::Open { a, b });
    }

    /// The dispatcher is about to look: what it does about a cut is no return without a reason.
    pub(super) fn cut_is_a_failure(&mut self) {
        let Some(Cut { hosts, .. }) = self.cut else { return };
        let ranks_on = |host: usize| -> Vec<usize> {
            let machine = &self.dispatch.machine;
            let here = |rank: &usize| machine.location(Rank(*rank as u32)).0 as usize == host;
            (0..self.processes.len()).filter(here).collect()
        };
        let split = hosts.map(ranks_on);
        let unfinished = |rank: &usize| self.processes[*rank].digest.is_none();
        let up = hosts.iter().all(|host| self.dispatch.hosts[*host].up);
        let both = split.iter().all(|ranks| ranks.iter().any(unfinished)) && up;
        self.seen.cut_noticed.lasts(self.now, both);
        if self.in_waves() {
            for rank in split.concat() {
                let cluster = self.cluster_of(rank);
                self.seen.failed_clusters.fails(cluster);
            }
        }
    }
}
