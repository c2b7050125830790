//! The command lines of servers, and what they leave on other hosts and in the object store.

use super::process::REACHED;
use super::{Server, ServerError, Servers};
use crate::cli::{Plan, Starter};
use crate::inject::{Fault, ServerKind};
use crate::shell::shell_word;
use crate::tuning::{OBJECT_REMOVAL_LIMIT, REMOTE_REMOVAL_LIMIT};
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The options of the job that concern its servers.
#[derive(Debug)]
pub struct CommandBuilder {
    /// Where servers listen: on all interfaces if they or their ranks are on other hosts.
    listen: IpAddr,
    /// Ports on which servers listen, if not any.
    port_range: Option<String>,
    binaries: PathBuf,
    remote_binaries: PathBuf,
    starter: Starter,
    /// What the starter is told for each host of which it needs a user.
    targets: HashMap<String, String>,
    logger_delay: Option<Duration>,
    slow_disk: Option<Duration>,
    /// How long a host may be silent on a connection of a server.
    silence: Duration,
    /// When event loggers acknowledge.
    acknowledge: Option<String>,
    event_rings: bool,
    /// Main memory of each channel memory, in MiB.
    memory_limit: Option<String>,
    /// The job's folder in an object store.
    object_store: Option<String>,
    /// Bytes that images may take on each checkpoint server.
    image_space: Option<u64>,
    /// Logs are cut when a wave is complete.
    waves_cut_logs: bool,
}

