//! What leaves for a peer, in order: greeting, `Resume`, piggyback and message, the engine's
//! frames.
//!
//! Guarantees: a frame leaves only after its sender's events that it depends on are stable. A
//! piggyback leaves immediately before its message. While a wave holds sends, only markers and what
//! has begun leave.

use super::link::{Frame, Link, Push};
use super::state::State;
use super::state::channels::ChannelPhase;
use super::state::out::Out;
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_wire::header::Kind;
use ftmpi_wire::{EventNo, Header, Rank, Ssn};

/// What may become of the frame at the front of a queue.
enum Front {
    /// It may leave.
    Free,
    /// It waits for something other than the link.
    Waits,
    /// There is none.
    Nothing,
}

impl State {
    /// Whether this frame reveals to its receiver that a message was matched. The answer to an
    /// announcement does where the sender has no log from which it could claim that the message is
    /// out.
    pub(super) fn reveals_match(&self, to: Rank, kind: Kind) -> bool {
        kind == Kind::SyncAck || (kind == Kind::ClearToSend && !self.channels.peer(to).logged)
    }

    /// Pushes what may leave to this peer; `true` if nothing is left that waits for the link.
    pub(super) fn pump<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        if !self.push_resume(link, to) {
            return false;
        }
        let stable = self.protocol.stable();
        loop {
            match self.judge_front(link, to, stable) {
                Front::Free => {}
                Front::Waits => return false,
                Front::Nothing => return true,
            }
            if !self.push_front(link, to) {
                return false;
            }
        }
    }

    /// Pushes the frames with which a new channel begins; `true` if none is left.
    fn push_resume<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        // Nobody is to send before the log was read: the protocol cannot judge yet what comes.
        let silent = self.hooks.arrivals && self.recovery.reads_event_log();
        let peer = self.channels.peer_mut(to);
        let Some(resume) = &mut peer.resume else { return true };
        if !peer.phase.is_there() || silent {
            return false;
        }
        if let Some(greeting) = peer.wave.greeting_mut() {
            if link.push(to, &mut greeting.frame) == Push::Full {
                return false;
            }
            peer.wave.set_greeting(None);
        }
        if link.push(to, &mut resume.frame) == Push::Full {
            return false;
        }
        peer.resume = None;
        if peer.phase == ChannelPhase::Answered {
            peer.phase = ChannelPhase::Ready;
        }
        true
    }

    /// Judges whether the frame at the front of the queue may leave, where own events up to
    /// `stable` are stable.
    fn judge_front<L: Link>(&mut self, link: &mut L, to: Rank, stable: EventNo) -> Front {
        let peer = self.channels.peer_mut(to);
        let piggyback = peer.piggyback.has_begun();
        let Some(out) = peer.queue.front_mut() else { return Front::Nothing };
        // A marker goes ahead of the peer's `Resume`. That may be behind the peer's own marker,
        // which is held here until our image is taken. Our image may wait for the peer's, if they
        // share memory.
        let fresh_marker = peer.phase == ChannelPhase::Fresh && out.marker.is_some();
        if !peer.phase.is_ready() && !fresh_marker {
            return Front::Waits;
        }
        // Where its piggyback has begun to leave, so has the message.
        let begun = out.frame.begun || piggyback;
        if out.after > stable && !begun {
            if out.gated_at.is_none() {
                out.gated_at = Some(link.clock());
                self.counters.gate_waits += 1;
            }
            return Front::Waits;
        }
        if self.waves.are_closed() && peer.cluster_peer && !begun && out.marker.is_none() {
            return Front::Waits;
        }
        if let Some(mut marker) = out.marker.filter(|_| !out.frame.begun) {
            marker.count = peer.wave.sent();
            if let Some(owned) = &mut out.owned {
                owned.copy_from_slice(&marker.encode());
            }
        }
        Front::Free
    }

    /// Pushes the frame at the front of the queue, which may leave; `true` if it has left.
    fn push_front<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        let Some(out) = self.channels.peer(to).queue.front() else { return true };
        // What reveals a match goes behind all that the peer must know of it.
        let (begun, message, kind) = (out.frame.begun, out.message, out.frame.header.kind);
        if self.hooks.piggyback
            && !begun
            && (message || self.reveals_match(to, kind))
            && !self.push_piggyback(link, to)
        {
            return false;
        }
        let peer = self.channels.peer_mut(to);
        let Some(out) = peer.queue.front_mut() else { return true };
        if let Some(since) = out.gated_at.take() {
            let waited_ns = ((link.clock() - since).max(0.0) * 1e9) as u64;
            self.counters.gate_wait_ns += waited_ns;
            link.gate_waited(to, waited_ns);
        }
        if link.push(to, &mut out.frame) == Push::Full {
            return false;
        }
        peer.piggyback.message_left();
        let Some(out) = peer.queue.pop_front() else { return true };
        self.channels.frame_left();
        self.has_left(to, &out);
        if let Some(request) = out.request {
            self.send_is_out(request);
        }
        true
    }

    /// Pushes what the protocol puts before the next message to this peer; `true` if it is out.
    fn push_piggyback<L: Link>(&mut self, link: &mut L, to: Rank) -> bool {
        let most = self.channels.piggyback_part();
        let piggyback = &mut self.channels.peer_mut(to).piggyback;
        if piggyback.is_out() {
            return true;
        }
        if !piggyback.is_under_way() {
            piggyback.bytes.clear();
            if !self.protocol.has_piggyback(to) {
                return true;
            }
            let begin = L::now_ns();
            self.protocol.piggyback(to, &mut piggyback.bytes);
            self.counters.piggyback_build_ns += L::now_ns().saturating_sub(begin);
            if piggyback.bytes.is_empty() {
                return true;
            }
            self.counters.piggyback_messages += 1;
            piggyback.begin(most);
        }
        piggyback.push_parts(most, |frame| link.push(to, frame) == Push::Done)
    }

    /// A frame has left whole.
    #[inline]
    fn has_left(&mut self, to: Rank, out: &Out) {
        if self.waves.are_counted()
            && self.channels.peer(to).cluster_peer
            && matches!(out.frame.header.kind, Kind::Eager | Kind::Data)
        {
            self.channels.peer_mut(to).wave.message_left();
            if self.waves.are_keeping() {
                self.keep_copy(to, out);
            }
        }
    }

    #[cold]
    fn keep_copy(&mut self, to: Rank, out: &Out) {
        let Header { flags, context, tag, len, ssn, .. } = out.frame.header;
        let memory = self.logs.memory_mut();
        let block = memory.take(len as usize);
        out.frame.payload.read(memory.bytes_mut(block));
        self.channels.peer_mut(to).log.keep(ssn, context, tag, flags, block);
    }

    /// "Send it": the rendezvous goes on.
    pub(super) fn clear_to_send(&mut self, peer: Rank, ssn: Ssn) {
        // `None`: the channel was renewed meanwhile and the message announced again.
        let Some(announced) = self.rendezvous.take(peer, ssn) else { return };
        let header = Header { kind: Kind::Data, flags: 0, ..announced.header };
        let frame = Frame::new(header, announced.payload);
        self.enqueue(peer, Out::message(frame, announced.owned, announced.request));
    }

    /// A synchronous send was matched.
    pub(super) fn acknowledged(&mut self, by: Rank, ssn: Ssn) {
        match self.rendezvous.acknowledged(by, ssn) {
            Some(id) => self.requests.send_matched(id),
            None if self.hooks.memory => self.keep_early(by, ssn),
            None => {}
        }
    }

    /// What has not left of this send leaves from the log, which has all of it.
    pub(super) fn send_from_log(&mut self, request: ReqId) {
        self.logs.finish_late_of(request);
        let memory = self.logs.memory();
        for (to, announced) in self.rendezvous.of_request(request) {
            if announced.owned.is_none()
                && let Some(entry) = self.channels.peer(to).log.get(announced.header.ssn)
            {
                announced.payload = UserPtr::own(memory.bytes(entry.payload));
            }
        }
        for peer in self.channels.iter_mut() {
            let outs = peer.queue.iter_mut().filter(|out| out.request == Some(request));
            for out in outs.filter(|out| out.owned.is_none()) {
                if let Some(entry) = peer.log.get(out.frame.header.ssn) {
                    out.frame.payload = UserPtr::own(memory.bytes(entry.payload));
                }
            }
        }
    }

    /// The payload of a send becomes the engine's, so that the program need not keep it.
    pub(super) fn take_over(&mut self, id: ReqId) {
        self.send_from_log(id);
        let keep = |logged: bool, payload: &mut UserPtr, owned: &mut Option<Vec<u8>>, len: u64| {
            if !logged && owned.is_none() {
                let mut bytes = Vec::new();
                payload.append_to(len as usize, &mut bytes);
                *payload = UserPtr::own(&bytes);
                *owned = Some(bytes);
            }
        };
        for (to, announced) in self.rendezvous.of_request(id) {
            let (logged, len) = (self.channels.peer(to).logged, announced.header.len);
            keep(logged, &mut announced.payload, &mut announced.owned, len);
            announced.request = None;
        }
        for peer in self.channels.iter_mut() {
            for out in peer.queue.iter_mut().filter(|out| out.request == Some(id)) {
                let len = out.frame.header.len;
                keep(peer.logged, &mut out.frame.payload, &mut out.owned, len);
                out.request = None;
            }
        }
        self.send_is_out(id);
    }
}
