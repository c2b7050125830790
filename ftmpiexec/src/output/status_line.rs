//! The live line at the bottom of a terminal; nothing at all elsewhere.

use std::io::Write;

/// The line.
#[derive(Debug)]
pub struct StatusLine {
    terminal: bool,
    shown: bool,
    /// A program's text ended in the middle of a line: the live line would join it.
    mid_line: bool,
}

impl StatusLine {
    /// On a terminal, or nowhere.
    pub fn new(terminal: bool) -> Self {
        Self { terminal, shown: false, mid_line: false }
    }

    /// Takes the line away, so that other text can be printed.
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
        let _ = write!(std::io::stderr().lock(), "\r\x1b[2m{cut}\x1b[0m\x1b[K");
        self.shown = true;
    }
}
