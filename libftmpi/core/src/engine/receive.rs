//! The way in: duplicates are dropped, messages matched, payloads landed.

use super::matching::Body;
use super::request::{Completion, Request, RequestKind};
use super::{
    Awaited, Engine, Landing, Link, Logger, MessageId, RecvData, ReqId, Sink, Source, State, Token,
    TooLong, payload,
};
use crate::error::ErrorClass;
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::ArrivalVerdict;
use ftmpi_wire::header::{FLAG_MORE, FLAG_SYNC, Kind};
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, event_log};

/// Payload of a control frame at the most: a `Resume` with very many holes is still far below.
const CONTROL_BYTES_MAX: u64 = 64 << 20;
/// No piggyback is longer, in all its parts.
const PIGGYBACK_BYTES_MAX: usize = 4 << 30;
/// So many messages that did not fit are remembered.
const TOO_LONG_MAX: usize = 16;
/// Buffers of unexpected messages that are kept for reuse, and the largest that is.
const BUFFERS_MAX: usize = 256;
const BUFFER_BYTES_MAX: usize = 1 << 18;

impl<L: Link> Engine<L> {
    /// Bytes of a message with this tag that did not fit into a receive of so many bytes; none if it is
    /// forgotten, or may be one of several.
    pub(crate) fn take_length_of_too_long(&mut self, tag: i32, fits: u64) -> Option<u64> {
        let known = &mut self.state.too_long;
        let mut lens = known.iter().filter(|m| (m.tag, m.fits) == (tag, fits)).map(|m| m.len);
        let first = lens.next()?;
        let same = lens.all(|len| len == first);
        known.retain(|m| (m.tag, m.fits) != (tag, fits));
        same.then_some(first)
    }
}

impl State {
    #[inline]
    pub(super) fn new_recv(&mut self, into: RecvData, from: Source) -> ReqId {
        ReqId(self.requests.insert(Request {
            kind: RequestKind::Recv { into, staging: None, posted: None, from },
            done: false,
            detached: false,
            completion: Completion::NOTHING,
        }))
    }

    /// A receive that has everything already.
    #[inline]
    pub(super) fn new_received(&mut self, from: Source, completion: Completion) -> ReqId {
        let into = RecvData::Bytes { ptr: UserPtr::BOTTOM, len: 0 };
        ReqId(self.requests.insert(Request {
            kind: RequestKind::Recv { into, staging: None, posted: None, from },
            done: true,
            detached: false,
            completion,
        }))
    }

