//! Clocks of the C library and its waits until a time: both are shifted in a restored process
//! ([`crate::time::clock_shift`]).

use crate::base::errno::set_errno;
use crate::base::rank;
use crate::base::syscalls;
use crate::interpose::next_function::{NextFunction, find_at_start, next};
use crate::time::clock_shift::{self, until};
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use libc::{clockid_t, timespec};

/// See `clock_gettime(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let next = next!(c"clock_gettime", -1, fn(clockid_t, *mut timespec) -> c_int);
    loop {
        let restores = rank::restores();
        // SAFETY: by the caller.
        let result = unsafe { next(clock, time) };
        if let Some(ahead) = clock_shift::ahead(clock)
            && result == 0
        {
            if ahead != 0 {
                // SAFETY: by the caller; `next` has filled it.
                unsafe { *time = clock_shift::shifted(*time, ahead) };
            }
            if restores != rank::restores() {
                continue;
            }
        }
        return result;
    }
}

/// The flag of a condition variable for the monotonic clock.
const MONOTONIC: u32 = 2;

/// Words of a condition variable.
const WORDS: usize = 12;

/// The word of a condition variable that holds its flags. Versions of the C library differ, so the
/// function makes one and looks. [`WORDS`]: not found.
fn flags_at() -> usize {
    /// One more than the word; 0: not looked yet.
    static FOUND: AtomicU32 = AtomicU32::new(0);
    let found = FOUND.load(Ordering::Relaxed);
    if found != 0 {
        return found as usize - 1;
    }
    // SAFETY: both are initialised before they are used, and have the size that the C library
    // tells.
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
/// The condition variable is initialised.
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

/// See the manual. (The C library has two versions of this function: this is the later one.)
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    lock: *mut c_void,
    time: *const timespec,
) -> c_int {
    static SLOT: NextFunction = NextFunction::new();
    find_at_start!(SLOT, c"pthread_cond_timedwait", c"GLIBC_2.3.2");
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

/// See `syscall(2)`. Three calls about clocks are shifted; all others are made as they are.
///
/// # Safety
/// As there.
// In assembly, because a call may return twice.
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
/// As for the system call.
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
    /// Futex operations that wait until a time: `WAIT_BITSET`, `WAIT_REQUEUE_PI`, `LOCK_PI2`.
    const ABSOLUTE: [usize; 3] = [9, 11, 13];
    // SAFETY: by the caller, these arguments are a time, or null.
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
