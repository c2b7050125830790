//! Users and monitoring that move ranks while the job runs: a rank to a host, all ranks of a host,
//! and back again.

use super::{Event, World};
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::{Cause, Input, MoveState, Notice};
use ftmpi_wire::Rank;

impl World {
    /// Somebody wants ranks elsewhere.
    pub(super) fn ranks_move(&mut self) {
        if self.dispatch.end.is_some() {
            return;
        }
        if !self.is_launched() {
            return self.after(200, Event::Move);
        }
        let host = self.below(self.setup.all_hosts() as u64) as usize;
        let rank = Rank(self.below(self.processes.len() as u64) as u32);
        let host_number = host as u32;
        let may_drain = self.dispatch.machine.may_drain(host_number).is_ok();
        let input = match self.below(6) {
            0 => Input::Undrain { host: host_number },
            1 => Input::Drain { host: host_number },
            2 => Input::Health { host: host_number, bad: Some("it is warm".to_owned()) },
            3 => Input::Health { host: host_number, bad: None },
            _ => Input::Migrate { rank, to: (self.below(3) > 0).then_some(host_number) },
        };
        match input {
            Input::Drain { .. } | Input::Health { bad: Some(_), .. } if may_drain => {
                self.seen.drained_hosts.is_drained(host);
                // (Bad health of a host that is drained already changes nothing.)
                let begins = matches!(input, Input::Drain { .. })
                    || !self.dispatch.machine.is_drained(host_number);
                for rank in self.dispatch.machine.living_on(host_number) {
                    let incarnation = self.dispatch.machine.location(rank).1;
                    if begins {
                        self.seen.drained_hosts.is_present(host, rank.index(), incarnation);
                    }
                }
            }
            _ => {}
        }
        self.notify_dispatcher(input);
        if !self.dispatch.machine.is_drained(host_number) {
            self.seen.drained_hosts.takes_ranks(host);
        }
    }

    /// Every rank that was on a drained host has left it, moves, or is said to stay.
    pub(super) fn drained_hosts_are_left(&self) {
        let machine = &self.dispatch.machine;
        if machine.has_ended() {
            return;
        }
        for (host, number, incarnation) in self.seen.drained_hosts.present() {
            let rank = Rank(number as u32);
            let is_there = machine.location(rank) == (host as u32, incarnation)
                && machine.is_drained(host as u32)
                && machine.living_on(host as u32).contains(&rank);
            let last = machine.migrations().iter().rev().find(|one| one.rank == rank);
            let is_known = last
                .is_some_and(|one| one.is_active() || matches!(one.state, MoveState::Failed(_)));
            if is_there && !is_known {
                self.seen.drained_hosts.is_forgotten(host, number);
            }
        }
    }

    /// The dispatcher reports something: ranks that move return as ranks do that have failed.
    pub(super) fn hears_notice(&mut self, notice: &Notice) {
        if let Notice::Returning { cause: Cause::Moves { ranks }, .. } = notice {
            for rank in ranks {
                let cluster = self.cluster_of(rank.index());
                self.seen.failed_clusters.fails(cluster);
            }
        }
    }

    /// The host where a rank is to begin.
    pub(super) fn begins_on(&mut self, rank: usize, host: usize) -> usize {
        let host = match self.setup.mutant {
            Some(Mutant::DrainedHostTaken) => {
                let drained = self.seen.drained_hosts.first();
                drained.filter(|drained| self.dispatch.hosts[*drained].up).unwrap_or(host)
            }
            _ => host,
        };
        let up = self.dispatch.hosts.iter().enumerate();
        let up = up.filter(|(_, state)| state.up).map(|(number, _)| number);
        let able = up.filter(|host| self.seen.placement.takes_any(*host));
        self.seen.drained_hosts.begins(rank, host, able);
        host
    }

    /// How many ranks have moved.
    pub(super) fn moved(&self) -> u64 {
        let migrations = self.dispatch.machine.migrations().iter();
        migrations.filter(|migration| migration.state == MoveState::Done).count() as u64
    }
}
