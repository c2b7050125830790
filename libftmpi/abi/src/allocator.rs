//! The library's own allocator, straight on `mmap`: the runtime's signal handler may interrupt the
//! program's `malloc` and must still be able to allocate.
//!
//! Small pieces come from `dlmalloc`. Large ones (slabs of the sender log, buffers of unexpected
//! messages) are mapped one by one on boundaries of huge pages, and huge pages are asked for: the
//! first touch of 2 MiB then is one fault, not 512.

use std::alloc::{GlobalAlloc, Layout};

const HUGE: usize = 2 << 20;

/// See the module.
pub struct Allocator(pub dlmalloc::GlobalDlmalloc);

fn is_large(layout: Layout) -> bool {
    layout.size() >= HUGE && layout.align() <= HUGE
}

fn map(size: usize) -> *mut u8 {
    let Some(len) = size.checked_next_multiple_of(HUGE) else { return std::ptr::null_mut() };
    let Some(reserved) = len.checked_add(HUGE) else { return std::ptr::null_mut() };
    // SAFETY: fresh memory at an address of the kernel's choice; what lies before and behind the
    // aligned part is given back, and the advice changes nothing but the size of pages.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            reserved,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if at == libc::MAP_FAILED {
            return std::ptr::null_mut();
        }
        let begin = at as usize;
        let aligned = begin.next_multiple_of(HUGE);
        let before = aligned - begin;
        if before > 0 {
            libc::munmap(at, before);
        }
        let behind = reserved - before - len;
        if behind > 0 {
            libc::munmap(at.cast::<u8>().add(before + len).cast(), behind);
        }
        let at = at.cast::<u8>().add(before);
        libc::madvise(at.cast(), len, libc::MADV_HUGEPAGE);
        at
    }
}

// SAFETY: both parts return memory of the layout's size and alignment that nobody else has, and the
// size alone tells which part a piece came from.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: as our caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            // Fresh from the kernel, hence zero.
            return map(layout.size());
        }
        // SAFETY: as our caller promises.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: `map` made this mapping with the length that follows from the size.
            unsafe { libc::munmap(at.cast(), layout.size().next_multiple_of(HUGE)) };
            return;
        }
        // SAFETY: as our caller promises.
        unsafe { self.0.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size with this alignment is a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: as our caller promises.
            return unsafe { self.0.realloc(at, layout, size) };
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

    #[test]
    fn pieces_of_all_sizes_keep_their_contents() {
        let a = Allocator(dlmalloc::GlobalDlmalloc);
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
