//! Locks on files (`flock`, `fcntl`) and leases. The kernel takes them back when a process ends.
//!
//! Guarantees: the program holds the same locks again after the restore. If another process has
//! got a lock meanwhile, the restore waits for a few seconds. Then it prints one line, and the
//! program goes on without the lock: the other process may wait for this rank. An image has room
//! for [`limit::LOCKS`] locks; more make an image impossible.

use crate::base::notice::Notice;
use crate::base::procfs::{self, Lines, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::report;
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::tuning::{PAUSE_NS, PREDECESSOR_PATIENCE_NS};
use ftmpi_checkpoint::stream::{Descriptor, FileLock, descriptor as how, limit, lock};

fn kind_of(word: Option<&[u8]>) -> u32 {
    match word {
        Some(b"FLOCK") => lock::FLOCK,
        Some(b"POSIX") => lock::POSIX,
        Some(b"OFDLCK") => lock::OPEN_FILE,
        Some(b"LEASE") => lock::LEASE,
        _ => 0,
    }
}

/// Adds the locks of a descriptor to the table. The source is `fdinfo`; `/proc/locks` takes
/// milliseconds to read.
pub fn gather(area: &ReservedArea, fd: i32, count: &mut usize) -> Result<(), Refused> {
    let Ok(stat) = syscalls::fstat(fd) else { return Ok(()) };
    if !matches!(stat.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        return Ok(());
    }
    let mut name = [0; 64];
    let path = numbered("fdinfo", fd as u32, &mut name);
    // Old kernels show the file only to root, if the program has forbidden dumps of itself.
    let Ok(mut lines) = Lines::open(path, area.text()) else { return Ok(()) };
    while let Ok(Some(line)) = lines.next() {
        let Some(rest) = line.strip_prefix(b"lock:") else { continue };
        let held = match read(rest) {
            Read::None => continue,
            Read::Lock(held) => held,
            Read::Breaking => {
                return Err(area.refuse(Refusal::LeaseBreaking { fd }));
            }
            Read::Unknown => {
                return Err(area.refuse(Refusal::LockUnknown { fd }));
            }
        };
        let Some(place) = area.locks().get_mut(*count) else {
            return Err(area.refuse(Refusal::TooMany {
                what: "locks on files",
                most: limit::LOCKS,
                errno: libc::EOPNOTSUPP,
            }));
        };
        *place = FileLock { fd, ..held };
        *count += 1;
    }
    Ok(())
}

/// Removes locks of descriptors that are not opened again: duplicates, and the launcher's.
pub fn keep(area: &ReservedArea, table: &[Descriptor], count: usize, still: bool) {
    let locks = area.locks();
    let mut kept = 0;
    for at in 0..count {
        let entry = table.binary_search_by_key(&locks[at].fd, |entry| entry.fd);
        if entry.is_ok_and(|at| is_lockable(table[at].how)) {
            locks[kept] = locks[at];
            kept += 1;
        }
    }
    if still {
        area.process_state().locks = kept as u32;
    }
}

fn is_lockable(how: u32) -> bool {
    matches!(
        how,
        how::REOPEN
            | how::REOPEN_CUT
            | how::REOPEN_GUARDED
            | how::REOPEN_ALONE
            | how::RECREATE
            | how::AGAIN
    )
}

/// Takes POSIX locks on files without a name again. The capture has opened and closed these files,
/// which took the locks away. Nobody else has the files open, and nobody runs.
pub fn take_again(area: &ReservedArea) {
    for held in &area.locks()[..area.process_state().locks as usize] {
        if held.kind == lock::POSIX && syscalls::fstat(held.fd).is_ok_and(|stat| stat.st_nlink == 0)
        {
            let _ = take(held.fd, held);
        }
    }
}

/// What a line of `fdinfo` tells.
enum Read {
    /// No lock of a program.
    None,
    Lock(FileLock),
    /// A lease that another process breaks.
    Breaking,
    Unknown,
}

/// ` 1: FLOCK  ADVISORY  WRITE 1234 00:1f:5678 0 EOF`
fn read(text: &[u8]) -> Read {
    let mut words = text.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty());
    let kind = kind_of(words.nth(1));
    if kind == 0 {
        return Read::None;
    }
    if words.next() == Some(b"BREAKING") {
        return Read::Breaking;
    }
    let writes = match words.next() {
        Some(b"WRITE") => 1,
        Some(b"READ") => 0,
        _ => return Read::Unknown,
    };
    let Some((start, _)) = words.nth(2).and_then(procfs::decimal) else { return Read::Unknown };
    let len = match (words.next(), kind) {
        (_, lock::FLOCK | lock::LEASE) | (Some(b"EOF"), _) => 0,
        (Some(end), _) => match procfs::decimal(end) {
            Some((end, _)) => end.wrapping_sub(start).wrapping_add(1),
            None => return Read::Unknown,
        },
        (None, _) => return Read::Unknown,
    };
    Read::Lock(FileLock { kind, writes, start, len, ..FileLock::default() })
}

/// Takes the locks again, when all descriptors are there: to close a file takes POSIX locks away.
/// `stderr`: where rank `rank` prints a line.
pub fn restore(
    locks: &[FileLock],
    table: &[Descriptor],
    strings: &Strings,
    rank: u32,
    stderr: i32,
) {
    let begun = syscalls::now_ns();
    for held in locks {
        while let Err(errno) = take(held.fd, held) {
            let busy = matches!(errno, libc::EAGAIN | libc::EACCES | libc::EINTR);
            if busy && syscalls::now_ns() - begun < PREDECESSOR_PATIENCE_NS {
                syscalls::pause(PAUSE_NS);
                continue;
            }
            let what = if held.kind == lock::LEASE { "lease" } else { "lock" };
            let why = match (busy, held.kind) {
                (false, _) => syscalls::error_text(errno),
                (true, lock::LEASE) => "another process has it open",
                (true, _) => "another process has it",
            };
            let path = table.iter().find(|entry| entry.fd == held.fd).map(|entry| entry.path);
            let path = Shown(path.map_or(b"", |path| strings.get(path)));
            report::print(stderr, rank, Notice::LockNotTaken { what, why, path });
            break;
        }
    }
}

fn take(fd: i32, held: &FileLock) -> Result<(), i32> {
    if held.kind == lock::FLOCK {
        let how = if held.writes != 0 { libc::LOCK_EX } else { libc::LOCK_SH };
        // SAFETY: no memory involved.
        return unsafe { syscalls::call!(libc::SYS_flock, fd, how | libc::LOCK_NB) }.map(|_| ());
    }
    if held.kind == lock::LEASE {
        let how = if held.writes != 0 { libc::F_WRLCK } else { libc::F_RDLCK };
        return syscalls::fcntl(fd, libc::F_SETLEASE, how as usize).map(|_| ());
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
    unsafe { syscalls::call!(libc::SYS_fcntl, fd, command, &raw const what) }.map(|_| ())
}
