//! Deliberate bugs, to test the checker: each must be caught by some seed.

use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_protocols::protocol::{Answer, Command, Decision, Hooks, Pin, Protocol, SendVerdict};
use ftmpi_wire::{Determinant, EventNo, Rank, Ssn};

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A message leaves before its sender's determinants are stable.
    SendNotGated,
    /// Matches are not recorded.
    DeterminantNotMade,
    /// Negative answers are not counted.
    FailsLost,
    /// A replay matches in the order of arrival.
    ReplayInArrivalOrder,
    /// Receives whose match is not recorded are not held back.
    NothingHeld,
    /// Payloads are not logged.
    PayloadNotLogged,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::SendNotGated,
        Self::DeterminantNotMade,
        Self::FailsLost,
        Self::ReplayInArrivalOrder,
        Self::NothingHeld,
        Self::PayloadNotLogged,
    ];
}

/// The protocol under test, with a bug if one is wanted.
#[must_use]
pub fn protocol(all_events: bool, mutant: Option<Mutant>) -> Box<dyn Protocol> {
    let inner = Pessimistic::new(all_events, true);
    match mutant {
        None => Box::new(inner),
        Some(mutant) => Box::new(Mutated { inner, mutant }),
    }
}

struct Mutated {
    inner: Pessimistic,
    mutant: Mutant,
}

impl Protocol for Mutated {
    fn hooks(&self) -> Hooks {
        let mut hooks = self.inner.hooks();
        hooks.log_payload &= self.mutant != Mutant::PayloadNotLogged;
        hooks
    }
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        let verdict = self.inner.on_send(to, ssn);
        if self.mutant == Mutant::SendNotGated { SendVerdict::Go } else { verdict }
    }
    fn pin(&mut self, post: u64) -> Pin {
        match (self.inner.pin(post), self.mutant) {
            (_, Mutant::ReplayInArrivalOrder) => Pin::Free,
            (Pin::Held, Mutant::NothingHeld) => Pin::Free,
            (pin, _) => pin,
        }
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        if self.mutant != Mutant::DeterminantNotMade {
            self.inner.on_match(post, source, ssn);
        }
    }
    fn decide(&mut self) -> Decision {
        self.inner.decide()
    }
    fn on_negative(&mut self) {
        if self.mutant != Mutant::FailsLost {
            self.inner.on_negative();
        }
    }
    fn on_answer(&mut self, answer: Answer) {
        self.inner.on_answer(answer);
    }
    fn replaying(&self) -> bool {
        self.inner.replaying()
    }
    fn repeating(&self) -> bool {
        self.inner.repeating()
    }
    fn gate(&self) -> EventNo {
        self.inner.gate()
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
        self.inner.settle();
    }
    fn on_logger_back(&mut self) {
        self.inner.on_logger_back();
    }
    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.inner.on_restart(last, recorded);
    }
    fn on_oldest_image(&mut self, events: EventNo) {
        self.inner.on_oldest_image(events);
    }
    fn determinants(&self) -> u64 {
        self.inner.determinants()
    }
    fn next_command(&mut self) -> Option<Command> {
        self.inner.next_command()
    }
}
