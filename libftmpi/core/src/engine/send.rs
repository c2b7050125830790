//! The way out: identity, log, gate, queue, rendezvous (ARCHITECTURE.md, "The life of a message").

use super::request::{Request, RequestKind};
use super::{
    ChannelPhase, Engine, Frame, Link, Out, Peer, Push, Rendezvous, ReqId, SendData, SendMode,
    State, Token, payload,
};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::SendVerdict;
use ftmpi_wire::header::{FLAG_MORE, FLAG_SYNC, Kind};
use ftmpi_wire::{EventNo, Header, Rank, Ssn};

/// See [`Engine::set_piggyback_part`]: well below what a receiver takes for damage.
pub(super) const PIGGYBACK_PART: usize = 16 << 20;

impl<L: Link> Engine<L> {
    /// Starts a send. `None`: it is complete already, the payload may be reused.
    #[inline]
    pub fn isend(
        &mut self,
        data: SendData,
        to: Rank,
        context: u16,
        tag: i32,
        mode: SendMode,
    ) -> Option<ReqId> {
        let ssn = self.reserve(to);
        let flags = if mode == SendMode::Synchronous { FLAG_SYNC } else { 0 };
        if let SendData::Bytes { ptr, len } = data {
            // The fast path: the channel is free, the protocol has nothing against it, and the
            // frame fits.
            let state = &mut self.state;
            let peer = &state.peers[to.index()];
            if flags == 0
                && peer.phase == ChannelPhase::Ready
                && peer.queue.is_empty()
                && len <= self.link.eager_limit(to)
                && state.short_way
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
        let request = self.isend_slow(ssn, data, to, context, tag, flags);
        self.make_log_room();
        request
    }

    /// Pushes a message, and logs it if the protocol wants that: in this order, because its receiver can
    /// work while the copy is made. Whoever dies between the two loses the log with everything else and
    /// repeats both; an image is taken before or after this call.
    #[inline]
    fn send_at_once(
        &mut self,
        ssn: Ssn,
        mut payload: UserPtr,
        len: usize,
        to: Rank,
        context: u16,
        tag: i32,
    ) -> Option<ReqId> {
        let header = Header { kind: Kind::Eager, flags: 0, context, tag, len: len as u64, ssn };
        let mut frame = Frame { header, payload, sent: 0, begun: false };
        let mut pushed = self.link.push(to, &mut frame);
        let state = &mut self.state;
        if pushed == Push::Full {
            // What may not come into the log late leaves as far as it can before it is moved there.
            let late = state.late_log.takes(len) && !state.hooks.memory;
            if state.peers[to.index()].logged && !late && self.link.withdraw(to) {
                pushed = self.link.push(to, &mut frame);
            }
        }
        state.counters.messages_sent += 1;
        state.counters.bytes_sent += len as u64;
        // One look into the table for all of it.
        let peer = &mut state.peers[to.index()];
        let mut late = None;
        if peer.logged {
            let memory = &mut state.memory;
            let block = memory.take(len);
            if pushed == Push::Done {
                payload.store_away(memory.bytes_mut(block));
            } else if state.late_log.takes(len) && !state.hooks.memory || !self.link.withdraw(to) {
                // (Also what its reader is fetching at this moment.)
                late = Some(block);
            } else {
                // The rest goes from there.
                payload.store_near(memory.bytes_mut(block));
                payload = UserPtr::own(memory.bytes(block));
            }
            peer.log.keep(ssn, context, tag, 0, block);
            if state.hooks.memory {
                state.channel_memory.measure_put(to, ssn, state.now_ns);
            }
        }
        if pushed == Push::Done {
            peer.channel.sent += 1;
            return None;
        }
        frame.payload = payload;
        let request = ReqId(state.requests.insert(Request::send()));
        if let Some(block) = late {
            state.log_later(to, request, block, payload);
        }
        state.peers[to.index()].queue.push_back(Out {
            frame,
            owned: None,
            after: EventNo(0),
            request: Some(request),
            gated_at: None,
            message: true,
            marker: None,
        });
        state.mark_busy(to);
        Some(request)
    }

    /// Bytes of a piggyback that one frame carries at the most; the rest follows in others.
    pub fn set_piggyback_part(&mut self, bytes: usize) {
        self.state.piggyback_part = bytes.max(1);
    }

    /// Gives the next message to `to` its number now; it is sent later with
    /// [`Engine::isend_reserved`]. For the steps of schedules, whose order in time may differ from
    /// life to life.
    #[inline]
    pub fn reserve(&mut self, to: Rank) -> Ssn {
        let last = &mut self.state.peers[to.index()].last_ssn;
        *last = last.next();
        *last
    }

    /// Sends a message whose number was reserved.
    pub fn isend_reserved(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u16,
        tag: i32,
    ) -> Option<ReqId> {
        self.isend_slow(ssn, data, to, context, tag, 0)
    }

    /// What the peer may fetch from where it lies holds up what comes behind it until our next call, which may be late:
    /// it leaves another way. A peer that is fetching it just now is through with it soon.
    fn make_way(&mut self, to: Rank) {
        /// Much longer than that; whoever dies meanwhile is not awaited here.
        const LOOKS: u32 = 10_000;
        for _ in 0..LOOKS {
            let first = self.state.peers[to.index()].queue.front();
            if !first.is_some_and(|out| out.frame.begun) || self.link.withdraw(to) {
                return;
            }
            self.work();
        }
    }

    #[inline(never)]
    fn isend_slow(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u16,
        tag: i32,
        flags: u8,
    ) -> Option<ReqId> {
        self.make_way(to);
        self.state.counters.messages_sent += 1;
        self.state.counters.bytes_sent += payload::send_len(&data) as u64;
        let request = if to == self.state.me && !self.state.hooks.memory {
            self.state.send_to_self(ssn, data, context, tag, flags)
        } else if self.state.peers[to.index()].logged {
            let limit = self.link.eager_limit(to);
            self.state.send_logged(ssn, data, to, context, tag, flags, limit)
        } else {
            let limit = self.link.eager_limit(to);
            self.state.send_unlogged(ssn, data, to, context, tag, flags, limit)
        };
        self.work();
        let id = request?;
        if self.state.requests.get(id.0).done {
            self.state.requests.remove(id.0);
            return None;
        }
        Some(id)
    }
}

/// The next frame of a piggyback of which this is left.
fn part_of(rest: &[u8], most: usize) -> Frame {
    let part = &rest[..rest.len().min(most)];
    let flags = if part.len() < rest.len() { FLAG_MORE } else { 0 };
    let (kind, ssn, len) = (Kind::Piggyback, Ssn(0), part.len() as u64);
    let header = Header { kind, flags, context: 0, tag: 0, len, ssn };
    Frame { header, payload: UserPtr::own(part), sent: 0, begun: false }
}

impl Peer {
    /// Has anything left of what the protocol puts before the first message of the queue?
    pub(super) fn piggyback_has_begun(&self) -> bool {
        self.piggyback_frame.is_some() || self.piggyback_out
    }

