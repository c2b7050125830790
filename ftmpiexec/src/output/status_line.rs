//! The live line at the bottom of a terminal. Other outputs do not show it.

use std::io::Write;

/// The live line.
#[derive(Debug)]
pub struct StatusLine {
    terminal: bool,
    shown: bool,
    /// The line is dim: not if `NO_COLOR` is set (no-color.org).
    dim: bool,
    /// A program's text ended in the middle of a line, which the live line would join.
    mid_line: bool,
}

impl StatusLine {
    /// A line for a terminal, or for an output that does not show it.
    pub fn new(terminal: bool) -> Self {
        let dim = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { terminal, shown: false, dim, mid_line: false }
    }

    /// Removes the line, so that other text can be printed.
    pub fn hide(&mut self) {
        if self.shown {
            self.shown = false;
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }

    /// Other text was printed.
    pub fn wrote(&mut self, text: &[u8]) {
        if let Some(last) = text.last() {
            self.mid_line = *last != b'\n';
        }
    }

    /// Shows the line, cut to the terminal's width.
    pub fn show(&mut self, line: &str) {
        if !self.terminal || self.mid_line {
            return;
        }
        let width = rustix::termios::tcgetwinsize(std::io::stderr())
            .map_or(0, |size| usize::from(size.ws_col));
        let width = if width < 20 { 80 } else { width };
        let cut: String = line.chars().take(width - 1).collect();
        let (begin, end) = if self.dim { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let _ = write!(std::io::stderr().lock(), "\r{begin}{cut}{end}\x1b[K");
        self.shown = true;
    }
}
