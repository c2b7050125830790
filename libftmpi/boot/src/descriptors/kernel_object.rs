//! Kernel objects that are made again by one call and need only their number and flags then.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use ftmpi_checkpoint::stream::Descriptor;

/// Gives a new descriptor its number and its flags, in the restored process. `shown`: what the
/// kernel calls it.
pub fn put(
    area: &ReservedArea,
    entry: &Descriptor,
    made: Result<usize, Errno>,
    shown: Shown<'_>,
) -> Result<(), Refused> {
    let fd = entry.fd;
    made.and_then(|made| syscalls::move_descriptor(made as i32, fd, 0))
        .and_then(|()| set_flags(entry))
        .map_err(|errno| area.refuse(Refusal::NotMade { fd, path: shown, errno }))
}

/// Sets the flags that a program may change. `O_ASYNC` comes with the owner.
pub fn set_flags(entry: &Descriptor) -> Result<(), Errno> {
    let flags = entry.open_flags as i32 & !libc::O_ASYNC;
    syscalls::fcntl(entry.fd, libc::F_SETFL, flags as usize)?;
    syscalls::fcntl(entry.fd, libc::F_SETFD, entry.fd_flags as usize).map(|_| ())
}
