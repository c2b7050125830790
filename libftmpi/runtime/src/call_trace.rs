//! Records the program's calls for `--trace`, in the ring that the agent reads
//! (`ftmpi_wire::call_trace`), and its messages for `--trace-messages`.
//!
//! A call that is recorded costs two looks at the clock, some 100 ns. So where calls come fast only
//! one of many is recorded, one in [`PERIOD_NS`] on average. Which one is drawn by lot: a program
//! that repeats a pattern of calls would else show the same call each time. The record says how
//! many calls it stands for. A call that waits for long is always recorded, from the begin of its
//! wait at the latest.
//!
//! Guarantees: without a trace nothing of this runs. Records of one thread nest or follow each
//! other. Only the thread that is inside the library is here (`threads`). A new incarnation begins
//! with a ring of its own ([`attach`]).

mod messages;

pub(crate) use messages::{MessageEnd, message_end};

use crate::attention::{
    AT_CALL_BEGIN, CALL_IS_TRACED, RECORD_CALLS, at_call_begin, at_call_end, depth,
};
use crate::job;
use crate::tuning::trace::{GAP_MAX, LONG_NS, LONG_TICKS, PERIOD_NS};
use crate::world::World;
use ftmpi_core::engine::Link;
use ftmpi_wire::call_trace::{Kind, NAMES_MAX, NO_PEER, Record, Writer};
use messages::MessageLots;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The call that is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    name: &'static &'static str,
    /// When it began, or began to wait; 0: it is not recorded so far.
    begin_ns: u64,
    /// It waits for long, so it is recorded in any case.
    long: bool,
    /// Calls that it stands for, if it was drawn.
    weight: u32,
    /// For whom it waits, if that is one rank.
    peer: u32,
    /// Bytes that had gone and come before it.
    moved: u64,
}

const NO_CALL: Call =
    Call { name: &"", begin_ns: 0, long: false, weight: 1, peer: NO_PEER, moved: 0 };

/// Which calls are drawn.
#[derive(Debug)]
struct Lots {
    /// Calls until the next one is recorded.
    left: u32,
    /// Calls between two that are recorded, on average.
    gap: u32,
    /// Time between two calls, in nanoseconds: of late.
    between_ns: u64,
    /// Calls since the last one that was drawn, and when that one ended.
    calls: u32,
    ended_ns: u64,
    state: u64,
}

impl Lots {
    const fn new() -> Self {
        Self { left: 1, gap: 1, between_ns: PERIOD_NS, calls: 0, ended_ns: 0, state: 0x9e37_79b9 }
    }

    /// A call begins; whether it is recorded.
    #[inline]
    fn draw(&mut self) -> bool {
        self.calls = self.calls.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// A call that was drawn has ended: draws the next one.
    fn next(&mut self, now_ns: u64) {
        let since = now_ns.saturating_sub(self.ended_ns).min(1 << 40);
        let between = since / u64::from(self.calls.max(1));
        self.between_ns = (7 * self.between_ns + between.min(100 * PERIOD_NS)) / 8;
        (self.ended_ns, self.calls) = (now_ns, 0);
        self.gap = (PERIOD_NS / self.between_ns.max(1)).clamp(1, GAP_MAX) as u32;
        // xorshift
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.left = 1 + (self.state % u64::from(2 * self.gap - 1)) as u32;
    }
}

#[derive(Debug)]
struct CallTrace {
    ring: Option<Writer<'static>>,
    call: Call,
    lots: Lots,
    /// Calls since the last record of one.
    calls: u32,
    /// When the last record of a call ended.
    recorded_ns: u64,
    /// Waits for events since the last record of one, and when that one ended.
    gates: u32,
    gate_ns: u64,
    messages: MessageLots,
    /// Determinants since the last record of some, and when that was.
    logged: u32,
    logged_ns: u64,
    names: [Option<&'static &'static str>; NAMES_MAX],
    /// What the kernel's clock is ahead of the program's.
    ahead_ns: u64,
    /// Two clocks at the same time: nanoseconds and ticks.
    clocks: (u64, u64),
    /// What a look at the clock takes, which is no part of a call.
    look_ns: u64,
}

struct Slot(UnsafeCell<CallTrace>);
// SAFETY: as for `job::slot`: only the thread that is inside the library uses it.
unsafe impl Sync for Slot {}

static TRACE: Slot = Slot(UnsafeCell::new(CallTrace {
    ring: None,
    call: NO_CALL,
    lots: Lots::new(),
    calls: 0,
    recorded_ns: 0,
    gates: 0,
    gate_ns: 0,
    messages: MessageLots::since(0),
    logged: 0,
    logged_ns: 0,
    names: [None; NAMES_MAX],
    ahead_ns: 0,
    clocks: (0, 0),
    look_ns: 0,
}));

/// # Safety
/// The caller is inside a call, and uses nothing that an earlier call of this function gave.
unsafe fn slot() -> &'static mut CallTrace {
    // SAFETY: as the caller promises.
    unsafe { &mut *TRACE.0.get() }
}

/// Whether calls are recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    AT_CALL_BEGIN.load(Ordering::Relaxed) & RECORD_CALLS != 0
}

