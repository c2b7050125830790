//! Waiting, testing, probing, clocks: where a program learns what it could not know beforehand, and
//! where, in a replay, it is told the same again.

use super::request::{Request, RequestKind};
use super::{Completion, Engine, Envelope, Link, MessageId, ReqId, Source, State, Tag};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::{self, Answer, Pin};
use ftmpi_wire::{Rank, Ssn};

/// A recorded clock stands still for so many seconds.
const RECORDED_TICK: f64 = 1e-6;
/// Recorded values of the clock between two looks around.
const LOOK_AROUND: u32 = 256;

/// What a call that may answer "nothing" is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Look, then report with [`Engine::answered`] or [`Engine::answered_negative`].
    Live,
    /// Answer "nothing", without looking.
    Negative,
    /// Answer this, waiting for it if need be.
    Positive(u64),
}

impl State {
    /// The payload of a send becomes ours, so that the program need not keep it.
    fn take_over(&mut self, id: ReqId) {
        self.send_from_log(id);
        let keep = |logged: bool, payload: &mut UserPtr, owned: &mut Option<Vec<u8>>, len: u64| {
            if !logged && owned.is_none() {
                let mut bytes = Vec::new();
                payload.append_to(len as usize, &mut bytes);
                *payload = UserPtr::own(&bytes);
                *owned = Some(bytes);
            }
        };
        for (&(to, _), waiting) in &mut self.pending {
            if waiting.request == Some(id) {
                let (logged, len) = (self.peers[to.index()].logged, waiting.header.len);
                keep(logged, &mut waiting.payload, &mut waiting.owned, len);
                waiting.request = None;
            }
        }
        for peer in &mut self.peers {
            for out in peer.queue.iter_mut().filter(|out| out.request == Some(id)) {
                let len = out.frame.header.len;
                keep(peer.logged, &mut out.frame.payload, &mut out.owned, len);
                out.request = None;
            }
        }
        self.send_is_out(id);
    }
}

impl<L: Link> Engine<L> {
    /// Is it complete? Looks only.
    #[inline]
    pub fn is_done(&self, id: ReqId) -> bool {
        self.state.requests.get(id.0).done
    }

    /// Ends a request that is complete.
    #[inline]
    pub fn finish(&mut self, id: ReqId) -> Completion {
        debug_assert!(self.is_done(id));
        self.state.requests.remove(id.0).completion
    }

    /// Waits until it is complete, and ends it.
    #[inline]
    pub fn wait(&mut self, id: ReqId) -> Completion {
        let first = match &self.state.requests.get(id.0).kind {
            RequestKind::Recv { .. } if self.state.hooks.memory => Some(self.state.me),
            RequestKind::Recv { from: Source::Rank(rank), .. } => Some(*rank),
            _ => None,
        };
        while !self.is_done(id) {
            self.block_on(first);
        }
        self.finish(id)
    }

    /// `MPI_Request_free`: it goes when it is complete.
    pub fn free_when_done(&mut self, id: ReqId) {
        let request = self.state.requests.get_mut(id.0);
        if request.done {
            self.state.requests.remove(id.0);
        } else {
            request.detached = true;
        }
    }

    /// Are the payloads of messages to this rank in a log?
    #[must_use]
    pub fn logs_to(&self, to: Rank) -> bool {
        self.state.peers[to.index()].logged
    }

    /// Nobody will ask for a send whose payload is in a log: it ends.
    pub fn let_go(&mut self, id: ReqId, to: Rank) {
        debug_assert!(self.logs_to(to));
        self.withdraw(id);
        if self.is_done(id) {
            self.state.requests.remove(id.0);
            return;
        }
        self.state.send_from_log(id);
        for waiting in self.state.pending.values_mut().filter(|one| one.request == Some(id)) {
            waiting.request = None;
        }
        let queue = &mut self.state.peers[to.index()].queue;
        for out in queue.iter_mut().filter(|out| out.request == Some(id)) {
            out.request = None;
        }
        self.state.requests.remove(id.0);
        // What was withdrawn leaves now, not with the program's next call.
        self.work();
    }

    /// Until nobody reads the payload of a send, which may be done then. A peer that is reading it right now ends that,
    /// or its life, without anything of ours.
    fn withdraw(&mut self, id: ReqId) {
        while !self.is_done(id) {
            let leaving = |peer: &super::Peer| {
                peer.queue.front().is_some_and(|out| out.request == Some(id) && out.frame.begun)
            };
            let to = self.state.peers.iter().position(leaving);
            if to.is_none_or(|to| self.link.withdraw(Rank(to as u32))) {
                return;
            }
            self.block();
        }
    }

