//! Descriptors of processes (`pidfd_open`): of this process, or of one that has ended.
//!
//! A descriptor of another living process makes an image impossible: that process may be gone, and
//! its number another one's, when the image is restored.

use crate::base::procfs::{self, decimal};
use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::put;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

const SHOWN: Shown<'static> = Shown(b"anon_inode:[pidfd]");

pub fn is_pidfd(it: &Candidate<'_>) -> bool {
    it.path() == SHOWN.0 || it.path().starts_with(b"pidfd:[")
}

/// Fills the entry: `state[0]` is 1 if the process has ended.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let (mut own, mut ended) = (false, false);
    procfs::each_fdinfo_line(it.area.text(), it.entry.fd, |line| {
        let Some(number) = line.strip_prefix(b"Pid:\t") else { return };
        ended = number == b"-1";
        own = decimal(number).is_some_and(|(pid, _)| pid == syscalls::getpid() as u64);
    })
    .map_err(|errno| it.fail(errno))?;
    if !own && !ended {
        return Err(it.refuse("another process (pidfd)"));
    }
    it.entry.how = how::PIDFD;
    it.entry.state[0] = u64::from(ended);
    Ok(())
}

/// Makes the descriptor again, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let made = if entry.state[0] == 1 { of_an_ended_process() } else { open(syscalls::getpid()) };
    put(area, entry, made, SHOWN)
}

fn open(pid: i32) -> Result<usize, Errno> {
    // SAFETY: no memory involved.
    unsafe { syscalls::call!(libc::SYS_pidfd_open, pid, 0) }
}

/// A process that ends at once, and is collected when its descriptor is open.
fn of_an_ended_process() -> Result<usize, Errno> {
    // SAFETY: flags 0: a copy of this process without a signal at its end, which ends at once.
    let child = unsafe { syscalls::call!(libc::SYS_clone, 0, 0, 0, 0, 0) }?;
    if child == 0 {
        syscalls::exit(0);
    }
    let opened = open(child as i32);
    let options = libc::__WCLONE;
    // SAFETY: no memory involved.
    let wait = || unsafe { syscalls::call!(libc::SYS_wait4, child, 0, options, 0) };
    while wait() == Err(libc::EINTR) {}
    opened
}
