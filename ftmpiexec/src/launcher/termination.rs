//! SIGTERM as batch systems send it: to every process of a job, to those of one host, once or
//! several times.
//!
//! Guarantees: agents and servers survive SIGTERM while the launcher lives. SIGTERM at the agents
//! of all hosts means the same as SIGTERM at the launcher. SIGTERM at some of them means that their
//! hosts go down: the job goes on. A signal that follows the same signal within [`SAME_REQUEST`] is
//! the same request.

use crate::tuning::{SAME_REQUEST, TERMINATION_WINDOW};
use std::collections::BTreeMap;
use std::time::Duration;

/// What SIGTERM at an agent means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The job is to end.
    Job,
    /// This host goes down.
    Host,
    /// It is known already.
    Known,
}

/// The signals that came, with their times since the start of the job.
#[derive(Debug, Default)]
pub struct Terminations {
    of_agents: BTreeMap<u32, Duration>,
    last: Option<(i32, Duration)>,
}

impl Terminations {
    /// The agent of a host got SIGTERM; `hosts` are those whose agents are up.
    pub fn at_agent(&mut self, host: u32, now: Duration, hosts: &[u32]) -> Meaning {
        let before = self.of_agents.insert(host, now);
        let recent = |host: &u32| {
            self.of_agents
                .get(host)
                .is_some_and(|then| now.saturating_sub(*then) < TERMINATION_WINDOW)
        };
        if hosts.iter().all(recent) {
            return Meaning::Job;
        }
        match before {
            Some(then) if now.saturating_sub(then) < TERMINATION_WINDOW => Meaning::Known,
            _ => Meaning::Host,
        }
    }

    /// A signal came to the launcher, or means the same. `false`: it repeats the last request.
    pub fn is_new(&mut self, signal: i32, now: Duration) -> bool {
        let repeats = |(last, then): (i32, Duration)| {
            last == signal && now.saturating_sub(then) < SAME_REQUEST
        };
        // People who press Ctrl-C twice mean it.
        let new = signal == libc::SIGINT || !self.last.is_some_and(repeats);
        if new {
            self.last = Some((signal, now));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn all_hosts_are_the_job_and_one_host_is_not() {
        let mut seen = Terminations::default();
        assert_eq!(seen.at_agent(1, T(0), &[0, 1, 2]), Meaning::Host);
        assert_eq!(seen.at_agent(1, T(10), &[0, 1, 2]), Meaning::Known);
        assert_eq!(seen.at_agent(0, T(20), &[0, 1, 2]), Meaning::Host);
        assert_eq!(seen.at_agent(2, T(30), &[0, 1, 2]), Meaning::Job);
    }

    #[test]
    fn hosts_that_go_down_one_after_the_other_are_not_the_job() {
        let mut seen = Terminations::default();
        assert_eq!(seen.at_agent(0, T(0), &[0, 1]), Meaning::Host);
        assert_eq!(seen.at_agent(1, T(60_000), &[0, 1]), Meaning::Host);
        // The host that is left is the whole job.
        assert_eq!(seen.at_agent(1, T(90_000), &[1]), Meaning::Job);
    }

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one_request() {
        let mut seen = Terminations::default();
        assert!(seen.is_new(libc::SIGTERM, T(0)));
        assert!(!seen.is_new(libc::SIGTERM, T(900)));
        assert!(seen.is_new(libc::SIGUSR1, T(950)));
        assert!(seen.is_new(libc::SIGTERM, T(60_000)));
        assert!(seen.is_new(libc::SIGINT, T(70_000)) && seen.is_new(libc::SIGINT, T(70_001)));
    }
}
