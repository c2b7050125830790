//! Other threads of the program: they stand still while an image is taken, and are made again in the
//! restored process.
//!
//! To stop them, the thread that takes the image sends each the engine's signal; each parks in its
//! handler, where the kernel has saved all its registers in the signal frame (as wide as the
//! processor has them), writes down what the kernel knows about it, and waits. A restored process
//! begins as its main thread; [`recreate_all`] makes the others with `clone` on their old stacks and
//! thread blocks, each goes on in its handler, waits until all are there, and returns from the
//! signal. The C library notices nothing but new thread ids (see [`crate::threads::owned_locks`]).
//!
//! A thread that stays in the kernel or blocks every signal cannot be stopped: no image then.

pub mod owned_locks;
pub mod thread_notes;

use crate::base::refusal::{Refused, Shown, refuse};
use crate::base::reserved_area::{ReservedArea, START_STACK_TOP};
use crate::base::syscalls::{self, Errno};
use crate::capture::ftmpi_boot_switch;
use crate::process::process_attributes;
use crate::process::process_state;
use crate::signals::pending_signals;
use core::arch::global_asm;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::stream::{AFFINITY_WORDS, ProcessState, Thread, limit};

/// How long threads may take to stop.
const PATIENCE_NS: u64 = 1_000_000_000;

/// States of a thread: whoever is asked may be asked no more, unless it has claimed its place.
const ASKED: u32 = 1;
const CLAIMED: u32 = 2;
const PARKED: u32 = 3;
const REVOKED: u32 = 4;

/// How the threads agree; in the reserved area, zero at the begin of each life.
#[repr(C)]
#[derive(Debug)]
pub struct Parking {
    /// Lowest bit: threads are to stand still. From bit 3 on: how often that has changed. Between: how
    /// often they were to look for signals again meanwhile.
    round: AtomicU32,
    /// Threads that do.
    parked: AtomicU32,
    /// Entries of the two arrays below.
    count: AtomicU32,
    /// In a restored process: see [`wait_at_gate`].
    gate: AtomicU32,
    /// In a restored process: 1 when the newest thread has left the stack that it was born on.
    left_start_stack: AtomicU32,
    /// Waiting signals that were written down.
    pub signals: AtomicU32,
    /// A thread could not write its own down.
    pub too_many: AtomicU32,
    tids: [AtomicI32; limit::THREADS],
    states: [AtomicU32; limit::THREADS],
}

/// One of [`Parking::round`]'s looks.
const LOOK: u32 = 2;
/// And one of its changes.
const CHANGE: u32 = 8;

/// The next value of [`Parking::round`], in which threads stand still or not.
fn next_round(round: u32, standing: bool) -> u32 {
    (round / CHANGE).wrapping_add(1).wrapping_mul(CHANGE) | u32::from(standing)
}

// long ftmpi_boot_birth(u64 flags, u64 stack, void *id, u64 thread_pointer, struct thread *thread)
//
// clone; the new thread calls `ftmpi_boot_thread_start` on the birth stack, which gives the address of a
// word; leaves that stack for its own, stores 1 in the word and wakes its maker, and goes on where
// it parked. `resume` (stack pointer, instruction) is at offset 8 of the structure.
global_asm!(
    ".text",
    ".p2align 4",
    ".hidden ftmpi_boot_clone_thread",
    ".globl ftmpi_boot_clone_thread",
    ".type ftmpi_boot_clone_thread,@function",
    "ftmpi_boot_clone_thread:",
    "push rbx",
    "mov rbx, r8",
    "mov r8, rcx",
    "mov r10, rdx",
    "mov eax, 56",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop rbx",
    "ret",
    "2:",
    "xor ebp, ebp",
    "mov rdi, rbx",
    "call ftmpi_boot_thread_start",
    "mov rdi, rax",
    "mov rsp, [rbx + 8]",
    // Before it says so: the table may be that of the next image when it comes to jump.
    "mov r12, [rbx + 16]",
    "mov dword ptr [rdi], 1",
    "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
    "mov edx, 1",
    "mov eax, 202",
    "syscall",
    "jmp r12",
    ".size ftmpi_boot_clone_thread, . - ftmpi_boot_clone_thread",
);

