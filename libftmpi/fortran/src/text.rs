//! Texts: blank-padded with a length in Fortran, ended by a zero byte in C.

use core::ffi::c_char;

/// A text between the languages, with room for C's zero.
pub struct Text(Vec<u8>);

/// The length that a Fortran compiler passed. Some pass 32 bits and leave the upper half undefined;
/// no character variable is that long.
pub fn hidden(length: usize) -> usize {
    length as u32 as usize
}

impl Text {
    /// Takes the name of an object: without its trailing blanks, but with those in front, which
    /// count (MPI-4.1, 7.8).
    ///
    /// # Safety
    /// `p` points to `length` characters.
    pub unsafe fn take_name(p: *const u8, length: usize) -> Text {
        // SAFETY: the caller's promise.
        let all = unsafe { core::slice::from_raw_parts(p, hidden(length)) };
        let end = all.iter().rposition(|&c| c != b' ').map_or(0, |i| i + 1);
        let mut bytes = all[..end].to_vec();
        bytes.push(0);
        Text(bytes)
    }

    /// Takes a Fortran text without its trailing blanks. Leading blanks are removed too. The
    /// standard says so for keys and values of infos, and commands with their arguments. It says
    /// nothing of names of files, ports and representations and of error texts, where MPICH removes
    /// them.
    ///
    /// # Safety
    /// `p` points to `length` characters.
    pub unsafe fn take(p: *const u8, length: usize) -> Text {
        // SAFETY: the caller's promise.
        let all = unsafe { core::slice::from_raw_parts(p, hidden(length)) };
        let start = all.iter().position(|&c| c != b' ').unwrap_or(all.len());
        let end = all.iter().rposition(|&c| c != b' ').map_or(start, |i| i + 1);
        let mut bytes = all[start..end].to_vec();
        bytes.push(0);
        Text(bytes)
    }

    /// An empty text with room for `size` bytes, C's zero included.
    pub fn room(size: usize) -> Text {
        Text(vec![0; size.max(1)])
    }

    /// For a C function that reads it.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    /// For a C function that writes it, up to the room asked for.
    pub fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Nothing but blanks?
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    /// Gives the text to a Fortran variable of `length` characters: cut, or padded with blanks.
    ///
    /// # Safety
    /// `p` points to `length` characters that may be written.
    pub unsafe fn give(&self, p: *mut u8, length: usize) {
        let text = self.0.split(|&c| c == 0).next().unwrap_or_default();
        // SAFETY: the caller's promise.
        let target = unsafe { core::slice::from_raw_parts_mut(p, hidden(length)) };
        let n = text.len().min(target.len());
        target[..n].copy_from_slice(&text[..n]);
        target[n..].fill(b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_go_and_come_back() {
        // SAFETY: the lengths are those of the arrays.
        unsafe {
            let text = Text::take(b"  key one  ".as_ptr(), 11);
            assert_eq!(text.0, b"key one\0");
            let mut out = [b'x'; 9];
            text.give(out.as_mut_ptr(), 9);
            assert_eq!(&out, b"key one  ");
            text.give(out.as_mut_ptr(), 3); // touches nothing behind
            assert_eq!(&out, b"key one  ");
            assert_eq!(Text::take_name(b"  a name  ".as_ptr(), 10).0, b"  a name\0");
            assert!(Text::take_name(b"    ".as_ptr(), 4).is_empty());
            assert!(Text::take(b"    ".as_ptr(), 4).is_empty());
            assert!(Text::take(b"".as_ptr(), 0).is_empty());
        }
    }

    #[test]
    fn upper_half_of_a_length_does_not_count() {
        assert_eq!(hidden(0xdead_beef_0000_0007), 7);
    }
}
