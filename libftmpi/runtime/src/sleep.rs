//! Waiting: spin, then sleep on a doorbell and the descriptors.
//!
//! Ranks may outnumber processors, and then a rank that spins takes the processor from the one that
//! it waits for. So the time to spin depends on ranks per processor. The ranks of this host may fit
//! while others use the processors too (another job, another "host" on the same machine). A rank
//! may then lose the processor while it spins, and spins half as long the next time. Where ranks
//! outnumber processors a rank gives way instead, as long as that is quick.
//!
//! Before it sleeps a rank raises a flag in each of its rings and makes all processors see it
//! (`membarrier`). Then it looks once more. A writer that sees the flag writes to the doorbell, so
//! the writer's check is a plain load.

use crate::control::own;
use crate::status::StatusPage;
use crate::tuning::{
    BUDGET_MAX, BUDGET_MIN, EXTERNAL_LOAD, GAP, GIVEN_LONG, GIVEN_LONG_TO_OTHERS, HASTE_MAX,
    HASTE_MIN, LOOKS_OVERSUBSCRIBED, LOOKS_ROOMY, TICKS_PER_US, YIELDING,
};
use ftmpi_wire::status::word;
use std::io;

/// `linux/membarrier.h`
const MEMBARRIER_GLOBAL_EXPEDITED: i32 = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

/// How to wait.
#[derive(Debug)]
pub struct Sleeper {
    epoll: i32,
    doorbell: i32,
    barrier: bool,
    /// Ranks do not outnumber processors.
    roomy: bool,
    /// How often to look before the first rest.
    looks: u32,
    /// How long to spin then, in ticks.
    budget: u64,
    /// A tool has chosen how long.
    chosen: bool,
    /// When nothing had come for the first time; 0: something came since.
    since: u64,
    /// The last look.
    last: u64,
    patience: Patience,
    status: StatusPage,
}

/// What a rank does to which nothing comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It looks again at once.
    Spin,
    /// It yields its processor.
    GiveWay,
    /// It sleeps.
    Sleep,
}

/// Whether a rank gives way before it sleeps. A rank that gives way gets the processor back when
/// all others that want it have had their turn. That takes a microsecond where these are ranks that
/// give way as well, and milliseconds where one computes. If the one that computes is a rank of
/// this job, its work is what is waited for. If it is another program, the rank is better off
/// asleep, because a process that wakes comes first. The rank sleeps at once the next times, and
/// ever more of them while the other program goes on.
#[derive(Debug)]
struct Patience {
    /// Times more that the rank sleeps at once.
    hasty: u32,
    /// Times that it does so when giving way takes long the next time.
    next: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { hasty: 0, next: HASTE_MIN }
    }
}

impl Patience {
    fn gives_way(&mut self) -> bool {
        let gives_way = self.hasty == 0;
        self.hasty = self.hasty.saturating_sub(1);
        gives_way
    }

    fn gave_way(&mut self, took: u64, others: impl Fn() -> u64) {
        if took > GIVEN_LONG || took > GIVEN_LONG_TO_OTHERS && others() >= EXTERNAL_LOAD {
            (self.hasty, self.next) = (self.next, (2 * self.next).min(HASTE_MAX));
        } else {
            self.next = HASTE_MIN;
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn ticks() -> u64 {
    // SAFETY: reads the time-stamp counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64 * 3
}

fn membarrier(command: i32) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

impl Sleeper {
    /// For a rank that shares `processors` with `ranks` ranks.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new(processors: u32, ranks: u32) -> io::Result<Self> {
        // SAFETY: plain system calls without pointers.
        let (epoll, doorbell) = unsafe {
            (
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
                libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC),
            )
        };
        if epoll < 0 || doorbell < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut sleeper = Self {
            epoll: own(epoll),
            doorbell: own(doorbell),
            barrier: membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED),
            roomy: true,
            looks: LOOKS_ROOMY,
            budget: BUDGET_MIN,
            chosen: false,
            since: 0,
            last: 0,
            patience: Patience::default(),
            status: StatusPage::NONE,
        };
        sleeper.set_subscription(processors, ranks, StatusPage::NONE);
        sleeper.watch(sleeper.doorbell, true);
        Ok(sleeper)
    }

