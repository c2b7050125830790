//! The agent's signal: calls the main thread, and stops threads for an image.
//!
//! The agent sends the signal to the main thread. A thread that takes an image sends it to all
//! others ([`crate::threads`]). The handler runs on the program's stack, with all signals blocked,
//! and calls the runtime's hook. It does not run on a signal stack of the program, which may be
//! too small.
//!
//! The state of the interrupted program lies in the signal frame. After a restore the handler
//! returns into that state.

use crate::base::rank;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::children::answer;
use crate::signals::handlers;
use crate::signals::signal_frames;
use crate::signals::sigreturn::return_from_signal;
use crate::threads::{linker_locks, parking, thread_notes};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::{Hook, SIGNAL};

/// The instruction of a system call.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

static HOOK: AtomicUsize = AtomicUsize::new(0);
static SIGNALS_WITHOUT_HOOK: AtomicI32 = AtomicI32::new(0);
/// Installs the handler of the signal.
pub fn install() -> Result<(), syscalls::Errno> {
    const SA_RESTORER: u64 = 0x0400_0000;
    let flags = (libc::SA_SIGINFO | libc::SA_RESTART) as u64 | SA_RESTORER;
    let action: [u64; 4] =
        [on_signal as *const () as usize as u64, flags, return_from_signal() as u64, !0];
    // SAFETY: the kernel's struct sigaction is these four words; the handler has the right type.
    unsafe { syscalls::call!(libc::SYS_rt_sigaction, SIGNAL, action.as_ptr(), 0, 8) }?;
    // The process that started this one may have blocked the signal.
    let only = 1u64 << (SIGNAL - 1);
    // SAFETY: the word is valid; 8 is the kernel's size of a set.
    unsafe { syscalls::call!(libc::SYS_rt_sigprocmask, libc::SIG_UNBLOCK, &raw const only, 0, 8) }?;
    Ok(())
}

/// Sets the hook. Gives the number of signals that came without a hook, and forgets them.
pub fn set_hook(hook: Option<Hook>) -> c_int {
    HOOK.store(hook.map_or(0, |hook| hook as usize), Ordering::SeqCst);
    SIGNALS_WITHOUT_HOOK.swap(0, Ordering::SeqCst)
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let (pid, tid) = (syscalls::getpid(), syscalls::gettid());
    // Does a thread that takes an image ask this one to stop?
    // SAFETY: the reserved area exists. Only its shared words and this thread's entry of the table
    // are used.
    if rank::has_area() && parking::park_if_asked(&unsafe { ReservedArea::take() }, tid) {
        // SAFETY: the kernel's frame, valid until the handler returns.
        unsafe { prepare_to_go_on(&mut *context.cast::<libc::ucontext_t>(), pid, tid) };
        return;
    }
    // SAFETY: the kernel's, valid until the handler returns.
    if pid == tid && unsafe { answer::answer_if_asked(info) } {
        // SAFETY: the kernel's frame, valid until the handler returns.
        unsafe { prepare_to_go_on(&mut *context.cast::<libc::ucontext_t>(), pid, tid) };
        return;
    }
    if pid != tid {
        // The signal was sent to the process, and another thread got it: pass it on to the main
        // thread.
        // SAFETY: no memory involved.
        let _ = unsafe { syscalls::call!(libc::SYS_tgkill, pid, pid, signal) };
        // SAFETY: the kernel's frame, valid until the handler returns.
        unsafe { prepare_to_go_on(&mut *context.cast::<libc::ucontext_t>(), pid, tid) };
        return;
    }
    // SAFETY: the C library's own, valid at any time in the main thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    let hook = HOOK.load(Ordering::SeqCst);
    if hook == 0 {
        SIGNALS_WITHOUT_HOOK.fetch_add(1, Ordering::SeqCst);
    } else {
        // SAFETY: only `set_hook` writes it, from a function of this type.
        let hook: Hook = unsafe { core::mem::transmute::<usize, Hook>(hook) };
        hook();
    }
    // SAFETY: the kernel's frame, valid until the handler returns.
    unsafe { prepare_to_go_on(&mut *context.cast::<libc::ucontext_t>(), pid, tid) };
    // SAFETY: as above.
    unsafe { *errno = saved };
}

/// Prepares the program to go on, here or in a restored process. `pid` and `tid` are the ids that
/// process and thread had when the signal came.
///
/// # Safety
/// `context` is that of the signal's frame.
unsafe fn prepare_to_go_on(context: &mut libc::ucontext_t, pid: i32, tid: i32) {
    let now = syscalls::getpid();
    if now != pid {
        let at = context.uc_mcontext.gregs[libc::REG_RDI as usize] as usize;
        if thread_notes::of_caller().inside() != 0 || linker_locks::is_linker_lock(at) {
            signal_frames::renumber_owner(context, tid, syscalls::gettid());
        }
        // SAFETY: by the caller.
        unsafe { signal_frames::renumber(context, pid, now) };
    }
    // SAFETY: by the caller.
    unsafe {
        note_interruption(context);
        end_interrupted_call(context);
    }
}

