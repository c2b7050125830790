//! Attributes of process and threads that do not change what the program computes: scheduling,
//! `prctl` flags, `oom_score_adj`.
//!
//! A restored process sets the attributes again that the program had changed since its start. The
//! others are those that the new agent gives. If this host forbids an attribute, the process goes
//! on without it.

use crate::base::procfs;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::Line;
use core::cell::UnsafeCell;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{ProcessAttributes, Thread, ThreadAttributes};

const PR_SET_PDEATHSIG: usize = 1;

const PR_GET_PDEATHSIG: usize = 2;

const PR_GET_DUMPABLE: usize = 3;

const PR_SET_DUMPABLE: usize = 4;

const PR_SET_KEEPCAPS: usize = 8;

const PR_GET_SECUREBITS: usize = 27;

const PR_SET_SECUREBITS: usize = 28;

const PR_SET_TIMERSLACK: usize = 29;

const PR_GET_TIMERSLACK: usize = 30;

const PR_SET_CHILD_SUBREAPER: usize = 36;

const PR_GET_CHILD_SUBREAPER: usize = 37;

const PR_SET_NO_NEW_PRIVS: usize = 38;

const PR_GET_NO_NEW_PRIVS: usize = 39;

const PR_SET_THP_DISABLE: usize = 41;

const PR_GET_THP_DISABLE: usize = 42;

const PR_SET_MEMORY_MERGE: usize = 67;

const PR_GET_MEMORY_MERGE: usize = 68;

/// The secure bit that `PR_SET_KEEPCAPS` sets, which needs no privilege.
const KEEP_CAPS: u32 = 1 << 4;

const IOPRIO_WHO_PROCESS: usize = 1;

const OOM: &CStr = c"/proc/self/oom_score_adj";

/// What main thread and process began with, in this incarnation.
struct AtStart(UnsafeCell<(ThreadAttributes, ProcessAttributes)>);

// SAFETY: written only at the begin of an incarnation, by the only thread.
unsafe impl Sync for AtStart {}

static AT_START: AtStart =
    AtStart(UnsafeCell::new((ThreadAttributes::NONE, ProcessAttributes::NONE)));

/// Remembers the attributes at the begin of an incarnation.
pub fn remember_start() {
    // SAFETY: see `AtStart`.
    unsafe { *AT_START.0.get() = (of_thread(), of_process()) };
}

/// The attributes at the begin.
pub fn at_start() -> (ThreadAttributes, ProcessAttributes) {
    // SAFETY: see `AtStart`.
    unsafe { *AT_START.0.get() }
}

/// A `prctl` with numbers only.
fn ask(what: usize, value: usize) -> Result<usize, syscalls::Errno> {
    // SAFETY: only commands without addresses are passed. The other arguments are zero, as some
    // commands demand.
    unsafe { syscalls::call!(libc::SYS_prctl, what, value) }
}

/// A `prctl` that writes a number to an address; 0 if it fails.
fn ask_by_address(what: usize) -> i32 {
    let mut value = 0i32;
    // SAFETY: writes one number.
    let _ = unsafe { syscalls::call!(libc::SYS_prctl, what, &raw mut value) };
    value
}

