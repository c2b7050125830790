//! Descriptors of one open file (`dup`): they share offset and flags, and do so again after a
//! restore.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::Shown;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

/// Whether the descriptor duplicates an earlier one; then fills the entry.
pub fn is_duplicate(
    entry: &mut Descriptor,
    stat: &libc::stat,
    earlier: &[Descriptor],
    still: bool,
) -> bool {
    for other in earlier.iter().filter(|other| is_one_file(other, stat)) {
        // Other processes may use the launcher's streams, too.
        let is_stream = other.how == how::KEEP && stat.st_mode & libc::S_IFMT != libc::S_IFREG;
        if is_same_open_file(entry.fd, other.fd, still && !is_stream) {
            entry.how = how::DUPLICATE;
            entry.other = other.fd;
            return true;
        }
    }
    false
}

fn is_one_file(other: &Descriptor, stat: &libc::stat) -> bool {
    (other.device, other.inode) == (stat.st_dev, stat.st_ino)
}

/// Whether two descriptors of one file share one open file. `may_set_flags`: nobody would notice
/// flags that change for a moment.
pub fn is_same_open_file(a: i32, b: i32, may_set_flags: bool) -> bool {
    const KCMP_FILE: i32 = 0;
    let pid = syscalls::getpid();
    // SAFETY: no memory involved.
    match unsafe { syscalls::call!(libc::SYS_kcmp, pid, pid, KCMP_FILE, a, b) } {
        Ok(order) => order == 0,
        // Many containers forbid the call.
        Err(_) => share_flags(a, b, may_set_flags),
    }
}

/// Whether the flags are the same and, if that may be tried, whether a flag that is set on one
/// descriptor shows on the other.
fn share_flags(a: i32, b: i32, may_set_flags: bool) -> bool {
    let flags = |fd| syscalls::fcntl(fd, libc::F_GETFL, 0);
    let (Ok(of_a), Ok(of_b)) = (flags(a), flags(b)) else { return false };
    if of_a != of_b || !may_set_flags {
        return of_a == of_b;
    }
    if syscalls::fcntl(a, libc::F_SETFL, (of_a ^ libc::O_NONBLOCK) as usize).is_err() {
        return false;
    }
    let follows = flags(b) != Ok(of_b);
    let _ = syscalls::fcntl(a, libc::F_SETFL, of_a as usize);
    follows
}

/// Makes the descriptor of the entry a duplicate of `from`. If `from` is not open, nothing
/// happens.
pub fn restore(area: &ReservedArea, entry: &Descriptor, from: i32) -> Result<(), Refused> {
    let fd = entry.fd;
    let close_on_exec = entry.fd_flags as i32 & libc::FD_CLOEXEC != 0;
    let flags = if close_on_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: no memory involved; the restore replaces whatever `fd` was.
    match unsafe { syscalls::call!(libc::SYS_dup3, from, fd, flags) } {
        Ok(_) | Err(libc::EBADF) => Ok(()),
        Err(errno) => Err(area.refuse(Refusal::NotMade { fd, path: Shown(b"dup"), errno })),
    }
}
