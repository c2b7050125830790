//! A protocol that the [`invariants`](crate::invariants) observe: they hear what it records,
//! accepts and repeats, and tell it nothing.

use crate::invariants::dependencies::Frame;
use crate::invariants::replay_repeats::ReplayRepeats;
use crate::world::with;
use ftmpi_protocols::optimistic::Optimistic;
use ftmpi_protocols::optimistic::history::Interval;
use ftmpi_protocols::protocol::*;
use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};
use std::ops::{Deref, DerefMut};

/// The protocol of one rank.
pub struct Observed {
    inner: Inner,
    me: usize,
    repeats: ReplayRepeats,
}

enum Inner {
    /// What depends on what is asked of it, too.
    Optimistic(Box<Optimistic>),
    Other(Box<dyn Protocol>),
}

impl Deref for Inner {
    type Target = dyn Protocol;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Optimistic(protocol) => &**protocol,
            Self::Other(protocol) => &**protocol,
        }
    }
}

impl DerefMut for Inner {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Optimistic(protocol) => &mut **protocol,
            Self::Other(protocol) => &mut **protocol,
        }
    }
}

impl Observed {
    /// Rank `me`'s.
    #[must_use]
    pub fn new(inner: Box<dyn Protocol>, me: Rank) -> Self {
        let repeats = ReplayRepeats::default();
        Self { inner: Inner::Other(inner), me: me.index(), repeats }
    }

    /// The same of optimistic logging.
    #[must_use]
    pub fn optimistic(inner: Optimistic, me: Rank) -> Self {
        let repeats = ReplayRepeats::default();
        Self { inner: Inner::Optimistic(Box::new(inner)), me: me.index(), repeats }
    }

    fn interval(&self) -> Option<Interval> {
        match &self.inner {
            Inner::Optimistic(protocol) => protocol.interval(),
            Inner::Other(_) => None,
        }
    }

    fn is_optimistic(&self) -> bool {
        matches!(self.inner, Inner::Optimistic(_))
    }

    fn recording<T>(&mut self, step: impl FnOnce(&mut dyn Protocol) -> T) -> T {
        let before = self.interval();
        let result = step(&mut *self.inner);
        let after = self.interval();
        if let (true, Some(made)) = (after != before, after) {
            with(|world| world.made(self.me, made));
        }
        result
    }
}

impl Protocol for Observed {
    fn logs_payload(&self, peer: Rank) -> bool {
        self.inner.logs_payload(peer)
    }
    fn shares_waves(&self, peer: Rank) -> bool {
        self.inner.shares_waves(peer)
    }
    fn hooks(&self) -> Hooks {
        self.inner.hooks()
    }
    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.inner.on_new_incarnation(last, incarnations);
    }
    fn on_newcomers(&mut self, count: usize) {
        self.inner.on_newcomers(count);
    }
    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.inner.on_peer_restart(peer, incarnation);
    }
    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        self.inner.resume(peer, out);
    }
    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        self.inner.on_joined(peer, said);
    }
    fn on_parted(&mut self, peer: Rank) {
        self.inner.on_parted(peer);
    }
    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.inner.on_frame(from, payload);
    }
    fn counts(&self) -> Counts {
        self.inner.counts()
    }
    fn next_command(&mut self) -> Option<Command> {
        let command = self.inner.next_command();
        if let Some(Command::Log { records, .. }) = &command {
            for record in records {
                if let Determinant::Begins { incarnation, after } = *record {
                    with(|world| {
                        if incarnation == world.incarnation(self.me) {
                            world.begins_after(self.me, after);
                        }
                    });
                }
            }
        }
        command
    }
}

