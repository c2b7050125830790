//! Sends of the program: number, log, queue or push (`docs/internals/life-of-a-message.md`).

use super::link::{Frame, Link, Push};
use super::request::{SendData, SendMode};
use super::state::State;
use super::state::out::Out;
use super::state::rendezvous::Announced;
use super::tuning::WITHDRAW_LOOKS;
use super::{Engine, payload};
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::SendVerdict;
use ftmpi_wire::header::{FLAG_SYNC, Kind};
use ftmpi_wire::{EventNo, Header, Rank, Ssn};

/// Which message a send is: its receiver and its envelope.
#[derive(Debug, Clone, Copy)]
struct Identity {
    to: Rank,
    ssn: Ssn,
    context: u32,
    tag: i32,
    flags: u8,
}

impl Identity {
    fn is_sync(&self) -> bool {
        self.flags & FLAG_SYNC != 0
    }

    fn header(&self, kind: Kind, len: usize) -> Header {
        let Self { ssn, context, tag, flags, .. } = *self;
        Header { kind, flags, context, tag, len: len as u64, ssn }
    }
}

impl<L: Link> Engine<L> {
    /// Starts a send. `None`: it is complete already, the payload may be reused.
    #[inline]
    pub fn isend(
        &mut self,
        data: SendData,
        to: Rank,
        context: u32,
        tag: i32,
        mode: SendMode,
    ) -> Option<ReqId> {
        let ssn = self.reserve(to);
        let flags = if mode == SendMode::Synchronous { FLAG_SYNC } else { 0 };
        if let SendData::Bytes { ptr, len } = data {
            // The fast path: the channel is free, the protocol has nothing against it, and the
            // frame fits.
            let state = &mut self.state;
            let peer = state.channels.peer(to);
            if flags == 0
                && peer.phase.is_ready()
                && peer.queue.is_empty()
                && len <= self.link.eager_limit(to)
                && state.waves.are_open()
                && (!peer.logged || !peer.has.contains(ssn))
                && (state.verdict(to, ssn) == SendVerdict::Go
                    || state.may_go_after_all(&mut self.link, to, ssn))
                && !(state.hooks.piggyback && state.protocol.has_piggyback(to))
            {
                let done = self.send_at_once(ssn, ptr, len, to, context, tag);
                self.make_log_room();
                return done;
            }
        }
        if self.state.faults.alert()
            && let Some(done) = self.isend_after_news((ssn, flags), &data, to, context, tag)
        {
            return done;
        }
        let request = self.isend_slow(Identity { to, ssn, context, tag, flags }, data);
        self.make_log_room();
        request
    }

    /// Pushes a message, and then logs it if the protocol wants that: its receiver can work while
    /// the copy is made. A rank that dies between the two loses the log with everything else and
    /// repeats both. An image is taken before or after this call.
    #[inline]
    pub(super) fn send_at_once(
        &mut self,
        ssn: Ssn,
        mut payload: UserPtr,
        len: usize,
        to: Rank,
        context: u32,
        tag: i32,
    ) -> Option<ReqId> {
        let header = Header { kind: Kind::Eager, flags: 0, context, tag, len: len as u64, ssn };
        let mut frame = Frame::new(header, payload);
        let mut pushed = self.link.push(to, &mut frame);
        let state = &mut self.state;
        let in_memory = state.hooks.memory;
        if pushed == Push::Full {
            // What may not come into the log late leaves as far as it can before it is moved there.
            let late = state.logs.take_late(len) && !in_memory;
            if state.channels.peer(to).logged && !late && self.link.withdraw(to) {
                pushed = self.link.push(to, &mut frame);
            }
        }
        state.counters.messages_sent += 1;
        state.counters.bytes_sent += len as u64;
        // One look into the table for all of it.
        let peer = state.channels.peer_mut(to);
        let mut late = None;
        if peer.logged {
            let block = state.logs.memory_mut().take(len);
            if pushed == Push::Done {
                payload.store_away(state.logs.memory_mut().bytes_mut(block));
            } else if state.logs.take_late(len) && !in_memory || !self.link.withdraw(to) {
                // Also a payload that its reader fetches at this moment.
                late = Some(block);
            } else {
                // The rest leaves from the log.
                payload.store_near(state.logs.memory_mut().bytes_mut(block));
                payload = UserPtr::own(state.logs.memory().bytes(block));
            }
            peer.log.keep(ssn, context, tag, 0, block);
            if in_memory {
                state.memory_stream.measure_put(to, ssn, state.now_ns);
            }
        }
        if pushed == Push::Done {
            peer.wave.message_left();
            return None;
        }
        frame.payload = payload;
        let request = state.requests.new_send(false);
        if let Some(block) = late {
            state.logs.log_later(to, request, block, payload);
        }
        peer.queue.push_back(Out::message(frame, None, Some(request)));
        state.channels.mark_busy(to);
        Some(request)
    }

