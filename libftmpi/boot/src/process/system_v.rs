//! Semaphores and message queues of System V: the kernel's, and nobody can tell what is in them when an image is taken
//! (`SEM_UNDO` least of all: it changes them when a process dies). A restored process would do to them again what it
//! has done already. So there are no images while a set or queue is there that the program has used.

use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What was used: 1 and its number, in the order of use; 0: none. Part of images.
pub struct Used {
    numbers: [AtomicU64; 64],
    /// There were more, so that none can be forgotten.
    more: AtomicU32,
}

const THERE: u64 = 1 << 32;

impl Used {
    const fn new() -> Self {
        Self { numbers: [const { AtomicU64::new(0) }; 64], more: AtomicU32::new(0) }
    }

    pub fn note(&self, number: c_int) {
        if !rank::is_rank() {
            return;
        }
        let wanted = THERE | u64::from(number as u32);
        for slot in &self.numbers {
            let found = slot.load(Ordering::Relaxed);
            if found == wanted {
                return;
            }
            let free = found == 0
                && slot.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if free || slot.load(Ordering::Relaxed) == wanted {
                return;
            }
        }
        self.more.store(1, Ordering::Relaxed);
    }

    /// The first that is there; forgets those that are gone.
    fn first(&self, is_there: fn(c_int) -> bool) -> Option<c_int> {
        for slot in &self.numbers {
            let found = slot.load(Ordering::Relaxed);
            let number = found as u32 as c_int;
            if found != 0 && is_there(number) {
                return Some(number);
            }
            let _ = slot.compare_exchange(found, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        (self.more.load(Ordering::Relaxed) != 0).then_some(-1)
    }
}

pub static SEMAPHORES: Used = Used::new();

pub static QUEUES: Used = Used::new();

fn has_semaphores(number: c_int) -> bool {
    // struct semid_ds.
    let mut about = [0u64; 32];
    // SAFETY: struct semid_ds has 104 bytes.
    let told =
        unsafe { syscalls::call!(libc::SYS_semctl, number, 0, libc::IPC_STAT, about.as_mut_ptr()) };
    !matches!(told, Err(libc::EINVAL | libc::EIDRM))
}

fn has_queue(number: c_int) -> bool {
    let mut about = [0u64; 32];
    // SAFETY: struct msqid_ds has 120 bytes.
    let told =
        unsafe { syscalls::call!(libc::SYS_msgctl, number, libc::IPC_STAT, about.as_mut_ptr()) };
    !matches!(told, Err(libc::EINVAL | libc::EIDRM))
}

/// Refuses an image while something is there.
pub fn refuse_used(area: &ReservedArea) -> Result<(), Refused> {
    let found = SEMAPHORES.first(has_semaphores).map(|n| ("semaphores (set", n));
    match found.or_else(|| QUEUES.first(has_queue).map(|n| ("message queues (number", n))) {
        None => Ok(()),
        Some((what, number)) => Err(area.refuse(Refusal::SystemV { what, number })),
    }
}