/// An incarnation begins: with this ring, or without a trace.
pub(crate) fn attach(words: Option<&'static [AtomicU64]>) {
    // SAFETY: the incarnation begins inside a call.
    let trace = unsafe { slot() };
    let call = trace.call;
    let now = World::now_ns();
    *trace = CallTrace {
        ring: words.and_then(Writer::new),
        call: NO_CALL,
        lots: Lots { state: now | 1, ended_ns: now, ..Lots::new() },
        calls: 0,
        recorded_ns: now,
        gates: 0,
        gate_ns: now,
        messages: MessageLots::since(now),
        logged: 0,
        logged_ns: now.saturating_sub(PERIOD_NS),
        names: [None; NAMES_MAX],
        ahead_ns: kernels_clock().wrapping_sub(now),
        clocks: (now, crate::sleep::ticks()),
        look_ns: look_ns(),
    };
    let on = trace.ring.is_some();
    // The call in which the image was taken goes on.
    let goes_on = on && !call.name.is_empty() && depth() > 0;
    if goes_on {
        trace.call = Call { begin_ns: now, long: true, peer: NO_PEER, ..call };
        trace.calls = 1;
    }
    at_call_begin(RECORD_CALLS, on);
    at_call_end(CALL_IS_TRACED, goes_on);
}

/// What a look at the clock takes.
fn look_ns() -> u64 {
    let look = |_| {
        let before = World::now_ns();
        World::now_ns().saturating_sub(before)
    };
    (0..8).map(look).min().unwrap_or(0)
}

/// The kernel's clock: that of the C library is shifted in a restored process.
fn kernels_clock() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel fills `now`, which lives over the call.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => _,
            in("rdi") i64::from(libc::CLOCK_MONOTONIC),
            in("rsi") &raw mut now,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as above.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now)
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The program calls this function.
#[inline(never)]
pub(crate) fn begins(name: &'static &'static str) {
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    if name.is_empty() {
        trace.call = NO_CALL;
        return;
    }
    trace.calls = trace.calls.saturating_add(1);
    let drawn = trace.lots.draw();
    if !drawn {
        trace.call = Call { name, ..NO_CALL };
        return;
    }
    let weight = trace.lots.gap;
    at_call_end(CALL_IS_TRACED, true);
    trace.call = Call { name, begin_ns: 0, weight, moved: moved(), ..NO_CALL };
    trace.call.begin_ns = World::now_ns();
}

/// The library is entered without a call of the program.
pub(crate) fn no_call() {
    if is_on() {
        // SAFETY: the caller is inside, and no call is under way.
        unsafe { slot() }.call = NO_CALL;
    }
}

/// Bytes that have gone and come.
fn moved() -> u64 {
    // SAFETY: the caller is inside a call.
    unsafe { job::slot().as_ref() }.map_or(0, |job| job.engine.bytes_moved())
}

/// A call that is recorded ends.
pub(crate) fn ends() {
    at_call_end(CALL_IS_TRACED, false);
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    let call = std::mem::replace(&mut trace.call, NO_CALL);
    if call.begin_ns == 0 {
        return;
    }
    let now = World::now_ns();
    let drawn = trace.lots.left == 0;
    let record = Record {
        kind: Kind::Call,
        name: trace.name(call.name),
        weight: if call.long { 1 } else { call.weight },
        calls: trace.calls,
        begin_ns: call.begin_ns,
        length_ns: now.saturating_sub(call.begin_ns + trace.look_ns),
        peer: call.peer,
        value: if drawn { moved().saturating_sub(call.moved) } else { 0 },
    };
    trace.calls = 0;
    trace.recorded_ns = now;
    trace.write(record);
    if drawn {
        trace.lots.next(now);
    }
}

/// The call under way has waited for so many ticks until now.
#[cold]
pub(crate) fn waits(ticks: u64) {
    if ticks < LONG_TICKS {
        return;
    }
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    if trace.call.long || trace.call.name.is_empty() {
        return;
    }
    let now = World::now_ns();
    let (ns, at) = trace.clocks;
    let passed = crate::sleep::ticks().wrapping_sub(at).max(1);
    let waited = u128::from(ticks) * u128::from(now.saturating_sub(ns)) / u128::from(passed);
    let waited = u64::try_from(waited).unwrap_or(0);
    if waited < LONG_NS {
        return;
    }
    let since = now.saturating_sub(waited).max(trace.recorded_ns);
    let call = &mut trace.call;
    call.long = true;
    call.begin_ns = if call.begin_ns == 0 { since } else { call.begin_ns };
    at_call_end(CALL_IS_TRACED, true);
}

/// The call under way waits for this rank.
pub(crate) fn waits_for(peers: &[u32]) {
    if let (true, &[peer]) = (is_on(), peers) {
        // SAFETY: the caller is inside a call.
        unsafe { slot() }.call.peer = peer;
    }
}

