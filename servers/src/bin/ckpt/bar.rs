//! How far a long work is: one line on a terminal, nothing elsewhere.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const WIDTH: usize = 30;
const EVERY: Duration = Duration::from_millis(200);

/// The bar.
#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    total: u64,
    done: Cell<u64>,
    begun: Instant,
    shown: Cell<Option<Instant>>,
    terminal: bool,
}

impl Bar {
    /// Of so many bytes.
    pub fn new(total: u64, what: &'static str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let (done, shown) = (Cell::new(0), Cell::new(None));
        Self { what, total, done, begun: Instant::now(), shown, terminal }
    }

    /// So many more are done.
    pub fn inc(&self, bytes: u64) {
        self.done.set(self.done.get() + bytes);
        if self.terminal && self.shown.get().is_none_or(|shown| shown.elapsed() > EVERY) {
            self.shown.set(Some(Instant::now()));
            let _ = write!(std::io::stderr(), "\r{}\x1b[K", self.line());
        }
    }

    fn line(&self) -> String {
        let done = self.done.get().min(self.total);
        let share = done as f64 / self.total.max(1) as f64;
        let full = (share * WIDTH as f64) as usize;
        let seconds = self.begun.elapsed().as_secs_f64();
        let left = if share > 0.0 { seconds / share - seconds } else { 0.0 };
        format!(
            "{} [{}{}] {} of {}, {left:.0} s left",
            self.what,
            "=".repeat(full),
            " ".repeat(WIDTH - full),
            crate::size(done),
            crate::size(self.total)
        )
    }

    /// Takes it away.
    pub fn finish(&self) {
        if self.shown.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_never_overflows() {
        let bar = Bar::new(1000, "reading");
        assert!(bar.line().starts_with("reading [ "));
        bar.inc(500);
        assert!(bar.line().contains(&format!("[{}{}]", "=".repeat(15), " ".repeat(15))));
        bar.inc(900);
        assert!(bar.line().contains(&format!("[{}]", "=".repeat(30))));
        assert!(Bar::new(0, "nothing").line().contains("0 B of 0 B"));
    }
}
