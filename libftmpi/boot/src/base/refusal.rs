//! A line of text in fixed memory: why there is no image, why a restore failed.

use crate::base::syscalls::Errno;
use core::fmt::{self, Write};

/// At most [`ftmpi_checkpoint::stream::limit::REFUSAL`] bytes; what does not fit is cut.
#[repr(C)]
#[derive(Debug)]
pub struct Line {
    len: usize,
    bytes: [u8; ftmpi_checkpoint::stream::limit::REFUSAL],
}

impl Line {
    /// Empty.
    pub const fn new() -> Self {
        Self { len: 0, bytes: [0; ftmpi_checkpoint::stream::limit::REFUSAL] }
    }

    /// Begins anew.
    pub fn set(&mut self, text: fmt::Arguments<'_>) {
        self.len = 0;
        // Cutting is no error.
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

/// Bytes of a path or name, printed as text; what is not printable ASCII becomes `?`.
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

/// Why something cannot be done: the number here, the text in the reserved area's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub Errno);

/// Writes the line and gives the refusal.
macro_rules! refuse {
    ($area:expr, $errno:expr, $($text:tt)*) => {{
        $area.line().set(format_args!($($text)*));
        $crate::base::refusal::Refused($errno)
    }};
}
pub(crate) use refuse;
