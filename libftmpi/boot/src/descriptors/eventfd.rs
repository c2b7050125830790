//! Event counters (`eventfd`): made again with their value.

use crate::base::procfs::{self, Lines, numbered_at};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

pub fn is_eventfd(it: &Candidate<'_>) -> bool {
    it.path() == b"anon_inode:[eventfd]"
}

/// Fills the entry: `offset` is the counter, `size` tells whether it is a semaphore.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    it.entry.how = how::EVENTFD;
    (it.entry.offset, it.entry.size) = counter(it.area, it.entry.fd)
        .ok_or_else(|| it.refuse("an event counter on an old kernel"))?;
    Ok(())
}

/// The counter, and whether it is a semaphore; `None` if the kernel does not tell.
fn counter(area: &ReservedArea, fd: i32) -> Option<(u64, u64)> {
    let mut name = [0; 64];
    let path = numbered_at("fdinfo", fd as u32, "", &mut name);
    let mut lines = Lines::open(path, area.text()).ok()?;
    let (mut counter, mut semaphore) = (None, None);
    while let Ok(Some(line)) = lines.next() {
        let value = |prefix: &[u8]| {
            let start = line.strip_prefix(prefix)?.iter().position(|b| *b != b' ')?;
            procfs::hex(&line[prefix.len() + start..]).map(|(value, _)| value)
        };
        counter = counter.or(value(b"eventfd-count:"));
        semaphore = semaphore.or(value(b"eventfd-semaphore:"));
    }
    Some((counter?, semaphore?))
}

/// Makes the counter again, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let semaphore = if entry.size != 0 { libc::EFD_SEMAPHORE } else { 0 };
        let flags = semaphore | libc::EFD_NONBLOCK;
        // SAFETY: no memory involved.
        let made = unsafe { syscalls::call!(libc::SYS_eventfd2, 0, flags) }? as i32;
        syscalls::move_descriptor(made, fd, 0)?;
        if entry.offset > 0 {
            syscalls::write_all(fd, &entry.offset.to_ne_bytes())?;
        }
        syscalls::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result
        .map(|_| ())
        .map_err(|errno| area.refuse(Refusal::NotMade { fd, path: Shown(b"eventfd"), errno }))
}
