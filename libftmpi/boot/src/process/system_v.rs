//! Which semaphores, message queues and memory of System V the program uses, and by which numbers
//! it knows them. What they hold: [`crate::process::system_v_objects`],
//! [`crate::process::system_v_memory`].

use crate::base::rank;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sets or queues that the program has used: bits 32 and, for operations that the kernel undoes,
/// 33, and the number; 0: none. Part of images.
pub struct Used {
    numbers: [AtomicU64; 64],
    /// There were more, so none can be forgotten.
    more: AtomicU32,
    /// The numbers by which the program knows them.
    pub known: Numbers,
}

const THERE: u64 = 1 << 32;
const UNDONE: u64 = 1 << 33;

/// Which numbers of the kernel the program's numbers stand for. They differ for objects that were
/// made again in a restored process. Part of images.
pub struct Numbers {
    /// The program's number, bit 31 set, and the kernel's; 0: none.
    pairs: [AtomicU64; 64],
}

impl Numbers {
    pub const fn new() -> Self {
        Self { pairs: [const { AtomicU64::new(0) }; 64] }
    }

    fn find(&self, wanted: impl Fn(c_int, c_int) -> bool) -> Option<(c_int, c_int)> {
        let pairs = self.pairs.iter().map(|pair| pair.load(Ordering::Relaxed));
        let pairs = pairs.take_while(|pair| *pair != 0);
        let known = pairs.map(|pair| ((pair >> 32) as c_int & c_int::MAX, pair as c_int));
        known.into_iter().find(|(programs, kernels)| wanted(*programs, *kernels))
    }

    /// The kernel's number for one of the program's.
    pub fn kernels(&self, number: c_int) -> c_int {
        self.find(|programs, _| programs == number).map_or(number, |(_, kernels)| kernels)
    }

    /// The program's number for one of the kernel's. The kernel may give a number by which the
    /// program knows something else: then the program gets one that nobody has.
    pub fn programs(&self, number: c_int) -> c_int {
        if number < 0 {
            return number;
        }
        if let Some((programs, _)) = self.find(|_, kernels| kernels == number) {
            return programs;
        }
        let is_taken = |number| self.find(|programs, _| programs == number).is_some();
        if !is_taken(number) {
            return number;
        }
        let free = (1..c_int::MAX).rev().find(|number| !is_taken(*number)).unwrap_or(number);
        self.add(free, number);
        free
    }

    /// In a restored process: what the program knew as the object with this number of the kernel
    /// is another one now.
    pub fn now_means(&self, before: c_int, now: c_int) {
        let programs = self.find(|_, kernels| kernels == before).map_or(before, |(it, _)| it);
        self.add(programs, now);
    }

    fn add(&self, programs: c_int, kernels: c_int) {
        let pair = |programs: c_int| (programs as u64 | 1 << 31) << 32 | u64::from(kernels as u32);
        for slot in &self.pairs {
            let found = slot.load(Ordering::Relaxed);
            if found == 0 || found >> 32 == pair(programs) >> 32 {
                slot.store(pair(programs), Ordering::Relaxed);
                return;
            }
        }
    }
}

impl Used {
    const fn new() -> Self {
        let numbers = [const { AtomicU64::new(0) }; 64];
        Self { numbers, more: AtomicU32::new(0), known: Numbers::new() }
    }

    /// The program uses the object with this number of the kernel.
    pub fn note(&self, number: c_int) {
        self.note_with(number, 0);
    }

    /// The same, with an operation that the kernel undoes at the end of the process.
    pub fn note_undone(&self, number: c_int) {
        self.note_with(number, UNDONE);
    }

    fn note_with(&self, number: c_int, more: u64) {
        if !rank::is_rank() {
            return;
        }
        let order = Ordering::Relaxed;
        let wanted = THERE | u64::from(number as u32);
        for slot in &self.numbers {
            let found = slot.load(order);
            let free = found == 0 && slot.compare_exchange(0, wanted, order, order).is_ok();
            if free || slot.load(order) & !UNDONE == wanted {
                if more != 0 {
                    slot.fetch_or(more, order);
                }
                return;
            }
        }
        self.more.store(1, order);
    }

    /// Whether there were too many to be known.
    pub fn has_more(&self) -> bool {
        self.more.load(Ordering::Relaxed) != 0
    }

    pub fn numbers(&self) -> impl Iterator<Item = c_int> + '_ {
        let found = self.numbers.iter().map(|slot| slot.load(Ordering::Relaxed));
        found.filter(|found| *found != 0).map(|found| found as u32 as c_int)
    }

    fn slot(&self, number: c_int) -> Option<&AtomicU64> {
        let wanted = THERE | u64::from(number as u32);
        self.numbers.iter().find(|slot| slot.load(Ordering::Relaxed) & !UNDONE == wanted)
    }

    pub fn is_undone(&self, number: c_int) -> bool {
        self.slot(number).is_some_and(|slot| slot.load(Ordering::Relaxed) & UNDONE != 0)
    }

    /// The object is gone.
    pub fn forget(&self, number: c_int) {
        if let Some(slot) = self.slot(number) {
            slot.store(0, Ordering::Relaxed);
        }
    }
}

pub static SEMAPHORES: Used = Used::new();

pub static QUEUES: Used = Used::new();