impl Logging for Observed {
    fn gate(&self) -> EventNo {
        self.inner.gate()
    }
    fn is_awaited(&self) -> bool {
        self.inner.is_awaited()
    }
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        let verdict = self.recording(|inner| inner.on_send(to, ssn));
        let last = self.inner.last_event();
        with(|world| world.asks_to_send(self.me, to, ssn, last));
        verdict
    }
    fn last_event(&self) -> EventNo {
        let last = self.inner.last_event();
        with(|world| world.says_last_event(self.me, last));
        last
    }
    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.inner.on_stable(written, durable);
    }
    fn stable(&self) -> EventNo {
        self.inner.stable()
    }
    fn flush(&mut self) {
        self.inner.flush();
    }
    fn settle(&mut self) {
        self.recording(|inner| inner.settle());
    }
    fn commit(&mut self) {
        self.recording(|inner| inner.commit());
    }
    fn on_logger_back(&mut self) {
        self.inner.on_logger_back();
    }
    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        self.inner.on_stable_clocks(clocks);
    }
    fn gathering(&self) -> bool {
        self.inner.gathering()
    }
    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        if self.is_optimistic() {
            with(|world| world.log_was_received(self.me, last, recorded.clone()));
        } else {
            // (Under optimistic logging what depends on something lost is not repeated.)
            self.repeats.receives_log(&recorded);
        }
        self.inner.on_restart(last, recorded);
    }
    fn on_oldest_image(&mut self, events: EventNo) {
        self.inner.on_oldest_image(events);
    }
    fn determinants(&self) -> u64 {
        self.inner.determinants()
    }
}

impl Determinants for Observed {
    fn pin(&mut self, post: u64) -> Pin {
        self.inner.pin(post)
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.repeats.takes(self.me, post, source, ssn);
        let before = self.inner.last_event();
        self.recording(|inner| inner.on_match(post, source, ssn));
        let event = self.inner.last_event();
        if event > before {
            with(|world| world.records_match(self.me, source, ssn, event));
        }
    }
    fn decide(&mut self) -> Decision {
        self.inner.decide()
    }
    fn on_negative(&mut self) {
        self.recording(|inner| inner.on_negative());
    }
    fn on_answer(&mut self, answer: Answer) {
        self.recording(|inner| inner.on_answer(answer));
    }
    fn next_service(&self) -> Service {
        self.inner.next_service()
    }
    fn service_repeated(&mut self) {
        self.inner.service_repeated();
    }
    fn orders_threads(&self) -> bool {
        self.inner.orders_threads()
    }
    fn next_turn(&self) -> NextTurn {
        self.inner.next_turn()
    }
    fn on_step(&mut self, step: u64) {
        self.inner.on_step(step);
    }
    fn replaying(&self) -> bool {
        self.inner.replaying()
    }
    fn repeating(&self) -> bool {
        self.inner.repeating()
    }
    fn recorded(&self) -> u64 {
        self.inner.recorded()
    }
}

impl Piggybacking for Observed {
    fn has_piggyback(&self, to: Rank) -> bool {
        self.inner.has_piggyback(to)
    }
    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.inner.piggyback(to, out);
        if self.is_optimistic() {
            with(|world| world.tells(self.me, to));
        }
    }
    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        self.inner.on_piggyback(from, piggyback);
        if self.is_optimistic() && !self.inner.refuses(from) {
            with(|world| world.accepted(self.me, from, Frame::Piggyback));
        }
    }
    fn on_arrival(&mut self, from: Rank, ssn: Ssn) -> ArrivalVerdict {
        let verdict = self.inner.on_arrival(from, ssn);
        if self.is_optimistic() && verdict == ArrivalVerdict::Accept {
            with(|world| world.accepted(self.me, from, Frame::Numbered(ssn)));
        }
        verdict
    }
    fn refuses(&self, from: Rank) -> bool {
        self.inner.refuses(from)
    }
}

impl Waves for Observed {
    fn on_image_due(&mut self, image: ImageNo) {
        self.inner.on_image_due(image);
    }
    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        self.inner.image_ready(image, peers)
    }
    fn stands_still(&self) -> bool {
        self.inner.stands_still()
    }
    fn on_image_over(&mut self, image: ImageNo) {
        self.inner.on_image_over(image);
    }
    fn on_return(&mut self, image: ImageNo) {
        self.inner.on_return(image);
    }
    fn greeting(&self) -> Option<Marker> {
        self.inner.greeting()
    }
}
