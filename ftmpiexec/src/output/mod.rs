//! Standard output and error of the ranks, printed once, by a thread of its own.
//!
//! Guarantees: a byte that was printed is not printed again by a later incarnation. A terminal that
//! stands still holds back the ranks' output and nothing else of the job. The launcher's own lines
//! come between the ranks' lines, not inside them. Nothing is printed after text that could not be:
//! a job that goes on later prints from there on.

mod files;
mod lines;
pub mod status_line;

use crate::tuning::PRINT_PATIENCE;
pub use files::{Files, expand_pattern, writable};
use lines::Lines;
use status_line::StatusLine;
use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How text is printed.
#[derive(Debug, Clone, Default)]
pub struct Style {
    /// Each line begins with this pattern.
    pub prefix: Option<String>,
    /// The host of each rank, for the pattern.
    pub hosts: Vec<String>,
    /// Only whole lines are printed.
    pub whole_lines: bool,
}

impl Style {
    fn set_host(&mut self, rank: u32, host: String) {
        let rank = rank as usize;
        if self.hosts.len() <= rank {
            self.hosts.resize(rank + 1, String::new());
        }
        self.hosts[rank] = host;
    }

    /// What stands before each line of a rank. The pattern was checked.
    fn prefix_of(&self, rank: u32) -> Option<String> {
        let host = self.hosts.get(rank as usize).map_or("", String::as_str);
        expand_pattern(self.prefix.as_deref()?, rank as usize, host).ok()
    }
}

enum Work {
    Rank {
        rank: u32,
        stream: u8,
        bytes: Vec<u8>,
        printed: Token,
    },
    /// From here on, the rank is on this host.
    Host {
        rank: u32,
        host: String,
    },
    Notice(String),
    /// A line on standard output.
    Line(String),
    Status(String),
    /// From here on, text goes to these files.
    Files([Files; 2]),
    /// Also print what is held back; then report whether all text so far had a reader.
    All(oneshot::Sender<bool>),
    End,
}

/// What became of text of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It was printed.
    Printed,
    /// Nobody reads it any more.
    Unread,
    /// It could not be written: the number of the error. A full disk is an example.
    Failed(i32),
}

/// Called when the text has been printed. The arguments: what became of it, and how many bytes of
/// the stream are held back until their line is whole.
type Token = Box<dyn FnOnce(Delivery, usize) + Send>;

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Printer")
    }
}

/// The printing thread.
pub struct Printer {
    work: mpsc::Sender<Work>,
    thread: Option<JoinHandle<bool>>,
}

impl Printer {
    /// Starts the thread.
    pub fn start(style: Style) -> Self {
        let (work, queue) = mpsc::channel();
        let thread = std::thread::spawn(move || print(style, &queue));
        Self { work, thread: Some(thread) }
    }

    /// From here on, output and error of the ranks go to these files, if they name any.
    pub fn write_into(&self, files: [Files; 2]) {
        let _ = self.work.send(Work::Files(files));
    }

    /// Prints everything, also lines that are not whole. The receiver gets whether all text since
    /// the start had a reader.
    pub fn print_all(&self) -> oneshot::Receiver<bool> {
        let (done, wait) = oneshot::channel();
        let _ = self.work.send(Work::All(done));
        wait
    }

    /// Prints output of a rank. `printed` is called afterwards with what became of it. The number:
    /// the bytes that are held back until their line is whole.
    pub fn rank(
        &self,
        rank: u32,
        stream: u8,
        bytes: Vec<u8>,
        printed: impl FnOnce(Delivery, usize) + Send + 'static,
    ) {
        let _ = self.work.send(Work::Rank { rank, stream, bytes, printed: Box::new(printed) });
    }

    /// From here on, the rank is on this host: the pattern shows it.
    pub fn rank_is_on(&self, rank: u32, host: String) {
        let _ = self.work.send(Work::Host { rank, host });
    }

    /// Prints a line of the launcher on standard error.
    pub fn notice(&self, line: impl Into<String>) {
        let _ = self.work.send(Work::Notice(line.into()));
    }

    /// Prints a line of the launcher on standard output.
    pub fn line(&self, line: String) {
        let _ = self.work.send(Work::Line(line));
    }

    /// Shows the live line, on a terminal only.
    pub fn status(&self, line: String) {
        let _ = self.work.send(Work::Status(line));
    }

    /// Prints what is left. `false`: some text of a rank could not be written.
    pub fn finish(mut self) -> bool {
        let _ = self.work.send(Work::End);
        self.thread.take().is_none_or(|thread| thread.join().unwrap_or(false))
    }

