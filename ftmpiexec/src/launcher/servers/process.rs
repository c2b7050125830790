//! The process of a server: its key goes in, its address and its lines come out.

use super::{StopMode, server_stderr};
use crate::launcher::events::LauncherEvent;
use crate::no_process::no_process;
use crate::tuning::{LAST_LINE_LIMIT, LINE_CHARS_MAX, SERVER_ASK_LIMIT};
use ftmpi_servers::server_process::{LOGS_NEED_ROOM, STORAGE_TROUBLE, STORAGE_WORKS};
use rustix::process::Pid;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};

/// Runs a server to its end; the result says why it ended, with its last line.
pub(super) async fn run_server(
    mut command: Command,
    key_line: Option<String>,
    killed: oneshot::Receiver<StopMode>,
    (index, launch): (usize, u64),
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return no_process(&e),
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
                let line = line.trim();
                let event = if let Some(address) = line.strip_prefix("listening on ") {
                    let Ok(address) = address.parse() else { continue };
                    LauncherEvent::ServerUp { index, launch, address }
                } else if let Some(why) = line.strip_prefix(STORAGE_TROUBLE) {
                    let trouble = Some(why.chars().take(LINE_CHARS_MAX).collect());
                    LauncherEvent::ServerStorage { index, launch, trouble }
                } else if let Some(why) = line.strip_prefix(LOGS_NEED_ROOM) {
                    let why = why.chars().take(LINE_CHARS_MAX).collect();
                    LauncherEvent::LogsNeedRoom { index, launch, why }
                } else if line == STORAGE_WORKS {
                    LauncherEvent::ServerStorage { index, launch, trouble: None }
                } else {
                    continue;
                };
                let _ = events.send(event);
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
                if let Some(text) = server_stderr::line_of_server(&line) {
                    let _ = events.send(LauncherEvent::ServerLine { index, launch, text });
                }
                if !line.trim().is_empty() {
                    last = line.chars().take(LINE_CHARS_MAX).collect();
                }
            }
        }
        last
    });
    let status = tokio::select! {
        status = child.wait() => status,
        mode = killed => {
            // The end of its input tells a server on another host.
            drop(stdin.take());
            if mode == Ok(StopMode::Ask)
                && let Some(pid) = child.id().and_then(|id| Pid::from_raw(id as i32))
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
                let _ = tokio::time::timeout(SERVER_ASK_LIMIT, child.wait()).await;
            }
            let _ = child.start_kill();
            child.wait().await
        }
    };
    drop(stdin);
    let ended = status.map_or_else(|e| e.to_string(), |status| status.to_string());
    match tokio::time::timeout(LAST_LINE_LIMIT, last_line).await {
        Ok(Ok(line)) if !line.is_empty() => format!("{ended}: {line}"),
        _ => ended,
    }
}
