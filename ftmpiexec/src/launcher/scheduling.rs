//! The connection with the checkpoint scheduler, and what comes over it.
//!
//! Guarantees: it is tried again as long as the process lives; what an earlier connection brings late
//! is not heard; a scheduler that cannot be kept alive is told of once, and the job goes on with the
//! decisions of the dispatcher's own copy.

use super::{Launcher, LauncherEvent};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_protocols::scheduler::scheduler_process::{Order, Word};
use ftmpi_servers::scheduler::FRAME_BYTES_MAX;
use ftmpi_transport::auth::{self, JobKey};
use ftmpi_transport::framed::Framed;
use ftmpi_wire::hello::Purpose;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(100);

/// What comes from the connection.
#[derive(Debug)]
pub enum SchedulerEvent {
    /// It is there; words go this way.
    Up(mpsc::UnboundedSender<Word>),
    /// The scheduler decided.
    Ordered(Order),
    /// It broke.
    Gone,
}

/// The launcher's side.
#[derive(Debug, Default)]
pub struct Link {
    /// Which connection is heard.
    number: u64,
    words: Option<mpsc::UnboundedSender<Word>>,
    runs: Option<JoinHandle<()>>,
}

impl Link {
    /// Hands on a word, if somebody is there.
    pub fn say(&self, word: Word) {
        if let Some(words) = &self.words {
            let _ = words.send(word);
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
        // It always runs beside the launcher.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()));
        self.scheduler_is_gone();
        let number = self.scheduling.number + 1;
        let runs = tokio::spawn(keep(address, self.key.clone(), number, self.events.clone()));
        self.scheduling = Link { number, words: None, runs: Some(runs) };
    }

    /// Its process has ended.
    pub(super) fn scheduler_is_gone(&mut self) {
        self.scheduling = Link { number: self.scheduling.number + 1, words: None, runs: None };
        self.notify_dispatcher(Input::SchedulerLost);
    }

    pub(super) fn on_scheduler(&mut self, number: u64, event: SchedulerEvent) {
        if number != self.scheduling.number {
            return;
        }
        match event {
            SchedulerEvent::Up(words) => {
                self.scheduling.words = Some(words);
                self.notify_dispatcher(Input::SchedulerUp);
            }
            SchedulerEvent::Ordered(order) => {
                self.recorder.scheduler_ordered();
                self.notify_dispatcher(Input::Ordered(order));
            }
            SchedulerEvent::Gone => {
                self.scheduling.words = None;
                self.notify_dispatcher(Input::SchedulerLost);
            }
        }
    }
}

/// Connects, and again when the connection breaks.
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
            let (words, mut to_say) = mpsc::unbounded_channel();
            let _ =
                events.send(LauncherEvent::Scheduler { number, event: SchedulerEvent::Up(words) });
            loop {
                tokio::select! {
                    word = to_say.recv() => {
                        let Some(word) = word else { return };
                        if frames.send(&word).await.is_err() {
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
        tokio::time::sleep(AGAIN).await;
    }
}
