//! The range of addresses where copies are made while the process stands still.

use crate::base::reserved_area::{COPIES_BASE, COPIES_LEN};
use crate::base::syscalls::{self, Errno};

/// The range of copies, as far as it is used.
#[derive(Debug)]
pub struct Copies {
    end: usize,
}

impl Copies {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { end: COPIES_BASE }
    }

    /// Maps room for so many bytes.
    pub fn room(&mut self, len: usize) -> Result<usize, Errno> {
        let len = len.next_multiple_of(4096);
        if len > COPIES_BASE + COPIES_LEN - self.end {
            return Err(libc::ENOMEM);
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let at = self.end;
        // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
        unsafe { syscalls::map_anonymous(at, len, prot, flags) }?;
        self.end += len;
        Ok(at)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if self.end > COPIES_BASE {
            // SAFETY: only copies lie there; the image child has its own.
            let _ = unsafe { syscalls::unmap(COPIES_BASE, self.end - COPIES_BASE) };
        }
    }
}
