//! Agents as the launcher sees them: started here or over ssh, called back, lost, started again.

use super::{Authenticated, Launcher, LauncherEvent, ProcessId, started_at};
use crate::agent_protocol::{AgentSetup, FRAME_BYTES_MAX, FromAgent, ToAgent};
use crate::cli::{Machine, Plan, Starter, own_address_towards};
use crate::job_dir::progress::RankProgress;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_transport::framed::{FrameError, FrameReader, FrameWriter, Framed};
use ftmpi_wire::Rank;
use ftmpi_wire::hello::{Purpose, Welcome};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Agents that are started at the same time.
const STARTS_AT_ONCE: usize = 32;
/// From the start of an agent to its first word.
const START_LIMIT: Duration = Duration::from_secs(60);
/// The same for a host that was up and fell away, and all its starts together: its ranks wait to be moved.
const RESTART_LIMIT: Duration = Duration::from_secs(30);
/// Starts of the agent of one host that may fail in a row, once it was up.
const RESTARTS_MAX: u32 = 3;

/// One agent.
#[derive(Debug, Default)]
pub struct AgentState {
    /// Counts its starts; what an earlier start says is ignored.
    pub launch: u64,
    /// Heartbeats missed in a row.
    pub missed: u32,
    /// The process that we started (the agent, or its ssh) has not ended.
    pub child_runs: bool,
    /// Its connection is open: there may be words of it on their way.
    pub talks: bool,
    /// Processors of its host; 0: it has not said.
    pub processors: u32,
    /// The leaders of its ranks' process groups.
    pub processes: BTreeMap<Rank, ProcessId>,
    link: Option<mpsc::UnboundedSender<ToAgent>>,
    /// Our side of the connection, as seen from there.
    seen_as: Option<IpAddr>,
    peer: Option<IpAddr>,
    port: Option<u16>,
    process: Option<ProcessId>,
    kill: Option<oneshot::Sender<()>>,
    failed_starts: u32,
    /// When it fell away, if it was up and has not come back.
    lost: Option<Instant>,
}

impl AgentState {
    /// Whether this start is the present one.
    pub fn is_launch(&self, launch: u64) -> bool {
        self.launch == launch
    }

    /// From a start to the first word.
    fn start_limit(&self) -> Duration {
        if self.lost.is_some() { RESTART_LIMIT } else { START_LIMIT }
    }

    /// Whether it said that it is ready, and is not lost since.
    pub fn is_up(&self) -> bool {
        self.link.is_some() && self.port.is_some()
    }

    /// Makes sure that it is gone.
    pub fn kill_hard(&mut self) {
        self.link = None;
        if let Some(kill) = self.kill.take() {
            let _ = kill.send(());
        }
    }
}

/// Processes of an earlier run that may have outlived it are killed by the agents of their hosts before
/// anything starts there.
pub fn give_leftovers(
    agents: &mut [AgentState],
    plan: &Plan,
    machines_then: &[Machine],
    ranks: &[RankProgress],
) {
    for (rank, known) in ranks.iter().enumerate() {
        let Some((process, then)) = known.process.zip(machines_then.get(known.host as usize))
        else {
            continue;
        };
        let same = |now: &&Machine| now.name == then.name;
        let here = |now: &Machine| !plan.is_remote(&now.name);
        let place = match plan.machines.iter().find(same) {
            Some(found) => plan.machines.iter().position(|now| now.name == found.name),
            // On this machine, under another name.
            None if !plan.is_remote(&then.name) => plan.machines.iter().position(here),
            None => None,
        };
        if let Some(place) = place {
            agents[place].processes.insert(Rank(rank as u32), process);
        }
    }
}

thread_local! {
    static STARTS: Arc<Semaphore> = Arc::new(Semaphore::new(STARTS_AT_ONCE));
}

