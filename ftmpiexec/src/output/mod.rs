//! Standard output and error of the ranks, printed once, by a thread of its own.
//!
//! Guarantees: a byte that was printed is not printed again, whatever life wrote it; a terminal
//! that stands still holds back the ranks' output and nothing else of the job; our own lines come
//! between the ranks' lines, not inside them.

mod lines;
pub mod status_line;

use lines::Lines;
use status_line::StatusLine;
use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// How text is printed.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// `[3] ` before each line of rank 3.
    pub prepend_rank: bool,
    /// Whole lines only.
    pub whole_lines: bool,
}

enum Work {
    Rank { rank: u32, stream: u8, bytes: Vec<u8>, printed: Token },
    Say(String),
    Status(String),
    End,
}

/// Given back when the text has been printed.
type Token = Box<dyn FnOnce(bool) + Send>;

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Printer")
    }
}

/// The printing thread.
pub struct Printer {
    work: mpsc::Sender<Work>,
    thread: Option<JoinHandle<()>>,
}

impl Printer {
    /// Starts it.
    pub fn start(style: Style) -> Self {
        let (work, queue) = mpsc::channel();
        let thread = std::thread::spawn(move || print(style, &queue));
        Self { work, thread: Some(thread) }
    }

    /// Output of a rank; `printed` is called afterwards, with `false` if nobody reads it any more.
    pub fn rank(
        &self,
        rank: u32,
        stream: u8,
        bytes: Vec<u8>,
        printed: impl FnOnce(bool) + Send + 'static,
    ) {
        let _ = self.work.send(Work::Rank { rank, stream, bytes, printed: Box::new(printed) });
    }

    /// A line of our own, on standard error.
    pub fn say(&self, line: impl Into<String>) {
        let _ = self.work.send(Work::Say(line.into()));
    }

    /// The live line; only a terminal shows it.
    pub fn status(&self, line: String) {
        let _ = self.work.send(Work::Status(line));
    }

    /// Prints what is left.
    pub fn finish(mut self) {
        let _ = self.work.send(Work::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn print(style: Style, queue: &mpsc::Receiver<Work>) {
    let mut status = StatusLine::new(std::io::stderr().is_terminal());
    let mut lines: HashMap<(u32, u8), Lines> = HashMap::new();
    let by_lines = style.prepend_rank || style.whole_lines;
    while let Ok(work) = queue.recv() {
        match work {
            Work::Rank { rank, stream, bytes, printed } => {
                let whole;
                let text = if by_lines {
                    let lines = lines.entry((rank, stream)).or_insert_with(|| {
                        Lines::new(style.prepend_rank.then(|| format!("[{rank}] ")))
                    });
                    whole = lines.push(&bytes);
                    whole.as_slice()
                } else {
                    bytes.as_slice()
                };
                printed(write(stream, text, &mut status));
            }
            Work::Say(line) => {
                status.hide();
                let _ = writeln!(std::io::stderr().lock(), "ftmpiexec: {line}");
            }
            Work::Status(line) => status.show(&line),
            Work::End => break,
        }
    }
    for ((_, stream), lines) in &mut lines {
        write(*stream, &lines.rest(), &mut status);
    }
    status.hide();
}

fn write(stream: u8, text: &[u8], status: &mut StatusLine) -> bool {
    if text.is_empty() {
        return true;
    }
    status.hide();
    let result = if stream == 0 {
        let mut out = std::io::stdout().lock();
        out.write_all(text).and_then(|()| out.flush())
    } else {
        std::io::stderr().lock().write_all(text)
    };
    status.wrote(text);
    result.is_ok()
}
