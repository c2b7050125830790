//! The channel memory: moves messages between connections, the machine and the files, and is the
//! event logger of the same ranks.
//!
//! One thread does everything. Messages that arrive in one read go to the machine one by one, are
//! written with one system call for each receiver, and acknowledged once. Only then does their
//! receiver get them. While nothing can be written (a full disk), nobody is read from.

mod connection;
mod core;

use crate::event_logger::{self, Service, Syncing};
use crate::event_store::boot_id;
use crate::files::Files;
use crate::host_memory;
use crate::metrics;
use crate::server_process::{self, LogRoom, StorageReport};
use crate::tuning::channel_memory::{MEMORY_BYTES, MEMORY_SHARE, WRITE_RETRY};
use core::Core;
use ftmpi_options::servers::ChannelMemoryArgs;
use ftmpi_protocols::event_log::{ConnId, Promise};
use ftmpi_transport::auth::Authenticated;
use ftmpi_wire::hello::{Purpose, Welcome};
use std::cell::RefCell;
use std::rc::Rc;

/// The name of this server in its messages.
const NAME: &str = "ftmpi-channel-memory";

/// Runs the server until it is asked to end.
///
/// # Errors
/// The server cannot start. The text says why.
pub fn run(args: ChannelMemoryArgs) -> anyhow::Result<()> {
    server_process::raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(args))
}

async fn serve(args: ChannelMemoryArgs) -> anyhow::Result<()> {
    let ending = server_process::shutdown_requested(args.server.exit_with_parent);
    let dir = &args.dir;
    // The messages come first: their lock says that no other server is here.
    let limit = args.memory_limit.map_or_else(
        || memory_share(host_memory::of_this_host(), args.neighbours),
        |mib| mib.saturating_mul(1 << 20),
    );
    let report = StorageReport::new(&args.server);
    let core = Core::open(&dir.join("messages"), limit, &boot_id(), report)?;
    let core = Rc::new(RefCell::new(core));
    // Events that cannot be written are reported by the ranks, which are sent away.
    let syncing = Syncing { every: args.sync_interval, report: None };
    let files = Files::slowed_by(args.server.slow_disk);
    let events = Service::begin(&dir.join("events"), files, args.delay, syncing, Promise::Written)?;
    let key = server_process::begin(&args.server)?;
    let mut listener = server_process::listen(&args.server, key).await?;
    let (_ask, mut questions) = match args.server.metrics {
        Some(address) => (None, metrics::listen(address, &metrics::catalogue::CHANNEL_MEMORY)?.1),
        None => {
            let (ask, nobody_asks) = tokio::sync::mpsc::unbounded_channel();
            (Some(ask), nobody_asks)
        }
    };
    server_process::announce(&args.server, listener.local_addr()?)?;

    tokio::task::spawn_local(write_again(core.clone()));
    let (room, messages) = (LogRoom::new(&args.server), core.clone());
    tokio::task::spawn_local(
        events.clone().look_at_room(room, move || messages.borrow().file_bytes()),
    );
    let accepting = async {
        let mut next_conn = 0;
        loop {
            let next = tokio::select! {
                next = listener.next() => next,
                Some(question) = questions.recv() => {
                    let state = state(&events, &core, listener.rejected());
                    let _ = question.send(state);
                    continue;
                }
            };
            let Ok(caller) = next else { continue };
            if matches!(caller.purpose, Purpose::Memory { .. }) {
                next_conn += 1;
                let conn = ConnId(next_conn);
                tokio::task::spawn_local(converse(core.clone(), conn, caller));
            } else {
                answer(caller, &core, &events, listener.rejected());
            }
        }
    };
    let why = tokio::select! {
        why = ending => why?,
        () = accepting => unreachable!("it accepts for ever"),
    };
    core.borrow_mut().flush();
    let last = core.borrow_mut().take_unsynced();
    if let Err(error) = last.sync().and_then(|()| events.finish()) {
        anyhow::bail!("ends ({why}), but what it has could not be made durable: {error}");
    }
    Ok(())
}

