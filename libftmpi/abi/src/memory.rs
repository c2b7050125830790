//! The pointers that a C program passes, as types that cannot be used wrongly by accident.
//!
//! Guarantees: bodies of MPI functions contain no raw dereference. A value of these types exists
//! only as an argument of an exported function. By the MPI standard the caller guarantees that its
//! target is valid for the length of the call (for communication buffers: until completion). A null
//! pointer where memory is needed becomes `MPI_ERR_ARG`, not a crash.

use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::text::within;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;

#[cold]
fn null(what: &str) -> MpiError {
    ErrorClass::Arg.because(format!("{what} is a null pointer"))
}

/// Where a call stores one result.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Stores the result.
    #[inline(always)]
    pub fn put(self, value: T) -> Result<()> {
        if self.0.is_null() {
            return Err(null("an output argument"));
        }
        // SAFETY: not null; the caller of the MPI function promised a writable `T`. Fortran may
        // pass an address that is not aligned for it.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Stores the result unless the caller passed null.
    pub fn put_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as in `put`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// The value before the call (of an argument that is both input and output).
    #[inline(always)]
    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(null("an argument"));
        }
        // SAFETY: not null; the caller of the MPI function promised a readable `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// An array that a call reads.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// Its first `count` elements.
    #[inline(always)]
    pub fn slice<'a>(self, count: usize) -> Result<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(null("an array argument"));
        }
        // SAFETY: not null; the caller promised `count` elements for the length of the call, and no
        // body keeps the slice longer.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }

    /// The only element.
    #[inline(always)]
    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(null("an argument"));
        }
        // SAFETY: not null; the caller of the MPI function promised a readable `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    pub fn address(self) -> *const T {
        self.0
    }
}

/// An array that a call writes (and may read).
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct OutArray<T>(*mut T);

impl<T: Copy> OutArray<T> {
    /// Its first `count` elements.
    #[inline(always)]
    pub fn slice<'a>(self, count: usize) -> Result<&'a mut [T]> {
        if count == 0 {
            return Ok(&mut []);
        }
        if self.0.is_null() {
            return Err(null("an array argument"));
        }
        // SAFETY: not null; the caller promised `count` elements that nobody else uses during the
        // call. No body makes two slices of one array or keeps one.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0, count) })
    }

    /// Stores `value` as element `index`.
    #[inline(always)]
    pub fn put(self, index: usize, value: T) -> Result<()> {
        if self.0.is_null() {
            return Err(null("an array argument"));
        }
        // SAFETY: not null; the caller promised at least `index + 1` elements.
        unsafe { self.0.add(index).write_unaligned(value) };
        Ok(())
    }

    pub fn address(self) -> *mut T {
        self.0
    }
}

/// A text that a call reads: ends with a zero byte.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// The bytes of the text, in its own encoding, without the zero.
    pub fn get<'a>(self, what: &str) -> Result<&'a [u8]> {
        if self.0.is_null() {
            return Err(null(what));
        }
        // SAFETY: not null; the caller promised a text that ends with a zero byte, for the length
        // of the call. No body keeps it longer.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// The same for names that are passed on as the system has them.
    pub fn name<'a>(self, what: &str) -> Result<&'a OsStr> {
        self.get(what).map(OsStr::from_bytes)
    }
}

/// An array of texts.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Texts(*const Text);

/// Bounds a list whose end is missing.
const TEXTS_MAX: usize = 1 << 16;

impl Texts {
    /// All texts up to a null pointer; none if there is no array.
    pub fn until_null(self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while !self.0.is_null() && all.len() < TEXTS_MAX {
            // SAFETY: the caller promised an array that ends with a null pointer, and the end has
            // not been reached.
            let text = unsafe { self.0.add(all.len()).read_unaligned() };
            let Ok(bytes) = text.get("an argument") else { break };
            all.push(bytes.to_vec());
        }
        all
    }
}

/// An array of arrays of texts.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct TextLists(*const Texts);

impl TextLists {
    /// Array number `index`; none if there are no arrays.
    pub fn at(self, index: usize) -> Vec<Vec<u8>> {
        if self.0.is_null() {
            return Vec::new();
        }
        // SAFETY: not null; the caller promised one array for each command.
        unsafe { self.0.add(index).read_unaligned() }.until_null()
    }
}

/// A place for a text of at most `N - 1` bytes and a zero byte.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct OutText<const N: usize>(*mut c_char);

impl<const N: usize> OutText<N> {
    /// Stores `text`, cut at a character boundary if it is too long; returns the length stored.
    pub fn put(self, text: impl AsRef<[u8]>) -> Result<usize> {
        put_text(self.0, N, text.as_ref())
    }
}

/// A place for a text, of a length that is another argument.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct OutTextOf(*mut c_char);

impl OutTextOf {
    /// Stores `text` in a place of `room` bytes, zero byte included.
    pub fn put(self, room: usize, text: impl AsRef<[u8]>) -> Result<usize> {
        put_text(self.0, room, text.as_ref())
    }
}

fn put_text(place: *mut c_char, room: usize, text: &[u8]) -> Result<usize> {
    if place.is_null() {
        return Err(null("the place for a text"));
    }
    if room == 0 {
        return Ok(0);
    }
    let text = within(text, room - 1);
    // SAFETY: not null; the caller promised `room` bytes, and `text.len() + 1 <= room`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast::<u8>(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(text.len())
}

/// A communication buffer as it came from the program: address, `MPI_BOTTOM` or `MPI_IN_PLACE`.
pub type Buf = *const c_void;
/// A communication buffer that is written.
pub type BufMut = *mut c_void;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_an_error_not_a_crash() {
        assert_eq!(Out::<i32>(std::ptr::null_mut()).put(1).unwrap_err().class, ErrorClass::Arg);
        assert!(In::<i32>(std::ptr::null()).slice(2).is_err());
        assert!(In::<i32>(std::ptr::null()).slice(0).unwrap().is_empty());
        assert!(Text(std::ptr::null()).get("name").is_err());
    }

    #[test]
    fn texts_are_cut_at_characters_and_end_with_zero() {
        let mut room = [0x7f_i8 as c_char; 5];
        let len = OutText::<5>(room.as_mut_ptr()).put("aböc").unwrap();
        assert_eq!(len, 4);
        assert_eq!(room[4], 0);
        let len = OutTextOf(room.as_mut_ptr()).put(4, "aböc").unwrap();
        assert_eq!((len, room[2]), (2, 0));
        let latin = c"M\xfcller";
        assert_eq!(Text(latin.as_ptr()).get("a name").unwrap(), latin.to_bytes());
        let len = OutTextOf(room.as_mut_ptr()).put(5, latin.to_bytes()).unwrap();
        assert_eq!((len, room[1] as u8), (4, 0xfc));
    }
}
