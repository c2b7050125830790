//! Processes that join the running job, worlds that end before it, and questions of ranks to the
//! launcher.
//!
//! Guarantees: a rank hears of new processes before it gets a channel to one of them. After the end
//! of a world nobody tries to reach its processes.

use super::Agent;
use super::directory::RankKey;
use crate::agent_protocol::Growth;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::new_processes::{JobAnswer, World};
use ftmpi_wire::{Incarnation, Rank};
use std::sync::Arc;

impl Agent {
    /// Processes join the job.
    pub(super) fn grow(&mut self, growth: &Growth) {
        let Some(job) = self.job.as_mut() else { return };
        if job.view.worlds.contains(&growth.world) {
            // This agent began later, and had the whole job from the start.
            return;
        }
        Arc::make_mut(job).grow(growth);
        self.directory.send_modify(|directory| {
            directory.host_of.extend(&growth.hosts);
            directory.incarnations.resize(directory.host_of.len(), Incarnation(0));
        });
        let message = ToRank::Grown { world: growth.world, hosts: growth.hosts.clone() };
        self.tell_ranks(&message);
        self.look_at_unknown();
        self.look_at_waiting_callers();
    }

    /// All processes of a world have ended.
    pub(super) fn world_over(&mut self, world: World) {
        self.directory.send_modify(|directory| {
            directory.gone.extend(world.processes().map(Rank));
        });
        world.processes().for_each(|rank| self.broker.forget(Rank(rank)));
        self.tell_ranks(&ToRank::WorldOver { world });
    }

    /// The launcher has answered a rank.
    pub(super) fn pass_answer(&mut self, key: RankKey, number: u64, answer: JobAnswer) {
        if let Some(process) = self.ranks.connected(key) {
            process.send(&ToRank::Answer { number, answer }, Vec::new(), false);
        }
    }

    fn tell_ranks(&self, message: &ToRank) {
        for process in self.ranks.all().filter(|process| process.is_connected()) {
            process.send(message, Vec::new(), false);
        }
    }
}
