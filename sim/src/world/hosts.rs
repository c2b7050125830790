//! The hosts of a job. Agents die with their ranks and are started again. Hosts break for ever, and
//! the dispatcher moves their ranks. Hosts are mended after the dispatcher has given them up.

use super::{Event, World};
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_protocols::judge::Fact;
use ftmpi_wire::Rank;
use std::time::Duration;

/// A host that falls silent is missed after so long at the most.
const SILENCE: u64 = 1500;

impl World {
    /// An agent begins, and hears of all incarnations.
    pub(super) fn agent_up(&mut self, launcher: u64, host: usize) {
        if launcher != self.dispatch.launcher {
            return;
        }
        if self.dispatch.hosts[host].broken {
            return self.agent_fails(host);
        }
        let machine = &self.dispatch.machine;
        let incarnations =
            (0..self.processes.len()).map(|rank| machine.location(Rank(rank as u32)).1);
        let known = incarnations.collect();
        let host_state = &mut self.dispatch.hosts[host];
        host_state.known = known;
        (host_state.up, host_state.was_up, host_state.given_up) = (true, true, false);
        self.seen.placement.is_up(host);
        self.notify_dispatcher(Input::AgentUp { host: host as u32 });
    }

    /// An agent dies, and its ranks with it.
    pub(super) fn agent_dies(&mut self, host: usize) {
        if !self.dispatch.hosts[host].up || self.dispatch.end.is_some() {
            return;
        }
        self.note(|| format!("the agent of host {host} dies"));
        self.host_falls(host, "it died", false);
    }

    /// A host breaks, if it has begun and is not the last one.
    pub(super) fn host_breaks(&mut self) {
        let host = self.below(self.setup.hosts as u64) as usize;
        self.this_host_breaks(host);
    }

    /// As [`World::host_breaks`], for this host. Another one that works again, and was given up
    /// before, helps nobody until the launcher tries it again.
    pub(super) fn this_host_breaks(&mut self, host: usize) {
        let others = (0..self.setup.hosts).filter(|other| *other != host);
        let helps = |other: &usize| {
            let state = &self.dispatch.hosts[*other];
            !state.broken && !state.given_up
        };
        let last = others.filter(helps).count() == 0;
        let state = &mut self.dispatch.hosts[host];
        if last || state.broken || !state.was_up {
            return;
        }
        state.broken = true;
        self.note(|| format!("host {host} breaks"));
        if self.dispatch.hosts[host].up {
            // Nobody closes its connection.
            let silence = self.now + self.below(SILENCE);
            let last = &mut self.dispatch.hosts[host].last[1];
            *last = silence.max(*last);
            self.host_falls(host, "it fell silent", true);
        }
    }

    /// Monitoring says that a host may fail, or that it is sound again.
    pub(super) fn host_suspected(&mut self) {
        let host = self.below(self.setup.all_hosts() as u64) as u32;
        let fact = match self.below(4) {
            0 => Fact::Sound { host },
            _ => Fact::Suspect { host, why: "it is hot".to_owned() },
        };
        if self.is_launched() {
            self.notify_dispatcher(Input::Noticed(fact));
        }
    }

    /// A rank was stopped for so long that the recovery file has it begin again.
    pub(super) fn rank_stopped(&mut self) {
        let rank = Rank(self.below(self.processes.len() as u64) as u32);
        self.rank_is_stopped(rank);
    }

    /// As [`World::rank_stopped`], for this rank.
    pub(super) fn rank_is_stopped(&mut self, rank: Rank) {
        if self.processes[rank.index()].fiber.is_none() || !self.is_launched() {
            return;
        }
        if self.in_waves() {
            let cluster = self.cluster_of(rank.index());
            self.seen.failed_clusters.fails(cluster);
        }
        let host = self.dispatch.machine.location(rank).0;
        let lasts = Duration::from_secs(60);
        self.notify_dispatcher(Input::Noticed(Fact::Stall { rank, host, lasts }));
    }

    /// There is no agent where one was to be. Now and then there is one after all, when the
    /// launcher no longer waits for it.
    fn agent_fails(&mut self, host: usize) {
        self.dispatch.hosts[host].given_up = true;
        self.notify_dispatcher(Input::AgentFailed { host: host as u32, why: "broken".to_owned() });
        if self.below(3) == 0 {
            let delay = self.below(3000);
            self.after(delay, Event::HostMended(self.dispatch.launcher, host));
        }
    }

    /// A host works again, too late for the ranks that it had.
    pub(super) fn host_mended(&mut self, launcher: u64, host: usize) {
        if launcher == self.dispatch.launcher {
            self.dispatch.hosts[host].broken = false;
            self.agent_up(launcher, host);
        }
    }

    /// Its agent is gone, and its ranks.
    fn host_falls(&mut self, host: usize, why: &str, silent: bool) {
        let state = &mut self.dispatch.hosts[host];
        state.up = false;
        state.agent += 1;
        for rank in 0..self.processes.len() {
            if self.host_of(rank) != host {
                continue;
            }
            if self.setup.mutant == Some(Mutant::RanksOutliveTheirHost) {
                continue;
            }
            if self.in_waves() {
                let cluster = self.cluster_of(rank);
                self.seen.failed_clusters.fails(cluster);
            }
            self.processes[rank].starting = None;
            if self.processes[rank].fiber.is_some() {
                self.outcome.crashes += 1;
                // A rank that had reported its exit may be needed no more.
                let said = self.processes[rank].digest.filter(|_| self.processes[rank].exiting);
                self.end_process(rank);
                self.processes[rank].digest = said;
            }
        }
        let (number, why) = (host as u32, why.to_owned());
        self.report(host, Input::AgentLost { host: number, why, silent });
    }
}
