//! By how much an image holds up its rank.
//!
//! - The rank stands still while its memory is forked: it tells how long.
//! - Until the child has streamed the image, the rank copies each page that it writes. The kernel
//!   counts that as time of the rank in the kernel; what the rank spent there between two images is
//!   taken off.
//! - Where the ranks leave no processor idle, reading and packing take their time, too.
//!
//! More ranks than processors take turns, so what one loses all lose.

use procfs::process::Process;
use std::time::{Duration, Instant};

/// What the threads of a process have spent in the kernel, and when that was read.
#[derive(Debug, Clone, Copy)]
pub struct KernelTime {
    at: Instant,
    spent: Duration,
    threads: usize,
}

impl KernelTime {
    /// Of this process; `None` if the process has ended.
    pub fn of(pid: u32) -> Option<Self> {
        let stat =
            Process::new(i32::try_from(pid).ok()?).and_then(|process| process.stat()).ok()?;
        let spent = stat.stime as f64 / procfs::ticks_per_second() as f64;
        let threads = usize::try_from(stat.num_threads).unwrap_or(1);
        let spent = Duration::try_from_secs_f64(spent).ok()?;
        Some(Self { at: Instant::now(), spent, threads })
    }

    /// What was spent since an earlier look, and in which time.
    fn since(self, earlier: Self) -> (f64, f64) {
        let spent = self.spent.saturating_sub(earlier.spent).as_secs_f64();
        (spent, self.at.saturating_duration_since(earlier.at).as_secs_f64())
    }
}

/// How many ranks share the processors of a host.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    /// Ranks.
    pub ranks: usize,
    /// Processors.
    pub processors: usize,
}

impl Sharing {
    /// The ranks leave no processor to anybody else.
    pub fn leaves_no_processor(self) -> bool {
        self.ranks >= self.processors
    }

    /// How many of the threads of a rank run at the same time.
    fn at_once(self, threads: usize) -> f64 {
        threads.clamp(1, (self.processors / self.ranks.max(1)).max(1)) as f64
    }

    /// Ranks that take turns on one processor.
    fn of_one(self) -> f64 {
        (self.ranks as f64 / self.processors.max(1) as f64).max(1.0)
    }
}

/// What was seen of one image.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// How long the rank stood still.
    pub pause: Duration,
    /// At the end of the image before.
    pub before: Option<KernelTime>,
    /// When the rank went on.
    pub begin: Option<KernelTime>,
    /// When the image had been streamed.
    pub end: Option<KernelTime>,
    /// Processor time of the thread that read and packed the image.
    pub packing: Duration,
    /// Who else needs the processors.
    pub sharing: Sharing,
}

impl Seen {
    /// By how much the image held up the rank. Without an earlier look the pages count nothing.
    pub fn cost(&self) -> Duration {
        let pages = self.pages().unwrap_or(0.0);
        let packing = match self.sharing.leaves_no_processor() {
            true => self.packing.as_secs_f64(),
            false => 0.0,
        };
        let more = (pages + packing) * self.sharing.of_one();
        self.pause + Duration::try_from_secs_f64(more).unwrap_or_default()
    }

    /// Seconds that the rank spent in the kernel because of the image. Its threads copy pages side
    /// by side.
    fn pages(&self) -> Option<f64> {
        let (usual, between) = self.begin?.since(self.before?);
        let (spent, while_streaming) = self.end?.since(self.begin?);
        let rate = if between > 0.0 { usual / between } else { 0.0 };
        let threads = self.sharing.at_once(self.end?.threads);
        Some((spent - rate * while_streaming).max(0.0) / threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn seen(ranks: usize) -> Seen {
        let start = Instant::now();
        let look = |at: u32, spent: u32| {
            Some(KernelTime { at: start + at * S, spent: spent * S, threads: 1 })
        };
        Seen {
            pause: S / 10,
            // A tenth of the time in the kernel, and in the 10 s of the image 3 s.
            before: look(0, 5),
            begin: look(20, 7),
            end: look(30, 10),
            packing: 4 * S,
            sharing: Sharing { ranks, processors: 4 },
        }
    }

    fn tenths(cost: Duration) -> u128 {
        (cost.as_millis() + 50) / 100
    }

    #[test]
    fn pages_count_beyond_what_is_usual_and_packing_where_no_processor_is_idle() {
        assert_eq!(tenths(seen(2).cost()), 21);
        assert_eq!(tenths(seen(4).cost()), 61);
        assert_eq!(tenths(seen(8).cost()), 121, "two ranks take turns on each processor");
    }

    #[test]
    fn threads_copy_pages_side_by_side() {
        let mut of_threads = seen(2);
        of_threads.end.as_mut().unwrap().threads = 8;
        assert_eq!(tenths(of_threads.cost()), 11, "two of them at a time");
    }

    #[test]
    fn what_is_not_known_costs_nothing() {
        let first = Seen { before: None, ..seen(2) };
        assert_eq!(tenths(first.cost()), 1);
        let dead = Seen { end: None, ..seen(2) };
        assert_eq!(tenths(dead.cost()), 1);
        let busy = Seen { end: seen(2).begin, ..seen(2) };
        assert_eq!(tenths(busy.cost()), 1);
    }

    #[test]
    fn the_kernel_tells_of_this_process() {
        let first = KernelTime::of(std::process::id()).unwrap();
        let until = Instant::now() + 60 * S;
        // The kernel counts in ticks, and on a busy machine this thread gets few of them.
        let (spent, took) = loop {
            let _ = std::fs::read("/proc/self/stat");
            let (spent, took) = KernelTime::of(std::process::id()).unwrap().since(first);
            if spent > 0.0 || Instant::now() > until {
                break (spent, took);
            }
        };
        // Of all threads of the test.
        assert!(spent > 0.0 && spent <= 1024.0 * took, "{spent} of {took} s");
        assert!(KernelTime::of(u32::MAX).is_none());
    }
}