/// A send to this rank has waited for so long for events.
pub(crate) fn gate(to: u32, length_ns: u64) {
    if !is_on() {
        return;
    }
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    trace.gates = trace.gates.saturating_add(1);
    let now = World::now_ns();
    if length_ns < LONG_NS && now.saturating_sub(trace.gate_ns) < PERIOD_NS {
        return;
    }
    let gates = std::mem::take(&mut trace.gates);
    trace.gate_ns = now;
    trace.write(Record {
        kind: Kind::Gate,
        name: 0,
        weight: 1,
        calls: gates,
        begin_ns: now.saturating_sub(length_ns),
        length_ns,
        peer: to,
        value: 0,
    });
}

/// So many determinants have left for the event logger; the last one has this number.
pub(crate) fn logged(count: usize, last: u64) {
    if !is_on() {
        return;
    }
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    trace.logged = trace.logged.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    let now = World::now_ns();
    if now.saturating_sub(trace.logged_ns) < PERIOD_NS {
        return;
    }
    trace.logged_ns = now;
    let calls = std::mem::take(&mut trace.logged);
    trace.write(Record {
        kind: Kind::Logged,
        name: 0,
        weight: 1,
        calls,
        begin_ns: now,
        length_ns: 0,
        peer: NO_PEER,
        value: last,
    });
}

/// An image has just stopped the program for so long.
pub(crate) fn image(number: u64, length_ns: u64) {
    if !is_on() {
        return;
    }
    // SAFETY: the caller is inside a call.
    unsafe { slot() }.write(Record {
        kind: Kind::Image,
        name: 0,
        weight: 1,
        calls: 0,
        begin_ns: World::now_ns().saturating_sub(length_ns),
        length_ns,
        peer: NO_PEER,
        value: number,
    });
}

/// The calling thread lets others in, in the middle of a call.
pub(crate) fn set_aside() -> Option<Call> {
    if !is_on() {
        return None;
    }
    at_call_end(CALL_IS_TRACED, false);
    // SAFETY: the caller is inside a call.
    Some(std::mem::replace(&mut unsafe { slot() }.call, NO_CALL))
}

/// The calling thread goes on with its call.
pub(crate) fn take_up(call: Option<Call>) {
    let Some(call) = call.filter(|_| is_on()) else { return };
    // SAFETY: the caller is inside a call.
    unsafe { slot() }.call = call;
    at_call_end(CALL_IS_TRACED, call.begin_ns != 0);
}

impl CallTrace {
    fn write(&mut self, record: Record) {
        let begin_ns = record.begin_ns.wrapping_add(self.ahead_ns);
        if let Some(ring) = &mut self.ring {
            ring.write(&Record { begin_ns, ..record });
        }
    }

    /// The index of a name; the last one is also that of all for which there is no room.
    fn name(&mut self, name: &'static &'static str) -> u16 {
        for (index, known) in self.names.iter_mut().enumerate() {
            match known {
                Some(known) if std::ptr::eq(*known, name) || **known == *name => {
                    return index as u16;
                }
                Some(_) => {}
                None => {
                    *known = Some(name);
                    if let Some(ring) = &mut self.ring {
                        let _ = ring.name(name);
                    }
                    return index as u16;
                }
            }
        }
        (NAMES_MAX - 1) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What calls of this length look like, one after the other: how many are recorded, and for how
    /// many they stand.
    fn run(lots: &mut Lots, calls: u64, between_ns: u64, now: &mut u64) -> (u64, u64) {
        let (mut recorded, mut stands_for) = (0, 0);
        for _ in 0..calls {
            *now += between_ns;
            if lots.draw() {
                recorded += 1;
                stands_for += u64::from(lots.gap);
                lots.next(*now);
            }
        }
        (recorded, stands_for)
    }

    #[test]
    fn fast_calls_are_drawn_by_lot_and_slow_ones_are_all_recorded() {
        let (mut lots, mut now) = (Lots::new(), 0);
        assert_eq!(run(&mut lots, 1000, 2 * PERIOD_NS, &mut now), (1000, 1000));
        run(&mut lots, 100_000, 500, &mut now);
        let calls = 4_000_000;
        let (recorded, stands_for) = run(&mut lots, calls, 500, &mut now);
        let wanted = calls * 500 / PERIOD_NS;
        assert!((wanted * 8 / 10..wanted * 12 / 10).contains(&recorded), "{recorded} {wanted}");
        assert!((calls * 9 / 10..calls * 11 / 10).contains(&stands_for), "{stands_for}");
        // Slow ones again: the lot that was drawn is the last one that skips calls.
        let skipped = u64::from(2 * lots.gap);
        run(&mut lots, skipped + 100, 2 * PERIOD_NS, &mut now);
        assert_eq!(run(&mut lots, 1000, 2 * PERIOD_NS, &mut now), (1000, 1000));
    }

    #[test]
    fn a_pattern_of_calls_is_drawn_evenly() {
        let (mut lots, mut now) = (Lots::new(), 0);
        let mut of_kind = [0u64; 4];
        for call in 0..4_000_000usize {
            now += 1000;
            if lots.draw() {
                of_kind[call % 4] += u64::from(lots.gap);
                lots.next(now);
            }
        }
        for kind in of_kind {
            assert!((850_000..1_150_000).contains(&kind), "{of_kind:?}");
        }
    }
}
