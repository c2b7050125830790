//! What tests with hostile input share: an allocator with a bound, and draws from fixed seeds.
//!
//! Guarantee: the same seed gives the same draws on every machine.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which refuses single allocations of more than these bytes.
pub struct Bounded(pub usize);

// SAFETY: passes everything on to the system's allocator, or refuses.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The report of a failure may take what it needs.
        if layout.size() > self.0 && !std::thread::panicking() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        unsafe { System.dealloc(at, layout) };
    }
}

/// A small generator of our own: the same numbers on every machine.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
