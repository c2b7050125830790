//! Clocks that count since a host was started: a restored process may be on another host, where they show
//! something else. Programs measure and wait by them and rely on one thing: that they never run backwards.
//!
//! So they go on from what they showed at the image: what the kernel says is shifted, and a time to wait until is
//! shifted back. On the boot where the image was taken nothing is, and the time that passed counts. Covered is what
//! goes through the C library: its clock, its waits with such a clock, and `syscall`, with which runtime libraries of other
//! languages wait. A wait that an image interrupted has its time in a place of ours ([`until`]), which the restore changes.
//! Not covered: absolute times of POSIX timers, and who asks the kernel himself.

use crate::base::syscalls;
use crate::interpose::waits::set_errno;
use crate::life::{self, next};
use crate::threads::thread_notes::{self, ThreadNotes};
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use ftmpi_checkpoint::stream::{Map, Thread};
use libc::{clockid_t, timespec};

/// The clocks: as the kernel adjusts it, as it is, and with the time that the host slept.
const CLOCKS: [clockid_t; 3] =
    [libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_BOOTTIME];
const SECOND: i64 = 1_000_000_000;
/// So far the coarse clock may be behind the others: the longest time between two ticks of a kernel.
const TICK: i64 = 10_000_000;

/// Nanoseconds that the program's clocks are ahead of the kernel's.
static AHEAD: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];
/// What the program's clocks showed when the image was taken: part of it, as all memory.
static AT_IMAGE: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];

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

/// Notes what the clocks show; as one of the last things before the image child is made.
pub fn note() {
    for (n, clock) in CLOCKS.into_iter().enumerate() {
        let shown = kernels(clock) + AHEAD[n].load(Ordering::Relaxed);
        AT_IMAGE[n].store(shown, Ordering::Relaxed);
    }
}