    /// `MPI_Cancel`: a receive that has not matched ends cancelled. A send does not, but the program waits for its
    /// receiver no longer (MPI-4.1, 3.8.4: the wait for what was to be cancelled is local). A synchronous one goes
    /// on: it would claim a match.
    pub fn cancel(&mut self, id: ReqId) {
        if let RequestKind::Send { unacknowledged, .. } = self.state.requests.get(id.0).kind {
            if !unacknowledged {
                self.withdraw(id);
                if !self.is_done(id) {
                    self.state.take_over(id);
                    self.work();
                }
            }
            return;
        }
        let Some(node) = self.decide_cancel(id) else { return };
        // Before anything else may match it: with this the replay may have come to its end.
        self.state.matcher.unpost(node);
        let request = self.state.requests.get_mut(id.0);
        request.completion.cancelled = true;
        self.state.complete(id);
        if self.state.protocol.replaying() {
            self.state.rematch();
        }
        self.work();
    }

    /// The node of a receive that is to be cancelled; `None` if it is too late.
    fn decide_cancel(&mut self, id: ReqId) -> Option<u32> {
        loop {
            let node = match self.state.requests.get(id.0) {
                Request { kind: RequestKind::Recv { posted, .. }, done: false, .. } => *posted,
                _ => None,
            };
            if !self.state.hooks.outcomes {
                return node;
            }
            self.repeat_services();
            match self.state.protocol.decide() {
                // Also while only matches of named receives are left: this one may have been matched
                // before it was to be cancelled.
                protocol::Decision::Live if self.state.protocol.repeating() => self.block(),
                protocol::Decision::Live => {
                    match node {
                        Some(node) => {
                            let post = self.state.matcher.number_of(node);
                            self.state.protocol.on_answer(Answer::Cancelled(post));
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
                    _ => self.diverged("another receive was cancelled in the first life"),
                },
                protocol::Decision::Positive(other) => {
                    self.diverged(&format!("a receive is cancelled where {other:?} was recorded"))
                }
            }
        }
    }

    /// What a call with a non-deterministic answer is to do.
    ///
    /// Between this and [`Engine::answered`] or [`Engine::answered_negative`] the caller must
    /// neither poll nor block: an image taken there would begin lives that have asked already, and
    /// are never told what was recorded afterwards. So: poll, then decide, then look, then answer;
    /// and after every [`Engine::block`] decide anew. Asking while nothing is recorded changes
    /// nothing.
    #[inline]
    pub fn decide(&mut self) -> Decision {
        if !self.state.hooks.outcomes {
            return Decision::Live;
        }
        match self.recorded() {
            protocol::Decision::Live => Decision::Live,
            protocol::Decision::Negative => {
                self.progress();
                Decision::Negative
            }
            protocol::Decision::Positive(Answer::Value(value)) => Decision::Positive(value),
            protocol::Decision::Positive(other) => {
                self.diverged(&format!("a test or wait is made where {other:?} was recorded"))
            }
        }
    }

    fn recorded(&mut self) -> protocol::Decision {
        loop {
            self.repeat_services();
            let decision = self.state.protocol.decide();
            self.work();
            if decision != protocol::Decision::Live {
                self.link.point("replay-step");
                return decision;
            }
            if !self.state.protocol.replaying() {
                return decision;
            }
            // Outcomes are exhausted, matches are not: those receives are posted already (they
            // matched before this call in the first life), so their messages only have to come.
            // Asked anew afterwards: an image may have been taken at the end of the wait.
            self.block();
        }
    }

    /// After [`Decision::Live`]: the program was told "nothing".
    #[inline]
    pub fn answered_negative(&mut self) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_negative();
        }
    }

