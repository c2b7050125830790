//! What the agent was told about the wait of this rank (`ftmpi_wire::waiting`).
//!
//! Guarantees: a wait is written when the rank has slept and nothing came. The same wait keeps its
//! begin. The note goes when the call ends. A new incarnation begins without a note.

use crate::status::StatusPage;
use crate::tuning::SLEEPS_PER_NOTE;
use ftmpi_wire::waiting::{self, Waiting};

/// What is on the page.
#[derive(Debug, Default)]
pub struct WaitNote {
    /// The last rest was a sleep in which nothing came, or one of many.
    pub in_vain: bool,
    /// How often the program gave way while it polled.
    pub polls: u64,
    sleeps: u32,
    shown: Option<(Waiting, u64)>,
}

impl WaitNote {
    /// The rank has slept; `came`: something woke it, which may have nothing to do with the wait.
    pub fn slept(&mut self, came: bool) {
        self.sleeps = self.sleeps.wrapping_add(1);
        self.in_vain = !came || self.sleeps.is_multiple_of(SLEEPS_PER_NOTE);
    }

    /// Writes the note.
    pub fn show(&mut self, page: StatusPage, waiting: Waiting, progress: u64, now_ns: u64) {
        if self.shown.as_ref().is_some_and(|(same, at)| *same == waiting && *at == progress) {
            return waiting::store_seen(now_ns, |index, value| page.set(index, value));
        }
        let read = |index| page.get(index);
        waiting::store(&waiting, now_ns, now_ns, read, |index, value| {
            page.set_ordered(index, value)
        });
        self.shown = Some((waiting, progress));
    }

    /// Takes the note back.
    pub fn hide(&mut self, page: StatusPage) {
        self.shown = None;
        waiting::clear(|index, value| page.set(index, value));
    }
}