    /// Brings the frame that was queued last before everything that has not begun to leave, but
    /// behind frames that were brought forward earlier.
    pub(super) fn bring_forward(&mut self) {
        let Some(last) = self.queue.pop_back() else { return };
        let begun =
            self.piggyback_has_begun() || self.queue.front().is_some_and(|first| first.frame.begun);
        let first = usize::from(begun && !self.queue.is_empty());
        let earlier = self
            .queue
            .iter()
            .skip(first)
            .take_while(|out| out.frame.header.kind == Kind::Protocol)
            .count();
        self.queue.insert(first + earlier, last);
    }
}

impl State {
    /// Are messages counted, so that it is known which ones we have?
    #[inline]
    pub(super) fn tracks(&self) -> bool {
        self.hooks.log_payload || self.waves.counted
    }

    fn new_send(&mut self, unacknowledged: bool) -> ReqId {
        let mut request = Request::send();
        request.kind = RequestKind::Send { out: false, unacknowledged };
        ReqId(self.requests.insert(request))
    }

    /// To ourselves: no channel, no log (our own replay sends it again).
    fn send_to_self(
        &mut self,
        ssn: Ssn,
        data: SendData,
        context: u16,
        tag: i32,
        flags: u8,
    ) -> Option<ReqId> {
        let sync = flags & FLAG_SYNC != 0;
        let request = self.new_send(sync);
        if sync {
            self.unacknowledged.insert((self.me, ssn), request);
        }
        let len = payload::send_len(&data);
        let header = Header { kind: Kind::Eager, flags, context, tag, len: len as u64, ssn };
        let me = self.me;
        let landing = self.match_arrival(me, &header);
        payload::copy_out(&data, landing.at, landing.capacity.min(len));
        self.finish_landing(me, &header, landing.token);
        self.send_is_out(request);
        Some(request)
    }

