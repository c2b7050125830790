//! The history of the job, as the launcher learns of it.
//!
//! States of ranks are looked at after every report and command that may change them, and once a
//! second for those that change without one, such as ranks of a lost host.

use super::{Launcher, notices};
use crate::history::Subject;
use crate::trace::Traced;
use ftmpi_protocols::dispatcher::{Cause, Dispatcher, Failure, Notice};
use ftmpi_wire::{Incarnation, Rank};
use serde_json::json;
use std::time::Duration;

impl Launcher {
    /// Looks at what this rank does now.
    pub(super) fn observe(&mut self, rank: Rank) {
        let now = self.now();
        let activity = self.dispatcher.activity(rank);
        self.history.rank_is(now, rank, self.dispatcher.location(rank), activity);
    }

    /// Looks at what all ranks do now.
    pub(super) fn observe_all(&mut self) {
        if self.run.servers_up {
            (0..self.plan.placement.len() as u32).map(Rank).for_each(|rank| self.observe(rank));
        }
    }

    /// The process of a rank ended so long ago. A later incarnation is not concerned.
    pub(super) fn note_end(&mut self, rank: Rank, incarnation: Incarnation, since: Duration) {
        if self.dispatcher.location(rank).1 == incarnation {
            self.history.process_ended(rank, self.now().saturating_sub(since));
        }
    }

    /// Tells the user what the dispatcher reports.
    pub(super) fn tell(&mut self, notice: &Notice) {
        let text = notices::notice(notice);
        let (subject, rank) = subject_of(notice);
        self.history.event(self.now(), subject, rank, &text);
        self.printer.notice(text);
    }

    /// Tells the user that a server died, or of its host.
    pub(super) fn tell_of_server(&mut self, text: String) {
        self.history.event(self.now(), Subject::Server, None, &text);
        self.printer.notice(text);
    }

    /// Writes the file of `--trace`. `false`: that was not possible, and the user was told.
    pub(super) fn write_trace(&self, end: Duration) -> bool {
        let Some(path) = &self.plan.trace else { return true };
        let failures = all_failures(&self.dispatcher);
        let messages = self.calls.messages();
        // A program may have written anything into its records.
        let is_known = |rank: &Rank| rank.index() < self.plan.placement.len();
        let latest =
            |rank| Some(rank).filter(is_known).map(|rank| self.dispatcher.location(rank).1);
        let all_messages = messages.all(latest);
        let died = |failure: &Failure| self.recorder.died_at(failure);
        let traced = Traced {
            history: &self.history,
            calls: &self.calls,
            messages: &all_messages,
            failures: failures.map(|failure| (failure, died(failure))).collect(),
            hosts: self.plan.machines.iter().map(|machine| machine.name.as_str()).collect(),
            ranks: self.plan.placement.len(),
            end,
            job_id: &self.plan.job_id,
            began: std::time::UNIX_EPOCH.elapsed().unwrap_or_default().saturating_sub(end),
            about: json!({
                "program": "ftmpiexec",
                "version": env!("CARGO_PKG_VERSION"),
                "protocol": self.plan.protocol.name,
                "left_out": self.history.left_out(),
                "calls": self.calls.shown(),
                "messages": self.plan.trace_messages.then(|| messages.shown(&all_messages)),
            }),
        };
        let written = traced.write(path);
        if let Err(e) = &written {
            self.printer.notice(notices::trace_unwritten(path, e));
        }
        written.is_ok()
    }
}

/// Failures and rollbacks of ranks.
fn all_failures(dispatcher: &Dispatcher) -> impl Iterator<Item = &Failure> {
    dispatcher.failures().iter().chain(dispatcher.orphans())
}

/// What a line is about, and about which rank.
fn subject_of(notice: &Notice) -> (Subject, Option<Rank>) {
    match notice {
        Notice::Restarting { rank, .. } | Notice::RollsBack { rank, .. } => {
            (Subject::Failure, Some(*rank))
        }
        Notice::Returning { cause, .. } => {
            let rank = match cause {
                Cause::OfRank { rank, .. } => Some(*rank),
                _ => None,
            };
            (Subject::Failure, rank)
        }
        Notice::Back { rank, .. } => (Subject::Recovery, Some(*rank)),
        Notice::Migrates { rank, .. } | Notice::Moved { rank, .. } | Notice::Stays { rank, .. } => {
            (Subject::Host, Some(*rank))
        }
        Notice::RanksMove { ranks, .. } => match ranks[..] {
            [only] => (Subject::Host, Some(only)),
            _ => (Subject::Host, None),
        },
        Notice::AgentRestarts { .. }
        | Notice::Shunned { .. }
        | Notice::UsedAgain { .. }
        | Notice::SpareDown { .. }
        | Notice::HostBack { .. }
        | Notice::NoRemedy { .. }
        | Notice::Library { .. }
        | Notice::Draining { .. }
        | Notice::Drained { .. }
        | Notice::Undrained { .. }
        | Notice::CannotDrain { .. }
        | Notice::HostJoined { .. }
        | Notice::HostCannotJoin { .. } => (Subject::Host, None),
        Notice::ImageUnusable { rank, .. }
        | Notice::ImageLost { rank, .. }
        | Notice::NoStandby { rank, .. } => (Subject::Image, Some(*rank)),
        Notice::LoggerAway { rank, .. } => (Subject::Server, Some(*rank)),
        Notice::StorageAway { .. } | Notice::StorageBack | Notice::LoggerBack => {
            (Subject::Server, None)
        }
        _ => (Subject::Notice, None),
    }
}
