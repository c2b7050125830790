//! Ranks that leave their hosts because the judge says so: dead ones, and living ones that are
//! ended for it.
//!
//! Whoever moves a rank (the judge, a cut, a user) names its next host in `moves_to`; the rank
//! counts there from then on. It goes there in [`Dispatcher::next_incarnation`], and nowhere else
//! while it has a process.
//!
//! Guarantees:
//! - A rank begins on its new host only after its old process has ended.
//! - Ranks that share memory move together.
//! - A new incarnation begins on a host that is shunned only where no other host takes it; then the
//!   host is shunned no more. It may stay drained, for users say so.

use super::Dispatcher;
use super::failures::Failed;
use super::hosts::Want;
use super::messages::{Command, Ending, Failure};
use super::notice::{Cause, EndReason, InStandby, Notice};
use super::rank_state::Stage;
use super::standbys::promoting;
use super::suspend::SUSPENDED;
use crate::judge::library::Library;
use crate::judge::{Fact, Recovery, Situation, Verdict};
use ftmpi_wire::Rank;

impl Dispatcher {
    /// The judge's verdict about a fact.
    pub(super) fn ask(&mut self, fact: &Fact) -> Option<Verdict> {
        // Ranks that share memory need room together.
        let largest = self.hosts.ranks().iter().copied().max().unwrap_or(1);
        let room = if self.settings.together { largest } else { 1 };
        let situation = Situation {
            now: self.now,
            lost: self.hosts.lost(),
            takes: self.hosts.takes(room),
            ranks: self.hosts.ranks().to_vec(),
        };
        let verdict = self.judge.judge(fact, &situation);
        while let Some(what) = self.judge.next_complaint() {
            self.notify(Notice::Library { what });
        }
        verdict
    }

    /// Detectors and recoveries from a library: the one of this file in the recovery file.
    pub fn add_library(&mut self, file: String, library: Box<dyn Library>) {
        self.judge.add_library(file, library);
    }

    /// Carries out what is said about a fact that no death tells.
    pub(super) fn noticed(&mut self, fact: &Fact) {
        let hosts = fact.hosts();
        let unknown = hosts.iter().any(|host| *host as usize >= self.settings.hosts.len());
        let told = matches!(fact, Fact::Process { .. } | Fact::Host { .. } | Fact::Cut { .. });
        if self.suspension.is_some() || unknown || told {
            return;
        }
        if let Fact::Sound { .. } = fact {
            self.ask(fact);
            self.use_again(&hosts);
            self.leave_drained_hosts();
            return self.all_go_on();
        }
        if !self.settings.traits.is_fault_tolerant() {
            return;
        }
        let Some(verdict) = self.ask(fact) else {
            if let Fact::Suspect { host, why } = fact {
                let host = self.settings.hosts[*host as usize].clone();
                self.notify(Notice::NoRemedy { host, why: why.clone() });
            }
            return;
        };
        let (named, ground) = (verdict.named, verdict.ground.clone());
        match named.recovery {
            Recovery::GiveUp => {
                let cause = Cause::Judged(ground.clone());
                let cause = match fact.rank() {
                    Some(rank) => self.of_rank(rank, cause),
                    None => cause,
                };
                self.give_up(SUSPENDED, EndReason::Judged { cause, ground, named });
            }
            Recovery::Migrate => {
                self.shun_and_leave(&verdict, None);
                if let Some(rank) = fact.rank() {
                    self.move_living(&[rank], &verdict);
                }
            }
            // Refused before the start: only deaths are ignored.
            Recovery::Ignore => {}
            Recovery::Restart => {
                let Some(rank) = fact.rank().filter(|rank| self.has_process(*rank)) else { return };
                let cause = self.cause_of(&verdict);
                if !self.count_failure(&self.of_rank(rank, cause.clone()), 1) {
                    return;
                }
                // Ranks that return together are told together.
                if self.cluster_of(rank).is_none() {
                    let (host, named) = (self.host_name(rank).to_owned(), Some(named));
                    let image = self.ranks[rank.index()].images.newest();
                    let standby = InStandby::No;
                    self.notify(Notice::Restarting { rank, host, cause, image, named, standby });
                }
                self.end_for_next(&[rank], &verdict);
            }
        }
    }

    fn cause_of(&self, verdict: &Verdict) -> Cause {
        Cause::Judged(verdict.ground.clone())
    }

