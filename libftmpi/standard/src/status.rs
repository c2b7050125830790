//! `MPI_Status` of the two interfaces.
//!
//! Guarantees: the standard's status has 32 bytes and begins with source, tag and error. Its five
//! reserved integers hold the other facts of the first interface (number of bytes, cancelled):
//! nothing is lost between the two.

use core::ffi::{c_int, c_void};

use crate::convert::{error_in, error_out, rank_in, rank_out, tag_in, tag_out};

/// The status of the standard interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Standard {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

/// The status of the first interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct First {
    count_low: c_int,
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl First {
    /// Before anything is known.
    pub const EMPTY: Self =
        Self { count_low: 0, count_high_and_cancelled: 0, source: 0, tag: 0, error: 0 };
    /// `MPI_STATUS_IGNORE` of the first interface.
    pub const IGNORE: *mut c_void = core::ptr::without_provenance_mut(1);
}

impl Standard {
    /// The status in the first interface.
    pub fn to_first(self) -> First {
        First {
            count_low: self.internal[0],
            count_high_and_cancelled: self.internal[1],
            source: rank_in(self.source),
            tag: tag_in(self.tag),
            error: error_in(self.error),
        }
    }

    /// A status of the first interface in this one.
    pub fn of(first: &First) -> Self {
        Self {
            source: rank_out(first.source),
            tag: tag_out(first.tag),
            error: error_out(first.error),
            internal: [first.count_low, first.count_high_and_cancelled, 0, 0, 0],
        }
    }
}

/// One status of a call.
pub struct One(First);

impl One {
    /// Translates the program's status: calls with one status leave its error alone.
    ///
    /// # Safety
    /// The program promised a readable status; null is `MPI_STATUS_IGNORE`.
    pub unsafe fn take(from: *mut Standard) -> Self {
        // SAFETY: see above. Any bits are integers.
        Self(if from.is_null() { First::EMPTY } else { unsafe { (*from).to_first() } })
    }

    /// What the first interface gets.
    pub fn address(&mut self, program: *mut Standard) -> *mut c_void {
        if program.is_null() { First::IGNORE } else { (&raw mut self.0).cast() }
    }

    /// Gives the status back to the program.
    ///
    /// # Safety
    /// As for `take`.
    pub unsafe fn put(&self, to: *mut Standard) {
        if !to.is_null() {
            // SAFETY: see above.
            unsafe { *to = Standard::of(&self.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_the_standards() {
        assert_eq!(size_of::<Standard>(), 32);
        assert_eq!(core::mem::offset_of!(Standard, source), 0);
        assert_eq!(core::mem::offset_of!(Standard, tag), 4);
        assert_eq!(core::mem::offset_of!(Standard, error), 8);
        assert_eq!(size_of::<First>(), 20);
    }

    #[test]
    fn statuses_survive_the_way_there_and_back() {
        for (source, tag, error) in [(3, 17, 0), (-1, -2, 15), (-3, 4, 59), (0, 0, 1 << 30)] {
            let status = Standard { source, tag, error, internal: [7, 9, 0, 0, 0] };
            assert_eq!(Standard::of(&status.to_first()), status);
        }
    }

    #[test]
    fn wildcards_have_the_numbers_of_each_side() {
        let any = Standard { source: -1, tag: -2, error: 0, internal: [0; 5] }.to_first();
        assert_eq!((any.source, any.tag), (-2, -1));
        let nobody = Standard { source: -3, tag: 0, error: 0, internal: [0; 5] }.to_first();
        assert_eq!(nobody.source, -1);
        // -2 is no rank here, though it is `MPI_ANY_SOURCE` there.
        assert!(rank_in(-2) < -1000 && tag_in(-1) < -1000);
    }
}
