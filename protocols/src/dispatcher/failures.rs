//! What a death leads to: a new incarnation, here or elsewhere, or the end of the job. The
//! [judge](crate::judge) says which.
//!
//! Guarantees: more failures than allowed end the job. After any other death the rank starts again,
//! from its newest image, unless the judge gives the job up.

use super::Dispatcher;
use super::messages::{Command, Ending, Failure};
use super::notice::{Cause, EndReason, InStandby, Notice};
use super::rank_state::Stage;
use super::standbys::promoting;
use crate::judge::{Fact, Ground, Named, Recovery};
use crate::scheduler::scheduler_process::Note;
use ftmpi_wire::{Incarnation, Rank};

/// A failure on its way through the dispatcher.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    pub(super) cause: Cause,
    /// What the judge named.
    pub(super) named: Option<Named>,
    /// Exit code of the job, should this end it.
    pub(super) code: i32,
}

impl Dispatcher {
    pub(super) fn failed(&mut self, rank: Rank, ending: Ending, progress: u64) {
        let host = self.host_name(rank).to_owned();
        let code = ending.exit_code();
        if !self.settings.traits.is_fault_tolerant() {
            if self.goes_on_without(rank, ending, progress) {
                return;
            }
            let protocol = self.settings.protocol.clone();
            return self.given_up(rank, code, EndReason::RankLost { rank, host, ending, protocol });
        }
        let fact = Fact::Process { rank, host: self.ranks[rank.index()].host, ending, progress };
        let cause = Cause::Ended(ending);
        let Some(verdict) = self.ask(&fact) else {
            return self.restart(rank, Failed { cause, named: None, code });
        };
        let (named, ground) = (verdict.named, verdict.ground.clone());
        match (named.recovery, ground) {
            (Recovery::GiveUp, Ground::SameDeath { times, before }) => {
                let reason = EndReason::SameDeath { rank, host, ending, times, before };
                return self.given_up(rank, code, reason);
            }
            (Recovery::GiveUp, ground) => {
                let cause = self.of_rank(rank, cause);
                return self.given_up(rank, code, EndReason::Judged { cause, ground, named });
            }
            (Recovery::Migrate, _) => self.migrate_dead(rank, ending, &verdict),
            // Refused before the start: a log cannot repeat it.
            (Recovery::Restart | Recovery::Ignore, _) => {}
        }
        self.restart(rank, Failed { cause, named: Some(named), code });
        if named.recovery == Recovery::Migrate && !verdict.leave.is_empty() && !self.ended {
            self.shun_and_leave(&verdict, None);
        }
    }

    /// Gives the rank a new incarnation: at once where its host's agent is up, else when it is.
    pub(super) fn restart(&mut self, rank: Rank, failure: Failed) {
        self.note(Note::Failed);
        let killed = matches!(failure.cause, Cause::Ended(Ending::Signal(_) | Ending::Memory(_)));
        let alone = killed && self.has_met_nobody(rank);
        let whole = self.of_rank(rank, failure.cause.clone());
        if let Some(cluster) = self.cluster_of(rank).filter(|_| !alone) {
            return self.roll_back(cluster, &[rank], &Failed { cause: whole, ..failure });
        }
        if !self.count_failure(&whole, failure.code) {
            return;
        }
        match alone {
            true => self.bring_back(rank, failure.cause, failure.named),
            false => self.bring_all_back(&[rank], &failure),
        }
    }

    /// Counts a failure. `false`: there were too many, and the job has ended.
    pub(super) fn count_failure(&mut self, cause: &Cause, code: i32) -> bool {
        self.restarts += 1;
        let limit = self.settings.restarts_max;
        if self.restarts > limit {
            self.give_up(code, EndReason::TooManyRestarts { cause: cause.clone(), limit });
        }
        self.restarts <= limit
    }

    /// Gives these ranks, and those whose logs they may need, new incarnations.
    pub(super) fn bring_all_back(&mut self, ranks: &[Rank], failure: &Failed) {
        for rank in ranks {
            self.bring_back(*rank, failure.cause.clone(), failure.named);
        }
        self.bring_back_who_left();
    }

    /// Whether this rank returns with a cluster and has not said hello in any incarnation. Such a
    /// rank has sent and received nothing, so it begins again without the others. (Its agent
    /// reports a hello before an end. A lost agent may have had a hello to report.)
    fn has_met_nobody(&self, rank: Rank) -> bool {
        self.cluster_of(rank).is_some_and(|cluster| {
            let waves = &self.clusters[cluster].waves;
            let begins = waves.newest().is_none() && waves.can_return_to_the_start();
            !self.ranks[rank.index()].joined
                && !self.is_rolling(rank)
                && (begins || self.is_unborn(rank))
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
        let gone = gone.map(|(rank, _)| Rank(rank as u32)).filter(|_| !self.all_exiting);
        gone.filter(|rank| !self.has_met_no_world(*rank)).collect()
    }

    pub(super) fn bring_back(&mut self, rank: Rank, cause: Cause, named: Option<Named>) {
        let host = self.host_name(rank).to_owned();
        if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
            self.image_ended(rank);
        }
        self.waits_no_more(rank);
        self.left_early_at = self.left_early_at.filter(|(_, left)| *left != rank);
        let index = self.world_index(rank);
        self.worlds[index].complaint = None;
        let promoted = self.promote(rank);
        let named = match promoted {
            Some(_) => named.map(promoting),
            None => named,
        };
        self.next_incarnation(rank);
        let standby = match promoted {
            Some(host) => InStandby::At(host),
            None => self.second_standby(rank).map_or(InStandby::No, InStandby::Second),
        };
        let incarnation = self.ranks[rank.index()].incarnation;
        let mut failure = Failure::now(rank, incarnation, self.now, cause.clone());
        failure.alone = true;
        self.failures.push(failure.judged(named));
        let image = self.ranks[rank.index()].images.newest();
        self.notify(Notice::Restarting { rank, host, cause, image, named, standby });
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
