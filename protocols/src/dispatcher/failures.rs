//! What a death leads to: a new incarnation, or the end of the job.
//!
//! Guarantees: a fault of the program that comes back at the same place ends the job with its
//! cause. More restarts than allowed end the job as well. After any other death the rank starts
//! again, from its newest image.

use super::Dispatcher;
use super::messages::{Command, Ending, Failure};
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::Stage;
use crate::scheduler::scheduler_process::Note;
use ftmpi_wire::{Incarnation, Rank};

impl Dispatcher {
    pub(super) fn failed(&mut self, rank: Rank, ending: Ending, progress: u64) {
        let host = self.host_name(rank).to_owned();
        let code = match ending {
            Ending::Signal(signal) => 128 + signal,
            Ending::Code(code) => code,
            Ending::ControlLost => 1,
        };
        if !self.settings.traits.is_fault_tolerant() {
            let protocol = self.settings.protocol.clone();
            return self.give_up(code, EndReason::RankLost { rank, host, ending, protocol });
        }
        let state = &mut self.ranks[rank.index()];
        let same = state.last_death == Some(ending) && progress <= state.last_progress;
        state.same_deaths = if same { state.same_deaths + 1 } else { 1 };
        state.last_death = Some(ending);
        state.last_progress = progress;
        // A crash of the program itself comes back again and again; SIGKILL comes from outside.
        let own_fault = !matches!(ending, Ending::Signal(9 | 15 | 1 | 2 | 3));
        if own_fault && state.same_deaths >= self.settings.same_death_max {
            let times = state.same_deaths;
            return self.give_up(code, EndReason::SameDeath { rank, host, ending, times });
        }
        self.restart(rank, Cause::Ended(ending), code);
    }

    /// Gives the rank a new incarnation: at once where its host's agent is up, else when it is.
    pub(super) fn restart(&mut self, rank: Rank, cause: Cause, code: i32) {
        self.note(Note::Failed);
        let alone = matches!(cause, Cause::Ended(Ending::Signal(_))) && self.has_met_nobody(rank);
        if let Some(cluster) = self.cluster_of(rank).filter(|_| !alone) {
            let cause = self.of_rank(rank, cause);
            return self.roll_back(cluster, &[rank], &cause, code);
        }
        self.restarts += 1;
        if self.restarts > self.settings.restarts_max {
            let (cause, limit) = (self.of_rank(rank, cause), self.settings.restarts_max);
            return self.give_up(code, EndReason::TooManyRestarts { cause, limit });
        }
        self.bring_back(rank, cause);
        if alone {
            return;
        }
        for gone in self.gone_without_exit() {
            self.bring_back(gone, Cause::LeftWithoutExit);
        }
    }

    /// Whether this rank returns with a cluster and has not said hello in any incarnation. Such a
    /// rank has sent and received nothing, so it begins again without the others. (Its agent
    /// reports a hello before an end. A lost agent may have had a hello to report.)
    fn has_met_nobody(&self, rank: Rank) -> bool {
        self.cluster_of(rank).is_some_and(|cluster| {
            let waves = &self.clusters[cluster].waves;
            !self.ranks[rank.index()].joined
                && !self.is_rolling(rank)
                && waves.newest().is_none()
                && waves.can_return_to_the_start()
        })
    }

    /// A cause of this rank, for causes that concern several ranks.
    pub(super) fn of_rank(&self, rank: Rank, cause: Cause) -> Cause {
        let (host, cause) = (self.host_name(rank).to_owned(), Box::new(cause));
        Cause::OfRank { rank, host, cause }
    }

    /// Ranks of the MPI program that have ended while others may need their logs: `_exit` waits for
    /// no other rank.
    pub(super) fn gone_without_exit(&self) -> Vec<Rank> {
        let ranks = self.ranks.iter().enumerate();
        let gone = ranks.filter(|(_, s)| matches!(s.stage, Stage::Done(_)) && s.joined);
        gone.map(|(rank, _)| Rank(rank as u32)).filter(|_| !self.all_exiting).collect()
    }

    pub(super) fn bring_back(&mut self, rank: Rank, cause: Cause) {
        let host = self.host_name(rank).to_owned();
        if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
            self.image_ended(rank);
        }
        self.waits_no_more(rank);
        self.left_early_at = self.left_early_at.filter(|(_, left)| *left != rank);
        let state = &mut self.ranks[rank.index()];
        state.new_incarnation();
        let incarnation = state.incarnation;
        let mut failure = Failure::now(rank, incarnation, self.now, cause.clone());
        failure.alone = true;
        self.failures.push(failure);
        let image = self.ranks[rank.index()].images.newest();
        self.notify(Notice::Restarting { rank, host, cause, image });
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
