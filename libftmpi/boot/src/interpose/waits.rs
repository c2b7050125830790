//! Waits of the C library that end with `EINTR` after any signal, in spite of `SA_RESTART`.
//!
//! Without these functions a program would notice every image. They begin a wait again if only the
//! agent's signal ended it. In a process that is no rank the signal never comes.
//!
//! Time that has passed counts: a relative wait goes on with the rest of its time. A restored
//! process may have other clocks; a relative wait that is measured by a clock begins again there.

use crate::base::errno::{errno, set_errno};
use crate::base::rank::restores;
use crate::base::syscalls::now_ns;
use crate::interpose::interruption::{WakeCount, again};
use crate::interpose::next_function::next;
use crate::interpose::signal_masks::without_agent_signal;
use crate::time::clock_shift;
use core::ffi::{c_int, c_uint, c_void};
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

/// A signal mask without the agent's signal; null stays null.
///
/// # Safety
/// `mask` is valid or null; the result lives as long as `room`.
unsafe fn open_mask(mask: *const sigset_t, room: &mut Option<sigset_t>) -> *const sigset_t {
    if mask.is_null() {
        return mask;
    }
    // SAFETY: by the caller.
    room.insert(unsafe { without_agent_signal(mask) })
}

/// A relative wait in nanoseconds, and how much of it is left.
struct Wait {
    whole: u64,
    end: u64,
    restores: u32,
}

impl Wait {
    fn new(whole: u64) -> Self {
        Self { whole, end: now_ns().saturating_add(whole), restores: restores() }
    }

    fn left(&mut self) -> u64 {
        if self.restores != restores() {
            *self = Self::new(self.whole);
        }
        self.end.saturating_sub(now_ns())
    }
}

fn to_nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    (seconds.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(nanoseconds.max(0) as u64)
}

fn to_timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// See `nanosleep(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(wanted: *const timespec, left: *mut timespec) -> c_int {
    let next = next!(c"nanosleep", -1, fn(*const timespec, *mut timespec) -> c_int);
    let mut rest = timespec { tv_sec: 0, tv_nsec: 0 };
    let mut from = wanted;
    let result = again(|| {
        // SAFETY: `wanted` is the caller's; `next` writes `rest` before it is read.
        let result = unsafe { next(from, &raw mut rest) };
        from = &raw const rest;
        result
    });
    if result == -1 && errno() == libc::EINTR && !left.is_null() {
        // SAFETY: by the caller.
        unsafe { *left = rest };
    }
    result
}

/// See `clock_nanosleep(2)`; gives the error number.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    wanted: *const timespec,
    left: *mut timespec,
) -> c_int {
    let next = next!(
        c"clock_nanosleep",
        libc::ENOSYS,
        fn(libc::clockid_t, c_int, *const timespec, *mut timespec) -> c_int
    );
    let absolute = flags & libc::TIMER_ABSTIME != 0;
    let mut rest = timespec { tv_sec: 0, tv_nsec: 0 };
    let mut from = wanted;
    loop {
        let before = WakeCount::now();
        // SAFETY: `wanted` is the caller's; `next` writes `rest` before it is read.
        let result = unsafe {
            if absolute {
                clock_shift::until(clock, wanted, |time| next(clock, flags, time, &raw mut rest))
            } else {
                next(clock, flags, from, &raw mut rest)
            }
        };
        if result == libc::EINTR && before.only_by_agent_signal() {
            if !absolute {
                from = &raw const rest;
            }
            continue;
        }
        if result == libc::EINTR && !absolute && !left.is_null() {
            // SAFETY: by the caller.
            unsafe { *left = rest };
        }
        return result;
    }
}

/// See `sleep(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let wanted = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let mut left = timespec { tv_sec: 0, tv_nsec: 0 };
    let saved = errno();
    // SAFETY: both are valid.
    if unsafe { nanosleep(&raw const wanted, &raw mut left) } == 0 {
        set_errno(saved);
        return 0;
    }
    left.tv_sec as c_uint
}

/// See `usleep(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let wanted = to_timespec(u64::from(microseconds) * 1000);
    // SAFETY: valid; null is allowed.
    unsafe { nanosleep(&raw const wanted, core::ptr::null_mut()) }
}

/// See `pause(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn pause() -> c_int {
    let next = next!(c"pause", -1, fn() -> c_int);
    // SAFETY: no arguments.
    again(|| unsafe { next() })
}

/// See `poll(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    let next = next!(c"poll", -1, fn(*mut pollfd, nfds_t, c_int) -> c_int);
    if timeout_ms <= 0 {
        // SAFETY: by the caller.
        return again(|| unsafe { next(fds, count, timeout_ms) });
    }
    let mut wait = Wait::new(timeout_ms as u64 * 1_000_000);
    let mut now = timeout_ms;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(fds, count, now) };
        now = wait.left().div_ceil(1_000_000) as c_int;
        result
    })
}

/// `poll` as programs compiled with `_FORTIFY_SOURCE` call it.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout_ms: c_int,
    room: usize,
) -> c_int {
    if room / size_of::<pollfd>() < count as usize {
        let next = next!(c"__poll_chk", -1, fn(*mut pollfd, nfds_t, c_int, usize) -> c_int);
        // SAFETY: by the caller; the function ends the program.
        return unsafe { next(fds, count, timeout_ms, room) };
    }
    // SAFETY: by the caller.
    unsafe { poll(fds, count, timeout_ms) }
}

/// See `ppoll(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let next =
        next!(c"ppoll", -1, fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int);
    let mut room = None;
    // SAFETY: by the caller.
    let mask = unsafe { open_mask(mask, &mut room) };
    if timeout.is_null() {
        // SAFETY: by the caller.
        return again(|| unsafe { next(fds, count, timeout, mask) });
    }
    // SAFETY: by the caller.
    let first = unsafe { *timeout };
    let mut wait = Wait::new(to_nanoseconds(first.tv_sec, first.tv_nsec));
    let mut now = first;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(fds, count, &raw const now, mask) };
        now = to_timespec(wait.left());
        result
    })
}

