//! Pending signals: blocked, or sent while the process stood still.
//!
//! The kernel shows pending signals to nobody. So each thread takes its own out, writes them down
//! with their `siginfo`, and sends them to itself again. The thread that takes the image does the
//! same with the signals of the whole process. All signals are blocked meanwhile.

use crate::base::procfs::{self, Lines, hex};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::signals::signal_frames;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::stream::{Signal, limit};

/// The agent's signal is not part of an image.
const AGENT_SIGNAL: u64 = 1 << (SIGNAL - 1);

/// Pending signals of a thread, and of the whole process.
fn sets(path: &CStr) -> Result<[u64; 2], Errno> {
    let mut buffer = [0u8; 2048];
    let mut lines = Lines::open(path, &mut buffer)?;
    let mut own = None;
    while let Some(line) = lines.next()? {
        let value = |prefix: &[u8]| hex(line.strip_prefix(prefix)?).map(|(value, _)| value);
        own = own.or(value(b"SigPnd:\t"));
        if let (Some(own), Some(shared)) = (own, value(b"ShdPnd:\t")) {
            return Ok([own & !AGENT_SIGNAL, shared & !AGENT_SIGNAL]);
        }
    }
    Err(libc::EIO)
}

fn place(area: &ReservedArea, count: &AtomicU32) -> Result<&'static mut Signal, Errno> {
    let at = count.fetch_add(1, Ordering::AcqRel) as usize;
    area.signals().get_mut(at).ok_or(libc::EAGAIN)
}

/// Takes one signal of a set out; `None` if none is pending.
fn take(set: u64) -> Option<[u64; 16]> {
    let mut info = [0u64; 16];
    let none = [0u64; 2];
    // SAFETY: set, siginfo (128 bytes) and time are valid.
    let taken = unsafe {
        syscalls::call!(
            libc::SYS_rt_sigtimedwait,
            &raw const set,
            info.as_mut_ptr(),
            none.as_ptr(),
            8
        )
    };
    taken.is_ok().then_some(info)
}

/// Takes a signal out that was not among those that were pending `before`.
pub fn drop_new(signal: i32, before: u64) {
    let bit = 1 << (signal - 1);
    if syscalls::pending_signals() & !before & bit != 0 {
        let _ = take(bit);
    }
}

/// Writes down the calling thread's own pending signals.
pub fn collect_own(area: &ReservedArea, count: &AtomicU32) -> Result<(), Errno> {
    if syscalls::pending_signals() & !AGENT_SIGNAL == 0 {
        return Ok(());
    }
    collect(area, count, 0, syscalls::gettid())
}

/// Writes down the pending signals of the whole process. They are sent again later
/// ([`send_again`]), so that a look at pending signals meanwhile shows new ones only.
pub fn collect_shared(area: &ReservedArea, count: &AtomicU32) -> Result<(), Errno> {
    if syscalls::pending_signals() & !AGENT_SIGNAL == 0 {
        return Ok(());
    }
    collect(area, count, 1, 0)
}

fn collect(area: &ReservedArea, count: &AtomicU32, which: usize, tid: i32) -> Result<(), Errno> {
    loop {
        let set = sets(c"/proc/thread-self/status")?[which];
        if set == 0 {
            return Ok(());
        }
        let Some(info) = take(set) else { return Ok(()) };
        let number = info[0] as i32;
        match place(area, count) {
            Ok(slot) => *slot = Signal { tid, number, info },
            Err(errno) => {
                send(tid, number, &info);
                return Err(errno);
            }
        }
    }
}

/// Whether a thread has pending signals. Yes, if the kernel does not tell.
pub fn has_any(tid: i32) -> bool {
    let mut name = [0; 64];
    let path = procfs::numbered_at("task", tid as u32, "/status", &mut name);
    sets(path).map_or(true, |[own, _]| own != 0)
}

/// Whether a thread has other pending signals than those that were written down.
pub fn has_more(area: &ReservedArea, count: u32, tid: i32) -> bool {
    let mut name = [0; 64];
    let path = procfs::numbered_at("task", tid as u32, "/status", &mut name);
    let known = area.signals()[..count as usize].iter().filter(|s| s.tid == tid);
    let known = known.fold(0u64, |set, signal| set | 1 << ((signal.number - 1) & 63));
    sets(path).is_ok_and(|[own, _]| own & !known != 0)
}

/// Sends a signal with its `siginfo`: to the calling thread, or (`tid` 0) to the process.
fn send(tid: i32, number: i32, info: &[u64; 16]) {
    let pid = syscalls::getpid();
    // SAFETY: the siginfo has 128 bytes.
    let sent = unsafe {
        if tid != 0 {
            syscalls::call!(
                libc::SYS_rt_tgsigqueueinfo,
                pid,
                syscalls::gettid(),
                number,
                info.as_ptr()
            )
        } else {
            syscalls::call!(libc::SYS_rt_sigqueueinfo, pid, number, info.as_ptr())
        }
    };
    if sent.is_err() {
        // Only the main thread may send a `siginfo` of the kernel. Otherwise the signal goes
        // without it.
        // SAFETY: no memory involved.
        let _ = unsafe {
            if tid != 0 {
                syscalls::call!(libc::SYS_tgkill, pid, syscalls::gettid(), number)
            } else {
                syscalls::call!(libc::SYS_kill, pid, number)
            }
        };
    }
}

/// Sends the signals of the calling thread again, or (`tid` 0) those of the process.
pub fn send_again(signals: &[Signal], tid: i32) {
    for signal in signals.iter().filter(|signal| signal.tid == tid) {
        send(tid, signal.number, &signal.info);
    }
}

/// The same in a restored process. `tid` and `pid` are the old ids.
pub fn send_restored(signals: &[Signal], tid: i32, pid: i32) {
    for signal in signals.iter().filter(|signal| signal.tid == tid) {
        let mut info = signal.info;
        signal_frames::renumber_info(&mut info, pid, syscalls::getpid());
        send(tid, signal.number, &info);
    }
}

/// Empties the table. (An entry that another thread is about to fill belongs to nobody.)
pub fn forget(area: &ReservedArea, count: &AtomicU32) {
    const NOBODY: i32 = -1;
    // Also the signals that the image of a restored process brought.
    let len = count.load(Ordering::SeqCst).max(area.process_state().signals) as usize;
    for signal in &mut area.signals()[..len.min(limit::SIGNALS)] {
        signal.tid = NOBODY;
    }
    count.store(0, Ordering::SeqCst);
}

/// The signals that were written down.
pub fn known(area: &ReservedArea, count: &AtomicU32) -> &'static [Signal] {
    &area.signals()[..(count.load(Ordering::Acquire) as usize).min(limit::SIGNALS)]
}
