//! Faults that are drawn from a model of rates, as `ftmpiexec --inject model:FILE` draws them.
//!
//! The limits of the simulator are kept: no more deaths than the setup allows, one cut at a time,
//! and one host that is up at least.

use super::{Event, World};
use ftmpi_faults::{Draws, Due};
use ftmpi_protocols::judge::HostName;
use ftmpi_wire::Rank;
use std::time::Duration;

/// The hosts of the simulator: two switches, one of them with the hosts of even numbers.
fn host_names(hosts: usize) -> Vec<HostName> {
    let name = |host| HostName { name: format!("h{host}"), switch: Some(format!("s{}", host % 2)) };
    (0..hosts).map(name).collect()
}

impl World {
    /// The model, if the setup has one.
    pub(super) fn plan_model(&mut self) {
        let Some(model) = &self.setup.model else { return };
        let ranks = self.processes.len() as u32;
        self.draws = Some(Draws::new(model, &host_names(self.setup.hosts), ranks));
        self.wait_for_model();
    }

    fn wait_for_model(&mut self) {
        let next = self.draws.as_ref().and_then(Draws::next);
        if let Some(next) = next {
            let delay = (next.as_millis() as u64 + 1).saturating_sub(self.now);
            self.after(delay, Event::ModelDue);
        }
    }

    /// Something of the model is due.
    pub(super) fn model_due(&mut self) {
        let Some(mut draws) = self.draws.take() else { return };
        let now = Duration::from_millis(self.now);
        for due in draws.take_due(now, |rank| self.host_of(rank.index()) as u32) {
            self.note(|| format!("the model says {due:?}"));
            self.carry_out(due);
        }
        self.draws = Some(draws);
        self.wait_for_model();
    }

    fn carry_out(&mut self, due: Due) {
        match due {
            Due::Kill(rank) => self.crash(rank.index()),
            Due::Stop(rank, true) => self.rank_is_stopped(rank),
            Due::Host(host, true) => self.host_goes_down(host as usize),
            Due::Host(host, false) => self.dispatch.hosts[host as usize].broken = false,
            Due::Cut([a, b], true) => self.network_splits_between(a as usize, b as usize),
            Due::Cut(pair, false) => {
                if self.is_cut_between(pair.map(|host| host as usize)) {
                    self.cut_ends();
                }
            }
            // What the launcher did about it is done.
            Due::Stop(Rank(_), false) => {}
        }
    }

    /// A host goes down, if another one is up.
    fn host_goes_down(&mut self, host: usize) {
        let others = (0..self.setup.hosts).filter(|other| *other != host);
        let is_up = |other: &usize| {
            let state = &self.dispatch.hosts[*other];
            state.up && !state.broken
        };
        if others.filter(is_up).count() > 0 {
            self.this_host_breaks(host);
        }
    }
}
