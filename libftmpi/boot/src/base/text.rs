//! Text in memory that is there already: a line, and bytes shown as text.

use core::fmt::{self, Write};
use ftmpi_checkpoint::stream::limit;

/// A line of at most [`limit::REFUSAL`] bytes. What does not fit is cut off.
#[repr(C)]
#[derive(Debug)]
pub struct Line {
    len: usize,
    bytes: [u8; limit::REFUSAL],
}

impl Line {
    /// An empty line.
    pub const fn new() -> Self {
        Self { len: 0, bytes: [0; limit::REFUSAL] }
    }

    /// Replaces the text.
    pub fn set(&mut self, text: fmt::Arguments<'_>) {
        self.len = 0;
        // A line that is cut off is no error.
        let _ = self.write_fmt(text);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.min(self.bytes.len())]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.len = self.len.min(self.bytes.len());
        let take = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        Ok(())
    }
}

/// Bytes of a path or name, printed as text. Bytes that are not printable ASCII become `?`.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            f.write_char(if (0x20..0x7f).contains(&byte) { byte as char } else { '?' })?;
        }
        Ok(())
    }
}
