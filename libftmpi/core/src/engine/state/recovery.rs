//! Where an incarnation stands on its way back to where an earlier one was, and how it ends.

use ftmpi_wire::{Determinant, EventNo, ImageNo, Rank, Ssn};

/// Events that are being fetched from the logger at the begin of an incarnation.
#[derive(Debug)]
struct Fetch {
    from: EventNo,
    records: Vec<Determinant>,
    done: bool,
    /// Matches of named receives that were made meanwhile: (post, source, number).
    early: Vec<(u64, Rank, Ssn)>,
}

impl Fetch {
    fn next(&self) -> EventNo {
        EventNo(self.from.0 + self.records.len() as u64)
    }
}

/// Whether fetched events follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// They do.
    InOrder,
    /// This event should have come.
    Gap {
        /// Its number.
        expected: EventNo,
    },
}

/// The incarnation is to end and another one to begin from an image.
#[derive(Debug)]
pub(crate) struct RollBack {
    /// Why, for the user.
    pub why: String,
    /// The image must be older than this one.
    pub before: Option<ImageNo>,
}

/// What an incarnation knows of its own begin and end.
#[derive(Debug)]
pub(crate) struct Recovery {
    fetch: Option<Fetch>,
    /// Recovery is impossible: why.
    failure: Option<String>,
    roll_back: Option<RollBack>,
    /// The agent knows that replay is over.
    replay_reported: bool,
    /// Replay is over: held receives may match, at the next step of work.
    free_held_due: bool,
    /// The image from which this incarnation began.
    begun_from: Option<ImageNo>,
    /// Times that this process began from an image.
    restores: u64,
}

impl Recovery {
    pub const fn new() -> Self {
        Self {
            fetch: None,
            failure: None,
            roll_back: None,
            replay_reported: true,
            free_held_due: false,
            begun_from: None,
            restores: 0,
        }
    }

    /// Whether `Engine::work` has something to do here.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.failure.is_some()
            || self.roll_back.is_some()
            || self.free_held_due
            || !self.replay_reported
    }

    /// Whether the recorded events are not all known yet.
    #[inline]
    pub fn is_fetching(&self) -> bool {
        self.fetch.is_some()
    }

    /// Whether the logger still sends recorded events.
    #[inline]
    pub fn reads_event_log(&self) -> bool {
        self.fetch.as_ref().is_some_and(|fetch| !fetch.done)
    }

    /// Recorded events from `from` on are needed.
    pub fn begin_fetch(&mut self, from: EventNo) {
        self.fetch = Some(Fetch { from, records: Vec::new(), done: false, early: Vec::new() });
    }

    /// The next event to ask the logger for, while events are being fetched.
    pub fn next_to_fetch(&self) -> Option<EventNo> {
        self.fetch.as_ref().filter(|fetch| !fetch.done).map(Fetch::next)
    }

    /// Events came; unasked ones are ignored.
    pub fn fetched(&mut self, first: EventNo, records: Vec<Determinant>) -> Progress {
        let Some(fetch) = &mut self.fetch else { return Progress::InOrder };
        if first != fetch.next() {
            return Progress::Gap { expected: fetch.next() };
        }
        fetch.records.extend(records);
        Progress::InOrder
    }

    /// The logger has no more; the event after the last one would be `next`.
    pub fn fetched_all(&mut self, next: EventNo) -> Progress {
        let Some(fetch) = &mut self.fetch else { return Progress::InOrder };
        if next != fetch.next() {
            return Progress::Gap { expected: fetch.next() };
        }
        fetch.done = true;
        Progress::InOrder
    }

    /// The events that were fetched.
    pub fn take_records(&mut self) -> Vec<Determinant> {
        self.fetch.as_mut().map(|fetch| std::mem::take(&mut fetch.records)).unwrap_or_default()
    }

    /// A match was made while events are being fetched: whether it is recorded is not known yet.
    /// `false`: nothing is being fetched.
    #[inline]
    pub fn defer_match(&mut self, post: u64, source: Rank, ssn: Ssn) -> bool {
        let Some(fetch) = &mut self.fetch else { return false };
        fetch.early.push((post, source, ssn));
        true
    }

    /// All recorded events are known; gives the matches that were made meanwhile.
    pub fn end_fetch(&mut self) -> Vec<(u64, Rank, Ssn)> {
        self.fetch.take().map(|fetch| fetch.early).unwrap_or_default()
    }

    /// Recovery is impossible.
    #[cold]
    pub fn fail(&mut self, why: String) {
        self.failure = Some(why);
    }

    /// Why recovery is impossible, if it is.
    #[inline]
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// This incarnation is to end.
    #[cold]
    pub fn roll_back(&mut self, why: String, before: Option<ImageNo>) {
        self.roll_back = Some(RollBack { why, before });
    }

    /// Why this incarnation is to end, if it is.
    #[inline]
    pub fn take_roll_back(&mut self) -> Option<RollBack> {
        self.roll_back.take()
    }

    /// The end of replay is to be reported to the agent.
    pub fn report_replay(&mut self) {
        self.replay_reported = false;
    }

    /// Whether the end of replay is to be reported to the agent.
    #[inline]
    pub fn is_report_due(&self) -> bool {
        !self.replay_reported
    }

    /// The end of replay was reported.
    pub fn reported(&mut self) {
        self.replay_reported = true;
    }

    /// Held receives may match.
    pub fn free_held(&mut self) {
        self.free_held_due = true;
    }

    /// Whether held receives may match now: not before the recorded events are known, because what
    /// matches then is to be recorded at once.
    #[inline]
    pub fn take_free_held(&mut self) -> bool {
        self.fetch.is_none() && std::mem::take(&mut self.free_held_due)
    }

    /// This process was restored from an image.
    pub fn restored(&mut self, image: ImageNo) {
        self.restores += 1;
        self.begun_from = Some(image);
    }

    /// The image from which this incarnation began.
    pub fn begun_from(&self) -> Option<ImageNo> {
        self.begun_from
    }

    /// Times that this process began from an image.
    pub fn restores(&self) -> u64 {
        self.restores
    }
}
