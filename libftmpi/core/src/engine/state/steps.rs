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
    /// The step in which a recorded answer is awaited has begun.
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

    /// Whether the step in which an answer is awaited has begun.
    pub fn are_answering(&self) -> bool {
        self.answering
    }

    /// It begins, or (`false`) the answer is there.
    pub fn answer(&mut self, awaited: bool) {
        self.answering = awaited;
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
