//! Receives that the program posts: their numbers, and what they match.
//!
//! Guarantees (MPI-4.1, 3.5): a receive takes the first message that fits, unless a replay pins it
//! to the message that it took in the earlier incarnation. Each match that the protocol asks for is
//! reported once.

use super::Engine;
use super::link::Link;
use super::request::{RecvData, RequestKind, Source, Tag};
use super::state::State;
use crate::error::ErrorClass;
use crate::ids::{MessageId, ReqId};
use ftmpi_protocols::protocol::{NAMED, Pin};
use ftmpi_wire::{Rank, Ssn};

impl<L: Link> Engine<L> {
    /// Posts a receive of a schedule or a stream, whose next step depends on timing: it has no
    /// number ([`Engine::receive_own`]).
    pub fn irecv_own(&mut self, into: RecvData, from: Rank, context: u32, tag: i32) -> ReqId {
        let request = self.receive_own(into, from, context, tag);
        if self.state.has_work() {
            self.work();
        }
        request
    }

    /// Receives a message that a matched probe took.
    pub fn imrecv(&mut self, message: MessageId, into: RecvData) -> ReqId {
        let request = self.state.requests.new_recv(into, Source::Any);
        self.state.deliver(request, message);
        self.work();
        request
    }
}

impl State {
    /// The number of a receive, by which a replay knows it, and what it may match.
    #[inline]
    pub(super) fn number_post(&mut self, from: Source, context: u32, tag: Tag) -> (u64, Pin) {
        if self.hooks.wildcard_matches && from == Source::Any {
            self.posts.wild += 1;
            self.note_post(from, context, tag);
            (self.posts.wild, self.protocol.pin(self.posts.wild))
        } else if self.hooks.outcomes {
            self.posts.named += 1;
            self.note_post(from, context, tag);
            let post = NAMED | self.posts.named;
            (post, self.protocol.pin(post))
        } else {
            (0, Pin::Free)
        }
    }

    pub(super) fn post_numbered(
        &mut self,
        into: RecvData,
        from: Source,
        context: u32,
        tag: Tag,
        post: u64,
        pin: Pin,
    ) -> ReqId {
        let request = self.requests.new_recv(into, from);
        let error = self.receive_error(from, context);
        if error == Some(ErrorClass::Revoked) {
            self.fail_request(request, ErrorClass::Revoked);
            return request;
        }
        match self.matcher.find(context, from, tag, pin) {
            Some(message) => {
                self.matcher.unlink(message);
                self.note_match(from, post, message);
                self.deliver(request, message);
            }
            None if error.is_some_and(|error| error != ErrorClass::ProcFailedPending) => {
                self.fail_request(request, error.unwrap_or(ErrorClass::ProcFailed));
            }
            None => {
                let node = self.matcher.post(request, context, from, tag, post, pin);
                if let RequestKind::Recv { posted, .. } = &mut self.requests.get_mut(request).kind {
                    *posted = Some(node);
                }
                if error.is_some() {
                    self.interrupt(request);
                }
            }
        }
        request
    }

    pub(super) fn note_match(&mut self, from: Source, post: u64, message: MessageId) {
        let (source, ssn) = {
            let m = self.matcher.message(message);
            (m.source, m.ssn)
        };
        self.record_match(from, post, source, ssn);
    }

    #[inline]
    pub(super) fn record_match(&mut self, from: Source, post: u64, source: Rank, ssn: Ssn) {
        if (self.hooks.wildcard_matches && from == Source::Any) || self.hooks.all_matches {
            let post = if post & NAMED == 0 { post } else { 0 };
            if self.recovery.defer_match(post, source, ssn) {
                return;
            }
            self.protocol.on_match(post, source, ssn);
            self.commands_to_queues();
            self.ship();
        }
    }
}