impl Launcher {
    pub(super) fn start_agent(&mut self, host: u32) {
        let name = self.plan.machines[host as usize].name.clone();
        let remote = self.plan.is_remote(&name);
        let state = &mut self.agents[host as usize];
        state.kill_hard();
        state.launch += 1;
        state.missed = 0;
        state.port = None;
        state.child_runs = true;
        let launch = state.launch;
        let leftovers: Vec<ProcessId> = state.processes.values().copied().collect();
        let (kill, killed) = oneshot::channel();
        state.kill = Some(kill);
        let port = self.listen.port();
        let everywhere = self.listen.ip().is_unspecified();
        let address = if remote {
            own_address_towards(&name).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
        } else {
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        };
        let temporary = self.job_dir.as_ref().filter(|_| !remote).and_then(|d| d.temporary());
        let setup = AgentSetup {
            key: self.key.to_hex(),
            image_key: self.image_key.as_ref().map(|key| key.to_hex()),
            host,
            launcher: vec![SocketAddr::new(address, port)],
            leftovers,
            listen_everywhere: everywhere,
            temporary,
        };
        let mut line = match serde_json::to_string(&setup) {
            Ok(line) => line,
            Err(e) => {
                let why = e.to_string();
                let _ = self.events.send(LauncherEvent::AgentEnded { host, launch, why });
                return;
            }
        };
        line.push('\n');
        let limit = self.agents[host as usize].start_limit();
        let command = self.agent_command(&name, remote);
        let events = self.events.clone();
        let starts = STARTS.with(Arc::clone);
        let printer = self.events.clone();
        tokio::spawn(async move {
            let permit = starts.acquire_owned().await;
            let late = events.clone();
            tokio::spawn(async move {
                tokio::time::sleep(limit).await;
                let _ = late.send(LauncherEvent::AgentLate { host, launch });
            });
            // The start is over when the agent has called; the permit goes with a short delay.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                drop(permit);
            });
            let why = run_agent_process(command, line, killed).await;
            drop(printer);
            let _ = events.send(LauncherEvent::AgentEnded { host, launch, why });
        });
    }

    fn agent_command(&self, name: &str, remote: bool) -> Command {
        let program = if remote {
            self.plan.remote_path.clone()
        } else {
            std::env::current_exe().unwrap_or_else(|_| self.plan.remote_path.clone())
        };
        let mut command = match (&self.plan.starter, remote) {
            (Starter::Remote(words), true) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).arg(name).arg(shell_word(&program.display().to_string()));
                command
            }
            _ => Command::new(program),
        };
        command
            .arg("--agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the launcher, which knows how to end a job.
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Somebody who holds the key calls.
    pub(super) async fn agent_calls(&mut self, mut caller: Authenticated) {
        let Purpose::Agent { host } = caller.purpose else {
            let why = Welcome::No("this is a launcher: only agents call here".into());
            let _ = caller.responder.answer(&mut caller.stream, why).await;
            return;
        };
        let Some(state) = self.agents.get_mut(host as usize).filter(|s| s.link.is_none()) else {
            let why = Welcome::No("no agent of that host is expected".into());
            let _ = caller.responder.answer(&mut caller.stream, why).await;
            return;
        };
        if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_err() {
            return;
        }
        state.seen_as = caller.stream.local_addr().ok().map(|address| address.ip());
        state.peer = Some(caller.peer.ip());
        let launch = state.launch;
        let (link, outbox) = mpsc::unbounded_channel();
        state.link = Some(link);
        state.talks = true;
        let framed = Framed::<TcpStream, ToAgent, FromAgent>::new(caller.stream, FRAME_BYTES_MAX);
        let (reader, writer) = framed.split();
        tokio::spawn(read_agent(reader, host, launch, self.events.clone()));
        tokio::spawn(write_agent(writer, outbox, (host, launch), self.events.clone()));
    }

    pub(super) fn agent_ready(&mut self, host: u32, port: u16, process: ProcessId) {
        let state = &mut self.agents[host as usize];
        state.port = Some(port);
        state.process = Some(process);
        state.missed = 0;
        (state.failed_starts, state.lost) = (0, None);
        // (It has killed them.)
        state.processes.clear();
        let job = self.job.clone();
        self.to_agent(host, ToAgent::Job(Box::new(job)));
        self.recorder.agent_ready(host, process.pid);
        // All that were waited for: now they can find each other.
        self.send_agents();
        self.send_servers();
        self.notify_dispatcher(Input::AgentUp { host });
    }

    /// Tells each agent where the others are, as seen from there.
    fn send_agents(&mut self) {
        for host in 0..self.agents.len() as u32 {
            let from = &self.agents[host as usize];
            if !from.is_up() {
                continue;
            }
            let seen_as = from.seen_as;
            let addresses = self
                .agents
                .iter()
                .map(|to| {
                    let (peer, port) = (to.peer?, to.port?);
                    // An agent beside the launcher is where the launcher is.
                    let ip = if peer.is_loopback() { seen_as? } else { peer };
                    Some(SocketAddr::new(ip, port))
                })
                .collect();
            self.to_agent(host, ToAgent::Agents(addresses));
        }
    }

    /// Tells each agent where the servers are, as seen from there.
    pub(super) fn send_servers(&mut self) {
        if !self.servers.all_known() {
            return;
        }
        for host in 0..self.agents.len() as u32 {
            let Some(seen_as) = self.agents[host as usize].seen_as else { continue };
            let here = |address: SocketAddr| {
                if address.ip().is_unspecified() || address.ip().is_loopback() {
                    SocketAddr::new(seen_as, address.port())
                } else {
                    address
                }
            };
            let (event_loggers, checkpoint_servers) = self.servers.addresses(here);
            self.to_agent(host, ToAgent::Servers { event_loggers, checkpoint_servers });
        }
        self.introduce_loggers();
    }

    pub(super) fn to_agent(&self, host: u32, message: ToAgent) {
        if let Some(link) = &self.agents[host as usize].link {
            let _ = link.send(message);
        }
    }

    pub(super) fn to_all(&self, message: &ToAgent) {
        for host in 0..self.agents.len() as u32 {
            self.to_agent(host, message.clone());
        }
    }

    /// Its connection ended or it fell silent.
    pub(super) fn agent_gone(&mut self, host: u32, launch: u64, why: &str) {
        let state = &mut self.agents[host as usize];
        if !state.is_launch(launch) || !state.is_up() {
            return;
        }
        state.talks = false;
        state.kill_hard();
        state.port = None;
        state.lost = Some(Instant::now());
        if !self.plan.is_remote(&self.plan.machines[host as usize].name) {
            self.kill_leftovers_here(host);
        }
        self.notify_dispatcher(Input::AgentLost { host, why: why.to_owned() });
    }

    /// An agent beside the launcher died without cleaning up: its ranks got the death signal,
    /// their children did not.
    fn kill_leftovers_here(&mut self, host: u32) {
        for process in self.agents[host as usize].processes.values() {
            let gone_or_same =
                started_at(process.pid).is_none_or(|started| started == process.started);
            if gone_or_same && let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        }
    }

    /// Its process ended. Before it was up, that is a failed start; afterwards its connection
    /// tells more.
    pub(super) fn agent_ended(&mut self, host: u32, launch: u64, why: String) {
        let state = &mut self.agents[host as usize];
        if !state.is_launch(launch) {
            return;
        }
        state.child_runs = false;
        if state.is_up() {
            return self.agent_gone(host, launch, &format!("its agent ended ({why})"));
        }
        if state.port.is_none() && state.kill.is_some() {
            self.start_failed(host, why);
        }
    }

    pub(super) fn agent_late(&mut self, host: u32, launch: u64) {
        let state = &self.agents[host as usize];
        if state.is_launch(launch) && !state.is_up() && state.child_runs {
            let why =
                format!("its agent did not report within {} s", state.start_limit().as_secs());
            self.start_failed(host, why);
        }
    }

    /// Something cannot be said to an agent, now or ever.
    pub(super) fn on_unsendable(&mut self, host: u32, launch: u64, why: &str) {
        if self.agents[host as usize].is_launch(launch) {
            let name = &self.plan.machines[host as usize].name;
            let text = format!(
                "the agent of {name} cannot be told what it has to know ({why}); use fewer ranks, or less in \
                 the environment and arguments of the programs"
            );
            self.cannot_go_on(text);
        }
    }

    fn start_failed(&mut self, host: u32, why: String) {
        let state = &mut self.agents[host as usize];
        state.kill_hard();
        state.failed_starts += 1;
        let hopeful = state.lost.is_some_and(|since| since.elapsed() < RESTART_LIMIT);
        if hopeful && state.failed_starts < RESTARTS_MAX {
            return self.start_agent(host);
        }
        self.notify_dispatcher(Input::AgentFailed { host, why });
    }

    /// The agent's process, for fault injection.
    pub(super) fn agent_pid(&self, host: u32) -> Option<ProcessId> {
        self.agents[host as usize].process.filter(|_| self.agents[host as usize].is_up())
    }
}

