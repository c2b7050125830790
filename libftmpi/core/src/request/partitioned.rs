//! What is kept of partitioned communication (MPI-4.1, 4.2), and the header of its pieces. The
//! calls are in `mpi::partitioned`.

use crate::collective::Piece;
use crate::comm::Members;
use crate::engine::{Engine, Link};
use crate::error::ErrorClass;
use crate::ids::ReqId;
use crate::usermem::Scratch;
use ftmpi_wire::Rank;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The tag of all pieces: that of no collective operation and no agreement.
pub(crate) const TAG: i32 = -1;
pub(crate) const HEADER: usize = 32;

/// The subject of a partitioned request, the same at every start.
#[derive(Clone)]
pub struct Parts {
    pub(crate) data: Piece,
    pub(crate) partitions: usize,
    /// `None`: `MPI_PROC_NULL`.
    pub(crate) channel: Option<Channel>,
    pub(crate) members: Rc<Members>,
    /// Starts so far; shared by the copies.
    pub(crate) rounds: Rc<Cell<u32>>,
}

impl Parts {
    pub(crate) fn part(&self) -> u64 {
        self.data.len() as u64 / self.partitions.max(1) as u64
    }
}

/// One pair of inits, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Channel {
    pub(crate) context: u32,
    pub(crate) peer: Rank,
    pub(crate) tag: i32,
    /// The how many-th init of these.
    pub(crate) nth: u32,
}

/// A started send.
pub struct PartitionedSend {
    pub(crate) parts: Parts,
    pub(crate) round: u32,
    pub(crate) ready: Vec<bool>,
    pub(crate) left: usize,
    pub(crate) pending: Vec<(ReqId, Scratch)>,
    pub(crate) error: Option<ErrorClass>,
}

impl PartitionedSend {
    /// All parts are ready and out.
    pub(crate) fn is_done<L: Link>(&self, engine: &Engine<L>) -> bool {
        self.left == 0 && self.pending.iter().all(|(id, _)| engine.is_done(*id))
    }
}

/// A started receive.
pub struct PartitionedRecv {
    pub(crate) parts: Parts,
    pub(crate) round: u32,
    /// Bytes that are there of each part.
    pub(crate) there: Vec<u64>,
    /// Bytes that came, and how many the sender says that there are.
    pub(crate) came: u64,
    pub(crate) expected: Option<u64>,
    /// The sender has died, or the communicator was revoked.
    pub(crate) error: Option<ErrorClass>,
}

impl PartitionedRecv {
    /// Everything is there.
    pub(crate) fn is_done(&self) -> bool {
        self.parts.channel.is_none() || self.error.is_some() || self.expected == Some(self.came)
    }

    pub(crate) fn has(&self, part: usize) -> bool {
        self.is_done() || (self.parts.part() > 0 && self.there[part] == self.parts.part())
    }

    pub(crate) fn take(&mut self, header: &Header, payload: &[u8]) {
        self.expected = Some(header.total);
        self.came += payload.len() as u64;
        let room = (self.parts.data.len() as u64).saturating_sub(header.offset);
        let payload = &payload[..payload.len().min(room as usize)];
        let data = &self.parts.data;
        match &data.datatype {
            None => data.at.offset(header.offset as i64).write(payload),
            Some(datatype) => {
                datatype.unpack(data.at, data.count as u64, header.offset, payload);
            }
        }
        let (part, end) = (self.parts.part(), header.offset + payload.len() as u64);
        let mut from = header.offset;
        while from < end {
            let index = (from / part) as usize;
            let to = end.min((index as u64 + 1) * part);
            self.there[index] += to - from;
            from = to;
        }
    }
}

/// The begin of every piece.
pub(crate) struct Header {
    pub(crate) tag: i32,
    pub(crate) nth: u32,
    pub(crate) round: u32,
    pub(crate) offset: u64,
    pub(crate) total: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..4].copy_from_slice(&self.tag.to_le_bytes());
        out[4..8].copy_from_slice(&self.nth.to_le_bytes());
        out[8..12].copy_from_slice(&self.round.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..].copy_from_slice(&self.total.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, payload) = bytes.split_first_chunk::<HEADER>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let wide = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let header = Self {
            tag: word(0) as i32,
            nth: word(4),
            round: word(8),
            offset: wide(16),
            total: wide(24),
        };
        (header.offset.checked_add(payload.len() as u64)? <= header.total)
            .then_some((header, payload))
    }
}

/// The receive that takes the next piece of one rank on one communicator.
pub(crate) struct Stream {
    pub(crate) request: ReqId,
    pub(crate) buffer: Scratch,
}

/// Partitioned communication of this rank.
#[derive(Default)]
pub(crate) struct Partitions {
    /// Inits so far, of sends and of receives.
    pub(crate) inits: BTreeMap<(bool, u32, Rank, i32), u32>,
    /// Slots of receives that are not complete.
    pub(crate) receiving: Vec<u32>,
    pub(crate) streams: BTreeMap<(u32, Rank), Stream>,
    /// Pieces of receives that are not started yet.
    pub(crate) early: BTreeMap<Channel, VecDeque<Box<[u8]>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_lies_are_refused() {
        let header = Header { tag: 7, nth: 3, round: 9, offset: 1 << 40, total: (1 << 40) + 5 };
        let mut piece = header.encode().to_vec();
        piece.extend(b"hello");
        let (found, payload) = Header::decode(&piece).unwrap();
        assert_eq!((found.tag, found.nth, found.round), (7, 3, 9));
        assert_eq!((found.offset, found.total, payload), (1 << 40, (1 << 40) + 5, &b"hello"[..]));
        piece.push(b'!');
        assert!(Header::decode(&piece).is_none(), "more bytes than there are in all");
        assert!(Header::decode(&piece[..HEADER - 1]).is_none());
    }
}
