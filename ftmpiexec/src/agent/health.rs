//! The health command of this host (`--health-command`).
//!
//! Guarantees: one run at a time; a run that lasts too long is killed with all that it has started,
//! and counts as bad. The launcher hears the first answer and changes: it may know another one of
//! the agent before this one. A command that cannot be run says nothing. What it prints is bounded.
//! It can do nothing to the ranks: it has no descriptor of the agent, and it ends with the agent.

use super::events::AgentEvent;
use crate::tuning::{HEALTH_LIMIT, HEALTH_TEXT_BYTES, LINE_CHARS_MAX};
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
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

/// What a run says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Look {
    Good,
    /// Why the host may fail soon.
    Bad(String),
    /// The command could not be run: that says nothing about the host.
    Unknown,
}

/// Runs the command again and again, and reports its first answer and when that changes.
pub async fn watch(
    (command, host): (String, String),
    interval: Duration,
    process: HealthProcess,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let interval = interval.max(Duration::from_millis(100));
    let mut said = None;
    loop {
        tokio::time::sleep(interval).await;
        let bad = match run((&command, &host), interval.min(HEALTH_LIMIT), &process).await {
            Look::Good => None,
            Look::Bad(why) => Some(why),
            Look::Unknown => continue,
        };
        let is_news = said.replace(bad.is_some()) != Some(bad.is_some());
        if is_news && events.send(AgentEvent::Health { bad }).is_err() {
            return;
        }
    }
}

/// One run.
async fn run((command, host): (&str, &str), limit: Duration, process: &HealthProcess) -> Look {
    let child = Command::new("sh")
        .args(["-c", command])
        .env(HOST, host)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let Ok(mut child) = child else { return Look::Unknown };
    let pid = child.id().unwrap_or(0);
    process.0.store(pid, Ordering::Relaxed);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(end_of(stdout), end_of(stderr), child.wait()) };
    let ended = tokio::time::timeout(limit, all).await;
    process.0.store(0, Ordering::Relaxed);
    match ended {
        Err(_) => {
            // (The shell was not waited for, or holds its group: the number is still its own.)
            if let Some(group) = Pid::from_raw(pid.cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            Look::Bad(format!("the health command did not end within {} s", limit.as_secs_f32()))
        }
        Ok((_, _, Err(_))) => Look::Unknown,
        Ok((_, _, Ok(status))) if status.success() => Look::Good,
        Ok((stdout, stderr, Ok(status))) => {
            Look::Bad(reason(&[&stdout[..], &stderr[..]].concat(), status))
        }
    }
}

/// The end of what comes out of a pipe.
async fn end_of(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    let Some(mut pipe) = pipe else { return text };
    while let Ok(bytes @ 1..) = pipe.read(&mut piece).await {
        text.extend_from_slice(&piece[..bytes]);
        let over = text.len().saturating_sub(HEALTH_TEXT_BYTES);
        text.drain(..over);
    }
    text
}

fn reason(text: &[u8], status: ExitStatus) -> String {
    let text = String::from_utf8_lossy(text);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let printable = |c: char| if c.is_control() { '?' } else { c };
    match last {
        Some(line) => line.chars().take(LINE_CHARS_MAX).map(printable).collect(),
        None => format!("the health command ended with {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn once(command: &str) -> Look {
        run((command, "b"), Duration::from_secs(5), &HealthProcess::default()).await
    }

    fn bad(look: Look) -> String {
        let Look::Bad(why) = look else { panic!("{look:?}") };
        why
    }

    #[tokio::test]
    async fn the_exit_code_decides_and_the_last_line_is_the_reason() {
        assert_eq!(once("test $FTMPI_HEALTH_HOST = b").await, Look::Good);
        let why = bad(once("echo disk; echo '  ECC errors: 4  '; echo; exit 3").await);
        assert_eq!(why, "ECC errors: 4");
        let much = "i=0; while test $i -lt 9000; do echo ninebytes$i; i=$((i+1)); done; exit 1";
        assert_eq!(bad(once(much).await), "ninebytes8999", "whatever came before");
        let silent = bad(once("exit 3").await);
        assert!(silent.contains("exit status: 3"), "{silent}");
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_bad_and_is_killed() {
        let process = HealthProcess::default();
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let command = format!("sleep 60 & echo $! > {}; wait", pid.display());
        let limit = Duration::from_millis(1000);
        let why = bad(run((&command, "b"), limit, &process).await);
        assert!(why.contains("did not end within 1 s"), "{why}");
        assert!(!process.is(0));
        let pid = std::fs::read_to_string(pid).unwrap();
        let status = format!("/proc/{}/stat", pid.trim());
        for _ in 0..100 {
            let lives = std::fs::read_to_string(&status).is_ok_and(|text| !text.contains(") Z"));
            if !lives {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("what the command had started lives");
    }

    #[tokio::test]
    async fn the_first_answer_and_changes_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let flag = folder.path().join("bad");
        let command = format!("test ! -e {}", flag.display());
        let (events, mut inbox) = mpsc::unbounded_channel();
        let interval = Duration::from_millis(100);
        let task =
            tokio::spawn(watch((command, "b".into()), interval, HealthProcess::default(), events));
        let Some(AgentEvent::Health { bad: None }) = inbox.recv().await else {
            panic!("it is well from the begin")
        };
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(inbox.try_recv().is_err(), "it is still well");
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
