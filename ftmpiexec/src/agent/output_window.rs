//! How much output of the ranks may be on its way to the launcher, and how much has left.

use crate::agent_protocol::OUTPUT_WINDOW_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

/// Bytes of a rank's output and error that have left this agent, over all incarnations.
#[derive(Debug, Clone, Default)]
pub struct Forwarded(Arc<[AtomicU64; 2]>);

impl Forwarded {
    /// Bytes of one stream.
    pub fn get(&self, stream: usize) -> u64 {
        self.0[stream].load(Ordering::SeqCst)
    }

    /// Bytes of output and of error.
    pub fn both(&self) -> [u64; 2] {
        [self.get(0), self.get(1)]
    }

    /// A stream has left up to this position; its position before.
    pub fn advance(&self, stream: usize, end: u64) -> u64 {
        self.0[stream].fetch_max(end, Ordering::SeqCst)
    }

    /// Both streams have left up to these positions.
    pub fn advance_both(&self, ends: [u64; 2]) {
        for (stream, end) in ends.into_iter().enumerate() {
            self.advance(stream, end);
        }
    }
}

/// Room for output on the way to the launcher. Clones share the room.
#[derive(Debug, Clone)]
pub struct Window(Arc<Semaphore>);

impl Window {
    /// All room is free.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(OUTPUT_WINDOW_BYTES)))
    }

    /// Waits for room; dropping the permit gives the room back.
    ///
    /// # Errors
    /// The window was closed.
    pub async fn room(&self, bytes: usize) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.0.acquire_many(bytes as u32).await
    }

    /// So many bytes are on their way.
    pub fn sent(&self, bytes: usize) {
        self.0.forget_permits(bytes);
    }

    /// The launcher has printed so many bytes; it cannot print more than it was sent.
    pub fn printed(&self, bytes: u32) {
        let missing = OUTPUT_WINDOW_BYTES.saturating_sub(self.0.available_permits());
        self.0.add_permits((bytes as usize).min(missing));
    }
}
