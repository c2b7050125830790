//! The library's own allocator, straight on `mmap`: the runtime's signal handler may interrupt the
//! program's `malloc` and must still be able to allocate.
//!
//! Small pieces come from `dlmalloc`. Large ones (slabs of the sender log, buffers of unexpected
//! messages) are mapped one by one, aligned to huge pages. Huge pages are asked for: the first
//! touch of 2 MiB is then one fault, not 512.
//!
//! All of it lies in a part of the address space of its own, far from where the kernel puts the
//! program's mappings. How much the library needs by when depends on timing. The program's mappings
//! must have the same addresses in its next incarnation. The program may send addresses to others
//! (`MPI_Get_address`, for windows whose memory is attached), and no replay repeats an address that
//! has changed.

use dlmalloc::Dlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;
/// The library's part of the address space, begin and end: far below what the kernel gives.
const PART: (usize, usize) = (0x400_0000_0000, 0x2000_0000_0000);
/// The part where sanitizers have their shadow memory in the first one: between the ranges of the
/// boot library, which are in the little that all of them leave.
const SMALL_PART: (usize, usize) = (0x5641_0000_0000, 0x566e_0000_0000);
/// Places that are tried before the kernel may choose.
const ATTEMPTS: usize = 64;
/// The next place.
static NEXT: AtomicUsize = AtomicUsize::new(PART.0);

/// See the module.
pub struct Allocator(Mutex<Dlmalloc<Place>>);

/// Memory of the library's part of the address space.
pub struct Place;

fn is_large(layout: Layout) -> bool {
    layout.size() >= HUGE && layout.align() <= HUGE
}

/// Without the C library: ThreadSanitizer ends a program that asks for addresses in its shadow.
fn mmap(at: usize, len: usize, flags: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: fresh memory, where nothing else is.
    let at = unsafe { libc::syscall(libc::SYS_mmap, at, len, prot, flags, -1, 0) };
    usize::try_from(at).ok()
}

