//! Integers of the program as types of the core, and answers of the core as integers.

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_ROOT, is_in_place};
use crate::memory::{Buf, In};
use crate::status::{MpiStatus, is_ignored};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{Buffer, Counts, Peer, Status, Tag};
use ftmpi_core::usermem::UserPtr;
use std::ffi::c_int;

/// A number of elements: `int`, or `MPI_Count` in the functions that end in `_c`.
pub trait Number: Copy {
    fn n(self) -> i64;
    /// The number as this type, unless it is too large.
    fn from_i64(value: i64) -> Option<Self>;
}

impl Number for c_int {
    #[inline(always)]
    fn n(self) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn from_i64(value: i64) -> Option<Self> {
        value.try_into().ok()
    }
}

impl Number for i64 {
    #[inline(always)]
    fn n(self) -> i64 {
        self
    }
    #[inline(always)]
    fn from_i64(value: i64) -> Option<Self> {
        Some(value)
    }
}

impl In<c_int> {
    /// As counts or displacements of a collective.
    pub fn counts(self) -> Counts {
        // SAFETY: the caller of the collective promised one entry per process until it completes.
        unsafe { Counts::i32(self.address()) }
    }
}

impl In<i64> {
    /// As counts or displacements of a collective.
    pub fn counts(self) -> Counts {
        // SAFETY: the caller of the collective promised one entry per process until it completes.
        unsafe { Counts::i64(self.address()) }
    }
}

/// The length of an array: not negative.
pub fn length(what: &str, n: impl Number) -> Result<usize> {
    match usize::try_from(n.n()) {
        Ok(n) => Ok(n),
        Err(_) => bail!(Count, "{what} is {}, must not be negative", n.n()),
    }
}

/// A destination.
#[inline(always)]
pub fn destination(rank: c_int) -> Peer {
    if rank == MPI_PROC_NULL { Peer::ProcNull } else { Peer::Rank(rank as u32) }
}

/// A source of a receive or probe.
#[inline(always)]
pub fn source(rank: c_int) -> Peer {
    match rank {
        MPI_ANY_SOURCE => Peer::Any,
        MPI_PROC_NULL => Peer::ProcNull,
        rank => Peer::Rank(rank as u32),
    }
}

/// A root of a collective.
#[inline(always)]
pub fn root(rank: c_int) -> Peer {
    match rank {
        MPI_ROOT => Peer::Root,
        MPI_PROC_NULL => Peer::ProcNull,
        rank => Peer::Rank(rank as u32),
    }
}

/// A tag of a receive or probe.
#[inline(always)]
pub fn tag(tag: c_int) -> Tag {
    if tag == MPI_ANY_TAG { Tag::Any } else { Tag::Is(tag) }
}

/// The address of a communication buffer.
#[inline(always)]
pub fn at(buffer: Buf) -> UserPtr {
    // SAFETY: the program gave this address for a communication; it stays valid until that is
    // complete by the rules of MPI.
    unsafe { UserPtr::new(buffer) }
}

/// A buffer that may be `MPI_IN_PLACE`.
#[inline(always)]
pub fn buffer(buffer: Buf) -> Buffer {
    if is_in_place(buffer) { Buffer::InPlace } else { Buffer::At(at(buffer)) }
}

/// The integer of a rank or of a constant in place of one.
#[inline(always)]
pub fn peer_number(peer: Peer) -> c_int {
    match peer {
        Peer::Rank(rank) => rank as c_int,
        Peer::ProcNull => MPI_PROC_NULL,
        Peer::Any => MPI_ANY_SOURCE,
        Peer::Root => MPI_ROOT,
    }
}

/// Where a call stores one status; may be `MPI_STATUS_IGNORE`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct StatusOut(*mut MpiStatus);

impl StatusOut {
    /// Stores a status, except `MPI_ERROR`, which calls with one status leave alone. It belongs to
    /// the *empty status* of no operation (MPI-4.1 3.7.3).
    #[inline(always)]
    pub fn put(self, status: &Status) {
        if !is_ignored(self.0) {
            // SAFETY: not "ignore"; the caller promised a writable status.
            let place = unsafe { &mut *self.0 };
            fill(place, status);
            if status.no_operation {
                place.error = 0;
            }
        }
    }

