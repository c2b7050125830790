//! Waiting: spin, then sleep on a doorbell and the descriptors.
//!
//! Ranks may outnumber processors, and then a rank that spins takes the processor from the one that
//! it waits for. So the time to spin depends on ranks per processor. Before it sleeps a rank raises
//! a flag in each of its rings and makes all processors see it (`membarrier`), then looks once more;
//! a writer that sees the flag writes to the doorbell. The writer's check is thus a plain load.

use crate::control::own;
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
    spins: u32,
    rests: u32,
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
            spins: 0,
            rests: 0,
        };
        sleeper.set_crowd(processors, ranks);
        sleeper.watch(sleeper.doorbell, true);
        Ok(sleeper)
    }

    /// Decides how long to spin.
    pub fn set_crowd(&mut self, processors: u32, ranks: u32) {
        self.spins = if ranks > processors { 40 } else { 4000 };
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

    /// Something came: spin again.
    #[inline]
    pub fn busy(&mut self) {
        self.rests = 0;
    }

    /// Nothing came. `true`: it is time to sleep.
    #[inline]
    pub fn tired(&mut self) -> bool {
        self.rests += 1;
        if self.rests < self.spins {
            std::hint::spin_loop();
            return false;
        }
        true
    }

    /// After the flags were raised: everybody sees them from now on.
    pub fn fence(&self) {
        if self.barrier {
            membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
        }
    }

    /// Sleeps until the doorbell rings or a descriptor is readable, `timeout_ms` at the most.
    pub fn sleep(&self, timeout_ms: i32) {
        // Without the barrier a ring might be missed; then we look often.
        let timeout = if self.barrier { timeout_ms } else { timeout_ms.min(1) };
        // SAFETY: all-zero events are valid, and the kernel writes at most eight.
        let mut events: [libc::epoll_event; 8] = unsafe { std::mem::zeroed() };
        // SAFETY: the array lives over the call.
        unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), 8, timeout) };
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
