//! The event logger's shell: moves frames between connections, the machine and the files.
//!
//! One thread does everything but the syncing. What arrives in one read is given to the machine
//! frame by frame, written with one system call per rank, and acknowledged once: under load batches
//! grow by themselves, without load nothing waits for a timer. Files are synced as a group, in the
//! background, at most every `sync_interval`, or at once for whoever must know that they are durable
//! (an image is about to be committed).

mod connection;
mod core;
mod peer_loggers;
mod rings;

pub use peer_loggers::listen;

use crate::event_store::EventStore;
use crate::metrics;
use crate::server_process;
use connection::Link;
use core::Core;
use ftmpi_options::choices::AcknowledgeChoice;
use ftmpi_options::servers::EventLoggerArgs;
use ftmpi_protocols::event_log::{ConnId, Input, Promise};
use ftmpi_transport::auth::{Authenticated, Listener};
use ftmpi_wire::hello::{Purpose, Welcome};
use peer_loggers::PeerLoggers;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// How this server calls itself.
const NAME: &str = "ftmpi-event-logger";

/// Runs the server until it is asked to end.
///
/// # Errors
/// It cannot start; one line says why.
pub fn run(args: EventLoggerArgs) -> anyhow::Result<()> {
    server_process::raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(args))
}

/// Events, kept within a process that may have other duties as well (a channel memory).
#[derive(Clone)]
pub(crate) struct Service {
    core: Rc<RefCell<Core>>,
    next_conn: Rc<Cell<u64>>,
    started: Instant,
    delay: Duration,
    /// Connections from this computer get an event ring.
    rings: bool,
    peer_loggers: Rc<RefCell<PeerLoggers>>,
}

impl Service {
    /// Opens the directory and begins to sync it from time to time; on the local set of tasks.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn begin(
        dir: &Path,
        delay: Duration,
        sync: Duration,
        promise: Promise,
    ) -> anyhow::Result<Self> {
        let mut opened = EventStore::open(dir)?;
        for line in opened.lines.drain(..) {
            server_process::log_line(NAME, line);
        }
        let core = Rc::new(RefCell::new(Core::new(opened, promise)?));
        tokio::task::spawn_local(sync_regularly(core.clone(), sync));
        Ok(Self {
            core,
            next_conn: Rc::default(),
            started: Instant::now(),
            delay,
            rings: false,
            peer_loggers: Rc::default(),
        })
    }

    /// From now on ranks of this computer may use event rings.
    fn offer_rings(&mut self) {
        self.rings = true;
        tokio::task::spawn_local(look_regularly(self.core.clone()));
    }

    /// Serves a caller that has events ([`Purpose::Events`]).
    pub(crate) fn serve(&self, caller: Authenticated) {
        self.next_conn.set(self.next_conn.get() + 1);
        let conn = ConnId(self.next_conn.get());
        let near = self.rings && is_near(&caller.stream);
        tokio::task::spawn_local(converse(self.core.clone(), conn, caller, self.delay, near));
    }

    /// Tells a caller what is written, as it changes ([`Purpose::Clocks`]).
    fn tell_clocks(&self, caller: Authenticated) {
        self.next_conn.set(self.next_conn.get() + 1);
        let conn = ConnId(self.next_conn.get());
        tokio::task::spawn_local(peer_loggers::tell(self.core.clone(), conn, caller));
    }

    /// Answers when everything that was written before the question is durable.
    pub(crate) async fn answer_when_durable(&self, caller: Authenticated) {
        tell_when_durable(self.core.clone(), caller).await;
    }

    /// What it has done.
    pub(crate) fn status(&self, rejected: u64) -> serde_json::Value {
        self.core.borrow().status(self.started.elapsed(), rejected)
    }

    /// The process ends.
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
    let (promise, sync) = match args.acknowledge {
        AcknowledgeChoice::Written => (Promise::Written, args.sync_interval),
        AcknowledgeChoice::Durable => (Promise::Durable, Duration::ZERO),
    };
    let mut service = Service::begin(&args.dir, args.delay, sync, promise)?;
    if args.rings && args.delay.is_zero() && promise == Promise::Written {
        service.offer_rings();
    }
    let key = server_process::key(&args.server)?;
    let mut listener = Listener::bind(args.server.listen, key.clone())
        .await
        .map_err(|e| anyhow::anyhow!("cannot listen on {}: {e}", args.server.listen))?;
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
            // Strangers are not worth a line each; their number is in the status.
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
    let why = tokio::select! {
        why = ending => why?,
        () = accepting => unreachable!("it accepts for ever"),
    };
    if let Err(error) = service.finish() {
        anyhow::bail!("ends ({why}), but events could not be made durable: {error}");
    }
    Ok(())
}

/// Rings are looked into so often even if nobody asks for it: what is in them is to become durable, and
/// known to others.
const LOOK_EVERY: Duration = Duration::from_millis(20);

async fn look_regularly(core: Rc<RefCell<Core>>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let mut core = core.borrow_mut();
        core.drain_all();
        core.flush();
    }
}

/// Both ends have the same address. (Another computer cannot open our descriptor either way.)
fn is_near(stream: &tokio::net::TcpStream) -> bool {
    matches!((stream.peer_addr(), stream.local_addr()), (Ok(peer), Ok(local)) if peer.ip() == local.ip())
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
    crate::socket_options::end_when_peer_vanishes(&stream, crate::client::SILENCE_LIMIT);
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
    let _ = tokio::time::timeout(Duration::from_secs(10), telling).await;
}

/// How long somebody who asks for durability waits at the most.
const DURABLE_LIMIT: Duration = Duration::from_secs(30);

/// Answers when everything that was written before the question is durable.
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

/// At least so long after a round that failed.
const RETRY: Duration = Duration::from_millis(100);

async fn sync_regularly(core: Rc<RefCell<Core>>, every: Duration) {
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
        failed_before = outcome.is_err();
        let pause = if failed_before { every.max(RETRY) } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hurry.notified() => {}
        }
    }
}
