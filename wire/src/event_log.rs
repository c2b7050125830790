//! Frames between a rank and an event logger, after the [`hello`](crate::hello).
//!
//! A frame is `[u32 body length][u32 crc32c of the body][body]`, little-endian; a body is
//! `[u8 kind][7 zero bytes][u64 a][u64 b][records]`. Records are determinants, or pairs of rank and
//! event number in [`Frame::Stable`].

use crate::{DecodeError, Determinant, EventNo, Rank};

/// Bytes before the body.
pub const PREFIX_BYTES: usize = 8;
/// Bytes of a body without records.
pub const BODY_BYTES_MIN: usize = 24;
/// Records in one frame at the most.
pub const RECORDS_MAX: usize = 4096;
/// Bytes of a body at the most.
pub const BODY_BYTES_MAX: usize = BODY_BYTES_MIN + RECORDS_MAX * Determinant::BYTES;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Rank: store these; the first has number `first`. Numbers are contiguous over frames. Without
    /// records it asks for an acknowledgement.
    Append {
        /// Number of the first record.
        first: EventNo,
        /// The rank's own event number after these records, by which its peers name its events.
        /// Where logs hold nothing but own events it is the number of the last record.
        clock: EventNo,
        /// The determinants.
        records: Vec<Determinant>,
    },
    /// Rank: everything before this number is no longer needed.
    Prune {
        /// First event still needed.
        below: EventNo,
    },
    /// Rank: send me what is stored, from this number on.
    Fetch {
        /// First event wanted.
        from: EventNo,
    },
    /// Logger: stored up to these numbers.
    Ack {
        /// Written to the logger's file: survives the death of a process.
        written: EventNo,
        /// On stable storage: survives the loss of power.
        durable: EventNo,
    },
    /// Logger, in answer to a fetch; several may come.
    Events {
        /// Number of the first record.
        first: EventNo,
        /// The determinants.
        records: Vec<Determinant>,
    },
    /// Logger: that was all; the next event to append has this number.
    End {
        /// Number of the next event.
        next: EventNo,
    },
    /// Logger: this incarnation is not (or no longer) the living one; the connection ends.
    Refused,
    /// Rank: send with every acknowledgement what is stable of others.
    Watch,
    /// Logger, to a rank on its host: append to the event ring that process `process` has open as
    /// `descriptor`. What is in the ring is stored, without an acknowledgement.
    EventRing {
        /// Process of the logger.
        process: u32,
        /// Its descriptor of the ring's file.
        descriptor: u32,
        /// Stands in the file too, so that no other file of that name is taken for the ring.
        cookie: u64,
    },
    /// Rank: the ring fills up; look into it.
    LookIntoRing,
    /// Logger: own event numbers up to which the events of these ranks are stored; only what has
    /// changed.
    Stable {
        /// Rank and number.
        clocks: Vec<(Rank, EventNo)>,
    },
}

/// Bytes of one entry of [`Frame::Stable`].
const CLOCK_BYTES: usize = 16;
/// Entries of a [`Frame::Stable`] at the most: the sender splits.
pub const CLOCKS_MAX: usize = RECORDS_MAX * Determinant::BYTES / CLOCK_BYTES;

