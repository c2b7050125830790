//! What servers say on their standard error: a full disk, a damaged image, an object store that does not answer.
//!
//! Guarantees: what a server says is told once it serves, in its order; of one that does not come up, its end
//! tells the last of it. However much one talks, each kind of line (its words, whatever its numbers are) is told a few
//! times only, and no line takes much memory.

use std::collections::BTreeMap;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// So often a kind of line is told.
const TIMES_MAX: u32 = 10;
const KINDS_MAX: usize = 200;
/// Lines of a server that does not serve yet.
const WAITING_MAX: usize = 2000;
/// Of one line.
const CHARS_MAX: usize = 400;
const LINE_BYTES_MAX: u64 = 4096;

/// Of one server, over all its lives.
#[derive(Debug, Default)]
pub(super) struct ServerStderr {
    waiting: Vec<String>,
    kinds: BTreeMap<String, u32>,
}

/// The next line, or its begin; none: that was all.
pub(super) async fn next_line(from: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    (&mut *from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await.ok()?;
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

/// What a server says in this line; none: it comes from something else (a shell's greeting, a panic).
pub(super) fn said(line: &str) -> Option<String> {
    let (name, text) = line.split_once(": ")?;
    name.starts_with("ftmpi-").then(|| text.chars().take(CHARS_MAX).collect())
}

impl ServerStderr {
    /// It begins again.
    pub fn begins(&mut self) {
        self.waiting.clear();
    }

    /// It said this.
    pub fn says(&mut self, text: String) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(text);
        }
    }

    /// What is to be told now that it serves.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
            .into_iter()
            .filter_map(|text| self.telling(text))
            .collect()
    }

    fn telling(&mut self, mut text: String) -> Option<String> {
        let mut kind: String = text.chars().filter(|c| !c.is_ascii_digit()).take(100).collect();
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&kind) {
            kind.clear();
        }
        let times = self.kinds.entry(kind).or_default();
        *times = times.saturating_add(1);
        if *times == TIMES_MAX {
            text.push_str(" (more like this is not told)");
        }
        (*times <= TIMES_MAX).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_servers_are_told() {
        let told = said("ftmpi-event-logger: events cannot be made durable: no space");
        assert_eq!(told.unwrap(), "events cannot be made durable: no space");
        assert_eq!(said("Warning: Permanently added 'h' to the list of known hosts."), None);
        assert_eq!(said("ftmpi-event-logger"), None);
    }

    #[test]
    fn a_server_that_talks_without_end_is_cut_off() {
        let mut words = ServerStderr::default();
        words.says("of a life that did not come up".into());
        words.begins();
        for rank in 0..1000 {
            words.says(format!("the object store does not take image {rank} of rank {rank}"));
        }
        words.says("the disk is full".into());
        let told = words.take();
        assert_eq!(told.len(), TIMES_MAX as usize + 1);
        assert_eq!(told[0], "the object store does not take image 0 of rank 0");
        assert!(told[9].ends_with("(more like this is not told)"));
        assert_eq!(told[10], "the disk is full");
        for kind in 0..10_000_u32 {
            words.says((0..14).map(|bit| if kind >> bit & 1 == 1 { 'x' } else { 'y' }).collect());
        }
        assert!(words.take().len() <= KINDS_MAX + TIMES_MAX as usize);
    }

    #[tokio::test]
    async fn lines_without_end_take_no_memory() {
        let mut text = b"first\n\xff\n".to_vec();
        text.extend([b'x'; 300_000]);
        text.extend(b"\n\nlast");
        let mut from = tokio::io::BufReader::new(&text[..]);
        assert_eq!(next_line(&mut from).await.unwrap(), "first");
        assert_eq!(next_line(&mut from).await.unwrap(), "\u{fffd}");
        assert_eq!(next_line(&mut from).await.unwrap().len(), LINE_BYTES_MAX as usize);
        assert_eq!(next_line(&mut from).await.unwrap(), "");
        assert_eq!(next_line(&mut from).await.unwrap(), "last");
        assert_eq!(next_line(&mut from).await, None);
    }
}
