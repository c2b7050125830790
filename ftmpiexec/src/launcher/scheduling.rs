//! The connection to the checkpoint scheduler, and what comes over it.
//!
//! Guarantees: the launcher connects again as long as the scheduler's process runs. Late messages
//! of an earlier connection are ignored. If the scheduler cannot be kept alive, one line says so,
//! and the dispatcher's own copy decides.

use super::Launcher;
use super::events::{LauncherEvent, SchedulerEvent};
use crate::tuning::{CONNECT_LIMIT, SCHEDULER_RETRY};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_protocols::scheduler::scheduler_process::{Order, Word};
use ftmpi_servers::scheduler::FRAME_BYTES_MAX;
use ftmpi_transport::auth::{self, JobKey};
use ftmpi_transport::framed::Framed;
use ftmpi_wire::hello::Purpose;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The launcher's end of the connection.
#[derive(Debug, Default)]
pub struct Link {
    /// The connection whose messages count.
    number: u64,
    outbox: Option<mpsc::UnboundedSender<Word>>,
    runs: Option<JoinHandle<()>>,
}

impl Link {
    /// Sends a message, if the scheduler is connected.
    pub fn send(&self, message: Word) {
        if let Some(outbox) = &self.outbox {
            let _ = outbox.send(message);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(runs) = &self.runs {
            runs.abort();
        }
    }
}

impl Launcher {
    /// A scheduler listens here.
    pub(super) fn scheduler_listens(&mut self, address: SocketAddr) {
        // The scheduler always runs on the launcher's host.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()));
        self.scheduler_is_gone();
        let number = self.scheduling.number + 1;
        let runs = tokio::spawn(keep(address, self.key.clone(), number, self.events.clone()));
        self.scheduling = Link { number, outbox: None, runs: Some(runs) };
    }

    /// The scheduler's process has ended.
    pub(super) fn scheduler_is_gone(&mut self) {
        self.scheduling = Link { number: self.scheduling.number + 1, outbox: None, runs: None };
        self.notify_dispatcher(Input::SchedulerLost);
    }

    /// Something happened on a connection to the scheduler.
    pub(super) fn on_scheduler(&mut self, number: u64, event: SchedulerEvent) {
        if number != self.scheduling.number {
            return;
        }
        match event {
            SchedulerEvent::Up(outbox) => {
                self.scheduling.outbox = Some(outbox);
                self.notify_dispatcher(Input::SchedulerUp);
            }
            SchedulerEvent::Ordered(order) => {
                self.recorder.scheduler_ordered();
                self.notify_dispatcher(Input::Ordered(order));
            }
            SchedulerEvent::Gone => {
                self.scheduling.outbox = None;
                self.notify_dispatcher(Input::SchedulerLost);
            }
        }
    }
}

/// Connects, and connects again when the connection breaks.
async fn keep(
    address: SocketAddr,
    key: JobKey,
    number: u64,
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    loop {
        let purpose = Purpose::Schedule;
        if let Ok(stream) = auth::connect(address, &key, &purpose, CONNECT_LIMIT).await {
            let mut frames = Framed::<_, Word, Order>::new(stream, FRAME_BYTES_MAX);
            let (outbox, mut queue) = mpsc::unbounded_channel();
            let _ =
                events.send(LauncherEvent::Scheduler { number, event: SchedulerEvent::Up(outbox) });
            loop {
                tokio::select! {
                    message = queue.recv() => {
                        let Some(message) = message else { return };
                        if frames.send(&message).await.is_err() {
                            break;
                        }
                    }
                    order = frames.recv() => {
                        let Ok(Some(order)) = order else { break };
                        let event = SchedulerEvent::Ordered(order);
                        let _ = events.send(LauncherEvent::Scheduler { number, event });
                    }
                }
            }
            let _ = events.send(LauncherEvent::Scheduler { number, event: SchedulerEvent::Gone });
        }
        tokio::time::sleep(SCHEDULER_RETRY).await;
    }
}
