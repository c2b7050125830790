//! The event logger: moves frames between connections, the machine and the files.
//!
//! One thread does everything but the syncing. Frames that arrive in one read go to the machine one
//! by one, are written with one system call for each rank, and acknowledged once. Batches therefore
//! grow with the load, and nothing waits for a timer without load. Files are synced as a group, in
//! the background, at most every `sync_interval`. A caller that must know that events are durable
//! (an image is about to be committed) gets a sync at once.

mod connection;
mod core;
mod link;
mod peer_loggers;
mod rings;

pub use peer_loggers::listen;

use crate::event_store::EventStore;
use crate::files::Files;
use crate::metrics;
use crate::server_process::{self, LogRoom, StorageReport};
use crate::tuning::connection::STATUS_LIMIT;
use crate::tuning::event_logger::{DRAIN_INTERVAL, DURABLE_LIMIT, SYNC_RETRY};
use crate::tuning::log_room::LOOK_INTERVAL;
use core::Core;
use ftmpi_options::choices::AcknowledgeChoice;
use ftmpi_options::servers::EventLoggerArgs;
use ftmpi_protocols::event_log::{ConnId, Input, Promise};
use ftmpi_transport::auth::{Authenticated, addresses};
use ftmpi_wire::hello::{Purpose, Welcome};
use link::{Link, NAME};
use peer_loggers::PeerLoggers;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// Runs the server until it is asked to end.
///
/// # Errors
/// The server cannot start. The text says why.
pub fn run(args: EventLoggerArgs) -> anyhow::Result<()> {
    server_process::raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(args))
}

/// When events are synced, and who is told that they cannot be.
#[derive(Debug)]
pub(crate) struct Syncing {
    /// Interval between two syncs.
    pub every: Duration,
    /// `None`: no rank waits for a sync.
    pub report: Option<StorageReport>,
}

/// The service of an event logger, within a process that may have other duties (a channel memory).
#[derive(Clone)]
pub(crate) struct Service {
    core: Rc<RefCell<Core>>,
    next_conn: Rc<Cell<u64>>,
    started: Instant,
    delay: Duration,
    /// Connections from this host get an event ring.
    rings: bool,
    peer_loggers: Rc<RefCell<PeerLoggers>>,
}

impl Service {
    /// Opens the directory and starts to sync it, on the local set of tasks.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub(crate) fn begin(
        dir: &Path,
        files: Files,
        delay: Duration,
        syncing: Syncing,
        promise: Promise,
    ) -> anyhow::Result<Self> {
        let mut opened = EventStore::open(dir, files)?;
        for line in opened.lines.drain(..) {
            server_process::log_line(NAME, line);
        }
        let core = Rc::new(RefCell::new(Core::new(opened, promise)?));
        tokio::task::spawn_local(sync_regularly(core.clone(), syncing));
        Ok(Self {
            core,
            next_conn: Rc::default(),
            started: Instant::now(),
            delay,
            rings: false,
            peer_loggers: Rc::default(),
        })
    }

    /// From now on ranks of this host may use event rings.
    fn offer_rings(&mut self) {
        self.rings = true;
        tokio::task::spawn_local(look_regularly(self.core.clone()));
    }

    /// Serves a rank that stores events ([`Purpose::Events`]).
    pub(crate) fn serve(&self, caller: Authenticated) {
        self.next_conn.set(self.next_conn.get() + 1);
        let conn = ConnId(self.next_conn.get());
        let near = self.rings && is_near(&caller.stream);
        tokio::task::spawn_local(converse(self.core.clone(), conn, caller, self.delay, near));
    }

    /// Sends a caller what is stable, as it changes ([`Purpose::Clocks`]).
    fn tell_clocks(&self, caller: Authenticated) {
        self.next_conn.set(self.next_conn.get() + 1);
        let conn = ConnId(self.next_conn.get());
        tokio::task::spawn_local(peer_loggers::tell(self.core.clone(), conn, caller));
    }

    /// Answers when everything that was written before the request is durable.
    pub(crate) async fn answer_when_durable(&self, caller: Authenticated) {
        tell_when_durable(self.core.clone(), caller).await;
    }

    /// Asks for images when the events, and `more` bytes beside them, take too much of the disk.
    pub(crate) async fn look_at_room(self, mut room: LogRoom, more: impl Fn() -> u64) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let (dir, events) = self.core.borrow().stored();
            room.look(&dir, events + more());
        }
    }

    /// The state of the service, for status and metrics.
    pub(crate) fn status(&self, rejected: u64) -> serde_json::Value {
        self.core.borrow().status(self.started.elapsed(), rejected)
    }

    /// Makes everything durable: the process ends.
    pub(crate) fn finish(&self) -> std::io::Result<()> {
        let last = {
            let mut core = self.core.borrow_mut();
            core.flush();
            core.begin_last_round()
        };
        last.map_err(std::io::Error::other)?.sync()
    }
}

