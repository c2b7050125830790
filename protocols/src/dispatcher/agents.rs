//! Agents that come and go, with the ranks of their hosts.
//!
//! Guarantees: no rank is started before every host but idle spares has been up once. The ranks of
//! a lost agent begin again when their host has another agent, or on another host: at once where
//! the host fell silent, else when its patience is over. The loss of a host is one failure, however
//! many ranks it had.

use super::Dispatcher;
use super::failures::Failed;
use super::hosts::{Arrival, Want};
use super::messages::Command;
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::{RankState, Stage};
use super::standbys::promoting;
use crate::judge::{Fact, Named, Recovery};
use crate::scheduler::scheduler_process::Note;
use ftmpi_wire::Rank;
use std::collections::BTreeMap;

impl Dispatcher {
    pub(super) fn agent_up(&mut self, host: u32) {
        let name = self.settings.hosts[host as usize].clone();
        match self.hosts.up(host) {
            Arrival::Expected => {}
            Arrival::Back => self.notify(Notice::HostBack { host: name }),
            Arrival::Joined => self.notify(Notice::HostJoined { host: name }),
        }
        if !self.hosts.all_settled() {
            return;
        }
        if self.hosts.is_shunned(host) {
            self.leave_shunned(host);
        }
        self.leave_drained_hosts();
        for rank in (0..self.ranks.len() as u32).map(Rank) {
            let state = &self.ranks[rank.index()];
            let waits = state.stage == Stage::Waiting && self.hosts.is_up(state.host);
            if waits && !self.is_rolling(rank) {
                self.announce_and_start(rank);
            }
        }
        self.all_go_on();
    }

    /// Ranks that wait for a host which takes none any more go elsewhere; if they cannot, it takes
    /// them.
    fn leave_shunned(&mut self, host: u32) {
        let waits = |state: &RankState| state.host == host && state.stage == Stage::Waiting;
        if self.ranks.iter().any(waits) {
            self.move_from(host, "it takes no ranks any more", false);
        }
        if self.ranks.iter().any(waits) {
            self.use_again(&[host]);
        }
    }

    pub(super) fn agent_lost(&mut self, host: u32, why: &str, silent: bool) {
        let name = self.settings.hosts[host as usize].clone();
        if !self.hosts.is_up(host) {
            return;
        }
        self.hosts.down(host);
        self.standbys_are_gone(host);
        if !silent {
            self.standbys_come_second(host);
        }
        self.forget_cuts(host);
        let victims: Vec<Rank> = (0..self.ranks.len() as u32)
            .map(Rank)
            .filter(|rank| {
                let state = &self.ranks[rank.index()];
                state.host == host
                    && !matches!(state.stage, Stage::Done(_) | Stage::Ignored | Stage::Waiting)
            })
            .collect();
        if !self.settings.traits.is_fault_tolerant() {
            if self.settings.recovery.ignores() {
                let verdict = self.ask(&Fact::Host { host, silent });
                if self.goes_on_without_host(verdict.as_ref(), why, &victims) {
                    return;
                }
            }
            let (why, protocol) = (why.to_owned(), self.settings.protocol.clone());
            return self.give_up(1, EndReason::HostLost { host: name, why, protocol });
        }
        let verdict = self.ask(&Fact::Host { host, silent });
        let has_ranks = self.hosts.ranks()[host as usize] > 0;
        let named = verdict.as_ref().map(|verdict| verdict.named).filter(|_| has_ranks);
        let cause = Cause::HostLost { host: name.clone(), why: why.to_owned() };
        if let (Some(verdict), Some(named)) = (&verdict, named)
            && named.recovery == Recovery::GiveUp
        {
            let ground = verdict.ground.clone();
            return self.give_up(1, EndReason::Judged { cause, ground, named });
        }
        let victims: Vec<Rank> =
            victims.into_iter().filter(|rank| !self.has_ended_alone(*rank)).collect();
        // Where a standby may take the place of a rank, the line of each rank says what does.
        let lines = !self.in_waves() && victims.iter().any(|rank| self.has_first_standby(*rank));
        let told = named.filter(|_| !lines);
        self.notify(Notice::AgentRestarts { host: name, why: why.to_owned(), named: told });
        self.commands.push_back(Command::StartAgent { host });
        let failure = Failed { cause, named, code: 1 };
        if self.in_waves() && !self.all_exiting {
            self.roll_back_from_host(&victims, &failure);
        } else {
            self.bring_back_from_host(victims, failure, why);
        }
        if let Some(verdict) = verdict.filter(|v| v.named.recovery == Recovery::Migrate)
            && !self.ended
        {
            self.hosts.wait(host, self.now.saturating_add(verdict.patience), why);
            self.shun_and_leave(&verdict, Some(host));
        }
        self.look_at_hosts();
    }

