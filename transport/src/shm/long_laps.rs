//! Laps that are longer than usual, for a few channels of a process.
//!
//! Where the processor has a common cache, a ring that is longer than the nearest caches is quicker
//! ([`ftmpi_copy::ring_bytes`]). Rings of all pairs of many ranks would take too much memory. So a
//! process has a number of bytes for the channels through which most goes: their laps end first.
//!
//! Guarantees: all laps of a process together exceed the usual ones by [`LONG_BYTES`] at most.

use super::tuning::LONG_BYTES;
use std::sync::atomic::{AtomicU64, Ordering};

static GRANTED: AtomicU64 = AtomicU64::new(0);

/// What one channel has of these bytes. They come back with the end of the channel.
#[derive(Debug, Default)]
pub(super) struct LongLap(u64);

impl LongLap {
    /// Whether the channel gets so many bytes more.
    pub(super) fn is_granted(&mut self, bytes: u64) -> bool {
        let fits = |all: u64| all.checked_add(bytes).filter(|&all| all <= LONG_BYTES);
        let granted = GRANTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        self.0 += if granted { bytes } else { 0 };
        granted
    }
}

impl Drop for LongLap {
    fn drop(&mut self) {
        GRANTED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_share_what_a_process_has_and_give_it_back() {
        let mut laps: Vec<LongLap> = Vec::new();
        loop {
            let mut lap = LongLap::default();
            if !lap.is_granted(1 << 20) {
                break;
            }
            laps.push(lap);
        }
        assert!(laps.len() as u64 <= LONG_BYTES >> 20 && !laps.is_empty());
        assert!(!LongLap::default().is_granted(u64::MAX));
        laps.clear();
        assert!(LongLap::default().is_granted(1 << 20));
    }
}
