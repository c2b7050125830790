//! Steps of the program's threads inside the library, where their order is recorded.

/// What the engine knows of steps.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Their order is recorded and repeated.
    ordered: bool,
    /// More than one thread has called.
    several: bool,
    /// An earlier incarnation may be ahead of this one.
    again: bool,
    /// Steps so far.
    count: u64,
    /// The thread of the last one.
    thread: u32,
    /// The last step of which a recorded event says whose it was.
    said: u64,
    /// The thread that waits in the middle of a step, so that no other thread begins one; 0: none.
    alone: u32,
    /// It waits for the answer that may be recorded for this step.
    answering: bool,
    /// What the threads have done so far.
    digest: u64,
}

impl Steps {
    /// From now on the order is recorded; `first` is the thread that goes on.
    pub fn record_order(&mut self, first: u32) {
        self.ordered = true;
        self.thread = first;
    }

    /// Whether the order is recorded.
    #[inline]
    pub fn are_ordered(&self) -> bool {
        self.ordered
    }

    /// The number of the next step.
    pub fn next(&self) -> u64 {
        self.count + 1
    }

    /// Steps so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the last step is of this thread.
    pub fn are_of(&self, thread: u32) -> bool {
        self.thread == thread
    }

    /// A step of this thread begins. `said`: a recorded event says so.
    pub fn begin(&mut self, thread: u32, said: bool) {
        self.count += 1;
        self.several |= self.thread != thread;
        self.thread = thread;
        if said {
            self.said = self.count;
        }
    }

    /// A new incarnation begins.
    pub fn begin_again(&mut self) {
        self.again = true;
    }

    /// Whether a second thread that calls now might be earlier than in an earlier incarnation.
    pub fn may_be_early(&self) -> bool {
        self.again && !self.several
    }

    /// Whether no recorded event says whose the last steps were.
    #[inline]
    pub fn need_note(&self) -> bool {
        self.several && self.said < self.count
    }

    /// The same, also where one thread alone has ever called.
    pub fn are_unsaid(&self) -> bool {
        self.ordered && self.said < self.count
    }

    /// It was recorded.
    pub fn noted(&mut self) {
        self.said = self.count;
    }

    /// Whether another thread waits in the middle of a step.
    pub fn are_kept_from(&self, thread: u32) -> bool {
        self.alone != 0 && self.alone != thread
    }

    /// This thread (0: none) waits in the middle of a step; what was so before.
    pub fn keep_to(&mut self, thread: u32) -> u32 {
        std::mem::replace(&mut self.alone, thread)
    }

    /// Whether the step has begun in which this thread awaits an answer.
    pub fn are_answering(&self, thread: u32) -> bool {
        self.answering && self.alone == thread
    }

    /// It begins, or (0) the answer is there.
    pub fn answer(&mut self, thread: u32) {
        (self.alone, self.answering) = (thread, thread != 0);
    }

    /// Something was done whose order counts.
    #[inline]
    pub fn did(&mut self, what: u64, with: u64) {
        let mixed = (self.digest ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.digest = (mixed ^ with).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(31);
    }

    /// The digest of what was done.
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_the_middle_of_a_step_keeps_other_threads_from_steps() {
        let mut steps = Steps::default();
        steps.record_order(1);
        assert!(!steps.are_kept_from(1) && !steps.are_kept_from(2));
        let before = steps.keep_to(1);
        assert!(!steps.are_kept_from(1) && steps.are_kept_from(2));
        steps.keep_to(before);
        assert!(!steps.are_kept_from(2));
    }

    #[test]
    fn the_thread_that_awaits_an_answer_alone_takes_it() {
        let mut steps = Steps::default();
        steps.record_order(1);
        steps.answer(2);
        assert!(steps.are_answering(2) && !steps.are_answering(1));
        // A wait in the middle, which ends.
        let before = steps.keep_to(2);
        steps.keep_to(before);
        assert!(steps.are_answering(2) && steps.are_kept_from(1));
        steps.answer(0);
        assert!(!steps.are_answering(2) && !steps.are_kept_from(1));
    }
}
