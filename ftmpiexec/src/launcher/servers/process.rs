//! The process of a server: its key goes in, its address and its lines come out.
//!
//! Guarantee: a host that does not take the key within a limit ends the start. What the server does
//! afterwards, such as reading what it has stored, may take any time.

use super::{StopMode, server_stderr};
use crate::launcher::child_lines;
use crate::launcher::events::LauncherEvent;
use crate::no_process::no_process;
use crate::tuning::{LINE_CHARS_MAX, SERVER_ASK_LIMIT};
use ftmpi_servers::server_process::{LOGS_NEED_ROOM, STORAGE_TROUBLE, STORAGE_WORKS};
use rustix::process::Pid;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::{Notify, mpsc, oneshot};

/// What another host says when it has the key.
pub(super) const REACHED: &str = "reached";

/// Runs a server to its end; the result says why it ended, with its last line. `key_line`: the key
/// for another host, which must say [`REACHED`] within `limit`.
pub(super) async fn run_server(
    mut command: Command,
    (key_line, limit): (Option<String>, Duration),
    killed: oneshot::Receiver<StopMode>,
    (index, launch): (usize, u64),
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return no_process(&e),
    };
    let mut stdin = child.stdin.take();
    let remote = key_line.is_some();
    let reached = Arc::new(Notify::new());
    if let (Some(stdin), Some(line)) = (stdin.as_mut(), key_line) {
        let _ = stdin.write_all(line.as_bytes()).await;
    }
    if let Some(stdout) = child.stdout.take() {
        let (events, reached) = (events.clone(), reached.clone());
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout);
            while let Some(line) = child_lines::next_line(&mut lines).await {
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
                } else if line == REACHED {
                    reached.notify_one();
                    continue;
                } else if line == STORAGE_WORKS {
                    LauncherEvent::ServerStorage { index, launch, trouble: None }
                } else {
                    continue;
                };
                let _ = events.send(event);
            }
        });
    }
    let events = events.clone();
    let last_line = child_lines::last_line(child.stderr.take(), move |line| {
        if let Some(text) = server_stderr::line_of_server(line) {
            let _ = events.send(LauncherEvent::ServerLine { index, launch, text });
        }
    });
    let late = async {
        if !remote || tokio::time::timeout(limit, reached.notified()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let status = tokio::select! {
        status = child.wait() => status,
        () = late => {
            let _ = child.start_kill();
            let _ = child.wait().await;
            return format!("its host did not answer within {} s", limit.as_secs_f32());
        }
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
    child_lines::ended(status, last_line).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    /// How a script in place of ssh ends.
    async fn end_of(script: &str, limit: Duration) -> String {
        let (_kill, killed) = oneshot::channel();
        let (events, _) = mpsc::unbounded_channel();
        let mut command = Command::new("sh");
        command.args(["-c", script]).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run_server(command, (Some("key\n".to_owned()), limit), killed, (0, 0), &events).await
    }

    #[tokio::test]
    async fn a_host_that_does_not_take_the_key_ends_the_start() {
        let why = end_of("exec sleep 600", Duration::from_millis(50)).await;
        assert_eq!(why, "its host did not answer within 0.05 s");
        let script = format!("read -r key; echo {REACHED}; echo broken >&2; exit 3");
        let why = end_of(&script, Duration::from_secs(600)).await;
        assert_eq!(why, "exit status: 3: broken");
    }
}
