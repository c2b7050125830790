//! The state of the process as a whole: written down for an image, and put back in a restored
//! process.

use crate::base::procfs;
use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::memory::{layout::Layout, vdso};
use crate::process::limits;
use crate::process::process_attributes;
use crate::signals::pending_signals;
use crate::threads::thread_state;
use crate::time::posix_timers;
use core::sync::atomic::{AtomicU32, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::host::processor;
use ftmpi_checkpoint::stream::{
    ARCH_X86_64, FEATURE_WORDS, Hash, IntervalTimer, ProcessState, STREAM_VERSION, SignalAction,
};

/// Instructions that the program counts on: all, unless the agent says otherwise. A restored
/// process has those of its image.
static BASELINE: [AtomicU32; FEATURE_WORDS] = [const { AtomicU32::new(!0) }; FEATURE_WORDS];

/// The program counts on these instructions only.
pub fn remember_baseline(baseline: [u32; FEATURE_WORDS]) {
    for (slot, word) in BASELINE.iter().zip(baseline) {
        slot.store(word, Ordering::Relaxed);
    }
}

/// Remembers what this process was started with.
pub fn remember_start() {
    limits::remember_start();
    thread_state::remember_start();
    process_attributes::remember_start();
}

/// Writes down what only the process itself can find out, not its image child, in the order in
/// which it must be asked. All signals are blocked, and all other threads stand still.
pub fn gather(area: &ReservedArea, strings: &mut Strings, layout: &Layout) -> Result<(), Refused> {
    let process = area.process_state();
    let failed = |what: &str, errno| area.unreadable(what, errno);
    process.version = STREAM_VERSION;
    process.boot = boot_id();
    process.size = size_of::<ProcessState>() as u32;
    process.arch = ARCH_X86_64;
    process.page_bytes = 4096;
    process.pid = syscalls::getpid();
    (process.heap_start, process.places) =
        procfs::memory_places(area.text()).map_err(|errno| failed("the heap's start", errno))?;
    // SAFETY: an impossible end changes nothing; the call returns the present one.
    process.heap_end = unsafe { syscalls::raw(libc::SYS_brk, [0; 6]) } as u64;
    if process.heap_start == 0 {
        return Err(area.refuse(Refusal::HeapUnknown));
    }
    vdso::gather(area, process, layout)?;
    process.stack_end = layout.stack_end;
    limits::gather(process);
    thread_state::gather_start(process);
    (process.thread_attributes_at_start, process.attributes_at_start) =
        process_attributes::at_start();
    process.attributes = process_attributes::of_process();
    process.window_len = rank::window_len();
    process.processor = processor();
    for (word, slot) in process.processor.features.iter_mut().zip(&BASELINE) {
        *word &= slot.load(Ordering::Relaxed);
    }
    // A timer that fires between the two looks would be there twice, or not at all: so look again.
    // (A signal that was taken out is no longer pending.)
    for _ in 0..8 {
        let signals = &area.parking().signals;
        pending_signals::collect_own(area, signals)
            .and_then(|()| pending_signals::collect_shared(area, signals))
            .map_err(|errno| failed("what signals wait", errno))?;
        for (which, timer) in process.timers.iter_mut().enumerate() {
            // SAFETY: struct itimerval is four words.
            let _ =
                unsafe { syscalls::call!(libc::SYS_getitimer, which, timer.words.as_mut_ptr()) };
        }
        process.posix_timers = posix_timers::gather(area)?;
        if syscalls::pending_signals() & !(1 << (SIGNAL - 1)) == 0 {
            break;
        }
    }
    // SAFETY: no memory involved; the mask is put back at once, and no other thread runs.
    unsafe {
        let old = syscalls::raw(libc::SYS_umask, [0o77, 0, 0, 0, 0, 0]);
        syscalls::raw(libc::SYS_umask, [old as usize, 0, 0, 0, 0, 0]);
        process.umask = old as u32;
    }
    process.cwd =
        strings.link(c"/proc/self/cwd").map_err(|errno| failed("the working directory", errno))?;
    let cwd = strings.c_str(process.cwd);
    let there = syscalls::stat(cwd).map(|stat| (stat.st_dev, stat.st_ino));
    if there.is_err() || there != syscalls::stat(c".").map(|stat| (stat.st_dev, stat.st_ino)) {
        return Err(area.refuse(Refusal::DirectoryGone { path: Shown(cwd.to_bytes()) }));
    }
    process.executable =
        strings.link(c"/proc/self/exe").map_err(|errno| failed("the executable", errno))?;
    gather_actions(&mut process.actions);
    Ok(())
}

/// A hash for this boot of this host; 0 if the kernel does not tell.
pub fn boot_id() -> u64 {
    let mut text = [0u8; 64];
    let Ok(fd) =
        syscalls::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY | libc::O_CLOEXEC)
    else {
        return 0;
    };
    let len = syscalls::read(fd, &mut text).unwrap_or(0);
    syscalls::close(fd);
    Hash::new().with(&text[..len]).value()
}

fn gather_actions(actions: &mut [SignalAction; 64]) {
    for (action, signal) in actions.iter_mut().zip(1..) {
        *action = SignalAction::default();
        // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
        let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, &raw mut *action, 8) };
    }
}

/// Puts back actions of signals, working directory and `umask`, in the restored process.
pub fn restore(
    area: &ReservedArea,
    process: &ProcessState,
    strings: &Strings,
) -> Result<(), Refused> {
    for (action, signal) in process.actions.iter().zip(1..) {
        if signal == libc::SIGKILL || signal == libc::SIGSTOP {
            continue;
        }
        // SAFETY: handlers lie at the same addresses; all signals are blocked.
        let _ =
            unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, &raw const *action, 0, 8) };
    }
    let main = &area.threads()[0];
    thread_state::set_altstack(main);
    let cwd = strings.c_str(process.cwd);
    // SAFETY: terminated path.
    unsafe { syscalls::call!(libc::SYS_chdir, cwd.as_ptr()) }.map_err(|errno| {
        area.refuse(Refusal::NoDirectory { path: Shown(cwd.to_bytes()), errno })
    })?;
    // SAFETY: no memory involved.
    unsafe { syscalls::raw(libc::SYS_umask, [process.umask as usize, 0, 0, 0, 0, 0]) };
    Ok(())
}

/// Starts timers and sends pending signals again, last of all.
pub fn restore_clockwork(area: &ReservedArea, process: &ProcessState) {
    for (which, timer) in process.timers.iter().enumerate() {
        let mut words = timer.words;
        let [seconds, microseconds, left_seconds, left_microseconds] = &mut words;
        if *seconds | *microseconds != 0 && *left_seconds | *left_microseconds == 0 {
            // The timer had just fired. The kernel begins the next period when the signal is
            // taken, which did not happen: the timer fires again.
            *left_microseconds = 1;
        }
        if words != IntervalTimer::default().words {
            // SAFETY: struct itimerval is four words.
            let _ = unsafe { syscalls::call!(libc::SYS_setitimer, which, words.as_ptr(), 0) };
        }
    }
    let signals = &area.signals()[..process.signals as usize];
    pending_signals::send_restored(signals, process.pid, process.pid);
    pending_signals::send_restored(signals, 0, process.pid);
}