/// See `select(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    let next = next!(
        c"select",
        -1,
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int
    );
    // On EINTR Linux does not change the sets, and leaves the rest of the time in `timeout`.
    // SAFETY: by the caller.
    again(|| unsafe { next(count, read, write, except, timeout) })
}

/// See `pselect(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let next = next!(
        c"pselect",
        -1,
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *const timespec, *const sigset_t) -> c_int
    );
    let mut room = None;
    // SAFETY: by the caller.
    let mask = unsafe { open_mask(mask, &mut room) };
    if timeout.is_null() {
        // SAFETY: by the caller.
        return again(|| unsafe { next(count, read, write, except, timeout, mask) });
    }
    // SAFETY: by the caller.
    let first = unsafe { *timeout };
    let mut wait = Wait::new(to_nanoseconds(first.tv_sec, first.tv_nsec));
    let mut now = first;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(count, read, write, except, &raw const now, mask) };
        now = to_timespec(wait.left());
        result
    })
}

/// See `epoll_wait(2)`. (An epoll descriptor makes images impossible, but the agent's signal comes
/// all the same.)
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    let next = next!(c"epoll_wait", -1, fn(c_int, *mut epoll_event, c_int, c_int) -> c_int);
    if timeout_ms <= 0 {
        // SAFETY: by the caller.
        return again(|| unsafe { next(epoll, events, most, timeout_ms) });
    }
    let mut wait = Wait::new(timeout_ms as u64 * 1_000_000);
    let mut now = timeout_ms;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(epoll, events, most, now) };
        now = wait.left().div_ceil(1_000_000) as c_int;
        result
    })
}

/// See `sigtimedwait(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut c_void,
    timeout: *const timespec,
) -> c_int {
    let next =
        next!(c"sigtimedwait", -1, fn(*const sigset_t, *mut c_void, *const timespec) -> c_int);
    let mut room = None;
    // SAFETY: by the caller.
    let set = unsafe { open_mask(set, &mut room) };
    if timeout.is_null() {
        // SAFETY: by the caller.
        return again(|| unsafe { next(set, info, timeout) });
    }
    // SAFETY: by the caller.
    let first = unsafe { *timeout };
    let mut wait = Wait::new(to_nanoseconds(first.tv_sec, first.tv_nsec));
    let mut now = first;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(set, info, &raw const now) };
        now = to_timespec(wait.left());
        result
    })
}

/// See `sigwaitinfo(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut c_void) -> c_int {
    // SAFETY: by the caller.
    unsafe { sigtimedwait(set, info, core::ptr::null()) }
}

/// See `sem_timedwait(3)`: the time is absolute.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int {
    let next = next!(c"sem_timedwait", -1, fn(*mut c_void, *const timespec) -> c_int);
    // SAFETY: by the caller.
    again(|| unsafe { next(semaphore, until) })
}

/// See `sem_clockwait(3)`: the time is absolute.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: libc::clockid_t,
    until: *const timespec,
) -> c_int {
    let next =
        next!(c"sem_clockwait", -1, fn(*mut c_void, libc::clockid_t, *const timespec) -> c_int);
    again(|| {
        // SAFETY: by the caller.
        unsafe { clock_shift::until(clock, until, |time| next(semaphore, clock, time)) }
    })
}

/// See `epoll_pwait(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    let next = next!(
        c"epoll_pwait",
        -1,
        fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int
    );
    let mut room = None;
    // SAFETY: by the caller.
    let mask = unsafe { open_mask(mask, &mut room) };
    let mut wait = Wait::new(timeout_ms.max(0) as u64 * 1_000_000);
    let mut now = timeout_ms;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(epoll, events, most, now, mask) };
        if timeout_ms > 0 {
            now = wait.left().div_ceil(1_000_000) as c_int;
        }
        result
    })
}

/// See `epoll_pwait2(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let next = next!(
        c"epoll_pwait2",
        -1,
        fn(c_int, *mut epoll_event, c_int, *const timespec, *const sigset_t) -> c_int
    );
    let mut room = None;
    // SAFETY: by the caller.
    let mask = unsafe { open_mask(mask, &mut room) };
    if timeout.is_null() {
        // SAFETY: by the caller.
        return again(|| unsafe { next(epoll, events, most, timeout, mask) });
    }
    // SAFETY: by the caller.
    let first = unsafe { *timeout };
    let mut wait = Wait::new(to_nanoseconds(first.tv_sec, first.tv_nsec));
    let mut now = first;
    again(|| {
        // SAFETY: by the caller.
        let result = unsafe { next(epoll, events, most, &raw const now, mask) };
        now = to_timespec(wait.left());
        result
    })
}

/// `ppoll` as programs compiled with `_FORTIFY_SOURCE` call it.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    room: usize,
) -> c_int {
    if room / size_of::<pollfd>() < count as usize {
        let next = next!(
            c"__ppoll_chk",
            -1,
            fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t, usize) -> c_int
        );
        // SAFETY: by the caller; the function ends the program.
        return unsafe { next(fds, count, timeout, mask, room) };
    }
    // SAFETY: by the caller.
    unsafe { ppoll(fds, count, timeout, mask) }
}

/// See `thrd_sleep(3)`: 0; -1 after a signal; less after an error.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(wanted: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: by the caller.
    match unsafe { clock_nanosleep(libc::CLOCK_REALTIME, 0, wanted, left) } {
        0 => 0,
        libc::EINTR => -1,
        _ => -2,
    }
}
