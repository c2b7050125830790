//! Descriptors that the caller of the launcher passed on, as `prog 7>log` and `prog <(zcat data)`
//! do.
//!
//! Guarantees: such a descriptor never prevents an image, and never shows a restored process
//! something else than the program had. What the agent gives again (files for writing, terminals,
//! pipes for writing) is the same open file as before. A regular file for reading is opened by path
//! ([`crate::descriptors::regular_file`]). For everything else, such as a pipe that was read, the
//! number is taken by a descriptor that can neither be read nor written (`EBADF`).
//!
//! The agent tells in the status page which numbers it gave ([`word::FROM_CALLER`]).

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};
use ftmpi_wire::control::fds;
use ftmpi_wire::status::word;

/// How many descriptors of the caller are known. The others are examined as the program's own.
const KNOWN_MAX: usize = 64;

/// A descriptor as it was when this incarnation began.
struct Known {
    /// 0: nothing.
    fd: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

static KNOWN: [Known; KNOWN_MAX] = [const {
    Known { fd: AtomicI32::new(0), device: AtomicU64::new(0), inode: AtomicU64::new(0) }
}; KNOWN_MAX];

/// Calls `each` with every number that the agent gave to this process.
fn each_given(mut each: impl FnMut(i32)) {
    let mut page = [0u8; word::FROM_CALLER_WORDS * 8];
    if syscalls::pread_full(fds::STATUS, &mut page, word::FROM_CALLER as u64 * 8).is_err() {
        return;
    }
    for (at, byte) in page.iter().enumerate() {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
            let fd = (at * 8 + bit) as i32;
            if (3..FIRST_LIBRARY).contains(&fd) {
                each(fd);
            }
        }
    }
}

/// Remembers what the agent gave: a program begins from the start.
pub fn remember_given() {
    let mut slots = KNOWN.iter();
    each_given(|fd| {
        if let Ok(stat) = syscalls::fstat(fd)
            && let Some(slot) = slots.next()
        {
            remember(slot, fd, &stat);
        }
    });
}

fn remember(slot: &Known, fd: i32, stat: &libc::stat) {
    slot.device.store(stat.st_dev, Ordering::Relaxed);
    slot.inode.store(stat.st_ino, Ordering::Relaxed);
    slot.fd.store(fd, Ordering::Relaxed);
}

/// The number under which the caller passed on this file. The descriptor itself comes first: the
/// caller may have passed on one file twice.
fn number_of(fd: i32, stat: &libc::stat) -> Option<i32> {
    let same = |known: &&Known| {
        let name = (known.device.load(Ordering::Relaxed), known.inode.load(Ordering::Relaxed));
        known.fd.load(Ordering::Relaxed) != 0 && name == (stat.st_dev, stat.st_ino)
    };
    let number = |known: &Known| known.fd.load(Ordering::Relaxed);
    let mut all = KNOWN.iter().filter(same).map(number);
    all.clone().find(|number| *number == fd).or_else(|| all.next())
}

/// Whether the descriptor shows a file of the caller that is not simply opened again; then fills
/// the entry.
pub fn is_callers(it: &mut Candidate<'_>) -> bool {
    let Some(number) = number_of(it.entry.fd, &it.stat) else { return false };
    let reads_only =
        it.entry.open_flags as i32 & (libc::O_ACCMODE | libc::O_PATH) == libc::O_RDONLY;
    let opened_again = match it.file_type() {
        libc::S_IFDIR => true,
        libc::S_IFREG => reads_only && it.stat.st_nlink > 0,
        _ => false,
    };
    if it.entry.fd <= 2 || opened_again {
        return false;
    }
    it.entry.how = how::OF_THE_CALLER;
    it.entry.other = number;
    it.entry.path = it.path;
    it.entry.offset = syscalls::seek(it.entry.fd, 0, libc::SEEK_CUR).unwrap_or(0);
    true
}

/// Closes the numbers of the program's descriptors before they are made, except those that the
/// agent gave.
pub fn close_others() {
    let mut from = 3;
    each_given(|fd| {
        syscalls::close_range(from, fd as u32 - 1);
        from = fd as u32 + 1;
    });
    syscalls::close_range(from, FIRST_LIBRARY as u32 - 1);
}

/// Gives the program the descriptor again, or a descriptor for which each use fails. `table`: all
/// descriptors; `open_again`: opens a regular file by path.
pub fn restore(
    area: &ReservedArea,
    entry: &Descriptor,
    table: &[Descriptor],
    open_again: impl FnOnce() -> Result<(), Refused>,
) -> Result<(), Refused> {
    let fd = entry.fd;
    let mut given = false;
    each_given(|number| given |= number == entry.other);
    // The number may have become one of the program's own files.
    given &= table.iter().all(|it| it.fd != entry.other || it.how == how::OF_THE_CALLER);
    if !(given && take(entry).is_ok()) {
        // On another host nobody shares the open file.
        if entry.mode & libc::S_IFMT == libc::S_IFREG {
            return open_again();
        }
        take_place(fd).map_err(|errno| {
            area.refuse(Refusal::NotMade { fd, path: Shown(b"descriptor of the caller"), errno })
        })?;
    }
    let flags = entry.fd_flags as usize;
    syscalls::fcntl(fd, libc::F_SETFD, flags)
        .map(|_| ())
        .map_err(|errno| area.refuse(Refusal::DescriptorUnreadable { fd, errno }))
}

/// Takes what the agent gave.
fn take(entry: &Descriptor) -> Result<(), Errno> {
    if entry.fd == entry.other {
        syscalls::fcntl(entry.fd, libc::F_GETFD, 0)?;
    } else {
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_dup3, entry.other, entry.fd, 0) }?;
    }
    // A deleted file for reading, which the agent has opened anew for this process.
    let reads_only = entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDONLY;
    if reads_only && entry.mode & libc::S_IFMT == libc::S_IFREG {
        syscalls::seek(entry.fd, entry.offset, libc::SEEK_SET)?;
    }
    Ok(())
}

/// Opens something under this number that can neither be read nor written.
fn take_place(fd: i32) -> Result<(), Errno> {
    let opened = syscalls::open(c"/", libc::O_PATH | libc::O_CLOEXEC)?;
    syscalls::move_descriptor(opened, fd, 0)
}

/// Closes what the agent gave and the program had closed, and remembers the rest under the
/// identities of this incarnation.
pub fn finish(table: &[Descriptor]) {
    each_given(|fd| {
        if table.iter().all(|entry| entry.fd != fd) {
            syscalls::close(fd);
        }
    });
    KNOWN.iter().for_each(|known| known.fd.store(0, Ordering::Relaxed));
    let mut slots = KNOWN.iter();
    for entry in table.iter().filter(|entry| entry.how == how::OF_THE_CALLER) {
        if let Ok(stat) = syscalls::fstat(entry.fd)
            && let Some(slot) = slots.next()
        {
            remember(slot, entry.fd, &stat);
        }
    }
}
