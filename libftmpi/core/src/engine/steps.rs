//! Several threads of the program in the library (`MPI_THREAD_MULTIPLE`), under protocols that
//! repeat a rank's course.
//!
//! The engine does the same again if the threads come to it in the same order. So the time inside
//! the library is divided into *steps*, one at a time: a call of a thread begins; it ends; in
//! between, it has waited or polled and now learns something, or does something that others see.
//! Where a wait lies between two steps, steps of other threads may come in. That there is such a
//! step depends on the program only, and never on whether there was anything to wait for.
//!
//! A step of another thread than the last one is a recorded event with number and thread. Before
//! something leaves the rank, "no other thread until this step" is recorded, if anything has
//! happened since the last event that says whose the steps are. (As long as one thread alone has
//! ever called, that is not recorded. A new incarnation asks all peers what they have, before it
//! lets a second thread in.) A replay lets a thread begin a step only when it is its turn.
//!
//! Guarantees: what passes between threads by way of other ranks is repeated in order, too, because
//! a wait ends with a step. A replay whose threads do other things ends the job: each event of a
//! turn has a digest of the calls and the receives until then.
//!
//! Under other protocols, and below `MPI_THREAD_MULTIPLE`, every question here is one predicted
//! branch, off the way of a message.

use super::Engine;
use super::link::Link;
use super::request::{Source, Tag};
use super::state::State;
use super::state::channels::ChannelPhase;
use super::waiting::Awaited;
use ftmpi_protocols::protocol::{self, Answer, NextTurn, Service};

impl<L: Link> Engine<L> {
    /// The program was granted `MPI_THREAD_MULTIPLE`: where a replay may come, the order of its
    /// threads is recorded.
    pub fn order_threads(&mut self) {
        if self.state.hooks.outcomes {
            let first = self.link.thread();
            self.state.steps.record_order(first);
        }
    }

    /// Whether the protocol can repeat the order of threads, or repeats nothing. Messages through
    /// channel memories are an exception.
    #[must_use]
    pub fn may_have_threads(&self) -> bool {
        let ordered = self.state.protocol.orders_threads() && !self.state.hooks.memory;
        !self.repeats() || (ordered && self.link.thread() != 0)
    }

    /// Whether the order of the program's threads is recorded.
    #[inline]
    #[must_use]
    pub fn orders_threads(&self) -> bool {
        self.state.steps.are_ordered()
    }

    /// A call of the program begins: a step. `name` tells it from others.
    pub fn call_begins(&mut self, name: &str) {
        self.step();
        let letters = name.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
        self.state.steps.did(letters, u64::from(self.link.thread()));
    }

    /// A step of the calling thread begins. Waits until it is its turn; others come in meanwhile.
    #[inline]
    pub fn step(&mut self) {
        if self.state.steps.are_ordered() {
            self.step_in_order();
        }
    }

    #[cold]
    fn step_in_order(&mut self) {
        while !self.try_step() {
            self.block();
        }
    }

    /// Begins a step of the calling thread, if it is its turn.
    #[must_use]
    pub fn try_step(&mut self) -> bool {
        if !self.state.steps.are_ordered() {
            return true;
        }
        if self.state.recovery.is_fetching() || !self.services_are_repeated() {
            return false;
        }
        let thread = self.link.thread();
        if self.state.steps.are_kept_from(thread) {
            return false;
        }
        let (next, same) = (self.state.steps.next(), self.state.steps.are_of(thread));
        let replaying = self.state.protocol.replaying();
        let said = match self.state.protocol.next_turn() {
            NextTurn::Other(other, step, digest) if step <= next => {
                if other != thread {
                    return false;
                }
                self.compare(step, digest);
                true
            }
            NextTurn::Free if !same => return !replaying && self.take_turn(thread),
            NextTurn::Other(..) | NextTurn::Same | NextTurn::Until(_) if !same => return false,
            NextTurn::Until(step) => step <= next,
            NextTurn::Other(..) | NextTurn::Same | NextTurn::Free => false,
        };
        self.state.steps.begin(thread, said);
        self.state.services.call_ends();
        if replaying {
            self.state.protocol.on_step(next);
            self.work();
            self.pass_turn_on();
        }
        true
    }

