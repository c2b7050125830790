//! The format of one segment of a rank's event log.
//!
//! ```text
//! header (32)  magic "FTMPIEVT" | version u32 | rank u32 | first event u64 | 0 u32 | crc32c u32
//! batch (32+)  magic u32 | records u32 | first event u64 | incarnation u32 | crc32c of records u32
//!              | 0 u32 | crc32c of these 28 bytes u32 | records, 32 bytes each
//! ```
//! All numbers are little-endian. A segment only grows. A batch without records says that its
//! incarnation runs.
//!
//! Guarantees: a scan of any bytes finds the complete batches of the sound beginning. It says how
//! the segment ends: *clean*; *torn*, by a write that never completed and that nobody has heard of;
//! or *damaged*.

use ftmpi_wire::event_log::RECORDS_MAX;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};

pub const HEADER_BYTES: usize = 32;
pub const BATCH_BYTES: usize = 32;
/// Records in one batch at most.
pub const BATCH_RECORDS_MAX: usize = 4 * RECORDS_MAX;

const MAGIC: [u8; 8] = *b"FTMPIEVT";
const VERSION: u32 = 1;
const BATCH_MAGIC: u32 = 0x4348_5442;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn sealed(mut bytes: [u8; 32]) -> [u8; 32] {
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The header of a segment that begins with this event.
pub fn header(rank: Rank, first: EventNo) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&rank.0.to_le_bytes());
    out[16..24].copy_from_slice(&first.0.to_le_bytes());
    sealed(out)
}

/// Why a segment's header is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The first bytes are not those of an event log.
    #[error("it does not begin like an event log")]
    NotALog,
    /// Another version of ftmpi wrote the log.
    #[error("format {0} is unknown here (this is {VERSION})")]
    Version(u32),
    /// The checksum is wrong.
    #[error("checksum of its header")]
    Checksum,
    /// The file has the name of another segment.
    #[error("it belongs to another rank or place")]
    OtherLog,
}

/// Checks that these bytes begin with the header of that segment. The error says what is wrong.
pub fn check_header(bytes: &[u8], rank: Rank, first: EventNo) -> Result<(), HeaderError> {
    if bytes.len() < HEADER_BYTES || bytes[..8] != MAGIC {
        return Err(HeaderError::NotALog);
    }
    if u32_at(bytes, 8) != VERSION {
        return Err(HeaderError::Version(u32_at(bytes, 8)));
    }
    if crc32c::crc32c(&bytes[..28]) != u32_at(bytes, 28) {
        return Err(HeaderError::Checksum);
    }
    if u32_at(bytes, 12) != rank.0 || u64_at(bytes, 16) != first.0 {
        return Err(HeaderError::OtherLog);
    }
    Ok(())
}

/// Whether a segment that begins with this event has a damaged header, and sound batches behind it.
pub fn only_header_is_damaged(bytes: &[u8], first: EventNo) -> bool {
    bytes.len() > HEADER_BYTES
        && crc32c::crc32c(&bytes[..28]) != u32_at(bytes, 28)
        && scan(bytes, first, |_, _| {}).0 > HEADER_BYTES
}

/// The header of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    pub first: EventNo,
    pub records: usize,
    pub incarnation: Incarnation,
    crc: u32,
}

impl Batch {
    /// Number after the last event of the batch.
    pub fn next(&self) -> EventNo {
        EventNo(self.first.0.saturating_add(self.records as u64))
    }

    /// Bytes of the records.
    pub fn payload_bytes(&self) -> usize {
        self.records * Determinant::BYTES
    }

    /// The header of a batch of these encoded records.
    pub fn describe(first: EventNo, incarnation: Incarnation, payload: &[u8]) -> Self {
        let records = payload.len() / Determinant::BYTES;
        Self { first, records, incarnation, crc: crc32c::crc32c(payload) }
    }

    pub fn encode(&self) -> [u8; BATCH_BYTES] {
        let mut out = [0; BATCH_BYTES];
        out[..4].copy_from_slice(&BATCH_MAGIC.to_le_bytes());
        out[4..8].copy_from_slice(&(self.records as u32).to_le_bytes());
        out[8..16].copy_from_slice(&self.first.0.to_le_bytes());
        out[16..20].copy_from_slice(&self.incarnation.0.to_le_bytes());
        out[20..24].copy_from_slice(&self.crc.to_le_bytes());
        sealed(out)
    }

    /// `None`: these 32 bytes are not the header of a batch.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let records = u32_at(bytes, 4) as usize;
        let sound = u32_at(bytes, 0) == BATCH_MAGIC
            && records <= BATCH_RECORDS_MAX
            && crc32c::crc32c(&bytes[..28]) == u32_at(bytes, 28);
        sound.then(|| Self {
            first: EventNo(u64_at(bytes, 8)),
            records,
            incarnation: Incarnation(u32_at(bytes, 16)),
            crc: u32_at(bytes, 20),
        })
    }

    /// Whether these are the records of the batch.
    pub fn matches(&self, payload: &[u8]) -> bool {
        payload.len() == self.payload_bytes() && crc32c::crc32c(payload) == self.crc
    }
}