    fn bring_back_from_host(&mut self, victims: Vec<Rank>, failure: Failed, why: &str) {
        let mut dead = Vec::new();
        for rank in victims {
            let released = self.all_exiting || self.is_released(rank);
            let state = &mut self.ranks[rank.index()];
            if let (true, Some(code)) = (released, state.exiting) {
                // No rank needs its log, and it had reported everything.
                state.stage = Stage::Done(code);
                self.look_at_barriers();
            } else {
                dead.push(rank);
            }
        }
        if dead.is_empty() || self.ended {
            return;
        }
        self.note(Note::Failed);
        if self.count_failure(&failure.cause, 1) {
            let cause = Cause::AgentLost { why: why.to_owned() };
            self.bring_all_back(&dead, &Failed { cause, ..failure });
        }
    }

    /// At the start a missing host is an error of the user, unless it is a spare. Later its ranks
    /// move.
    pub(super) fn agent_failed(&mut self, host: u32, why: &str) {
        let name = self.settings.hosts[host as usize].clone();
        if !self.hosts.was_ever_up(host) {
            if !self.hosts.is_idle_spare(host) {
                let reason = EndReason::HostUnreachable { host: name, why: why.to_owned() };
                return self.end(1, Some(reason));
            }
            let again = self.hosts.give_up(host, self.now);
            return self.notify(Notice::SpareDown { host: name, why: why.to_owned(), again });
        }
        let joins = self.hosts.is_joining(host) && !self.hosts.is_gone(host);
        self.hosts.give_up(host, self.now);
        if joins {
            let why = why.to_owned();
            return self.notify(Notice::HostCannotJoin { host: name, why });
        }
        self.move_from(host, why, true);
        if !self.ended {
            self.all_go_on();
        }
    }

    /// Ranks of lost hosts that have waited long enough move; hosts that were given up are tried
    /// again.
    pub(super) fn look_at_hosts(&mut self) {
        if self.ended {
            return;
        }
        for (host, why) in self.hosts.out_of_patience(self.now) {
            self.move_from(host, &why, false);
            self.all_go_on();
        }
        for host in self.hosts.take_due(self.now) {
            self.commands.push_back(Command::StartAgent { host });
        }
    }

    /// Moves the ranks of a host that is not there. `must`: the host was given up, so the job ends
    /// if no other host takes them. Otherwise they move only to a host that is up.
    fn move_from(&mut self, host: u32, why: &str, must: bool) {
        let is_moving = |rank: &Rank| {
            let state = &self.ranks[rank.index()];
            // A rank that has ended moves as well: it may have to return with its cluster.
            state.host == host && matches!(state.stage, Stage::Waiting | Stage::Done(_))
        };
        let moving: Vec<Rank> = (0..self.ranks.len() as u32).map(Rank).filter(is_moving).collect();
        // Memory that they share is on one host.
        let all = if self.settings.together { moving.len() as u32 } else { 1 };
        let mut together = None;
        // By host, and by whether they go into their standbys.
        let mut moved: BTreeMap<(u32, bool), Vec<Rank>> = BTreeMap::new();
        for rank in moving {
            let waits = self.ranks[rank.index()].stage == Stage::Waiting;
            let want = Want { ranks: all, not: Some(host), up: !must };
            let standby = if waits { self.second_host(rank) } else { None };
            let found = together.or(standby).or_else(|| self.hosts.target(want));
            let found = found.or_else(|| if must && waits { self.last_resort(want) } else { None });
            let Some(target) = found else {
                if waits && must {
                    let (host, why) = (self.settings.hosts[host as usize].clone(), why.to_owned());
                    return self.give_up(1, EndReason::NoHostLeft { host, why });
                }
                continue;
            };
            together = Some(target).filter(|_| self.settings.together);
            let state = &mut self.ranks[rank.index()];
            state.host = target;
            if !state.without_slot {
                self.hosts.moved(host, target);
            }
            if waits {
                moved.entry((target, standby == Some(target))).or_default().push(rank);
            }
        }
        for ((target, promoted), ranks) in moved {
            let host = self.settings.hosts[host as usize].clone();
            let to = self.settings.hosts[target as usize].clone();
            let why = why.to_owned();
            let named = ranks.iter().filter_map(|rank| self.has_moved(*rank, promoted)).last();
            let (promoted, ranks_to) = (named.filter(|_| promoted), ranks.clone());
            self.notify(Notice::RanksMove { host, why, ranks: ranks_to, to, promoted });
            for rank in ranks {
                if self.hosts.is_up(target) && !self.is_rolling(rank) {
                    self.announce_and_start(rank);
                }
            }
        }
    }

    /// The report names the recovery that took place, which is the result.
    fn has_moved(&mut self, rank: Rank, promoted: bool) -> Option<Named> {
        let incarnation = self.ranks[rank.index()].incarnation;
        let failure = self.failure_of(rank, incarnation)?;
        let detector = failure.named.map_or("physical", |named| named.detector);
        let named = Named::new(detector, Recovery::Migrate);
        failure.named = Some(if promoted { promoting(named) } else { named });
        failure.named
    }

    /// Hosts that were shunned are better than none, and after them those that are drained.
    fn last_resort(&mut self, want: Want) -> Option<u32> {
        let shunned = self.hosts.shunned_and_there();
        if !shunned.is_empty() {
            self.use_again(&shunned);
        }
        self.hosts.target(want).or_else(|| self.hosts.last_target(want))
    }
}