/// Answers a caller that is no rank with messages.
fn answer(caller: Authenticated, core: &Rc<RefCell<Core>>, events: &Service, rejected: u64) {
    match caller.purpose {
        Purpose::Events { .. } => events.serve(caller),
        Purpose::Status => {
            let state = state(events, core, rejected);
            tokio::task::spawn_local(event_logger::tell(caller, state.to_string()));
        }
        Purpose::Durable => {
            tokio::task::spawn_local(answer_when_durable(caller, core.clone(), events.clone()));
        }
        _ => {
            let why = "this is a channel memory".to_owned();
            tokio::task::spawn_local(event_logger::refuse(caller, Welcome::No(why)));
        }
    }
}

async fn answer_when_durable(caller: Authenticated, core: Rc<RefCell<Core>>, events: Service) {
    match make_durable(&core).await {
        Ok(()) => events.answer_when_durable(caller).await,
        Err(why) => event_logger::refuse(caller, Welcome::No(why.to_string())).await,
    }
}

/// Bytes that one of several channel memories on a host keeps in main memory by default.
fn memory_share(host: u64, neighbours: u32) -> u64 {
    MEMORY_BYTES.min(host / MEMORY_SHARE / u64::from(neighbours.max(1)))
}

fn state(events: &Service, core: &RefCell<Core>, rejected: u64) -> serde_json::Value {
    let mut state = events.status(rejected);
    state["server"] = NAME.into();
    state["memory"] = core.borrow().status();
    state
}

/// Serves one rank that stores messages here or receives its own.
async fn converse(core: Rc<RefCell<Core>>, conn: ConnId, caller: Authenticated) {
    let Authenticated { mut stream, purpose, responder, .. } = caller;
    let Purpose::Memory { from, incarnation, to } = purpose else { return };
    crate::socket_options::end_when_peer_vanishes(&stream);
    let (welcome, woken) = core.borrow_mut().hello(conn, from, incarnation, to);
    let accepted = welcome == Welcome::Yes;
    if responder.answer(&mut stream, welcome).await.is_ok() && accepted {
        let _ = stream.set_nodelay(true);
        connection::serve(&core, conn, to, &woken, &mut stream).await;
    }
    core.borrow_mut().forget(conn);
}

/// Why messages are not durable.
#[derive(Debug, thiserror::Error)]
enum NotDurable {
    /// They are not even written.
    #[error("messages cannot be written; is the disk full?")]
    Unwritten,
    /// Their files cannot be synced.
    #[error("messages cannot be made durable: {0}")]
    Sync(#[from] std::io::Error),
    /// The task that syncs has ended.
    #[error("messages cannot be made durable: {0}")]
    Task(#[from] tokio::task::JoinError),
}

async fn make_durable(core: &RefCell<Core>) -> Result<(), NotDurable> {
    let unsynced = {
        let mut core = core.borrow_mut();
        core.flush();
        if core.is_stuck() {
            return Err(NotDurable::Unwritten);
        }
        core.take_unsynced()
    };
    let syncing = unsynced.clone();
    let outcome = tokio::task::spawn_blocking(move || syncing.sync()).await;
    let outcome = outcome.map_err(NotDurable::from).and_then(|done| Ok(done?));
    outcome.inspect_err(|_| core.borrow_mut().put_back_unsynced(&unsynced))
}

async fn write_again(core: Rc<RefCell<Core>>) {
    loop {
        tokio::time::sleep(WRITE_RETRY).await;
        if core.borrow().is_stuck() {
            core.borrow_mut().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_memories_of_a_small_host_share_a_part_of_it() {
        assert_eq!(memory_share(64 << 30, 1), 256 << 20);
        assert_eq!(memory_share(512 << 20, 1), 32 << 20);
        assert_eq!(memory_share(512 << 20, 8), 4 << 20);
    }
}
