//! The memory of a simulated rank: everything that the rank allocates, and its stack, in one piece
//! that can be copied away and back. This is the simulator's process image. A restored arena lies
//! where it lay before, so every pointer in it is right again.
//!
//! A global allocator serves the code of a rank from its arena, and all other code from the system.
//! The arena of the running rank is noted for each thread, so several simulations can run side by
//! side.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of an arena.
const SIZE: usize = 32 << 20;
/// Bytes of its stack.
pub const STACK: usize = 256 << 10;
const SLOTS: usize = 2048;
const CLASSES: usize = 28;

static BASE: AtomicUsize = AtomicUsize::new(0);
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<*mut Head> = const { Cell::new(null_mut()) };
}

#[repr(C)]
struct Head {
    used: usize,
    free: [*mut u8; CLASSES],
}

const HEAP: usize = STACK + 4096;

/// The allocator.
pub struct Arenas;

fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks of an arena are disjoint: a bump pointer and free lists by size class, each block
// aligned to its size up to a page. All other requests go to the system's allocator. An arena is
// used by one thread at a time: the one that simulates its rank.
unsafe impl GlobalAlloc for Arenas {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let head = CURRENT.with(Cell::get);
        if head.is_null() {
            // SAFETY: passed on as it came.
            return unsafe { System.alloc(layout) };
        }
        let class = class(layout);
        if class >= CLASSES {
            return null_mut();
        }
        // SAFETY: `head` is the header of a live arena; a free block holds the next one's address.
        unsafe {
            let list = &mut (*head).free[class];
            if !list.is_null() {
                let block = *list;
                *list = block.cast::<*mut u8>().read();
                return block;
            }
            let at = (*head).used.next_multiple_of(1 << class.min(12));
            if at + (1 << class) > SIZE {
                return null_mut();
            }
            (*head).used = at + (1 << class);
            head.cast::<u8>().add(at)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let base = BASE.load(Ordering::Relaxed);
        let offset = (block as usize).wrapping_sub(base);
        if base == 0 || offset >= SIZE * SLOTS {
            // SAFETY: it came from there.
            return unsafe { System.dealloc(block, layout) };
        }
        let class = class(layout);
        // SAFETY: the block lies in the arena whose header is at the slot's start.
        unsafe {
            let head = (base + offset / SIZE * SIZE) as *mut Head;
            block.cast::<*mut u8>().write((*head).free[class]);
            (*head).free[class] = block;
        }
    }
}

/// One rank's memory.
pub struct Arena {
    base: *mut u8,
}

impl Arena {
    /// An empty one.
    ///
    /// # Panics
    /// When more ranks are simulated at once than there are slots.
    #[must_use]
    pub fn new() -> Self {
        let mut free = FREE.lock().expect("no panic while it is held");
        if BASE.load(Ordering::Relaxed) == 0 {
            // SAFETY: reserves address space; pages come when they are touched.
            let base = unsafe {
                libc::mmap(
                    null_mut(),
                    SIZE * SLOTS,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            assert_ne!(base, libc::MAP_FAILED, "address space for the simulated ranks");
            free.extend((0..SLOTS).rev());
            BASE.store(base as usize, Ordering::Relaxed);
        }
        let slot = free.pop().expect("at most 2048 ranks at once");
        let arena = Self { base: (BASE.load(Ordering::Relaxed) + slot * SIZE) as *mut u8 };
        drop(free);
        arena.clear();
        arena
    }

    fn head(&self) -> *mut Head {
        self.base.cast()
    }

    /// Forgets everything in it.
    pub fn clear(&self) {
        // SAFETY: the arena is ours and nobody runs in it.
        unsafe {
            self.head().write(Head { used: HEAP, free: [null_mut(); CLASSES] });
        }
    }

    /// Top of its stack (it grows downwards) and the lowest address that it may reach.
    #[must_use]
    pub fn stack(&self) -> (usize, usize) {
        (self.base as usize + HEAP, self.base as usize + HEAP - STACK)
    }

    /// A copy of everything in it.
    #[must_use]
    pub fn image(&self) -> Vec<u8> {
        // SAFETY: the arena is ours, nobody runs in it, and `used` bytes of it are in use.
        unsafe { std::slice::from_raw_parts(self.base, (*self.head()).used) }.to_vec()
    }

    /// Puts a copy back.
    pub fn restore(&self, image: &[u8]) {
        // SAFETY: as in `image`; the copy came from this arena, so it fits.
        unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), self.base, image.len()) }
    }

    /// Runs something whose allocations go here.
    pub fn inside<T>(&self, f: impl FnOnce() -> T) -> T {
        let _back = Back(CURRENT.with(|c| c.replace(self.head())));
        f()
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let slot = (self.base as usize - BASE.load(Ordering::Relaxed)) / SIZE;
        FREE.lock().expect("no panic while it is held").push(slot);
    }
}

/// Puts the arena back that was current before, also when a rank panics.
struct Back(*mut Head);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.with(|c| c.set(self.0));
    }
}

/// Runs something whose allocations go to the system, from inside a rank.
pub fn outside<T>(f: impl FnOnce() -> T) -> T {
    let _back = Back(CURRENT.with(|c| c.replace(null_mut())));
    f()
}
