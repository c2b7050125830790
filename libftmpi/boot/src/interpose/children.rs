//! Functions that take or give numbers of children: a restored process has its ended children
//! again, under other numbers of the kernel ([`crate::process::ended_children`]).

use crate::base::errno::set_errno;
use crate::base::syscalls;
use crate::interpose::next_function::next;
use crate::process::child_calls::{Call, Frame};
use crate::process::ended_children::{forget, has_dumped, kernels, programs};
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{idtype_t, pid_t, rusage, siginfo_t};

/// `WCOREDUMP`
const CORE_DUMPED: c_int = 0x80;

/// The kernel's number, or group, of what `waitpid` is to wait for.
fn wanted(pid: pid_t) -> pid_t {
    match pid {
        ..-1 => kernels(pid.wrapping_neg()).wrapping_neg(),
        -1 | 0 => pid,
        1.. => kernels(pid),
    }
}

/// What the program is told about a child that `waitpid` has collected.
///
/// # Safety
/// `status` is valid or null.
unsafe fn collected(pid: pid_t, status: *mut c_int) -> pid_t {
    if pid <= 0 {
        return pid;
    }
    if has_dumped(pid)
        // SAFETY: by the caller.
        && let Some(status) = unsafe { status.as_mut() }
    {
        *status |= CORE_DUMPED;
    }
    let told = programs(pid);
    forget(pid);
    told
}

/// See `wait(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait(status: *mut c_int) -> pid_t {
    let next = next!(c"wait", -1, fn(*mut c_int) -> pid_t);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { collected(next(status), status) }
}

/// See `waitpid(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    let next = next!(c"waitpid", -1, fn(pid_t, *mut c_int, c_int) -> pid_t);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { collected(next(wanted(pid), status, options), status) }
}

/// See `wait3(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, used: *mut rusage) -> pid_t {
    let next = next!(c"wait3", -1, fn(*mut c_int, c_int, *mut rusage) -> pid_t);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { collected(next(status, options, used), status) }
}

/// See `wait4(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait4(
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    used: *mut rusage,
) -> pid_t {
    let next = next!(c"wait4", -1, fn(pid_t, *mut c_int, c_int, *mut rusage) -> pid_t);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { collected(next(wanted(pid), status, options, used), status) }
}

/// See `waitid(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitid(
    which: idtype_t,
    id: c_uint,
    info: *mut siginfo_t,
    options: c_int,
) -> c_int {
    let next = next!(c"waitid", -1, fn(idtype_t, c_uint, *mut siginfo_t, c_int) -> c_int);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    let by_number = which == libc::P_PID || which == libc::P_PGID;
    let id = if by_number { kernels(id as pid_t) as c_uint } else { id };
    // SAFETY: by the caller.
    let result = unsafe { next(which, id, info, options) };
    if result == 0
        // SAFETY: by the caller.
        && let Some(info) = unsafe { info.cast::<[i32; 32]>().as_mut() }
        && info[4] > 0
    {
        // (struct siginfo: si_code is word 2, si_pid word 4.)
        let pid = info[4];
        if has_dumped(pid) {
            info[2] = libc::CLD_DUMPED;
        }
        info[4] = programs(pid);
        if options & libc::WNOWAIT == 0 {
            forget(pid);
        }
    }
    result
}

/// See `kill(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kill(pid: pid_t, signal: c_int) -> c_int {
    let next = next!(c"kill", -1, fn(pid_t, c_int) -> c_int);
    // A handler of this process may leave the call by a jump.
    let frame = Frame::new();
    let _call = (pid > 0 && pid != syscalls::getpid()).then(|| Call::begin(&frame));
    // SAFETY: no memory involved.
    unsafe { next(wanted(pid), signal) }
}

/// See `killpg(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn killpg(group: pid_t, signal: c_int) -> c_int {
    let next = next!(c"killpg", -1, fn(pid_t, c_int) -> c_int);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: no memory involved.
    unsafe { next(kernels(group), signal) }
}

/// See `getpgid(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpgid(pid: pid_t) -> pid_t {
    let next = next!(c"getpgid", -1, fn(pid_t) -> pid_t);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: no memory involved.
    programs(unsafe { next(kernels(pid)) })
}

/// See `pidfd_open(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pidfd_open(pid: pid_t, flags: c_uint) -> c_int {
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // By the system call: C libraries before 2.36 have no such function.
    // SAFETY: no memory involved.
    let made = unsafe { syscalls::call!(libc::SYS_pidfd_open, kernels(pid), flags) };
    made.map_or_else(
        |errno| {
            set_errno(errno);
            -1
        },
        |fd| fd as c_int,
    )
}

/// See `system(3)`. Inside, the C library waits for its child by the kernel's number.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let next = next!(c"system", -1, fn(*const c_char) -> c_int);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { next(command) }
}

/// See `wordexp(3)`, which runs commands as `system` does.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wordexp(
    words: *const c_char,
    expanded: *mut c_void,
    flags: c_int,
) -> c_int {
    // (`WRDE_NOSPACE`)
    let next = next!(c"wordexp", 1, fn(*const c_char, *mut c_void, c_int) -> c_int);
    let frame = Frame::new();
    let _call = Call::begin(&frame);
    // SAFETY: by the caller.
    unsafe { next(words, expanded, flags) }
}
