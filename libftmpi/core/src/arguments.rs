//! Arguments of calls in core terms, as a front decodes them.
//!
//! Guarantees: nothing is checked here. `mpi::arguments` checks what a call gets. The types stand
//! on no other part of the crate but `usermem` and `datatype`.

use crate::datatype::{Builtin, TypeId};
use crate::usermem::UserPtr;

/// A rank argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A rank of the communicator. Not checked yet: a negative number that is no constant of the
    /// front arrives as a huge one.
    Rank(u32),
    /// `MPI_PROC_NULL`
    ProcNull,
    /// `MPI_ANY_SOURCE`
    Any,
    /// `MPI_ROOT`
    Root,
}

/// The mode of a send (MPI-4.1, 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// `MPI_Send`
    Standard,
    /// `MPI_Bsend`
    Buffered,
    /// `MPI_Ssend`
    Synchronous,
    /// `MPI_Rsend`
    Ready,
}

/// A buffer argument of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// This address.
    At(UserPtr),
    /// `MPI_IN_PLACE`
    InPlace,
}

/// An array argument of counts or displacements, one for each process.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    at: UserPtr,
    wide: bool,
}

impl Counts {
    /// An array of `int`.
    ///
    /// # Safety
    /// It has one entry for each process that the call is about, until the call returns.
    #[must_use]
    pub unsafe fn i32(at: *const i32) -> Self {
        // SAFETY: as promised by the caller.
        Self { at: unsafe { UserPtr::new(at.cast()) }, wide: false }
    }

    /// An array of `MPI_Count` or `MPI_Aint`.
    ///
    /// # Safety
    /// As for [`Counts::i32`].
    #[must_use]
    pub unsafe fn i64(at: *const i64) -> Self {
        // SAFETY: as promised by the caller.
        Self { at: unsafe { UserPtr::new(at.cast()) }, wide: true }
    }

    /// Entry number `i`.
    #[must_use]
    pub fn get(&self, i: usize) -> i64 {
        if self.wide {
            self.at.offset(8 * i as i64).load::<i64>()
        } else {
            i64::from(self.at.offset(4 * i as i64).load::<i32>())
        }
    }

    /// Whether the address is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.at.is_null()
    }
}

/// Size of each predefined type whose values lie contiguously; 0 for the others.
static DENSE: [u8; 256] = {
    let mut sizes = [0; 256];
    let mut i = 0;
    while i < Builtin::ALL.len() {
        let builtin = Builtin::ALL[i];
        if builtin.size() == builtin.extent() {
            sizes[builtin as usize] = builtin.size() as u8;
        }
        i += 1;
    }
    sizes
};

/// Address and length of a buffer of a predefined contiguous type: the fast path.
#[inline(always)]
pub(crate) fn dense(at: UserPtr, count: i64, datatype: TypeId) -> Option<(UserPtr, usize)> {
    let size = *DENSE.get(datatype.0 as usize)?;
    if size == 0 || !(0..=i64::from(i32::MAX)).contains(&count) || (at.is_null() && count > 0) {
        return None;
    }
    Some((at, count as usize * usize::from(size)))
}
