//! Children of the program that have ended and that nobody has waited for, and the numbers of all
//! children.
//!
//! Guarantees: a restored process finds them as it left them: a child in its place ends in the same
//! way, and the program knows it by the old number. ([`crate::children`]: children that live.)
//!
//! The functions of the C library that take or give numbers of children ask this table
//! ([`crate::interpose::children`]).

use crate::base::procfs::{self, Lines, decimal};
use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::children;
use crate::process::child_calls;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The most children of an image.
const MOST: usize = 256;

/// A child that has ended. Part of images.
#[derive(Clone, Copy)]
struct Ended {
    /// The kernel's number.
    pid: i32,
    /// `CLD_EXITED`, `CLD_KILLED` or `CLD_DUMPED`.
    code: i32,
    /// Exit code or signal.
    status: i32,
    /// The child led a process group of its own.
    leads: bool,
}

/// The children of the image that is being taken, or was restored.
struct OfImage {
    list: UnsafeCell<[Ended; MOST]>,
    len: AtomicU32,
}

// SAFETY: only the thread that takes an image, or the only thread of a restored process, uses it.
unsafe impl Sync for OfImage {}

const NONE: Ended = Ended { pid: 0, code: 0, status: 0, leads: false };

static OF_IMAGE: OfImage = OfImage { list: UnsafeCell::new([NONE; MOST]), len: AtomicU32::new(0) };

/// Numbers of children that were made again: the program's, and the kernel's; 0: none. Bit 63: the
/// child has left a core dump. Part of images.
static RENAMED: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

const DUMPED: u64 = 1 << 63;

/// Whether [`RENAMED`] has ever had an entry.
static ANY_RENAMED: AtomicU32 = AtomicU32::new(0);

/// Streams of `popen` that are open: the C library waits for their children by itself.
static STREAMS: AtomicI32 = AtomicI32::new(0);

/// A stream of `popen` is open, or is closed.
pub fn count_stream(by: i32) {
    STREAMS.fetch_add(by, Ordering::Relaxed);
}

fn renamed() -> &'static [AtomicU64] {
    // A forked process has no such children.
    let known = ANY_RENAMED.load(Ordering::Relaxed) != 0 && !rank::is_forked();
    if known { &RENAMED } else { &[] }
}

fn numbers(entry: u64) -> (i32, i32) {
    ((entry >> 32) as i32 & i32::MAX, entry as u32 as i32)
}

fn find(wanted: impl Fn(i32, i32) -> bool) -> Option<(&'static AtomicU64, u64)> {
    let entries = renamed().iter().map(|slot| (slot, slot.load(Ordering::Relaxed)));
    let mut entries = entries.filter(|(_, entry)| *entry != 0);
    entries.find(|(_, entry)| wanted(numbers(*entry).0, numbers(*entry).1))
}

/// The kernel's number of what the program calls by this number.
pub fn kernels(pid: i32) -> i32 {
    find(|programs, _| programs == pid).map_or(pid, |(_, entry)| numbers(entry).1)
}

/// The program's number of what the kernel calls by this number.
pub fn programs(pid: i32) -> i32 {
    find(|_, kernels| kernels == pid).map_or(pid, |(_, entry)| numbers(entry).0)
}

/// Whether a child, by the kernel's number, had left a core dump.
pub fn has_dumped(pid: i32) -> bool {
    find(|_, kernels| kernels == pid).is_some_and(|(_, entry)| entry & DUMPED != 0)
}

/// Somebody has waited for a child, by the kernel's number.
pub fn forget(pid: i32) {
    if let Some((slot, _)) = find(|_, kernels| kernels == pid) {
        slot.store(0, Ordering::Relaxed);
    }
}