/// The attributes of the calling thread.
pub fn of_thread() -> ThreadAttributes {
    let mut priority = 0i32;
    // SAFETY: struct sched_param is one number; 0 is this thread.
    let _ = unsafe { syscalls::call!(libc::SYS_sched_getparam, 0, &raw mut priority) };
    // SAFETY: no memory involved; 0 is this thread.
    let policy = unsafe { syscalls::call!(libc::SYS_sched_getscheduler, 0) };
    // SAFETY: as above.
    let io = unsafe { syscalls::call!(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
    ThreadAttributes {
        no_new_privs: ask(PR_GET_NO_NEW_PRIVS, 0).unwrap_or(0) as u32,
        secure_bits: ask(PR_GET_SECUREBITS, 0).unwrap_or(0) as u32,
        death_signal: ask_by_address(PR_GET_PDEATHSIG),
        policy: policy.unwrap_or(0) as i32,
        priority,
        io_priority: io.unwrap_or(0) as i32,
        timer_slack: ask(PR_GET_TIMERSLACK, 0).unwrap_or(0) as u64,
    }
}

/// Refuses an image if a thread is scheduled by deadline. Such a thread may not make threads or
/// processes, and the kernel would have to admit it again.
pub fn refuse_deadlines(area: &ReservedArea, threads: &[Thread]) -> Result<(), Refused> {
    const SCHED_DEADLINE: i32 = 6;
    const RESET_ON_FORK: i32 = 0x4000_0000;
    let found = threads.iter().find(|t| t.attributes.policy & !RESET_ON_FORK == SCHED_DEADLINE);
    found.map_or(Ok(()), |thread| Err(area.refuse(Refusal::DeadlineScheduling { tid: thread.tid })))
}

/// Gives the calling thread the attributes that differ from those at the `start` of its process.
pub fn restore(wanted: &ThreadAttributes, start: &ThreadAttributes) {
    if wanted.timer_slack != start.timer_slack {
        let _ = ask(PR_SET_TIMERSLACK, wanted.timer_slack as usize);
    }
    if wanted.death_signal != start.death_signal {
        let _ = ask(PR_SET_PDEATHSIG, wanted.death_signal as usize);
    }
    if wanted.io_priority != start.io_priority {
        let value = wanted.io_priority;
        // SAFETY: no memory involved; 0 is this thread.
        let _ = unsafe { syscalls::call!(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value) };
    }
    if (wanted.policy, wanted.priority) != (start.policy, start.priority) {
        let (policy, priority) = (wanted.policy, wanted.priority);
        // SAFETY: struct sched_param is one number; 0 is this thread.
        let _ = unsafe {
            syscalls::call!(libc::SYS_sched_setscheduler, 0, policy, &raw const priority)
        };
    }
    if wanted.secure_bits != start.secure_bits
        && ask(PR_SET_SECUREBITS, wanted.secure_bits as usize).is_err()
    {
        let keep = wanted.secure_bits & KEEP_CAPS != 0;
        let _ = ask(PR_SET_KEEPCAPS, usize::from(keep));
    }
    if wanted.no_new_privs != start.no_new_privs {
        let _ = ask(PR_SET_NO_NEW_PRIVS, 1);
    }
}

/// The attributes of the process as a whole.
pub fn of_process() -> ProcessAttributes {
    // SAFETY: this argument only asks.
    let personality = unsafe { syscalls::call!(libc::SYS_personality, 0xffff_ffffusize) };
    ProcessAttributes {
        dumpable: ask(PR_GET_DUMPABLE, 0).unwrap_or(1) as u32,
        subreaper: ask_by_address(PR_GET_CHILD_SUBREAPER) as u32,
        no_huge_pages: ask(PR_GET_THP_DISABLE, 0).unwrap_or(0) as u32,
        oom_score: procfs::number_in(OOM).unwrap_or(0),
        personality: personality.unwrap_or(0) as u32,
        merges: ask(PR_GET_MEMORY_MERGE, 0).unwrap_or(0) as u32,
        barriers: barriers(),
    }
}

/// The commands of `membarrier` by which the process has registered; without a registration its
/// barriers fail. Kernels before 6.3 do not tell: there the most common command is assumed.
fn barriers() -> u32 {
    const GET_REGISTRATIONS: usize = 1 << 9;
    const REGISTER_PRIVATE_EXPEDITED: u32 = 1 << 4;
    // SAFETY: no memory involved.
    let answer = unsafe { syscalls::call!(libc::SYS_membarrier, GET_REGISTRATIONS, 0, 0) };
    match answer {
        Ok(commands) => commands as u32,
        Err(_) => REGISTER_PRIVATE_EXPEDITED,
    }
}

/// Gives the process the attributes that differ from those at its `start`. Before the limits,
/// which may forbid to open a file.
pub fn restore_process(wanted: &ProcessAttributes, start: &ProcessAttributes) {
    if wanted.oom_score != start.oom_score
        && let Ok(fd) = syscalls::open(OOM, libc::O_WRONLY | libc::O_CLOEXEC)
    {
        let mut text = Line::new();
        text.set(format_args!("{}", wanted.oom_score));
        let _ = syscalls::write_all(fd, text.bytes());
        syscalls::close(fd);
    }
    if wanted.personality != start.personality {
        // SAFETY: as it was when the image was taken.
        let _ = unsafe { syscalls::call!(libc::SYS_personality, wanted.personality) };
    }
    if wanted.subreaper != start.subreaper {
        let _ = ask(PR_SET_CHILD_SUBREAPER, wanted.subreaper as usize);
    }
    if wanted.no_huge_pages != start.no_huge_pages {
        let (on, kind) = (wanted.no_huge_pages & 1, wanted.no_huge_pages & !1);
        // SAFETY: numbers only.
        let _ = unsafe { syscalls::call!(libc::SYS_prctl, PR_SET_THP_DISABLE, on, kind) };
    }
    // A new process has none of these registrations, and a second one does no harm.
    for command in (0..u32::BITS).map(|bit| 1 << bit) {
        if wanted.barriers & command != 0 {
            // SAFETY: no memory involved.
            let _ = unsafe { syscalls::call!(libc::SYS_membarrier, command, 0, 0) };
        }
    }
    if wanted.merges != start.merges {
        let _ = ask(PR_SET_MEMORY_MERGE, wanted.merges as usize);
    }
    if wanted.dumpable != start.dumpable {
        // The value 2 ("root only") comes from a change of users, and no process can ask for it.
        let _ = ask(PR_SET_DUMPABLE, usize::from(wanted.dumpable == 1));
    }
}
