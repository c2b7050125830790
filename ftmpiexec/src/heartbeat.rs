//! How launcher and agents notice that they have lost each other.
//!
//! An agent sends a heartbeat every [`INTERVAL`], and the launcher answers each of them. The
//! launcher counts a host as lost after [`MISSED_MAX`] heartbeats that did not come, and starts its
//! ranks elsewhere. The agent gives its ranks up after [`LEASE`] without an answer, if the network
//! does not answer either ([`crate::agent`], `lease`).
//!
//! Guarantees: the agent's patience ends first, with time to kill its ranks. So two incarnations of
//! a rank never run at the same time.
//!
//! Source: leases of Gray and Cheriton (SOSP 1989).

use std::time::Duration;

/// Time between two heartbeats of an agent.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// Heartbeats that may be missing in a row before a host counts as lost.
pub const MISSED_MAX: u32 = 10;

/// How long an agent waits for an answer. The launcher's patience begins with a heartbeat that
/// arrived no later than its answer left. One more heartbeat and the killing of the ranks must fit
/// in between.
pub const LEASE: Duration = Duration::from_secs(8);

/// Segments or probes without acknowledgement. With one heartbeat a second there are more after
/// [`LEASE`] without a network, and none while a kernel answers.
pub const UNANSWERED_MIN: u64 = 2;

/// The launcher's count of missing heartbeats of one agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct MissedBeats(u32);

impl MissedBeats {
    /// A heartbeat came, or the agent starts again.
    pub fn reset(&mut self) {
        self.0 = 0;
    }

    /// [`INTERVAL`] has passed. `true`: too many heartbeats are missing.
    pub fn interval_passed(&mut self) -> bool {
        self.0 += 1;
        self.0 > MISSED_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_gives_up_before_the_launcher_does() {
        let launcher = INTERVAL * MISSED_MAX;
        assert!(LEASE + INTERVAL < launcher, "time is left to kill the ranks");
    }

    #[test]
    fn a_heartbeat_restarts_the_count() {
        let mut missed = MissedBeats::default();
        assert!((0..MISSED_MAX).all(|_| !missed.interval_passed()));
        assert!(missed.interval_passed());
        missed.reset();
        assert!(!missed.interval_passed());
    }
}
