//! Locks on files (`flock`, `fcntl`): the kernel takes them back when a process ends.
//!
//! Guarantees: the locks that the program held when its image was taken it holds again after the restore.
//! One that somebody else has got meanwhile is waited for a few seconds; then one line says so, and the
//! program goes on without it: who has it may wait for this rank. A few locks for each descriptor; more make
//! an image impossible.

use crate::hole::Hole;
use crate::line::{Line, Shown};
use crate::procfs::{self, Lines, numbered};
use crate::strings::Strings;
use crate::sys;
use ftmpi_checkpoint::stream::{Descriptor, FileLock, lock};

fn kind_of(word: Option<&[u8]>) -> u32 {
    match word {
        Some(b"FLOCK") => lock::FLOCK,
        Some(b"POSIX") => lock::POSIX,
        Some(b"OFDLCK") => lock::OPEN_FILE,
        _ => 0,
    }
}

/// There are more locks than fit, or one that is not understood.
pub struct TooMany;

/// Notes the locks of this descriptor (from `fdinfo`: to read `/proc/locks` takes 5 ms, whatever is in it).
pub fn gather(hole: &Hole, entry: &mut Descriptor) -> Result<(), TooMany> {
    let mut name = [0; 64];
    let path = numbered("fdinfo", entry.fd as u32, &mut name);
    // Old kernels show it to root only, if the program has forbidden dumps of itself.
    let Ok(mut lines) = Lines::open(path, hole.text()) else { return Ok(()) };
    let mut places = entry.locks.iter_mut();
    while let Ok(Some(line)) = lines.next() {
        let Some(rest) = line.strip_prefix(b"lock:") else { continue };
        let (kind, held) = read(rest).ok_or(TooMany)?;
        if kind != 0 {
            *places.next().ok_or(TooMany)? = held;
        }
    }
    Ok(())
}

/// ` 1: FLOCK  ADVISORY  WRITE 1234 00:1f:5678 0 EOF`; kind 0 for what is no lock of a program.
fn read(text: &[u8]) -> Option<(u32, FileLock)> {
    let mut words = text.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty());
    let kind = kind_of(words.nth(1));
    if kind == 0 {
        return Some((0, FileLock::default()));
    }
    let writes = match words.nth(1)? {
        b"WRITE" => 1,
        b"READ" => 0,
        _ => return None,
    };
    let (start, _) = procfs::decimal(words.nth(2)?)?;
    let len = match words.next()? {
        b"EOF" => 0,
        end => procfs::decimal(end)?.0.wrapping_sub(start).wrapping_add(1),
    };
    Some((kind, FileLock { kind, writes, start, len }))
}

/// Takes the locks again, when all descriptors are there: closing one gives back POSIX locks. `error`: where
/// rank `rank` can say something.
pub fn restore(table: &[Descriptor], strings: &Strings, rank: u32, error: i32) {
    // The image child of the life before has them until it ends.
    const PATIENCE_NS: u64 = 5_000_000_000;
    let begun = sys::now_ns();
    for entry in table {
        for held in entry.locks.iter().filter(|held| held.kind != 0) {
            while let Err(errno) = take(entry.fd, held) {
                let busy = matches!(errno, libc::EAGAIN | libc::EACCES | libc::EINTR);
                if busy && sys::now_ns() - begun < PATIENCE_NS {
                    let pause = [0u64, 2_000_000];
                    // SAFETY: the time is valid.
                    let _ = unsafe { sys::call!(libc::SYS_nanosleep, pause.as_ptr(), 0) };
                    continue;
                }
                let mut line = Line::new();
                line.set(format_args!(
                    "ftmpi: rank {rank}: the lock that it had on {} cannot be taken again ({}); it goes \
                     on without\n",
                    Shown(strings.get(entry.path)),
                    if busy { "another process has it" } else { sys::error_text(errno) }
                ));
                sys::say(error, line.bytes());
                break;
            }
        }
    }
}

fn take(fd: i32, held: &FileLock) -> Result<(), i32> {
    if held.kind == lock::FLOCK {
        let how = if held.writes != 0 { libc::LOCK_EX } else { libc::LOCK_SH };
        // SAFETY: no memory involved.
        return unsafe { sys::call!(libc::SYS_flock, fd, how | libc::LOCK_NB) }.map(|_| ());
    }
    let what = libc::flock {
        l_type: if held.writes != 0 { libc::F_WRLCK } else { libc::F_RDLCK } as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: held.start as i64,
        l_len: held.len as i64,
        l_pid: 0,
    };
    let command = if held.kind == lock::POSIX { libc::F_SETLK } else { libc::F_OFD_SETLK };
    // SAFETY: the structure lives over the call.
    unsafe { sys::call!(libc::SYS_fcntl, fd, command, &raw const what) }.map(|_| ())
}
