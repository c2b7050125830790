//! Contents of small files that the program reads and writes through one descriptor: small data
//! bases, run-time data bases of chemistry codes, checkpoint files.
//!
//! A program changes such a file in place. A restored program that found later contents would read
//! what it has not written yet, or parts of two states. So the image has the contents, and a
//! restored process gives them back, under the conditions under which a file is cut to its size
//! ([`crate::descriptors::regular_file`]): nobody else has the file open or has written to it. A
//! larger file that was changed is told.
//!
//! The contents are copied while the process stands still. In the new process they are in a
//! `memfd` under the file's number until the file is open again.

use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::descriptors::library_descriptors::{FIRST_LIBRARY, move_up};
use crate::descriptors::regular_file::{is_deleted, is_of_the_kernel};
use crate::memory::copies::Copies;
use ftmpi_checkpoint::stream::{Descriptor, content_at, descriptor as how, limit};

/// Bytes of all such files of an image.
const ALL_BYTES: u64 = 64 << 20;

/// Whether the program may change contents in place, and reads them.
pub fn is_changed_in_place(entry: &Descriptor) -> bool {
    let flags = entry.open_flags as i32;
    matches!(entry.how, how::REOPEN | how::REOPEN_CUT)
        && entry.mode & libc::S_IFMT == libc::S_IFREG
        && flags & libc::O_ACCMODE == libc::O_RDWR
        && flags & libc::O_APPEND == 0
}

/// Marks the files whose contents become part of the image.
pub fn choose(strings: &Strings, table: &mut [Descriptor]) {
    let mut all = 0;
    for entry in table.iter_mut().filter(|entry| is_changed_in_place(entry)) {
        let path = strings.get(entry.path);
        let small = (1..=limit::SMALL_FILE_BYTES).contains(&entry.size);
        if entry.fd > 2
            && small
            && entry.open_flags as i32 & libc::O_DIRECT == 0
            && all + entry.size <= ALL_BYTES
            && !is_deleted(path)
            && !is_of_the_kernel(path)
        {
            all += entry.size;
            entry.state[0] = 1;
        }
    }
}

/// Copies the contents. `index`: the entry's place in the table.
pub fn copy(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
) -> Result<(), Errno> {
    let into = copies.piece(area, content_at(index, 0), entry.size as usize)?;
    syscalls::pread_full(entry.fd, into, 0)
}

/// Makes the `memfd` for the contents, in the new process.
pub fn create(entry: &Descriptor) -> Result<(), Errno> {
    let flags = libc::MFD_CLOEXEC;
    // SAFETY: terminated name.
    let made =
        unsafe { syscalls::call!(libc::SYS_memfd_create, c"contents".as_ptr(), flags) }? as i32;
    syscalls::move_descriptor(move_up(made)?, entry.fd, libc::O_CLOEXEC)
}

/// Contents that wait for their file.
#[derive(Debug)]
pub struct Saved {
    fd: i32,
    size: u64,
}

impl Saved {
    /// Takes the contents from the file's number, in the restored process.
    pub fn take(entry: &Descriptor) -> Option<Self> {
        if !entry.has_contents() {
            return None;
        }
        let fd = syscalls::fcntl(entry.fd, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize).ok()?;
        Some(Self { fd, size: entry.size })
    }

    /// Gives the contents back to the file. Only what differs is written.
    pub fn give_back(&self, area: &ReservedArea, file: i32) -> Result<(), Errno> {
        let (wanted, found) = area.content().split_at_mut(area.content().len() / 2);
        let mut at = 0;
        while at < self.size {
            let len = (self.size - at).min(wanted.len() as u64) as usize;
            syscalls::pread_full(self.fd, &mut wanted[..len], at)?;
            let same = syscalls::pread_full(file, &mut found[..len], at).is_ok()
                && wanted[..len] == found[..len];
            if !same {
                syscalls::seek(file, at, libc::SEEK_SET)?;
                syscalls::write_all(file, &wanted[..len])?;
            }
            at += len as u64;
        }
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_ftruncate, file, self.size) }.map(|_| ())
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        syscalls::close(self.fd);
    }
}
