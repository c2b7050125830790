//! How launcher and agents notice that they have lost each other.
//!
//! An agent sends a heartbeat every [`INTERVAL`], and the launcher answers each of them. The
//! launcher counts a host as lost after [`MISSED_MAX`] heartbeats that did not come, and starts its
//! ranks elsewhere. The agent gives its ranks up after [`LEASE`] without an answer, if the network
//! does not answer either ([`crate::agent`], `lease`).
//!
//! The death of an agent on the launcher's own host is known from its process. There a process that
//! runs is not lost because the machine is busy: only one that has been stopped, or one that is
//! silent for [`SILENT_HERE_MAX`] heartbeats and must hang.
//!
//! Where all hosts are silent at once, both wait longer ([`crate::own_link`]).
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

/// Heartbeats that may be missing in a row of an agent on the launcher's host, whose process runs.
pub const SILENT_HERE_MAX: u32 = 120;

/// How long an agent waits for an answer. The launcher's patience begins with a heartbeat that
/// arrived no later than its answer left. One more heartbeat and the killing of the ranks must fit
/// in between.
pub const LEASE: Duration = Duration::from_secs(8);

/// Segments or probes without acknowledgement. With one heartbeat a second there are more after
/// [`LEASE`] without a network, and none while a kernel answers.
pub const UNANSWERED_MIN: u64 = 2;

/// What the launcher sees of an agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it is on another host.
    Nothing,
    /// It runs on this host.
    Running,
    /// Somebody has stopped it, on this host.
    Stopped,
}

/// The launcher's count of missing heartbeats of one agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct MissedBeats(u32);

impl MissedBeats {
    /// A heartbeat came, or the agent starts again.
    pub fn reset(&mut self) {
        self.0 = 0;
    }

    /// Heartbeats that are missing now.
    pub fn count(self) -> u32 {
        self.0
    }

    /// [`INTERVAL`] has passed. `true`: too many heartbeats are missing. `process` looks at the
    /// agent's process.
    pub fn interval_passed(&mut self, process: impl FnOnce() -> Seen) -> bool {
        self.0 += 1;
        self.0 > MISSED_MAX
            && match process() {
                Seen::Nothing | Seen::Stopped => true,
                Seen::Running => self.0 > SILENT_HERE_MAX,
            }
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
        for seen in [Seen::Nothing, Seen::Stopped] {
            assert!((0..MISSED_MAX).all(|_| !missed.interval_passed(|| seen)));
            assert!(missed.interval_passed(|| seen));
            missed.reset();
            assert!(!missed.interval_passed(|| seen));
            missed.reset();
        }
    }

    #[test]
    fn an_agent_here_whose_process_runs_is_not_lost_because_it_is_slow() {
        let mut missed = MissedBeats::default();
        assert!((0..SILENT_HERE_MAX).all(|_| !missed.interval_passed(|| Seen::Running)));
        // Now it must hang.
        assert!(missed.interval_passed(|| Seen::Running));
        missed.reset();
        assert!((0..60).all(|_| !missed.interval_passed(|| Seen::Running)));
        assert!(missed.interval_passed(|| Seen::Stopped), "somebody stopped it");
    }
}
