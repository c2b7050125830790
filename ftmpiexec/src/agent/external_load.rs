//! How much of this host's processors programs outside of the job use.
//!
//! On an oversubscribed host, a rank that waits yields its processor. If another rank gets the
//! processor, that rank's work is what the first one waits for. If a program outside of the job
//! gets it, the waiting rank had better sleep (`runtime/src/sleep.rs`). A rank cannot see who had
//! the processor; its agent can.
//!
//! Guarantees: an estimate of the last second, to some percent (the kernel samples). Nothing but
//! speed depends on it.

use procfs::process::Process;
use procfs::{CpuTime, CurrentSI, KernelStats};
use std::collections::BTreeMap;

/// Processor time since boot, in clock ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Usage {
    /// How many processors this process may use.
    processors: u64,
    /// All time of these processors.
    all: u64,
    /// The part that programs used.
    busy: u64,
    /// The part that ranks used, by process.
    ranks: BTreeMap<u32, u64>,
}

/// Measures the load from one sample to the next.
#[derive(Debug, Default)]
pub struct ExternalLoad {
    before: Option<Usage>,
}

impl ExternalLoad {
    /// How many processors programs outside of the job have used since the last sample, in
    /// thousandths of one. 0 at the first sample, and where it cannot be measured.
    pub fn sample(&mut self, ranks: impl Iterator<Item = u32>) -> u64 {
        let now = used(ranks);
        let external = match (&self.before, &now) {
            (Some(before), Some(now)) => external_ticks(before, now),
            _ => 0,
        };
        self.before = now;
        external
    }
}

fn used(ranks: impl Iterator<Item = u32>) -> Option<Usage> {
    let stat = KernelStats::current().ok()?;
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let mut used = Usage::default();
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

fn external_ticks(before: &Usage, now: &Usage) -> u64 {
    // A process that is not in the earlier sample began after it.
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

    fn after(all: u64, busy: u64, ranks: &[(u32, u64)]) -> Usage {
        Usage { processors: 2, all, busy, ranks: ranks.iter().copied().collect() }
    }

    #[test]
    fn what_ranks_use_is_no_external_load() {
        let before = after(1000, 500, &[(7, 100), (8, 200)]);
        // Two processors for a second, one of them used by ranks.
        assert_eq!(external_ticks(&before, &after(1200, 600, &[(7, 150), (8, 250)])), 0);
        // The other one is used by a program outside of the job.
        assert_eq!(external_ticks(&before, &after(1200, 700, &[(7, 150), (8, 250)])), 1000);
        // An incarnation began after the first sample.
        assert_eq!(external_ticks(&before, &after(1200, 700, &[(7, 150), (9, 150)])), 0);
        // The kernel counts the time of processes and of processors by different clocks.
        assert_eq!(external_ticks(&before, &after(1200, 590, &[(7, 150), (8, 250)])), 0);
        assert_eq!(external_ticks(&before, &before), 0);
    }

    #[test]
    fn a_program_that_computes_is_noticed_unless_it_is_a_rank() {
        let mut compute = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a shell");
        let (mut with_rank, mut without) = (ExternalLoad::default(), ExternalLoad::default());
        assert_eq!(with_rank.sample([compute.id()].into_iter()), 0, "the first sample");
        without.sample([].into_iter());
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (mut known, mut unknown) =
            (with_rank.sample([compute.id()].into_iter()), without.sample([].into_iter()));
        // On a busy machine the program may not have had its turn.
        for _ in 0..20 {
            if unknown > known {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
            known = with_rank.sample([compute.id()].into_iter());
            unknown = without.sample([].into_iter());
        }
        compute.kill().expect("it is ours");
        compute.wait().expect("it is ours");
        assert!(unknown > known, "{unknown} {known}");
    }
}