    /// After [`Decision::Live`]: the program was told this.
    #[inline]
    pub fn answered(&mut self, value: u64) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_answer(Answer::Value(value));
        }
    }

    /// One look for a call that polls (`MPI_Test…`); gives way when the program spins.
    pub fn poll_once(&mut self) {
        let came = self.progress();
        self.polled(came);
    }

    pub(super) fn diverged(&mut self, what: &str) -> ! {
        let me = self.state.me;
        self.link.give_up(format!(
            "rank {me}: its replay took another course than its first life ({what}); the program \
             depends on something that MPI does not see (time of day, random device, threads)"
        ))
    }

    fn look(&self, from: Source, context: u16, tag: Tag) -> Option<(Envelope, MessageId)> {
        let id = self.state.matcher.find(context, from, tag, Pin::Free)?;
        Some((self.state.matcher.message(id).envelope(), id))
    }

    fn look_for(&mut self, source: Rank, ssn: Ssn) -> (Envelope, MessageId) {
        loop {
            if let Some(id) = self.state.matcher.find_identity(source, ssn) {
                return (self.state.matcher.message(id).envelope(), id);
            }
            self.block_on(Some(source));
        }
    }

    fn probe_now(&mut self, from: Source, context: u16, tag: Tag) -> Option<(Envelope, MessageId)> {
        if self.look(from, context, tag).is_none() {
            self.poll_once();
        }
        if self.state.hooks.outcomes {
            match self.recorded() {
                protocol::Decision::Live => {}
                protocol::Decision::Negative => return None,
                protocol::Decision::Positive(Answer::Probed(source, ssn)) => {
                    return Some(self.look_for(source, ssn));
                }
                protocol::Decision::Positive(other) => {
                    self.diverged(&format!("a probe is made where {other:?} was recorded"))
                }
            }
        }
        let seen = self.look(from, context, tag);
        match seen {
            Some((envelope, _)) => self.answered_probe(envelope),
            None => self.answered_negative(),
        }
        seen
    }

    fn answered_probe(&mut self, envelope: Envelope) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_answer(Answer::Probed(envelope.source, envelope.ssn));
        }
    }

    fn probe_wait(&mut self, from: Source, context: u16, tag: Tag) -> (Envelope, MessageId) {
        let wild = from == Source::Any && self.state.hooks.outcomes;
        let first = match from {
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        loop {
            // Asked anew after every wait: this may be a later life, restored from an image that
            // was taken during the wait.
            if wild {
                match self.recorded() {
                    protocol::Decision::Live => {}
                    protocol::Decision::Positive(Answer::Probed(source, ssn)) => {
                        return self.look_for(source, ssn);
                    }
                    other => self.diverged(&format!("a probe waits where {other:?} was recorded")),
                }
            }
            if let Some(seen) = self.look(from, context, tag) {
                if wild {
                    self.answered_probe(seen.0);
                }
                return seen;
            }
            self.block_on(first);
        }
    }

    /// `MPI_Iprobe`
    pub fn iprobe(&mut self, from: Source, context: u16, tag: Tag) -> Option<Envelope> {
        self.probe_now(from, context, tag).map(|(envelope, _)| envelope)
    }

    /// `MPI_Probe`
    pub fn probe(&mut self, from: Source, context: u16, tag: Tag) -> Envelope {
        self.probe_wait(from, context, tag).0
    }

    /// `MPI_Improbe`: the message is out of matching then.
    pub fn improbe(
        &mut self,
        from: Source,
        context: u16,
        tag: Tag,
    ) -> Option<(Envelope, MessageId)> {
        let seen = self.probe_now(from, context, tag)?;
        self.state.matcher.unlink(seen.1);
        Some(seen)
    }

    /// `MPI_Mprobe`: the message is out of matching then.
    pub fn mprobe(&mut self, from: Source, context: u16, tag: Tag) -> (Envelope, MessageId) {
        let seen = self.probe_wait(from, context, tag);
        self.state.matcher.unlink(seen.1);
        seen
    }

    /// `MPI_Wtime`: never runs backwards, also over a restart; the recorded value in a replay.
    pub fn wtime(&mut self) -> f64 {
        let value = if self.state.hooks.clock {
            match self.recorded() {
                protocol::Decision::Positive(Answer::Clock(bits)) => f64::from_bits(bits),
                protocol::Decision::Negative => self.state.last_clock,
                protocol::Decision::Live => self.read_clock(),
                other => self.diverged(&format!("the clock is read where {other:?} was recorded")),
            }
        } else {
            self.now()
        };
        self.state.last_clock = value;
        value
    }

    /// Seconds between two values of `MPI_Wtime` that differ.
    #[must_use]
    pub fn clock_tick(&self) -> f64 {
        if self.state.hooks.clock { RECORDED_TICK } else { 1e-9 }
    }

    /// A value that is recorded. A program that waits looks at the clock millions of times a second: within a tick it
    /// stands still, which is counted as a fruitless test is and makes no event; and now and then there is a look
    /// around, for such a program may call nothing else, while the logger's answers and other ranks wait.
    fn read_clock(&mut self) -> f64 {
        let value = self.now();
        if self.state.hooks.outcomes && value - self.state.last_clock < RECORDED_TICK {
            self.state.protocol.on_negative();
            return self.state.last_clock;
        }
        self.state.protocol.on_answer(Answer::Clock(value.to_bits()));
        self.clock_reads = self.clock_reads.wrapping_add(1);
        if self.clock_reads.is_multiple_of(LOOK_AROUND) {
            // (What it says must not depend on what comes meanwhile.)
            self.state.last_clock = value;
            self.poll_once();
        }
        value
    }

    /// The clock, moved on if it is behind what the program has seen (another host's clock, or a
    /// job that was continued): it must go on, not stand still.
    fn now(&mut self) -> f64 {
        let state = &mut self.state;
        let now = self.link.clock() + state.clock_ahead;
        if now < state.last_clock {
            state.clock_ahead += state.last_clock - now;
            return state.last_clock;
        }
        now
    }
}
