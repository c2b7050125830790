//! Copies of memory that the process shares, made while it stands still.

use crate::base::procfs;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::memory::copies::Copies;
use crate::tuning::RESIDENT_PAGES;

/// Copies shared memory. Without a copy the image child would see what the program writes later.
pub fn copy_shared(area: &ReservedArea, count: usize, copies: &mut Copies) -> Result<(), Refused> {
    if count == 0 {
        return Ok(());
    }
    let failed = |errno| area.refuse(Refusal::SharedMemoryNotCopied { errno });
    let memory =
        procfs::open_own(c"/proc/self/mem", libc::O_RDONLY | libc::O_CLOEXEC).map_err(failed)?;
    let result = area.copies()[..count].iter_mut().try_for_each(|copy| {
        let len = copy.end - copy.start;
        copy.copy = copies.room(len)?;
        let all = swap_is_used();
        copy_resident(area, memory, (copy.start, len), copy.copy, all)?;
        if !all && swap_is_used() {
            // The first page may have been swapped out before it was read.
            copy_resident(area, memory, (copy.start, len), copy.copy, true)?;
        }
        Ok(())
    });
    syscalls::close(memory);
    result.map_err(failed)
}

/// Copies the pages that exist; to read others would create them. `mincore` does not tell pages in
/// the swap, so all pages are copied if swap is in use.
fn copy_resident(
    area: &ReservedArea,
    memory: i32,
    (start, len): (usize, usize),
    to: usize,
    all: bool,
) -> Result<(), i32> {
    let resident = area.content();
    let pages = len / 4096;
    let mut page = 0;
    while page < pages {
        let step = RESIDENT_PAGES.min(pages - page);
        if all {
            resident[..step].fill(1);
        } else {
            // SAFETY: one byte for each of `step` pages.
            unsafe {
                syscalls::call!(
                    libc::SYS_mincore,
                    start + page * 4096,
                    step * 4096,
                    resident.as_mut_ptr()
                )
            }?;
        }
        let mut at = 0;
        while at < step {
            let there = resident[at] & 1;
            let run = resident[at..step].iter().take_while(|b| **b & 1 == there).count();
            if there == 1 {
                let offset = (page + at) * 4096;
                // SAFETY: the copy's mapping, written by nobody else.
                let into = unsafe {
                    core::slice::from_raw_parts_mut((to + offset) as *mut u8, run * 4096)
                };
                syscalls::pread_full(memory, into, (start + offset) as u64)?;
            }
            at += run;
        }
        page += step;
    }
    Ok(())
}

fn swap_is_used() -> bool {
    // struct sysinfo in words: uptime, loads (3), RAM (4), then totalswap and freeswap.
    let mut info = [0u64; 16];
    // SAFETY: struct sysinfo has 112 bytes.
    let answer = unsafe { syscalls::call!(libc::SYS_sysinfo, info.as_mut_ptr()) };
    answer.is_err() || info[8] != info[9]
}
