//! Clocks that count since the host was started go on after a restore, also after a reboot or on
//! another host. Programs rely on clocks that never run backwards.
//!
//! A clock goes on from what it showed at the image: the kernel's time is shifted, and a time to
//! wait until is shifted back. On the boot where the image was taken nothing is shifted, and the
//! time that has passed counts.
//!
//! Covered are the functions of the C library ([`crate::interpose::clocks`]): its clock and its
//! waits with such a clock. `syscall` is covered too, because the runtime libraries of other
//! languages wait by it. A wait that an image interrupted has its time in a place of this library
//! ([`until`]), which the restore changes.
//!
//! Not covered: absolute times of POSIX timers, and programs that make the system call themselves.

use crate::base::rank;
use crate::base::syscalls;
use crate::threads::thread_notes::{self, ThreadNotes};
use crate::tuning::TICK_NS;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI64, Ordering};
use ftmpi_checkpoint::stream::{Map, Thread};
use libc::{clockid_t, timespec};

/// The clocks: adjusted by the kernel, not adjusted, and with the time that the host slept.
const CLOCKS: [clockid_t; 3] =
    [libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_BOOTTIME];

const SECOND: i64 = 1_000_000_000;

/// Nanoseconds that each clock of the program is ahead of the kernel's.
static AHEAD: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];

/// What each clock of the program showed at the image. Part of the image, as all memory.
static AT_IMAGE: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];

#[inline]
fn which(clock: clockid_t) -> Option<usize> {
    match clock {
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_COARSE => Some(0),
        libc::CLOCK_MONOTONIC_RAW => Some(1),
        libc::CLOCK_BOOTTIME => Some(2),
        _ => None,
    }
}

fn kernels(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for writing.
    let _ = unsafe { syscalls::call!(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec * SECOND + time.tv_nsec
}

/// Notes what the clocks show. One of the last steps before the image child is made.
pub fn note() {
    for (n, clock) in CLOCKS.into_iter().enumerate() {
        let shown = kernels(clock) + AHEAD[n].load(Ordering::Relaxed);
        AT_IMAGE[n].store(shown, Ordering::Relaxed);
    }
}

/// Shifts the clocks in the restored process, while only this thread runs. `same_boot`: the
/// kernel's clocks have counted on, unless they show less than at the image.
///
/// # Safety
/// Threads and mappings are those of this process.
pub unsafe fn restore(same_boot: bool, threads: &[Thread], maps: &[Map]) {
    let mut more = [0; 3];
    for (n, clock) in CLOCKS.into_iter().enumerate() {
        let (kernels, ahead) = (kernels(clock), AHEAD[n].load(Ordering::Relaxed));
        let shown = AT_IMAGE[n].load(Ordering::Relaxed);
        if !same_boot || kernels + ahead < shown {
            more[n] = shown - kernels - ahead + TICK_NS;
            AHEAD[n].store(ahead + more[n], Ordering::Relaxed);
        }
    }
    for thread in threads.iter().filter(|thread| thread.notes != 0) {
        // SAFETY: by the caller; restored with the thread's own block.
        let noted = unsafe { &(*(thread.notes as *const ThreadNotes)).until };
        let [place, seconds, nanoseconds] = noted.each_ref().map(|n| n.load(Ordering::Relaxed));
        let (place, n) = ((place & !7) as *mut timespec, (place & 7) as usize);
        if place.is_null() || n >= more.len() || !is_writable(maps, place as u64) {
            continue;
        }
        // SAFETY: memory that the image brought. A thread that left a wait by a jump has left its
        // note, too; then the place holds something else now.
        unsafe {
            let time = place.read();
            if (time.tv_sec as u64, time.tv_nsec as u64) == (seconds, nanoseconds) {
                let new = shifted(time, -more[n]);
                place.write(new);
                noted[1].store(new.tv_sec as u64, Ordering::Relaxed);
                noted[2].store(new.tv_nsec as u64, Ordering::Relaxed);
            }
        }
    }
}

fn is_writable(maps: &[Map], address: u64) -> bool {
    let at = maps.partition_point(|map| map.end <= address);
    maps.get(at).is_some_and(|map| {
        map.start <= address
            && address + size_of::<timespec>() as u64 <= map.end
            && map.prot & libc::PROT_WRITE as u32 != 0
    })
}

/// A time that is some nanoseconds later. An invalid time stays as it is.
#[inline]
pub fn shifted(time: timespec, by: i64) -> timespec {
    if by == 0 || !(0..SECOND).contains(&time.tv_nsec) {
        return time;
    }
    let nanoseconds = time.tv_nsec + by % SECOND;
    let seconds = time.tv_sec.saturating_add(by / SECOND);
    timespec {
        tv_sec: seconds.saturating_add(nanoseconds.div_euclid(SECOND)).max(0),
        tv_nsec: nanoseconds.rem_euclid(SECOND),
    }
}

/// Nanoseconds that a clock of the program is ahead of the kernel's; `None` for clocks that are
/// never shifted.
#[inline]
pub fn ahead(clock: clockid_t) -> Option<i64> {
    which(clock).map(|n| AHEAD[n].load(Ordering::Relaxed))
}

/// The kernel's time for a time of the program.
pub fn kernels_time(clock: clockid_t, time: timespec) -> timespec {
    match which(clock) {
        Some(n) => shifted(time, -AHEAD[n].load(Ordering::Relaxed)),
        None => time,
    }
}

/// Calls a function that waits until a time, with the kernel's time. After a restore during the
/// wait the function finds another time in the same place.
///
/// # Safety
/// `until` is valid or null.
pub unsafe fn until(
    clock: clockid_t,
    until: *const timespec,
    call: impl FnOnce(*const timespec) -> c_int,
) -> c_int {
    let Some(n) = which(clock).filter(|_| !until.is_null()) else { return call(until) };
    let notes = &thread_notes::of_caller().until;
    let outer = notes.each_ref().map(|note| note.load(Ordering::Relaxed));
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    let place = &raw mut time;
    loop {
        let restores = rank::restores();
        notes[0].store(0, Ordering::Release);
        // SAFETY: by the caller.
        let kernels = kernels_time(clock, unsafe { *until });
        // SAFETY: a local variable. The restore writes it, too, so it is used by address only.
        unsafe { place.write_volatile(kernels) };
        notes[1].store(kernels.tv_sec as u64, Ordering::Relaxed);
        notes[2].store(kernels.tv_nsec as u64, Ordering::Relaxed);
        notes[0].store(place as u64 | n as u64, Ordering::Release);
        if restores == rank::restores() {
            break;
        }
    }
    let result = call(place);
    notes[0].store(0, Ordering::Release);
    for (note, outer) in notes.iter().zip(outer).rev() {
        note.store(outer, Ordering::Release);
    }
    result
}