/// `waitid` for children that have ended, without waiting and without collecting them. Gives
/// number, `si_code` and `si_status`; 0: alive.
fn look(which: libc::idtype_t, pid: i32) -> Result<(i32, i32, i32), Errno> {
    // SAFETY: struct siginfo has 128 bytes.
    let mut info = [0u32; 32];
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: as above. Without __WCLONE the call does not count clone children, as image children
    // are.
    unsafe { syscalls::call!(libc::SYS_waitid, which, pid, info.as_mut_ptr(), options, 0) }?;
    Ok((info[4] as i32, info[2] as i32, info[6] as i32))
}

/// Whether a child has ended and nobody has waited for it, or is gone.
pub fn has_ended(pid: i32) -> bool {
    look(libc::P_PID, pid) != Ok((0, 0, 0))
}

/// Refuses an image of a process that has children.
pub fn refuse_any(area: &ReservedArea) -> Result<(), Refused> {
    if look(libc::P_ALL, 0) == Err(libc::ECHILD) {
        return Ok(());
    }
    Err(area.refuse(Refusal::ChildHasChildren))
}

/// Writes all children down, those that have ended and those that live.
pub fn gather(area: &ReservedArea) -> Result<(), Refused> {
    OF_IMAGE.len.store(0, Ordering::Relaxed);
    children::forget_all();
    if look(libc::P_ALL, 0) == Err(libc::ECHILD) {
        forget_others(&[]);
        return Ok(());
    }
    if STREAMS.load(Ordering::Relaxed) != 0 {
        return Err(area.refuse(Refusal::PopenStream));
    }
    // SAFETY: only this thread uses it (see `OfImage`).
    let list = unsafe { &mut *OF_IMAGE.list.get() };
    let (threads, text) = area.text().split_at_mut(area.text().len() / 4);
    let (mut len, mut result) = (0, Ok(()));
    let unreadable = |errno| area.unreadable("/proc/self/task/…/children", errno);
    procfs::each_number(c"/proc/self/task", threads, |thread| {
        if result.is_ok() {
            result = of_thread(area, thread as u32, text, (list, &mut len));
        }
    })
    .map_err(unreadable)?;
    result?;
    if len == 0 && !children::any() {
        // A child that no thread has: the list is not to be relied upon.
        return Err(area.refuse(Refusal::ChildProcesses));
    }
    if child_calls::any() {
        return Err(area.refuse(Refusal::CallAboutChildren));
    }
    forget_others(&list[..len]);
    OF_IMAGE.len.store(len as u32, Ordering::Relaxed);
    Ok(())
}

/// Forgets the numbers of children that are gone: the program may have collected them by direct
/// system calls, or have them collected (`SIG_IGN`).
fn forget_others(there: &[Ended]) {
    for slot in renamed() {
        let kernels = numbers(slot.load(Ordering::Relaxed)).1;
        let is_there = there.iter().any(|it| it.pid == kernels);
        if !is_there && !children::is_one(kernels as u64) {
            slot.store(0, Ordering::Relaxed);
        }
    }
}

fn of_thread(
    area: &ReservedArea,
    thread: u32,
    text: &mut [u8],
    (list, len): (&mut [Ended; MOST], &mut usize),
) -> Result<(), Refused> {
    let mut path = [0; 64];
    let path = procfs::numbered_at("task", thread, "/children", &mut path);
    let unreadable = |errno| area.unreadable("/proc/self/task/…/children", errno);
    let mut lines = match Lines::open(path, text) {
        Ok(lines) => lines,
        // The kernel does not tell (CONFIG_PROC_CHILDREN), or the thread has ended.
        Err(libc::ENOENT) => return Ok(()),
        Err(errno) => return Err(unreadable(errno)),
    };
    while let Some(line) = lines.next().map_err(unreadable)? {
        for word in line.split(|&b| b == b' ') {
            let Some((pid, _)) = decimal(word) else { continue };
            let Some(ended) = child(area, pid as i32)? else { continue };
            *list.get_mut(*len).ok_or_else(|| {
                let what = "children that the program has not waited for";
                area.refuse(Refusal::TooMany { what, most: MOST, errno: libc::ENOMEM })
            })? = ended;
            *len += 1;
        }
    }
    Ok(())
}

