//! Semaphores and message queues of System V, which belong to the kernel.
//!
//! Nobody can tell their contents at the moment of an image; `SEM_UNDO` even changes them when a
//! process dies. A restored process would repeat what it has done to them. So there is no image
//! while a set or queue exists that the program has used.

use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sets or queues that the program has used: bit 32 and the number, in the order of use; 0: none.
/// Part of images.
pub struct Used {
    numbers: [AtomicU64; 64],
    /// There were more, so none can be forgotten.
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

    /// The first one that exists. Forgets those that are gone.
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
    let answer =
        unsafe { syscalls::call!(libc::SYS_semctl, number, 0, libc::IPC_STAT, about.as_mut_ptr()) };
    !matches!(answer, Err(libc::EINVAL | libc::EIDRM))
}

fn has_queue(number: c_int) -> bool {
    let mut about = [0u64; 32];
    // SAFETY: struct msqid_ds has 120 bytes.
    let answer =
        unsafe { syscalls::call!(libc::SYS_msgctl, number, libc::IPC_STAT, about.as_mut_ptr()) };
    !matches!(answer, Err(libc::EINVAL | libc::EIDRM))
}

/// Refuses an image while the program has such a set or queue.
pub fn refuse_used(area: &ReservedArea) -> Result<(), Refused> {
    let found = SEMAPHORES.first(has_semaphores).map(|n| ("semaphores (set", n));
    match found.or_else(|| QUEUES.first(has_queue).map(|n| ("message queues (number", n))) {
        None => Ok(()),
        Some((what, number)) => Err(area.refuse(Refusal::SystemV { what, number })),
    }
}
