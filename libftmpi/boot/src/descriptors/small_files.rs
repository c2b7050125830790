//! Contents of small files that the program reads and writes through one descriptor: small data
//! bases, run-time data bases of chemistry codes, checkpoint files.
//!
//! A program changes such a file in place. A restored program that finds later contents reads what
//! it has not written yet, or parts of two states. Where all ranks of the job return together, the
//! image has the contents, and a restored process gives them back. It does so only if
//! - nobody else can have written the file since: the conditions under which a file is cut to its
//!   size ([`crate::descriptors::regular_file`]),
//! - it is the file of the image, by inode on one boot of a host, else by its time of birth,
//! - no file that a data base keeps beside it ([`COMPANIONS`]) tells of later changes.
//!
//! Under protocols that log nothing is given back: other ranks do not repeat what they wrote to a
//! file between the image and the death. Wherever a file that was changed since stays as it is, one
//! line tells.
//!
//! The contents are copied while the process stands still. In the new process they are in a
//! `memfd` under the file's number until the file is open again.

use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::descriptors::library_descriptors::{FIRST_LIBRARY, move_up};
use crate::descriptors::regular_file::{is_deleted, is_of_the_kernel};
use crate::memory::copies::Copies;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Descriptor, content_at, descriptor as how, limit};

/// Bytes of all such files of an image.
const ALL_BYTES: u64 = 64 << 20;

/// What the names of the files end with that SQLite keeps beside a data base: a journal, which it
/// plays back into the data base, and later changes with their index.
pub const COMPANIONS: [&[u8]; 3] = [b"-journal", b"-wal", b"-shm"];

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

/// Copies the contents. `index`: the entry's place in the table. Contents that cannot be read are
/// left out: others may have cut the file meanwhile, and an image does not need them.
pub fn copy(area: &ReservedArea, index: usize, entry: &mut Descriptor, copies: &mut Copies) {
    let Ok(into) = copies.piece(area, content_at(index, 0), entry.size as usize) else {
        entry.state[0] = 0;
        return;
    };
    if syscalls::pread_full(entry.fd, into, 0).is_err() {
        copies.drop_piece();
        entry.state[0] = 0;
    }
}

/// Leaves out the contents of files that others have open, in the image child: no restore gives
/// them back. The result is the number of pieces that remain.
pub fn leave_out_shared(area: &ReservedArea, table: &mut [Descriptor], pieces: u32) -> u32 {
    let mut kept = 0;
    for at in 0..pieces as usize {
        let piece = area.pieces()[at];
        let entry = &mut table[(piece.at >> 48) as usize];
        if entry.how == how::REOPEN {
            entry.state[0] = 0;
        } else {
            area.pieces()[kept] = piece;
            kept += 1;
        }
    }
    kept as u32
}

/// Makes the `memfd` for the contents, in the new process.
pub fn create(entry: &Descriptor) -> Result<(), Errno> {
    let flags = libc::MFD_CLOEXEC;
    // SAFETY: terminated name.
    let made =
        unsafe { syscalls::call!(libc::SYS_memfd_create, c"contents".as_ptr(), flags) }? as i32;
    syscalls::move_descriptor(move_up(made)?, entry.fd, libc::O_CLOEXEC)
}

/// Whether a file that lies beside the one at `path` tells of changes that the image does not have,
/// or the file itself is one of these. A journal that returns with its data base is none.
pub fn has_companion(strings: &Strings, table: &[Descriptor], path: &CStr) -> bool {
    let path = path.to_bytes();
    let returns = |name: &[u8]| {
        table.iter().any(|entry| {
            strings.get(entry.path) == name
                && is_changed_in_place(entry)
                && (entry.has_contents() || entry.size == 0)
        })
    };
    let mut name = [0u8; 4096];
    COMPANIONS.iter().any(|end| {
        let is_journal = *end == COMPANIONS[0];
        if let Some(base) = path.strip_suffix(*end) {
            return !(is_journal && returns(base));
        }
        let len = path.len() + end.len();
        if len >= name.len() {
            return true;
        }
        name[..path.len()].copy_from_slice(path);
        name[path.len()..len].copy_from_slice(end);
        name[len] = 0;
        let there = CStr::from_bytes_with_nul(&name[..=len]).map(syscalls::stat);
        let absent = matches!(there, Ok(Err(libc::ENOENT | libc::ENAMETOOLONG)));
        let comes_back = is_journal && returns(&name[..len]);
        !absent && !comes_back
    })
}

/// Contents that wait for their file.
#[derive(Debug)]
pub struct Saved {
    fd: i32,
    size: u64,
}

impl Saved {
    /// Takes the contents from the file's number, in the restored process.
    pub fn take(entry: &Descriptor) -> Result<Option<Self>, Errno> {
        if !entry.has_contents() {
            return Ok(None);
        }
        let fd = syscalls::fcntl(entry.fd, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize)?;
        Ok(Some(Self { fd, size: entry.size }))
    }

    /// Whether the file has other contents. Times do not tell: they have the resolution of a tick,
    /// and a store to mapped memory does not change them at once.
    pub fn differs(&self, area: &ReservedArea, file: i32) -> Result<bool, Errno> {
        let size = syscalls::fstat(file)?.st_size as u64;
        Ok(size != self.size || self.compare(area, file, |_, _| Ok(true))?)
    }

    /// Gives the contents back to the file. Only what differs is written.
    pub fn give_back(&self, area: &ReservedArea, file: i32) -> Result<(), Errno> {
        self.compare(area, file, |at, wanted| {
            syscalls::seek(file, at, libc::SEEK_SET)?;
            syscalls::write_all(file, wanted)?;
            Ok(false)
        })?;
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_ftruncate, file, self.size) }.map(|_| ())
    }

    /// Passes each part that is another one in the file, until `on_other` gives `true`: then that
    /// is the result.
    fn compare(
        &self,
        area: &ReservedArea,
        file: i32,
        mut on_other: impl FnMut(u64, &[u8]) -> Result<bool, Errno>,
    ) -> Result<bool, Errno> {
        let (wanted, found) = area.content().split_at_mut(area.content().len() / 2);
        let mut at = 0;
        while at < self.size {
            let len = (self.size - at).min(wanted.len() as u64) as usize;
            syscalls::pread_full(self.fd, &mut wanted[..len], at)?;
            let same = syscalls::pread_full(file, &mut found[..len], at).is_ok()
                && wanted[..len] == found[..len];
            if !same && on_other(at, &wanted[..len])? {
                return Ok(true);
            }
            at += len as u64;
        }
        Ok(false)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        syscalls::close(self.fd);
    }
}
