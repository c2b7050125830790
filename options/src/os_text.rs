//! Arguments, variables and paths as text. To the system they are bytes, mostly in UTF-8.
//!
//! Guarantees: [`decode`] gives back what [`encode`] was given, for all bytes, and each text stands
//! for one sequence of bytes. Text in UTF-8 stays as it is, so that what is stored can be read.
//!
//! A byte that is not part of UTF-8 becomes the private character U+10FF00 + byte. Characters of
//! that range in the input are treated as bytes, one by one.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What some editors write before the text of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// Code of the character for byte 0.
const BASE: u32 = 0x10_ff00;
/// The characters that stand for bytes. Bytes below 0x80 are always UTF-8.
const STAND_FOR_BYTES: RangeInclusive<char> = '\u{10ff80}'..='\u{10ffff}';

/// The text of these bytes.
#[must_use]
pub fn encode(bytes: &OsStr) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match STAND_FOR_BYTES.contains(&c) {
                true => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push(&mut text, byte)),
                false => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut text, *byte));
    }
    text
}

fn push(text: &mut String, byte: u8) {
    text.extend(char::from_u32(BASE + u32::from(byte)));
}

/// The bytes of a text.
#[must_use]
pub fn decode(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match STAND_FOR_BYTES.contains(&c) {
            true => bytes.push((u32::from(c) - BASE) as u8),
            false => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

/// The text of a path.
#[must_use]
pub fn of_path(path: &Path) -> String {
    encode(path.as_os_str())
}

/// The path of a text.
#[must_use]
pub fn to_path(text: &str) -> PathBuf {
    decode(text).into()
}

/// The text for a reader: what cannot be shown is replaced.
#[must_use]
pub fn shown(text: &str) -> String {
    decode(text).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(bytes: &[u8]) -> String {
        let text = encode(OsStr::from_bytes(bytes));
        assert_eq!(decode(&text).as_bytes(), bytes, "{text:?}");
        text
    }

    #[test]
    fn all_bytes_come_back_and_utf8_stays_readable() {
        assert_eq!(there_and_back("Größe 東京 \u{10ff00}".as_bytes()), "Größe 東京 \u{10ff00}");
        assert_eq!(there_and_back(b"caf\xe9"), "caf\u{10ffe9}");
        let all: Vec<u8> = (0..=255).collect();
        there_and_back(&all);
        for first in 0..=255 {
            for second in 0..=255 {
                there_and_back(&[b'x', first, second, 0xbf, 0x80, b'y']);
            }
        }
        assert_eq!(shown("caf\u{10ffe9}"), "caf\u{fffd}");
    }

    #[test]
    fn characters_that_stand_for_bytes_are_not_taken_for_them() {
        for c in ['\u{10ff80}', '\u{10ffe9}', '\u{10ffff}', '\u{10ff7f}'] {
            there_and_back(c.to_string().as_bytes());
        }
        // Two sequences of bytes never have one text.
        assert_ne!(encode(OsStr::from_bytes(b"\xe9")), encode(OsStr::new("\u{10ffe9}")));
    }
}