/// Chooses the part, before anything is in it.
#[cold]
fn choose_part() {
    match mmap(PART.0, PAGE, libc::MAP_FIXED_NOREPLACE) {
        // SAFETY: it was mapped here.
        Some(place) => unsafe {
            libc::munmap(std::ptr::without_provenance_mut(place), PAGE);
        },
        None => {
            let (from, to) = (PART.0, SMALL_PART.0);
            let _ = NEXT.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Takes `len` bytes, whole pages, of the library's part.
fn take(len: usize, align: usize) -> Option<usize> {
    if NEXT.load(Ordering::Relaxed) == PART.0 {
        choose_part();
    }
    for _ in 0..ATTEMPTS {
        let mut at = 0;
        let _ = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            at = next.next_multiple_of(align);
            let (begin, end) = if next < SMALL_PART.0 { PART } else { SMALL_PART };
            if at.checked_add(len).is_none_or(|to| to > end) {
                // Round it goes: most of what was there is free again.
                at = begin;
            }
            at.checked_add(len)
        });
        match mmap(at, len, libc::MAP_FIXED_NOREPLACE) {
            // A kernel that does not know the flag takes the place for a wish.
            Some(place) if place.is_multiple_of(align) => return Some(place),
            // SAFETY: it was mapped here.
            Some(place) => unsafe {
                libc::munmap(std::ptr::without_provenance_mut(place), len);
            },
            None => {}
        }
    }
    None
}

fn map(size: usize) -> *mut u8 {
    let Some(len) = size.checked_next_multiple_of(HUGE) else { return std::ptr::null_mut() };
    let Some(at) = take(len, HUGE).or_else(|| map_anywhere(len)) else {
        return std::ptr::null_mut();
    };
    let at: *mut u8 = std::ptr::with_exposed_provenance_mut(at);
    // SAFETY: the advice changes nothing but the size of pages.
    unsafe { libc::madvise(at.cast(), len, libc::MADV_HUGEPAGE) };
    at
}

/// Maps `len` bytes aligned to huge pages, at an address of the kernel's choice. What lies before
/// and behind them is given back.
fn map_anywhere(len: usize) -> Option<usize> {
    let reserved = len.checked_add(HUGE)?;
    let begin = mmap(0, reserved, 0)?;
    let at = begin.next_multiple_of(HUGE);
    for (from, to) in [(begin, at), (at + len, begin + reserved)] {
        if to > from {
            // SAFETY: a part of what was just mapped, and that nobody has.
            unsafe { libc::munmap(std::ptr::without_provenance_mut(from), to - from) };
        }
    }
    Some(at)
}

// SAFETY: segments are fresh, zero, private and whole pages; only what was given is changed or
// given back.
unsafe impl dlmalloc::Allocator for Place {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        match take(size, PAGE).or_else(|| mmap(0, size, 0)) {
            Some(at) => (std::ptr::with_exposed_provenance_mut(at), size, 0),
            None => (std::ptr::null_mut(), 0, 0),
        }
    }

    /// Never to another place: the kernel would choose it.
    fn remap(&self, at: *mut u8, old: usize, new: usize, _can_move: bool) -> *mut u8 {
        // SAFETY: a segment of ours.
        let moved = unsafe { libc::mremap(at.cast(), old, new, 0) };
        if moved == libc::MAP_FAILED { std::ptr::null_mut() } else { moved.cast() }
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: the end of a segment of ours, which is whole pages long.
        unsafe { libc::munmap(at.add(new).cast(), old - new) == 0 }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: a segment of ours.
        unsafe { libc::munmap(at.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

impl Allocator {
    /// With nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Dlmalloc::new_with_allocator(Place)))
    }

    fn small(&self) -> MutexGuard<'_, Dlmalloc<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: both parts return memory of the layout's size and alignment that nobody else has. The
// size alone says which part a piece came from.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: as our caller promises.
        unsafe { self.small().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            // Fresh from the kernel, therefore zero.
            return map(layout.size());
        }
        // SAFETY: as our caller promises.
        unsafe { self.small().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: `map` made this mapping with the length that follows from the size.
            unsafe { libc::munmap(at.cast(), layout.size().next_multiple_of(HUGE)) };
            return;
        }
        // SAFETY: as our caller promises.
        unsafe { self.small().free(at, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size with this alignment is a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: as our caller promises.
            return unsafe { self.small().realloc(at, layout.size(), layout.align(), size) };
        }
        if is_large(layout)
            && is_large(new)
            && layout.size().next_multiple_of(HUGE) == size.next_multiple_of(HUGE)
        {
            return at;
        }
        // SAFETY: as our caller promises; the new piece is apart from the old one.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(at, moved, layout.size().min(size));
                self.dealloc(at, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel gives the program the same place, for every need of the library.
    #[test]
    fn the_library_leaves_the_programs_part_alone() {
        let a = Allocator::new();
        for size in [100, 70_000, 900_000, HUGE + 5] {
            let layout = Layout::from_size_align(size, 16).unwrap();
            // SAFETY: used within its layout and freed once.
            unsafe {
                let at = a.alloc(layout);
                assert!((PART.0..PART.1).contains(&at.addr()), "{size} bytes at {at:p}");
                let more = Layout::from_size_align(2 * size, 16).unwrap();
                let moved = a.realloc(at, layout, 2 * size);
                assert!((PART.0..PART.1).contains(&moved.addr()));
                a.dealloc(moved, more);
            }
        }
    }

    #[test]
    fn pieces_of_all_sizes_keep_their_contents() {
        let a = Allocator::new();
        for size in [2, 100, 5000, HUGE - 1, HUGE, HUGE + 1, 3 * HUGE + 17] {
            let layout = Layout::from_size_align(size, 16).unwrap();
            // SAFETY: pieces are used within their layouts and freed once.
            unsafe {
                let at = a.alloc_zeroed(layout);
                assert!(!at.is_null() && at.addr().is_multiple_of(16));
                assert_eq!((*at, *at.add(size - 1)), (0, 0));
                at.write(1);
                at.add(size - 1).write(2);
                for new in [size / 2 + 1, size * 3, size + 1] {
                    let layout = Layout::from_size_align(size, 16).unwrap();
                    let copy = a.alloc(layout);
                    std::ptr::copy_nonoverlapping(at, copy, size);
                    let moved = a.realloc(copy, layout, new);
                    assert_eq!(*moved, 1);
                    if new >= size {
                        assert_eq!(*moved.add(size - 1), 2);
                    }
                    a.dealloc(moved, Layout::from_size_align(new, 16).unwrap());
                }
                a.dealloc(at, layout);
            }
        }
    }
}