    /// Sets the bytes of a piggyback that one frame carries; the rest follows in other frames.
    pub fn set_piggyback_part(&mut self, bytes: usize) {
        self.state.channels.set_piggyback_part(bytes);
    }

    /// Gives the next message to `to` its number now; it is sent later with
    /// [`Engine::isend_reserved`]. For the steps of schedules, whose order in time may differ from
    /// one incarnation to the next.
    #[inline]
    pub fn reserve(&mut self, to: Rank) -> Ssn {
        let last = &mut self.state.channels.peer_mut(to).last_ssn;
        *last = last.next();
        *last
    }

    /// Sends a message whose number was reserved.
    pub fn isend_reserved(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u32,
        tag: i32,
    ) -> Option<ReqId> {
        if self.state.faults.alert()
            && let Some(done) = self.isend_after_news((ssn, 0), &data, to, context, tag)
        {
            return done;
        }
        self.isend_slow(Identity { to, ssn, context, tag, flags: 0 }, data)
    }

    /// A payload that the peer may fetch from the sender's memory delays what comes behind it until
    /// our next call, which may be late. The payload leaves another way. A peer that fetches it at
    /// this moment is through soon.
    fn make_way(&mut self, to: Rank) {
        for _ in 0..WITHDRAW_LOOKS {
            let first = self.state.channels.peer(to).queue.front();
            if !first.is_some_and(|out| out.frame.begun) || self.link.withdraw(to) {
                return;
            }
            self.work();
        }
    }

    #[inline(never)]
    fn isend_slow(&mut self, message: Identity, data: SendData) -> Option<ReqId> {
        let to = message.to;
        if self.state.event_log.is_under_way() {
            // What is stable by now is no piggyback, and nothing waits for it.
            self.link.poll_logger(&mut self.state);
        }
        self.make_way(to);
        self.state.counters.messages_sent += 1;
        self.state.counters.bytes_sent += payload::send_len(&data) as u64;
        let request = if to == self.state.me && !self.state.hooks.memory {
            self.state.send_to_self(message, data)
        } else if self.state.channels.peer(to).logged {
            let limit = self.link.eager_limit(to);
            self.state.send_logged(message, data, limit)
        } else {
            let limit = self.link.eager_limit(to);
            self.state.send_unlogged(message, data, limit)
        };
        self.work();
        let id = request?;
        if self.state.requests.is_done(id) {
            self.state.requests.remove(id);
            return None;
        }
        Some(id)
    }
}

impl State {
    /// A send to this rank: no channel, no log (its own replay sends it again).
    fn send_to_self(&mut self, message: Identity, data: SendData) -> Option<ReqId> {
        let request = self.new_send(message);
        let len = payload::send_len(&data);
        let header = message.header(Kind::Eager, len);
        let me = self.me;
        let landing = self.match_arrival(me, &header);
        payload::copy_out(&data, landing.at, landing.capacity.min(len));
        self.finish_landing(me, &header, landing.token);
        self.send_is_out(request);
        Some(request)
    }

    /// A request for a send; a synchronous one waits for its acknowledgement.
    fn new_send(&mut self, message: Identity) -> ReqId {
        let sync = message.is_sync();
        let request = self.requests.new_send(sync);
        if sync {
            let Identity { to, ssn, context, .. } = message;
            self.rendezvous.await_acknowledgement(to, ssn, request, context);
        }
        request
    }

    fn send_unlogged(
        &mut self,
        message: Identity,
        data: SendData,
        eager_limit: usize,
    ) -> Option<ReqId> {
        let request = self.new_send(message);
        let (payload, len, owned) = match data {
            SendData::Bytes { ptr, len } => (ptr, len, None),
            SendData::Owned(bytes) => (UserPtr::own(&bytes), bytes.len(), Some(bytes)),
            SendData::Typed { .. } => {
                let packed = payload::pack(&data);
                (UserPtr::own(&packed), packed.len(), Some(packed))
            }
        };
        if len > eager_limit {
            let header = message.header(Kind::RequestToSend, len);
            let announced = Announced { header, payload, owned, request: Some(request) };
            self.rendezvous.announce(message.to, announced);
            self.announce(message.to, header);
        } else {
            let frame = Frame::new(message.header(Kind::Eager, len), payload);
            self.enqueue(message.to, Out::message(frame, owned, Some(request)));
        }
        Some(request)
    }