impl Frame {
    /// Appends the whole frame, prefix included.
    ///
    /// # Panics
    /// With more than [`RECORDS_MAX`] records: the caller splits.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let none: &[Determinant] = &[];
        let (kind, a, b, records) = match self {
            Self::Append { first, clock, records } => (1u8, first.0, clock.0, records.as_slice()),
            Self::Prune { below } => (2, below.0, 0, none),
            Self::Fetch { from } => (3, from.0, 0, none),
            Self::Ack { written, durable } => (4, written.0, durable.0, none),
            Self::Events { first, records } => (5, first.0, 0, records.as_slice()),
            Self::End { next } => (6, next.0, 0, none),
            Self::Refused => (7, 0, 0, none),
            Self::Watch => (8, 0, 0, none),
            Self::Stable { .. } => (9, 0, 0, none),
            Self::EventRing { process, descriptor, cookie } => {
                (10, u64::from(*process) << 32 | u64::from(*descriptor), *cookie, none)
            }
            Self::LookIntoRing => (11, 0, 0, none),
        };
        assert!(records.len() <= RECORDS_MAX, "a frame holds at most {RECORDS_MAX} determinants");
        let start = out.len();
        out.extend_from_slice(&[0; PREFIX_BYTES]);
        out.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&a.to_le_bytes());
        out.extend_from_slice(&b.to_le_bytes());
        for record in records {
            out.extend_from_slice(&record.encode());
        }
        if let Self::Stable { clocks } = self {
            assert!(clocks.len() <= CLOCKS_MAX, "a frame tells at most {CLOCKS_MAX} clocks");
            for (rank, clock) in clocks {
                out.extend_from_slice(&u64::from(rank.0).to_le_bytes());
                out.extend_from_slice(&clock.0.to_le_bytes());
            }
        }
        let body = &out[start + PREFIX_BYTES..];
        let (len, crc) = (body.len() as u32, crc32c::crc32c(body));
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Takes the first frame off `bytes`: `None` if it is not whole yet, else the frame and the
    /// number of bytes that it took.
    ///
    /// # Errors
    /// A length out of bounds, a wrong checksum, an unknown kind, a malformed record.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, DecodeError> {
        const WHAT: &str = "event-log frame";
        if bytes.len() < PREFIX_BYTES {
            return Ok(None);
        }
        let len = u32::from_le_bytes(bytes[0..4].try_into().expect("4 bytes")) as usize;
        if !(BODY_BYTES_MIN..=BODY_BYTES_MAX).contains(&len) {
            return Err(DecodeError::new(WHAT, "length out of bounds"));
        }
        let Some(body) = bytes.get(PREFIX_BYTES..PREFIX_BYTES + len) else { return Ok(None) };
        let crc = u32::from_le_bytes(bytes[4..8].try_into().expect("4 bytes"));
        if crc32c::crc32c(body) != crc {
            return Err(DecodeError::new(WHAT, "checksum does not match"));
        }
        let a = u64::from_le_bytes(body[8..16].try_into().expect("8 bytes"));
        let b = u64::from_le_bytes(body[16..24].try_into().expect("8 bytes"));
        let records = || {
            let tail = &body[BODY_BYTES_MIN..];
            if tail.len() % Determinant::BYTES != 0 {
                return Err(DecodeError::new(WHAT, "not a whole number of records"));
            }
            tail.chunks_exact(Determinant::BYTES).map(Determinant::decode).collect()
        };
        let frame = match body[0] {
            1 => Self::Append { first: EventNo(a), clock: EventNo(b), records: records()? },
            2 => Self::Prune { below: EventNo(a) },
            3 => Self::Fetch { from: EventNo(a) },
            4 => Self::Ack { written: EventNo(a), durable: EventNo(b) },
            5 => Self::Events { first: EventNo(a), records: records()? },
            6 => Self::End { next: EventNo(a) },
            7 => Self::Refused,
            8 => Self::Watch,
            9 => Self::Stable { clocks: clocks(&body[BODY_BYTES_MIN..])? },
            10 => Self::EventRing { process: (a >> 32) as u32, descriptor: a as u32, cookie: b },
            11 => Self::LookIntoRing,
            _ => return Err(DecodeError::new(WHAT, "unknown kind")),
        };
        Ok(Some((frame, PREFIX_BYTES + len)))
    }
}

fn clocks(tail: &[u8]) -> Result<Vec<(Rank, EventNo)>, DecodeError> {
    if !tail.len().is_multiple_of(CLOCK_BYTES) {
        return Err(DecodeError::new("event-log frame", "not a whole number of clocks"));
    }
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    tail.chunks_exact(CLOCK_BYTES)
        .map(|entry| {
            let rank = u32::try_from(word(&entry[..8]))
                .map_err(|_| DecodeError::new("event-log frame", "no number of a rank"))?;
            Ok((Rank(rank), EventNo(word(&entry[8..]))))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Incarnation, Rank, Ssn};
    use proptest::prelude::*;

    #[test]
    fn frames_survive_their_encoding_and_come_off_a_stream_one_by_one() {
        let frames = [
            Frame::Append {
                first: EventNo(7),
                clock: EventNo(5),
                records: vec![
                    Determinant::Match { fails: 0, post: 3, source: Rank(2), ssn: Ssn(9) },
                    Determinant::Clock { fails: 4, bits: 0.5f64.to_bits() },
                    Determinant::Witness { creator: Rank(3), count: 2, first: EventNo(9) },
                    Determinant::Depends {
                        rank: Rank(1),
                        incarnation: Incarnation(2),
                        place: EventNo(77),
                    },
                    Determinant::Begins { incarnation: Incarnation(3), after: EventNo(6) },
                ],
            },
            Frame::Ack { written: EventNo(8), durable: EventNo(6) },
            Frame::Refused,
            Frame::Watch,
            Frame::EventRing { process: 7, descriptor: 9, cookie: 1 << 63 | 5 },
            Frame::LookIntoRing,
            Frame::Stable { clocks: vec![(Rank(4), EventNo(1 << 40)), (Rank(0), EventNo(1))] },
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|f| f.encode(&mut bytes));
        let mut rest = bytes.as_slice();
        for frame in &frames {
            assert_eq!(Frame::decode(&rest[..PREFIX_BYTES + 3]), Ok(None));
            let (got, taken) = Frame::decode(rest).unwrap().unwrap();
            assert_eq!(&got, frame);
            rest = &rest[taken..];
        }
        assert!(rest.is_empty());
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_refused_or_incomplete(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Frame::decode(&bytes);
        }

        #[test]
        fn a_flipped_bit_is_noticed(at in 0usize..24 * 8) {
            let mut bytes = Vec::new();
            Frame::Ack { written: EventNo(5), durable: EventNo(4) }.encode(&mut bytes);
            bytes[PREFIX_BYTES + at / 8] ^= 1 << (at % 8);
            prop_assert!(Frame::decode(&bytes).is_err());
        }
    }
}
