//! The first touch of memory, in small pages where a huge one takes too long.

const PAGE: usize = 4096;

/// The kernel is not to put huge pages under this memory.
pub(crate) fn want_small_pages(memory: &mut [u8]) {
    let begin = memory.as_ptr().addr() & !(PAGE - 1);
    let end = (memory.as_ptr().addr() + memory.len()).next_multiple_of(PAGE);
    let at = memory.as_mut_ptr().with_addr(begin);
    // SAFETY: the advice changes nothing but the size of pages; the first and the last page are
    // mapped, because bytes of them are ours.
    unsafe { libc::madvise(at.cast(), end - begin, libc::MADV_NOHUGEPAGE) };
}

/// Writes to each page. The contents are unspecified afterwards.
pub(crate) fn touch(memory: &mut [u8]) {
    let mut at = 0;
    while at < memory.len() {
        // A compiler must not see that it is zero already.
        memory[at] = std::hint::black_box(0);
        at += PAGE - (memory.as_ptr().addr() + at) % PAGE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of this memory that are there.
    fn resident(memory: &[u8]) -> usize {
        let mut there = vec![0u8; memory.len() / PAGE];
        // SAFETY: the memory is whole pages, and the kernel writes one byte for each.
        let result = unsafe {
            libc::mincore(memory.as_ptr().cast_mut().cast(), memory.len(), there.as_mut_ptr())
        };
        assert_eq!(result, 0);
        there.iter().filter(|page| **page & 1 == 1).count()
    }

    #[test]
    fn what_is_touched_is_there_in_small_pages_and_nothing_else() {
        let len = 8 << 20;
        // SAFETY: fresh memory.
        let memory = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = libc::mmap(std::ptr::null_mut(), len, 3, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            libc::madvise(at, len, libc::MADV_HUGEPAGE);
            std::slice::from_raw_parts_mut(at.cast::<u8>(), len)
        };
        let (begin, end) = ((2 << 20) + 100, (2 << 20) + 40 * PAGE + 1);
        want_small_pages(&mut memory[begin..end]);
        touch(&mut memory[begin..end]);
        assert_eq!(resident(memory), 41);
    }
}