/// Quotes a word for the shell at the other end of ssh.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-=:,@%+".contains(&b))
    {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Runs the process to its end; why it ended, with the last line that it said.
async fn run_agent_process(
    mut command: Command,
    setup: String,
    killed: oneshot::Receiver<()>,
) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => {
            let program = command.as_std().get_program().to_string_lossy().into_owned();
            return format!("{program} cannot be started: {e}");
        }
    };
    // Kept open: some ssh replacements end with their input.
    let stdin = child.stdin.take();
    let stdin = match stdin {
        Some(mut stdin) => match stdin.write_all(setup.as_bytes()).await {
            Ok(()) => Some(stdin),
            Err(_) => None,
        },
        None => None,
    };
    let stderr = child.stderr.take();
    let last_line = tokio::spawn(async move {
        let mut last = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if !line.trim().is_empty() {
                    last = line.chars().take(400).collect();
                }
            }
        }
        last
    });
    let status = tokio::select! {
        status = child.wait() => status,
        _ = killed => {
            let _ = child.start_kill();
            child.wait().await
        }
    };
    drop(stdin);
    let ended = status.map_or_else(|e| e.to_string(), |status| status.to_string());
    match tokio::time::timeout(Duration::from_millis(500), last_line).await {
        Ok(Ok(line)) if !line.is_empty() => format!("{ended}: {line}"),
        _ => ended,
    }
}

