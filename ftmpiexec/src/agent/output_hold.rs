//! Text that is not final yet (`--output committed`).
//!
//! A program may print what it saw before that is stable; if its rank dies then, the next life may
//! see, and print, something else. With `committed` the agent holds a rank's text until nothing can
//! make it untrue: an image that was taken after it is durable, or the rank says that all its events
//! up to then are stable (asked by [`ToRank::Settle`](ftmpi_wire::control::ToRank::Settle), which
//! also reaches a program that computes or is blocked in its write). Text of a life that dies before
//! is dropped: the next life writes it again, or something better.
//!
//! Guarantees: order within a stream; nothing is released twice over all lives; what is held is
//! bounded as long as the rank can be asked.

use super::output::{Forwarded, Window};
use crate::agent_protocol::FromAgent;
use ftmpi_wire::Rank;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use tokio::sync::{Notify, mpsc};

/// A stream is not read on while so much of it is held.
const HELD_BYTES_MAX: usize = 8 << 20;

/// Pieces with their places, in order.
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

    /// What lies before this place.
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

/// The held text of one life.
#[derive(Debug)]
pub struct OutputHold {
    rank: Rank,
    forwarded: Forwarded,
    link: mpsc::UnboundedSender<FromAgent>,
    window: Window,
    streams: Mutex<[HeldText; 2]>,
    room: Notify,
}

impl OutputHold {
    /// Nothing is held yet.
    pub fn new(
        rank: Rank,
        forwarded: Forwarded,
        link: mpsc::UnboundedSender<FromAgent>,
        window: Window,
    ) -> Self {
        let streams = Mutex::default();
        Self { rank, forwarded, link, window, streams, room: Notify::new() }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, [HeldText; 2]> {
        self.streams.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Keeps text; what an earlier life delivered is dropped at once. `true`: something is held.
    pub fn push(&self, stream: u8, offset: u64, mut bytes: Vec<u8>) -> bool {
        let delivered = self.forwarded[usize::from(stream)].load(Ordering::SeqCst);
        let skip = delivered.saturating_sub(offset).min(bytes.len() as u64);
        bytes.drain(..skip as usize);
        if bytes.is_empty() {
            return false;
        }
        self.streams()[usize::from(stream)].push(offset + skip, bytes);
        true
    }

    /// Whether anything waits.
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

    /// Everything before these places is final.
    pub fn release(&self, ends: [u64; 2]) {
        for (stream, end) in ends.into_iter().enumerate() {
            let pieces = self.streams()[stream].take(end);
            for (offset, bytes) in pieces {
                let end = offset + bytes.len() as u64;
                self.forwarded[stream].fetch_max(end, Ordering::SeqCst);
                self.window.sent(bytes.len());
                let (rank, stream) = (self.rank, stream as u8);
                let _ = self.link.send(FromAgent::Output { rank, stream, offset, bytes });
            }
        }
        self.room.notify_waiters();
    }

    /// How far its text reaches, released or not.
    pub fn ends(&self) -> [u64; 2] {
        let streams = self.streams();
        std::array::from_fn(|stream| {
            let held = streams[stream].pieces.back();
            let held = held.map_or(0, |(offset, bytes)| offset + bytes.len() as u64);
            held.max(self.forwarded[stream].load(Ordering::SeqCst))
        })
    }

    /// The life has ended for good: whatever it said stands.
    pub fn release_all(&self) {
        self.release([u64::MAX; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn text_is_released_once_in_order_and_a_dead_life_s_text_never() {
        let forwarded: Forwarded = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let (link, mut out) = mpsc::unbounded_channel();
        let hold = |forwarded: &Forwarded| {
            OutputHold::new(Rank(3), forwarded.clone(), link.clone(), Window::new())
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
        // It dies; the next life begins from an image at place 4 and goes another way.
        let second = hold(&forwarded);
        assert!(!second.push(0, 4, b"two ".to_vec()));
        assert!(second.push(0, 8, b"three FOUR".to_vec()));
        second.release_all();
        assert_eq!(printed(), "ree FOUR");
        assert!(second.is_empty());
    }
}