    /// Under channel memories: `Some` if nothing of the message has to leave, with the request that
    /// waits for its acknowledgement.
    fn send_again_to_memory(&mut self, message: Identity) -> Option<Option<ReqId>> {
        let (to, ssn) = (message.to, message.ssn);
        if !self.channels.peer(to).has.contains(ssn) {
            self.memory_stream.measure_put(to, ssn, self.now_ns);
            return None;
        }
        if !message.is_sync() || self.memory_stream.take_early(to, ssn) {
            return Some(None);
        }
        // The memory has the message, and the acknowledgement comes from our own memory.
        let request = self.new_send(message);
        self.send_is_out(request);
        Some(Some(request))
    }

    fn send_logged(
        &mut self,
        mut message: Identity,
        data: SendData,
        eager_limit: usize,
    ) -> Option<ReqId> {
        let Identity { to, ssn, context, tag, flags } = message;
        if self.hooks.memory {
            if let Some(done) = self.send_again_to_memory(message) {
                return done;
            }
            if message.is_sync() && self.memory_stream.take_early(to, ssn) {
                message.flags &= !FLAG_SYNC;
            }
        }
        let len = payload::send_len(&data);
        let peer = self.channels.peer(to);
        let known = peer.has.contains(ssn);
        let absent = peer.absent;
        // The program may have found complete, in an earlier incarnation, what is repeated now. The
        // receiver has lost its match since, and may wait for something that is repeated later. So
        // a repeated send does not wait: the log has the payload.
        let waits = !self.protocol.repeating();
        let mut payload = UserPtr::own(&[]);
        let mut late = None;
        if !peer.log.cut_at().contains(ssn) {
            let may_be_late = waits && !known && !absent && !self.hooks.memory;
            let block = self.logs.memory_mut().take(len);
            match data {
                SendData::Bytes { ptr, .. } if may_be_late && self.logs.take_late(len) => {
                    payload = ptr;
                    late = Some(block);
                }
                _ => {
                    let memory = self.logs.memory_mut();
                    payload::pack_into(&data, memory.bytes_mut(block));
                    payload = UserPtr::own(memory.bytes(block));
                }
            }
            self.channels.peer_mut(to).log.keep(ssn, context, tag, flags, block);
        }
        if known && !message.is_sync() {
            return None;
        }
        let request = self.new_send(message);
        if let Some(block) = late {
            self.logs.log_later(to, request, block, payload);
        }
        if absent {
            // The message is in the log, and leaves when the peer's new incarnation has said what
            // it has.
            self.channels.request(to);
            self.send_is_out(request);
            return Some(request);
        }
        if known || !waits {
            self.send_is_out(request);
        }
        // The envelope keeps the flags of the call.
        let kind = if known || len > eager_limit { Kind::RequestToSend } else { Kind::Eager };
        let header = Header { kind, flags, context, tag, len: len as u64, ssn };
        let waits = waits.then_some(request);
        if known {
            // The peer has the payload, and ours may be cut at any time: the announcement only asks
            // whether the message was matched.
            self.announce(to, header);
        } else if kind == Kind::RequestToSend {
            let announced = Announced { header, payload, owned: None, request: waits };
            self.rendezvous.announce(to, announced);
            self.announce(to, header);
        } else {
            self.enqueue(to, Out::message(Frame::new(header, payload), None, waits));
        }
        Some(request)
    }

    /// Queues a request-to-send; its payload is the length.
    pub(super) fn announce(&mut self, to: Rank, header: Header) {
        self.enqueue(to, Out::announcement(header));
    }

    /// Queues a message of the program behind what waits for the same peer.
    pub(super) fn enqueue(&mut self, to: Rank, mut out: Out) {
        out.after = self.gate(to, out.frame.header.ssn);
        self.channels.queue(to, out);
    }

    /// The own event that must be stable before something with this number leaves.
    #[inline]
    pub(super) fn gate(&mut self, to: Rank, ssn: Ssn) -> EventNo {
        match self.verdict(to, ssn) {
            SendVerdict::Go => EventNo(0),
            SendVerdict::After(event) => event,
        }
    }

    fn verdict(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        if !self.hooks.sends {
            return SendVerdict::Go;
        }
        self.note_no_service();
        self.note_steps();
        let verdict = self.protocol.on_send(to, ssn);
        self.commands_to_queues();
        verdict
    }

    /// Whether the event that the message waits for is stored at once ([`Link::log`]), or by now.
    fn may_go_after_all<L: Link>(&mut self, link: &mut L, to: Rank, ssn: Ssn) -> bool {
        let mut news = self.event_log.has_frames();
        if news {
            self.hand_to_logger(link);
        }
        if self.event_log.is_under_way() {
            // The acknowledgement may have come while the program computed.
            news |= link.poll_logger(self);
        }
        news && self.verdict(to, ssn) == SendVerdict::Go
    }

    /// The payload of a send may be reused.
    pub(super) fn send_is_out(&mut self, id: ReqId) {
        self.logs.finish_late_of(id);
        self.requests.send_left(id);
    }
}
