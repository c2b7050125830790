//! The health command of this host (`--health-command`).
//!
//! Guarantees: one run at a time; a run that lasts too long is killed and counts as bad. The
//! launcher hears of changes only. The command can do nothing to the ranks: it has no descriptor of
//! the agent, and it ends with the agent.

use super::events::AgentEvent;
use crate::tuning::{HEALTH_LIMIT, LINE_CHARS_MAX};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::mpsc;

/// The variable that tells the command how the job calls its host.
const HOST: &str = "FTMPI_HEALTH_HOST";

/// The process of the present run; 0: there is none.
#[derive(Debug, Clone, Default)]
pub struct HealthProcess(Arc<AtomicU32>);

impl HealthProcess {
    /// Whether this process is the present run.
    pub fn is(&self, pid: u32) -> bool {
        pid != 0 && self.0.load(Ordering::Relaxed) == pid
    }
}

/// Runs the command again and again, and reports when its answer changes.
pub async fn watch(
    (command, host): (String, String),
    interval: Duration,
    process: HealthProcess,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let interval = interval.max(Duration::from_millis(100));
    let mut is_bad = false;
    loop {
        tokio::time::sleep(interval).await;
        let bad = run((&command, &host), interval.min(HEALTH_LIMIT), &process).await;
        if bad.is_some() != is_bad {
            is_bad = bad.is_some();
            if events.send(AgentEvent::Health { bad }).is_err() {
                return;
            }
        }
    }
}

/// One run; why the host may fail soon.
async fn run(
    (command, host): (&str, &str),
    limit: Duration,
    process: &HealthProcess,
) -> Option<String> {
    let child = Command::new("sh")
        .args(["-c", command])
        .env(HOST, host)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let child = match child {
        Ok(child) => child,
        // That says nothing about the host's health.
        Err(_) => return None,
    };
    process.0.store(child.id().unwrap_or(0), Ordering::Relaxed);
    let ended = tokio::time::timeout(limit, child.wait_with_output()).await;
    process.0.store(0, Ordering::Relaxed);
    match ended {
        Err(_) => Some(format!("the health command did not end within {} s", limit.as_secs_f32())),
        Ok(Err(_)) => None,
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => Some(reason(&output)),
    }
}

fn reason(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let printable = |c: char| if c.is_control() { '?' } else { c };
    match last {
        Some(line) => line.chars().take(LINE_CHARS_MAX).map(printable).collect(),
        None => format!("the health command ended with {}", output.status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn once(command: &str) -> Option<String> {
        run((command, "b"), Duration::from_secs(5), &HealthProcess::default()).await
    }

    #[tokio::test]
    async fn the_exit_code_decides_and_the_last_line_is_the_reason() {
        assert_eq!(once("test $FTMPI_HEALTH_HOST = b").await, None);
        let bad = once("echo disk; echo '  ECC errors: 4  '; echo; exit 3").await;
        assert_eq!(bad.as_deref(), Some("ECC errors: 4"));
        let silent = once("exit 3").await.unwrap();
        assert!(silent.contains("exit status: 3"), "{silent}");
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_bad_and_is_killed() {
        let process = HealthProcess::default();
        let bad = run(("sleep 60", "b"), Duration::from_millis(100), &process).await.unwrap();
        assert!(bad.contains("did not end within 0.1 s"), "{bad}");
        assert!(!process.is(0));
    }

    #[tokio::test]
    async fn only_changes_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let flag = folder.path().join("bad");
        let command = format!("test ! -e {}", flag.display());
        let (events, mut inbox) = mpsc::unbounded_channel();
        let interval = Duration::from_millis(100);
        let task =
            tokio::spawn(watch((command, "b".into()), interval, HealthProcess::default(), events));
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(inbox.try_recv().is_err(), "it was well from the begin");
        std::fs::write(&flag, "").unwrap();
        let Some(AgentEvent::Health { bad: Some(_) }) = inbox.recv().await else {
            panic!("it is bad now")
        };
        std::fs::remove_file(&flag).unwrap();
        let Some(AgentEvent::Health { bad: None }) = inbox.recv().await else {
            panic!("it is well again")
        };
        task.abort();
    }
}
