//! Event loggers, checkpoint servers, the checkpoint scheduler: processes of their own, started before the ranks, started
//! again on the same address and directory when they die.

mod placed;
mod process;
mod server_stderr;

use self::placed::{again, of_kind};
use self::process::run_server;
use self::server_stderr::ServerStderr;
use super::agents::shell_word;
use super::{Launcher, LauncherEvent};
use crate::cli::{Plan, Starter};
use crate::inject::{Fault, ServerKind};
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::SavedServer;
use ftmpi_transport::auth::{self, JobKey};
use ftmpi_wire::Rank;
use ftmpi_wire::hello::Purpose;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Starts of a server that may fail in a row.
const FAILURES_MAX: u32 = 10;
/// Removing directories on other hosts.
const REMOVE_LIMIT: Duration = Duration::from_secs(10);
/// Removing images from an object store.
const FORGET_LIMIT: Duration = Duration::from_secs(65);
/// From the kill of a server to its end.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// A server that was asked to end may need this long for its last sync.
const ASK_LIMIT: Duration = Duration::from_secs(4);
/// Asking a server for its figures.
const STATE_LIMIT: Duration = Duration::from_secs(2);
const RESTART_PAUSE: Duration = Duration::from_millis(200);
/// A server that ran this long starts with a clean record.
const GOOD_RUN: Duration = Duration::from_secs(10);

/// What a server says whose directory another one has not left yet.
const IN_USE: &str = "is in use by another server";
/// Words of the system.
const PORT_IN_USE: &str = "Address already in use";
/// A server of an earlier run on another host may need this long to see that its launcher is gone.
const IN_USE_PATIENCE: Duration = Duration::from_secs(90);

/// How a server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopMode {
    /// As if it had died.
    Kill,
    /// It may make durable what it has.
    Ask,
}

/// The next start of a server that ended.
#[derive(Debug)]
enum RestartDelay {
    /// It died.
    After(Duration),
    /// The one before it has not left yet.
    Quietly(Duration),
}

#[derive(Debug)]
struct Server {
    kind: ServerKind,
    /// Its number among those of its kind.
    number: usize,
    /// The host that it was placed on; none: the launcher's.
    place: Option<String>,
    /// Where it is started by ssh; none: beside the launcher.
    host: Option<String>,
    directory: PathBuf,
    /// Where it listens, once known; it comes back there.
    address: Option<SocketAddr>,
    up: bool,
    launch: u64,
    started: Instant,
    /// Since when its place is taken by one that lives.
    in_use_since: Option<Instant>,
    failures: u32,
    kill: Option<oneshot::Sender<StopMode>>,
    runs: Option<JoinHandle<()>>,
    serves: Vec<Rank>,
    stderr: ServerStderr,
}

/// All servers of the job.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Server>,
    listen_everywhere: bool,
    binaries: PathBuf,
    remote_binaries: PathBuf,
    rsh: Vec<String>,
    logger_delay: Option<Duration>,
    /// When event loggers acknowledge.
    acknowledge: Option<String>,
    event_rings: bool,
    /// Of channel memories, in MiB.
    memory_limit: Option<String>,
    /// The job's folder in an object store.
    object_store: Option<String>,
    /// Bytes that images may take on each checkpoint server.
    image_space: Option<u64>,
    /// Logs are cut when a wave is complete.
    waves_cut_logs: bool,
    size: usize,
}

