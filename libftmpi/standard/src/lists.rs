//! Arrays of handles and statuses, translated into room of our own for the length of a call.
//!
//! Up to `FEW` elements need no allocation.

use core::ffi::{c_int, c_void};

use crate::status::{First, Standard};

const FEW: usize = 32;

/// Integers in the spelling of the first interface.
pub struct List {
    few: [u32; FEW],
    more: Vec<u32>,
    length: usize,
    null: bool,
}

impl List {
    /// Translates `length` handles; those that the call only writes are left out (`fresh`).
    ///
    /// # Safety
    /// The program promised that the array has that many elements; it may be null.
    pub unsafe fn take(
        from: *mut usize,
        length: usize,
        translate: fn(usize) -> u32,
        fresh: bool,
    ) -> Self {
        let mut list = Self::room(length, from.is_null());
        if !list.null && !fresh {
            for k in 0..length {
                // SAFETY: within the program's array, see above.
                *list.at(k) = translate(unsafe { *from.add(k) });
            }
        }
        list
    }

    /// Translates `length` integers that the call reads.
    ///
    /// # Safety
    /// As for `take`.
    pub unsafe fn integers(from: *mut c_int, length: usize, translate: fn(c_int) -> c_int) -> Self {
        let mut list = Self::room(length, from.is_null());
        if !list.null {
            for k in 0..length {
                // SAFETY: within the program's array, see above.
                *list.at(k) = translate(unsafe { *from.add(k) }) as u32;
            }
        }
        list
    }

    fn room(length: usize, null: bool) -> Self {
        let more = if null || length <= FEW { Vec::new() } else { vec![0; length] };
        Self { few: [0; FEW], more, length, null }
    }

    fn at(&mut self, k: usize) -> &mut u32 {
        if self.length <= FEW { &mut self.few[k] } else { &mut self.more[k] }
    }

    /// What the first interface gets.
    pub fn address(&mut self) -> *mut c_void {
        if self.null {
            core::ptr::null_mut()
        } else if self.length <= FEW {
            self.few.as_mut_ptr().cast()
        } else {
            self.more.as_mut_ptr().cast()
        }
    }

    /// Gives the elements back to the program.
    ///
    /// # Safety
    /// As for `take`.
    pub unsafe fn put(&mut self, to: *mut usize, translate: fn(u32) -> usize) {
        for k in 0..if self.null { 0 } else { self.length } {
            let value = translate(*self.at(k));
            // SAFETY: within the program's array, see above.
            unsafe { *to.add(k) = value };
        }
    }
}

/// An array of statuses.
pub struct Statuses {
    few: [First; FEW],
    more: Vec<First>,
    length: usize,
    ignored: bool,
}

impl Statuses {
    /// Translates `length` statuses.
    ///
    /// # Safety
    /// The program promised that the array has that many elements; null is `MPI_STATUSES_IGNORE`.
    pub unsafe fn take(from: *mut Standard, length: usize) -> Self {
        let ignored = from.is_null();
        let more = if ignored || length <= FEW { Vec::new() } else { vec![First::EMPTY; length] };
        let mut all = Self { few: [First::EMPTY; FEW], more, length, ignored };
        for k in 0..if ignored { 0 } else { length } {
            // SAFETY: within the program's array, see above.
            all.places()[k] = unsafe { (*from.add(k)).to_first() };
        }
        all
    }

    fn places(&mut self) -> &mut [First] {
        if self.length <= FEW { &mut self.few } else { &mut self.more }
    }

    /// What the first interface gets.
    pub fn address(&mut self) -> *mut c_void {
        if self.ignored { First::IGNORE } else { self.places().as_mut_ptr().cast() }
    }

    /// Gives the statuses back to the program.
    ///
    /// # Safety
    /// As for `take`.
    pub unsafe fn put(&mut self, to: *mut Standard) {
        for k in 0..if self.ignored { 0 } else { self.length } {
            let value = Standard::of(&self.places()[k]);
            // SAFETY: within the program's array, see above.
            unsafe { *to.add(k) = value };
        }
    }
}

/// A length; a negative one is for the first interface to complain about.
pub fn many(n: i64) -> usize {
    n.max(0) as usize
}

/// An `int` that is passed by address.
///
/// # Safety
/// The program promised that it can be read; it may be null.
pub unsafe fn read(place: *mut c_int) -> c_int {
    // SAFETY: see above.
    if place.is_null() { 0 } else { unsafe { *place } }
}

/// Our place for a result, or null where the program gave none: the first interface says what it
/// thinks of it.
pub fn unless_null<T>(program: *mut T, ours: *mut c_void) -> *mut c_void {
    if program.is_null() { core::ptr::null_mut() } else { ours }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_every_length_come_back() {
        for length in [0, 1, FEW, FEW + 1, 100] {
            let mut handles: Vec<usize> = (0..length).map(|k| 0x8400_0000 + k).collect();
            let before = handles.clone();
            // SAFETY: the vector has that many elements.
            unsafe {
                let mut list = List::take(handles.as_mut_ptr(), length, |h| h as u32 + 1, false);
                assert!(!list.address().is_null());
                list.put(handles.as_mut_ptr(), |h| h as usize - 1);
            }
            assert_eq!(handles, before);
        }
        // SAFETY: null is allowed.
        let mut none = unsafe { List::take(core::ptr::null_mut(), 9, |h| h as u32, false) };
        assert!(none.address().is_null());
        // SAFETY: nothing is written.
        unsafe { none.put(core::ptr::null_mut(), |h| h as usize) };
        assert_eq!(many(-3), 0);
    }
}
