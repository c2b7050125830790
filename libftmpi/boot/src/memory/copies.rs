//! The range of addresses where copies are made while the process stands still.

use crate::base::reserved_area::{COPIES_LEN, ReservedArea, copies_base};
use crate::base::syscalls::{self, Errno};
use crate::base::tables::Piece;

/// The part of the range that is in use. Dropping it unmaps all copies; the image child has its
/// own.
#[derive(Debug)]
pub struct Copies {
    end: usize,
    pieces: usize,
}

impl Copies {
    /// No copies yet.
    pub fn new() -> Self {
        Self { end: copies_base(), pieces: 0 }
    }

    /// Maps room for `len` bytes, and gives its address.
    pub fn room(&mut self, len: usize) -> Result<usize, Errno> {
        let len = len.next_multiple_of(4096);
        if len > copies_base() + COPIES_LEN - self.end {
            return Err(libc::ENOMEM);
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let at = self.end;
        // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
        unsafe { syscalls::map_anonymous(at, len, prot, flags) }?;
        self.end += len;
        Ok(at)
    }

    /// Maps room for a piece of contents and adds the piece to the table. `at`: its place in the
    /// stream.
    pub fn piece(
        &mut self,
        area: &ReservedArea,
        at: u64,
        len: usize,
    ) -> Result<&'static mut [u8], Errno> {
        let slot = area.pieces().get_mut(self.pieces).ok_or(libc::ENOMEM)?;
        let copy = self.room(len)?;
        *slot = Piece { at, copy, len };
        self.pieces += 1;
        // SAFETY: just mapped, and nobody else's.
        Ok(unsafe { core::slice::from_raw_parts_mut(copy as *mut u8, len) })
    }

    /// Takes the last piece out of the table.
    pub fn drop_piece(&mut self) {
        self.pieces -= 1;
    }

    /// Pieces in the table.
    pub fn pieces(&self) -> usize {
        self.pieces
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if self.end > copies_base() {
            // SAFETY: only copies lie there.
            let _ = unsafe { syscalls::unmap(copies_base(), self.end - copies_base()) };
        }
    }
}
