//! What all servers have in common: options, the announcement, signals.
//!
//! A server is ready when its first line is written: `listening on ADDRESS`, to standard output or
//! to the named descriptor. All other lines go to standard error and begin with the server's name.
//! A server never stops because nobody reads its lines.

use crate::tuning::log_room::LOGS_MIN;
use anyhow::Context;
use ftmpi_options::servers::ServerArgs;
use ftmpi_transport::auth::{JobKey, Listener};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// What every server does first: connections get their limit of silence. The result is the key of
/// the job.
///
/// # Errors
/// There is no key, or it is not private.
pub fn begin(args: &ServerArgs) -> anyhow::Result<JobKey> {
    crate::socket_options::set_silence_limit(args.silence);
    Ok(match &args.key_file {
        Some(path) => JobKey::read_file(path)?,
        None => JobKey::from_env()?,
    })
}

/// Listens where the options say.
///
/// # Errors
/// The address cannot be had, or no port of the range is free.
pub async fn listen(args: &ServerArgs, key: JobKey) -> anyhow::Result<Listener> {
    let bound = match (&args.port_range, args.listen.port()) {
        (Some(ports), 0) => Listener::bind_within(args.listen.ip(), Some(ports), key).await,
        _ => Listener::bind(args.listen, key).await,
    };
    bound.map_err(|e| anyhow::anyhow!("cannot listen on {}: {e}", args.listen))
}

/// Writes the address on which the server listens, as its first line.
///
/// # Errors
/// The descriptor is not open.
pub fn announce(args: &ServerArgs, address: SocketAddr) -> anyhow::Result<()> {
    let line = format!("listening on {address}\n");
    match args.announce_fd {
        None => {
            // Nobody may be there to read the line.
            let mut out = io::stdout().lock();
            let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        }
        Some(fd) => OpenOptions::new()
            .write(true)
            .open(format!("/proc/self/fd/{fd}"))
            .and_then(|mut out| out.write_all(line.as_bytes()))
            .with_context(|| format!("cannot announce the address on descriptor {fd}"))?,
    }
    Ok(())
}

/// Begins the line by which a server tells its launcher that it cannot store, and why.
pub const STORAGE_TROUBLE: &str = "cannot store: ";
/// The line by which a server tells its launcher that it can store again.
pub const STORAGE_WORKS: &str = "can store again";

/// Tells the launcher whether a server can store what ranks wait for. The launcher decides how long
/// it is waited for, in the same way for every server.
#[derive(Debug, Default)]
pub struct StorageReport {
    /// The server was started by a launcher, which reads standard output.
    to_launcher: bool,
    in_trouble: bool,
}

impl StorageReport {
    /// Nothing is told yet.
    #[must_use]
    pub fn new(args: &ServerArgs) -> Self {
        let to_launcher = args.exit_with_parent.is_some() && args.announce_fd.is_none();
        Self { to_launcher, in_trouble: false }
    }

    /// The server cannot store for this reason; or (`None`) it can. A line is written when that
    /// changes.
    pub fn tell(&mut self, trouble: Option<&str>) {
        if self.in_trouble == trouble.is_some() {
            return;
        }
        let line = match trouble {
            Some(why) => format!("{STORAGE_TROUBLE}{}\n", why.replace('\n', " ")),
            None => format!("{STORAGE_WORKS}\n"),
        };
        // A launcher that does not read is told later.
        if !self.to_launcher || write_if_there_is_room(line.as_bytes()) {
            self.in_trouble = trouble.is_some();
        }
    }
}

/// Begins the line by which a server asks for images, because its logs take more of the disk than
/// they leave, and says how much.
pub const LOGS_NEED_ROOM: &str = "images would make room: ";

/// Asks the launcher for images when logs take more of the disk than they leave. What is in a log
/// cannot be given up: only images make it shorter.
#[derive(Debug, Default)]
pub struct LogRoom {
    /// The server was started by a launcher, which reads standard output.
    to_launcher: bool,
    /// The fewest bytes of the logs since images were asked for.
    floor: Option<u64>,
}

impl LogRoom {
    /// Nothing was asked for yet.
    #[must_use]
    pub fn new(args: &ServerArgs) -> Self {
        let to_launcher = args.exit_with_parent.is_some() && args.announce_fd.is_none();
        Self { to_launcher, floor: None }
    }