    /// A rank died, and begins again elsewhere.
    pub(super) fn migrate_dead(&mut self, rank: Rank, ending: Ending, verdict: &Verdict) {
        self.shun(verdict);
        let host = self.host_name(rank).to_owned();
        if let Some(to) = self.plan_move(rank) {
            let (to, ground) = (self.settings.hosts[to as usize].clone(), verdict.ground.clone());
            let named = match self.fit_standby(rank) {
                Some(_) => promoting(verdict.named),
                None => verdict.named,
            };
            let ending = Some(ending);
            self.notify(Notice::Migrates { rank, ending, host, to, ground, named });
        }
    }

    fn shun(&mut self, verdict: &Verdict) {
        let hosts = self.hosts.shun(&verdict.shun);
        if !hosts.is_empty() {
            let hosts = hosts.iter().map(|host| self.settings.hosts[*host as usize].clone());
            let (hosts, ground, named) = (hosts.collect(), verdict.ground.clone(), verdict.named);
            self.notify(Notice::Shunned { hosts, ground, named });
        }
        // What waits for others of its cluster must not begin there.
        for rank in (0..self.ranks.len() as u32).map(Rank) {
            let state = &self.ranks[rank.index()];
            let waits = state.stage == Stage::Waiting && self.hosts.is_up(state.host);
            if waits && self.hosts.is_shunned(state.host) {
                let from = state.host;
                match self.plan_move(rank) {
                    Some(_) => self.settle(rank),
                    None => self.use_again(&[from]),
                }
            }
        }
    }

    /// Hosts take no rank from now on, and living ranks leave them. `lost`: one that is lost has
    /// none.
    pub(super) fn shun_and_leave(&mut self, verdict: &Verdict, lost: Option<u32>) {
        self.shun(verdict);
        let leaves = |rank: &Rank| {
            let host = self.ranks[rank.index()].host;
            verdict.leave.contains(&host) && Some(host) != lost
        };
        let leaving: Vec<Rank> = (0..self.ranks.len() as u32).map(Rank).filter(leaves).collect();
        self.move_living(&leaving, verdict);
    }

    pub(super) fn use_again(&mut self, hosts: &[u32]) {
        let again: Vec<u32> =
            hosts.iter().copied().filter(|host| self.hosts.use_again(*host)).collect();
        if !again.is_empty() {
            let hosts = again.iter().map(|host| self.settings.hosts[*host as usize].clone());
            let hosts = hosts.collect();
            self.notify(Notice::UsedAgain { hosts });
        }
    }

    // ---- one rank -------------------------------------------------------------------------------

    /// Chooses the host of a rank's next incarnation, with those that it shares memory with.
    pub(super) fn plan_move(&mut self, rank: Rank) -> Option<u32> {
        if self.settings.together && !self.in_waves() {
            return None;
        }
        let from = self.ranks[rank.index()].host;
        let here = |other: &Rank| {
            let state = &self.ranks[other.index()];
            state.host == from && state.stage != Stage::Ignored
        };
        let all: Vec<Rank> = match self.settings.together {
            true => (0..self.ranks.len() as u32).map(Rank).filter(here).collect(),
            false => vec![rank],
        };
        if let Some(to) = self.ranks[rank.index()].moves_to {
            return Some(to);
        }
        let want = |up| Want { ranks: all.len() as u32, not: Some(from), up };
        let to = self.hosts.target(want(true)).or_else(|| self.hosts.target(want(false)))?;
        for rank in all {
            self.begins_next_on(rank, to);
        }
        Some(to)
    }

    /// The next incarnation of a rank begins on this host, whatever was planned.
    pub(super) fn begins_next_on(&mut self, rank: Rank, to: u32) {
        let state = &mut self.ranks[rank.index()];
        let before = state.moves_to.replace(to).unwrap_or(state.host);
        if !state.without_slot {
            self.hosts.moved(before, to);
        }
    }