    fn buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = if len <= BUFFER_BYTES_MAX {
            self.buffers.pop().unwrap_or_default()
        } else {
            Vec::new()
        };
        // One that was longer keeps its length: filling it with zeroes would cost as much as a copy.
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        buffer
    }

    fn give_buffer(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < BUFFERS_MAX && buffer.capacity() <= BUFFER_BYTES_MAX {
            self.buffers.push(buffer);
        }
    }

    /// Notes the envelope in a receive and says where its payload is to land.
    fn land_in(&mut self, id: ReqId, from: Rank, tag: i32, len: u64) -> Landing {
        let request = self.requests.get_mut(id.0);
        request.completion.source = from;
        request.completion.tag = tag;
        let RequestKind::Recv { into, staging, posted, .. } = &mut request.kind else {
            unreachable!("only receives are matched")
        };
        *posted = None;
        let capacity = payload::recv_len(into);
        if len > capacity as u64 {
            request.completion.error = Some(ErrorClass::Truncate);
            if self.too_long.len() == TOO_LONG_MAX {
                self.too_long.pop_front();
            }
            self.too_long.push_back(TooLong { tag, fits: capacity as u64, len });
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
        let request = self.requests.get_mut(id.0);
        if let RequestKind::Recv { into, staging, .. } = &mut request.kind
            && let Some(packed) = staging.take()
        {
            payload::unpack(&packed, into);
        }
        self.counters.messages_received += 1;
        self.counters.bytes_received += request.completion.bytes;
        self.complete(id);
    }

    /// Matches a message whose payload is at hand.
    #[inline]
    pub(super) fn match_arrival(&mut self, from: Rank, header: &Header) -> Landing {
        match self.matcher.arrive(from, header.context, header.tag, header.ssn) {
            Some(posted) => {
                self.record_match(posted.source, posted.post, from, header.ssn);
                self.matched_sync(from, header.ssn, header.flags & FLAG_SYNC != 0);
                self.land_in(posted.request, from, header.tag, header.len)
            }
            None => {
                let mut buffer = self.buffer(header.len as usize);
                let at = UserPtr::own_mut(&mut buffer);
                let id = self.matcher.keep(
                    from,
                    header.context,
                    header.tag,
                    header.ssn,
                    header.len,
                    header.flags & FLAG_SYNC != 0,
                    Body::Landing(buffer),
                );
                let capacity = header.len as usize;
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
                if self.tracks() && (from != self.me || self.hooks.memory) {
                    self.peers[from.index()].received.insert(header.ssn);
                }
                self.recv_done(id);
            }
            Token::Unexpected(id) => {
                if self.tracks() && (from != self.me || self.hooks.memory) {
                    self.peers[from.index()].received.insert(header.ssn);
                }
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
                // It is out of matching: too late to cancel it.
                self.requests.get_mut(request.0).has_matched();
                return;
            }
            Body::Announced => false,
        };
        if whole {
            self.hand_over(request, id);
        } else {
            self.matcher.remove(id);
            // Notes the envelope; the payload comes with a header that has no tag.
            self.land_in(request, from, tag, bytes);
            self.awaited.insert((from, ssn), Awaited::By(request));
            self.control_frame(from, Kind::ClearToSend, ssn, Vec::new());
        }
    }

    fn hand_over(&mut self, request: ReqId, id: MessageId) {
        let message = self.matcher.remove(id);
        let Body::Whole(buffer) = message.body else { unreachable!("the payload is here") };
        let landing = self.land_in(request, message.source, message.tag, message.bytes);
        landing.at.write(&buffer[..landing.capacity]);
        self.give_buffer(buffer);
        self.recv_done(request);
    }

    /// A frame about a message that was announced, or whose landing was broken off, before.
    fn resume_awaited(&mut self, from: Rank, header: &Header, awaited: Awaited) -> Landing {
        if matches!(awaited, Awaited::By(_)) {
            // It was matched in an earlier life of its sender, which may not know.
            self.matched_sync(from, header.ssn, header.flags & FLAG_SYNC != 0);
        }
        match (awaited, header.kind) {
            (Awaited::By(request), Kind::Eager | Kind::Data) => {
                self.awaited.remove(&(from, header.ssn));
                let tag = self.requests.get(request.0).completion.tag;
                let tag = if header.kind == Kind::Eager { header.tag } else { tag };
                self.land_in(request, from, tag, header.len)
            }
            (Awaited::By(_), _) => {
                self.control_frame(from, Kind::ClearToSend, header.ssn, Vec::new());
                self.discard()
            }
            (Awaited::Waiting(id), Kind::Eager) => {
                self.awaited.remove(&(from, header.ssn));
                let mut buffer = self.buffer(header.len as usize);
                let at = UserPtr::own_mut(&mut buffer);
                let message = self.matcher.message_mut(id);
                message.bytes = header.len;
                message.body = Body::Landing(buffer);
                let capacity = header.len as usize;
                Landing { at, capacity, token: Token::Unexpected(id) }
            }
            (Awaited::Waiting(_), _) => self.discard(),
        }
    }

    fn control_landed(&mut self, from: Rank, header: &Header) {
        let payload = std::mem::take(&mut self.peers[from.index()].control);
        match header.kind {
            Kind::RequestToSend => self.announced(from, header, &payload),
            Kind::Resume => self.resumed(from, &payload),
            Kind::LogCut => self.log_cut(from, &payload),
            Kind::ImageHas => self.image_has(from, header.ssn, &payload),
            Kind::Protocol => {
                self.protocol.on_frame(from, &payload);
                self.commands_to_queues();
            }
            Kind::Piggyback => self.piggyback_landed(from, header, &payload),
            _ => {}
        }
        let buffer = &mut self.peers[from.index()].control;
        *buffer = payload;
        buffer.clear();
    }

    fn announced(&mut self, from: Rank, header: &Header, payload: &[u8]) {
        let Ok(len) = payload.try_into().map(u64::from_le_bytes) else { return };
        let sync = header.flags & FLAG_SYNC != 0;
        match self.matcher.arrive(from, header.context, header.tag, header.ssn) {
            Some(posted) => {
                self.record_match(posted.source, posted.post, from, header.ssn);
                self.matched_sync(from, header.ssn, sync);
                self.land_in(posted.request, from, header.tag, len);
                self.awaited.insert((from, header.ssn), Awaited::By(posted.request));
                self.control_frame(from, Kind::ClearToSend, header.ssn, Vec::new());
            }
            None => {
                let (context, tag, ssn) = (header.context, header.tag, header.ssn);
                let id = self.matcher.keep(from, context, tag, ssn, len, sync, Body::Announced);
                self.awaited.insert((from, ssn), Awaited::Waiting(id));
            }
        }
    }

    /// A message that we have came again.
    fn duplicate(&mut self, from: Rank, header: &Header) -> Landing {
        self.counters.duplicates += 1;
        if header.flags & FLAG_SYNC != 0 && !self.matcher.is_unreceived(from, header.ssn) {
            self.control_frame(from, Kind::SyncAck, header.ssn, Vec::new());
        }
        self.discard()
    }
}

