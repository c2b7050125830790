//! How much of this host's processors others use than the ranks of the job.
//!
//! A rank that waits where ranks outnumber processors gives way to the others. If these are ranks of its job, their
//! work is what it waits for; a stranger who computes only takes the time, and then it is better asleep
//! (`runtime/src/sleep.rs`). A rank cannot see who had the processor; its agent can.
//!
//! Guarantees: an estimate of the last second, to some percent (the kernel samples). Nothing but speed rests on it.

use procfs::process::Process;
use procfs::{CpuTime, CurrentSI, KernelStats};
use std::collections::BTreeMap;

/// What was used since boot, in clock ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Used {
    /// Processors that this process may use.
    processors: u64,
    /// All of their time.
    all: u64,
    /// What programs had of it.
    busy: u64,
    /// What ranks had, by process.
    ranks: BTreeMap<u32, u64>,
}

/// Watches them.
#[derive(Debug, Default)]
pub struct ExternalLoad {
    before: Option<Used>,
}

impl ExternalLoad {
    /// How many processors others than these processes have used since the last time it was asked, in thousandths
    /// of one; 0 the first time and where it cannot be known.
    pub fn look(&mut self, ranks: impl Iterator<Item = u32>) -> u64 {
        let now = used(ranks);
        let others = match (&self.before, &now) {
            (Some(before), Some(now)) => of_others(before, now),
            _ => 0,
        };
        self.before = now;
        others
    }
}

fn used(ranks: impl Iterator<Item = u32>) -> Option<Used> {
    let stat = KernelStats::current().ok()?;
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let mut used = Used::default();
    let processors = stat.cpu_time.iter().enumerate().filter(|(cpu, _)| allowed.is_set(*cpu));
    for (_, time) in processors {
        used.processors += 1;
        let busy = busy(time);
        used.busy += busy;
        used.all += busy + time.idle + time.iowait.unwrap_or(0);
    }
    used.ranks = ranks.filter_map(|pid| Some((pid, ticks_of(pid)?))).collect();
    Some(used)
}

fn busy(time: &CpuTime) -> u64 {
    time.user + time.nice + time.system
}

fn ticks_of(pid: u32) -> Option<u64> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    Some(stat.utime + stat.stime)
}

fn of_others(before: &Used, now: &Used) -> u64 {
    // A process that was not there before began since.
    let had = |pid| before.ranks.get(pid).copied().unwrap_or(0);
    let ranks: u64 = now.ranks.iter().map(|(pid, ticks)| ticks.saturating_sub(had(pid))).sum();
    let busy = now.busy.saturating_sub(before.busy);
    match now.all.saturating_sub(before.all) {
        0 => 0,
        all => 1000 * now.processors * busy.saturating_sub(ranks) / all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(all: u64, busy: u64, ranks: &[(u32, u64)]) -> Used {
        Used { processors: 2, all, busy, ranks: ranks.iter().copied().collect() }
    }

    #[test]
    fn what_ranks_use_is_no_company() {
        let before = after(1000, 500, &[(7, 100), (8, 200)]);
        // Two processors for a second, one of them used by ranks.
        assert_eq!(of_others(&before, &after(1200, 600, &[(7, 150), (8, 250)])), 0);
        // The other one by somebody else.
        assert_eq!(of_others(&before, &after(1200, 700, &[(7, 150), (8, 250)])), 1000);
        // A life that began since.
        assert_eq!(of_others(&before, &after(1200, 700, &[(7, 150), (9, 150)])), 0);
        // The kernel counts what processes have and what processors do by different clocks.
        assert_eq!(of_others(&before, &after(1200, 590, &[(7, 150), (8, 250)])), 0);
        assert_eq!(of_others(&before, &before), 0);
    }

    #[test]
    fn a_process_that_computes_is_noticed_unless_it_is_a_rank() {
        let mut compute = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a shell");
        let (mut knows, mut wonders) = (ExternalLoad::default(), ExternalLoad::default());
        assert_eq!(knows.look([compute.id()].into_iter()), 0, "nothing is known yet");
        wonders.look([].into_iter());
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (mut known, mut unknown) =
            (knows.look([compute.id()].into_iter()), wonders.look([].into_iter()));
        // On a busy machine it may not have had its turn.
        for _ in 0..20 {
            if unknown > known {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
            known = knows.look([compute.id()].into_iter());
            unknown = wonders.look([].into_iter());
        }
        compute.kill().expect("it is ours");
        compute.wait().expect("it is ours");
        assert!(unknown > known, "{unknown} {known}");
    }
}
