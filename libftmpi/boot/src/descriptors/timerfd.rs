//! Timers that are read from a descriptor (`timerfd`).
//!
//! Guarantees: a restored timer has the same clock, period and number of expirations that were not
//! read. A relative timer goes on with the time that it had left at the image, as timers of
//! `timer_create` do. An absolute timer fires when the clock of the program shows its time.

use crate::base::procfs::{self, decimal};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::put;
use crate::time::clock_shift;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

const SHOWN: Shown<'static> = Shown(b"anon_inode:[timerfd]");
const SECOND: u64 = 1_000_000_000;
/// `TFD_TIMER_ABSTIME`
const ABSOLUTE: u64 = 1;

pub fn is_timerfd(it: &Candidate<'_>) -> bool {
    it.path() == SHOWN.0
}

/// `(3, 500000000)` in nanoseconds.
fn pair(text: &[u8]) -> Option<u64> {
    let (seconds, rest) = decimal(text.strip_prefix(b"(")?)?;
    let (nanoseconds, _) = decimal(rest.strip_prefix(b", ")?)?;
    seconds.checked_mul(SECOND)?.checked_add(nanoseconds)
}

/// Fills the entry: `state` holds clock and flags, expirations, value and period.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    // The kernel starts the next period of a timer that has fired when somebody asks for its time.
    let mut now = [0i64; 4];
    // SAFETY: struct itimerspec is four words.
    unsafe { syscalls::call!(libc::SYS_timerfd_gettime, fd, now.as_mut_ptr()) }
        .map_err(|errno| it.fail(errno))?;
    let (mut clock, mut ticks, mut flags, mut value, mut period) = (None, None, None, None, None);
    procfs::each_fdinfo_line(it.area.text(), fd, |line| {
        let number = |name: &[u8]| Some(decimal(line.strip_prefix(name)?)?.0);
        clock = clock.or(number(b"clockid: "));
        ticks = ticks.or(number(b"ticks: "));
        // Octal, and at most 3.
        flags = flags.or(number(b"settime flags: "));
        value = value.or(line.strip_prefix(b"it_value: ").and_then(pair));
        period = period.or(line.strip_prefix(b"it_interval: ").and_then(pair));
    })
    .map_err(|errno| it.fail(errno))?;
    let (Some(clock), Some(ticks), Some(flags), Some(mut value), Some(period)) =
        (clock, ticks, flags, value, period)
    else {
        return Err(it.refuse("a timer (timerfd) on an old kernel"));
    };
    if value > 0 && flags & ABSOLUTE != 0 {
        value = value.saturating_add(shown(clock));
    }
    it.entry.how = how::TIMERFD;
    it.entry.state = [clock | flags << 32, ticks, value, period];
    Ok(())
}

/// What a clock shows to the program.
fn shown(clock: u64) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for writing.
    let _ = unsafe { syscalls::call!(libc::SYS_clock_gettime, clock, &raw mut time) };
    let kernels = time.tv_sec as u64 * SECOND + time.tv_nsec as u64;
    kernels.wrapping_add_signed(clock_shift::ahead(kind(clock)).unwrap_or(0))
}

/// The clock that the alarm clock of the same name counts with.
fn kind(clock: u64) -> libc::clockid_t {
    match clock as libc::clockid_t {
        libc::CLOCK_BOOTTIME_ALARM => libc::CLOCK_BOOTTIME,
        libc::CLOCK_REALTIME_ALARM => libc::CLOCK_REALTIME,
        clock => clock,
    }
}

/// Makes the timer again, in the restored process. It does not run yet.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let clock = entry.state[0] & 0xffff_ffff;
    // SAFETY: no memory involved.
    let mut made = unsafe { syscalls::call!(libc::SYS_timerfd_create, clock, 0) };
    if made == Err(libc::EPERM) {
        // A clock that wakes the host, which takes a privilege.
        // SAFETY: no memory involved.
        made = unsafe { syscalls::call!(libc::SYS_timerfd_create, kind(clock), 0) };
    }
    put(area, entry, made, SHOWN)
}

/// Starts all timers, when the clocks of the program are right.
pub fn start_all(area: &ReservedArea, table: &[Descriptor]) -> Result<(), Refused> {
    for entry in table.iter().filter(|entry| entry.how == how::TIMERFD) {
        let fd = entry.fd;
        start(entry).map_err(|errno| area.refuse(Refusal::NotMade { fd, path: SHOWN, errno }))?;
    }
    Ok(())
}

fn start(entry: &Descriptor) -> Result<(), Errno> {
    const SET_TICKS: usize = 0x4008_5400;
    let [clock, ticks, mut value, period] = entry.state;
    let (clock, flags) = (clock & 0xffff_ffff, clock >> 32);
    if value > 0 && flags & ABSOLUTE != 0 {
        let ahead = clock_shift::ahead(kind(clock)).unwrap_or(0);
        value = value.checked_add_signed(-ahead).unwrap_or(0).max(1);
    }
    if value == 0 && period > 0 {
        // It had just fired: the next period begins.
        value = 1;
    }
    let words = [period / SECOND, period % SECOND, value / SECOND, value % SECOND];
    // SAFETY: struct itimerspec is four words.
    unsafe { syscalls::call!(libc::SYS_timerfd_settime, entry.fd, flags, words.as_ptr(), 0) }?;
    if ticks > 0 {
        // SAFETY: reads one number.
        let set =
            unsafe { syscalls::call!(libc::SYS_ioctl, entry.fd, SET_TICKS, &raw const ticks) };
        if set.is_err() && value == 0 {
            // A kernel without checkpoints: the timer fires once more.
            let soon = [0u64, 0, 0, 1];
            // SAFETY: struct itimerspec is four words.
            unsafe { syscalls::call!(libc::SYS_timerfd_settime, entry.fd, 0, soon.as_ptr(), 0) }?;
        }
    }
    Ok(())
}