impl Servers {
    /// The servers that this job needs; none without fault tolerance.
    pub fn new(plan: &Plan, job_dir: Option<&JobDir>, elsewhere: bool) -> anyhow::Result<Self> {
        let own = std::env::current_exe()?;
        let parent = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
        let size = plan.placement.len();
        let mut servers = Vec::new();
        if let Some(job_dir) = job_dir {
            let images = plan.ckpt_interval.is_some();
            let wanted = [
                (ServerKind::EventLogger, plan.traits.has_event_logger()),
                (ServerKind::ChannelMemory, plan.traits.memory),
                (ServerKind::CheckpointServer, images),
                (ServerKind::CheckpointScheduler, images),
            ];
            let before = plan.continued.as_ref().map_or(&[][..], |past| &past.saved.servers);
            for (kind, wanted) in wanted {
                let known: Vec<&SavedServer> = before.iter().filter(|s| s.kind == kind).collect();
                if !known.is_empty() {
                    servers.extend(known.into_iter().map(|known| again(known, plan, job_dir)));
                } else if wanted {
                    servers.extend(of_kind(kind, plan, job_dir, size)?);
                }
            }
        }
        for fault in &plan.faults {
            let Fault::KillServer { kind, number: Some(number), .. } = fault else { continue };
            let numbers = servers.iter().filter(|s: &&Server| s.kind == *kind).map(|s| s.number);
            if !numbers.clone().any(|there| there == *number) {
                let there: Vec<String> = numbers.map(|number| number.to_string()).collect();
                anyhow::bail!(
                    "--inject kill:server={},number={number}: the numbers of those in this job are: {}",
                    kind.name(),
                    if there.is_empty() { "none".to_owned() } else { there.join(", ") },
                );
            }
        }
        Ok(Self {
            servers,
            listen_everywhere: elsewhere,
            binaries: parent(&own),
            remote_binaries: parent(&plan.remote_path),
            rsh: match &plan.starter {
                Starter::Remote(stderr) => stderr.clone(),
                Starter::Fork => Vec::new(),
            },
            memory_limit: plan.memory_limit.clone(),
            object_store: plan
                .object_store
                .as_ref()
                .map(|address| format!("{}/{}", address.trim_end_matches('/'), plan.job_id)),
            image_space: plan.image_space,
            acknowledge: plan.protocol.setting("acknowledge").map(str::to_owned),
            event_rings: plan.event_rings,
            waves_cut_logs: plan.traits.in_waves() && plan.traits.replays(),
            logger_delay: plan.faults.iter().find_map(|fault| match fault {
                Fault::DelayLogger(delay) => Some(*delay),
                _ => None,
            }),
            size,
        })
    }

    /// For the plan of the job.
    pub fn describe(&self) -> Vec<SavedServer> {
        let describe = |server: &Server| SavedServer {
            kind: server.kind,
            number: server.number,
            host: server.place.clone(),
            serves: server.serves.clone(),
        };
        self.servers.iter().map(describe).collect()
    }

    /// Starts them all.
    pub fn start_all(&mut self, key: &JobKey, events: &mpsc::UnboundedSender<LauncherEvent>) {
        for index in 0..self.servers.len() {
            self.start(index, key, events);
        }
    }

    /// Starts one.
    pub fn start(
        &mut self,
        index: usize,
        key: &JobKey,
        events: &mpsc::UnboundedSender<LauncherEvent>,
    ) {
        let command = self.command(index);
        let server = &mut self.servers[index];
        server.launch += 1;
        server.stderr.begins();
        server.started = Instant::now();
        let (kill, killed) = oneshot::channel();
        server.kill = Some(kill);
        let launch = server.launch;
        let mut command = match command {
            Ok(command) => command,
            Err(why) => {
                let _ = events.send(LauncherEvent::ServerEnded { index, launch, why });
                return;
            }
        };
        let remote = server.host.is_some();
        if !remote {
            command.env("FTMPI_KEY", key.to_hex());
        }
        // Never on a command line: others could read it there.
        let key_line = remote.then(|| key.to_hex() + "\n");
        let events = events.clone();
        server.runs = Some(tokio::spawn(async move {
            let why = run_server(command, key_line, killed, index, launch, &events).await;
            let _ = events.send(LauncherEvent::ServerEnded { index, launch, why });
        }));
    }

