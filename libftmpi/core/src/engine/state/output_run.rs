//! Answers of repeatable effects that need not be stable before the next effect.

use ftmpi_wire::EventNo;

/// A run of last events that may be lost together with the effects that they record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RepeatableRun {
    /// The last event that must be stable.
    before: EventNo,
    /// The last event of the run; if the rank has made later ones, the run counts no more.
    last: EventNo,
}

impl RepeatableRun {
    /// The event that must be stable before something is done outside, where `last` is the rank's
    /// last event.
    pub fn needed(&self, last: EventNo) -> EventNo {
        if last == self.last { self.before } else { last }
    }

    /// The run goes on to `last`; events up to `before` must be stable.
    pub fn extend(&mut self, before: EventNo, last: EventNo) {
        (self.before, self.last) = (before, last);
    }
}
