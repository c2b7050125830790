//! Processes on this host: telling them apart, killing what is left.

use crate::agent_protocol::ProcessId;
use crate::tuning::{KILL_POLL_PAUSE, KILL_POLLS, KILL_ROUNDS};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// When a process started, in clock ticks since boot (field 22 of `/proc/PID/stat`). The start time
/// tells a process from a later one of the same number.
#[must_use]
pub fn started_at(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold spaces and parentheses: count from the last parenthesis.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// What a process does, by the letter of proc(5): `R` runs, `S` sleeps, `T` was stopped, `Z` ended.
#[must_use]
pub fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// This process.
pub fn own() -> ProcessId {
    let pid = std::process::id();
    ProcessId { pid, started: started_at(pid).unwrap_or(0) }
}

/// Sends a signal to the group that this process leads.
pub fn signal_group(pid: u32, signal: i32) {
    let (Some(pid), Some(signal)) = (Pid::from_raw(pid as i32), Signal::from_named_raw(signal))
    else {
        return;
    };
    let _ = rustix::process::kill_process_group(pid, signal);
}

/// Sends a signal to one process.
pub fn signal_process(pid: u32, signal: i32) {
    let (Some(pid), Some(signal)) = (Pid::from_raw(pid as i32), Signal::from_named_raw(signal))
    else {
        return;
    };
    let _ = rustix::process::kill_process(pid, signal);
}

/// Kills the process groups that an agent before this one left behind.
pub fn kill_leftovers(leftovers: &[ProcessId]) {
    for process in leftovers {
        // A group outlives its leader. The group is ours if the leader is ours, or gone.
        if started_at(process.pid).is_none_or(|started| started == process.started) {
            signal_group(process.pid, libc::SIGKILL);
        }
    }
}

/// Reaps processes that were orphaned below this agent, which is their *subreaper*. `owned`:
/// whether another part of the agent reaps a process.
pub fn reap_orphans(owned: impl Fn(u32) -> bool) {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    for pid in children() {
        if owned(pid) {
            continue;
        }
        let Some(raw) = Pid::from_raw(pid as i32) else { continue };
        if let Ok(Some(_)) = rustix::process::waitid(WaitId::Pid(raw), look) {
            let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = rustix::process::waitid(WaitId::Pid(raw), reap);
        }
    }
}

/// The children of this process.
pub fn children() -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|line| {
            line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}

/// Kills every descendant. Each round leaves the next generation to this agent, because it is their
/// *subreaper*.
pub fn kill_descendants() {
    for _ in 0..KILL_ROUNDS {
        let alive = children();
        if alive.is_empty() {
            return;
        }
        for pid in &alive {
            signal_process(*pid, libc::SIGKILL);
        }
        for _ in 0..KILL_POLLS {
            reap_orphans(|_| false);
            if children().iter().all(|pid| !alive.contains(pid)) {
                break;
            }
            std::thread::sleep(KILL_POLL_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_when_it_started() {
        let first = own();
        assert!(first.started > 0);
        assert_eq!(first, own());
        assert_eq!(started_at(u32::MAX), None);
        assert!(matches!(state_of(std::process::id()), Some('R' | 'S')));
        assert_eq!(state_of(u32::MAX), None);
    }
}
