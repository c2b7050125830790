//! Chaos is followed by quiet, and then everything finishes. Recovery is possible after every
//! failure, also after a failure during a recovery, and no rank waits for ever.

/// More than any run needs: beyond it is a hang.
pub const EVENTS_MAX: u64 = 500_000;
