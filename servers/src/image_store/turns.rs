//! Turns of work that blocks a thread: file operations, and the lock of the catalogue.
//!
//! Guarantees: at most so many pieces of such work run at the same time, so a wave of many ranks
//! does not need a thread for each of them. Who comes first has the first turn. A piece of work
//! ends by itself: it never waits for another connection.

use crate::tuning::image_store::{
    BLOCKED_THREADS_MAX, BLOCKED_THREADS_MIN, BLOCKED_THREADS_PER_CPU,
};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// The turns of a server.
#[derive(Debug)]
pub(in crate::image_store) struct Turns(Semaphore);

impl Turns {
    /// Turns for this machine.
    pub fn of_this_machine() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let turns = processors.saturating_mul(BLOCKED_THREADS_PER_CPU);
        Self(Semaphore::new(turns.clamp(BLOCKED_THREADS_MIN, BLOCKED_THREADS_MAX)))
    }

    /// Does work that blocks, in its turn.
    pub async fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let _turn = self.0.acquire().await.expect("the turns are never closed");
        block_in_place(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// As many connections as ranks of a large wave.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_connections_need_few_threads() {
        let turns = Arc::new(Turns(Semaphore::new(3)));
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..60)
            .map(|number| {
                let (turns, at_once, most) = (turns.clone(), at_once.clone(), most.clone());
                tokio::spawn(async move {
                    turns
                        .run(|| {
                            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(1));
                            at_once.fetch_sub(1, Ordering::SeqCst);
                            number
                        })
                        .await
                })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), number);
        }
        assert!((2..=3).contains(&most.load(Ordering::SeqCst)), "{most:?} at once");
    }
}