    /// The logs in this directory have so many bytes.
    pub fn look(&mut self, dir: &Path, bytes: u64) {
        // A look at a file system that does not answer would hold up the server.
        if !self.has_grown(bytes) || bytes <= LOGS_MIN {
            return;
        }
        let Ok(about) = rustix::fs::statvfs(dir) else { return };
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        if !self.is_due(bytes, free) || !self.to_launcher {
            return;
        }
        let [taken, free] = [bytes, free].map(|bytes| bytes >> 20);
        let line = format!("{LOGS_NEED_ROOM}its logs take {taken} MiB, and {free} MiB are free\n");
        if !write_if_there_is_room(line.as_bytes()) {
            // A launcher that does not read is asked later.
            self.floor = None;
        }
    }

    /// Whether images are to be asked for: once, and again when the logs have grown by an eighth.
    fn is_due(&mut self, bytes: u64, free: u64) -> bool {
        let due = self.has_grown(bytes) && bytes > free.max(LOGS_MIN);
        if due {
            self.floor = Some(bytes);
        }
        due
    }

    /// Whether the logs have grown by an eighth since images were asked for and they were shortest.
    fn has_grown(&mut self, bytes: u64) -> bool {
        self.floor = self.floor.map(|floor| floor.min(bytes));
        self.floor.is_none_or(|floor| bytes > floor + floor / 8)
    }
}

/// Writes a short line to standard output, if it takes the line at once.
fn write_if_there_is_room(line: &[u8]) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = io::stdout();
    let mut ready = [PollFd::new(&out, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !matches!(poll(&mut ready, Some(&now)), Ok(1)) {
        return false;
    }
    let mut out = out.lock();
    let _ = out.write_all(line).and_then(|()| out.flush());
    true
}

/// Writes one line for the administrator.
pub fn log_line(server: &str, text: impl std::fmt::Display) {
    let line = format!("{server}: {text}\n");
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Raises the limit on descriptors to what the system allows: each rank and each log needs one.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Returns when the server is to end: on SIGINT, when its parent has ended, or on SIGTERM if it has
/// no parent to watch. A batch system sends SIGTERM to every process of a job, while a launcher
/// still needs its servers to store last images.
///
/// # Errors
/// Signals cannot be caught.
pub async fn shutdown_requested(exit_with_parent: Option<i32>) -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let parent = async {
        match exit_with_parent {
            None => std::future::pending().await,
            Some(pid) => parent_ended(pid).await,
        }
    };
    Ok(tokio::select! {
        _ = terminate.recv(), if exit_with_parent.is_none() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        () = parent => "its parent ended",
    })
}

/// Watches the parent *process*. `PR_SET_PDEATHSIG` would watch the thread that started this
/// process, which may end at any time in a parent with a thread pool. A server whose parent has no
/// number (0) was started from another host: the end of its standard input is the end of its
/// launcher.
async fn parent_ended(expected: i32) {
    let (notify, ended) = tokio::sync::mpsc::channel::<()>(1);
    let mut ended = ended;
    let watch = |wait: Box<dyn FnOnce() + Send>| {
        let notify = notify.clone();
        // The thread sleeps in the kernel.
        std::thread::spawn(move || {
            wait();
            let _ = notify.try_send(());
        });
    };
    watch(Box::new(move || wait_for_parent(expected)));
    if expected == 0 {
        watch(Box::new(wait_for_end_of_input));
    }
    let _ = ended.recv().await;
}

fn wait_for_end_of_input() {
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
}

fn wait_for_parent(expected: i32) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, getppid, pidfd_open};
    let Some(first) = getppid() else { return };
    if expected != 0 && first.as_raw_nonzero().get() != expected {
        return;
    }
    let watched = pidfd_open(first, PidfdFlags::empty());
    // While the process is our parent, the descriptor cannot be that of another process.
    while getppid() == Some(first) {
        match &watched {
            Ok(process) => {
                let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], None);
            }
            // Kernels before 5.3 have no such descriptors.
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_asked_for_once_until_logs_have_grown() {
        const MIB: u64 = 1 << 20;
        let mut room = LogRoom::default();
        assert!(!room.is_due(3 * MIB, 0), "little");
        assert!(!room.is_due(100 * MIB, 100 * MIB), "as much is free");
        assert!(room.is_due(100 * MIB, 99 * MIB));
        assert!(!room.is_due(110 * MIB, 90 * MIB), "an image is on its way");
        assert!(room.is_due(120 * MIB, 80 * MIB));
        // Images have made the logs shorter.
        assert!(!room.is_due(105 * MIB, 95 * MIB));
        assert!(room.is_due(119 * MIB, 81 * MIB));
        assert!(!room.is_due(20 * MIB, 180 * MIB));
        assert!(!room.is_due(90 * MIB, 110 * MIB));
        assert!(room.is_due(101 * MIB, 99 * MIB));
    }
}