    fn send_unlogged(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u16,
        tag: i32,
        flags: u8,
        eager_limit: usize,
    ) -> Option<ReqId> {
        let sync = flags & FLAG_SYNC != 0;
        let request = self.new_send(sync);
        if sync {
            self.unacknowledged.insert((to, ssn), request);
        }
        let (payload, len, owned) = match data {
            SendData::Bytes { ptr, len } => (ptr, len, None),
            SendData::Owned(bytes) => (UserPtr::own(&bytes), bytes.len(), Some(bytes)),
            SendData::Typed { .. } => {
                let packed = payload::pack(&data);
                (UserPtr::own(&packed), packed.len(), Some(packed))
            }
        };
        let mut header = Header { kind: Kind::Eager, flags, context, tag, len: len as u64, ssn };
        if len > eager_limit {
            header.kind = Kind::RequestToSend;
            let pending = Rendezvous { header, payload, owned, request: Some(request) };
            self.pending.insert((to, ssn), pending);
            self.announce(to, header, None);
        } else {
            self.enqueue(to, header, payload, owned, Some(request));
        }
        Some(request)
    }

    fn send_logged(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u16,
        tag: i32,
        flags: u8,
        eager_limit: usize,
    ) -> Option<ReqId> {
        let sync = flags & FLAG_SYNC != 0;
        if self.hooks.memory {
            let stored = self.peers[to.index()].has.contains(ssn);
            if stored && (!sync || self.was_early(to, ssn)) {
                return None;
            }
            if stored {
                // The memory has it, and the acknowledgement comes from ours.
                let request = self.new_send(true);
                self.unacknowledged.insert((to, ssn), request);
                self.send_is_out(request);
                return Some(request);
            }
            self.channel_memory.measure_put(to, ssn, self.now_ns);
        }
        let sync = sync && !(self.hooks.memory && self.was_early(to, ssn));
        let len = payload::send_len(&data);
        let peer = &self.peers[to.index()];
        let known = peer.has.contains(ssn);
        let absent = peer.absent;
        // What is repeated may have been found complete by the earlier life, whose receiver has lost its match since
        // and, in its own new life, waits for something that is repeated later. The log has the payload.
        let waits = !self.protocol.repeating();
        let mut payload = UserPtr::own(&[]);
        let mut late = None;
        if !peer.log.cut_at().contains(ssn) {
            let block = self.memory.take(len);
            match data {
                SendData::Bytes { ptr, .. }
                    if waits
                        && !known
                        && !absent
                        && !self.hooks.memory
                        && self.late_log.takes(len) =>
                {
                    payload = ptr;
                    late = Some(block);
                }
                _ => {
                    payload::pack_into(&data, self.memory.bytes_mut(block));
                    payload = UserPtr::own(self.memory.bytes(block));
                }
            }
            self.peers[to.index()].log.keep(ssn, context, tag, flags, block);
        }
        if known && !sync {
            return None;
        }
        let request = self.new_send(sync);
        if let Some(block) = late {
            self.log_later(to, request, block, payload);
        }
        if sync {
            self.unacknowledged.insert((to, ssn), request);
        }
        if absent {
            // It is in the log, and goes when the peer's new life has said what it has.
            self.want(to);
            self.send_is_out(request);
            return Some(request);
        }
        let mut header = Header { kind: Kind::Eager, flags, context, tag, len: len as u64, ssn };
        let waits = waits.then_some(request);
        if waits.is_none() {
            self.send_is_out(request);
        }
        if known {
            // The peer has the payload (and ours may be cut at any time); the announcement only asks
            // whether it was matched.
            header.kind = Kind::RequestToSend;
            if let Some(request) = waits {
                self.send_is_out(request);
            }
            self.announce(to, header, None);
        } else if len > eager_limit {
            header.kind = Kind::RequestToSend;
            let pending = Rendezvous { header, payload, owned: None, request: waits };
            self.pending.insert((to, ssn), pending);
            self.announce(to, header, None);
        } else {
            self.enqueue(to, header, payload, None, waits);
        }
        Some(request)
    }

    /// Queues a request-to-send; its payload is the length.
    pub(super) fn announce(&mut self, to: Rank, mut header: Header, request: Option<ReqId>) {
        let len = header.len.to_le_bytes().to_vec();
        header.len = len.len() as u64;
        let payload = UserPtr::own(&len);
        self.enqueue(to, header, payload, Some(len), request);
    }

