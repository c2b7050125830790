//! The thread that starts the processes of ranks.
//!
//! Guarantees: the agent goes on to work, and to send heartbeats, while a process is being started,
//! however long that takes: on a busy machine, or with a program on a file server that does not
//! answer. Processes are started one after the other, in the order of their orders. Ranks get the
//! death signal when the thread that started them ends: this thread lives as long as the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// The agent's end of the thread.
#[derive(Debug)]
pub struct Starter<Order> {
    orders: mpsc::Sender<Order>,
    /// Orders whose outcome the agent has not taken yet.
    pending: usize,
    stopped: Arc<AtomicBool>,
}

impl<Order: Send + 'static> Starter<Order> {
    /// Begins the thread, which carries out each order with `start`. After
    /// [`stop`](Self::stop) nothing is started.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn begin(start: impl Fn(Order) + Send + 'static) -> std::io::Result<Self> {
        let (orders, queue) = mpsc::channel::<Order>();
        let stopped = Arc::new(AtomicBool::new(false));
        let over = stopped.clone();
        std::thread::Builder::new().name("starter".into()).spawn(move || {
            for order in queue {
                if !over.load(Ordering::Relaxed) {
                    start(order);
                }
            }
        })?;
        Ok(Self { orders, pending: 0, stopped })
    }

    /// Has a process started.
    pub fn order(&mut self, order: Order) {
        self.pending += 1;
        let _ = self.orders.send(order);
    }

    /// The agent takes the outcome of an order.
    pub fn outcome_taken(&mut self) {
        self.pending = self.pending.saturating_sub(1);
    }

    /// Whether there may be processes of which the agent does not know yet.
    pub fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Orders that wait are not carried out: the agent ends.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_start_that_takes_long_holds_nobody_back() {
        let (done, outcomes) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let mut starter = Starter::begin(move |order: u32| {
            // A file server that does not answer.
            let _ = gate.recv();
            let _ = done.send(order);
        })
        .unwrap();
        let begin = Instant::now();
        (0..300).for_each(|order| starter.order(order));
        assert!(begin.elapsed() < Duration::from_secs(5), "an order waits for no start");
        assert!(starter.is_busy() && outcomes.try_recv().is_err());
        for order in 0..3 {
            go.send(()).unwrap();
            assert_eq!(outcomes.recv().unwrap(), order, "in their order");
            starter.outcome_taken();
        }
        assert_eq!(starter.pending, 297);
        starter.stop();
        drop((go, starter));
        // One may have been under way; the others are not begun.
        let more: Vec<u32> = outcomes.iter().collect();
        assert!(more.is_empty() || more == [3], "{more:?}");
    }
}
