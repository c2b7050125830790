//! What every logging protocol records and repeats.
//!
//! Guarantees: negative answers are counted and belong to the next determinant. While recorded
//! events are left, matches and answers are repeated and make no new determinants. The end of the
//! replay is reported once.

use crate::answers::{Answer, Decision, NextTurn, Pin, Service};
use crate::replay::Replay;
use ftmpi_wire::{Determinant, Rank, Ssn};

/// Makes determinants, and repeats those of an earlier incarnation.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Negative answers since the last determinant.
    fails: u32,
    replay: Replay,
    replaying: bool,
    recorded: u64,
}

impl Recorder {
    fn take_fails(&mut self) -> u32 {
        std::mem::take(&mut self.fails)
    }

    /// Negative answers become a determinant of their own before something that reveals them
    /// leaves.
    #[inline]
    pub fn settle(&mut self) -> Option<Determinant> {
        if self.fails == 0 {
            return None;
        }
        Some(Determinant::Failed { fails: self.take_fails() })
    }

    /// What receive `post` may take.
    #[must_use]
    pub fn pin(&self, post: u64) -> Pin {
        self.replay.pin(post)
    }

    /// Receive `post` took this message: a determinant, unless it was recorded.
    pub fn matched(&mut self, post: u64, source: Rank, ssn: Ssn) -> Option<Determinant> {
        if self.replay.matched(post) {
            return None;
        }
        Some(Determinant::Match { fails: self.take_fails(), post, source, ssn })
    }

    /// What the next call with a non-deterministic answer is to answer.
    #[inline]
    pub fn decide(&mut self) -> Decision {
        if !self.replaying {
            return Decision::Live;
        }
        self.replay.decide().unwrap_or(Decision::Live)
    }

    /// A call answered "nothing".
    pub fn negative(&mut self) -> Option<Determinant> {
        let full = if self.fails == u32::MAX { self.settle() } else { None };
        self.fails += 1;
        full
    }

    /// A call answered this.
    pub fn answered(&mut self, answer: Answer) -> Determinant {
        let fails = self.take_fails();
        match answer {
            Answer::Value(value) => Determinant::Outcome { fails, value },
            Answer::Probed(source, ssn) => Determinant::Probed { fails, source, ssn },
            Answer::Clock(bits) => Determinant::Clock { fails, bits },
            Answer::Cancelled(post) => Determinant::Cancelled { fails, post },
            Answer::Served(call, message) => Determinant::Served { fails, call, message },
            Answer::Turn(thread, step, digest) => Determinant::Turn { fails, thread, step, digest },
            Answer::Stayed(step) => Determinant::Stayed { fails, step },
        }
    }

    /// Which one-sided request may be served next.
    #[must_use]
    pub fn next_service(&self) -> Service {
        self.replay.next_service()
    }

    /// It was served again.
    pub fn served(&mut self) {
        self.replay.served();
    }

    /// Which thread of the rank goes on next.
    #[must_use]
    pub fn next_turn(&self) -> NextTurn {
        self.replay.next_turn()
    }

    /// The `step`-th step of the threads begins.
    pub fn step_begins(&mut self, step: u64) {
        self.replay.step_begins(step);
    }

    /// How many determinants the present incarnation had to repeat when it began.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Recorded events are left that the program must be told.
    #[must_use]
    pub fn replaying(&self) -> bool {
        self.replaying
    }

    /// Anything is left to repeat.
    #[must_use]
    pub fn repeating(&self) -> bool {
        !self.replay.is_exhausted()
    }

    /// A new incarnation begins that is to repeat these.
    ///
    /// Negative answers since the image's last determinant belong to the state of the image. Later
    /// negative answers are counted in the recorded events from zero, because an image is taken
    /// only after [`Recorder::settle`].
    pub fn begin(&mut self, recorded: Vec<Determinant>) {
        self.fails = 0;
        self.recorded = recorded.len() as u64;
        self.replay = Replay::new(recorded);
        self.replaying = true;
    }

    /// Whether the replay has come to its end; true once. Ask after every step.
    #[inline]
    pub fn ended(&mut self) -> bool {
        if !self.replaying || !self.replay.is_over() {
            return false;
        }
        self.replaying = false;
        true
    }
}