/// Lets them go on from there, in the restored process, while only this thread runs. `same_boot`: they counted on,
/// unless they show otherwise.
///
/// # Safety
/// Threads and mappings are those of this process.
pub unsafe fn restore(same_boot: bool, threads: &[Thread], maps: &[Map]) {
    let mut more = [0; 3];
    for (n, clock) in CLOCKS.into_iter().enumerate() {
        let (kernels, ahead) = (kernels(clock), AHEAD[n].load(Ordering::Relaxed));
        let shown = AT_IMAGE[n].load(Ordering::Relaxed);
        if !same_boot || kernels + ahead < shown {
            more[n] = shown - kernels - ahead + TICK;
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
        // SAFETY: memory that the image brought. Who left a wait by a jump has left its note, too: then there is
        // something else now.
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

/// A time some nanoseconds later; what is no time stays so.
fn shifted(time: timespec, by: i64) -> timespec {
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

/// A time of the program's as the kernel counts it.
fn kernels_time(clock: clockid_t, time: timespec) -> timespec {
    match which(clock) {
        Some(n) => shifted(time, -AHEAD[n].load(Ordering::Relaxed)),
        None => time,
    }
}

/// Calls a function that waits until a time, with that time as the kernel counts it. If there is a restore meanwhile, the
/// function finds another time in the same place.
///
/// # Safety
/// `until` is valid or null.
pub unsafe fn until(
    clock: clockid_t,
    until: *const timespec,
    call: impl FnOnce(*const timespec) -> c_int,
) -> c_int {
    let Some(n) = which(clock).filter(|_| !until.is_null()) else { return call(until) };
    let notes = &thread_notes::mine().until;
    let outer = notes.each_ref().map(|note| note.load(Ordering::Relaxed));
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    let place = &raw mut time;
    loop {
        let restores = life::restores();
        notes[0].store(0, Ordering::Release);
        // SAFETY: by the caller.
        let kernels = kernels_time(clock, unsafe { *until });
        // SAFETY: our own; but not only we write to it, so it is never used but by address.
        unsafe { place.write_volatile(kernels) };
        notes[1].store(kernels.tv_sec as u64, Ordering::Relaxed);
        notes[2].store(kernels.tv_nsec as u64, Ordering::Relaxed);
        notes[0].store(place as u64 | n as u64, Ordering::Release);
        if restores == life::restores() {
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

/// See `clock_gettime(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let next = next!(c"clock_gettime", -1, fn(clockid_t, *mut timespec) -> c_int);
    loop {
        let restores = life::restores();
        // SAFETY: by the caller.
        let result = unsafe { next(clock, time) };
        if let Some(n) = which(clock)
            && result == 0
        {
            let ahead = AHEAD[n].load(Ordering::Relaxed);
            if ahead != 0 {
                // SAFETY: by the caller; it was filled.
                unsafe { *time = shifted(*time, ahead) };
            }
            if restores != life::restores() {
                continue;
            }
        }
        return result;
    }
}

/// The bit of a condition variable's flags that says that its clock is the monotonic one.
const MONOTONIC: u32 = 2;
/// Words of a condition variable.
const WORDS: usize = 12;

/// In which word of a condition variable its flags are: versions of the C library differ. Found by making one; [`WORDS`]
/// if it cannot be told.
fn flags_at() -> usize {
    /// One more than the word; 0: not looked yet.
    static FOUND: AtomicU32 = AtomicU32::new(0);
    let found = FOUND.load(Ordering::Relaxed);
    if found != 0 {
        return found as usize - 1;
    }
    // SAFETY: both are made before they are used, and of the size that the C library says.
    let words: [u32; WORDS] = unsafe {
        let mut attributes: libc::pthread_condattr_t = core::mem::zeroed();
        let mut made: libc::pthread_cond_t = core::mem::zeroed();
        libc::pthread_condattr_init(&raw mut attributes);
        libc::pthread_condattr_setclock(&raw mut attributes, libc::CLOCK_MONOTONIC);
        libc::pthread_cond_init(&raw mut made, &raw const attributes);
        core::mem::transmute(made)
    };
    let at = words.iter().position(|word| *word == MONOTONIC).unwrap_or(WORDS);
    FOUND.store(at as u32 + 1, Ordering::Relaxed);
    at
}

/// The clock of a condition variable of the C library.
///
/// # Safety
/// It is initialised.
unsafe fn clock_of(condition: *const c_void) -> clockid_t {
    let at = flags_at();
    if at == WORDS {
        return libc::CLOCK_REALTIME;
    }
    // SAFETY: by the caller; the structure has so many words.
    let flags = unsafe { &*condition.cast::<AtomicU32>().add(at) };
    if flags.load(Ordering::Relaxed) & MONOTONIC != 0 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// See the manual. (The C library has two of this name: the later one.)
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    lock: *mut c_void,
    time: *const timespec,
) -> c_int {
    static SLOT: life::NextFunction = life::NextFunction::new();
    crate::life::find_at_start!(SLOT, c"pthread_cond_timedwait", c"GLIBC_2.3.2");
    let address = SLOT.find_version(c"pthread_cond_timedwait", c"GLIBC_2.3.2");
    if address == 0 {
        return libc::ENOSYS;
    }
    type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *const timespec) -> c_int;
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { core::mem::transmute::<usize, Function>(address) };
    // SAFETY: by the caller.
    unsafe { until(clock_of(condition), time, |time| next(condition, lock, time)) }
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    lock: *mut c_void,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    let next = next!(
        c"pthread_cond_clockwait",
        libc::ENOSYS,
        fn(*mut c_void, *mut c_void, clockid_t, *const timespec) -> c_int
    );
    // SAFETY: by the caller.
    unsafe { until(clock, time, |time| next(condition, lock, clock, time)) }
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_clockrdlock(
    lock: *mut c_void,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    let next = next!(
        c"pthread_rwlock_clockrdlock",
        libc::ENOSYS,
        fn(*mut c_void, clockid_t, *const timespec) -> c_int
    );
    // SAFETY: by the caller.
    unsafe { until(clock, time, |time| next(lock, clock, time)) }
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_clockjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    let next = next!(
        c"pthread_clockjoin_np",
        libc::ENOSYS,
        fn(libc::pthread_t, *mut *mut c_void, clockid_t, *const timespec) -> c_int
    );
    // SAFETY: by the caller.
    unsafe { until(clock, time, |time| next(thread, result, clock, time)) }
}

/// See `syscall(2)`: what the C library has under this name, but for three calls about clocks.
///
/// # Safety
/// As there.
// In the processor's language: what it is called for may return twice.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    naked_asm!(
        "endbr64",
        "cmp rdi, {futex}",
        "je {shifted_call}",
        "cmp rdi, {clock_gettime}",
        "je {shifted_call}",
        "cmp rdi, {clock_nanosleep}",
        "je {shifted_call}",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 5f",
        "ret",
        "5:",
        "mov rdi, rax",
        "jmp {failed}",
        futex = const libc::SYS_futex,
        clock_gettime = const libc::SYS_clock_gettime,
        clock_nanosleep = const libc::SYS_clock_nanosleep,
        shifted_call = sym shifted_call,
        failed = sym failed,
    );
}

extern "C" fn failed(result: c_long) -> c_long {
    set_errno(-result as c_int);
    -1
}

/// # Safety
/// As the system call.
unsafe extern "C" fn shifted_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    const CLOCK_REALTIME_FLAG: usize = 256;
    /// Those that wait until a time: `WAIT_BITSET`, `WAIT_REQUEUE_PI`, `LOCK_PI2`.
    const ABSOLUTE: [usize; 3] = [9, 11, 13];
    // SAFETY: by the caller: these arguments are a time, or null.
    unsafe {
        let call = |time: *const timespec, at: usize| {
            let mut arguments = [a, b, c, d, e, f];
            arguments[at] = time as usize;
            let result = syscalls::raw(number, arguments);
            if (-4095..0).contains(&result) { failed(result as c_long) } else { result as c_long }
        };
        let (clock, time, at) = match number {
            libc::SYS_futex
                if b & CLOCK_REALTIME_FLAG == 0 && ABSOLUTE.contains(&(b & 127)) && d != 0 =>
            {
                (libc::CLOCK_MONOTONIC, d as *const timespec, 3)
            }
            libc::SYS_clock_nanosleep if b & libc::TIMER_ABSTIME as usize != 0 && c != 0 => {
                (a as clockid_t, c as *const timespec, 2)
            }
            libc::SYS_clock_gettime => {
                return c_long::from(clock_gettime(a as clockid_t, b as *mut timespec));
            }
            _ => return call(d as *const timespec, 3),
        };
        until(clock, time, |time| call(time, at) as c_int).into()
    }
}
