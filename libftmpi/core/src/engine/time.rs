//! `MPI_Wtime`: what is recorded of the clock, and what a replay answers.

use super::Engine;
use super::link::Link;
use super::tuning::{CLOCK_READS_PER_LOOK, RECORDED_TICK_S};
use ftmpi_protocols::protocol::{self, Answer};

impl<L: Link> Engine<L> {
    /// `MPI_Wtime`: never runs backwards, also over a restart; the recorded value in a replay.
    pub fn wtime(&mut self) -> f64 {
        let value = if self.state.hooks.clock {
            match self.recorded() {
                protocol::Decision::Positive(Answer::Clock(bits)) => f64::from_bits(bits),
                protocol::Decision::Negative => self.state.clock.last(),
                protocol::Decision::Live => self.read_clock(),
                other => self.diverged(&format!("the clock is read where {other:?} was recorded")),
            }
        } else {
            self.now()
        };
        self.state.clock.shown(value);
        value
    }

    /// Seconds between two values of `MPI_Wtime` that differ.
    #[must_use]
    pub fn clock_tick(&self) -> f64 {
        if self.state.hooks.clock { RECORDED_TICK_S } else { 1e-9 }
    }

    /// A value that is recorded. A program that waits may read the clock millions of times a
    /// second. Within a tick the clock stands still: that counts like a fruitless test and makes no
    /// event. Now and then the rank looks at its channels, since such a program may call nothing
    /// else while the logger's answers and other ranks wait.
    fn read_clock(&mut self) -> f64 {
        let value = self.now();
        if self.state.hooks.outcomes && value - self.state.clock.last() < RECORDED_TICK_S {
            self.state.protocol.on_negative();
            return self.state.clock.last();
        }
        self.state.protocol.on_answer(Answer::Clock(value.to_bits()));
        self.ship();
        self.clock_reads = self.clock_reads.wrapping_add(1);
        if self.clock_reads.is_multiple_of(CLOCK_READS_PER_LOOK) {
            // (The value must not depend on what comes meanwhile.)
            self.state.clock.shown(value);
            self.poll_once();
        }
        value
    }

    /// The program's time: it moves on from what the program has seen.
    fn now(&mut self) -> f64 {
        let link_s = self.link.clock();
        self.state.clock.now(link_s)
    }
}