    /// Queues a message of the program behind what waits for the same peer.
    pub(super) fn enqueue(
        &mut self,
        to: Rank,
        header: Header,
        payload: UserPtr,
        owned: Option<Vec<u8>>,
        request: Option<ReqId>,
    ) {
        let after = match self.verdict(to, header.ssn) {
            SendVerdict::Go => EventNo(0),
            SendVerdict::After(event) => event,
        };
        let frame = Frame { header, payload, sent: 0, begun: false };
        let peer = &mut self.peers[to.index()];
        peer.queue.push_back(Out {
            frame,
            owned,
            after,
            request,
            gated_at: None,
            message: true,
            marker: None,
        });
        self.mark_busy(to);
        self.want(to);
    }

    fn verdict(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        if !self.hooks.sends {
            return SendVerdict::Go;
        }
        self.note_no_service();
        let verdict = self.protocol.on_send(to, ssn);
        self.commands_to_queues();
        verdict
    }

    /// What it waits for may be stored at once ([`Link::log`]).
    fn may_go_after_all<L: Link>(&mut self, link: &mut L, to: Rank, ssn: Ssn) -> bool {
        if self.to_logger.is_empty() {
            return false;
        }
        self.hand_to_logger(link);
        self.verdict(to, ssn) == SendVerdict::Go
    }

    /// Does this frame tell its receiver that a message was matched? The answer to an announcement
    /// does where the sender has no log from which it could claim that the message is out.
    pub(super) fn reveals_match(&self, to: Rank, kind: Kind) -> bool {
        kind == Kind::SyncAck || (kind == Kind::ClearToSend && !self.peers[to.index()].logged)
    }

    /// Queues a frame of the engine's own.
    pub(super) fn control_frame(&mut self, to: Rank, kind: Kind, ssn: Ssn, payload: Vec<u8>) {
        if self.hooks.memory {
            match kind {
                Kind::SyncAck => self.keep_acknowledgement(to, ssn),
                // What broke off is given again without being asked for.
                Kind::ClearToSend => return,
                _ => {}
            }
        }
        let gated = self.hooks.sends && self.reveals_match(to, kind);
        let after = if gated {
            match self.verdict(to, ssn) {
                SendVerdict::After(event) => event,
                _ => EventNo(0),
            }
        } else {
            EventNo(0)
        };
        let header = Header { kind, flags: 0, context: 0, tag: 0, len: payload.len() as u64, ssn };
        let frame = Frame { header, payload: UserPtr::own(&payload), sent: 0, begun: false };
        let out = Out {
            frame,
            owned: Some(payload),
            after,
            request: None,
            gated_at: None,
            message: false,
            marker: None,
        };
        self.peers[to.index()].queue.push_back(out);
        self.mark_busy(to);
        self.want(to);
    }

    /// Pushes what may leave to this peer; `true` if nothing is left that waits for the link.
    pub(super) fn pump<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        let stable = self.protocol.stable();
        self.stable = stable;
        let silent = self.reads_event_log();
        loop {
            let peer = &mut self.peers[to.index()];
            if let Some(resume) = &mut peer.resume {
                if peer.phase == ChannelPhase::Absent || peer.phase == ChannelPhase::Asked || silent
                {
                    return false;
                }
                if let Some(greeting) = &mut peer.channel.greeting {
                    if link.push(to, &mut greeting.frame) == Push::Full {
                        return false;
                    }
                    peer.channel.greeting = None;
                }
                if link.push(to, &mut resume.frame) == Push::Full {
                    return false;
                }
                peer.resume = None;
                if peer.phase == ChannelPhase::Answered {
                    peer.phase = ChannelPhase::Ready;
                }
                continue;
            }
            let piggyback = peer.piggyback_has_begun();
            let Some(out) = peer.queue.front_mut() else { return true };
            // A marker goes ahead of the peer's `Resume`, which may be behind the peer's own marker, held here
            // until our image is taken; and that one may wait for the peer's, if they share memory.
            if peer.phase != ChannelPhase::Ready
                && (peer.phase != ChannelPhase::Fresh || out.marker.is_none())
            {
                return false;
            }
            // Where its piggyback has begun to leave, so has the message.
            let begun = out.frame.begun || piggyback;
            if out.after > stable && !begun {
                if out.gated_at.is_none() {
                    out.gated_at = Some(link.clock());
                    self.counters.gate_waits += 1;
                }
                return false;
            }
            if self.waves.closed && peer.cluster_peer && !begun && out.marker.is_none() {
                return false;
            }
            if let Some(mut marker) = out.marker.filter(|_| !out.frame.begun) {
                marker.count = peer.channel.sent;
                if let Some(owned) = &mut out.owned {
                    owned.copy_from_slice(&marker.encode());
                }
            }
            // What reveals a match goes behind all that the peer must know of it.
            let (begun, message, kind) = (out.frame.begun, out.message, out.frame.header.kind);
            if self.hooks.piggyback
                && !begun
                && (message || self.reveals_match(to, kind))
                && !self.push_piggyback(link, to)
            {
                return false;
            }
            let peer = &mut self.peers[to.index()];
            let out = peer.queue.front_mut().expect("still the front");
            if let Some(since) = out.gated_at.take() {
                self.counters.gate_wait_ns += ((link.clock() - since).max(0.0) * 1e9) as u64;
            }
            if link.push(to, &mut out.frame) == Push::Full {
                return false;
            }
            peer.piggyback_out = false;
            let out = peer.queue.pop_front().expect("the front was there");
            self.left = true;
            self.has_left(to, &out);
            if let Some(request) = out.request {
                self.send_is_out(request);
            }
        }
    }

