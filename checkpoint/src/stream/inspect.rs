//! The inspector: what a process had, and what was in its pages, without a restore.
//!
//! Guarantees: everything is checked before it is used, as the bytes may come from a damaged file.
//! Memory is bounded by the stream's limits. No byte is executed or mapped. Texts have no control
//! characters: they are printed on terminals.
#![allow(unsafe_code)]

use super::descriptors::Descriptor;
use super::memory::{File, Map, map};
use super::process::{ProcessState, Thread};
use super::record::{RECORD_MAGIC, RecordHeader, STREAM_VERSION, Text, kind, limit};
use super::validate::is_text;
use std::mem::size_of;

/// Bytes of a record that is kept at most.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Why a stream cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// Another version made the stream.
    #[error("the image has stream version {0}, this program reads {STREAM_VERSION}")]
    Version(u32),
    /// The bytes are not a stream, or are damaged.
    #[error("the image cannot be understood: {0}")]
    Malformed(&'static str),
}

/// One mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address, and the address after the last.
    pub range: (u64, u64),
    /// `rwx` and `s` or `p`, as in `/proc/PID/maps`.
    pub access: String,
    /// The file, `[stack]`, or nothing.
    pub name: String,
    /// Bytes of the mapping that the image holds.
    pub stored: u64,
}

/// One descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The number of the descriptor.
    pub fd: i32,
    /// The path, if the descriptor has one.
    pub path: String,
    /// The offset.
    pub offset: u64,
}

/// The process in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The executable.
    pub executable: String,
    /// The working directory.
    pub directory: String,
    /// Process id at the image.
    pub pid: i32,
    /// Names of the threads.
    pub threads: Vec<String>,
    /// Descriptors other than the launcher's.
    pub descriptors: Vec<Open>,
    /// Mappings, ascending.
    pub mappings: Vec<Mapping>,
    /// Bytes of all pages.
    pub page_bytes: u64,
}

/// Follows a raw stream.
#[derive(Debug, Default)]
pub struct Inspector {
    held: Vec<u8>,
    header: Option<RecordHeader>,
    /// Bytes of the current PAGES record that have passed.
    passed: u64,
    process: Option<ProcessState>,
    descriptors: Vec<Descriptor>,
    files: Vec<File>,
    maps: Vec<Map>,
    strings: Vec<u8>,
    threads: Vec<Thread>,
    stored: Vec<u64>,
    page_bytes: u64,
}

/// Structures that hold numbers only: any bytes are a valid value.
///
/// # Safety
/// The type is `#[repr(C)]`, without padding that matters, pointers or enumerations.
unsafe trait Numbers: Copy {}
// SAFETY: see `super`: "hold numbers only".
unsafe impl Numbers for RecordHeader {}
// SAFETY: as above.
unsafe impl Numbers for ProcessState {}
// SAFETY: as above.
unsafe impl Numbers for Descriptor {}
// SAFETY: as above.
unsafe impl Numbers for File {}
// SAFETY: as above.
unsafe impl Numbers for Map {}
// SAFETY: as above.
unsafe impl Numbers for Thread {}

fn structures<T: Numbers>(bytes: &[u8]) -> Result<Vec<T>, InspectError> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(InspectError::Malformed("a table of another size"));
    }
    let one = |piece: &[u8]| {
        // SAFETY: the piece has the size of `T`, and any bytes are a `T`.
        unsafe { std::ptr::read_unaligned(piece.as_ptr().cast::<T>()) }
    };
    Ok(bytes.chunks_exact(size_of::<T>()).map(one).collect())
}

fn are_ascending(maps: &[Map]) -> bool {
    let mut floor = 0;
    maps.iter().all(|map| {
        let fits = floor <= map.start && map.start < map.end;
        floor = map.end;
        fits
    })
}

/// A text of a process that may be anything, for a terminal: without control characters.
fn printable(text: &[u8]) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    String::from_utf8_lossy(text).chars().map(shown).collect()
}