    /// Something was repeated: another thread may go on now.
    pub(super) fn pass_turn_on(&mut self) {
        if matches!(self.state.protocol.next_turn(), NextTurn::Other(..) | NextTurn::Free) {
            self.link.others_may_go_on();
        }
    }

    /// Nothing is recorded of whose turn it is, and another thread had the last one.
    fn take_turn(&mut self, thread: u32) -> bool {
        if self.state.steps.may_be_early() && !self.state.peers_know_no_more() {
            return false;
        }
        let (step, digest) = (self.state.steps.next(), self.state.steps.digest());
        self.state.steps.begin(thread, true);
        self.state.services.call_ends();
        self.state.protocol.on_answer(Answer::Turn(thread, step, digest));
        self.ship();
        true
    }

    /// Whether everything was served that was served before this step.
    fn services_are_repeated(&mut self) -> bool {
        loop {
            match self.state.protocol.next_service() {
                Service::Recorded(call, _) if call > self.state.services.call() => return true,
                Service::Recorded(_, None) => self.state.service_repeated(),
                Service::Recorded(_, Some(_)) => return false,
                Service::Free | Service::Held => return true,
            }
        }
    }

    fn compare(&mut self, step: u64, recorded: u64) {
        let steps = &self.state.steps;
        if step != steps.next() || recorded != steps.digest() {
            let what = format!("its threads did other things before step {step} of them");
            self.diverged(&what);
        }
    }

    /// [`Engine::decide`], in a call that has polled or waited: other threads may have come in
    /// meanwhile.
    #[inline]
    pub fn decide_polled(&mut self) -> super::Decision {
        self.step();
        self.decide()
    }

    /// As [`Engine::decide`], in a wait whose answer is recorded. `None`: another thread is to go
    /// on. After the answer was found, [`Engine::answer_step`] comes before it is reported.
    #[inline]
    pub fn decide_in_wait(&mut self) -> Option<super::Decision> {
        if !self.state.steps.are_ordered() {
            return Some(self.decide());
        }
        self.decide_in_turn()
    }

    #[cold]
    fn decide_in_turn(&mut self) -> Option<super::Decision> {
        self.is_turn_in_wait().then(|| {
            let decision = self.decide();
            self.await_answer(decision == super::Decision::Live);
            decision
        })
    }

    /// The same for an answer of the protocol.
    pub(super) fn recorded_in_wait(&mut self) -> Option<protocol::Decision> {
        if !self.state.steps.are_ordered() {
            return Some(self.recorded());
        }
        self.is_turn_in_wait().then(|| {
            let decision = self.recorded();
            self.await_answer(decision == protocol::Decision::Live);
            decision
        })
    }

    /// In a replay the step begins before it is known whether an answer is recorded.
    fn is_turn_in_wait(&mut self) -> bool {
        if self.state.recovery.is_fetching() {
            return false;
        }
        let thread = self.link.thread();
        if !self.state.protocol.replaying() || self.state.steps.are_answering(thread) {
            return true;
        }
        if self.state.protocol.next_turn() == NextTurn::Free || !self.try_step() {
            return false;
        }
        self.state.steps.answer(thread);
        true
    }

    /// `live`: no answer is recorded for the step that has begun, since the log ends with the step.
    /// No other thread begins a step before the answer is there. All that led to it was there when
    /// the step was recorded, so nobody has to.
    fn await_answer(&mut self, live: bool) {
        let thread = self.link.thread();
        if self.state.steps.are_answering(thread) {
            self.state.steps.answer(if live { thread } else { 0 });
        }
    }