    /// Decides how long to spin. `status`: where the agent publishes the external load.
    pub fn set_subscription(&mut self, processors: u32, ranks: u32, status: StatusPage) {
        self.status = status;
        self.roomy = ranks <= processors;
        (self.looks, self.budget) =
            if self.roomy { (LOOKS_ROOMY, BUDGET_MAX) } else { (LOOKS_OVERSUBSCRIBED, 0) };
    }

    /// Whether each rank has a processor.
    #[must_use]
    pub fn is_roomy(&self) -> bool {
        self.roomy
    }

    /// How often a rank that waits looks before its first rest, if a tool chooses that.
    pub fn choose_looks(&mut self, looks: u32) {
        self.looks = looks;
    }

    /// How long a rank spins before it sleeps, in microseconds.
    #[must_use]
    pub fn spins_us(&self) -> u64 {
        let most = if self.roomy { BUDGET_MAX } else { 0 };
        (if self.chosen { self.budget } else { most }) / TICKS_PER_US
    }

    /// It spins so long from now on, whether or not processors are scarce.
    pub fn choose_spins_us(&mut self, microseconds: u32) {
        (self.budget, self.chosen) = (u64::from(microseconds) * TICKS_PER_US, true);
    }

    /// The descriptor that others write to.
    #[must_use]
    pub fn doorbell(&self) -> i32 {
        self.doorbell
    }

    /// Wakes when this descriptor is readable. `edge`: only when it becomes so.
    pub fn watch(&self, fd: i32, edge: bool) {
        let events = libc::EPOLLIN as u32 | if edge { libc::EPOLLET as u32 } else { 0 };
        let mut event = libc::epoll_event { events, u64: fd as u64 };
        // SAFETY: the event lives over the call.
        unsafe { libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    }

    /// No more. (Before it is closed.)
    pub fn forget(&self, fd: i32) {
        // SAFETY: no event is needed to delete.
        unsafe {
            libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut());
        }
    }

    /// See [`ftmpi_core::engine::Link::looks`].
    #[inline]
    #[must_use]
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Something came: spin again.
    #[inline]
    pub fn busy(&mut self) {
        if self.since != 0 {
            self.since = 0;
            if self.roomy && !self.chosen {
                self.budget = (self.budget + self.budget / 16).min(BUDGET_MAX);
            }
        }
    }

    /// Nothing came: what to do now.
    #[inline]
    pub fn how_to_rest(&mut self) -> Rest {
        let now = ticks();
        if self.since == 0 {
            self.since = now;
        } else if now.wrapping_sub(self.last) > GAP && !self.chosen {
            self.budget = (self.budget / 2).max(BUDGET_MIN.min(self.budget));
        }
        self.last = now;
        let waited = now.wrapping_sub(self.since);
        if waited < self.budget {
            return Rest::Spin;
        }
        if !self.roomy && waited < YIELDING && self.patience.gives_way() {
            return Rest::GiveWay;
        }
        Rest::Sleep
    }

    /// Nothing came: spins or gives way. `true`: it is time to sleep.
    #[inline]
    pub fn tired(&mut self) -> bool {
        match self.how_to_rest() {
            Rest::Spin => std::hint::spin_loop(),
            Rest::GiveWay => self.last = self.give_way_from(self.last),
            Rest::Sleep => return true,
        }
        false
    }

    /// How long nothing has come, in ticks, at the last look at the clock.
    #[must_use]
    pub fn waited(&self) -> u64 {
        if self.since == 0 { 0 } else { self.last.wrapping_sub(self.since) }
    }

    /// Gives others a turn where ranks outnumber processors, unless it is better to sleep.
    pub fn give_turn(&mut self) -> bool {
        let gives = !self.roomy && self.patience.hasty == 0;
        if gives {
            self.give_way_from(ticks());
        }
        gives
    }

    /// Gives way; the result is the time afterwards.
    fn give_way_from(&mut self, now: u64) -> u64 {
        give_way();
        self.gave_way_from(now)
    }