    fn command(&self, index: usize) -> Result<Command, String> {
        let server = &self.servers[index];
        let program = match server.kind {
            ServerKind::EventLogger => "ftmpi-event-logger",
            ServerKind::CheckpointServer => "ftmpi-checkpoint-server",
            ServerKind::ChannelMemory => "ftmpi-channel-memory",
            ServerKind::CheckpointScheduler => "ftmpi-checkpoint-scheduler",
        };
        let stores = server.kind != ServerKind::CheckpointScheduler;
        let everywhere = self.listen_everywhere && stores;
        let ip = if everywhere { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let port = server.address.map_or(0, |address| address.port());
        let listen = SocketAddr::from((ip, port)).to_string();
        let mut arguments = vec!["--listen".to_owned(), listen];
        if stores {
            arguments.extend(["--dir".to_owned(), server.directory.display().to_string()]);
        }
        if matches!(server.kind, ServerKind::EventLogger | ServerKind::ChannelMemory)
            && let Some(delay) = self.logger_delay
        {
            arguments.extend(["--delay".to_owned(), format!("{}ms", delay.as_millis())]);
        }
        if server.kind == ServerKind::EventLogger
            && let Some(when) = &self.acknowledge
        {
            arguments.extend(["--acknowledge".to_owned(), when.clone()]);
        }
        if server.kind == ServerKind::EventLogger && self.event_rings {
            arguments.push("--rings".to_owned());
        }
        if server.kind == ServerKind::ChannelMemory
            && let Some(limit) = &self.memory_limit
        {
            arguments.extend(["--memory-limit".to_owned(), limit.clone()]);
        }
        if let Some(address) = self.object_tier_of(server) {
            arguments.extend(["--object-store".to_owned(), address]);
        }
        if server.kind == ServerKind::CheckpointServer
            && let Some(bytes) = self.image_space
        {
            arguments.extend(["--max-bytes".to_owned(), bytes.to_string()]);
        }
        if server.kind == ServerKind::CheckpointServer && self.waves_cut_logs {
            arguments.push("--waves-cut-logs".to_owned());
        }
        let mut command = match &server.host {
            None => {
                let file = self.binaries.join(program);
                if !file.is_file() {
                    return Err(format!(
                        "{} is not there; is the installation whole?",
                        file.display()
                    ));
                }
                let mut command = Command::new(file);
                command
                    .args(arguments)
                    .arg("--exit-with-parent")
                    .arg(std::process::id().to_string());
                command
            }
            Some(host) => {
                let file = self.remote_binaries.join(program).display().to_string();
                let stderr: Vec<String> =
                    std::iter::once(file).chain(arguments).map(|word| shell_word(&word)).collect();
                let script = format!(
                    "read -r FTMPI_KEY; export FTMPI_KEY; exec {} --exit-with-parent",
                    stderr.join(" ")
                );
                let mut command = Command::new(&self.rsh[0]);
                command.args(&self.rsh[1..]).arg(host).arg("sh").arg("-c").arg(shell_word(&script));
                command
            }
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    /// Where a checkpoint server's images go on to.
    fn object_tier_of(&self, server: &Server) -> Option<String> {
        let address = self.object_store.as_ref()?;
        (server.kind == ServerKind::CheckpointServer)
            .then(|| format!("{address}/{}-{}", server.kind.name(), server.number))
    }

    /// Removes the job's images from the object store; what could not be removed.
    pub async fn forget_object_tiers(&self) -> Option<String> {
        let mut trouble = None;
        for server in &self.servers {
            let Some(address) = self.object_tier_of(server) else { continue };
            let forgotten = Command::new(self.binaries.join("ftmpi-checkpoint-server"))
                .arg("--dir")
                .arg(&server.directory)
                .args(["--object-store", &address, "--forget"])
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output();
            trouble = match tokio::time::timeout(FORGET_LIMIT, forgotten).await {
                Ok(Ok(output)) if output.status.success() => continue,
                Ok(Ok(output)) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
                Ok(Err(e)) => Some(e.to_string()),
                Err(_) => Some(format!("{address} is slow")),
            };
        }
        trouble
    }

    /// A server told where it listens.
    /// Its kind, unless it is one that was given up.
    ///
    /// # Errors
    /// Nobody here knows where that is.
    pub fn is_up(
        &mut self,
        index: usize,
        launch: u64,
        mut address: SocketAddr,
    ) -> Result<Option<ServerKind>, String> {
        let server = &mut self.servers[index];
        if server.launch != launch {
            return Ok(None);
        }
        if let Some(host) = &server.host
            && address.ip().is_unspecified()
        {
            let port = address.port();
            let found = std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), port));
            let found = found.ok().and_then(|mut found| found.find(SocketAddr::is_ipv4));
            // A name service may fail for a moment. Its host is where it was when it came the first time.
            let before = server.address.map(|before| SocketAddr::new(before.ip(), port));
            address = found.or(before).ok_or_else(|| {
                format!(
                    "the {} on host {host} runs, but no IPv4 address of {host} is known here, where its \
                     clients are told: name the host by its address",
                    server.kind.name()
                )
            })?;
        }
        server.address = Some(address);
        server.up = true;
        Ok(Some(server.kind))
    }

