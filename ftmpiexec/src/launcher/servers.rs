//! Event loggers, channel memories, checkpoint servers and the checkpoint scheduler. Each is a
//! process of its own, started before the ranks, and started again at the same address and
//! directory when it dies.

mod command;
mod lifecycle;
mod placement;
mod process;
mod server_stderr;
mod watch;

use self::command::CommandBuilder;
use self::placement::{again, of_kind};
use self::process::run_server;
use self::server_stderr::ServerStderr;
use super::events::LauncherEvent;
use super::notices;
use super::starts::{NOT_STARTED, Starts, Underway};
use crate::cli::Plan;
use crate::inject::{Fault, ServerKind};
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::SavedServer;
use crate::tuning::{SERVER_REACH_LIMIT, SERVER_STATE_LIMIT, SERVER_STOP_LIMIT};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::Rank;
use ftmpi_wire::job_status::ServerStatus;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How a server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopMode {
    /// As if it had died.
    Kill,
    /// It may make durable what it has.
    Ask,
}

/// Why the servers of a job cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// A program of ftmpi is missing.
    #[error("{0} is not there; install ftmpi as a whole (make install)")]
    NotInstalled(String),
    /// A server runs on a host whose address is not known here.
    #[error(
        "the {kind} on host {host} runs, but no address of {host} is known here, where its \
         clients are told: name the host by its address"
    )]
    NoAddress {
        /// The kind of the server.
        kind: &'static str,
        /// Its host.
        host: String,
    },
    /// A fault names a server that the job does not have.
    #[error(
        "--inject kill:server={kind},number={number}: this job has {}",
        there(.kind, .numbers)
    )]
    NoSuchServer {
        /// The kind that the fault names.
        kind: &'static str,
        /// The number that the fault names.
        number: usize,
        /// The numbers of the servers of this kind.
        numbers: Vec<usize>,
    },
}

fn there(kind: &str, numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match list.as_slice() {
        [] => format!("no {kind}"),
        [only] => format!("only the {kind} number {only}"),
        _ => format!("the {kind}s {}", list.join(", ")),
    }
}

/// One server.
#[derive(Debug)]
struct Server {
    kind: ServerKind,
    /// Number of the server among those of its kind.
    number: usize,
    /// The host that the server was placed on; `None`: the launcher's.
    place: Option<String>,
    /// The host where ssh starts the server; `None`: it runs on the launcher's host.
    host: Option<String>,
    directory: PathBuf,
    /// Where the server listens, once that is known. The server comes back there.
    address: Option<SocketAddr>,
    up: bool,
    /// Counts the starts of the server.
    launch: u64,
    started: Instant,
    /// Since when a server of an earlier run occupies the directory or the port.
    in_use_since: Option<Instant>,
    failures: u32,
    /// Whether it answers.
    pulse: watch::Pulse,
    /// Its host is down (fault injection).
    down: bool,
    kill: Option<oneshot::Sender<StopMode>>,
    /// Its start on another host, until it is up or has ended.
    starting: Option<Underway>,
    runs: Option<JoinHandle<()>>,
    /// The ranks that the server serves.
    serves: Vec<Rank>,
    stderr: ServerStderr,
}

/// All servers of the job.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Server>,
    commands: CommandBuilder,
    /// Limits how many start at a time on other hosts, agents included.
    starts: Starts,
    size: usize,
    /// The user knows that logs take much of a disk.
    told_of_logs: bool,
}