impl Sink for State {
    fn expects(&self, from: Rank, header: &Header) -> bool {
        header.kind == Kind::Eager
            && self.waves.holding == 0
            && self.matcher.taker(from, header.context, header.tag, header.ssn).is_some()
    }

    #[inline]
    fn arrive(&mut self, from: Rank, header: &Header) -> Landing {
        if self.waves.holding > 0 && self.is_held(from) {
            return self.hold_frame(from, header);
        }
        if self.hooks.memory {
            return self.arrive_from_memory(from, header);
        }
        self.take_frame(from, header)
    }

    #[inline]
    fn landed(&mut self, from: Rank, header: &Header, token: Token) {
        if self.hooks.memory {
            return self.landed_from_memory(from, header, token);
        }
        self.finish_landing(from, header, token);
    }

    fn aborted(&mut self, from: Rank, header: &Header, token: Token) {
        let from = if self.hooks.memory { self.source_of_broken(from, header) } else { from };
        match token {
            Token::Discard => {}
            Token::Held => self.held_aborted(from),
            Token::Control => self.peers[from.index()].control.clear(),
            Token::Request(id) => {
                self.awaited.insert((from, header.ssn), Awaited::By(id));
            }
            Token::Unexpected(id) => {
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
                self.awaited.insert((from, header.ssn), awaited);
            }
        }
    }

    fn channel_up(&mut self, peer: Rank, incarnation: Incarnation) {
        self.begin_channel(peer, incarnation);
    }

    fn channel_lost(&mut self, peer: Rank) {
        self.end_channel(peer);
    }

    fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation) {
        self.begin_incarnation_of(peer, incarnation);
    }

    fn log_frame(&mut self, frame: event_log::Frame) {
        self.on_logger_frame(frame);
    }

    fn logger_lost(&mut self) {
        self.logger = Logger::Wanted;
    }

    fn logger_up(&mut self) {
        self.on_logger_connected();
    }

    fn image_committed(&mut self, image: ImageNo, oldest: ImageNo) {
        self.cut_logs(image, oldest);
    }

    fn image_failed(&mut self, image: ImageNo) {
        self.forget_image(image);
        self.image_over(image);
        self.commands_to_queues();
    }
}

