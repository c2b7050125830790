//! The format of one file of a channel memory.
//!
//! ```text
//! header (32)  magic "FTMPIMEM" | version u32 | rank u32 | last place before it u64
//!              | bytes of the summary u32 | crc32c of these 28 bytes and the summary u32
//! summary      what there was of each sender before this file (postcard)
//! record (48+) magic u32 | crc32c of the other 40 bytes and the payload u32 | place u64
//!              | source u32 | incarnation u32 | header of the frame (24) | payload
//! ```
//! All numbers are little-endian. A file only grows. A scan of any bytes finds the complete records
//! of the sound beginning.

use ftmpi_protocols::channel_memory::{Record, Summary};
use ftmpi_wire::{Header, Incarnation, Rank, control};

pub const HEADER_BYTES: usize = 32;
pub const RECORD_BYTES: usize = 48;

const MAGIC: [u8; 8] = *b"FTMPIMEM";
const VERSION: u32 = 2;
const RECORD_MAGIC: u32 = 0x4443_4552;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// The beginning of a file.
pub fn header(rank: Rank, summary: &Summary) -> Vec<u8> {
    let tail = control::encode(summary);
    let mut out = Vec::with_capacity(HEADER_BYTES + tail.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&rank.0.to_le_bytes());
    out.extend_from_slice(&summary.last.to_le_bytes());
    out.extend_from_slice(&(tail.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&out), &tail);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&tail);
    out
}

/// The summary of a file and the offset of its records, if the beginning is sound.
pub fn read_header(bytes: &[u8], rank: Rank, last: u64) -> Option<(Summary, usize)> {
    let head = bytes.get(..HEADER_BYTES)?;
    let end = HEADER_BYTES.checked_add(u32_at(head, 24) as usize)?;
    let tail = bytes.get(HEADER_BYTES..end)?;
    let sound = head[..8] == MAGIC
        && u32_at(head, 8) == VERSION
        && u32_at(head, 12) == rank.0
        && u64_at(head, 16) == last
        && crc32c::crc32c_append(crc32c::crc32c(&head[..28]), tail) == u32_at(head, 28);
    let summary: Summary = sound.then(|| control::decode(tail).ok())??;
    (summary.last == last).then_some((summary, end))
}

/// The head of a record: all of it but the payload.
pub fn record_head(record: &Record, payload: &[u8]) -> [u8; RECORD_BYTES] {
    let mut out = [0; RECORD_BYTES];
    out[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
    out[8..16].copy_from_slice(&record.place.to_le_bytes());
    out[16..20].copy_from_slice(&record.source.0.to_le_bytes());
    out[20..24].copy_from_slice(&record.incarnation.0.to_le_bytes());
    for (bytes, word) in out[24..].chunks_exact_mut(8).zip(record.header.to_words()) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&out[8..]), payload);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The record of a head, and the checksum that it must have.
pub fn read_head(head: &[u8; RECORD_BYTES]) -> Option<(Record, u32)> {
    if u32_at(head, 0) != RECORD_MAGIC {
        return None;
    }
    let words = [u64_at(head, 24), u64_at(head, 32), u64_at(head, 40)];
    let record = Record {
        place: u64_at(head, 8),
        source: Rank(u32_at(head, 16)),
        incarnation: Incarnation(u32_at(head, 20)),
        header: Header::from_words(words).ok()?,
    };
    Some((record, u32_at(head, 4)))
}

/// Whether the payload belongs to the head.
pub fn fits(head: &[u8; RECORD_BYTES], payload: &[u8], crc: u32) -> bool {
    crc32c::crc32c_append(crc32c::crc32c(&head[8..]), payload) == crc
}

/// Walks the records from `at` on. Returns where the sound part ends.
pub fn scan(bytes: &[u8], mut at: usize, mut next: u64, mut each: impl FnMut(&Record)) -> usize {
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<RECORD_BYTES>()) {
        let Some((record, crc)) = read_head(head) else { return at };
        let begin = at + RECORD_BYTES;
        let end = begin.saturating_add(record.header.len as usize);
        let Some(payload) = bytes.get(begin..end) else { return at };
        if record.place != next || !fits(head, payload, crc) {
            return at;
        }
        each(&record);
        next += 1;
        at = end;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Ssn, header::Kind};
    use proptest::prelude::*;

    fn file(sizes: &[usize]) -> (Vec<u8>, usize) {
        let summary = Summary { last: 4, ..Summary::default() };
        let mut bytes = header(Rank(1), &summary);
        let begin = bytes.len();
        for (index, &size) in sizes.iter().enumerate() {
            let payload = vec![index as u8; size];
            let (kind, len) = (Kind::Eager, size as u64);
            let header = Header { kind, flags: 0, context: 0, tag: 0, len, ssn: Ssn(1) };
            let place = 5 + index as u64;
            let record = Record { place, source: Rank(2), incarnation: Incarnation(3), header };
            bytes.extend_from_slice(&record_head(&record, &payload));
            bytes.extend_from_slice(&payload);
        }
        (bytes, begin)
    }

    proptest! {
        #[test]
        fn a_torn_or_flipped_file_keeps_its_sound_beginning(
            sizes in proptest::collection::vec(0usize..50, 1..6),
            at in any::<prop::sample::Index>(), bit in 0u8..8, cut: bool,
        ) {
            let (whole, begin) = file(&sizes);
            let mut seen = 0;
            prop_assert_eq!(scan(&whole, begin, 5, |_| seen += 1), whole.len());
            prop_assert_eq!(seen, sizes.len());
            let at = at.index(whole.len());
            let mut bytes = whole.clone();
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            match read_header(&bytes, Rank(1), 4) {
                None => prop_assert!(at < begin),
                Some((_, begin)) => {
                    prop_assert!(scan(&bytes, begin, 5, |_| seen -= 1) <= at);
                    prop_assert!(seen > 0);
                }
            }
        }

        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_header(&bytes, Rank(0), 0);
            scan(&bytes, 0, 1, |_| {});
        }
    }
}
