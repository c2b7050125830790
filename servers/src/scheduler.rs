//! The checkpoint scheduler: hands messages of the launcher to the machine, and its decisions back.
//!
//! It stores nothing. Each connection begins with the whole state of the machine, which the
//! launcher has a copy of (`ftmpi_protocols::scheduler::scheduler_process`). A scheduler that died
//! has lost nothing, and two connections at once do not meet.

use crate::metrics;
use crate::server_process;
pub use crate::tuning::scheduler::FRAME_BYTES_MAX;
use crate::tuning::scheduler::TICK;
use ftmpi_options::servers::CheckpointSchedulerArgs;
use ftmpi_protocols::scheduler::scheduler_process::{Order, SchedulerProcess, Word};
use ftmpi_transport::auth::Authenticated;
use ftmpi_transport::framed::Framed;
use ftmpi_wire::hello::{Purpose, Welcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::net::TcpStream;

/// The name of this server in its messages.
const NAME: &str = "ftmpi-checkpoint-scheduler";

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    words: AtomicU64,
    orders: AtomicU64,
}

impl Counts {
    fn status(&self, started: Instant) -> serde_json::Value {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        serde_json::json!({
            "server": NAME,
            "up_s": started.elapsed().as_secs_f64(),
            "connections": count(&self.connections),
            "words": count(&self.words),
            "orders": count(&self.orders),
        })
    }
}

/// Runs the server until it is asked to end.
///
/// # Errors
/// The server cannot start. The text says why.
pub fn run(args: CheckpointSchedulerArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(args))
}

async fn serve(args: CheckpointSchedulerArgs) -> anyhow::Result<()> {
    let ending = server_process::shutdown_requested(args.server.exit_with_parent);
    let mut listener =
        server_process::listen(&args.server, server_process::begin(&args.server)?).await?;
    let (counts, started) = (Arc::new(Counts::default()), Instant::now());
    if let Some(address) = args.server.metrics {
        let (_, mut questions) =
            metrics::listen(address, &metrics::catalogue::CHECKPOINT_SCHEDULER)?;
        let counts = counts.clone();
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                let _ = question.send(counts.status(started));
            }
        });
    }
    server_process::announce(&args.server, listener.local_addr()?)?;
    let accepting = async {
        loop {
            // Strangers get no line each.
            let Ok(caller) = listener.next().await else { continue };
            match caller.purpose {
                Purpose::Schedule => {
                    tokio::spawn(schedule(caller, counts.clone()));
                }
                Purpose::Status => {
                    let state = counts.status(started).to_string();
                    tokio::spawn(crate::event_logger::tell(caller, state));
                }
                _ => {
                    let why = "this is a checkpoint scheduler".to_owned();
                    tokio::spawn(crate::event_logger::refuse(caller, Welcome::No(why)));
                }
            }
        }
    };
    tokio::select! {
        why = ending => why.map(|_| ()).map_err(Into::into),
        () = accepting => unreachable!("it accepts for ever"),
    }
}

async fn schedule(caller: Authenticated, counts: Arc<Counts>) {
    let Authenticated { mut stream, responder, .. } = caller;
    crate::socket_options::end_when_peer_vanishes(&stream);
    if responder.answer(&mut stream, Welcome::Yes).await.is_err() {
        return;
    }
    counts.connections.fetch_add(1, Ordering::Relaxed);
    if let Err(why) = converse(stream, &counts).await {
        server_process::log_line(NAME, format!("{why:#}"));
    }
}

async fn converse(stream: TcpStream, counts: &Counts) -> anyhow::Result<()> {
    let mut frames = Framed::<_, Order, Word>::new(stream, FRAME_BYTES_MAX);
    let Some(first) = frames.recv().await? else { return Ok(()) };
    let mut office = SchedulerProcess::begin(first)?;
    // The clock of the launcher is that of the job, which may be older than this process.
    let (begun, at) = (Instant::now(), office.now());
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            word = frames.recv() => {
                let Some(word) = word? else { return Ok(()) };
                counts.words.fetch_add(1, Ordering::Relaxed);
                office.hear(word)?;
            }
            _ = tick.tick() => {}
        }
        for order in office.due(at + begun.elapsed()) {
            counts.orders.fetch_add(1, Ordering::Relaxed);
            frames.send(&order).await?;
        }
    }
}