impl State {
    /// Takes a frame whose turn it is.
    #[inline]
    pub(super) fn take_frame(&mut self, from: Rank, header: &Header) -> Landing {
        match header.kind {
            Kind::Eager | Kind::Data | Kind::RequestToSend => {
                if self.tracks() && self.peers[from.index()].received.contains(header.ssn) {
                    return self.duplicate(from, header);
                }
                if self.hooks.arrivals && self.is_from_orphan(from, header.ssn) {
                    return self.discard();
                }
                if !self.awaited.is_empty()
                    && let Some(&awaited) = self.awaited.get(&(from, header.ssn))
                {
                    return self.resume_awaited(from, header, awaited);
                }
                match header.kind {
                    Kind::Eager => self.match_arrival(from, header),
                    Kind::Data => self.discard(),
                    _ => self.control_landing(from, header),
                }
            }
            Kind::ClearToSend => {
                // A cluster peer's tells of a match, which a state that is to be rolled back may have made.
                let tells = self.hooks.arrivals && self.reveals_match(from, Kind::ClearToSend);
                if !tells || !self.is_from_orphan(from, header.ssn) {
                    self.clear_to_send(from, header.ssn);
                }
                self.discard()
            }
            Kind::SyncAck => {
                if !self.hooks.arrivals || !self.is_from_orphan(from, header.ssn) {
                    self.acknowledged(from, header.ssn);
                }
                self.discard()
            }
            Kind::Resume | Kind::LogCut | Kind::ImageHas | Kind::Protocol | Kind::Piggyback => {
                self.control_landing(from, header)
            }
            Kind::Place => self.discard(),
        }
    }
}

impl State {
    /// Is this of a state that was, or is to be, rolled back? Its sender's next life says it again,
    /// or does not.
    #[cold]
    fn is_from_orphan(&mut self, from: Rank, ssn: Ssn) -> bool {
        let orphan = self.protocol.on_arrival(from, ssn) == ArrivalVerdict::Orphan;
        self.counters.orphan_messages += u64::from(orphan);
        orphan
    }

    /// A piggyback, or a part of one.
    fn piggyback_landed(&mut self, from: Rank, header: &Header, payload: &[u8]) {
        let parts = &mut self.peers[from.index()].parts;
        let more = header.flags & FLAG_MORE != 0;
        if more || !parts.is_empty() {
            if parts.len() + payload.len() > PIGGYBACK_BYTES_MAX {
                self.failure = Some(format!(
                    "rank {from} sent a piggyback of more than {PIGGYBACK_BYTES_MAX} bytes: its memory or the network \
                     is damaged"
                ));
                return;
            }
            parts.extend_from_slice(payload);
            if more {
                return;
            }
        }
        let whole = std::mem::take(&mut self.peers[from.index()].parts);
        let begin = (self.now_ns)();
        self.protocol.on_piggyback(from, if whole.is_empty() { payload } else { &whole });
        self.counters.piggyback_merge_ns += (self.now_ns)().saturating_sub(begin);
        self.commands_to_queues();
    }

    fn control_landing(&mut self, from: Rank, header: &Header) -> Landing {
        if header.len > CONTROL_BYTES_MAX {
            self.failure = Some(format!(
                "rank {from} sent a control frame of {} bytes, more than the limit of {CONTROL_BYTES_MAX}: \
                 its memory or the network is damaged",
                header.len
            ));
            return self.discard();
        }
        let buffer = &mut self.peers[from.index()].control;
        buffer.clear();
        buffer.resize(header.len as usize, 0);
        Landing { at: UserPtr::own_mut(buffer), capacity: buffer.len(), token: Token::Control }
    }
}