/// How a segment ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The segment ends with a complete batch.
    Clean,
    /// The segment ends in a write that never completed.
    Torn,
    /// The segment is damaged: where, and how.
    Damaged(String),
}

/// Walks the batches after the header of a segment. `each` gets every sound batch with its offset.
/// Returns the end of the sound part, the number of the next event, and how the segment ends.
pub fn scan(bytes: &[u8], first: EventNo, each: impl FnMut(Batch, usize)) -> (usize, EventNo, End) {
    scan_from(bytes, (HEADER_BYTES, first), each)
}

/// The part behind damage at byte `at` that is sound to the end of the segment: where it begins,
/// and with which event.
pub fn sound_end(bytes: &[u8], at: usize) -> Option<(usize, EventNo)> {
    // All parts of a segment are multiples of 32 bytes long.
    let mut at = at.next_multiple_of(BATCH_BYTES) + BATCH_BYTES;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() > BATCH_BYTES) {
        let batch = Batch::decode(rest).filter(|batch| {
            let payload = rest.get(BATCH_BYTES..BATCH_BYTES + batch.payload_bytes());
            batch.records > 0 && payload.is_some_and(|payload| batch.matches(payload))
        });
        let Some(batch) = batch else {
            at += BATCH_BYTES;
            continue;
        };
        match scan_from(bytes, (at, batch.first), |_, _| {}) {
            (sound, _, End::Damaged(_)) => at = sound + BATCH_BYTES,
            _ => return Some((at, batch.first)),
        }
    }
    None
}

/// The same from byte `at` on, where event `next` is.
pub fn scan_from(
    bytes: &[u8],
    (mut at, mut next): (usize, EventNo),
    mut each: impl FnMut(Batch, usize),
) -> (usize, EventNo, End) {
    loop {
        let rest = &bytes[at.min(bytes.len())..];
        if rest.is_empty() {
            return (at, next, End::Clean);
        }
        if rest.len() < BATCH_BYTES {
            return (at, next, End::Torn);
        }
        let Some(batch) = Batch::decode(rest) else {
            // After a loss of power a file may be longer without the data having arrived.
            if rest.iter().all(|b| *b == 0) {
                return (at, next, End::Torn);
            }
            return (at, next, End::Damaged(format!("no batch of events at byte {at}")));
        };
        if batch.first != next {
            let what = format!("events from {} at byte {at} instead of {next}", batch.first);
            return (at, next, End::Damaged(what));
        }
        let Some(payload) = rest.get(BATCH_BYTES..BATCH_BYTES + batch.payload_bytes()) else {
            return (at, next, End::Torn);
        };
        if !batch.matches(payload) {
            let what = format!("checksum of events {next} to before {} at byte {at}", batch.next());
            return (at, next, End::Damaged(what));
        }
        each(batch, at);
        at += BATCH_BYTES + batch.payload_bytes();
        next = batch.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(batches: &[usize]) -> Vec<u8> {
        let mut bytes = header(Rank(1), EventNo(5)).to_vec();
        let mut next = 5;
        for records in batches {
            let payload: Vec<u8> = (next..next + *records as u64)
                .flat_map(|n| Determinant::Clock { fails: 0, bits: n }.encode())
                .collect();
            let batch = Batch::describe(EventNo(next), Incarnation(0), &payload);
            bytes.extend_from_slice(&batch.encode());
            bytes.extend_from_slice(&payload);
            next += *records as u64;
        }
        bytes
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_torn_and_the_whole_batches_are_there(
            batches in proptest::collection::vec(0usize..4, 0..5), cut in any::<prop::sample::Index>(),
        ) {
            let bytes = segment(&batches);
            let cut = HEADER_BYTES + cut.index(bytes.len() + 1 - HEADER_BYTES);
            let mut seen = 0;
            let (at, _, end) = scan(&bytes[..cut], EventNo(5), |_, _| seen += 1);
            prop_assert!(at <= cut);
            prop_assert_eq!(end, if at == cut { End::Clean } else { End::Torn });
            let (_, _, again) = scan(&bytes[..at], EventNo(5), |_, _| seen -= 1);
            prop_assert_eq!((again, seen), (End::Clean, 0));
        }

        #[test]
        fn a_flipped_bit_is_damage_and_what_lies_before_it_is_kept(
            batches in proptest::collection::vec(0usize..4, 1..5), at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let mut bytes = segment(&batches);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if at < HEADER_BYTES {
                prop_assert!(check_header(&bytes, Rank(1), EventNo(5)).is_err());
            } else {
                let (sound, _, end) = scan(&bytes, EventNo(5), |_, _| {});
                prop_assert!(sound <= at);
                prop_assert!(matches!(end, End::Damaged(_)), "{end:?}");
            }
        }

        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = check_header(&bytes, Rank(0), EventNo(1));
            scan(&bytes, EventNo(1), |_, _| {});
            let mut all = header(Rank(1), EventNo(5)).to_vec();
            all.extend(bytes);
            scan(&all, EventNo(5), |_, _| {});
        }
    }
}
