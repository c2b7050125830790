//! A protocol under the eyes of the judge ([`crate::world`], `orphans`): it is told what the protocol
//! records, accepts and repeats, and tells the protocol nothing.

use crate::world::with;
use ftmpi_protocols::optimistic::Optimistic;
use ftmpi_protocols::protocol::{
    Answer, ArrivalVerdict, Command, Counts, Decision, Hooks, Pin, Protocol, SendVerdict, Service,
};
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank, Ssn};

/// The protocol of one rank.
pub struct Watched {
    inner: Optimistic,
    me: usize,
}

impl Watched {
    /// Rank `me`'s.
    #[must_use]
    pub fn new(inner: Optimistic, me: Rank) -> Self {
        Self { inner, me: me.index() }
    }

    fn recording<T>(&mut self, step: impl FnOnce(&mut Optimistic) -> T) -> T {
        let before = self.inner.interval();
        let result = step(&mut self.inner);
        let after = self.inner.interval();
        if let (true, Some(made)) = (after != before, after) {
            with(|world| world.made(self.me, made));
        }
        result
    }
}

impl Protocol for Watched {
    fn hooks(&self) -> Hooks {
        self.inner.hooks()
    }
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        self.recording(|inner| inner.on_send(to, ssn))
    }
    fn has_piggyback(&self, to: Rank) -> bool {
        self.inner.has_piggyback(to)
    }
    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.inner.piggyback(to, out);
    }
    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        self.inner.on_piggyback(from, piggyback);
        if !self.inner.refuses(from) {
            with(|world| world.accepted(self.me));
        }
    }
    fn on_arrival(&mut self, from: Rank, ssn: Ssn) -> ArrivalVerdict {
        let verdict = self.inner.on_arrival(from, ssn);
        if verdict == ArrivalVerdict::Accept {
            with(|world| world.accepted(self.me));
        }
        verdict
    }
    fn refuses(&self, from: Rank) -> bool {
        self.inner.refuses(from)
    }
    fn pin(&mut self, post: u64) -> Pin {
        self.inner.pin(post)
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.recording(|inner| inner.on_match(post, source, ssn));
    }
    fn decide(&mut self) -> Decision {
        Protocol::decide(&mut self.inner)
    }
    fn on_negative(&mut self) {
        self.recording(Protocol::on_negative);
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
    fn replaying(&self) -> bool {
        self.inner.replaying()
    }
    fn repeating(&self) -> bool {
        self.inner.repeating()
    }
    fn last_event(&self) -> EventNo {
        self.inner.last_event()
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
        self.recording(Protocol::settle);
    }
    fn on_logger_back(&mut self) {
        self.inner.on_logger_back();
    }
    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        self.inner.on_stable_clocks(clocks);
    }
    fn on_new_life(&mut self, last: EventNo, lives: &[Incarnation]) {
        self.inner.on_new_life(last, lives);
    }
    fn recorded(&self) -> u64 {
        self.inner.recorded()
    }
    fn gathering(&self) -> bool {
        self.inner.gathering()
    }
    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        with(|world| world.log_was_told(self.me, last, recorded.clone()));
        self.inner.on_restart(last, recorded);
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
    fn on_oldest_image(&mut self, events: EventNo) {
        self.inner.on_oldest_image(events);
    }
    fn counts(&self) -> Counts {
        self.inner.counts()
    }
    fn determinants(&self) -> u64 {
        self.inner.determinants()
    }
    fn next_command(&mut self) -> Option<Command> {
        let command = self.inner.next_command();
        if let Some(Command::Log { records, .. }) = &command {
            for record in records {
                if let Determinant::Begins { life, after } = *record {
                    with(|world| {
                        if life == world.incarnation(self.me) {
                            world.begins_after(self.me, after);
                        }
                    });
                }
            }
        }
        command
    }
}