impl Inspector {
    /// An inspector at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes raw bytes. `pages` gets each piece of memory with its address.
    ///
    /// # Errors
    /// The stream cannot be understood. The inspector cannot be used further.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        mut pages: impl FnMut(u64, &[u8]),
    ) -> Result<(), InspectError> {
        while !bytes.is_empty() {
            let Some(header) = self.header else {
                bytes = self.hold(bytes, size_of::<RecordHeader>());
                if self.held.len() == size_of::<RecordHeader>() {
                    let header: RecordHeader = structures(&self.held)?[0];
                    self.held.clear();
                    self.begin(header)?;
                }
                continue;
            };
            if matches!(header.kind, kind::PAGES | kind::CONTENTS) {
                let left = header.len - self.passed;
                let take = (bytes.len() as u64).min(left) as usize;
                if header.kind == kind::PAGES {
                    let at = header.at.wrapping_add(self.passed);
                    self.count(at, take as u64);
                    pages(at, &bytes[..take]);
                }
                self.passed += take as u64;
                bytes = &bytes[take..];
                if self.passed == header.len {
                    self.header = None;
                }
                continue;
            }
            bytes = self.hold(bytes, header.len as usize);
            self.finish_if_whole()?;
        }
        Ok(())
    }

    /// Moves bytes into the buffer until it has `wanted`. Returns the rest.
    fn hold<'a>(&mut self, bytes: &'a [u8], wanted: usize) -> &'a [u8] {
        let take = bytes.len().min(wanted - self.held.len());
        self.held.extend_from_slice(&bytes[..take]);
        &bytes[take..]
    }

    fn begin(&mut self, header: RecordHeader) -> Result<(), InspectError> {
        if header.magic != RECORD_MAGIC {
            return Err(InspectError::Malformed("no record where one should begin"));
        }
        let streamed = matches!(header.kind, kind::PAGES | kind::CONTENTS);
        if !streamed && header.len > KEPT_BYTES_MAX as u64 {
            return Err(InspectError::Malformed("a record of impossible length"));
        }
        self.header = Some(header);
        self.passed = 0;
        if streamed {
            if header.len == 0 {
                self.header = None;
            }
            return Ok(());
        }
        self.finish_if_whole()
    }

    fn finish_if_whole(&mut self) -> Result<(), InspectError> {
        let Some(header) = self.header.filter(|header| self.held.len() as u64 == header.len) else {
            return Ok(());
        };
        self.header = None;
        let bytes = std::mem::take(&mut self.held);
        match header.kind {
            kind::PROCESS => {
                // The version comes first, in every version.
                let version = bytes.get(..4).map(|b| u32::from_le_bytes(b.try_into().expect("4")));
                match version {
                    Some(STREAM_VERSION) => {}
                    Some(other) => return Err(InspectError::Version(other)),
                    None => return Err(InspectError::Malformed("no process")),
                }
                self.process = structures(&bytes)?.first().copied();
            }
            kind::DESCRIPTORS => self.descriptors = structures(&bytes)?,
            kind::FILES => self.files = structures(&bytes)?,
            kind::MAPS => {
                self.maps = structures(&bytes)?;
                if self.maps.len() > limit::MAPS {
                    return Err(InspectError::Malformed("too many mappings"));
                }
                if !are_ascending(&self.maps) {
                    return Err(InspectError::Malformed("mappings out of order"));
                }
                self.stored = vec![0; self.maps.len()];
            }
            kind::STRINGS => self.strings = bytes,
            kind::THREADS => self.threads = structures(&bytes)?,
            _ => {}
        }
        Ok(())
    }

    /// Pages may lie across several mappings.
    fn count(&mut self, at: u64, bytes: u64) {
        self.page_bytes += bytes;
        let end = at.saturating_add(bytes);
        let first = self.maps.partition_point(|map| map.end <= at);
        for (map, stored) in self.maps[first..].iter().zip(&mut self.stored[first..]) {
            if map.start >= end {
                break;
            }
            *stored += end.min(map.end).saturating_sub(at.max(map.start));
        }
    }

    /// A text of the image; empty if the image has none there, or one that is no path.
    fn text(&self, text: Text) -> String {
        if !is_text(&self.strings, text) {
            return String::new();
        }
        let from = text.offset as usize;
        printable(&self.strings[from..from + text.len as usize])
    }

    /// What was found.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let mapping = |(map, stored): (&Map, &u64)| {
            let letter = |bit: u32, letter| if map.prot & bit != 0 { letter } else { '-' };
            let shared = if map.flags & map::SHARED != 0 { 's' } else { 'p' };
            let file = self.files.get(map.file as usize).map(|file| self.text(file.path));
            let stack = map.flags & map::STACK != 0;
            Mapping {
                range: (map.start, map.end),
                access: [letter(1, 'r'), letter(2, 'w'), letter(4, 'x'), shared].iter().collect(),
                name: file.unwrap_or_else(|| if stack { "[stack]".into() } else { String::new() }),
                stored: *stored,
            }
        };
        let thread = |thread: &Thread| {
            let end = thread.name.iter().position(|byte| *byte == 0).unwrap_or(thread.name.len());
            printable(&thread.name[..end])
        };
        Contents {
            executable: self.process.map(|f| self.text(f.executable)).unwrap_or_default(),
            directory: self.process.map(|f| self.text(f.cwd)).unwrap_or_default(),
            pid: self.process.map_or(0, |process| process.pid),
            threads: self.threads.iter().map(thread).collect(),
            descriptors: self
                .descriptors
                .iter()
                .filter(|open| open.how != super::descriptor::KEEP)
                .map(|open| Open { fd: open.fd, path: self.text(open.path), offset: open.offset })
                .collect(),
            mappings: self.maps.iter().zip(&self.stored).map(mapping).collect(),
            page_bytes: self.page_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, at: u64, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&RECORD_MAGIC.to_le_bytes());
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&0u64.to_le_bytes());
        out.extend_from_slice(&at.to_le_bytes());
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(body);
        out
    }

    fn bytes_of(map: Map) -> Vec<u8> {
        let mut out = Vec::new();
        for word in [map.start, map.end, map.offset] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [map.file, map.prot, map.flags, map.reserved] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out
    }

    #[test]
    fn mappings_and_pages_are_found_however_the_stream_is_cut() {
        let (one, two) = (
            Map { start: 0x1000, end: 0x3000, prot: 3, file: map::NO_FILE, ..Map::default() },
            Map { start: 0x3000, end: 0x5000, prot: 5, file: map::NO_FILE, ..Map::default() },
        );
        let mut stream = record(kind::MAPS, 0, &[bytes_of(one), bytes_of(two)].concat());
        // These pages lie across both mappings.
        stream.extend(record(kind::PAGES, 0x2000, &[7; 0x2000]));
        stream.extend(record(kind::END, 0, &[0; 16]));
        for step in [1, 33, 4096, 100_000] {
            let (mut inspector, mut memory) = (Inspector::new(), Vec::new());
            for piece in stream.chunks(step) {
                inspector
                    .push(piece, |at, bytes| {
                        assert_eq!(at, 0x2000 + memory.len() as u64);
                        memory.extend_from_slice(bytes);
                    })
                    .unwrap();
            }
            let contents = inspector.contents();
            assert_eq!(memory, [7; 0x2000]);
            let seen: Vec<_> =
                contents.mappings.iter().map(|m| (m.access.as_str(), m.stored)).collect();
            assert_eq!(seen, [("rw-p", 0x1000), ("r-xp", 0x1000)]);
        }
        let mut inspector = Inspector::new();
        assert!(inspector.push(&[1; 100], |_, _| ()).is_err());
    }

    #[test]
    fn hostile_tables_are_refused_or_shown_without_harm() {
        let map = |start, end| Map { start, end, file: 0, prot: 1, ..Map::default() };
        for maps in [[map(0x3000, 0x1000), map(0x4000, 0x5000)], [map(1, 3), map(2, 4)]] {
            let stream = record(kind::MAPS, 0, &maps.map(bytes_of).concat());
            let refused = Inspector::new().push(&stream, |_, _| ()).unwrap_err();
            assert_eq!(refused, InspectError::Malformed("mappings out of order"));
        }
        // A path that would change the terminal, and one that is as long as all texts.
        let strings = [b"/\x1b]0;x\x07\0".to_vec(), vec![b'a'; 1 << 20], vec![0]].concat();
        for (len, name) in [(7, "/\u{fffd}]0;x\u{fffd}"), (1 << 20, ""), (u32::MAX, "")] {
            let offset = if len == 7 { 0 } else { 8 };
            let mut file = [offset, len].map(u32::to_le_bytes).concat();
            file.resize(size_of::<File>(), 0);
            let mut stream = record(kind::FILES, 0, &file);
            stream.extend(record(kind::MAPS, 0, &bytes_of(map(0x1000, 0x2000))));
            stream.extend(record(kind::STRINGS, 0, &strings));
            let mut inspector = Inspector::new();
            inspector.push(&stream, |_, _| ()).unwrap();
            assert_eq!(inspector.contents().mappings[0].name, name);
        }
    }
}