async fn read_agent<R: AsyncRead + Unpin>(
    mut reader: FrameReader<R, FromAgent>,
    host: u32,
    launch: u64,
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    let why = loop {
        match reader.recv().await {
            Ok(Some(message)) => {
                let message = Box::new(message);
                if events.send(LauncherEvent::Agent { host, launch, message }).is_err() {
                    return;
                }
            }
            Ok(None) => break "its agent closed the connection".to_owned(),
            Err(e) => break format!("its agent: {e}"),
        }
    };
    let _ = events.send(LauncherEvent::AgentGone { host, launch, why });
}

async fn write_agent<W: AsyncWrite + Unpin>(
    mut writer: FrameWriter<W, ToAgent>,
    mut outbox: mpsc::UnboundedReceiver<ToAgent>,
    (host, launch): (u32, u64),
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    while let Some(message) = outbox.recv().await {
        if let Err(e) = writer.feed(&message).await {
            if !matches!(e, FrameError::TooLong { .. }) {
                // The other direction notices that the connection is gone.
                return;
            }
            // Another agent could not be told it either: it is told the end of the job.
            let _ =
                events.send(LauncherEvent::AgentUnsendable { host, launch, why: e.to_string() });
        }
        if outbox.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
    // An agent that was given up may be there all the same, and only stand still: it learns of it, and ends
    // its ranks.
    let _ = writer.close().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_too_long_for_a_frame_is_no_silence() {
        let (here, there) = tokio::io::duplex(1 << 16);
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        outbox.send(ToAgent::ForgetFiles(vec!["x".repeat(2000)])).unwrap();
        outbox.send(ToAgent::Heard).unwrap();
        drop(outbox);
        let writer = FrameWriter::new(here, 1000);
        write_agent(writer, queue, (3, 7), events).await;
        let Some(LauncherEvent::AgentUnsendable { host: 3, launch: 7, why }) = inbox.recv().await
        else {
            panic!("nobody heard of it")
        };
        assert!(why.contains("longer than a frame"), "{why}");
        let mut reader = FrameReader::<_, ToAgent>::new(there, 1000);
        assert_eq!(reader.recv().await.unwrap(), Some(ToAgent::Heard), "the rest is said");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("/opt/ftmpi/bin/ftmpiexec"), "/opt/ftmpi/bin/ftmpiexec");
        assert_eq!(shell_word("/my dir/x"), "'/my dir/x'");
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
    }
}
