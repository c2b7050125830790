//! The format of a journal: a head, then records.

use std::io;

/// Bytes of a file that one record holds at most.
pub const BYTES_MAX: usize = 1 << 20;

/// Bytes of the head: format, job, begin and end of the records, length that the changes reserve,
/// boot of the system that wrote last.
pub(super) const HEAD: u64 = 48;
pub(super) const FORMAT: [u8; 8] = *b"FTMPIUN1";
/// Offsets in the head.
pub(super) const BEGIN_AT: u64 = 16;
pub(super) const END_AT: u64 = 24;
pub(super) const RESERVED_LEN_AT: u64 = 32;
pub(super) const BOOT_AT: u64 = 40;

/// Bytes of the head of a record.
pub(super) const RECORD: usize = 48;
/// First byte of a record: the change counts, or is undone.
pub(super) const DONE: u8 = 0;
pub(super) const UNDONE: u8 = 1;

/// Who made a change: the incarnation, and the image after which it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Author {
    pub rank: u32,
    pub incarnation: u32,
    pub wave: u64,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// Other bytes are written over these.
    Overwritten {
        /// The offset.
        at: u64,
        /// The bytes.
        old: Vec<u8>,
    },
    /// The file grows by a write that ends at `to`.
    Extended {
        /// The length before.
        from: u64,
        /// The end of what was written.
        to: u64,
    },
    /// The file is cut. Earlier records hold the bytes that were cut off.
    Shrunk {
        /// The length before.
        from: u64,
    },
    /// The file is made.
    Created,
    /// The file is deleted: it has this name now, in the same directory.
    Deleted {
        /// The name.
        hidden: String,
    },
}

impl FileChange {
    /// Kind, two numbers, bytes.
    fn parts(&self) -> (u8, u64, u64, &[u8]) {
        match self {
            FileChange::Overwritten { at, old } => (1, *at, 0, old),
            FileChange::Extended { from, to } => (2, *from, *to, &[]),
            FileChange::Shrunk { from } => (3, *from, 0, &[]),
            FileChange::Created => (4, 0, 0, &[]),
            FileChange::Deleted { hidden } => (5, 0, 0, hidden.as_bytes()),
        }
    }
}

/// A record as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub author: Author,
    pub change: FileChange,
    pub undone: bool,
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the journal of the file is damaged: {what}"),
    )
}

pub(super) fn encode(author: Author, change: &FileChange) -> Vec<u8> {
    let (kind, a, b, bytes) = change.parts();
    let mut record = Vec::with_capacity(RECORD + bytes.len());
    record.extend_from_slice(&[DONE, kind, 0, 0]);
    record.extend_from_slice(&author.rank.to_le_bytes());
    record.extend_from_slice(&author.incarnation.to_le_bytes());
    record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    record.extend_from_slice(&author.wave.to_le_bytes());
    record.extend_from_slice(&a.to_le_bytes());
    record.extend_from_slice(&b.to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&record[1..]), bytes);
    record.extend_from_slice(&sum.to_le_bytes());
    record.extend_from_slice(&[0; 4]);
    record.extend_from_slice(bytes);
    record
}

fn word(head: &[u8; RECORD], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| head[at + i]))
}

fn long(head: &[u8; RECORD], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| head[at + i]))
}

/// The number of bytes that follow the head of a record.
pub(super) fn length(head: &[u8; RECORD]) -> io::Result<usize> {
    let length = word(head, 12) as usize;
    if length > BYTES_MAX { Err(damaged("a record is too long")) } else { Ok(length) }
}

/// Decodes a record. `hidden` is the beginning of the names of deleted files.
pub(super) fn decode(head: &[u8; RECORD], bytes: Vec<u8>, hidden: &str) -> io::Result<Record> {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&head[1..40]), &bytes);
    if sum != word(head, 40) {
        return Err(damaged("a checksum is wrong"));
    }
    let (a, b) = (long(head, 24), long(head, 32));
    let in_file = |place: u64| i64::try_from(place).is_ok();
    let change = match head[1] {
        1 if in_file(a.saturating_add(bytes.len() as u64)) => {
            FileChange::Overwritten { at: a, old: bytes }
        }
        2 if in_file(a) && in_file(b) => FileChange::Extended { from: a, to: b },
        3 if in_file(a) => FileChange::Shrunk { from: a },
        4 => FileChange::Created,
        5 => {
            let name = String::from_utf8(bytes).map_err(|_| damaged("a name is no text"))?;
            if !name.starts_with(hidden) || name.contains('/') || name.contains('\0') {
                return Err(damaged("a name is none of ours"));
            }
            FileChange::Deleted { hidden: name }
        }
        _ => return Err(damaged("a record of no known kind")),
    };
    let author = Author { rank: word(head, 4), incarnation: word(head, 8), wave: long(head, 16) };
    Ok(Record { author, change, undone: head[0] == UNDONE })
}
