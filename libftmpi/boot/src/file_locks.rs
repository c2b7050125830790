//! Locks on files (`flock`, `fcntl`): the kernel takes them back when a process ends.
//!
//! Guarantees: a lock that the program held when its image was taken it holds again after the restore,
//! or it is not restored, with one line that says whose lock is in the way of what. What somebody else did
//! to the file in between cannot be undone. One lock for each descriptor; more make an image impossible.

use crate::hole::Hole;
use crate::line::{Refused, Shown, refuse};
use crate::procfs::{self, Lines, numbered};
use crate::strings::Strings;
use crate::sys;
use ftmpi_checkpoint::stream::{Descriptor, lock};

fn kind_of(word: Option<&[u8]>) -> u32 {
    match word {
        Some(b"FLOCK") => lock::FLOCK,
        Some(b"POSIX") => lock::POSIX,
        Some(b"OFDLCK") => lock::OPEN_FILE,
        _ => 0,
    }
}

/// Notes the lock that this descriptor has (from `fdinfo`: to read `/proc/locks` takes 5 ms, whatever is in
/// it); `Err`: it has several, or one that is not understood.
pub fn gather(hole: &Hole, entry: &mut Descriptor) -> Result<(), ()> {
    let mut name = [0; 64];
    let mut lines =
        Lines::open(numbered("fdinfo", entry.fd as u32, &mut name), hole.text()).map_err(|_| ())?;
    while let Some(line) = lines.next().map_err(|_| ())? {
        let Some(rest) = line.strip_prefix(b"lock:") else { continue };
        // "1: FLOCK  ADVISORY  WRITE 1234 00:1f:5678 0 EOF"
        let mut words =
            rest.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()).skip(1);
        let kind = kind_of(words.next());
        if kind == 0 {
            continue;
        }
        if entry.lock != 0 {
            return Err(());
        }
        let write = match words.nth(1) {
            Some(b"WRITE") => 1,
            Some(b"READ") => 0,
            _ => return Err(()),
        };
        let (start, _) = words.nth(2).and_then(procfs::decimal).ok_or(())?;
        let len = match words.next().ok_or(())? {
            b"EOF" => 0,
            end => (procfs::decimal(end).ok_or(())?.0).wrapping_sub(start).wrapping_add(1),
        };
        (entry.lock, entry.lock_writes, entry.lock_start, entry.lock_len) =
            (kind, write, start, len);
    }
    Ok(())
}

/// Takes the locks again, when all descriptors are there: closing one gives back POSIX locks.
pub fn restore(hole: &Hole, table: &[Descriptor], strings: &Strings) -> Result<(), Refused> {
    // Whoever waited for the lock has it now; the image child of the life before, too, until it ends.
    const PATIENCE_NS: u64 = 10_000_000_000;
    let begun = sys::now_ns();
    for entry in table.iter().filter(|entry| entry.lock != 0) {
        while let Err(errno) = take(entry) {
            let busy = matches!(errno, libc::EAGAIN | libc::EACCES | libc::EINTR);
            if !busy || sys::now_ns() - begun > PATIENCE_NS {
                return Err(refuse!(
                    hole,
                    errno,
                    "the lock that the program had on {} (descriptor {}) cannot be taken again: {}",
                    Shown(strings.get(entry.path)),
                    entry.fd,
                    if busy { "another process has it" } else { sys::error_text(errno) }
                ));
            }
            let pause = [0u64, 2_000_000];
            // SAFETY: the time is valid.
            let _ = unsafe { sys::call!(libc::SYS_nanosleep, pause.as_ptr(), 0) };
        }
    }
    Ok(())
}

fn take(entry: &Descriptor) -> Result<(), i32> {
    if entry.lock == lock::FLOCK {
        let how = if entry.lock_writes != 0 { libc::LOCK_EX } else { libc::LOCK_SH };
        // SAFETY: no memory involved.
        return unsafe { sys::call!(libc::SYS_flock, entry.fd, how | libc::LOCK_NB) }.map(|_| ());
    }
    let what = libc::flock {
        l_type: if entry.lock_writes != 0 { libc::F_WRLCK } else { libc::F_RDLCK } as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: entry.lock_start as i64,
        l_len: entry.lock_len as i64,
        l_pid: 0,
    };
    let command = if entry.lock == lock::POSIX { libc::F_SETLK } else { libc::F_OFD_SETLK };
    // SAFETY: the structure lives over the call.
    unsafe { sys::call!(libc::SYS_fcntl, entry.fd, command, &raw const what) }.map(|_| ())
}
