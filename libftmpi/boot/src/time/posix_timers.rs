//! Timers of `timer_create`. `/proc/self/timers` tells what they are, and `timer_gettime` how they
//! stand.
//!
//! The kernel numbers the timers, and the program holds the numbers. The restored process makes
//! and deletes timers until the wanted number comes.

use crate::base::procfs::{Lines, decimal, hex};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::threads::thread_state::new_tid;
use crate::tuning::TIMER_ATTEMPTS;
use ftmpi_checkpoint::stream::{ProcessState, Thread, Timer, limit};

/// `struct sigevent`: value, signal, notify, thread.
#[repr(C)]
struct Event {
    value: u64,
    signal: i32,
    notify: i32,
    tid: i32,
    rest: [i32; 11],
}

/// Fills the table of timers, and gives their number. All threads stand still.
pub fn gather(area: &ReservedArea) -> Result<u32, Refused> {
    let failed = |errno: Errno| area.unreadable("/proc/self/timers", errno);
    let table = area.timers();
    let mut count = 0usize;
    let mut lines = match Lines::open(c"/proc/self/timers", area.text()) {
        Ok(lines) => lines,
        // The kernel does not have the file: it cannot checkpoint timers.
        Err(libc::ENOENT) => return Ok(0),
        Err(errno) => return Err(failed(errno)),
    };
    while let Some(line) = lines.next().map_err(failed)? {
        let malformed = || area.refuse(Refusal::TimersNotUnderstood);
        if let Some(rest) = line.strip_prefix(b"ID: ") {
            if count == limit::TIMERS {
                return Err(area.refuse(Refusal::TooMany {
                    what: "timers",
                    most: limit::TIMERS,
                    errno: libc::ENOMEM,
                }));
            }
            let (id, _) = decimal(rest).ok_or_else(malformed)?;
            table[count] = Timer { id: id as i32, ..Timer::default() };
            count += 1;
            continue;
        }
        let Some(timer) = table[..count].last_mut() else { continue };
        if let Some(rest) = line.strip_prefix(b"signal: ") {
            let (signal, rest) = decimal(rest).ok_or_else(malformed)?;
            let (value, _) = rest.strip_prefix(b"/").and_then(hex).ok_or_else(malformed)?;
            (timer.signal, timer.value) = (signal as i32, value);
        } else if let Some(rest) = line.strip_prefix(b"notify: ") {
            let mut parts = rest.split(|&b| b == b'/' || b == b'.');
            timer.notify = match parts.next() {
                Some(b"signal") => libc::SIGEV_SIGNAL,
                Some(b"none") => libc::SIGEV_NONE,
                _ => return Err(malformed()),
            };
            if parts.next() == Some(b"tid") {
                timer.notify |= libc::SIGEV_THREAD_ID;
                let tid = parts.next().and_then(decimal).ok_or_else(malformed)?.0;
                timer.tid = tid as i32;
            }
        } else if let Some(rest) = line.strip_prefix(b"ClockID: ") {
            let negative = rest.first() == Some(&b'-');
            let (clock, _) = decimal(&rest[usize::from(negative)..]).ok_or_else(malformed)?;
            if negative {
                return Err(area.refuse(Refusal::ProcessorTimeTimer));
            }
            timer.clock = clock as i32;
        }
    }
    for timer in &mut table[..count] {
        // SAFETY: struct itimerspec is four words.
        unsafe { syscalls::call!(libc::SYS_timer_gettime, timer.id, timer.words.as_mut_ptr()) }
            .map_err(failed)?;
    }
    Ok(count as u32)
}

/// Makes the timers again, in the restored process, when its threads are there.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    let table = &mut area.timers()[..process.posix_timers as usize];
    table.sort_unstable_by_key(|timer| timer.id);
    for timer in table {
        let id = timer.id;
        restore_one(area.threads(), process, timer)
            .map_err(|errno| area.refuse(Refusal::TimerNotMade { id, errno }))?;
    }
    Ok(())
}

fn restore_one(threads: &[Thread], process: &ProcessState, timer: &Timer) -> Result<(), Errno> {
    let mut event = Event {
        value: timer.value,
        signal: timer.signal,
        notify: timer.notify,
        tid: 0,
        rest: [0; 11],
    };
    if timer.notify & libc::SIGEV_THREAD_ID != 0 {
        let thread = threads[..process.threads as usize].iter().find(|t| t.tid == timer.tid);
        event.tid = match thread {
            Some(thread) => new_tid(thread).ok_or(libc::ESRCH)?,
            // The thread had ended: the kernel drops the signals of such a timer.
            None => {
                event.notify = libc::SIGEV_NONE;
                0
            }
        };
    }
    for _ in 0..TIMER_ATTEMPTS {
        let mut id = -1i32;
        // SAFETY: event and number live over the call.
        unsafe {
            syscalls::call!(libc::SYS_timer_create, timer.clock, &raw const event, &raw mut id)
        }?;
        if id == timer.id {
            // SAFETY: struct itimerspec is four words.
            unsafe { syscalls::call!(libc::SYS_timer_settime, id, 0, timer.words.as_ptr(), 0) }?;
            return Ok(());
        }
        // SAFETY: this function made the timer.
        unsafe { syscalls::call!(libc::SYS_timer_delete, id) }?;
    }
    Err(libc::EAGAIN)
}
