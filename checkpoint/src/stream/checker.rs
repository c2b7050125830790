//! The check that a raw stream is complete. It follows the stream without keeping it. Hostile bytes
//! are refused, never with a panic.

use super::descriptors::{Descriptor, FileLock, Watch};
use super::memory::{File, Map, Range};
use super::process::{ProcessState, Signal, Thread, Timer};
use super::record::{RECORD_MAGIC, RecordHeader, STREAM_VERSION, Totals, kind, limit};
use core::mem::size_of;

/// Why a raw stream is not an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The process cannot be imaged. The text says why.
    #[error("{0}")]
    Refused(String),
    /// The rank (or its image child) died before the end.
    #[error("the image broke off after {bytes} bytes: its process died while it was taken")]
    BrokeOff {
        /// Bytes that came.
        bytes: u64,
    },
    /// The stream is of another version, or damaged.
    #[error("not an image stream: {what} at byte {at}")]
    Malformed {
        /// The problem.
        what: &'static str,
        /// The position of the problem.
        at: u64,
    },
}

/// Follows a raw stream and says whether it is complete. Keeps a header and a refusal, nothing
/// else.
#[derive(Debug)]
pub struct StreamChecker {
    header: Vec<u8>,
    kept: Vec<u8>,
    keep: bool,
    kind: u32,
    payload_left: u64,
    /// The header of a record came, and nothing of its contents.
    at_begin: bool,
    sequence: u64,
    page_bytes: u64,
    page_floor: u64,
    bytes: u64,
    image_no: Option<u64>,
    done: bool,
    failed: Option<StreamError>,
}

impl Default for StreamChecker {
    fn default() -> Self {
        Self::new()
    }
}

const HEADER_BYTES: usize = size_of::<RecordHeader>();
/// Memory is cut at multiples of this: small enough that a change affects few bytes around it,
/// large enough to compress well.
const WINDOW_BYTES: u64 = 64 << 10;

