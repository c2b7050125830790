//! The lines of processes that the launcher starts (agents, servers, ssh before them), and the
//! sentence about the end of such a process.
//!
//! Guarantee: no line takes much memory, whatever another host's shell writes.

use crate::tuning::{CHILD_LINE_BYTES_MAX, LAST_LINE_LIMIT, LINE_CHARS_MAX};
use std::io;
use std::process::ExitStatus;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::task::JoinHandle;

/// The next line, or its beginning; `None` at the end of the stream.
pub(super) async fn next_line(from: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    (&mut *from).take(CHILD_LINE_BYTES_MAX).read_until(b'\n', &mut line).await.ok()?;
    let mut whole = line.ends_with(b"\n");
    while !whole {
        let more = from.fill_buf().await.ok()?;
        let (end, used) = match more.iter().position(|byte| *byte == b'\n') {
            Some(at) => (true, at + 1),
            None => (more.is_empty(), more.len()),
        };
        from.consume(used);
        whole = end;
    }
    let text = String::from_utf8_lossy(&line).trim_end().to_owned();
    (!line.is_empty()).then_some(text)
}

/// Reads a stream to its end in a task of its own, and hands each line to `each`. The result is the
/// beginning of the last line that is not empty.
pub(super) fn last_line(
    stream: Option<impl AsyncRead + Unpin + Send + 'static>,
    mut each: impl FnMut(&str) + Send + 'static,
) -> JoinHandle<String> {
    tokio::spawn(async move {
        let mut last = String::new();
        let Some(stream) = stream else { return last };
        let mut lines = BufReader::new(stream);
        while let Some(line) = next_line(&mut lines).await {
            each(&line);
            if !line.trim().is_empty() {
                last = line.chars().take(LINE_CHARS_MAX).collect();
            }
        }
        last
    })
}

/// How a process ended, and its last line, if that comes soon.
pub(super) async fn ended(status: io::Result<ExitStatus>, last_line: JoinHandle<String>) -> String {
    let ended = status.map_or_else(|e| e.to_string(), |status| status.to_string());
    match tokio::time::timeout(LAST_LINE_LIMIT, last_line).await {
        Ok(Ok(line)) if !line.is_empty() => format!("{ended}: {line}"),
        _ => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_end_takes_bounded_memory() {
        let mut text = b"first\n\xff\n".to_vec();
        text.extend([b'x'; 300_000]);
        text.extend(b"\n\nlast");
        let mut from = tokio::io::BufReader::new(&text[..]);
        assert_eq!(next_line(&mut from).await.unwrap(), "first");
        assert_eq!(next_line(&mut from).await.unwrap(), "\u{fffd}");
        assert_eq!(next_line(&mut from).await.unwrap().len(), CHILD_LINE_BYTES_MAX as usize);
        assert_eq!(next_line(&mut from).await.unwrap(), "");
        assert_eq!(next_line(&mut from).await.unwrap(), "last");
        assert_eq!(next_line(&mut from).await, None);
    }

    #[tokio::test]
    async fn an_end_is_told_with_the_last_line_that_is_not_empty() {
        let text = [b"one\n".to_vec(), vec![b'x'; 100_000], b"\n \n".to_vec()].concat();
        let (mut near, far) = tokio::io::duplex(64);
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let last = last_line(Some(far), move |line| tell.send(line.len()).unwrap());
        tokio::io::AsyncWriteExt::write_all(&mut near, &text).await.unwrap();
        drop(near);
        let told_end = ended(Ok(ExitStatus::default()), last).await;
        assert_eq!(told_end, format!("exit status: 0: {}", "x".repeat(LINE_CHARS_MAX)));
        assert_eq!(told.recv().await, Some(3));
        assert_eq!(told.recv().await, Some(CHILD_LINE_BYTES_MAX as usize));
    }
}