/// What is known about a child; `None`: a clone child, or one that is gone.
fn child(area: &ReservedArea, pid: i32) -> Result<Option<Ended>, Refused> {
    let Ok((found, code, status)) = look(libc::P_PID, pid) else { return Ok(None) };
    if found == 0 {
        return match children::add(pid, programs(pid)) {
            Some(()) => Ok(None),
            None => {
                let (what, most) = ("children that live", children::MOST);
                Err(area.refuse(Refusal::TooMany { what, most, errno: libc::ENOMEM }))
            }
        };
    }
    // SAFETY: no memory involved.
    let group_of = |pid: i32| unsafe { syscalls::call!(libc::SYS_getpgid, pid) };
    let group = group_of(pid);
    let leads = group == Ok(pid as usize);
    if !leads && group != group_of(0) {
        return Err(area.refuse(Refusal::ChildOfAnotherGroup { pid: programs(pid) }));
    }
    let code = if has_dumped(pid) { libc::CLD_DUMPED } else { code };
    Ok(Some(Ended { pid, code, status, leads }))
}

/// Makes the children again, in the restored process, before its actions of signals are set.
pub fn restore(area: &ReservedArea) -> Result<(), Refused> {
    // SAFETY: only this thread uses it (see `OfImage`).
    let list = unsafe { &*OF_IMAGE.list.get() };
    let list = &list[..(OF_IMAGE.len.load(Ordering::Relaxed) as usize).min(MOST)];
    child_calls::forget_all();
    let again = |it: &Ended| make(it);
    renumber(&RENAMED, list, again)
        .map_err(|errno| area.refuse(Refusal::NoChildAgain { errno }))?;
    if !list.is_empty() {
        ANY_RENAMED.store(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Notes the new number of a child that lives again.
pub fn rename(called: i32, pid: i32) -> Result<(), Errno> {
    let free = RENAMED.iter().find(|slot| slot.load(Ordering::Relaxed) == 0).ok_or(libc::ENOMEM)?;
    free.store((called as u64) << 32 | u64::from(pid as u32), Ordering::Relaxed);
    ANY_RENAMED.store(1, Ordering::Relaxed);
    Ok(())
}

/// Makes each child and fills the table with the new numbers. The numbers of the image and the new
/// ones may overlap: what the program calls each child is looked up before the first new number
/// stands in the table. (A forked process is known by its number, which is not set yet: this reads
/// the table itself.)
fn renumber(
    table: &[AtomicU64; MOST],
    list: &[Ended],
    mut make: impl FnMut(&Ended) -> Result<i32, Errno>,
) -> Result<(), Errno> {
    let mut called = [0; MOST];
    for (called, it) in called.iter_mut().zip(list) {
        let entries = table.iter().map(|slot| slot.load(Ordering::Relaxed));
        let known =
            entries.filter(|entry| *entry != 0).map(numbers).find(|known| known.1 == it.pid);
        *called = known.map_or(it.pid, |known| known.0);
    }
    table.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
    for ((slot, programs), it) in table.iter().zip(called).zip(list) {
        let made = make(it)?;
        let dumped = if it.code == libc::CLD_DUMPED { DUMPED } else { 0 };
        slot.store(dumped | (programs as u64) << 32 | u64::from(made as u32), Ordering::Relaxed);
    }
    Ok(())
}

/// A process that ends at once as this child did.
fn make(it: &Ended) -> Result<i32, Errno> {
    let (default, chld) = ([0u64; 4], 1u64 << (libc::SIGCHLD - 1));
    // Where SIGCHLD is ignored, an ended child leaves nothing.
    // SAFETY: struct kernel_sigaction has 32 bytes; zeros are SIG_DFL.
    unsafe { syscalls::call!(libc::SYS_rt_sigaction, libc::SIGCHLD, default.as_ptr(), 0, 8) }?;
    // SAFETY: a copy of this process, which ends at once.
    let child = unsafe { syscalls::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) }? as i32;
    if child == 0 {
        end(it);
    }
    let mut info = [0u32; 32];
    let options = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: struct siginfo has 128 bytes.
    let mut wait = || unsafe {
        syscalls::call!(libc::SYS_waitid, libc::P_PID, child, info.as_mut_ptr(), options, 0)
    };
    while wait() == Err(libc::EINTR) {}
    // The program has been told of the end of its child, or will be by its own signal.
    let none = [0u64; 2];
    // SAFETY: the mask is 8 bytes, the time two words.
    while unsafe {
        syscalls::call!(libc::SYS_rt_sigtimedwait, &raw const chld, 0, none.as_ptr(), 8)
    } == Err(libc::EINTR)
    {}
    Ok(child)
}

fn end(it: &Ended) -> ! {
    // SAFETY: the calls take numbers, or pointers to what is here.
    unsafe {
        if it.leads {
            let _ = syscalls::call!(libc::SYS_setpgid, 0, 0);
        }
        if it.code != libc::CLD_EXITED {
            let (none, default) = ([0u64; 2], [0u64; 4]);
            let core = libc::RLIMIT_CORE;
            let _ = syscalls::call!(libc::SYS_prlimit64, 0, core, none.as_ptr(), 0);
            // A `core_pattern` that is a pipe ignores that limit, and would get all memory of the
            // rank. (A child that had left a core dump has its mark in the table.)
            let _ = syscalls::call!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
            let at = default.as_ptr();
            let _ = syscalls::call!(libc::SYS_rt_sigaction, it.status, at, 0, 8);
            syscalls::set_signal_mask(0);
            let _ = syscalls::call!(libc::SYS_kill, syscalls::getpid(), it.status);
        }
    }
    syscalls::exit(it.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(pid: i32, status: i32) -> Ended {
        Ended { pid, code: libc::CLD_EXITED, status, leads: false }
    }

    /// The children are made with these numbers. Gives the number of the program, the kernel's, and
    /// how that child ended.
    fn made(table: &[AtomicU64; MOST], list: &[Ended], new: &[i32]) -> [(i32, i32, i32); 2] {
        let (mut ends, mut next) = ([(0, 0); 2], 0);
        renumber(table, list, |it| {
            ends[next] = (new[next], it.status);
            next += 1;
            Ok(new[next - 1])
        })
        .unwrap();
        let mut found = [(0, 0, 0); 2];
        for (found, slot) in found.iter_mut().zip(table) {
            let (programs, kernels) = numbers(slot.load(Ordering::Relaxed));
            let end = ends.iter().find(|end| end.0 == kernels).unwrap();
            *found = (programs, kernels, end.1);
        }
        found
    }

    #[test]
    fn new_numbers_that_are_old_ones_do_not_swap_children() {
        let table = [const { AtomicU64::new(0) }; MOST];
        // In a namespace of its own, with one process more than before.
        let first = made(&table, &[ended(3, 1), ended(4, 2)], &[4, 5]);
        assert_eq!(first, [(3, 4, 1), (4, 5, 2)]);
        // The next image has the kernel's numbers, in any order.
        let second = made(&table, &[ended(5, 2), ended(4, 1)], &[4, 5]);
        assert_eq!(second, [(4, 4, 2), (3, 5, 1)]);
        // One was collected; another one was started by the program itself.
        table[0].store(0, Ordering::Relaxed);
        let third = made(&table, &[ended(4, 7), ended(5, 1)], &[5, 4]);
        assert_eq!(third, [(4, 5, 7), (3, 4, 1)]);
    }

    #[test]
    fn the_mark_of_a_core_dump_is_no_part_of_a_number() {
        let table = [const { AtomicU64::new(0) }; MOST];
        let dumped = Ended { code: libc::CLD_DUMPED, ..ended(i32::MAX, libc::SIGSEGV) };
        renumber(&table, &[dumped], |_| Ok(9)).unwrap();
        let entry = table[0].load(Ordering::Relaxed);
        assert_eq!((numbers(entry), entry & DUMPED), ((i32::MAX, 9), DUMPED));
    }
}
