//! MPI in this process: one [`Job`], which one thread at a time uses.

use crate::world::World;
use ftmpi_core::mpi::Mpi;
use std::cell::UnsafeCell;

/// MPI in this process.
pub type Job = Mpi<World>;

struct Slot(UnsafeCell<Option<Job>>);
// SAFETY: only one thread at a time is inside MPI (below `MPI_THREAD_SERIALIZED` by the program's
// promise, else by the lock of `threads`). The signal handler enters only when none is
// (`attention::depth`).
unsafe impl Sync for Slot {}

static JOB: Slot = Slot(UnsafeCell::new(None));

/// MPI in this process, if it was started.
///
/// # Safety
/// The caller is inside a call, or has the lock, or knows that nobody else is inside. Nothing else
/// of this process uses what an earlier call of this function gave.
#[inline(always)]
pub(crate) unsafe fn slot() -> &'static mut Option<Job> {
    // SAFETY: as the caller promises; see `Slot`.
    unsafe { &mut *JOB.0.get() }
}

/// MPI in this process.
///
/// # Panics
/// Before [`init`](crate::init).
#[inline]
pub fn get() -> &'static mut Job {
    // SAFETY: see `Slot`; the caller is inside a call.
    unsafe { slot().as_mut().expect("MPI_Init was called") }
}
