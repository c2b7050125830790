//! Deliberate bugs, to test the checker: each must be caught by some seed.

use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_protocols::protocol::{
    Answer, Command, Decision, Hooks, NAMED, Pin, Protocol, SendVerdict,
};
use ftmpi_wire::{Determinant, EventNo, Rank, Ssn};
use std::collections::BTreeMap;

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutant {
    /// A message leaves before its sender's determinants are stable.
    SendNotGated,
    /// The acknowledgement of a synchronous send leaves before the match that it reveals is stable.
    SyncAckNotGated,
    /// Matches are not recorded.
    DeterminantNotMade,
    /// Some determinants are not sent to the logger.
    DeterminantNotSent,
    /// Negative answers are not counted.
    FailsLost,
    /// Outcomes are not recorded.
    OutcomeNotMade,
    /// A replay matches in the order of arrival.
    ReplayInArrivalOrder,
    /// Receives whose match is not recorded are not held back.
    NothingHeld,
    /// A receive that was cancelled matches in a replay.
    CancelledMatches,
    /// An image is taken in the middle of a replay.
    ImageDuringReplay,
    /// An image is taken before the events in it are stable.
    ImageBeforeStable,
    /// What a logger that died did not acknowledge is not sent again.
    LoggerLossForgotten,
    /// The logger acknowledges before it writes.
    AcknowledgedBeforeWritten,
    /// The logger calls durable what is not even written.
    AcknowledgedBeforeDurable,
    /// Payloads are not logged.
    PayloadNotLogged,
    /// Peers are told to forget one message too many.
    LogCutTooEarly,
    /// A message that came twice is taken twice.
    DuplicateAccepted,
    /// The restart handshake claims one message too many.
    WrongMessageDropped,
    /// The restart handshake does not tell the holes.
    HoleForgotten,
    /// Frames of an earlier life of their sender are taken.
    IncarnationNotChecked,
    /// A rank leaves when its program is over, though peers may need its log.
    LeavesEarly,
}

impl Mutant {
    /// All of them.
    #[must_use]
    pub fn all() -> &'static [Self] {
        <Self as clap::ValueEnum>::value_variants()
    }
}

/// The protocol under test, with a bug if one is wanted.
#[must_use]
pub fn protocol(all_events: bool, mutant: Option<Mutant>) -> Box<dyn Protocol> {
    let inner = Pessimistic::new(all_events, true);
    match mutant {
        None => Box::new(inner),
        Some(mutant) => {
            Box::new(Mutated { inner, mutant, matched: None, sent: BTreeMap::new(), logged: 0 })
        }
    }
}

struct Mutated {
    inner: Pessimistic,
    mutant: Mutant,
    /// The last match, if nothing happened since.
    matched: Option<(Rank, Ssn)>,
    /// The greatest number of a message to each rank.
    sent: BTreeMap<Rank, Ssn>,
    /// Batches for the logger so far.
    logged: u64,
}

impl Protocol for Mutated {
    fn hooks(&self) -> Hooks {
        let mut hooks = self.inner.hooks();
        hooks.log_payload &= self.mutant != Mutant::PayloadNotLogged;
        hooks
    }
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        let verdict = self.inner.on_send(to, ssn);
        // What leaves right after a match, to its sender and with its number, acknowledges it, if
        // the number is not the next one of a message.
        let sent = self.sent.entry(to).or_insert(Ssn(0));
        let acknowledges = self.matched.take() == Some((to, ssn)) && ssn <= *sent;
        *sent = ssn.max(*sent);
        match self.mutant {
            Mutant::SendNotGated => SendVerdict::Go,
            Mutant::SyncAckNotGated if acknowledges => SendVerdict::Go,
            _ => verdict,
        }
    }
    fn pin(&mut self, post: u64) -> Pin {
        match (self.inner.pin(post), self.mutant) {
            (_, Mutant::ReplayInArrivalOrder) => Pin::Free,
            (Pin::Held, Mutant::NothingHeld) => Pin::Free,
            (Pin::Held, Mutant::CancelledMatches) if post & NAMED != 0 => Pin::Free,
            (pin, _) => pin,
        }
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.matched = Some((source, ssn));
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
        if self.mutant != Mutant::OutcomeNotMade {
            self.inner.on_answer(answer);
        }
    }
    fn replaying(&self) -> bool {
        self.inner.replaying()
    }
    fn repeating(&self) -> bool {
        self.mutant != Mutant::ImageDuringReplay && self.inner.repeating()
    }
    fn gate(&self) -> EventNo {
        self.inner.gate()
    }
    fn last_event(&self) -> EventNo {
        let last = self.inner.last_event();
        if self.mutant == Mutant::ImageBeforeStable { last.min(self.inner.stable()) } else { last }
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
        if self.mutant != Mutant::LoggerLossForgotten {
            self.inner.on_logger_back();
        }
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
        let command = self.inner.next_command();
        if self.mutant == Mutant::DeterminantNotSent
            && let Some(Command::Log { .. }) = command
        {
            self.logged += 1;
            if self.logged.is_multiple_of(8) {
                return self.next_command();
            }
        }
        command
    }
}
