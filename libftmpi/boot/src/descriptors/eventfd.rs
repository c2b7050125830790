//! Event counters (`eventfd`): made again with their value.

use crate::base::procfs;
use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::put;
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
    let (mut counter, mut semaphore) = (None, None);
    procfs::each_fdinfo_line(area.text(), fd, |line| {
        let value = |prefix: &[u8]| {
            let start = line.strip_prefix(prefix)?.iter().position(|b| *b != b' ')?;
            procfs::hex(&line[prefix.len() + start..]).map(|(value, _)| value)
        };
        counter = counter.or(value(b"eventfd-count:"));
        semaphore = semaphore.or(value(b"eventfd-semaphore:"));
    })
    .ok()?;
    Some((counter?, semaphore?))
}

/// Makes the counter again, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let semaphore = if entry.size != 0 { libc::EFD_SEMAPHORE } else { 0 };
    let flags = semaphore | libc::EFD_NONBLOCK;
    // SAFETY: no memory involved.
    let made = unsafe { syscalls::call!(libc::SYS_eventfd2, 0, flags) };
    let made = made.and_then(|made| {
        if entry.offset > 0 {
            syscalls::write_all(made as i32, &entry.offset.to_ne_bytes())?;
        }
        Ok(made)
    });
    put(area, entry, made, Shown(b"eventfd"))
}
