//! `MPI_Status` of the MPICH ABI.
//!
//! Guarantees: layout and meaning of the five integers are those of MPICH 3.1 and later. So
//! `MPI_Get_count` of a profiling tool or of inlined code reads them rightly. The number of bytes
//! has 63 bits. Its low half comes first. Its high half is shifted left by one, because the lowest
//! bit of the second word means "cancelled".

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use std::ffi::c_int;

/// `MPI_Status` as applications lay it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct MpiStatus {
    pub count_lo: c_int,
    pub count_hi_and_cancelled: c_int,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

impl MpiStatus {
    /// The status of a null or inactive request.
    pub const EMPTY: Self = Self {
        count_lo: 0,
        count_hi_and_cancelled: 0,
        source: MPI_ANY_SOURCE,
        tag: MPI_ANY_TAG,
        error: 0,
    };

    /// How many bytes came.
    #[inline]
    pub fn bytes(&self) -> u64 {
        let low = u64::from(self.count_lo as u32);
        let high = u64::from((self.count_hi_and_cancelled as u32) >> 1);
        (high << 32) | low
    }

    #[inline]
    pub fn set_bytes(&mut self, bytes: u64) {
        self.count_lo = bytes as u32 as c_int;
        let cancelled = self.count_hi_and_cancelled & 1;
        self.count_hi_and_cancelled = (((bytes >> 32) as u32) << 1) as c_int | cancelled;
    }

    #[inline]
    pub fn cancelled(&self) -> bool {
        self.count_hi_and_cancelled & 1 != 0
    }

    #[inline]
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.count_hi_and_cancelled = (self.count_hi_and_cancelled & !1) | c_int::from(cancelled);
    }
}

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`, `(MPI_Status *) 1`. A null pointer is taken for
/// it too: it is what the standard ABI and careless programs pass.
#[inline(always)]
pub fn is_ignored(status: *const MpiStatus) -> bool {
    status as usize <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_integers_without_padding() {
        assert_eq!(std::mem::size_of::<MpiStatus>(), 20);
        assert_eq!(std::mem::offset_of!(MpiStatus, source), 8);
        assert_eq!(std::mem::offset_of!(MpiStatus, tag), 12);
        assert_eq!(std::mem::offset_of!(MpiStatus, error), 16);
    }

    #[test]
    fn count_and_cancelled_share_words_without_disturbing_each_other() {
        for bytes in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, (1 << 62) + 12345] {
            for cancelled in [false, true] {
                let mut status = MpiStatus::EMPTY;
                status.set_cancelled(cancelled);
                status.set_bytes(bytes);
                assert_eq!((status.bytes(), status.cancelled()), (bytes, cancelled));
                status.set_cancelled(!cancelled);
                assert_eq!((status.bytes(), status.cancelled()), (bytes, !cancelled));
            }
        }
    }

    #[test]
    fn the_two_spellings_of_ignore() {
        assert!(is_ignored(std::ptr::without_provenance(1)) && is_ignored(std::ptr::null()));
        assert!(!is_ignored(&MpiStatus::EMPTY));
    }
}