    /// It gave way when [`Sleeper::how_to_rest`] said so.
    pub fn gave_way(&mut self) {
        self.last = self.gave_way_from(self.last);
    }

    fn gave_way_from(&mut self, now: u64) -> u64 {
        let (status, after) = (self.status, ticks());
        self.patience.gave_way(after.wrapping_sub(now), || status.get(word::EXTERNAL_LOAD));
        after
    }

    /// After the flags were raised: everybody sees them from now on.
    pub fn fence(&self) {
        if self.barrier {
            membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
        }
    }

    /// For a sleep that keeps no reference to this sleeper, which others may replace meanwhile.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket { epoll: self.epoll, barrier: self.barrier }
    }

    /// Sleeps until the doorbell rings or a descriptor is readable, `timeout_ms` at the most.
    /// `false`: nothing came.
    pub fn sleep(&mut self, timeout_ms: i32) -> bool {
        let came = self.ticket().sleep(timeout_ms);
        self.slept();
        came
    }

    /// A sleep is over: it is no sign that others need the processor.
    pub fn slept(&mut self) {
        self.last = ticks();
    }
}

/// What a sleep needs.
#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    epoll: i32,
    barrier: bool,
}

impl Ticket {
    /// As [`Sleeper::sleep`].
    pub fn sleep(self, timeout_ms: i32) -> bool {
        // Without the barrier a ring might be missed; then the rank looks often.
        let timeout = if self.barrier { timeout_ms } else { timeout_ms.min(1) };
        // SAFETY: all-zero events are valid, and the kernel writes at most eight.
        let mut events: [libc::epoll_event; 8] = unsafe { std::mem::zeroed() };
        // SAFETY: the array lives over the call.
        unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), 8, timeout) != 0 }
    }
}

/// Rings somebody's doorbell.
pub fn ring(doorbell: i32) {
    let one: u64 = 1;
    // SAFETY: eight bytes are written from a live variable.
    unsafe { libc::write(doorbell, (&raw const one).cast(), 8) };
}

/// Lets others run.
pub fn give_way() {
    // SAFETY: a plain system call.
    unsafe { libc::sched_yield() };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a rank gives way in so many waits, if that takes so long each time and others use
    /// so much.
    fn given(patience: &mut Patience, waits: u32, took: u64, others: u64) -> u32 {
        let mut given = 0;
        for _ in 0..waits {
            if patience.gives_way() {
                patience.gave_way(took, || others);
                given += 1;
            }
        }
        given
    }

    #[test]
    fn a_rank_that_gives_way_to_other_programs_sleeps() {
        for (took, others) in [(2 * GIVEN_LONG, 0), (2 * GIVEN_LONG_TO_OTHERS, EXTERNAL_LOAD)] {
            let mut patience = Patience::default();
            assert_eq!(given(&mut patience, 1000, 3000, others), 1000);
            // Another program computes.
            assert_eq!(given(&mut patience, 1000, took, others), 6);
            assert_eq!(given(&mut patience, 100_000, took, others), 26);
            // And ends: it takes no longer than one of these rounds until it is noticed.
            assert!(given(&mut patience, 2 * HASTE_MAX, 3000, others) >= HASTE_MAX);
            assert_eq!(given(&mut patience, 1000, 3000, others), 1000);
        }
    }

    #[test]
    fn a_rank_that_gives_way_to_ranks_that_compute_goes_on() {
        let mut patience = Patience::default();
        assert_eq!(given(&mut patience, 1000, 2 * GIVEN_LONG_TO_OTHERS, EXTERNAL_LOAD - 1), 1000);
    }

    #[test]
    fn turns_are_given_where_ranks_outnumber_processors_and_not_to_other_programs() {
        let mut sleeper = Sleeper::new(2, 2).unwrap();
        assert!(!sleeper.give_turn());
        sleeper.set_subscription(2, 3, StatusPage::NONE);
        assert!(sleeper.give_turn());
        sleeper.patience.gave_way(2 * GIVEN_LONG, || 0);
        assert!(!sleeper.give_turn());
    }
}
