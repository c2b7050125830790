//! Attributes of memory that the image child cannot see: `mlock`, `MADV_DONTFORK`,
//! `MADV_WIPEONFORK`, and guard pages.
//!
//! A child process has no locked memory. It does not get `MADV_DONTFORK` memory, and gets
//! `MADV_WIPEONFORK` memory empty. So the process itself looks, while all its threads stand still.
//! It takes the advice back before the child is made, and gives it again right after.
//!
//! The look walks through all page tables (`smaps`). It is made only if the program has locked
//! memory, or has given such advice through the C library. Advice that was given in another way
//! leaves the child without the memory, and there is no image ([`crate::memory::mappings`]).

use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::memory::locked_memory;
use crate::memory::mappings::{is_kernel, is_library};
use crate::memory::page_scanner::Scanner;
use core::sync::atomic::{AtomicBool, Ordering};
use ftmpi_checkpoint::stream::{Map, ProcessState, Range, limit, range};

/// Newer than the C library's headers.
const MADV_GUARD_INSTALL: i32 = 102;

const MLOCK_ONFAULT: usize = 1;

/// The program has given advice about forks. Part of images.
static ADVISED: AtomicBool = AtomicBool::new(false);

/// Notes that the program gives advice about forks.
pub fn note_fork_advice() {
    ADVISED.store(true, Ordering::Relaxed);
}

/// Gives advice about a range.
fn advise(range: &Range, advice: i32) -> Result<(), syscalls::Errno> {
    let len = range.end - range.start;
    // SAFETY: none of the advice given here changes contents.
    unsafe { syscalls::call!(libc::SYS_madvise, range.start, len, advice) }.map(|_| ())
}

/// Locked memory in kilobytes.
fn locked_kilobytes(area: &ReservedArea) -> Result<u64, syscalls::Errno> {
    let mut lines = Lines::open(c"/proc/self/status", area.text())?;
    while let Some(line) = lines.next()? {
        if let Some(rest) = line.strip_prefix(b"VmLck:") {
            let at = rest.iter().position(u8::is_ascii_digit).unwrap_or(rest.len());
            return Ok(procfs::decimal(&rest[at..]).map_or(0, |(value, _)| value));
        }
    }
    Ok(0)
}

/// Fills the table of ranges, except guard pages. All threads stand still.
pub fn gather(area: &ReservedArea) -> Result<(), Refused> {
    let process = area.process_state();
    process.ranges = 0;
    let failed = |errno| area.unreadable("/proc/self", errno);
    // A program that has locked all memory gets all of it locked again.
    let all = locked_memory::locks_all();
    let some = !all && locked_kilobytes(area).map_err(failed)? != 0;
    if !some && !ADVISED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut count = 0;
    let (mut start, mut end) = (0, 0);
    let mut lines = Lines::open(c"/proc/self/smaps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(words) = line.strip_prefix(b"VmFlags:") else {
            if let Some(entry) = procfs::entry(line) {
                let not = is_library(&entry) || is_kernel(&entry);
                (start, end) = if not { (0, 0) } else { (entry.start, entry.end) };
            }
            continue;
        };
        if end == 0 {
            continue;
        }
        let has = |flag: &[u8]| words.split(|&b| b == b' ').any(|word| word == flag);
        let mut flags = 0;
        if has(b"lo") && !all {
            flags |= range::LOCKED | if has(b"lf") { range::ON_FAULT } else { 0 };
        }
        if has(b"dc") {
            flags |= range::DONT_FORK;
        }
        if has(b"wf") && !has(b"dp") {
            flags |= range::WIPE_ON_FORK;
        }
        if flags != 0 {
            add(area, &mut count, Range { start, end, flags, reserved: 0 })?;
        }
    }
    process.ranges = count as u32;
    Ok(())
}

fn add(area: &ReservedArea, count: &mut usize, new: Range) -> Result<(), Refused> {
    let table = area.ranges();
    if let Some(last) = table[..*count].last_mut()
        && (last.end, last.flags) == (new.start, new.flags)
    {
        last.end = new.end;
        return Ok(());
    }
    let Some(place) = table.get_mut(*count) else {
        return Err(area.refuse(Refusal::TooMany {
            what: "ranges of memory that are locked, guarded or not to be forked",
            most: limit::RANGES,
            errno: libc::ENOMEM,
        }));
    };
    *place = new;
    *count += 1;
    Ok(())
}

/// Flag of a range, its advice, and the opposite advice.
const ADVICE: [(u32, i32, i32); 2] = [
    (range::DONT_FORK, libc::MADV_DONTFORK, libc::MADV_DOFORK),
    (range::WIPE_ON_FORK, libc::MADV_WIPEONFORK, libc::MADV_KEEPONFORK),
];

/// Takes the advice back, so that a child gets all memory. The kernel refuses this for memory of a
/// device, which the child then lacks.
pub fn take_advice_back(area: &ReservedArea) {
    for range in &area.ranges()[..area.process_state().ranges as usize] {
        for (flag, _, opposite) in ADVICE {
            if range.flags & flag != 0 {
                let _ = advise(range, opposite);
            }
        }
    }
}

/// Gives the advice again. There are as many mappings as before.
pub fn give_advice_again(area: &ReservedArea) {
    for range in &area.ranges()[..area.process_state().ranges as usize] {
        for (flag, advice, _) in ADVICE {
            if range.flags & flag != 0 {
                let _ = advise(range, advice);
            }
        }
    }
}

/// Adds the guard pages to the table. In the image child, which would die if it touched one.
pub fn find_guards(
    area: &ReservedArea,
    scanner: &mut Scanner,
    maps: &[Map],
) -> Result<(), Refused> {
    let process = area.process_state();
    let mut count = process.ranges as usize;
    for map in maps {
        let mut result = Ok(());
        let scanned = scanner.guards(area, map.start, map.end, |start, end| {
            let guard = Range { start, end, flags: range::GUARD, reserved: 0 };
            result = add(area, &mut count, guard);
            result.as_ref().map_or(Err(libc::ENOMEM), |()| Ok(()))
        });
        result?;
        scanned.map_err(|errno| area.refuse(Refusal::Pages { at: map.start, errno }))?;
    }
    process.ranges = count as u32;
    Ok(())
}

/// Gives the memory its attributes, in the restored process. Locks come later, after the limits.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    let table = &area.ranges()[..process.ranges as usize];
    // First: locked memory takes no guards.
    for range in table.iter().filter(|range| range.flags & range::GUARD != 0) {
        advise(range, MADV_GUARD_INSTALL)
            .map_err(|errno| area.refuse(Refusal::GuardsNotMade { at: range.start, errno }))?;
    }
    give_advice_again(area);
    Ok(())
}

/// Locks the memory that was locked. If the limit of this host is lower, the memory stays
/// unlocked.
pub fn restore_locked(area: &ReservedArea, process: &ProcessState) {
    for range in &area.ranges()[..process.ranges as usize] {
        if range.flags & range::LOCKED != 0 {
            let how = if range.flags & range::ON_FAULT != 0 { MLOCK_ONFAULT } else { 0 };
            let len = range.end - range.start;
            // SAFETY: no contents change.
            let _ = unsafe { syscalls::call!(libc::SYS_mlock2, range.start, len, how) };
        }
    }
}
