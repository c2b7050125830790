//! How held text of a rank becomes final (`--output committed`, [`super::output_hold`]).

use super::Agent;
use super::events::AgentEvent;
use crate::agent_protocol::Commitment;
use crate::tuning::{SETTLE_PATIENCE, SETTLE_PAUSE};
use ftmpi_wire::control::ToRank;
use ftmpi_wire::status::word;
use ftmpi_wire::{Incarnation, Rank};

impl Agent {
    /// Asks a rank whose text is held to make the text final: all that the rank did before must
    /// become stable.
    pub(super) fn settle(&mut self, rank: Rank, incarnation: Incarnation) {
        let by_events =
            self.job.as_ref().is_some_and(|job| job.commitment == Some(Commitment::Events));
        let Some(process) =
            self.ranks.get_mut(rank, incarnation).filter(|process| process.is_connected())
        else {
            return;
        };
        if by_events
            && process.settling.is_none()
            && process.hold.as_ref().is_some_and(|hold| !hold.is_empty())
        {
            let read = [word::STDOUT_READ, word::STDERR_READ].map(|index| process.page.get(index));
            process.settling = Some(read);
            process.send(&ToRank::Settle, Vec::new(), true);
            self.look_again(rank, incarnation);
        }
    }

    fn look_again(&self, rank: Rank, incarnation: Incarnation) {
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SETTLE_PATIENCE).await;
            let _ = events.send(AgentEvent::Unsettled { rank, incarnation });
        });
    }

    /// Wakes a rank that has not answered. A program that took the request in the middle of a call,
    /// and then computes, would answer only at its next call. The request itself is sent once, so
    /// that an answer belongs to exactly one request.
    pub(super) fn unsettled(&mut self, rank: Rank, incarnation: Incarnation) {
        let process = self.ranks.get(rank, incarnation);
        if let Some(process) = process.filter(|process| process.settling.is_some()) {
            process.wake();
            self.look_again(rank, incarnation);
        }
    }

    /// The rank has made its text final.
    pub(super) fn settled(&mut self, rank: Rank, incarnation: Incarnation) {
        let events = self.events.clone();
        let Some(process) = self.ranks.get_mut(rank, incarnation) else { return };
        if let (Some(ends), Some(hold)) = (process.settling.take(), &process.hold) {
            hold.release(ends);
            // A program that prints all the time is not interrupted all the time.
            tokio::spawn(async move {
                tokio::time::sleep(SETTLE_PAUSE).await;
                let _ = events.send(AgentEvent::TextHeld { rank, incarnation });
            });
        }
    }

    /// Sends all held text: the job ends, so no later incarnation writes something else.
    pub(super) fn release_held_output(&mut self) {
        let running = self.ranks.all().filter_map(|process| process.hold.as_ref());
        running.chain(self.output.dead_holds()).for_each(|hold| hold.release_all());
    }
}