impl Servers {
    /// The servers that this job needs; none without fault tolerance.
    ///
    /// # Errors
    /// A fault names a server that the job does not have.
    pub fn new(plan: &Plan, job_dir: Option<&JobDir>, elsewhere: bool) -> anyhow::Result<Self> {
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
            let before = plan.continued.as_ref().map_or(&[][..], |earlier| &earlier.saved.servers);
            for (kind, wanted) in wanted {
                let known: Vec<&SavedServer> = before.iter().filter(|s| s.kind == kind).collect();
                if !known.is_empty() {
                    servers.extend(known.into_iter().map(|known| again(known, plan, job_dir)));
                } else if wanted {
                    servers.extend(of_kind(kind, plan, job_dir, size));
                }
            }
        }
        check_faults(&plan.faults, &servers)?;
        Ok(Self {
            servers,
            commands: CommandBuilder::new(plan, elsewhere)?,
            starts: Starts::new(plan.launch_at_once),
            size,
            told_of_logs: false,
        })
    }

    /// What limits how many processes start at a time.
    pub fn starts(&self) -> &Starts {
        &self.starts
    }

    /// Processes have joined the job, which has so many ranks now: its servers take turns.
    pub fn ranks_added(&mut self, size: usize) {
        for kind in [ServerKind::EventLogger, ServerKind::CheckpointServer] {
            let mut all: Vec<&mut Server> =
                self.servers.iter_mut().filter(|server| server.kind == kind).collect();
            let count = all.len().max(1);
            for rank in self.size..size {
                if let Some(server) = all.get_mut(rank % count) {
                    server.serves.push(Rank(rank as u32));
                }
            }
        }
        self.size = size;
    }

    /// The servers, for the plan of the job.
    pub fn describe(&self) -> Vec<SavedServer> {
        let describe = |server: &Server| SavedServer {
            kind: server.kind,
            number: server.number,
            host: server.place.clone(),
            serves: server.serves.clone(),
        };
        self.servers.iter().map(describe).collect()
    }

    /// Starts all servers.
    pub fn start_all(&mut self, key: &JobKey, events: &mpsc::UnboundedSender<LauncherEvent>) {
        for index in 0..self.servers.len() {
            self.start(index, key, events);
        }
    }

    /// Starts one server.
    pub fn start(
        &mut self,
        index: usize,
        key: &JobKey,
        events: &mpsc::UnboundedSender<LauncherEvent>,
    ) {
        let meant = &self.servers[index];
        let near = |s: &&Server| s.kind == meant.kind && s.host == meant.host;
        let command = self.commands.command(meant, self.servers.iter().filter(near).count());
        let server = &mut self.servers[index];
        server.launch += 1;
        server.stderr.begin();
        server.started = Instant::now();
        let (kill, killed) = oneshot::channel();
        server.kill = Some(kill);
        let launch = server.launch;
        let command = match server.down {
            true => Err("its host is down (--inject)".to_owned()),
            false => command.map_err(|e| e.to_string()),
        };
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
        // The key is never part of a command line, where other users could read it.
        let key_line = remote.then(|| key.to_hex() + "\n");
        let turn = remote.then(|| self.starts.ask()).map(|(underway, turn)| {
            server.starting = Some(underway);
            turn
        });
        let (events, mut killed) = (events.clone(), killed);
        server.runs = Some(tokio::spawn(async move {
            if let Some(turn) = turn
                && !turn.comes(&mut killed).await
            {
                let why = NOT_STARTED.to_owned();
                let _ = events.send(LauncherEvent::ServerEnded { index, launch, why });
                return;
            }
            let key = (key_line, SERVER_REACH_LIMIT);
            let why = run_server(command, key, killed, (index, launch), &events).await;
            let _ = events.send(LauncherEvent::ServerEnded { index, launch, why });
        }));
    }

    /// A server reports where it listens. The result is the kind of the server, unless an earlier
    /// start of it reports.
    ///
    /// # Errors
    /// The address of the server's host is not known here.
    pub fn set_up(
        &mut self,
        index: usize,
        launch: u64,
        mut address: SocketAddr,
    ) -> Result<Option<ServerKind>, ServerError> {
        let server = &mut self.servers[index];
        if server.launch != launch {
            return Ok(None);
        }
        if let Some(host) = &server.host
            && address.ip().is_unspecified()
        {
            let port = address.port();
            let found = std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), port));
            let found: Vec<SocketAddr> = found.into_iter().flatten().collect();
            let found = found.iter().find(|found| found.is_ipv4()).or(found.first()).copied();
            // A name service may fail for a moment. The host has the address that it had when the
            // server came up for the first time.
            let before = server.address.map(|before| SocketAddr::new(before.ip(), port));
            address = found.or(before).ok_or_else(|| ServerError::NoAddress {
                kind: server.kind.name(),
                host: host.clone(),
            })?;
        }
        server.address = Some(address);
        (server.up, server.starting) = (true, None);
        Ok(Some(server.kind))
    }

    /// Servers of other hosts are reached at the addresses that `found` knows of their hosts.
    pub fn move_into_network(&mut self, found: impl Fn(&str) -> Option<IpAddr>) {
        for server in &mut self.servers {
            if let Some(ip) = server.host.as_deref().and_then(&found)
                && let Some(address) = &mut server.address
            {
                address.set_ip(ip);
            }
        }
    }

    /// The servers, for people.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        let status = |server: &Server| ServerStatus {
            name: format!("{} {}", server.kind.name(), server.number),
            host: server.place.clone(),
            up: server.up,
            address: server.address.map(|address| address.to_string()),
            restarts: server.launch.saturating_sub(1),
            ranks: match server.serves.len() == self.size {
                true => Vec::new(),
                false => server.serves.iter().map(|rank| rank.0).collect(),
            },
        };
        self.servers.iter().map(status).collect()
    }

    /// Servers that do not serve: what each is called, and its host if that is another one.
    pub fn not_up(&self) -> Vec<(String, Option<&str>)> {
        let missing = self.servers.iter().enumerate().filter(|(_, server)| !server.up);
        missing.map(|(index, server)| (self.title(index), server.host.as_deref())).collect()
    }

    /// Whether every server listens.
    pub fn all_up(&self) -> bool {
        self.servers.iter().all(|server| server.up)
    }

    /// Whether every server's address is known, also of servers that are being restarted.
    pub fn all_known(&self) -> bool {
        self.servers.iter().all(|server| server.address.is_some())
    }

    /// Event logger (or channel memory, which is one) and checkpoint server of each rank. `seen`
    /// turns an address into the one that the reader uses.
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

    /// As [`Servers::addresses`], as the launcher itself uses them.
    pub fn own_addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        self.addresses(from_here)
    }

    /// Addresses of the event loggers; none until every one's address is known.
    fn event_loggers(&self) -> Vec<SocketAddr> {
        let loggers = self.servers.iter().filter(|s| s.kind == ServerKind::EventLogger);
        loggers.map(|server| server.address).collect::<Option<_>>().unwrap_or_default()
    }

    /// Kills the server of this kind and number, or all servers of the kind. They are restarted as
    /// if they had died by themselves.
    pub fn kill(&mut self, kind: ServerKind, number: Option<usize>) {
        let meant = |s: &&mut Server| s.kind == kind && number.is_none_or(|n| s.number == n);
        for server in self.servers.iter_mut().filter(meant) {
            if let Some(kill) = server.kill.take() {
                let _ = kill.send(StopMode::Kill);
            }
        }
    }

    /// Fault injection: a host goes down with its servers, or comes back.
    pub fn set_host_down(&mut self, name: &str, down: bool) {
        for server in self.servers.iter_mut().filter(|s| s.place.as_deref() == Some(name)) {
            server.down = down;
            if down && let Some(kill) = server.kill.take() {
                let _ = kill.send(StopMode::Kill);
            }
        }
    }

    /// The figures of the servers of this kind, as each of them reports them.
    pub async fn states(&self, kind: ServerKind, key: &JobKey) -> Vec<serde_json::Value> {
        let mut states = Vec::new();
        let servers = self.servers.iter().filter(|server| server.kind == kind && server.up);
        for address in servers.filter_map(|server| server.address).map(from_here) {
            if let Ok(state) = ftmpi_servers::client::status(address, key, SERVER_STATE_LIMIT).await
            {
                states.push(state);
            }
        }
        states
    }

    /// Asks each server for its figures, all at the same time, for the metrics of the job. `here`:
    /// the launcher's host.
    pub fn ask_each(&self, key: &JobKey, here: &str) -> Vec<JoinHandle<serde_json::Value>> {
        let ask = |server: &Server| {
            let mut entry = serde_json::json!({
                "kind": server.kind.name(),
                "server": server.number,
                "host": server.place.as_deref().unwrap_or(here),
                "up": false,
            });
            let address = server.address.filter(|_| server.up).map(from_here);
            let key = key.clone();
            tokio::spawn(async move {
                let Some(address) = address else { return entry };
                let told = ftmpi_servers::client::status(address, &key, SERVER_STATE_LIMIT);
                if let Ok(state) = told.await {
                    entry["up"] = true.into();
                    entry["state"] = state;
                }
                entry
            })
        };
        self.servers.iter().map(ask).collect()
    }

    /// Ends all servers, because the job is over; returns when they write no more. `keep`: what
    /// they have stored is needed.
    pub async fn stop(&mut self, keep: bool) {
        for server in &mut self.servers {
            server.launch += 1;
            // What a killed server has sent to an object store may arrive after its death, and
            // after the removal of everything.
            let flushes =
                self.commands.uses_object_store() && server.kind == ServerKind::CheckpointServer;
            let mode = if keep || flushes { StopMode::Ask } else { StopMode::Kill };
            if let Some(kill) = server.kill.take() {
                let _ = kill.send(mode);
            }
        }
        for server in &mut self.servers {
            if let Some(runs) = server.runs.take() {
                let _ = tokio::time::timeout(SERVER_STOP_LIMIT, runs).await;
            }
        }
    }
}

/// An address for the launcher itself.
fn from_here(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
    } else {
        address
    }
}

/// Whether the job has the servers that its faults name.
fn check_faults(faults: &[Fault], servers: &[Server]) -> Result<(), ServerError> {
    for fault in faults {
        let Fault::KillServer { kind, number: Some(number), .. } = fault else { continue };
        let of_kind = servers.iter().filter(|server| server.kind == *kind);
        let numbers: Vec<usize> = of_kind.map(|server| server.number).collect();
        if !numbers.contains(number) {
            let (kind, number) = (kind.name(), *number);
            return Err(ServerError::NoSuchServer { kind, number, numbers });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_server_of_a_fault_lists_those_of_the_job() {
        let text = |numbers: &[usize]| {
            let (kind, numbers) = ("event-logger", numbers.to_vec());
            ServerError::NoSuchServer { kind, number: 7, numbers }.to_string()
        };
        let begin = "--inject kill:server=event-logger,number=7: this job has ";
        assert_eq!(text(&[]), format!("{begin}no event-logger"));
        assert_eq!(text(&[0]), format!("{begin}only the event-logger number 0"));
        assert_eq!(text(&[0, 1]), format!("{begin}the event-loggers 0, 1"));
    }
}