    /// Stores the *empty status* (MPI-4.1 3.7.3), to which `MPI_SUCCESS` belongs.
    pub fn put_empty(self) {
        if !is_ignored(self.0) {
            // SAFETY: not "ignore"; the caller promised a writable status.
            unsafe { *self.0 = MpiStatus::EMPTY };
        }
    }

    /// The status that the program holds there.
    pub fn get(self) -> Result<MpiStatus> {
        if is_ignored(self.0) {
            bail!(Arg, "a status is needed, MPI_STATUS_IGNORE was given");
        }
        // SAFETY: not "ignore"; the caller promised an initialised status.
        Ok(unsafe { *self.0 })
    }

    /// Stores all five integers.
    pub fn set(self, status: MpiStatus) -> Result<()> {
        if is_ignored(self.0) {
            bail!(Arg, "a status is needed, MPI_STATUS_IGNORE was given");
        }
        // SAFETY: not "ignore"; the caller promised a writable status.
        unsafe { *self.0 = status };
        Ok(())
    }
}

impl StatusOut {
    /// Stores all integers (`MPI_ERROR` only if asked for), unless the program wants none.
    pub fn set_if_wanted(self, status: MpiStatus, error: bool) {
        if !is_ignored(self.0) {
            // SAFETY: not "ignore"; the caller promised a writable status.
            let place = unsafe { &mut *self.0 };
            *place = MpiStatus { error: if error { status.error } else { place.error }, ..status };
        }
    }
}

/// Where a call stores several statuses; may be `MPI_STATUSES_IGNORE`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct StatusesOut(*mut MpiStatus);

impl StatusesOut {
    /// The place of one of them.
    pub fn at(self, index: usize) -> StatusOut {
        if is_ignored(self.0) { StatusOut(self.0) } else { StatusOut(self.0.wrapping_add(index)) }
    }

    /// Stores the status number `index` with its error.
    #[inline(always)]
    pub fn put(self, index: usize, status: &Status) {
        if !is_ignored(self.0) {
            // SAFETY: not "ignore"; the caller promised one status per request.
            let place = unsafe { &mut *self.0.add(index) };
            fill(place, status);
            place.error = status.error.map_or(0, |class| class.number());
        }
    }
}

#[inline(always)]
fn fill(place: &mut MpiStatus, status: &Status) {
    place.source = peer_number(status.source);
    place.tag = match status.tag {
        Tag::Any => MPI_ANY_TAG,
        Tag::Is(tag) => tag,
    };
    place.count_lo = status.bytes as u32 as c_int;
    place.count_hi_and_cancelled =
        (((status.bytes >> 32) as u32) << 1) as c_int | c_int::from(status.cancelled);
}

impl MpiStatus {
    /// The status in terms of the core.
    pub fn decode(&self) -> Status {
        Status {
            source: source(self.source),
            tag: tag(self.tag),
            bytes: self.bytes(),
            cancelled: self.cancelled(),
            error: ftmpi_core::error::ErrorClass::from_number(self.error)
                .filter(|class| class.number() != 0),
            no_operation: false,
        }
    }
}

/// A result in the type that the call returns it in; too large is an error.
pub fn fit<N: Number>(value: i64) -> Result<N> {
    match N::from_i64(value) {
        Some(fitting) => Ok(fitting),
        None => bail!(ValueTooLarge, "{value} does not fit the call's int: use the call's _c form"),
    }
}

/// A number of elements in the type that the call returns it in; `MPI_UNDEFINED` if there is none
/// or it is too large.
pub fn count_or_undefined<N: Number>(value: Option<i64>) -> N {
    let undefined = i64::from(crate::constants::MPI_UNDEFINED);
    value
        .and_then(N::from_i64)
        .or_else(|| N::from_i64(undefined))
        .unwrap_or_else(|| unreachable!("MPI_UNDEFINED fits every integer type of MPI"))
}
