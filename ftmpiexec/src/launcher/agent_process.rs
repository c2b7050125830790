//! The process of an agent: `ftmpiexec --agent`, here, or behind ssh or srun.

use super::child_lines;
use crate::cli::{Plan, Starter};
use crate::no_process::no_process;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::oneshot;

/// How agents are started.
#[derive(Debug)]
pub struct AgentStarter {
    starter: Starter,
    own_path: PathBuf,
    remote_path: PathBuf,
    /// What the starter is told for each host of which it needs a user.
    targets: HashMap<String, String>,
}

impl AgentStarter {
    /// As the plan says.
    pub fn new(plan: &Plan) -> Self {
        let own_path = std::env::current_exe().unwrap_or_else(|_| plan.remote_path.clone());
        let targets =
            plan.machines.iter().map(|machine| (machine.name.clone(), plan.target(&machine.name)));
        Self {
            starter: plan.starter.clone(),
            own_path,
            remote_path: plan.remote_path.clone(),
            targets: targets.filter(|(name, target)| name != target).collect(),
        }
    }

    /// One more host.
    pub fn add(&mut self, host: &str, target: String) {
        if host != target {
            self.targets.insert(host.to_owned(), target);
        }
    }

    /// The command that starts the agent of this host.
    pub fn command(&self, host: &str, remote: bool) -> Command {
        let agent = [self.remote_path.as_os_str(), "--agent".as_ref()];
        let target = self.targets.get(host).map_or(host, String::as_str);
        let words = if remote { self.starter.words(target, &agent) } else { None };
        let mut command = match words {
            Some(words) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                for name in self.starter.hidden_variables() {
                    command.env_remove(name);
                }
                command
            }
            None => {
                let mut command =
                    Command::new(if remote { &self.remote_path } else { &self.own_path });
                command.arg("--agent");
                command
            }
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the launcher, which ends a job in order.
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// Runs the process to its end; the result says why it ended, with its last line.
pub async fn run_agent_process(
    mut command: Command,
    setup: String,
    killed: oneshot::Receiver<()>,
) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => {
            let program = command.as_std().get_program().to_string_lossy().into_owned();
            return format!("{program} cannot be started: {}", no_process(&e));
        }
    };
    // The input stays open: some replacements of ssh end with their input.
    let mut stdin = child.stdin.take();
    if let Some(open) = &mut stdin
        && open.write_all(setup.as_bytes()).await.is_err()
    {
        stdin = None;
    }
    let last_line = child_lines::last_line(child.stderr.take(), |_| {});
    let status = tokio::select! {
        status = child.wait() => status,
        _ = killed => {
            let _ = child.start_kill();
            child.wait().await
        }
    };
    drop(stdin);
    child_lines::ended(status, last_line).await
}
