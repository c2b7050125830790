//! Matching and landing of messages, and what becomes of receives.
//!
//! Guarantees: the envelope of a receive is noted when it is matched, and the receive completes
//! when the payload has landed. A synchronous send is acknowledged when its message is matched.

use super::Engine;
use super::link::{Landing, Link, Token};
use super::matching::Body;
use super::payload;
use super::request::{Completion, RecvData, RequestKind, Source};
use super::state::State;
use super::state::landings::Awaited;
use crate::error::ErrorClass;
use crate::ids::{MessageId, ReqId};
use crate::usermem::UserPtr;
use ftmpi_wire::header::{FLAG_SYNC, Kind};
use ftmpi_wire::{Header, Rank, Ssn};

impl<L: Link> Engine<L> {
    /// Bytes of a message with this tag that did not fit into a receive of this size. `None` if the
    /// message is forgotten, or may be one of several.
    pub(crate) fn take_length_of_too_long(&mut self, tag: i32, fits: u64) -> Option<u64> {
        self.state.landings.take_length_of_too_long(tag, fits)
    }
}

impl State {
    /// Notes the envelope in a receive; gives the place where its payload is to land.
    pub(super) fn land_in(&mut self, id: ReqId, from: Rank, tag: i32, len: u64) -> Landing {
        let request = self.requests.get_mut(id);
        if request.done {
            request.goes_on();
        }
        request.completion.source = from;
        request.completion.tag = tag;
        let RequestKind::Recv { into, staging, posted, .. } = &mut request.kind else {
            unreachable!("only receives are matched")
        };
        *posted = None;
        let capacity = payload::recv_len(into);
        if len > capacity as u64 {
            request.completion.error = Some(ErrorClass::Truncate);
            self.landings.remember_too_long(tag, capacity as u64, len);
        }
        request.completion.bytes = len.min(capacity as u64);
        let at = match into {
            RecvData::Bytes { ptr, .. } => *ptr,
            RecvData::Typed { .. } => {
                let packed = staging.get_or_insert_default();
                packed.resize(request.completion.bytes as usize, 0);
                UserPtr::own_mut(packed)
            }
        };
        Landing { at, capacity: request.completion.bytes as usize, token: Token::Request(id) }
    }

    /// A receive has its payload.
    fn recv_done(&mut self, id: ReqId) {
        let request = self.requests.get_mut(id);
        if let RequestKind::Recv { into, staging, .. } = &mut request.kind
            && let Some(packed) = staging.take()
        {
            payload::unpack(&packed, into);
        }
        self.counters.messages_received += 1;
        self.counters.bytes_received += request.completion.bytes;
        self.requests.complete(id);
    }

    /// Matches a message whose payload has arrived.
    #[inline]
    pub(super) fn match_arrival(&mut self, from: Rank, header: &Header) -> Landing {
        match self.matcher.arrive(from, header.context, header.tag, header.ssn) {
            Some(posted) => {
                self.record_match(posted.source, posted.post, from, header.ssn);
                self.matched_sync(from, header.ssn, header.flags & FLAG_SYNC != 0);
                self.land_in(posted.request, from, header.tag, header.len)
            }
            None => {
                let capacity = header.len as usize;
                let Some(mut buffer) = self.landings.buffer(capacity) else {
                    return self.has_no_room(from, header);
                };
                let at = UserPtr::own_mut(&mut buffer);
                let id = self.matcher.keep(from, header, header.len, Body::Landing(buffer));
                Landing { at, capacity, token: Token::Unexpected(id) }
            }
        }
    }

    fn matched_sync(&mut self, from: Rank, ssn: Ssn, sync: bool) {
        if !sync {
            return;
        }
        if from == self.me {
            self.acknowledged(from, ssn);
        } else {
            self.control_frame(from, Kind::SyncAck, ssn, Vec::new());
        }
    }

    /// A payload has landed.
    #[inline]
    pub(super) fn finish_landing(&mut self, from: Rank, header: &Header, token: Token) {
        match token {
            Token::Discard => {}
            Token::Held => self.held_landed(from),
            Token::Request(id) => {
                self.note_received(from, header.ssn);
                self.recv_done(id);
            }
            Token::Unexpected(id) => {
                self.note_received(from, header.ssn);
                let message = self.matcher.message_mut(id);
                if let Body::Landing(buffer) = &mut message.body {
                    message.body = Body::Whole(std::mem::take(buffer));
                }
                if let Some(request) = message.claimed {
                    self.hand_over(request, id);
                }
            }
            Token::Control => self.control_landed(from, header),
        }
    }

    /// This rank has the message, where messages are counted.
    #[inline]
    fn note_received(&mut self, from: Rank, ssn: Ssn) {
        if self.tracks() && (from != self.me || self.hooks.memory) {
            self.channels.peer_mut(from).received.insert(ssn);
        }
    }

    /// Gives a message that is out of the queue to a receive.
    pub(super) fn deliver(&mut self, request: ReqId, id: MessageId) {
        self.matcher.unlink(id);
        let m = self.matcher.message(id);
        let (from, ssn, sync, tag, bytes) = (m.source, m.ssn, m.sync, m.tag, m.bytes);
        self.matched_sync(from, ssn, sync);
        let whole = match &mut self.matcher.message_mut(id).body {
            Body::Whole(_) => true,
            Body::Landing(_) => {
                self.matcher.message_mut(id).claimed = Some(request);
                // The receive is out of matching: it is too late to cancel it.
                self.requests.get_mut(request).has_matched();
                return;
            }
            Body::Announced => false,
        };
        if whole {
            self.hand_over(request, id);
        } else {
            self.matcher.remove(id);
            self.await_by(request, from, ssn, (tag, bytes));
        }
    }

