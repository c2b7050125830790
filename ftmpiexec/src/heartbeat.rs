//! How launcher and agents notice that they have lost each other.
//!
//! One time says how long silence may last (`--detect`), and all others follow from it ([`Times`]).
//! An agent sends a heartbeat every [`Times::interval`], and the launcher answers each of them. The
//! launcher counts a host as lost after [`Times::missed_max`] heartbeats that did not come, and
//! starts its ranks elsewhere. The agent gives its ranks up after [`Times::lease`] without an
//! answer, if the network does not answer either ([`crate::agent`], `lease`).
//!
//! The death of an agent on the launcher's own host is known from its process. There a process that
//! runs is not lost because the machine is busy: only one that has been stopped, or one that is
//! silent for [`SILENT_HERE`] and must hang.
//!
//! Where all hosts are silent at once, both wait longer ([`crate::own_link`]).
//!
//! Guarantees: the agent's patience ends first, with time to kill its ranks. So two incarnations of
//! a rank never run at the same time.
//!
//! Source: leases of Gray and Cheriton (SOSP 1989).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest time between two heartbeats.
const INTERVAL_MAX: Duration = Duration::from_secs(1);

/// Silence of an agent on the launcher's host whose process runs, at the least.
pub const SILENT_HERE: Duration = Duration::from_secs(120);

/// Below this lease the kernel has sent little again when it ends.
const SHORT_LEASE: Duration = Duration::from_secs(3);

/// The times of `--detect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    detect: Duration,
}

impl Times {
    /// Those that follow from the longest silence of a host that is not lost.
    pub const fn of(detect: Duration) -> Self {
        Self { detect }
    }

    /// The longest silence of a host that is not lost.
    pub const fn detect(self) -> Duration {
        self.detect
    }

    /// Time between two heartbeats of an agent.
    pub fn interval(self) -> Duration {
        (self.detect / 10).min(INTERVAL_MAX)
    }

    /// So many intervals.
    fn intervals(self, time: Duration) -> u32 {
        (time.as_millis() / self.interval().as_millis().max(1)) as u32
    }

    /// Heartbeats that may be missing in a row before a host counts as lost.
    pub fn missed_max(self) -> u32 {
        self.intervals(self.detect)
    }

    /// As [`Times::missed_max`], of an agent on the launcher's host whose process runs.
    pub fn silent_here_max(self) -> u32 {
        self.intervals(SILENT_HERE.max(self.detect))
    }

    /// How long an agent waits for an answer. The launcher's patience begins with a heartbeat that
    /// arrived no later than its answer left. One more heartbeat and the killing of the ranks must
    /// fit in between.
    pub fn lease(self) -> Duration {
        self.detect * 4 / 5
    }

    /// Segments or probes without acknowledgement: there are more after [`Times::lease`] without a
    /// network (the kernel sends again after 0.2, 0.6, 1.4 s), and none while a kernel answers.
    pub fn unanswered_min(self) -> u64 {
        if self.lease() < SHORT_LEASE { 1 } else { 2 }
    }

    /// How long an agent must have waited for an answer before its word about the launcher counts.
    /// Below [`Times::lease`], with time to ask all.
    pub fn all_silent(self) -> Duration {
        self.detect * 3 / 5
    }

    /// How long the question to all other agents may take.
    pub fn ask_limit(self) -> Duration {
        self.interval()
    }

    /// An answer that is older proves no contact. An answer and the next heartbeat take little more
    /// than [`Times::interval`].
    pub fn fresh(self) -> Duration {
        self.interval() * 2
    }

    /// Time without contact to any host from which on the own link may be down.
    pub fn gap(self) -> Duration {
        self.interval() * 3
    }

    /// Where no host hears the launcher, an agent gives up so much earlier than the launcher: two
    /// heartbeats, and the killing of its ranks.
    pub fn margin(self) -> Duration {
        self.detect / 2
    }

    /// How long the way between two hosts may not work before that is reported. The launcher then
    /// looks whether it hears both: less than it takes to miss a host.
    pub fn path_limit(self) -> Duration {
        self.lease()
    }

    /// One attempt to reach the agent of another host on a way that is watched.
    pub fn path_attempt(self) -> Duration {
        self.detect * 3 / 10
    }

    /// How long the other host may be silent on a connection of a rank or a server. Longer than the
    /// agents take to find a cut: what they find says more.
    pub fn connection(self) -> Duration {
        self.detect * 2
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::of(ftmpi_options::values::DETECT)
    }
}

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

    /// [`Times::interval`] has passed. `true`: too many heartbeats are missing. `process` looks at
    /// the agent's process.
    pub fn interval_passed(&mut self, times: Times, process: impl FnOnce() -> Seen) -> bool {
        self.0 += 1;
        self.0 > times.missed_max()
            && match process() {
                Seen::Nothing | Seen::Stopped => true,
                Seen::Running => self.0 > times.silent_here_max(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_gives_up_before_the_launcher_does() {
        for millis in [1000, 2000, 6000, 10_000, 60_000, 3_600_000] {
            let times = Times::of(Duration::from_millis(millis));
            let launcher = times.interval() * times.missed_max();
            assert!(launcher >= times.detect(), "{times:?}");
            assert!(times.lease() + times.interval() < launcher, "time is left to kill the ranks");
            let asked = times.all_silent().checked_sub(times.ask_limit() + times.fresh()).unwrap();
            assert!(asked >= times.gap(), "{times:?}");
            assert!(times.all_silent() + 2 * times.ask_limit() <= times.lease(), "time to ask");
            assert!(times.fresh() > times.interval());
            assert!(times.gap() > times.interval() + times.fresh() / 2);
            assert!(times.path_limit() < launcher && times.connection() > times.path_limit());
        }
        assert_eq!(Times::default().interval(), Duration::from_millis(600));
    }

    const TEN: Times = Times::of(Duration::from_secs(10));

    #[test]
    fn a_heartbeat_restarts_the_count() {
        let mut missed = MissedBeats::default();
        for seen in [Seen::Nothing, Seen::Stopped] {
            assert!((0..10).all(|_| !missed.interval_passed(TEN, || seen)));
            assert!(missed.interval_passed(TEN, || seen));
            missed.reset();
            assert!(!missed.interval_passed(TEN, || seen));
            missed.reset();
        }
    }

    #[test]
    fn an_agent_here_whose_process_runs_is_not_lost_because_it_is_slow() {
        let mut missed = MissedBeats::default();
        assert!((0..120).all(|_| !missed.interval_passed(TEN, || Seen::Running)));
        // Now it must hang.
        assert!(missed.interval_passed(TEN, || Seen::Running));
        missed.reset();
        assert!((0..60).all(|_| !missed.interval_passed(TEN, || Seen::Running)));
        assert!(missed.interval_passed(TEN, || Seen::Stopped), "somebody stopped it");
    }
}
