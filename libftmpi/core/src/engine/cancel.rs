//! Requests that end otherwise than by a wait: freed, let go, cancelled.

use super::Engine;
use super::link::Link;
use super::request::{Request, RequestKind};
use super::state::channels::Peer;
use crate::ids::ReqId;
use ftmpi_protocols::protocol::{self, Answer};
use ftmpi_wire::Rank;

impl<L: Link> Engine<L> {
    /// `MPI_Request_free`: the request goes when it is complete. One that is only interrupted waits
    /// for its message.
    pub fn free_when_done(&mut self, id: ReqId) {
        self.state.requests.get_mut(id).goes_on();
        self.state.requests.detach(id);
    }

    /// Whether the payloads of messages to this rank are in a log.
    #[must_use]
    pub fn logs_to(&self, to: Rank) -> bool {
        self.state.channels.peer(to).logged
    }

    /// Nobody will ask for a send whose payload is in a log: the send ends.
    pub fn let_go(&mut self, id: ReqId, to: Rank) {
        debug_assert!(self.logs_to(to));
        self.withdraw(id);
        if self.is_done(id) {
            self.state.requests.remove(id);
            return;
        }
        self.state.send_from_log(id);
        for (_, announced) in self.state.rendezvous.of_request(id) {
            announced.request = None;
        }
        let queue = &mut self.state.channels.peer_mut(to).queue;
        for out in queue.iter_mut().filter(|out| out.request == Some(id)) {
            out.request = None;
        }
        self.state.requests.remove(id);
        // The withdrawn payload leaves now, not with the program's next call.
        self.work();
    }

    /// Waits until nobody reads the payload of a send, which may be complete then. A peer that
    /// reads it at this moment ends that, or dies, without help of this rank.
    fn withdraw(&mut self, id: ReqId) {
        while !self.is_done(id) {
            let leaving = |peer: &Peer| {
                peer.queue.front().is_some_and(|out| out.request == Some(id) && out.frame.begun)
            };
            let to = self.state.channels.iter().position(leaving);
            if to.is_none_or(|to| self.link.withdraw(Rank(to as u32))) {
                return;
            }
            self.block_alone();
        }
    }

    /// `MPI_Cancel`: a receive that has not matched ends cancelled, and so does a synchronous send
    /// ([`cancel_send`](super::cancel_send)). Another send does not, but the program waits for its
    /// receiver no longer (MPI-4.1, 3.8.4: the wait for what was to be cancelled is local).
    ///
    /// Where a replay may come, a synchronous send to another rank ends in the same way, and its
    /// end says nothing of a match.
    pub fn cancel(&mut self, id: ReqId) {
        if matches!(self.state.requests.get(id).kind, RequestKind::Send { .. }) {
            if self.cancel_to_self(id) || self.ask_to_cancel(id) {
                return;
            }
            self.withdraw(id);
            if !self.is_done(id) {
                self.state.take_over(id);
                if let Some((to, ssn)) = self.state.rendezvous.unacknowledged_of(id) {
                    self.state.acknowledged(to, ssn);
                }
                self.work();
            }
            return;
        }
        // One that is only interrupted has not matched.
        self.state.requests.get_mut(id).goes_on();
        let Some(node) = self.decide_cancel(id) else { return };
        // Before anything else may match the receive: the replay may have come to its end with
        // this.
        self.state.matcher.unpost(node);
        let request = self.state.requests.get_mut(id);
        request.completion.cancelled = true;
        self.state.requests.complete(id);
        if self.state.protocol.replaying() {
            self.state.rematch();
        }
        self.work();
    }

    /// The node of a receive that is to be cancelled; `None` if it has matched.
    fn decide_cancel(&mut self, id: ReqId) -> Option<u32> {
        loop {
            let node = match self.state.requests.get(id) {
                Request { kind: RequestKind::Recv { posted, .. }, done: false, .. } => *posted,
                _ => None,
            };
            if !self.state.hooks.outcomes {
                return node;
            }
            self.repeat_services();
            match self.state.protocol.decide() {
                // Also while only matches of named receives are left: this receive may have been
                // matched before it was to be cancelled.
                protocol::Decision::Live if self.state.protocol.repeating() => self.block_in_step(),
                protocol::Decision::Live => {
                    match node {
                        Some(node) => {
                            let post = self.state.matcher.number_of(node);
                            self.state.protocol.on_answer(Answer::Cancelled(post));
                            self.ship();
                        }
                        None => self.state.protocol.on_negative(),
                    }
                    return node;
                }
                protocol::Decision::Negative => {
                    self.work();
                    return None;
                }
                protocol::Decision::Positive(Answer::Cancelled(post)) => match node {
                    Some(node) if self.state.matcher.number_of(node) == post => return Some(node),
                    _ => self.diverged("another receive was cancelled there"),
                },
                protocol::Decision::Positive(other) => {
                    self.diverged(&format!("a receive is cancelled where {other:?} was recorded"))
                }
            }
        }
    }
}
