//! The process of a server: its key goes in, its address and its words come out.

use super::{ASK_LIMIT, StopMode, server_stderr};
use crate::launcher::LauncherEvent;
use rustix::process::Pid;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};

/// Runs a server to its end; why it ended.
pub(super) async fn run_server(
    mut command: Command,
    key_line: Option<String>,
    killed: oneshot::Receiver<StopMode>,
    index: usize,
    launch: u64,
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return e.to_string(),
    };
    let mut stdin = child.stdin.take();
    if let (Some(stdin), Some(line)) = (stdin.as_mut(), key_line) {
        let _ = stdin.write_all(line.as_bytes()).await;
    }
    if let Some(stdout) = child.stdout.take() {
        let events = events.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout);
            while let Some(line) = server_stderr::next_line(&mut lines).await {
                if let Some(address) =
                    line.strip_prefix("listening on ").and_then(|text| text.trim().parse().ok())
                {
                    let _ = events.send(LauncherEvent::ServerUp { index, launch, address });
                }
            }
        });
    }
    let stderr = child.stderr.take();
    let events = events.clone();
    let last_line = tokio::spawn(async move {
        let mut last = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr);
            while let Some(line) = server_stderr::next_line(&mut lines).await {
                if let Some(text) = server_stderr::said(&line) {
                    let _ = events.send(LauncherEvent::ServerLine { index, launch, text });
                }
                if !line.trim().is_empty() {
                    last = line.chars().take(400).collect();
                }
            }
        }
        last
    });
    let status = tokio::select! {
        status = child.wait() => status,
        manner = killed => {
            if manner == Ok(StopMode::Ask)
                && let Some(pid) = child.id().and_then(|id| Pid::from_raw(id as i32))
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                let _ = tokio::time::timeout(ASK_LIMIT, child.wait()).await;
            }
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