impl StreamChecker {
    /// A checker at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: Vec::with_capacity(HEADER_BYTES),
            kept: Vec::new(),
            keep: false,
            kind: 0,
            payload_left: 0,
            at_begin: false,
            sequence: 0,
            page_bytes: 0,
            page_floor: 0,
            bytes: 0,
            image_no: None,
            done: false,
            failed: None,
        }
    }

    /// Looks at the next bytes.
    ///
    /// # Errors
    /// The stream is not an image. No later call succeeds.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        while !bytes.is_empty() {
            let step = self.step(&mut bytes);
            if let Err(error) = step {
                self.failed = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    /// How many of the next bytes, at least 1, belong to one piece. A piece ends with the record,
    /// or at a multiple of [`WINDOW_BYTES`] addresses; bytes that are not memory are one piece.
    /// Unchanged memory then falls into equal pieces in two images, even if memory around it has
    /// changed.
    #[must_use]
    pub fn piece_left(&self) -> usize {
        let left = match self.payload_left {
            0 => (HEADER_BYTES - self.header.len()) as u64,
            left if self.kind == kind::PAGES => {
                let at = self.page_floor - left;
                left.min(WINDOW_BYTES - at % WINDOW_BYTES)
            }
            left => left,
        };
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Whether a piece of memory begins or ends here.
    #[must_use]
    pub fn at_piece(&self) -> bool {
        let inside = || !(self.page_floor - self.payload_left).is_multiple_of(WINDOW_BYTES);
        self.kind == kind::PAGES
            && self.header.is_empty()
            && (self.payload_left == 0 || self.at_begin || !inside())
    }

    /// Whether the END came.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.done && self.failed.is_none()
    }

    /// The number of the image, once the process state came.
    #[must_use]
    pub fn image_no(&self) -> Option<u64> {
        self.image_no
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The stream is not a complete image.
    pub fn finish(self) -> Result<Totals, StreamError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.done {
            return Err(StreamError::BrokeOff { bytes: self.bytes });
        }
        Ok(Totals { records: self.sequence, page_bytes: self.page_bytes })
    }

    fn malformed(&self, what: &'static str) -> StreamError {
        StreamError::Malformed { what, at: self.bytes }
    }

    fn step(&mut self, bytes: &mut &[u8]) -> Result<(), StreamError> {
        if self.done {
            return Err(self.malformed("bytes behind the end"));
        }
        if self.payload_left > 0 {
            self.at_begin = false;
            let take = usize::try_from(self.payload_left).unwrap_or(usize::MAX).min(bytes.len());
            let (now, rest) = bytes.split_at(take);
            if self.keep {
                self.kept.extend_from_slice(now);
            }
            *bytes = rest;
            self.bytes += take as u64;
            self.payload_left -= take as u64;
            if self.payload_left == 0 {
                self.payload_done()?;
            }
            return Ok(());
        }
        let take = (HEADER_BYTES - self.header.len()).min(bytes.len());
        self.header.extend_from_slice(&bytes[..take]);
        *bytes = &bytes[take..];
        self.bytes += take as u64;
        if self.header.len() == HEADER_BYTES {
            self.header_done()?;
            self.header.clear();
        }
        Ok(())
    }

    fn header_done(&mut self) -> Result<(), StreamError> {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (first, sequence, at, len) = (word(0), word(8), word(16), word(24));
        let (magic, kind) = (first as u32, (first >> 32) as u32);
        if magic != RECORD_MAGIC {
            return Err(self.malformed("wrong magic number of a record"));
        }
        if sequence != self.sequence {
            return Err(self.malformed("a record out of order"));
        }
        let expected = match kind {
            kind::REFUSED => true,
            kind::PROCESS..=kind::LAST_TABLE => u64::from(kind) == sequence + 1,
            // Contents come before the pages.
            kind::CONTENTS => sequence >= u64::from(kind::LAST_TABLE) && self.page_floor == 0,
            kind::PAGES | kind::END => sequence >= u64::from(kind::LAST_TABLE),
            _ => false,
        };
        let fits = match kind {
            kind::PROCESS => len == size_of::<ProcessState>() as u64,
            kind::DESCRIPTORS => is_table::<Descriptor>(len, limit::DESCRIPTORS),
            kind::FILES => is_table::<File>(len, limit::FILES),
            kind::MAPS => is_table::<Map>(len, limit::MAPS),
            kind::STRINGS => len <= limit::STRINGS as u64,
            kind::THREADS => len > 0 && is_table::<Thread>(len, limit::THREADS),
            kind::TIMERS => is_table::<Timer>(len, limit::TIMERS),
            kind::SIGNALS => is_table::<Signal>(len, limit::SIGNALS),
            kind::LOCKS => is_table::<FileLock>(len, limit::LOCKS),
            kind::RANGES => is_table::<Range>(len, limit::RANGES),
            kind::WATCHES => is_table::<Watch>(len, limit::WATCHES),
            kind::CONTENTS => len > 0 && len <= limit::CONTENT_BYTES,
            kind::PAGES => len > 0 && len.is_multiple_of(4096) && at.is_multiple_of(4096),
            kind::END => len == size_of::<Totals>() as u64,
            kind::REFUSED => len > 0 && len <= limit::REFUSAL as u64,
            _ => false,
        };
        if !expected || !fits {
            return Err(self.malformed("a record of unexpected kind or length"));
        }
        if kind == kind::PAGES {
            let Some(end) = at.checked_add(len).filter(|_| at >= self.page_floor) else {
                return Err(self.malformed("pages out of order"));
            };
            self.page_floor = end;
            self.page_bytes += len;
        }
        self.kind = kind;
        self.keep = matches!(kind, kind::PROCESS | kind::END | kind::REFUSED);
        self.kept.clear();
        self.payload_left = len;
        self.at_begin = true;
        if len == 0 {
            self.payload_done()?;
        }
        Ok(())
    }

    fn payload_done(&mut self) -> Result<(), StreamError> {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.kept[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        match self.kind {
            kind::PROCESS => {
                if word(0) as u32 != STREAM_VERSION {
                    return Err(self.malformed("another version of the image stream"));
                }
                self.image_no = Some(word(core::mem::offset_of!(ProcessState, image_no)));
            }
            kind::END => {
                if word(0) != self.sequence || word(8) != self.page_bytes {
                    return Err(self.malformed("totals that do not agree"));
                }
                self.done = true;
                return Ok(());
            }
            kind::REFUSED => {
                let text = String::from_utf8_lossy(&self.kept);
                let text: String = text.chars().filter(|c| !c.is_control()).collect();
                return Err(StreamError::Refused(text));
            }
            _ => {}
        }
        self.sequence += 1;
        Ok(())
    }
}

fn is_table<T>(len: u64, most: usize) -> bool {
    len.is_multiple_of(size_of::<T>() as u64) && len <= (most * size_of::<T>()) as u64
}

#[cfg(test)]
mod tests;
