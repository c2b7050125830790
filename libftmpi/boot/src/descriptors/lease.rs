//! Leases: tell whether somebody else has a file open.

use crate::base::procfs::numbered;
use crate::base::syscalls;
use crate::descriptors::fd_owner::{self, Owner};
use crate::signals::pending_signals;
use crate::tuning::{PAUSE_NS, PREDECESSOR_PATIENCE_NS};

/// Whether nobody else on this host has the file of `fd` open. (About other hosts:
/// [`leases_hold_everywhere`](crate::descriptors::file_system::leases_hold_everywhere).)
///
/// The kernel grants a write lease only if no other open of the file exists. Somebody who opens the
/// file meanwhile waits until the lease is given back, and this thread gets a signal. All signals
/// are blocked here, and that signal is taken out: the program never sees it. A process has one
/// lease on an open file: a lease of the program stays what it was.
pub fn is_exclusive(fd: i32) -> bool {
    let Ok(held) = syscalls::fcntl(fd, libc::F_GETLEASE, 0) else { return false };
    if held == i32::from(libc::F_WRLCK as i16) {
        return true;
    }
    let (owner, signal) = (fd_owner::get(fd), fd_owner::signal(fd));
    // Who breaks a lease of the program tells the program.
    let ours = held == i32::from(libc::F_UNLCK as i16);
    let before = syscalls::pending_signals();
    if ours {
        let _ = fd_owner::set(fd, Owner::this_thread());
        let _ = fd_owner::set_signal(fd, 0);
    }
    let granted = syscalls::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK as usize).is_ok();
    if granted {
        let _ = syscalls::fcntl(fd, libc::F_SETLEASE, held as usize);
    }
    // The end of a lease makes the kernel forget owner and signal.
    let _ = fd_owner::set(fd, owner.unwrap_or_default());
    let _ = fd_owner::set_signal(fd, signal);
    if ours && granted {
        pending_signals::drop_new(libc::SIGIO, before);
    }
    granted
}

/// The same for a `memfd`. The kernel does not count the first open of a `memfd`, so this opens
/// the file again and asks for that open.
pub fn is_exclusive_memfd(fd: i32) -> bool {
    let mut name = [0; 64];
    let path = numbered("fd", fd as u32, &mut name);
    let Ok(again) = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let exclusive = is_exclusive(again);
    syscalls::close(again);
    exclusive
}

/// The same in a restored process. Nobody else had the file open when the image was taken, but the
/// image child of the previous incarnation may not have ended yet.
pub fn is_soon_exclusive(fd: i32) -> bool {
    let begun = syscalls::now_ns();
    while !is_exclusive(fd) {
        if syscalls::now_ns() - begun > PREDECESSOR_PATIENCE_NS {
            return false;
        }
        syscalls::pause(PAUSE_NS);
    }
    true
}