    /// As [`Printer::finish`], for an impatient user: text without a reader is given up.
    pub fn finish_soon(mut self) {
        let _ = self.work.send(Work::End);
        let Some(thread) = self.thread.take() else { return };
        let end = Instant::now() + PRINT_PATIENCE;
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Where text is printed, and what became of it.
struct Terminal {
    status: StatusLine,
    files: [Files; 2],
    /// Some text had no reader.
    unread: bool,
    /// The error of standard output and of standard error.
    failed: [Option<i32>; 2],
}

fn print(mut style: Style, queue: &mpsc::Receiver<Work>) -> bool {
    let status = StatusLine::new(std::io::stderr().is_terminal());
    let (files, failed) = Default::default();
    let mut terminal = Terminal { status, files, unread: false, failed };
    let mut lines: HashMap<(u32, u8), Lines> = HashMap::new();
    let by_lines = style.prefix.is_some() || style.whole_lines;
    while let Ok(work) = queue.recv() {
        match work {
            Work::Rank { rank, stream, bytes, printed } => {
                let whole;
                let mut held = 0;
                let text = if by_lines {
                    let lines = lines
                        .entry((rank, stream))
                        .or_insert_with(|| Lines::new(style.prefix_of(rank)));
                    whole = lines.push(&bytes);
                    held = lines.held();
                    whole.as_slice()
                } else {
                    bytes.as_slice()
                };
                printed(terminal.write(rank, stream, text), held);
            }
            Work::Host { rank, host } => {
                style.set_host(rank, host);
                for stream in [0, 1] {
                    if let Some(lines) = lines.get_mut(&(rank, stream)) {
                        lines.set_prefix(style.prefix_of(rank));
                    }
                }
            }
            Work::Notice(line) => terminal.notice(&line),
            Work::Line(line) => terminal.line(&line),
            Work::Status(line) => terminal.status.show(&line),
            Work::Files(files) => terminal.files = files,
            Work::All(done) => {
                for ((rank, stream), lines) in &mut lines {
                    terminal.write(*rank, *stream, &lines.rest());
                }
                let _ =
                    done.send(!terminal.unread && !terminal.files.iter().any(Files::are_broken));
            }
            Work::End => break,
        }
    }
    for ((rank, stream), lines) in &mut lines {
        terminal.write(*rank, *stream, &lines.rest());
    }
    terminal.status.hide();
    !terminal.files.iter().any(Files::are_broken) && terminal.failed == [None; 2]
}

impl Terminal {
    fn notice(&mut self, line: &str) {
        self.status.hide();
        let _ = writeln!(std::io::stderr().lock(), "ftmpiexec: {line}");
    }

    fn line(&mut self, line: &str) {
        self.status.hide();
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// Prints text of a rank.
    fn write(&mut self, rank: u32, stream: u8, text: &[u8]) -> Delivery {
        let number = usize::from(stream.min(1));
        if text.is_empty() {
            return Delivery::Printed;
        }
        let files = &mut self.files[number];
        if files.are_used() {
            if let Err(e) = files.write(rank, text) {
                self.notice(&e.to_string());
            }
            return Delivery::Printed;
        }
        if let Some(error) = self.failed[number] {
            return Delivery::Failed(error);
        }
        self.status.hide();
        let result = if stream == 0 {
            let mut out = std::io::stdout().lock();
            out.write_all(text).and_then(|()| out.flush())
        } else {
            std::io::stderr().lock().write_all(text)
        };
        self.status.wrote(text);
        self.unread |= result.is_err();
        let delivery = delivery(&result);
        if let Delivery::Failed(error) = delivery {
            self.failed[number] = Some(error);
        }
        delivery
    }
}

/// A terminal that is gone (`EIO`) is as a pipe that nobody reads.
fn delivery(result: &std::io::Result<()>) -> Delivery {
    match result.as_ref().map_err(std::io::Error::raw_os_error) {
        Ok(()) => Delivery::Printed,
        Err(Some(error)) if error != libc::EPIPE && error != libc::EIO => Delivery::Failed(error),
        Err(_) => Delivery::Unread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_a_reader_that_has_left() {
        let of = |error| delivery(&Err(std::io::Error::from_raw_os_error(error)));
        assert_eq!(delivery(&Ok(())), Delivery::Printed);
        assert_eq!([libc::EPIPE, libc::EIO].map(of), [Delivery::Unread; 2]);
        assert_eq!(of(libc::ENOSPC), Delivery::Failed(libc::ENOSPC));
    }

    #[test]
    fn a_pattern_names_the_rank_and_its_host() {
        let style = |pattern: &str| Style {
            prefix: Some(pattern.to_owned()),
            hosts: vec!["a".to_owned(), "b".to_owned()],
            whole_lines: false,
        };
        assert_eq!(style("[%r] ").prefix_of(3).as_deref(), Some("[3] "));
        assert_eq!(style("%h:%r%% ").prefix_of(1).as_deref(), Some("b:1% "));
        assert_eq!(Style::default().prefix_of(0), None);
        let mut moved = style("%h");
        moved.set_host(1, "c".to_owned());
        moved.set_host(3, "d".to_owned());
        let prefixes: Vec<_> = (0..4).filter_map(|rank| moved.prefix_of(rank)).collect();
        assert_eq!(prefixes, ["a", "c", "", "d"]);
    }
}
