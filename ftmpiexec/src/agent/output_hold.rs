//! Text that is not final yet (`--output committed`).
//!
//! A program may print what it saw before that is stable. If its rank dies then, the next
//! incarnation may see, and print, something else. With `committed` the agent holds a rank's text
//! until the text is final. That is so when a later image is durable, or when the rank answers that
//! all its events up to then are stable. The agent asks by
//! [`ToRank::Settle`](ftmpi_wire::control::ToRank::Settle), which also reaches a program that
//! computes or is blocked in its write. Text of an incarnation that dies before is dropped: the
//! next incarnation writes it again, or writes something else.
//!
//! Guarantees: the order within a stream stays. No text is released twice over all incarnations.
//! The held text is bounded as long as the rank can be asked.

use super::launcher_link::LauncherLink;
use super::output_window::{Forwarded, Window};
use crate::agent_protocol::FromAgent;
use crate::tuning::HELD_BYTES_MAX;
use ftmpi_wire::Rank;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Pieces of one stream with their positions, in order.
#[derive(Debug, Default)]
struct HeldText {
    pieces: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

impl HeldText {
    fn push(&mut self, offset: u64, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.pieces.push_back((offset, bytes));
    }

    /// Takes out what lies before this position.
    fn take(&mut self, end: u64) -> Vec<(u64, Vec<u8>)> {
        let mut taken = Vec::new();
        while let Some((offset, bytes)) = self.pieces.front_mut().filter(|(at, _)| *at < end) {
            let whole = bytes.len() as u64 <= end - *offset;
            let piece = if whole {
                let bytes = std::mem::take(bytes);
                let offset = *offset;
                self.pieces.pop_front();
                (offset, bytes)
            } else {
                let rest = bytes.split_off((end - *offset) as usize);
                let piece = (*offset, std::mem::replace(bytes, rest));
                *offset = end;
                piece
            };
            self.bytes -= piece.1.len();
            taken.push(piece);
        }
        taken
    }
}

/// The held text of one incarnation.
#[derive(Debug)]
pub struct OutputHold {
    rank: Rank,
    forwarded: Forwarded,
    link: LauncherLink,
    window: Window,
    streams: Mutex<[HeldText; 2]>,
    room: Notify,
}

impl OutputHold {
    /// Holds nothing yet.
    pub fn new(rank: Rank, forwarded: Forwarded, link: LauncherLink, window: Window) -> Self {
        let streams = Mutex::default();
        Self { rank, forwarded, link, window, streams, room: Notify::new() }
    }

    fn streams(&self) -> MutexGuard<'_, [HeldText; 2]> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds text, except what an earlier incarnation delivered. `true`: something was added.
    pub fn push(&self, stream: u8, offset: u64, mut bytes: Vec<u8>) -> bool {
        let delivered = self.forwarded.get(usize::from(stream));
        let skip = delivered.saturating_sub(offset).min(bytes.len() as u64);
        bytes.drain(..skip as usize);
        if bytes.is_empty() {
            return false;
        }
        self.streams()[usize::from(stream)].push(offset + skip, bytes);
        true
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.streams().iter().all(|held| held.bytes == 0)
    }

    /// Returns when the stream may be read on.
    pub async fn has_room(&self, stream: u8) {
        loop {
            let room = self.room.notified();
            if self.streams()[usize::from(stream)].bytes < HELD_BYTES_MAX {
                return;
            }
            room.await;
        }
    }

    /// Sends everything before these positions: it is final.
    pub fn release(&self, ends: [u64; 2]) {
        for (stream, end) in ends.into_iter().enumerate() {
            let pieces = self.streams()[stream].take(end);
            for (offset, bytes) in pieces {
                self.forwarded.advance(stream, offset + bytes.len() as u64);
                self.window.sent(bytes.len());
                let (rank, stream) = (self.rank, stream as u8);
                self.link.send(FromAgent::Output { rank, stream, offset, bytes });
            }
        }
        self.room.notify_waiters();
    }

    /// The positions at which the text ends, released or not.
    pub fn ends(&self) -> [u64; 2] {
        let streams = self.streams();
        std::array::from_fn(|stream| {
            let held = streams[stream].pieces.back();
            let held = held.map_or(0, |(offset, bytes)| offset + bytes.len() as u64);
            held.max(self.forwarded.get(stream))
        })
    }

    /// Sends everything: no later incarnation can write something else.
    pub fn release_all(&self) {
        self.release([u64::MAX; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    #[test]
    fn text_is_released_once_in_order_and_text_of_a_dead_incarnation_never() {
        let forwarded = Forwarded::default();
        let (link, mut out) = mpsc::unbounded_channel();
        let hold = |forwarded: &Forwarded| {
            let link = LauncherLink::new(link.clone());
            OutputHold::new(Rank(3), forwarded.clone(), link, Window::new())
        };
        let mut printed = || {
            let mut text = String::new();
            while let Ok(FromAgent::Output { rank, bytes, .. }) = out.try_recv() {
                assert_eq!(rank, Rank(3));
                text += std::str::from_utf8(&bytes).unwrap();
            }
            text
        };
        let first = hold(&forwarded);
        assert!(first.push(0, 0, b"one two ".to_vec()));
        assert!(first.push(0, 8, b"three ".to_vec()));
        assert!(first.push(1, 0, b"oops".to_vec()));
        assert_eq!(printed(), "");
        assert_eq!(first.ends(), [14, 4]);
        first.release([4, 0]);
        assert_eq!(printed(), "one ");
        first.release([10, 0]);
        assert_eq!(printed(), "two th");
        // The rank dies. Its next incarnation begins from an image at position 4 and writes
        // something else.
        let second = hold(&forwarded);
        assert!(!second.push(0, 4, b"two ".to_vec()));
        assert!(second.push(0, 8, b"three FOUR".to_vec()));
        second.release_all();
        assert_eq!(printed(), "ree FOUR");
        assert!(second.is_empty());
    }
}
