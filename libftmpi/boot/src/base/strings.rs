//! Texts of an image (paths), one after the other in the reserved area. A zero byte follows each.

use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Text, limit};

/// The texts so far.
#[derive(Debug)]
pub struct Strings {
    bytes: &'static mut [u8],
    len: usize,
}

impl Strings {
    /// No texts.
    pub fn new(area: &ReservedArea) -> Self {
        Self { bytes: area.strings(), len: 0 }
    }

    /// The texts that an image brought. The byte behind them is zero.
    pub fn loaded(area: &ReservedArea, len: usize) -> Self {
        let bytes = area.strings();
        let len = len.min(limit::STRINGS);
        bytes[len] = 0;
        Self { bytes, len }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Gives up what was added since there were so many bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Adds a copy of a text.
    pub fn add(&mut self, text: &[u8]) -> Result<Text, Errno> {
        let end = self.len + text.len();
        if end + 1 > limit::STRINGS {
            return Err(libc::ENOMEM);
        }
        self.bytes[self.len..end].copy_from_slice(text);
        self.bytes[end] = 0;
        let added = Text { offset: self.len as u32, len: text.len() as u32 };
        self.len = end + 1;
        Ok(added)
    }

    /// Adds the target of a symbolic link.
    pub fn link(&mut self, path: &CStr) -> Result<Text, Errno> {
        let room = &mut self.bytes[self.len..limit::STRINGS];
        let room_len = room.len().min(4096);
        let len = syscalls::readlink(path, &mut room[..room_len])?;
        if len + 1 >= room_len {
            return Err(libc::ENAMETOOLONG);
        }
        room[len] = 0;
        let added = Text { offset: self.len as u32, len: len as u32 };
        self.len += len + 1;
        Ok(added)
    }

    /// The bytes of a text; none if the image's numbers are impossible.
    pub fn get(&self, text: Text) -> &[u8] {
        let start = text.offset as usize;
        start
            .checked_add(text.len as usize)
            .filter(|&end| end <= self.len)
            .map_or(b"", |end| &self.bytes[start..end])
    }

    /// A text as a path for the kernel; empty if the image's numbers are impossible.
    pub fn c_str(&self, text: Text) -> &CStr {
        let start = (text.offset as usize).min(self.len);
        CStr::from_bytes_until_nul(&self.bytes[start..=self.len]).unwrap_or(c"")
    }
}
