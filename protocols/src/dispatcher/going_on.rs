//! Going on without ranks: the recovery `ignore`.
//!
//! Guarantees: all ranks hear of deaths, revocations and agreements in one order. A rank that was
//! given up never comes back. Barriers do not wait for it. A program that ends without
//! `MPI_Finalize` has failed. If two living ranks lose their connection, the job ends: no rank may
//! take a living one for dead.
//!
//! See `docs/internals/going-on-without-ranks.md`.

use super::Dispatcher;
use super::failures::Failed;
use super::messages::{Command, Ending, Failure};
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::Stage;
use super::worlds::is_over;
use crate::agreement::{Agreements, Outcome};
use crate::judge::{Fact, Recovery, Verdict};
use crate::tuning::LOST_CHANNEL_PATIENCE;
use ftmpi_wire::group_news::{GroupName, GroupNews, GroupRequest, REVOCATIONS_KEPT};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::VecDeque;
use std::time::Duration;

/// What the dispatcher keeps for jobs that go on without ranks.
#[derive(Debug)]
pub(super) struct GoingOn {
    agreements: Agreements,
    /// The newest ones.
    revoked: VecDeque<GroupName>,
    /// Connections between ranks that both lived then, in the order of their loss.
    lost_channels: Vec<(Duration, [Rank; 2])>,
}

impl GoingOn {
    pub(super) fn new(size: u32) -> Self {
        Self {
            agreements: Agreements::new(size),
            revoked: VecDeque::new(),
            lost_channels: Vec::new(),
        }
    }

    pub(super) fn ranks_added(&mut self, ranks: u32) {
        self.agreements.ranks_added(ranks);
    }
}

impl Dispatcher {
    /// Whether the others go on without this rank: then it is given up here.
    pub(super) fn goes_on_without(&mut self, rank: Rank, ending: Ending, progress: u64) -> bool {
        if self.settings.traits.is_fault_tolerant() || !self.settings.recovery.ignores() {
            return false;
        }
        let host = self.ranks[rank.index()].host;
        let verdict = self.ask(&Fact::Process { rank, host, ending, progress });
        let Some(verdict) = verdict.filter(|v| v.named.recovery == Recovery::Ignore) else {
            return false;
        };
        let code = ending.exit_code();
        let named = Some(verdict.named);
        self.give_up_rank(rank, Failed { cause: Cause::Ended(ending), named, code });
        self.look_who_is_left(code);
        true
    }

    /// The same for all ranks of a host.
    pub(super) fn goes_on_without_host(
        &mut self,
        verdict: Option<&Verdict>,
        why: &str,
        victims: &[Rank],
    ) -> bool {
        let Some(verdict) = verdict.filter(|v| v.named.recovery == Recovery::Ignore) else {
            return false;
        };
        for &rank in victims {
            // Nobody has heard of these yet: their spawn fails.
            self.was_unborn(rank, 1, || why.to_owned());
        }
        for &rank in victims {
            if self.ranks[rank.index()].stage == Stage::Ignored {
                continue;
            }
            let cause = Cause::AgentLost { why: why.to_owned() };
            self.give_up_rank(rank, Failed { cause, named: Some(verdict.named), code: 1 });
        }
        self.look_who_is_left(1);
        true
    }

    fn give_up_rank(&mut self, rank: Rank, failed: Failed) {
        let Failed { cause, named, .. } = failed;
        let host = self.host_name(rank).to_owned();
        let state = &mut self.ranks[rank.index()];
        state.stage = Stage::Ignored;
        let incarnation = state.incarnation;
        self.waits_no_more(rank);
        self.left_early_at = self.left_early_at.filter(|(_, left)| *left != rank);
        let failure = Failure::now(rank, incarnation, self.now, cause.clone());
        self.failures.push(failure.judged(named));
        self.notify(Notice::GoesOn { rank, host, cause, named });
        self.commands.push_back(Command::News { news: GroupNews::Failed(rank), to: None });
        self.going_on.agreements.died(rank);
        self.tell_outcomes();
    }

    /// A job without ranks has ended.
    pub(super) fn look_who_is_left(&mut self, code: i32) {
        if self.ranks.iter().all(|state| state.stage == Stage::Ignored) {
            let reason = (code != 0).then_some(EndReason::NoRankLeft);
            return self.end(code, reason);
        }
        self.look_at_barriers();
    }