    /// In a wait whose answer was found: begins the step in which it is reported. `false`: it is
    /// not this thread's turn, and the answer may be another one then.
    #[inline]
    #[must_use]
    pub fn answer_step(&mut self) -> bool {
        !self.state.steps.are_ordered() || self.answer_step_now()
    }

    #[cold]
    fn answer_step_now(&mut self) -> bool {
        let thread = self.link.thread();
        if self.state.steps.are_answering(thread) {
            self.state.steps.answer(0);
            self.link.others_may_go_on();
            return true;
        }
        self.try_step()
    }

    /// One look of a wait in the middle of a step for what a replay is to be given. Calls of other
    /// threads go on meanwhile, because the sender may need their collectives for its own replay.
    /// No other thread begins a step, and no function of the program runs here, which might wait
    /// for one.
    pub(super) fn block_in_step(&mut self) {
        let thread = self.link.thread();
        if !self.state.steps.are_ordered() || self.state.steps.are_kept_from(thread) {
            return self.block();
        }
        let before = self.state.steps.keep_to(thread);
        loop {
            let mut came = self.look_around(None);
            if self.tasks.any() {
                self.advance_schedules(true);
            }
            if !self.windows.is_empty() {
                came |= self.serve();
            }
            self.looked(came, Awaited::Anything);
            // Another thread may have taken an image, from which a new incarnation begins.
            if !self.state.recovery.is_fetching() {
                break;
            }
        }
        self.state.steps.keep_to(before);
    }

    /// One look of a wait in the middle of what belongs together: no other thread comes in, and so
    /// no function of the program runs, which might wait for one.
    pub(super) fn block_alone(&mut self) {
        if !self.state.steps.are_ordered() {
            return self.block();
        }
        let outer = self.link.keep_threads_out(true);
        let mut came = self.look_around(None);
        if !self.windows.is_empty() {
            came |= self.serve();
        }
        self.looked(came, Awaited::Anything);
        // Here a new incarnation may have begun.
        self.link.keep_threads_out(outer);
    }
}

impl State {
    /// The program posts a receive.
    pub(super) fn note_post(&mut self, from: Source, context: u32, tag: Tag) {
        if self.steps.are_ordered() {
            let from = match from {
                Source::Any => u64::MAX,
                Source::Rank(rank) => u64::from(rank.0),
            };
            let tag = match tag {
                Tag::Any => u32::MAX,
                Tag::Is(tag) => tag as u32,
            };
            self.steps.did(!(u64::from(context) << 32 | u64::from(tag)), from);
        }
    }

    /// Whether no peer has messages that this incarnation has not sent yet. Before a second thread
    /// calls for the first time, messages do not wait for events about threads. So their receivers
    /// tell how far the first thread had come alone.
    fn peers_know_no_more(&mut self) -> bool {
        let (me, mut none) = (self.me, true);
        for rank in self.channels.ranks().filter(|&rank| rank != me) {
            let peer = self.channels.peer(rank);
            if peer.phase == ChannelPhase::Dead {
                // It has ended for good: nobody waits for what it has.
                continue;
            }
            if !peer.phase.is_ready() {
                none = false;
                if peer.phase == ChannelPhase::Absent {
                    self.channels.request(rank);
                }
            } else if peer.has.last() > peer.last_ssn {
                none = false;
            }
        }
        none
    }

    /// Something is about to leave, or to be final: the event that no other thread went on until
    /// now must be stable first.
    #[inline]
    pub(super) fn note_steps(&mut self) {
        if self.steps.need_note() {
            self.note_steps_now();
        }
    }

    /// The same, also where one thread alone has ever called.
    pub(super) fn note_all_steps(&mut self) {
        if self.steps.are_unsaid() {
            self.note_steps_now();
        }
    }

    #[cold]
    fn note_steps_now(&mut self) {
        if self.protocol.next_turn() == NextTurn::Free && !self.recovery.is_fetching() {
            self.protocol.on_answer(Answer::Stayed(self.steps.count()));
            self.steps.noted();
        }
    }
}