impl CommandBuilder {
    /// The options of this plan.
    ///
    /// # Errors
    /// The path of this program is not known.
    pub fn new(plan: &Plan, listen_everywhere: bool) -> std::io::Result<Self> {
        let own = std::env::current_exe()?;
        let parent = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self {
            listen: plan.listen_on(listen_everywhere),
            port_range: plan
                .port_range
                .as_ref()
                .map(|ports| format!("{}-{}", ports.start(), ports.end())),
            binaries: parent(&own),
            remote_binaries: parent(&plan.remote_path),
            starter: plan.starter.clone(),
            targets: plan
                .machines
                .iter()
                .map(|machine| (machine.name.clone(), plan.target(&machine.name)))
                .collect(),
            silence: plan.times.connection(),
            logger_delay: plan.faults.iter().find_map(|fault| match fault {
                Fault::DelayLogger(delay) => Some(*delay),
                _ => None,
            }),
            slow_disk: plan.faults.iter().find_map(|fault| match fault {
                Fault::SlowDisk(time) => Some(*time),
                _ => None,
            }),
            acknowledge: plan.protocol.setting("acknowledge").map(str::to_owned),
            event_rings: plan.event_rings,
            memory_limit: plan.memory_limit.clone(),
            object_store: plan
                .object_store
                .as_ref()
                .map(|address| format!("{}/{}", address.trim_end_matches('/'), plan.job_id)),
            image_space: plan.image_space,
            waves_cut_logs: plan.traits.in_waves() && plan.traits.replays(),
        })
    }

    /// Whether images go on to an object store.
    pub fn uses_object_store(&self) -> bool {
        self.object_store.is_some()
    }

    /// The command that starts a server. `neighbours`: how many servers of its kind its host has.
    ///
    /// # Errors
    /// The server's program is not installed.
    pub fn command(&self, server: &Server, neighbours: usize) -> Result<Command, ServerError> {
        let program = match server.kind {
            ServerKind::EventLogger => "ftmpi-event-logger",
            ServerKind::CheckpointServer => "ftmpi-checkpoint-server",
            ServerKind::ChannelMemory => "ftmpi-channel-memory",
            ServerKind::CheckpointScheduler => "ftmpi-checkpoint-scheduler",
        };
        let arguments = self.arguments(server, neighbours);
        let mut command = match &server.host {
            None => {
                let file = self.binaries.join(program);
                if !file.is_file() {
                    return Err(ServerError::NotInstalled(file.display().to_string()));
                }
                let mut command = Command::new(file);
                let launcher = std::process::id().to_string();
                command.args(arguments).arg("--exit-with-parent").arg(launcher);
                command
            }
            Some(host) => {
                let file = self.remote_binaries.join(program).into_os_string();
                let words: Vec<OsString> =
                    std::iter::once(file).chain(arguments).map(|word| shell_word(&word)).collect();
                let mut script = OsString::from(format!(
                    "read -r FTMPI_KEY; export FTMPI_KEY; echo {REACHED}; exec "
                ));
                script.push(words.join(OsStr::new(" ")));
                script.push(" --exit-with-parent");
                self.command_on(host, &["sh".as_ref(), "-c".as_ref(), &script])
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

    /// The command that runs these words on another host.
    fn command_on(&self, host: &str, command: &[&OsStr]) -> Command {
        // Only a starter makes hosts remote.
        let target = self.targets.get(host).map_or(host, String::as_str);
        let words = self.starter.words(target, command).unwrap_or_else(|| vec!["false".into()]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        for name in self.starter.hidden_variables() {
            command.env_remove(name);
        }
        command
    }

    fn arguments(&self, server: &Server, neighbours: usize) -> Vec<OsString> {
        let stores = server.kind != ServerKind::CheckpointScheduler;
        let ip = if stores { self.listen } else { Ipv4Addr::LOCALHOST.into() };
        let port = server.address.map_or(0, |address| address.port());
        let mut arguments: Vec<OsString> = Vec::new();
        if stores {
            arguments.extend(["--dir".into(), server.directory.clone().into_os_string()]);
        }
        let mut option = |name: &str, value: String| arguments.extend([name.into(), value.into()]);
        option("--listen", SocketAddr::from((ip, port)).to_string());
        if let Some(ports) = &self.port_range {
            option("--port-range", ports.clone());
        }
        option("--silence", format!("{}ms", self.silence.as_millis()));
        if matches!(server.kind, ServerKind::EventLogger | ServerKind::ChannelMemory)
            && let Some(delay) = self.logger_delay
        {
            option("--delay", format!("{}ms", delay.as_millis()));
        }
        if let Some(time) = self.slow_disk.filter(|_| stores) {
            option("--slow-disk", format!("{}ms", time.as_millis()));
        }
        match server.kind {
            ServerKind::EventLogger => {
                if let Some(when) = &self.acknowledge {
                    option("--acknowledge", when.clone());
                }
                if self.event_rings {
                    arguments.push("--rings".into());
                }
            }
            ServerKind::ChannelMemory => match &self.memory_limit {
                Some(limit) => option("--memory-limit", limit.clone()),
                None => option("--neighbours", neighbours.to_string()),
            },
            ServerKind::CheckpointServer => {
                if let Some(address) = self.object_tier_of(server) {
                    option("--object-store", address);
                }
                if let Some(bytes) = self.image_space {
                    option("--max-bytes", bytes.to_string());
                }
                if self.waves_cut_logs {
                    arguments.push("--waves-cut-logs".into());
                }
            }
            ServerKind::CheckpointScheduler => {}
        }
        arguments
    }

    /// Where a checkpoint server's images go on to.
    fn object_tier_of(&self, server: &Server) -> Option<String> {
        let address = self.object_store.as_ref()?;
        (server.kind == ServerKind::CheckpointServer)
            .then(|| format!("{address}/{}-{}", server.kind.name(), server.number))
    }
}

impl Servers {
    /// Removes the job's images from the object store; the result says what could not be removed.
    pub async fn remove_objects(&self) -> Option<String> {
        let mut trouble = None;
        for server in &self.servers {
            let Some(address) = self.commands.object_tier_of(server) else { continue };
            let removal = Command::new(self.commands.binaries.join("ftmpi-checkpoint-server"))
                .arg("--dir")
                .arg(&server.directory)
                .args(["--object-store", &address, "--forget"])
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output();
            trouble = match tokio::time::timeout(OBJECT_REMOVAL_LIMIT, removal).await {
                Ok(Ok(output)) if output.status.success() => continue,
                Ok(Ok(output)) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
                Ok(Err(e)) => Some(e.to_string()),
                Err(_) => Some(format!("{address} is slow")),
            };
        }
        trouble
    }

    /// Removes the job's directory on other hosts, where servers made it. A host that shares the
    /// file system with the launcher removes the launcher's directory, too.
    pub async fn remove_remote_directories(&self, directory: &Path) {
        let hosts: BTreeSet<&String> =
            self.servers.iter().filter_map(|server| server.host.as_ref()).collect();
        let mut removing = tokio::task::JoinSet::new();
        for host in hosts {
            let remove = ["rm".as_ref(), "-rf".as_ref(), "--".as_ref(), directory.as_os_str()];
            let mut command = self.commands.command_on(host, &remove);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true);
            removing.spawn(async move { command.status().await });
        }
        let all = async { while removing.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(REMOTE_REMOVAL_LIMIT, all).await;
    }
}
