//! The checkpoint server's shell: moves images between connections, the catalogue and the files.
//!
//! Each connection has its task; what takes long (receiving, verifying, syncing, sending) runs
//! beside the others. The catalogue is asked, and names are given to files, one at a time: what it
//! decides and what lies on the disk never part.

mod disk;
mod ground;
mod session;

use crate::files::Files;
use crate::metrics;
use crate::shell::{self, PrivateDir, ServerArgs};
use clap::Parser;
pub use disk::{Checked, Disk, Upload, open_container, parse_image_name};
use ftmpi_protocols::image_catalogue::{ConnId, Event, ImageCatalogue, Input, Output};
use ftmpi_transport::auth::{Authenticated, Listener};
use ftmpi_wire::hello::{Purpose, Welcome};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// How this server calls itself.
const NAME: &str = "ftmpi-checkpoint-server";

/// Keeps the process images of the ranks of one job, so that a rank can be restarted from them.
/// ftmpiexec starts it by itself; start it by hand only to place it.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
pub struct CheckpointServerArgs {
    /// Common options.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Private directory for what is stored; made if it is not there, found again after a restart.
    #[arg(long, value_name = "DIRECTORY")]
    pub dir: PathBuf,
    /// Store at most so many bytes (K, M, G, T: powers of 1024); room for three images of each rank
    /// is needed. Default: what the disk takes.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub max_bytes: Option<u64>,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.trim_end_matches("iB").char_indices().next_back() {
        Some((at, 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        Some((at, 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| format!("`{text}` is no size; write 500M or 20G"))
}

/// What all connections share.
struct Server {
    catalogue: Mutex<ImageCatalogue>,
    disk: Disk,
    started: Instant,
    connections: AtomicU64,
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    rejected: AtomicU64,
}

impl Server {
    /// Gives one event to the catalogue. What concerns names of files is carried out at once, while
    /// nobody else may ask; the rest is for the connection.
    fn decide(&self, conn: ConnId, event: Event) -> Vec<Output> {
        let mut catalogue = self.catalogue.lock().expect("no panic while it is locked");
        catalogue.besides(self.disk.retired_bytes());
        let mut rest = Vec::new();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let mut out = Vec::new();
            catalogue.handle(Input { conn, event }, &mut out);
            for output in out {
                match output {
                    Output::Publish(name) => {
                        events.push(Event::Published(self.disk.publish(conn, name)));
                    }
                    Output::Persist { rank, record } => {
                        events.push(Event::Persisted(self.disk.persist(rank, record)));
                    }
                    Output::SetAside(name) => self.disk.set_aside(name),
                    Output::Say(text) => shell::say(NAME, text),
                    other => rest.push(other),
                }
            }
        }
        rest
    }

    fn status(&self) -> serde_json::Value {
        let catalogue = self.catalogue.lock().expect("no panic while it is locked");
        serde_json::json!({
            "server": NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "directory": self.disk.path(),
            "uptime_s": self.started.elapsed().as_secs_f64(),
            "connections": self.connections.load(Ordering::Relaxed),
            "bytes": catalogue.bytes(),
            "bytes_of_bases": self.disk.retired_bytes(),
            "bytes_received": self.bytes_received.load(Ordering::Relaxed),
            "bytes_sent": self.bytes_sent.load(Ordering::Relaxed),
            "rejected_callers": self.rejected.load(Ordering::Relaxed),
            "ranks": catalogue.ranks().collect::<Vec<_>>(),
        })
    }
}

/// Runs the server until it is asked to end.
///
/// # Errors
/// It cannot start; one line says why.
pub fn run(args: CheckpointServerArgs) -> anyhow::Result<()> {
    shell::raise_descriptor_limit();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let outcome = runtime.block_on(serve(args));
    // An image that is on its way is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn serve(args: CheckpointServerArgs) -> anyhow::Result<()> {
    let ending = shell::asked_to_end(args.server.exit_with_parent);
    let mut catalogue = ImageCatalogue::new(args.max_bytes.unwrap_or(u64::MAX));
    let disk =
        Disk::open(PrivateDir::take(&args.dir)?, Files::default(), &mut catalogue, |line| {
            shell::say(NAME, line)
        })?;
    let mut listener = Listener::bind(args.server.listen, args.server.key()?)
        .await
        .map_err(|e| anyhow::anyhow!("cannot listen on {}: {e}", args.server.listen))?;
    let server = Arc::new(Server {
        catalogue: Mutex::new(catalogue),
        disk,
        started: Instant::now(),
        connections: AtomicU64::new(0),
        bytes_received: AtomicU64::new(0),
        bytes_sent: AtomicU64::new(0),
        rejected: AtomicU64::new(0),
    });
    if let Some(address) = args.server.metrics {
        let (_, mut questions) =
            metrics::listen(address, "ftmpi_checkpoint_server").map_err(anyhow::Error::msg)?;
        let server = server.clone();
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                let _ = question.send(server.status());
            }
        });
    }
    args.server.announce(listener.local_addr()?)?;
    let accepting = async {
        let mut next_conn = 0;
        loop {
            let next = listener.next().await;
            server.rejected.store(listener.rejected(), Ordering::Relaxed);
            // Strangers are not worth a line each; their number is in the status.
            let Ok(caller) = next else { continue };
            next_conn += 1;
            tokio::spawn(receive(server.clone(), ConnId(next_conn), caller));
        }
    };
    tokio::select! {
        why = ending => why.map(|_| ()).map_err(Into::into),
        () = accepting => unreachable!("it accepts for ever"),
    }
}

async fn receive(server: Arc<Server>, conn: ConnId, caller: Authenticated) {
    let Authenticated { mut stream, purpose, responder, .. } = caller;
    crate::net::end_when_peer_vanishes(&stream, crate::client::SILENCE_LIMIT);
    let welcome = match purpose {
        Purpose::Images | Purpose::Status => Welcome::Yes,
        _ => Welcome::No("this is a checkpoint server".into()),
    };
    let accepted = welcome == Welcome::Yes;
    if responder.answer(&mut stream, welcome).await.is_err() || !accepted {
        return;
    }
    if purpose == Purpose::Status {
        let state = server.status().to_string();
        let telling = async {
            let _ = stream.write_all(state.as_bytes()).await;
            let _ = stream.shutdown().await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(10), telling).await;
        return;
    }
    server.connections.fetch_add(1, Ordering::Relaxed);
    session::run(&server, conn, stream).await;
    server.connections.fetch_sub(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = super::parse_bytes;
        assert_eq!(read("12"), Ok(12));
        assert_eq!(read("500M"), Ok(500 << 20));
        assert_eq!(read("2GiB"), Ok(2 << 30));
        for bad in ["", "M", "-1", "1.5G", "99999999999T", "ü"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