    /// Pushes what the protocol puts before the next message to this peer; `true` if it is out.
    fn push_piggyback<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        let peer = &mut self.peers[to.index()];
        if peer.piggyback_out {
            return true;
        }
        if peer.piggyback_frame.is_none() {
            peer.piggyback.clear();
            if !self.protocol.has_piggyback(to) {
                return true;
            }
            let begin = L::now_ns();
            self.protocol.piggyback(to, &mut peer.piggyback);
            self.counters.piggyback_build_ns += L::now_ns().saturating_sub(begin);
            if peer.piggyback.is_empty() {
                return true;
            }
            peer.piggyback_left = 0;
            peer.piggyback_frame = Some(part_of(&peer.piggyback, self.piggyback_part));
        }
        let peer = &mut self.peers[to.index()];
        while let Some(frame) = &mut peer.piggyback_frame {
            if link.push(to, frame) == Push::Full {
                return false;
            }
            peer.piggyback_left += frame.header.len as usize;
            let rest = &peer.piggyback[peer.piggyback_left..];
            peer.piggyback_frame = (!rest.is_empty()).then(|| part_of(rest, self.piggyback_part));
        }
        peer.piggyback_out = true;
        true
    }

    /// The payload of a send may be reused.
    pub(super) fn send_is_out(&mut self, id: ReqId) {
        self.finish_late_of(id);
        let request = self.requests.get_mut(id.0);
        if let RequestKind::Send { out, unacknowledged } = &mut request.kind {
            *out = true;
            if !*unacknowledged {
                self.complete(id);
            }
        }
    }

    /// A synchronous send was matched.
    pub(super) fn acknowledged(&mut self, by: Rank, ssn: Ssn) {
        let Some(id) = self.unacknowledged.remove(&(by, ssn)) else {
            if self.hooks.memory {
                self.keep_early(by, ssn);
            }
            return;
        };
        let request = self.requests.get_mut(id.0);
        if let RequestKind::Send { out, unacknowledged } = &mut request.kind {
            *unacknowledged = false;
            if *out {
                self.complete(id);
            }
        }
    }

    pub(super) fn complete(&mut self, id: ReqId) {
        let request = self.requests.get_mut(id.0);
        request.done = true;
        if request.detached {
            self.requests.remove(id.0);
        }
    }

    /// "Send it": the rendezvous goes on.
    pub(super) fn clear_to_send(&mut self, peer: Rank, ssn: Ssn) {
        // Not pending any more: the channel was renewed meanwhile and the message announced again.
        let Some(pending) = self.pending.remove(&(peer, ssn)) else { return };
        let header = Header { kind: Kind::Data, flags: 0, ..pending.header };
        self.enqueue(peer, header, pending.payload, pending.owned, pending.request);
    }

    /// The landing place for a frame that nobody wants.
    pub(super) fn discard(&mut self) -> super::Landing {
        super::Landing { at: UserPtr::own(&self.trash), capacity: 0, token: Token::Discard }
    }
}