async fn serve(args: EventLoggerArgs) -> anyhow::Result<()> {
    let ending = server_process::shutdown_requested(args.server.exit_with_parent);
    let (promise, syncing) = match args.acknowledge {
        AcknowledgeChoice::Written => {
            (Promise::Written, Syncing { every: args.sync_interval, report: None })
        }
        // Ranks wait for the disk.
        AcknowledgeChoice::Durable => {
            let report = Some(StorageReport::new(&args.server));
            (Promise::Durable, Syncing { every: Duration::ZERO, report })
        }
    };
    let files = Files::slowed_by(args.server.slow_disk);
    let mut service = Service::begin(&args.dir, files, args.delay, syncing, promise)?;
    if args.rings && args.delay.is_zero() && promise == Promise::Written {
        service.offer_rings();
    }
    let key = server_process::begin(&args.server)?;
    let mut listener = server_process::listen(&args.server, key.clone()).await?;
    let (_ask, mut questions) = match args.server.metrics {
        Some(address) => (None, metrics::listen(address, &metrics::catalogue::EVENT_LOGGER)?.1),
        None => {
            let (ask, nobody_asks) = tokio::sync::mpsc::unbounded_channel();
            (Some(ask), nobody_asks)
        }
    };
    server_process::announce(&args.server, listener.local_addr()?)?;

    let accepting = async {
        loop {
            let next = tokio::select! {
                next = listener.next() => next,
                Some(question) = questions.recv() => {
                    let rejected = listener.rejected();
                    let _ = question.send(service.status(rejected));
                    continue;
                }
            };
            // Strangers are counted in the status, without a line each.
            let Ok(caller) = next else { continue };
            match caller.purpose {
                Purpose::Events { .. } => service.serve(caller),
                Purpose::Clocks => service.tell_clocks(caller),
                Purpose::PeerLoggers { ref addresses } => {
                    let addresses = addresses.clone();
                    service.peer_loggers.borrow_mut().are(addresses, &service.core, &key);
                    tokio::task::spawn_local(refuse(caller, Welcome::Yes));
                }
                Purpose::Status => {
                    let state = service.status(listener.rejected()).to_string();
                    tokio::task::spawn_local(tell(caller, state));
                }
                Purpose::Durable => {
                    let service = service.clone();
                    tokio::task::spawn_local(
                        async move { service.answer_when_durable(caller).await },
                    );
                }
                _ => {
                    let why = "this is an event logger".to_owned();
                    tokio::task::spawn_local(refuse(caller, Welcome::No(why)));
                }
            }
        }
    };
    tokio::task::spawn_local(service.clone().look_at_room(LogRoom::new(&args.server), || 0));
    let why = tokio::select! {
        why = ending => why?,
        () = accepting => unreachable!("it accepts for ever"),
    };
    if let Err(error) = service.finish() {
        anyhow::bail!("ends ({why}), but events could not be made durable: {error}");
    }
    Ok(())
}

