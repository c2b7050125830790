//! Pages of the image child that the agent has read: the child gives them up.
//!
//! As long as the child has a page, the rank copies the page when it writes to it, into new memory.
//! A page that the child has given up is the rank's alone. The rank then writes to it at the cost
//! of a page fault, and the host needs no second page.
//!
//! Guarantees: only pages are given up that were read from the pipe, that are the process's alone,
//! and that no code uses which runs in the child: this library and the functions of the C library
//! that copy memory. Their code and data lie in their files' mappings or in executable ones, right
//! behind those, or near the thread pointer. (The child's stack and its tables are in the reserved
//! area, which no image contains.)

use crate::base::syscalls;
use crate::threads::thread_state::fs_base;
use crate::tuning::{CODE_DATA_BYTES, UNREAD_RECORDS_MAX};
use core::ops::Range;
use ftmpi_checkpoint::stream::{Map, map};

/// Pages that the pipe may still refer to.
#[derive(Clone, Copy)]
struct Unread {
    start: usize,
    len: usize,
    /// Bytes that had gone into the stream behind them.
    until: u64,
}

/// The account of what has gone into the pipe, and of what was read.
pub struct ReadPages {
    fd: i32,
    /// Bytes that have gone into the stream.
    written: u64,
    /// Oldest first.
    unread: [Unread; UNREAD_RECORDS_MAX],
    count: usize,
    /// The data of the child's thread.
    of_thread: Range<usize>,
    /// Up to here memory may hold data of a library that is mapped before it.
    of_libraries: usize,
    /// The pages of this mapping may be given up.
    may_go: bool,
}

impl ReadPages {
    pub fn new(fd: i32) -> Self {
        let thread = fs_base() as usize;
        Self {
            fd,
            written: 0,
            unread: [Unread { start: 0, len: 0, until: 0 }; UNREAD_RECORDS_MAX],
            count: 0,
            of_thread: thread.saturating_sub(CODE_DATA_BYTES)..thread + CODE_DATA_BYTES,
            of_libraries: 0,
            may_go: false,
        }
    }

    /// The pages that follow are of this mapping. All mappings come, in the order of addresses.
    pub fn begin_mapping(&mut self, entry: &Map) {
        let is_library = entry.file != map::NO_FILE || entry.prot & libc::PROT_EXEC as u32 != 0;
        self.may_go = entry.flags & map::SHARED == 0 && !is_library;
        if is_library {
            self.of_libraries = entry.end as usize + CODE_DATA_BYTES;
        }
    }

    /// So many bytes have gone into the stream.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// These bytes have gone into the stream, and the pipe refers to their pages.
    pub fn spliced(&mut self, start: usize, len: usize) {
        self.wrote(len);
        let end = start + len;
        let is_used =
            start < self.of_libraries || start < self.of_thread.end && end > self.of_thread.start;
        if self.may_go && !is_used {
            if self.count == UNREAD_RECORDS_MAX {
                // The child keeps them.
                self.forget_oldest(1);
            }
            self.unread[self.count] = Unread { start, len, until: self.written };
            self.count += 1;
        }
        self.give_up();
    }

    /// Gives up what was read by now.
    fn give_up(&mut self) {
        if self.count == 0 {
            return;
        }
        let Some(left) = syscalls::unread_bytes(self.fd) else { return };
        let read = self.written.saturating_sub(left as u64);
        let gone = self.unread[..self.count].iter().take_while(|pages| pages.until <= read).count();
        for pages in &self.unread[..gone] {
            // SAFETY: the stream has these pages, and nothing that runs here uses them.
            unsafe { syscalls::forget(pages.start, pages.len) };
        }
        self.forget_oldest(gone);
    }

    fn forget_oldest(&mut self, count: usize) {
        self.unread.copy_within(count..self.count, 0);
        self.count -= count;
    }
}
