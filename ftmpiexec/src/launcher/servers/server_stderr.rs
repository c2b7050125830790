//! The lines that servers write to their standard error: a full disk, a damaged image, an object
//! store that does not answer.
//!
//! Guarantees: the lines of a server are printed once it serves, in their order. The last line of a
//! server that does not come up is part of the report of its end. Each kind of line is printed a
//! few times only; lines are of one kind if they differ in numbers only.

use crate::tuning::{
    LINE_CHARS_MAX, SERVER_LINE_KINDS_MAX, SERVER_LINE_REPEATS_MAX, SERVER_LINES_WAITING_MAX,
};
use std::collections::BTreeMap;

/// The lines of one server, over all its starts.
#[derive(Debug, Default)]
pub(super) struct ServerStderr {
    waiting: Vec<String>,
    kinds: BTreeMap<String, u32>,
}

/// The text of a server's line; `None`: the line is of another program, as a shell's greeting.
pub(super) fn line_of_server(line: &str) -> Option<String> {
    let (name, text) = line.split_once(": ")?;
    name.starts_with("ftmpi-").then(|| text.chars().take(LINE_CHARS_MAX).collect())
}

impl ServerStderr {
    /// The server is started again: lines that wait are of an earlier start.
    pub fn begin(&mut self) {
        self.waiting.clear();
    }

    /// The server wrote this line.
    pub fn push(&mut self, text: String) {
        if self.waiting.len() < SERVER_LINES_WAITING_MAX {
            self.waiting.push(text);
        }
    }

    /// Takes the lines that are to be printed; called when the server serves.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
            .into_iter()
            .filter_map(|text| self.limited(text))
            .collect()
    }

    /// The line, unless its kind was printed often enough.
    fn limited(&mut self, mut text: String) -> Option<String> {
        let mut kind: String = text.chars().filter(|c| !c.is_ascii_digit()).take(100).collect();
        if self.kinds.len() >= SERVER_LINE_KINDS_MAX && !self.kinds.contains_key(&kind) {
            kind.clear();
        }
        let times = self.kinds.entry(kind).or_default();
        *times = times.saturating_add(1);
        if *times == SERVER_LINE_REPEATS_MAX {
            text.push_str(" (more lines like this are not shown)");
        }
        (*times <= SERVER_LINE_REPEATS_MAX).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_servers_are_printed() {
        let line = line_of_server("ftmpi-event-logger: events cannot be made durable: no space");
        assert_eq!(line.unwrap(), "events cannot be made durable: no space");
        assert_eq!(
            line_of_server("Warning: Permanently added 'h' to the list of known hosts."),
            None
        );
        assert_eq!(line_of_server("ftmpi-event-logger"), None);
    }

    #[test]
    fn the_lines_of_one_kind_are_limited() {
        let mut stderr = ServerStderr::default();
        stderr.push("of a start that failed".into());
        stderr.begin();
        for rank in 0..1000 {
            stderr.push(format!("the object store does not take image {rank} of rank {rank}"));
        }
        stderr.push("the disk is full".into());
        let lines = stderr.take();
        assert_eq!(lines.len(), SERVER_LINE_REPEATS_MAX as usize + 1);
        assert_eq!(lines[0], "the object store does not take image 0 of rank 0");
        assert!(lines[9].ends_with("(more lines like this are not shown)"));
        assert_eq!(lines[10], "the disk is full");
        for kind in 0..10_000_u32 {
            stderr.push((0..14).map(|bit| if kind >> bit & 1 == 1 { 'x' } else { 'y' }).collect());
        }
        let most = SERVER_LINE_KINDS_MAX + SERVER_LINE_REPEATS_MAX as usize;
        assert!(stderr.take().len() <= most);
    }
}
