//! Chaos is followed by quiet, and then everything finishes. Recovery is possible after every
//! failure, also after a failure during a recovery, and no rank waits for ever.

/// More than any run needs: beyond it is a hang.
pub const EVENTS_MAX: u64 = 500_000;

/// No event is left, and some rank is not at its end.
pub fn stuck(state: &str) -> String {
    format!("hang: nothing happens any more; {state}")
}

/// Something happens for ever.
pub fn endless(state: &str) -> String {
    format!("hang: too many events; {state}")
}

/// The job has ended in order, and this rank has not.
pub fn unended(rank: usize) -> String {
    format!("the job has ended, and rank {rank} never came to its end")
}