    /// A rank asks for a revocation, or takes part in an agreement.
    pub(super) fn asked_by_group(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        request: GroupRequest,
    ) {
        if self.living(rank, incarnation).is_none() {
            return;
        }
        match request {
            GroupRequest::Revoke(group) => {
                let revoked = &mut self.going_on.revoked;
                if !revoked.contains(&group) {
                    revoked.push_back(group);
                    if revoked.len() > REVOCATIONS_KEPT {
                        revoked.pop_front();
                    }
                    let news = GroupNews::Revoked(group);
                    self.commands.push_back(Command::News { news, to: None });
                }
            }
            GroupRequest::Contribute(part) => {
                self.going_on.agreements.contribute(rank, part);
                self.tell_outcomes();
            }
            GroupRequest::Abort { members, code } => self.abort_group(rank, &members, code),
        }
    }

    /// `MPI_Abort` on a communicator: its members end, if the others go on without each of them.
    /// Otherwise the job ends.
    fn abort_group(&mut self, asker: Rank, members: &[(Rank, Rank)], code: i32) {
        let is_member =
            |rank: &Rank| members.iter().any(|(first, last)| (first..=last).contains(&rank));
        let ranks = (0..self.ranks.len() as u32).map(Rank);
        let living = ranks.filter(|rank| !is_over(&self.ranks[rank.index()]));
        let (ending, others): (Vec<Rank>, Vec<Rank>) = living.partition(is_member);
        let host = self.host_name(asker).to_owned();
        let reason = EndReason::Aborted { rank: asker, host, code };
        if !self.settings.recovery.ignores() && self.fails_alone(asker, false, code, &reason) {
            return;
        }
        let reason = Some(reason);
        if others.is_empty() {
            return self.end(code, reason);
        }
        for rank in ending {
            let incarnation = self.ranks[rank.index()].incarnation;
            if !self.goes_on_without(rank, Ending::Code(code), 0) {
                return self.end(code, reason);
            }
            // The caller waits for its end, and no other member knows of it.
            self.commands.push_back(match rank == asker {
                true => Command::Die { rank, incarnation, code },
                false => Command::Kill { rank, incarnation },
            });
        }
    }

    fn tell_outcomes(&mut self) {
        while let Some(Outcome { agreed, to }) = self.going_on.agreements.next_outcome() {
            let news = GroupNews::Agreed(agreed);
            self.commands.push_back(Command::News { news, to: Some(to) });
        }
    }

    /// The program of the rank has ended in order: no agreement waits for it. Members that ended
    /// and members that died are the same to those who go on.
    pub(super) fn left_its_groups(&mut self, rank: Rank) {
        if self.settings.recovery.ignores() {
            self.going_on.agreements.died(rank);
            self.tell_outcomes();
        }
    }

    /// A connection broke whose ends may both live.
    pub(super) fn lost_between(&mut self, ends: [Rank; 2]) {
        let live = |rank: &Rank| {
            self.ranks.get(rank.index()).is_some_and(|state| state.stage == Stage::Running)
        };
        let repaired = self.settings.traits.is_fault_tolerant();
        let explained_later =
            self.settings.recovery.ignores() || (self.has_several_worlds() && !repaired);
        if explained_later && ends.iter().all(live) && !self.all_exiting {
            let lost = &mut self.going_on.lost_channels;
            let alike =
                |(_, known): &(Duration, [Rank; 2])| *known == ends || *known == [ends[1], ends[0]];
            if !lost.iter().any(alike) {
                lost.push((self.now, ends));
            }
        }
    }

    pub(super) fn look_at_lost_connections(&mut self) {
        let now = self.now;
        let is_over =
            |(since, _): &mut (Duration, [Rank; 2])| now >= *since + LOST_CHANNEL_PATIENCE;
        let over: Vec<_> = self.going_on.lost_channels.extract_if(.., is_over).collect();
        let runs = |rank: &Rank| self.ranks[rank.index()].stage == Stage::Running;
        let between_living = over.iter().find(|(_, ends)| ends.iter().all(runs));
        if let Some(&(_, ends)) = between_living.filter(|_| !self.all_exiting) {
            let cause = Cause::ChannelBroke { ends };
            self.end(1, Some(EndReason::ConnectionLost { cause }));
        }
    }
}
