//! Puts pieces of text together to whole lines, with a prefix before each line.

use crate::tuning::LINE_BYTES_MAX;

/// The lines of one stream of one rank.
#[derive(Debug)]
pub struct Lines {
    prefix: Option<String>,
    held: Vec<u8>,
}

impl Lines {
    /// Lines get this prefix, if there is one.
    pub fn new(prefix: Option<String>) -> Self {
        Self { prefix, held: Vec::new() }
    }

    /// Lines that become whole from here on get this prefix.
    pub fn set_prefix(&mut self, prefix: Option<String>) {
        self.prefix = prefix;
    }

    /// Adds text; the result are the lines that became whole.
    pub fn push(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 16);
        for piece in text.split_inclusive(|byte| *byte == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.held.len() > LINE_BYTES_MAX {
                self.release(&mut out);
            }
        }
        out
    }

    /// Bytes that wait for the rest of their line.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the rest at the end, which is no whole line.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.held.is_empty() {
            self.release(&mut out);
        }
        out
    }

    fn release(&mut self, out: &mut Vec<u8>) {
        if let Some(prefix) = &self.prefix {
            out.extend_from_slice(prefix.as_bytes());
        }
        out.append(&mut self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_prefixed() {
        let mut lines = Lines::new(Some("[2] ".into()));
        assert_eq!(lines.push(b"one\ntw"), b"[2] one\n");
        assert_eq!(lines.push(b"o\n\nthr"), b"[2] two\n[2] \n");
        assert_eq!(lines.rest(), b"[2] thr");
        assert_eq!(lines.rest(), b"");
        lines.set_prefix(Some("[3] ".into()));
        assert_eq!(lines.push(b"four\n"), b"[3] four\n");
    }
}
