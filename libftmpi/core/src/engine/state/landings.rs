//! Where payloads land that have no buffer of the program yet. Also: which messages are awaited at
//! a place that is known before their payload comes.

use super::super::link::{Landing, Token};
use super::super::tuning::{BUFFER_BYTES_MAX, BUFFERS_MAX, TOO_LONG_MAX};
use crate::ids::{MessageId, ReqId};
use crate::room;
use crate::usermem::UserPtr;
use ftmpi_wire::{Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

/// Where a message that was announced before is to land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// In the buffer of this receive.
    By(ReqId),
    /// In a buffer of the engine, for this unexpected message.
    Waiting(MessageId),
}

/// A message that did not fit into its receive.
#[derive(Debug)]
struct TooLong {
    tag: i32,
    /// Bytes of the receive, and of the message.
    fits: u64,
    len: u64,
}

/// Landing places.
#[derive(Debug, Default)]
pub(crate) struct Landings {
    awaited: BTreeMap<(Rank, Ssn), Awaited>,
    buffers: Vec<Vec<u8>>,
    trash: Vec<u8>,
    too_long: VecDeque<TooLong>,
}

impl Landings {
    /// Whether any message is awaited at a known place.
    #[inline]
    pub fn await_any(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// The message lands there when it comes.
    pub fn await_at(&mut self, from: Rank, ssn: Ssn, awaited: Awaited) {
        self.awaited.insert((from, ssn), awaited);
    }

    /// Where the message is to land, if that is known.
    #[inline]
    pub fn awaited(&self, from: Rank, ssn: Ssn) -> Option<Awaited> {
        if self.awaited.is_empty() { None } else { self.awaited.get(&(from, ssn)).copied() }
    }

    /// The message is landing.
    pub fn is_landing(&mut self, from: Rank, ssn: Ssn) {
        self.awaited.remove(&(from, ssn));
    }

    /// The unexpected message is awaited by a receive now.
    pub fn is_matched(&mut self, id: MessageId) {
        self.awaited.retain(|_, awaited| *awaited != Awaited::Waiting(id));
    }

    /// Nothing comes from this rank any more; gives what was awaited.
    pub fn forget_from(&mut self, rank: Rank) -> Vec<Awaited> {
        let all = (rank, Ssn(0))..=(rank, Ssn(u64::MAX));
        let keys: Vec<_> = self.awaited.range(all).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.awaited.remove(&key)).collect()
    }

    /// A buffer of `len` bytes or more; `None`: there is no memory for it.
    #[inline]
    pub fn buffer(&mut self, len: usize) -> Option<Vec<u8>> {
        let mut buffer = if len <= BUFFER_BYTES_MAX {
            self.buffers.pop().unwrap_or_default()
        } else {
            Vec::new()
        };
        // A longer buffer keeps its length: to fill it with zeroes would cost as much as a copy.
        (buffer.len() >= len || room::grow(&mut buffer, len as u64)).then_some(buffer)
    }

    /// The buffer is free again.
    #[inline]
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < BUFFERS_MAX && buffer.capacity() <= BUFFER_BYTES_MAX {
            self.buffers.push(buffer);
        }
    }

    /// The landing place for a frame that nobody wants.
    #[inline]
    pub fn discard(&mut self) -> Landing {
        Landing { at: UserPtr::own(&self.trash), capacity: 0, token: Token::Discard }
    }

    /// Remembers a message that did not fit, for the text of the error.
    pub fn remember_too_long(&mut self, tag: i32, fits: u64, len: u64) {
        if self.too_long.len() == TOO_LONG_MAX {
            self.too_long.pop_front();
        }
        self.too_long.push_back(TooLong { tag, fits, len });
    }

    /// Bytes of a message with this tag that did not fit into a receive of `fits` bytes. `None` if
    /// the message is forgotten, or may be one of several.
    pub fn take_length_of_too_long(&mut self, tag: i32, fits: u64) -> Option<u64> {
        let mut lens =
            self.too_long.iter().filter(|m| (m.tag, m.fits) == (tag, fits)).map(|m| m.len);
        let first = lens.next()?;
        let same = lens.all(|len| len == first);
        self.too_long.retain(|m| (m.tag, m.fits) != (tag, fits));
        same.then_some(first)
    }
}
