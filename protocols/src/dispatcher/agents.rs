//! Agents that come and go, with the ranks of their hosts.
//!
//! Guarantees: no rank is started before every host has been up once. The ranks of a lost agent
//! begin again when their host has another agent, or on another host if it has none.

use super::Dispatcher;
use super::messages::Command;
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::Stage;
use ftmpi_wire::Rank;

impl Dispatcher {
    pub(super) fn agent_up(&mut self, host: u32) {
        self.hosts.up(host);
        if !self.hosts.all_settled() {
            return;
        }
        for rank in (0..self.ranks.len() as u32).map(Rank) {
            let state = &self.ranks[rank.index()];
            let waits = state.stage == Stage::Waiting && self.hosts.is_up(state.host);
            if waits && !self.is_rolling(rank) {
                self.announce_and_start(rank);
            }
        }
        self.all_go_on();
    }

    pub(super) fn agent_lost(&mut self, host: u32, why: &str) {
        let name = self.settings.hosts[host as usize].clone();
        if !self.hosts.is_up(host) {
            return;
        }
        self.hosts.down(host);
        self.forget_cuts(host);
        let victims: Vec<Rank> = (0..self.ranks.len() as u32)
            .map(Rank)
            .filter(|rank| {
                let state = &self.ranks[rank.index()];
                state.host == host && !matches!(state.stage, Stage::Done(_) | Stage::Waiting)
            })
            .collect();
        if !self.settings.traits.is_fault_tolerant() {
            let (why, protocol) = (why.to_owned(), self.settings.protocol.clone());
            return self.give_up(1, EndReason::HostLost { host: name, why, protocol });
        }
        self.notify(Notice::AgentRestarts { host: name.clone(), why: why.to_owned() });
        self.commands.push_back(Command::StartAgent { host });
        if self.in_waves() && !self.all_exiting {
            let cause = Cause::HostLost { host: name, why: why.to_owned() };
            return self.roll_back_from_host(&victims, &cause);
        }
        for rank in victims {
            let state = &mut self.ranks[rank.index()];
            if let (true, Some(code)) = (self.all_exiting, state.exiting) {
                // No rank needs its log, and it had reported everything.
                state.stage = Stage::Done(code);
                self.look_at_barriers();
            } else if !self.ended {
                self.restart(rank, Cause::AgentLost { why: why.to_owned() }, 1);
            }
        }
    }

    /// At the start a missing host is an error of the user. Later its ranks move.
    pub(super) fn agent_failed(&mut self, host: u32, why: &str) {
        let name = self.settings.hosts[host as usize].clone();
        if !self.hosts.was_ever_up(host) {
            let reason = EndReason::HostUnreachable { host: name, why: why.to_owned() };
            return self.end(1, Some(reason));
        }
        self.hosts.give_up(host);
        let moving: Vec<Rank> = (0..self.ranks.len() as u32)
            .map(Rank)
            .filter(|rank| self.ranks[rank.index()].host == host)
            .filter(|rank| {
                matches!(self.ranks[rank.index()].stage, Stage::Waiting | Stage::Done(_))
            })
            .collect();
        // Memory that they share is on one host.
        let together = self.settings.together.then(|| self.hosts.least_loaded()).flatten();
        for rank in moving {
            // A rank that has ended moves as well: it may have to return with its cluster.
            let waits = self.ranks[rank.index()].stage == Stage::Waiting;
            let Some(target) = together.or_else(|| self.hosts.least_loaded()) else {
                if !waits {
                    continue;
                }
                let why = why.to_owned();
                return self.give_up(1, EndReason::NoHostLeft { host: name, why });
            };
            self.hosts.moved(host, target);
            self.ranks[rank.index()].host = target;
            if !waits {
                continue;
            }
            let (host, why) = (name.clone(), why.to_owned());
            let to = self.settings.hosts[target as usize].clone();
            self.notify(Notice::RankMoves { host, why, rank, to });
            if self.hosts.is_up(target) && !self.is_rolling(rank) {
                self.announce_and_start(rank);
            }
        }
        self.all_go_on();
    }
}
