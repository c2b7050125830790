//! Descriptors that signals are read from (`signalfd`): made again for the same signals.
//!
//! Signals that wait are pending signals of the process or a thread, and come back as such.

use crate::base::procfs::{self, hex};
use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::put;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

const SHOWN: Shown<'static> = Shown(b"anon_inode:[signalfd]");

pub fn is_signalfd(it: &Candidate<'_>) -> bool {
    it.path() == SHOWN.0
}

/// Fills the entry: `state[0]` holds the signals.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let mut signals = None;
    procfs::each_fdinfo_line(it.area.text(), it.entry.fd, |line| {
        let mask = line.strip_prefix(b"sigmask:\t").and_then(hex);
        signals = signals.or(mask.map(|(mask, _)| mask));
    })
    .map_err(|errno| it.fail(errno))?;
    let Some(signals) = signals else { return Err(it.refuse("a signalfd on an old kernel")) };
    it.entry.how = how::SIGNALFD;
    it.entry.state[0] = signals;
    Ok(())
}

/// Makes the descriptor again, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let signals = entry.state[0];
    // SAFETY: the set lives over the call; 8 is the kernel's size of a set.
    let made = unsafe { syscalls::call!(libc::SYS_signalfd4, -1isize, &raw const signals, 8, 0) };
    put(area, entry, made, SHOWN)
}
