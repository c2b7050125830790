//! `MPI_Cancel` of a synchronous send that no receive has taken (MPI-4.1, 3.8.4).
//!
//! ```text
//! sender                           receiver
//! message ──────────────────────►  kept, unmatched
//! Cancel ───────────────────────►  still unmatched: removed      else: matched, as any other
//! request ends, cancelled ◄──────  Cancelled                     SyncAck
//! Cancel, with FLAG_HEARD ──────►  (in waves) what was removed is forgotten
//! ```
//!
//! Guarantees: the message is received, or its send ends cancelled, and never both. The question
//! goes behind its message, so the receiver knows the message. The send waits for the answer, which
//! comes with the receiver's next call.
//!
//! In waves the answer may be under way when the images are taken. The receiver knows what it has
//! removed until the sender has heard of it. The sender asks again after a return (`reconcile`).
//!
//! Where a replay may come, the removal would have to be repeated, too, at the same place among
//! receives and probes. That is not recorded, so nobody is asked there.

use super::Engine;
use super::link::Link;
use super::matching::Body;
use super::outcome::Decision;
use super::state::State;
use super::state::out::Out;
use crate::ids::ReqId;
use ftmpi_wire::header::{FLAG_HEARD, Kind};
use ftmpi_wire::{Header, Rank, Ssn};

impl<L: Link> Engine<L> {
    /// Asks the receiver of a synchronous send to forget it; `false`: it is none, or nobody may be
    /// asked.
    pub(super) fn ask_to_cancel(&mut self, id: ReqId) -> bool {
        let state = &mut self.state;
        let Some((to, ssn)) = state.rendezvous.unacknowledged_of(id) else { return false };
        if state.hooks.outcomes || state.hooks.memory || state.channels.peer(to).logged {
            return false;
        }
        if state.rendezvous.cancel(to, ssn) {
            state.control_frame(to, Kind::Cancel, ssn, Vec::new());
            self.work();
        }
        true
    }

    /// Cancels a synchronous send to this rank that no receive has taken; `false`: it is none.
    pub(super) fn cancel_to_self(&mut self, id: ReqId) -> bool {
        let state = &self.state;
        let message = state.rendezvous.unacknowledged_of(id);
        let Some((_, ssn)) = message.filter(|(to, _)| *to == state.me && !state.hooks.memory)
        else {
            return false;
        };
        let me = state.me;
        let cancelled = loop {
            match self.decide() {
                Decision::Positive(_) => break true,
                Decision::Negative => break false,
                // A receive whose match is not known yet may take the message.
                Decision::Live if self.state.protocol.repeating() => self.block_in_step(),
                Decision::Live => {
                    let waits = self.state.matcher.find_identity(me, ssn).is_some();
                    if waits {
                        self.answered(1);
                    } else {
                        self.answered_negative();
                    }
                    break waits;
                }
            }
        };
        let Some(message) = self.state.matcher.find_identity(me, ssn).filter(|_| cancelled) else {
            return false;
        };
        self.state.matcher.remove(message);
        self.state.rendezvous.acknowledged(me, ssn);
        let request = self.state.requests.get_mut(id);
        request.completion.cancelled = true;
        self.state.requests.complete(id);
        self.work();
        true
    }
}

impl State {
    /// The sender of this message has cancelled it, or knows that it is forgotten.
    pub(super) fn on_cancel(&mut self, from: Rank, header: &Header) {
        let ssn = header.ssn;
        if header.flags & FLAG_HEARD != 0 {
            self.channels.peer_mut(from).forgotten.remove(&ssn);
            return;
        }
        let forgotten = self.has_forgotten(from, ssn) || self.forget_unmatched(from, ssn);
        // Of a match the sender may have heard already. A matched probe is one.
        let answer = if forgotten { Kind::Cancelled } else { Kind::SyncAck };
        self.control_frame(from, answer, ssn, Vec::new());
    }

    /// Whether this rank has removed the message, and its sender may not know that.
    #[inline]
    pub(super) fn has_forgotten(&self, from: Rank, ssn: Ssn) -> bool {
        self.channels.peer(from).forgotten.contains(&ssn)
    }

    /// Removes a message that nobody has received; `false`: there is none.
    fn forget_unmatched(&mut self, from: Rank, ssn: Ssn) -> bool {
        let Some(id) = self.matcher.find_identity(from, ssn) else { return false };
        match self.matcher.message(id).body {
            // Not before all of it is here: the question is behind it.
            Body::Landing(_) => return false,
            Body::Announced => self.landings.is_matched(id),
            Body::Whole(_) => {}
        }
        if let Body::Whole(buffer) = self.matcher.remove(id).body {
            self.landings.give_back(buffer);
        }
        if self.waves.are_counted() {
            self.channels.peer_mut(from).forgotten.insert(ssn);
        }
        true
    }

    /// The receiver has removed this message: its send is cancelled.
    pub(super) fn on_cancelled(&mut self, by: Rank, ssn: Ssn) {
        if self.waves.are_counted() {
            let mut heard = Out::control(Kind::Cancel, ssn, Vec::new());
            heard.frame.header.flags = FLAG_HEARD;
            self.channels.queue(by, heard);
        }
        if let Some(id) = self.rendezvous.acknowledged(by, ssn) {
            self.rendezvous.take(by, ssn);
            self.requests.get_mut(id).completion.cancelled = true;
            self.requests.complete(id);
        }
    }
}
