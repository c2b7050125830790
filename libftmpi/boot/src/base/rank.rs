//! Which rank this process is, in which incarnation, and whether an image of it can be taken.

use crate::base::refusal::Refusal;
use crate::base::syscalls;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use ftmpi_checkpoint::boot_abi::BootTable;

/// Whether images of this process can be taken. The constructor decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    NotARank = 0,
    NoReservedArea = 1,
    Ready = 2,
}

static STATE: AtomicU32 = AtomicU32::new(State::NotARank as u32);

/// This process is not a rank: a rank has started it, and images of the rank may contain it.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Such a process has executed a program of its own.
static IS_EXECUTED: AtomicBool = AtomicBool::new(false);

static PID: AtomicI32 = AtomicI32::new(0);

/// How often this process image was restored. A wait compares it to notice that clocks may have
/// jumped.
static RESTORES: AtomicU32 = AtomicU32::new(0);

/// [`ftmpi_wire::control::RankEnv::together`]
static TOGETHER: AtomicBool = AtomicBool::new(false);

/// The exported table, once this process is a rank.
static TABLE: AtomicPtr<BootTable> = AtomicPtr::new(core::ptr::null_mut());

fn table() -> Option<&'static BootTable> {
    // SAFETY: `begin` stored the address of a static; only atomic fields change after that.
    unsafe { TABLE.load(Ordering::Relaxed).as_ref() }
}

#[inline]
pub fn restores() -> u32 {
    RESTORES.load(Ordering::Relaxed)
}

/// Whether this process was started as a rank.
#[inline]
pub fn is_rank() -> bool {
    STATE.load(Ordering::Relaxed) != State::NotARank as u32
}

/// Whether this process has the reserved area: it is a rank, or a child of one.
pub fn has_area() -> bool {
    STATE.load(Ordering::Relaxed) == State::Ready as u32
}

/// Whether a rank has started this process by another program.
pub fn is_executed() -> bool {
    IS_EXECUTED.load(Ordering::Relaxed)
}

/// This process is a program that a rank has started.
pub fn begin_child(table: &'static BootTable, state: State, together: bool) {
    IS_CHILD.store(true, Ordering::Relaxed);
    IS_EXECUTED.store(true, Ordering::Relaxed);
    begin(table, state, together);
}

/// This process is a restored child of a rank.
pub fn resume_child(together: bool) {
    TOGETHER.store(together, Ordering::Relaxed);
    IS_CHILD.store(true, Ordering::Relaxed);
    PID.store(syscalls::getpid(), Ordering::Relaxed);
    RESTORES.fetch_add(1, Ordering::Relaxed);
}

/// Succeeds if an image of this process can be taken.
pub fn admit() -> Result<(), Refusal<'static>> {
    let state = STATE.load(Ordering::Relaxed);
    if state == State::NoReservedArea as u32 {
        Err(Refusal::NoReservedArea)
    } else if state != State::Ready as u32 {
        Err(Refusal::NotARank)
    } else if is_forked() {
        Err(Refusal::ForkedProcess)
    } else {
        Ok(())
    }
}

/// Whether a rank has started this process, by a fork or by another program. Such a process is no
/// rank.
pub fn is_forked() -> bool {
    if IS_CHILD.load(Ordering::Relaxed) {
        return true;
    }
    loop {
        let known = PID.load(Ordering::Relaxed);
        if syscalls::getpid() == known {
            return false;
        }
        // A restore may have happened between the two looks.
        if PID.load(Ordering::Relaxed) == known {
            return true;
        }
    }
}

/// Rank and incarnation of this process; zeros if this process is no rank.
pub fn name() -> (u32, u32) {
    table().map_or((0, 0), |table| (table.rank, table.incarnation()))
}

/// Whether all ranks of the job return together.
pub fn returns_together() -> bool {
    TOGETHER.load(Ordering::Relaxed)
}

/// Length of the window for the shared memory of the runtime, in bytes.
pub fn window_len() -> u64 {
    table().map_or(0, |table| table.window_len)
}

/// The first incarnation begins: the table is filled.
pub fn begin(table: &'static BootTable, state: State, together: bool) {
    TOGETHER.store(together, Ordering::Relaxed);
    TABLE.store(core::ptr::from_ref(table).cast_mut(), Ordering::Relaxed);
    PID.store(syscalls::getpid(), Ordering::Relaxed);
    STATE.store(state as u32, Ordering::Relaxed);
}

/// A later incarnation begins, from an image. The restored process has one thread now.
pub fn resume(incarnation: u32, together: bool) {
    TOGETHER.store(together, Ordering::Relaxed);
    if let Some(table) = table() {
        table.restored.store(1, Ordering::Relaxed);
        table.incarnation.store(incarnation, Ordering::Relaxed);
    }
    PID.store(syscalls::getpid(), Ordering::Relaxed);
    RESTORES.fetch_add(1, Ordering::Relaxed);
}