    /// The receive takes a message that was announced. Notes its (tag, bytes), since the payload
    /// comes with a header that has no tag, and asks for the payload.
    fn await_by(&mut self, request: ReqId, from: Rank, ssn: Ssn, (tag, bytes): (i32, u64)) {
        self.land_in(request, from, tag, bytes);
        if self.never_comes(from) {
            return self.fail_request(request, ErrorClass::ProcFailed);
        }
        self.landings.await_at(from, ssn, Awaited::By(request));
        self.control_frame(from, Kind::ClearToSend, ssn, Vec::new());
    }

    fn hand_over(&mut self, request: ReqId, id: MessageId) {
        let message = self.matcher.remove(id);
        let Body::Whole(buffer) = message.body else { unreachable!("the payload is here") };
        let landing = self.land_in(request, message.source, message.tag, message.bytes);
        landing.at.write(&buffer[..landing.capacity]);
        self.landings.give_back(buffer);
        self.recv_done(request);
    }

    /// A frame about a message that was announced before, or whose landing was broken off.
    pub(super) fn resume_awaited(
        &mut self,
        from: Rank,
        header: &Header,
        awaited: Awaited,
    ) -> Landing {
        if matches!(awaited, Awaited::By(_)) {
            // The message was matched in an earlier incarnation of its sender, which may not know.
            self.matched_sync(from, header.ssn, header.flags & FLAG_SYNC != 0);
        }
        match (awaited, header.kind) {
            (Awaited::By(request), Kind::Eager | Kind::Data) => {
                self.landings.is_landing(from, header.ssn);
                let tag = self.requests.get(request).completion.tag;
                let tag = if header.kind == Kind::Eager { header.tag } else { tag };
                self.land_in(request, from, tag, header.len)
            }
            (Awaited::By(_), _) => {
                self.control_frame(from, Kind::ClearToSend, header.ssn, Vec::new());
                self.landings.discard()
            }
            (Awaited::Waiting(id), Kind::Eager) => {
                self.landings.is_landing(from, header.ssn);
                let capacity = header.len as usize;
                let Some(mut buffer) = self.landings.buffer(capacity) else {
                    return self.has_no_room(from, header);
                };
                let at = UserPtr::own_mut(&mut buffer);
                let message = self.matcher.message_mut(id);
                message.bytes = header.len;
                message.body = Body::Landing(buffer);
                Landing { at, capacity, token: Token::Unexpected(id) }
            }
            (Awaited::Waiting(_), _) => self.landings.discard(),
        }
    }

    /// A request-to-send: matches the message, whose payload stays with its sender for now.
    pub(super) fn announced(&mut self, from: Rank, header: &Header, payload: &[u8]) {
        let Ok(len) = payload.try_into().map(u64::from_le_bytes) else { return };
        let sync = header.flags & FLAG_SYNC != 0;
        match self.matcher.arrive(from, header.context, header.tag, header.ssn) {
            Some(posted) => {
                self.record_match(posted.source, posted.post, from, header.ssn);
                self.matched_sync(from, header.ssn, sync);
                self.await_by(posted.request, from, header.ssn, (header.tag, len));
            }
            None => {
                let id = self.matcher.keep(from, header, len, Body::Announced);
                self.landings.await_at(from, header.ssn, Awaited::Waiting(id));
            }
        }
    }

    /// A message that this rank has came again.
    pub(super) fn duplicate(&mut self, from: Rank, header: &Header) -> Landing {
        self.counters.duplicates += 1;
        if header.flags & FLAG_SYNC != 0 && !self.matcher.is_unreceived(from, header.ssn) {
            self.control_frame(from, Kind::SyncAck, header.ssn, Vec::new());
        }
        self.landings.discard()
    }

    /// The landing of a message that nobody asked for was broken off.
    pub(super) fn unexpected_aborted(&mut self, from: Rank, ssn: Ssn, id: MessageId) {
        let message = self.matcher.message_mut(id);
        message.body = Body::Announced;
        let (bytes, tag) = (message.bytes, message.tag);
        let awaited = match message.claimed {
            Some(request) => {
                self.matcher.remove(id);
                self.land_in(request, from, tag, bytes);
                Awaited::By(request)
            }
            None => Awaited::Waiting(id),
        };
        self.landings.await_at(from, ssn, awaited);
    }

    /// Offers every waiting message to the posted receives again.
    pub(super) fn rematch(&mut self) {
        for id in self.matcher.waiting() {
            let m = self.matcher.message(id);
            let (source, context, tag, ssn) = (m.source, m.context, m.tag, m.ssn);
            if let Some(posted) = self.matcher.arrive(source, context, tag, ssn) {
                self.matcher.unlink(id);
                // The receive awaits a message that had been announced.
                self.landings.is_matched(id);
                self.record_match(posted.source, posted.post, source, ssn);
                self.deliver(posted.request, id);
            }
        }
    }

    /// A receive that is complete already.
    #[inline]
    pub(super) fn new_received(&mut self, from: Source, completion: Completion) -> ReqId {
        self.requests.new_received(from, completion)
    }
}
