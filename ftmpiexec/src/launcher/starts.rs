//! Bounds how many agents and servers of other hosts are being started at the same time
//! (`--launch-at-once`): each is one connection of ssh, and gateways refuse more.
//!
//! Guarantee: a start has one of the places from its begin until it is over. It is over when its
//! [`Underway`] is dropped: the process has connected, or its start has failed or is not wanted any
//! more. Starts that wait get their turn in the order in which they asked.

use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};

/// Why a start ends whose turn has not come.
pub const NOT_STARTED: &str = "it was not started";

/// The places.
#[derive(Debug, Clone)]
pub struct Starts(Arc<Semaphore>);

/// A start that is not over.
#[derive(Debug)]
pub struct Underway(
    #[allow(dead_code, reason = "the other end waits for its drop")] oneshot::Sender<()>,
);

/// The turn of a start.
#[derive(Debug)]
pub struct Turn {
    places: Starts,
    over: oneshot::Receiver<()>,
}

impl Starts {
    /// So many at the same time.
    pub fn new(at_once: u32) -> Self {
        Self(Arc::new(Semaphore::new(at_once as usize)))
    }

    /// A start, which is to wait for its turn.
    pub fn ask(&self) -> (Underway, Turn) {
        let (underway, over) = oneshot::channel();
        (Underway(underway), Turn { places: self.clone(), over })
    }
}

impl Turn {
    /// Waits for a place. `false`: the start is not wanted any more.
    pub async fn comes<T>(self, killed: &mut oneshot::Receiver<T>) -> bool {
        tokio::select! {
            () = self.wait() => true,
            _ = killed => false,
        }
    }

    /// Waits for a place, which the start has until it is over.
    async fn wait(self) {
        let place = self.places.0.acquire_owned().await;
        tokio::spawn(async move {
            let _ = self.over.await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Lets all tasks run until they wait.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn no_more_start_at_the_same_time_than_allowed() {
        let (starts, begun) = (Starts::new(2), Arc::new(Mutex::new(Vec::new())));
        let mut underway = Vec::new();
        for number in 0..5 {
            let (mine, turn) = starts.ask();
            underway.push(Some(mine));
            let begun = begun.clone();
            tokio::spawn(async move {
                turn.wait().await;
                begun.lock().unwrap().push(number);
            });
        }
        let have_begun = || begun.lock().unwrap().clone();
        settle().await;
        assert_eq!(have_begun(), [0, 1], "time alone gives no place back");
        // One has connected.
        underway[1] = None;
        settle().await;
        assert_eq!(have_begun(), [0, 1, 2]);
        // One is given up before its turn: it occupies no place.
        underway[3] = None;
        settle().await;
        assert_eq!(have_begun(), [0, 1, 2]);
        underway[0] = None;
        settle().await;
        assert_eq!(have_begun(), [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_start_that_waits_for_its_turn_can_be_left() {
        let starts = Starts::new(1);
        let (first, turn) = starts.ask();
        turn.wait().await;
        let (second, turn) = starts.ask();
        let (kill, mut killed) = oneshot::channel::<()>();
        let waits = tokio::spawn(async move { turn.comes(&mut killed).await });
        settle().await;
        drop(kill);
        assert!(!waits.await.unwrap());
        drop((first, second));
        let (_third, turn) = starts.ask();
        turn.wait().await;
    }
}
