//! Waits and tests: where a program learns what it could not know beforehand, and where, in a
//! replay, it gets the same answers again.

use super::Engine;
use super::link::Link;
use super::request::Completion;
use super::waiting::Awaited;
use crate::error::ErrorClass;
use crate::ids::ReqId;
use ftmpi_protocols::protocol::{self, Answer};

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

impl<L: Link> Engine<L> {
    /// Whether the request is complete. Looks only.
    #[inline]
    pub fn is_done(&self, id: ReqId) -> bool {
        self.state.requests.is_done(id)
    }

    /// Ends a request that is complete.
    #[inline]
    pub fn finish(&mut self, id: ReqId) -> Completion {
        debug_assert!(self.is_done(id));
        self.state.requests.remove(id).completion
    }

    /// Waits until the request is complete, and ends it.
    #[inline]
    pub fn wait(&mut self, id: ReqId) -> Completion {
        self.wait_for(id);
        if self.state.faults.alert() {
            return self.finish_for_good(id);
        }
        self.finish(id)
    }

    /// Waits until the request is complete, or interrupted.
    #[inline]
    pub fn wait_for(&mut self, id: ReqId) {
        let awaited = Awaited::Request(id);
        let first = awaited.first(&self.state);
        while !self.is_done(id) {
            self.block_on(first, awaited);
        }
    }

    /// Whether the request is a receive from any source whose wait was interrupted.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self, id: ReqId) -> bool {
        self.state.faults.alert()
            && self.state.requests.get(id).completion.error == Some(ErrorClass::ProcFailedPending)
    }

    /// What a call with a non-deterministic answer is to do.
    ///
    /// Between this call and [`Engine::answered`] or [`Engine::answered_negative`] the caller must
    /// neither poll nor block. An image taken there would begin incarnations that have asked
    /// already, and never learn what was recorded afterwards. So: poll, then decide, then look,
    /// then answer. After every [`Engine::block`] decide again. To ask while nothing is recorded
    /// changes nothing.
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

    pub(super) fn recorded(&mut self) -> protocol::Decision {
        loop {
            self.repeat_services();
            let decision = self.state.protocol.decide();
            self.work();
            if decision != protocol::Decision::Live {
                self.pass_turn_on();
                self.link.point("replay-step");
                return decision;
            }
            if !self.state.protocol.replaying() {
                return decision;
            }
            // Outcomes are exhausted, matches are not. Those receives are posted already, since
            // they matched before this call in the earlier incarnation: their messages only have to
            // come. The protocol is asked again afterwards: the wait may have ended with an image.
            self.block_in_step();
        }
    }

    /// After [`Decision::Live`]: the program got the answer "nothing".
    #[inline]
    pub fn answered_negative(&mut self) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_negative();
        }
    }

    /// After [`Decision::Live`]: the program got this answer.
    #[inline]
    pub fn answered(&mut self, value: u64) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_answer(Answer::Value(value));
            self.ship();
        }
    }

    /// An answer was recorded ([`State::ship`](super::state::State::ship)).
    #[inline]
    pub(super) fn ship(&mut self) {
        self.state.ship();
        if self.state.event_log.has_work() {
            self.work();
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
            "rank {me}: its replay took another course than its earlier incarnation ({what}); the \
             program depends on something that MPI does not see (time of day, random device, \
             threads)"
        ))
    }
}