async fn look_regularly(core: Rc<RefCell<Core>>) {
    loop {
        tokio::time::sleep(DRAIN_INTERVAL).await;
        let mut core = core.borrow_mut();
        core.drain_all();
        core.flush();
    }
}

/// Whether both ends have the same address. Another host cannot open our descriptor in any case.
fn is_near(stream: &tokio::net::TcpStream) -> bool {
    addresses(stream).is_some_and(|(ours, theirs)| ours == theirs)
}

/// Serves one rank.
async fn converse(
    core: Rc<RefCell<Core>>,
    conn: ConnId,
    caller: Authenticated,
    delay: Duration,
    near: bool,
) {
    let Authenticated { mut stream, purpose, responder, .. } = caller;
    let Purpose::Events { rank, incarnation } = purpose else { return };
    crate::socket_options::end_when_peer_vanishes(&stream);
    let link = Rc::new(Link::default());
    let welcome = core.borrow_mut().hello(conn, rank, incarnation, link.clone());
    let accepted = welcome == Welcome::Yes;
    if responder.answer(&mut stream, welcome).await.is_ok() && accepted {
        if near && core.borrow().machine.is_open(conn) {
            let ring = core.borrow_mut().begin_ring(conn, rank, incarnation);
            ring.into_iter().for_each(|frame| link.set_near(frame));
        }
        connection::serve(&core, conn, &link, rank, &mut stream, delay).await;
    }
    let mut core = core.borrow_mut();
    core.end_ring(conn, rank);
    core.feed(Input::Lost { conn });
    core.forget(conn);
}

pub(crate) async fn refuse(caller: Authenticated, welcome: Welcome) {
    let Authenticated { mut stream, responder, .. } = caller;
    let _ = responder.answer(&mut stream, welcome).await;
}

pub(crate) async fn tell(caller: Authenticated, state: String) {
    let Authenticated { mut stream, responder, .. } = caller;
    let telling = async {
        if responder.answer(&mut stream, Welcome::Yes).await.is_ok() {
            let _ = stream.write_all(state.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    };
    let _ = tokio::time::timeout(STATUS_LIMIT, telling).await;
}

/// Answers when everything that was written before the request is durable.
async fn tell_when_durable(core: Rc<RefCell<Core>>, caller: Authenticated) {
    let waiting = core.borrow_mut().durable_after();
    let durable = match waiting {
        None => true,
        Some((round, mut done)) => {
            let waiting = done.wait_for(|done| *done >= round);
            matches!(tokio::time::timeout(DURABLE_LIMIT, waiting).await, Ok(Ok(_)))
        }
    };
    let welcome = if durable {
        Welcome::Yes
    } else {
        Welcome::No("events cannot be made durable; is the disk full or broken?".into())
    };
    refuse(caller, welcome).await;
}

async fn sync_regularly(core: Rc<RefCell<Core>>, syncing: Syncing) {
    let Syncing { every, mut report } = syncing;
    let mut failed_before = false;
    let (changed, hurry) = (core.borrow().changed(), core.borrow().hurry.clone());
    loop {
        changed.notified().await;
        let round = core.borrow_mut().begin_round();
        let outcome = match round {
            Ok(round) => {
                let outcome = tokio::task::spawn_blocking(move || round.sync()).await;
                let outcome = outcome.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                core.borrow_mut().end_round(outcome.is_ok());
                outcome
            }
            Err(why) => Err(std::io::Error::other(why)),
        };
        if let Err(error) = &outcome
            && !failed_before
        {
            server_process::log_line(NAME, format!("events cannot be made durable: {error}"));
        }
        if let Some(report) = &mut report {
            let why = outcome.as_ref().err().map(|e| format!("events are not durable: {e}"));
            report.tell(why.as_deref());
        }
        failed_before = outcome.is_err();
        let pause = if failed_before { every.max(SYNC_RETRY) } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hurry.notified() => {}
        }
    }
}