    /// A rank without a process is on the host that was chosen for it.
    pub(super) fn is_there(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank.index()];
        state.host = state.moves_to.take().unwrap_or(state.host);
    }

    /// The rank has a new incarnation, on the host that was chosen for it.
    pub(super) fn next_incarnation(&mut self, rank: Rank) {
        let (from, incarnation) = self.location(rank);
        self.migration_goes_on(rank, incarnation.next());
        if self.ranks[rank.index()].moves_to.is_none() && self.hosts.is_left(from) {
            // A job that shares memory returns as a whole: the others follow.
            match self.plan_move(rank) {
                Some(to) => {
                    let host = self.settings.hosts[from as usize].clone();
                    let to = self.settings.hosts[to as usize].clone();
                    let (why, ranks) = ("it takes no ranks any more".to_owned(), vec![rank]);
                    self.notify(Notice::RanksMove { host, why, ranks, to, promoted: None });
                }
                None => self.use_again(&[from]),
            }
        }
        self.keep_fit(rank);
        self.is_there(rank);
        self.ranks[rank.index()].new_incarnation();
        // An agent drops the standby of an incarnation that begins in another way.
        self.keep_second(rank);
    }

    /// If the host that was chosen for a rank has been lost, shunned or drained since, another one
    /// is chosen, also for those that share memory with it; without another one they stay.
    fn keep_fit(&mut self, rank: Rank) {
        let state = &self.ranks[rank.index()];
        let (from, Some(to)) = (state.host, state.moves_to) else { return };
        if !self.hosts.is_gone(to) && !self.hosts.is_left(to) {
            return;
        }
        let follows = |other: &Rank| {
            let state = &self.ranks[other.index()];
            *other == rank
                || (self.settings.together && (state.host, state.moves_to) == (from, Some(to)))
        };
        let all: Vec<Rank> = (0..self.ranks.len() as u32).map(Rank).filter(follows).collect();
        for rank in all {
            self.ranks[rank.index()].moves_to = None;
            if !self.ranks[rank.index()].without_slot {
                self.hosts.moved(to, from);
            }
        }
        if self.plan_move(rank).is_none() {
            self.use_again(&[from]);
        }
    }

    /// Living ranks move to other hosts.
    pub(super) fn move_living(&mut self, ranks: &[Rank], verdict: &Verdict) {
        let can_move = |rank: &Rank| {
            let state = &self.ranks[rank.index()];
            let leaves = state.finalizing || state.exiting.is_some() || self.all_exiting;
            let over = matches!(state.stage, Stage::Done(_) | Stage::Ignored);
            !leaves && !over && state.moves_to.is_none()
        };
        let moving: Vec<Rank> = ranks.iter().copied().filter(can_move).collect();
        let mut ending = Vec::new();
        for rank in moving {
            let host = self.host_name(rank).to_owned();
            let Some(to) = self.plan_move(rank) else { continue };
            let (to, ground) = (self.settings.hosts[to as usize].clone(), verdict.ground.clone());
            let named = verdict.named;
            self.notify(Notice::Migrates { rank, ending: None, host, to, ground, named });
            match self.ranks[rank.index()].stage {
                // It has no process yet.
                Stage::Waiting => self.settle(rank),
                _ => ending.push(rank),
            }
        }
        self.end_for_next(&ending, verdict);
    }

    /// A rank that waits for its host waits for its new one.
    pub(super) fn settle(&mut self, rank: Rank) {
        let Some(to) = self.ranks[rank.index()].moves_to else { return };
        self.is_there(rank);
        if self.hosts.is_up(to) && !self.is_rolling(rank) && self.hosts.all_settled() {
            self.announce_and_start(rank);
        }
    }

    /// Ends these living ranks, because their next incarnations are to begin. That is no failure.
    fn end_for_next(&mut self, ranks: &[Rank], verdict: &Verdict) {
        let cause = self.cause_of(verdict);
        for &rank in ranks {
            if !self.has_process(rank) {
                continue;
            }
            let state = &self.ranks[rank.index()];
            let next = state.incarnation.next();
            let failure = Failure::now(rank, next, self.now, cause.clone());
            self.failures.push(failure.judged(Some(verdict.named)));
            if let Some(cluster) = self.cluster_of(rank) {
                let cause = self.of_rank(rank, cause.clone());
                let failed = Failed { cause, named: Some(verdict.named), code: 1 };
                if self.return_cluster(cluster, &[], &failed) {
                    self.go_on(cluster);
                }
                continue;
            }
            self.end_one(rank);
            self.bring_back_who_left();
        }
    }

    /// Whether an incarnation of the rank lives, and is not being ended.
    fn has_process(&self, rank: Rank) -> bool {
        let stage = self.ranks[rank.index()].stage;
        matches!(stage, Stage::Starting | Stage::Spawned | Stage::Running)
    }

    /// Ends the living incarnation of a rank whose next one is to begin.
    pub(super) fn end_one(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank.index()];
        state.stage = Stage::Stopping;
        let incarnation = state.incarnation;
        if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
            self.image_ended(rank);
        }
        self.waits_no_more(rank);
        self.commands.push_back(Command::Kill { rank, incarnation });
    }

    /// Ranks that have left without a word may have logs that are needed.
    pub(super) fn bring_back_who_left(&mut self) {
        for gone in self.gone_without_exit() {
            self.bring_back(gone, Cause::LeftWithoutExit, None);
        }
    }
}
