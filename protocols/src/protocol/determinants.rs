//! Non-deterministic events: which calls become determinants, and how a new incarnation repeats
//! them.

use super::Command;
use crate::answers::{Answer, Decision, NextTurn, Pin, Service};
use crate::recorder::Recorder;
use ftmpi_wire::{Determinant, Rank, Ssn};

/// How events become determinants and are repeated. Implement [`Records`] to get all of it.
pub trait Determinants {
    /// Receive number `post` is being posted: may it match freely? Wildcard receives have numbers
    /// of their own. The numbers of other receives carry the bit [`NAMED`]; the engine asks about
    /// them because they may have been cancelled.
    fn pin(&mut self, _post: u64) -> Pin {
        Pin::Free
    }

    /// Receive number `post` took this message; `post` is 0 for a receive from a named source.
    fn on_match(&mut self, _post: u64, _source: Rank, _ssn: Ssn) {}

    /// A call with a non-deterministic answer begins.
    fn decide(&mut self) -> Decision {
        Decision::Live
    }

    /// After [`Decision::Live`]: the call answered "nothing".
    fn on_negative(&mut self) {}

    /// After [`Decision::Live`]: the call answered this.
    fn on_answer(&mut self, _answer: Answer) {}

    /// Which one-sided request may be served next?
    fn next_service(&self) -> Service {
        Service::Free
    }

    /// The service that [`Service::Recorded`] named was repeated.
    fn service_repeated(&mut self) {}

    /// Whether this protocol records and repeats the order in which threads of a rank go on.
    fn orders_threads(&self) -> bool {
        false
    }

    /// Which thread of the rank goes on next?
    fn next_turn(&self) -> NextTurn {
        NextTurn::Free
    }

    /// A step has begun, the `step`-th of all threads.
    fn on_step(&mut self, _step: u64) {}

    /// Recorded events are left that the program must be told.
    fn replaying(&self) -> bool {
        false
    }

    /// Recorded events are left, also such as the program need not be told. No image may be taken:
    /// the number of the last event would be ahead of the state.
    fn repeating(&self) -> bool {
        self.replaying()
    }

    /// How many determinants this incarnation has to repeat.
    fn recorded(&self) -> u64 {
        0
    }
}

/// A protocol that keeps a [`Recorder`]. [`Determinants`] follows from these four methods.
pub trait Records {
    /// The recorder.
    fn recorder(&self) -> &Recorder;

    /// The recorder, to be changed.
    fn recorder_mut(&mut self) -> &mut Recorder;

    /// Takes over a new determinant of this rank.
    fn record(&mut self, determinant: Determinant);

    /// Adds a command behind those that wait.
    fn order(&mut self, command: Command);

    /// Negative answers that were only counted so far become a determinant, before something
    /// leaves.
    #[inline]
    fn record_fails(&mut self) {
        if let Some(failed) = self.recorder_mut().settle() {
            self.record(failed);
        }
    }

    /// Frees held receives once the replay has come to its end.
    #[inline]
    fn after_replay_step(&mut self) {
        if self.recorder_mut().ended() {
            self.order(Command::FreeHeld);
        }
    }
}

impl<P: Records> Determinants for P {
    fn pin(&mut self, post: u64) -> Pin {
        self.recorder().pin(post)
    }

    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        match self.recorder_mut().matched(post, source, ssn) {
            Some(determinant) => self.record(determinant),
            None => self.after_replay_step(),
        }
    }

    fn decide(&mut self) -> Decision {
        let decision = self.recorder_mut().decide();
        self.after_replay_step();
        decision
    }

    fn on_negative(&mut self) {
        if let Some(failed) = self.recorder_mut().negative() {
            self.record(failed);
        }
    }

    fn on_answer(&mut self, answer: Answer) {
        let determinant = self.recorder_mut().answered(answer);
        self.record(determinant);
    }

    fn next_service(&self) -> Service {
        self.recorder().next_service()
    }

    fn service_repeated(&mut self) {
        self.recorder_mut().served();
        self.after_replay_step();
    }

    fn orders_threads(&self) -> bool {
        true
    }

    fn next_turn(&self) -> NextTurn {
        self.recorder().next_turn()
    }

    fn on_step(&mut self, step: u64) {
        self.recorder_mut().step_begins(step);
        self.after_replay_step();
    }

    fn replaying(&self) -> bool {
        self.recorder().replaying()
    }

    fn repeating(&self) -> bool {
        self.recorder().repeating()
    }

    fn recorded(&self) -> u64 {
        self.recorder().recorded()
    }
}