/// Counts a system call that only this signal woke.
///
/// Some system calls end with EINTR in spite of SA_RESTART. The functions of
/// [`crate::interpose::waits`] begin such a call again. They look at the count of the program's
/// handlers, too. A handler that is not counted may have come before this signal, or may come
/// next. If it came before, the frame does not stand behind a system call, but at the entry of
/// that handler.
///
/// # Safety
/// `context` is that of a signal frame.
unsafe fn note_interruption(context: &libc::ucontext_t) {
    let registers = &context.uc_mcontext.gregs;
    let (ip, result) = (registers[libc::REG_RIP as usize], registers[libc::REG_RAX as usize]);
    // (A call with a positive result may have been cut short:
    // [`crate::interpose::uninterrupted_write`].)
    if result != -i64::from(libc::EINTR) && result <= 0 || ip < 4096 {
        return;
    }
    // A system call leaves the address that it returns to in `rcx`. The latest processors do not;
    // there only the begin of a page is left out, because nothing may lie before it.
    if registers[libc::REG_RCX as usize] != ip && ip % 4096 < 2 {
        return;
    }
    // SAFETY: a system call lies there, or the bytes are in the page that the processor is about
    // to execute. Memory that may only be executed needs protection keys, which no C library uses
    // for code.
    let before = unsafe { *((ip - 2) as *const [u8; 2]) };
    if before == SYSCALL && !handlers::any_uncounted(about_to_come(context)) {
        thread_notes::of_caller().interruptions.fetch_add(1, Ordering::Relaxed);
    }
}

/// Signals that the thread will get as soon as the handler returns.
fn about_to_come(context: &libc::ucontext_t) -> u64 {
    let mask = &raw const context.uc_sigmask;
    // SAFETY: the first word of the set is the kernel's.
    let blocked = unsafe { *mask.cast::<u64>() };
    syscalls::pending_signals() & !blocked & !(1 << (SIGNAL - 1))
}

/// Ends a system call with EINTR if a signal of the program has come.
///
/// The kernel begins a system call again that only this signal woke (`SA_RESTART`). A signal of
/// the program may have come since then, whose handler is to end the call. The program would wait
/// for what that signal tells.
///
/// # Safety
/// `context` is that of a signal frame.
unsafe fn end_interrupted_call(context: &mut libc::ucontext_t) {
    let registers = &context.uc_mcontext.gregs;
    let [ip, behind] = [libc::REG_RIP, libc::REG_RCX].map(|which| registers[which as usize]);
    // A system call leaves the address that it returns to in `rcx`. The kernel sets the frame
    // before the instruction if the call is to begin again. The latest processors (FRED) leave no
    // address; there the call begins again.
    if behind != ip + 2 || ip < 4096 || !ends_early(registers) {
        return;
    }
    // SAFETY: as in `note_interruption`.
    let next = unsafe { *(ip as *const [u8; 2]) };
    if next == SYSCALL && handlers::has_interrupting(about_to_come(context)) {
        let registers = &mut context.uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = ip + 2;
        registers[libc::REG_RAX as usize] = -i64::from(libc::EINTR);
    }
}

/// Whether a handler without `SA_RESTART` ends this system call with `EINTR`. Other calls begin
/// again after every handler, and calls on files of a disk are not interrupted.
fn ends_early(registers: &[libc::greg_t]) -> bool {
    const OF_DESCRIPTORS: [i64; 12] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_sendto,
        libc::SYS_recvfrom,
        libc::SYS_sendmsg,
        libc::SYS_recvmsg,
        libc::SYS_connect,
        libc::SYS_ioctl,
    ];
    const FUTEX_OPERATION: i64 = 0x7f;
    const FUTEX_WAIT: i64 = 0;
    const FUTEX_WAIT_BITSET: i64 = 9;
    let [call, first, second] =
        [libc::REG_RAX, libc::REG_RDI, libc::REG_RSI].map(|which| registers[which as usize]);
    match call {
        libc::SYS_wait4 | libc::SYS_waitid | libc::SYS_flock => true,
        libc::SYS_fcntl => {
            matches!(second as i32, libc::F_SETLKW | libc::F_OFD_SETLKW)
        }
        libc::SYS_futex => {
            matches!(second & FUTEX_OPERATION, FUTEX_WAIT | FUTEX_WAIT_BITSET)
        }
        _ => {
            OF_DESCRIPTORS.contains(&call)
                && syscalls::fstat(first as i32).is_ok_and(|s| {
                    !matches!(s.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR)
                })
        }
    }
}
