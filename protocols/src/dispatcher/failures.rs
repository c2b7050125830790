//! What a death leads to: a new incarnation, or the end of the job.
//!
//! Guarantees: a fault of the program that comes back at the same place, and more restarts than allowed,
//! end the job with the cause; everything else is started again, from the newest image there is.

use super::Dispatcher;
use super::messages::{Command, Ending, Failure};
use super::rank_state::Stage;
use crate::scheduler::scheduler_process::Note;
use ftmpi_wire::{Incarnation, Rank};

impl Dispatcher {
    pub(super) fn failed(&mut self, rank: Rank, ending: Ending, progress: u64) {
        let host = self.host_name(rank).to_owned();
        let cause = match ending {
            Ending::Signal(_) => format!("killed by {ending}"),
            _ => ending.to_string(),
        };
        let code = match ending {
            Ending::Signal(signal) => 128 + signal,
            Ending::Code(code) => code,
            Ending::ControlLost => 1,
        };
        if !self.settings.traits.is_fault_tolerant() {
            let text = format!(
                "rank {rank} on {host}: {cause}; the protocol {} cannot bring it back (use \
                 --protocol pessimistic)",
                self.settings.protocol
            );
            return self.give_up(code, text);
        }
        let state = &mut self.ranks[rank.index()];
        let same = state.last_death == Some(ending) && progress <= state.last_progress;
        state.same_deaths = if same { state.same_deaths + 1 } else { 1 };
        state.last_death = Some(ending);
        state.last_progress = progress;
        // A crash of the program itself comes back for ever; SIGKILL comes from outside.
        let own_fault = !matches!(ending, Ending::Signal(9 | 15 | 1 | 2 | 3));
        if own_fault && state.same_deaths >= self.settings.same_death_max {
            let text = format!(
                "rank {rank} on {host}: {cause} {} times at the same place: a fault of the \
                 program, which no restart can heal",
                state.same_deaths
            );
            return self.give_up(code, text);
        }
        self.restart(rank, &cause, code);
    }

    /// Gives the rank a new incarnation: at once where its host's agent is up, else when it is.
    pub(super) fn restart(&mut self, rank: Rank, cause: &str, code: i32) {
        let host_name = self.host_name(rank).to_owned();
        self.note(Note::Failed);
        if let Some(cluster) = self.cluster_of(rank) {
            let cause = format!("rank {rank} on {host_name}: {cause}");
            return self.roll_back(cluster, &[rank], &cause, code);
        }
        self.restarts += 1;
        if self.restarts > self.settings.restarts_max {
            let text = format!(
                "rank {rank} on {host_name}: {cause}, after {} restarts, the limit of this job \
                 (--max-restarts)",
                self.settings.restarts_max
            );
            return self.give_up(code, text);
        }
        self.bring_back(rank, cause);
        for gone in self.gone_without_exit() {
            self.bring_back(
                gone,
                "it had left without exit(), and what it has sent is needed again",
            );
        }
    }

    /// Ranks of the MPI program that have ended while others may need their logs: `_exit` asks nobody.
    pub(super) fn gone_without_exit(&self) -> Vec<Rank> {
        let ranks = self.ranks.iter().enumerate();
        let gone = ranks.filter(|(_, s)| matches!(s.stage, Stage::Done(_)) && s.joined);
        gone.map(|(rank, _)| Rank(rank as u32)).filter(|_| !self.all_exiting).collect()
    }

    pub(super) fn bring_back(&mut self, rank: Rank, cause: &str) {
        let host_name = self.host_name(rank).to_owned();
        if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
            self.image_ended(rank);
        }
        self.waits_no_more(rank);
        self.left_early_at = self.left_early_at.filter(|(_, left)| *left != rank);
        let state = &mut self.ranks[rank.index()];
        state.new_incarnation();
        let incarnation = state.incarnation;
        self.failures.push(Failure::now(rank, incarnation, self.now, cause));
        let from = match self.ranks[rank.index()].images.newest() {
            Some(image) => format!("image {image}"),
            None => "its beginning".to_owned(),
        };
        self.commands.push_back(Command::Say(format!(
            "rank {rank} on {host_name}: {cause}; restarting it from {from}"
        )));
        if self.hosts.is_up(self.ranks[rank.index()].host) {
            self.announce_and_start(rank);
        }
    }

    pub(super) fn announce_and_start(&mut self, rank: Rank) {
        let state = &self.ranks[rank.index()];
        let (incarnation, host) = (state.incarnation, state.host);
        if incarnation > Incarnation(0) {
            self.commands.push_back(Command::Announce { rank, incarnation, host });
        }
        self.start(rank);
    }
}