const _: () = assert!(core::mem::offset_of!(Thread, resume) == 8);

// SAFETY: the signature is that of the C side.
unsafe extern "C" {
    fn ftmpi_boot_clone_thread(
        flags: u64,
        stack: usize,
        id: u64,
        thread_pointer: u64,
        thread: *const Thread,
    ) -> isize;
}

/// Waits while `word` is `value`, for `limit_ns` at the most.
fn futex_wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) {
    let time = limit_ns.map(|ns| [ns / 1_000_000_000, ns % 1_000_000_000]);
    let time = time.as_ref().map_or(core::ptr::null(), |time| time.as_ptr());
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live over the call.
    let _ = unsafe { syscalls::call!(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}

fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives over the call.
    let _ = unsafe { syscalls::call!(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}

/// Number of threads of this process.
pub fn count() -> usize {
    // A directory has one link from its parent, one from itself, and one from each directory in it.
    syscalls::stat(c"/proc/self/task").map_or(1, |stat| stat.st_nlink.saturating_sub(2) as usize)
}

/// Stops all other threads. Fills the reserved area's table of threads, the main thread first, except for
/// what only the calling thread knows of itself ([`record_thread_state`]). Gives their number, and the place of
/// the calling thread. All signals are blocked. If this succeeds, [`release`] must follow.
pub fn stop(area: &ReservedArea) -> Result<(usize, usize), Refused> {
    let (pid, me) = (syscalls::getpid(), syscalls::gettid());
    let table = area.threads();
    table[0] = Thread { tid: pid, ..Thread::default() };
    pending_signals::forget(area, &area.parking().signals);
    area.parking().too_many.store(0, Ordering::SeqCst);
    // Alone, nobody else can make a thread meanwhile.
    if pid == me && count() == 1 {
        return Ok((1, 0));
    }
    let parking = area.parking();
    parking.parked.store(0, Ordering::Relaxed);
    parking.count.store(0, Ordering::Relaxed);
    parking.round.store(next_round(parking.round.load(Ordering::SeqCst), true), Ordering::SeqCst);
    let result = wait_for_all(area, pid, me);
    // Whoever did not come shall not come late, into another round.
    for state in &parking.states[..parking.count.load(Ordering::Relaxed) as usize] {
        if state.compare_exchange(ASKED, REVOKED, Ordering::SeqCst, Ordering::SeqCst)
            == Err(CLAIMED)
        {
            while state.load(Ordering::Acquire) == CLAIMED {
                futex_wait(state, CLAIMED, Some(1_000_000));
            }
        }
    }
    if result.is_err() {
        release(area);
    } else {
        look_for_signals(area);
    }
    result
}

/// A thread that went on while another stood still already may have sent that one a signal (the C
/// library cancels threads so). Now nobody sends any more: if one has any, all write theirs down anew.
fn look_for_signals(area: &ReservedArea) {
    let parking = area.parking();
    let count = parking.count.load(Ordering::Relaxed) as usize;
    let parked = || {
        let all = parking.states[..count].iter().zip(&parking.tids);
        all.filter(|(state, _)| state.load(Ordering::Acquire) == PARKED)
    };
    if !parked().any(|(_, tid)| pending_signals::has_any(tid.load(Ordering::Relaxed))) {
        return;
    }
    pending_signals::forget(area, &parking.signals);
    parking.too_many.store(0, Ordering::SeqCst);
    let all = parked().count() as u32;
    parking.parked.store(0, Ordering::SeqCst);
    parking.round.fetch_add(LOOK, Ordering::SeqCst);
    futex_wake(&parking.round);
    loop {
        let ready = parking.parked.load(Ordering::Acquire);
        if ready == all {
            return;
        }
        futex_wait(&parking.parked, ready, None);
    }
}

/// Lets them go on.
pub fn release(area: &ReservedArea) {
    let parking = area.parking();
    let round = parking.round.load(Ordering::SeqCst);
    if round & 1 == 1 {
        parking.round.store(next_round(round, false), Ordering::SeqCst);
        futex_wake(&parking.round);
    }
}

fn wait_for_all(area: &ReservedArea, pid: i32, me: i32) -> Result<(usize, usize), Refused> {
    let parking = area.parking();
    let table = area.threads();
    let failed = |errno| refuse!(area, errno, "/proc/self/task: {}", syscalls::error_text(errno));
    // The main thread has the first place, whoever asks.
    ask_to_stop(parking, pid, me).map_err(failed)?;
    if pid != me {
        table[1] = Thread { tid: me, ..Thread::default() };
        ask_to_stop(parking, me, me).map_err(failed)?;
    }
    let begun = syscalls::now_ns();
    // A thread that was listed as standing still may have made another one just before: only when a
    // second look finds all of them so, there is none left.
    let mut quiet = 0;
    loop {
        let mut laggard = None;
        let mut result = Ok(());
        crate::base::procfs::each_number(c"/proc/self/task", area.text(), |tid| {
            let tid = tid as i32;
            if tid == me || result.is_err() {
                return;
            }
            let count = parking.count.load(Ordering::Relaxed) as usize;
            match parking.tids[..count].iter().position(|t| t.load(Ordering::Relaxed) == tid) {
                Some(at) if parking.states[at].load(Ordering::Acquire) == PARKED => {}
                Some(_) => laggard = Some(tid),
                None => {
                    laggard = Some(tid);
                    if count < limit::THREADS {
                        table[count] = Thread { tid, ..Thread::default() };
                    }
                    result = ask_to_stop(parking, tid, me);
                }
            }
        })
        .and(result)
        .map_err(failed)?;
        let Some(laggard) = laggard else {
            quiet += 1;
            if quiet == 2 {
                break;
            }
            continue;
        };
        quiet = 0;
        if laggard == pid && main_has_ended(pid) {
            return Err(refuse!(
                area,
                libc::EOPNOTSUPP,
                "the program's main thread has ended (pthread_exit) before the others, which an image \
                 cannot contain"
            ));
        }
        if syscalls::now_ns() - begun > PATIENCE_NS {
            let mut name = [0u8; 64];
            let mut text = [0u8; 32];
            let path = crate::base::procfs::numbered_at("task", laggard as u32, "/comm", &mut name);
            let len = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC).map_or(0, |fd| {
                let len = syscalls::read(fd, &mut text).unwrap_or(0);
                syscalls::close(fd);
                len.saturating_sub(1)
            });
            return Err(refuse!(
                area,
                libc::EAGAIN,
                "thread {laggard} of the program ({}) cannot be stopped: it blocks all signals \
                 (helpers of the C library do) or waits in the kernel",
                Shown(&text[..len])
            ));
        }
        let parked = parking.parked.load(Ordering::Acquire);
        if parked < parking.count.load(Ordering::Relaxed) - 1 {
            futex_wait(&parking.parked, parked, Some(1_000_000));
        }
    }
    // Those that ended meanwhile leave the table.
    let mut kept = 0;
    let mut mine = 0;
    for at in 0..parking.count.load(Ordering::Relaxed) as usize {
        let is_me = table[at].tid == me;
        if is_me || parking.states[at].load(Ordering::Acquire) == PARKED {
            if is_me {
                mine = kept;
            }
            table[kept] = table[at];
            kept += 1;
        } else if at == 0 {
            return Err(refuse!(area, libc::EAGAIN, "the program's main thread has just ended"));
        }
    }
    if let Some(thread) = table[..kept].iter().find(|thread| {
        // SAFETY: told by the thread itself, which stands still.
        thread.notes != 0
            && unsafe { (*(thread.notes as *const thread_notes::ThreadNotes)).is_full() }
    }) {
        let tid = thread.tid;
        return Err(refuse!(
            area,
            libc::EAGAIN,
            "thread {tid} of the program holds too many recursive locks"
        ));
    }
    Ok((kept, mine))
}

/// A process whose main thread has ended stays, as long as it has others; that thread cannot be asked.
fn main_has_ended(pid: i32) -> bool {
    let (mut name, mut text) = ([0u8; 64], [0u8; 128]);
    let path = crate::base::procfs::numbered_at("task", pid as u32, "/stat", &mut name);
    let Ok(fd) = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let len = syscalls::read(fd, &mut text).unwrap_or(0);
    syscalls::close(fd);
    // The state stands behind the name, which may contain anything.
    let behind = text[..len].iter().rposition(|&byte| byte == b')');
    behind.is_some_and(|at| text[..len].get(at + 2) == Some(&b'Z'))
}

/// Adds a thread and asks it to stop (unless it is the calling one).
fn ask_to_stop(parking: &Parking, tid: i32, me: i32) -> Result<(), Errno> {
    let at = parking.count.load(Ordering::Relaxed) as usize;
    if at == limit::THREADS {
        return Err(libc::EAGAIN);
    }
    parking.tids[at].store(tid, Ordering::Relaxed);
    parking.states[at].store(ASKED, Ordering::Relaxed);
    parking.count.store(at as u32 + 1, Ordering::Release);
    if tid == me {
        return Ok(());
    }
    // SAFETY: no memory involved.
    match unsafe { syscalls::call!(libc::SYS_tgkill, syscalls::getpid(), tid, SIGNAL) } {
        // It has just ended.
        Ok(_) | Err(libc::ESRCH) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// In the signal's handler: whether this thread is asked to stand still. If so it does, and this
/// returns when it may go on: in this life, or in a restored one.
pub fn park_if_asked(area: &ReservedArea, tid: i32) -> bool {
    let parking = area.parking();
    if parking.round.load(Ordering::SeqCst) & 1 == 0 {
        return false;
    }
    let count = (parking.count.load(Ordering::Acquire) as usize).min(limit::THREADS);
    let Some(at) = parking.tids[..count].iter().position(|t| t.load(Ordering::Relaxed) == tid)
    else {
        return false;
    };
    let state = &parking.states[at];
    if state.compare_exchange(ASKED, CLAIMED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return false;
    }
    // SAFETY: the place in the table is this thread's until it says that it stands still.
    let thread = unsafe { &mut *area.threads().as_mut_ptr().add(at) };
    record_thread_state(thread);
    collect_signals(area, tid);
    // SAFETY: stays on this stack. Returns once in this life, and once in each restored one.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut thread.resume, stay_parked, at as *mut core::ffi::c_void, 0)
    };
    if result == 1 {
        wait_at_gate(area);
    }
    true
}

/// Writes down the signals that wait for the calling thread, which keeps them.
fn collect_signals(area: &ReservedArea, tid: i32) {
    let parking = area.parking();
    if pending_signals::collect_own(area, &parking.signals).is_err() {
        parking.too_many.store(1, Ordering::SeqCst);
    }
    pending_signals::send_again(pending_signals::known(area, &parking.signals), tid);
}

/// Everything that must be kept of the thread is written down and on its stack.
extern "C" fn stay_parked(at: *mut core::ffi::c_void) -> isize {
    // SAFETY: only the shared words of the reserved area are used, and places of its tables that are ours alone.
    let area = unsafe { ReservedArea::take() };
    let parking = area.parking();
    let mut round = parking.round.load(Ordering::SeqCst);
    // Counted before it is said: who looks at the states counts anew from there on.
    parking.parked.fetch_add(1, Ordering::AcqRel);
    parking.states[at as usize].store(PARKED, Ordering::Release);
    futex_wake(&parking.parked);
    loop {
        // The round may have ended before we came here.
        while round & 1 == 1 && parking.round.load(Ordering::SeqCst) == round {
            futex_wait(&parking.round, round, None);
        }
        let now = parking.round.load(Ordering::SeqCst);
        if round & 1 == 0 || now / CHANGE != round / CHANGE {
            return 0;
        }
        round = now;
        collect_signals(&area, syscalls::gettid());
        parking.parked.fetch_add(1, Ordering::AcqRel);
        futex_wake(&parking.parked);
    }
}

/// The gate: the main thread, which comes last, says that all are there; the one that took the image lets
/// all go on.
const CLOSED: u32 = 0;
const COMPLETE: u32 = 1;
const OPEN: u32 = 2;

/// In a restored process, on the thread's own stack: waits until it may go on.
fn wait_at_gate(area: &ReservedArea) {
    let gate = &area.parking().gate;
    if syscalls::gettid() == syscalls::getpid() {
        gate.store(COMPLETE, Ordering::SeqCst);
        futex_wake(gate);
    }
    loop {
        match gate.load(Ordering::SeqCst) {
            OPEN => return,
            other => futex_wait(gate, other, None),
        }
    }
}

/// The same on the thread that took the image: it does something `first`, while all others wait.
pub fn open_gate(area: &ReservedArea, first: impl FnOnce()) {
    let gate = &area.parking().gate;
    if syscalls::gettid() != syscalls::getpid() {
        while gate.load(Ordering::SeqCst) == CLOSED {
            futex_wait(gate, CLOSED, None);
        }
    }
    first();
    gate.store(OPEN, Ordering::SeqCst);
    futex_wake(gate);
}

/// Writes down what the kernel knows about the calling thread.
pub fn record_thread_state(thread: &mut Thread) {
    const PR_GET_NAME: usize = 16;
    thread.tid = syscalls::gettid();
    thread.fs_base = process_state::fs_base();
    thread.gs_base = process_state::gs_base();
    thread.tid_address = process_state::tid_address(thread.fs_base);
    let (mut head, mut len) = (0u64, 0u64);
    // SAFETY: both words are valid for writing; 0 is this thread.
    let _ = unsafe { syscalls::call!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) };
    (thread.robust_head, thread.robust_len) = (head, len);
    (thread.rseq_address, thread.rseq_len) = process_state::rseq();
    // SAFETY: struct sigaltstack is three words here (the flags are the lower half of the second).
    let _ = unsafe { syscalls::call!(libc::SYS_sigaltstack, 0, thread.altstack.as_mut_ptr()) };
    thread.altstack[1] &= 0xffff_ffff;
    thread.notes = thread_notes::mine() as *const _ as u64;
    // SAFETY: the name has 16 bytes.
    let _ = unsafe { syscalls::call!(libc::SYS_prctl, PR_GET_NAME, thread.name.as_mut_ptr()) };
    thread.affinity = affinity();
    thread.nice = nice();
    thread.attributes = process_attributes::mine();
}

/// Processors that the calling thread may run on.
pub fn affinity() -> [u64; AFFINITY_WORDS] {
    let mut words = [0; AFFINITY_WORDS];
    // SAFETY: valid for writing; 0 is this thread.
    let _ = unsafe {
        syscalls::call!(libc::SYS_sched_getaffinity, 0, size_of_val(&words), words.as_mut_ptr())
    };
    words
}

/// `nice` of the calling thread.
pub fn nice() -> i32 {
    // The kernel tells 20 − nice. SAFETY: no memory involved; 0 is this thread.
    unsafe { syscalls::call!(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) }
        .map_or(0, |told| 20 - told as i32)
}

/// Gives the calling thread back what does not decide over right and wrong: name, processors,
/// priority, manners. A host that does not allow it is no obstacle. The main thread comes last: what
/// it has would be inherited by those that it makes.
pub fn apply_thread_state(thread: &Thread, process: &ProcessState) {
    const PR_SET_NAME: usize = 15;
    // SAFETY: the name has 16 bytes; the kernel ends it itself.
    let _ = unsafe { syscalls::call!(libc::SYS_prctl, PR_SET_NAME, thread.name.as_ptr()) };
    if thread.affinity != process.affinity_at_start {
        let words = &thread.affinity;
        // SAFETY: valid for reading; 0 is this thread.
        let _ = unsafe {
            syscalls::call!(libc::SYS_sched_setaffinity, 0, size_of_val(words), words.as_ptr())
        };
    }
    if thread.nice != process.nice_at_start {
        // SAFETY: no memory involved; 0 is this thread.
        let _ =
            unsafe { syscalls::call!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, thread.nice) };
    }
    process_attributes::restore(&thread.attributes, &process.thread_attributes_at_start);
}

/// Makes the other threads again; in the restored process, on the reserved area's stack.
pub fn recreate_all(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    const FLAGS: i32 = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_SETTLS;
    let parking = area.parking();
    for thread in &area.threads()[1..process.threads as usize] {
        parking.left_start_stack.store(0, Ordering::SeqCst);
        let mut flags = FLAGS;
        if thread.tid_address != 0 {
            flags |= libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID;
        }
        // SAFETY: the new thread runs on the birth stack, which is free, until it leaves it for its
        // own; thread pointer and id address are those of the memory that was restored.
        let made = unsafe {
            ftmpi_boot_clone_thread(
                flags as u64,
                START_STACK_TOP,
                thread.tid_address,
                thread.fs_base,
                &raw const *thread,
            )
        };
        syscalls::check(made).map_err(|errno| {
            refuse!(
                area,
                errno,
                "the {} threads of the image cannot be made: {} (is 'ulimit -u' too low here?)",
                process.threads,
                syscalls::error_text(errno)
            )
        })?;
        while parking.left_start_stack.load(Ordering::SeqCst) == 0 {
            futex_wait(&parking.left_start_stack, 0, None);
        }
    }
    Ok(())
}

/// The begin of a thread that is made again; all signals are blocked. Gives the word in which it is
/// to say that it has left this stack.
#[unsafe(no_mangle)]
extern "C" fn ftmpi_boot_thread_start(thread: *const Thread) -> *const AtomicU32 {
    // SAFETY: the entry of the reserved area's table that `recreate_all` passed.
    let thread = unsafe { &*thread };
    // SAFETY: the others wait meanwhile.
    let area = unsafe { ReservedArea::take() };
    let process = area.process_state();
    if register_with_kernel(thread).is_err() {
        area.line().set(format_args!("the kernel refuses the state of a thread of the image"));
        let rank = crate::life::control_rank(&area);
        crate::restore::fail(rank, &area, ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT);
    }
    apply_thread_state(thread, process);
    // Blocked until the thread's mask is put back.
    pending_signals::send_restored(
        &area.signals()[..process.signals as usize],
        thread.tid,
        process.pid,
    );
    &raw const area.parking().left_start_stack
}

/// What the kernel must know about the thread.
fn register_with_kernel(thread: &Thread) -> Result<(), Errno> {
    const ARCH_SET_GS: usize = 0x1001;
    if thread.gs_base != 0 {
        // SAFETY: as it was.
        unsafe { syscalls::call!(libc::SYS_arch_prctl, ARCH_SET_GS, thread.gs_base) }?;
    }
    if thread.robust_head != 0 {
        // SAFETY: in the thread's own block, which was restored.
        unsafe {
            syscalls::call!(libc::SYS_set_robust_list, thread.robust_head, thread.robust_len)
        }?;
    }
    if thread.rseq_address != 0 {
        process_state::register_rseq(thread.rseq_address, thread.rseq_len)?;
    }
    set_altstack(thread);
    Ok(())
}

/// Gives the calling thread its alternative signal stack back.
pub fn set_altstack(thread: &Thread) {
    const SS_ONSTACK: u64 = 1;
    let altstack = [thread.altstack[0], thread.altstack[1] & !SS_ONSTACK, thread.altstack[2]];
    // SAFETY: the memory is the program's.
    let _ = unsafe { syscalls::call!(libc::SYS_sigaltstack, altstack.as_ptr(), 0) };
}