    /// Whether every server listens.
    pub fn all_up(&self) -> bool {
        self.servers.iter().all(|server| server.up)
    }

    /// Whether every server's address is known, also of those that are just being restarted.
    pub fn all_known(&self) -> bool {
        self.servers.iter().all(|server| server.address.is_some())
    }

    /// Event logger (or channel memory, which is one) and checkpoint server of each rank.
    pub fn addresses(
        &self,
        seen: impl Fn(SocketAddr) -> SocketAddr,
    ) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let of = |kinds: &[ServerKind]| {
            let mut addresses = vec![None; self.size];
            for server in self.servers.iter().filter(|server| kinds.contains(&server.kind)) {
                for rank in &server.serves {
                    addresses[rank.index()] = server.address.map(&seen);
                }
            }
            addresses.into_iter().flatten().collect()
        };
        (
            of(&[ServerKind::EventLogger, ServerKind::ChannelMemory]),
            of(&[ServerKind::CheckpointServer]),
        )
    }

    /// Where the event loggers are, if every one's address is known.
    fn event_loggers(&self) -> Vec<SocketAddr> {
        let loggers = self.servers.iter().filter(|s| s.kind == ServerKind::EventLogger);
        loggers.map(|server| server.address).collect::<Option<_>>().unwrap_or_default()
    }

    /// Kills the server of this kind and number, or all of the kind; they are restarted as if they had
    /// died by themselves.
    pub fn kill(&mut self, kind: ServerKind, number: Option<usize>) {
        let meant = |s: &&mut Server| s.kind == kind && number.is_none_or(|n| s.number == n);
        for server in self.servers.iter_mut().filter(meant) {
            if let Some(kill) = server.kill.take() {
                let _ = kill.send(StopMode::Kill);
            }
        }
    }

    /// What the servers of this kind say of themselves.
    pub async fn states(&self, kind: ServerKind, key: &JobKey) -> Vec<serde_json::Value> {
        let mut states = Vec::new();
        let servers = self.servers.iter().filter(|server| server.kind == kind && server.up);
        for address in servers.filter_map(|server| server.address) {
            let address = match address.ip().is_unspecified() {
                true => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
                false => address,
            };
            if let Ok(state) = ftmpi_servers::client::status(address, key, STATE_LIMIT).await {
                states.push(state);
            }
        }
        states
    }

    /// The job is over: returns when they are gone and write no more. `keep`: what they have is needed.
    pub async fn stop(&mut self, keep: bool) {
        for server in &mut self.servers {
            server.launch += 1;
            // What is on its way to an object store may arrive after its sender's death, and after the removal
            // of everything.
            let flushes =
                self.object_store.is_some() && server.kind == ServerKind::CheckpointServer;
            let manner = if keep || flushes { StopMode::Ask } else { StopMode::Kill };
            if let Some(kill) = server.kill.take() {
                let _ = kill.send(manner);
            }
        }
        for server in &mut self.servers {
            if let Some(runs) = server.runs.take() {
                let _ = tokio::time::timeout(STOP_LIMIT, runs).await;
            }
        }
    }

    /// Removes the job's directory on other hosts, where servers made it.
    pub async fn remove_remote_directories(&self, directory: &Path) {
        let hosts: std::collections::BTreeSet<&String> =
            self.servers.iter().filter_map(|server| server.host.as_ref()).collect();
        let mut removing = tokio::task::JoinSet::new();
        for host in hosts {
            let mut command = Command::new(&self.rsh[0]);
            command
                .args(&self.rsh[1..])
                .arg(host)
                .args(["rm", "-rf", "--"])
                .arg(shell_word(&directory.display().to_string()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true);
            removing.spawn(async move { command.status().await });
        }
        let all = async { while removing.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(REMOVE_LIMIT, all).await;
    }

    /// It said this, or (`None`) nothing more; what is to be told of it now.
    fn stderr_lines(&mut self, index: usize, launch: u64, text: Option<String>) -> Vec<String> {
        let server = &mut self.servers[index];
        if server.launch != launch {
            return Vec::new();
        }
        text.into_iter().for_each(|text| server.stderr.says(text));
        if !server.up {
            return Vec::new();
        }
        let stderr = server.stderr.take();
        let name = self.title(index);
        stderr.into_iter().map(|text| format!("{name}: {text}")).collect()
    }

    /// Takes note of an end; the pause before the next start, or why there is none.
    fn ended(
        &mut self,
        index: usize,
        launch: u64,
        why: &str,
    ) -> Option<Result<RestartDelay, String>> {
        let name = self.title(index);
        let server = &mut self.servers[index];
        if server.launch != launch {
            return None;
        }
        let never_up = !server.up && server.address.is_none();
        if std::mem::take(&mut server.up) {
            server.in_use_since = None;
        }
        // One of an earlier launcher may be about to end. If it was ours, only the way to it may be gone: it lives,
        // and serves, until its host notices.
        let lives = why.contains(IN_USE) || (!never_up && why.contains(PORT_IN_USE));
        if lives {
            let since = *server.in_use_since.get_or_insert_with(Instant::now);
            if since.elapsed() < IN_USE_PATIENCE {
                return Some(Ok(RestartDelay::Quietly(RESTART_PAUSE)));
            }
        }
        server.failures = if server.started.elapsed() > GOOD_RUN { 0 } else { server.failures + 1 };
        if never_up {
            return Some(Err(format!("{name} cannot be started: {why}")));
        }
        if server.failures > FAILURES_MAX {
            return Some(Err(format!("{name} cannot be kept alive: {why}")));
        }
        Some(Ok(RestartDelay::After(RESTART_PAUSE * server.failures)))
    }

    /// What users know it by.
    fn title(&self, index: usize) -> String {
        let Server { kind, number, host, .. } = &self.servers[index];
        let several = self.servers.iter().filter(|server| server.kind == *kind).count() > 1;
        let number = if several { format!(" {number}") } else { String::new() };
        match host {
            Some(host) => format!("the {}{number} on {host}", kind.name()),
            None => format!("the {}{number}", kind.name()),
        }
    }

    fn kind(&self, index: usize) -> ServerKind {
        self.servers[index].kind
    }
}

impl Launcher {
    /// Tells event loggers of each other, where they tell each other what is written.
    pub(super) fn introduce_loggers(&self) {
        if self.plan.protocol.setting("stable-vector") != Some("loggers") {
            return;
        }
        let loggers = self.servers.event_loggers();
        for (index, &logger) in loggers.iter().enumerate() {
            let mut addresses = loggers.clone();
            addresses.remove(index);
            let key = self.key.clone();
            // One that is just dying is told when it is there again.
            tokio::spawn(async move {
                let purpose = Purpose::PeerLoggers { addresses };
                let _ = auth::connect(logger, &key, &purpose, STATE_LIMIT).await;
            });
        }
    }

    /// A server said this, or begins to serve.
    pub(super) fn on_server_line(&mut self, index: usize, launch: u64, text: Option<String>) {
        for line in self.servers.stderr_lines(index, launch, text) {
            self.printer.notice(line);
        }
    }

    pub(super) fn server_ended(&mut self, index: usize, launch: u64, why: &str) {
        let outcome = self.servers.ended(index, launch, why);
        let scheduler = self.servers.kind(index) == ServerKind::CheckpointScheduler;
        if scheduler && outcome.is_some() {
            self.scheduler_is_gone();
        }
        match outcome {
            None => {}
            Some(Ok(again)) => {
                let pause = match again {
                    RestartDelay::Quietly(pause) => pause,
                    RestartDelay::After(pause) => {
                        let name = self.servers.title(index);
                        self.printer.notice(format!("{name} died ({why}); starting it again"));
                        self.recorder.server_failed();
                        pause
                    }
                };
                let events = self.events.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    let _ = events.send(LauncherEvent::ServerAgain { index });
                });
            }
            Some(Err(text)) if scheduler && self.begun => {
                self.printer
                    .notice(format!("{text}; the launcher decides about images from here on"));
            }
            Some(Err(text)) => self.cannot_go_on(text),
        }
    }
}
