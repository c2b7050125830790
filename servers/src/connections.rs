//! Connections of callers that are not known: a bounded number of them at a time.
//!
//! Guarantees: at most so many connections of one listener are open as the listener allows. When
//! there are more callers, the connection that has been open longest ends. A process that is out of
//! descriptors goes on to listen.

use crate::tuning::connection::ACCEPT_PAUSE;
use std::collections::VecDeque;
use std::io;
use tokio::task::AbortHandle;

/// The tasks that serve the connections of one listener.
#[derive(Debug)]
pub struct Connections {
    /// Oldest first.
    open: VecDeque<AbortHandle>,
    most: usize,
}

impl Connections {
    /// At most so many connections.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { open: VecDeque::new(), most: most.max(1) }
    }

    /// Takes the outcome of an accept. `None`: the caller has gone, or no descriptors are left.
    /// Then a place is given back, after a pause.
    pub async fn accepted<T>(&mut self, caller: io::Result<T>) -> Option<T> {
        if let Ok(caller) = caller {
            return Some(caller);
        }
        self.end_oldest(1);
        tokio::time::sleep(ACCEPT_PAUSE).await;
        None
    }

    /// Serves a caller. Where all places are taken, the oldest connection ends.
    pub fn spawn(&mut self, serving: impl Future<Output = ()> + Send + 'static) {
        self.open.retain(|task| !task.is_finished());
        self.end_oldest((self.open.len() + 1).saturating_sub(self.most));
        self.open.push_back(tokio::spawn(serving).abort_handle());
    }

    fn end_oldest(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(oldest) = self.open.pop_front() {
                oldest.abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn the_oldest_connection_makes_room_for_the_newest() {
        let open = Arc::new(AtomicUsize::new(0));
        struct Place(Arc<AtomicUsize>);
        impl Drop for Place {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let mut connections = Connections::new(3);
        for _ in 0..10 {
            open.fetch_add(1, Ordering::SeqCst);
            let place = Place(open.clone());
            connections.spawn(async move {
                let _place = place;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert!(open.load(Ordering::SeqCst) <= 3 + 1);
        }
        // A process without descriptors goes on to listen, and gives a place back.
        let none: Option<()> = connections.accepted(Err(io::Error::from_raw_os_error(24))).await;
        assert_eq!((none, open.load(Ordering::SeqCst)), (None, 2));
        assert_eq!(connections.accepted(Ok(7)).await, Some(7));
    }
}
