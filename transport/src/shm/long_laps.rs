//! Laps that are longer than usual, for a few channels of a process.
//!
//! Where the processor has a common cache, a ring that is longer than the nearest caches is quicker
//! ([`ftmpi_copy::ring_bytes`]). Rings of all pairs of many ranks would take too much memory. So a
//! process has a number of bytes for the channels through which most goes: their laps end first.
//!
//! Guarantees: all laps of a process together exceed the usual ones by [`LONG_BYTES`] at most.

use super::tuning::LONG_BYTES;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the channels of this process have.
pub(super) static GRANTED: AtomicU64 = AtomicU64::new(0);

/// What one channel has of these bytes. They come back with the end of the channel.
#[derive(Debug)]
pub(super) struct LongLap {
    bytes: u64,
    /// What all channels have.
    all: &'static AtomicU64,
}

impl LongLap {
    /// A channel that has none of these bytes yet.
    pub(super) fn of(all: &'static AtomicU64) -> Self {
        Self { bytes: 0, all }
    }

    /// Whether the channel gets so many bytes more.
    pub(super) fn is_granted(&mut self, bytes: u64) -> bool {
        let fits = |all: u64| all.checked_add(bytes).filter(|&all| all <= LONG_BYTES);
        let granted = self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        self.bytes += if granted { bytes } else { 0 };
        granted
    }
}

impl Drop for LongLap {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_share_what_a_process_has_and_give_it_back() {
        static ALL: AtomicU64 = AtomicU64::new(0);
        let mut laps: Vec<LongLap> = (0..LONG_BYTES >> 20).map(|_| LongLap::of(&ALL)).collect();
        assert!(laps.iter_mut().all(|lap| lap.is_granted(1 << 20)));
        let mut another = LongLap::of(&ALL);
        assert!(!another.is_granted(1) && !another.is_granted(u64::MAX) && another.is_granted(0));
        drop(laps.pop());
        assert!(another.is_granted(1 << 20) && !another.is_granted(1));
        drop((laps, another));
        assert_eq!(ALL.load(Ordering::Relaxed), 0);
    }
}
