//! A progress bar: one line on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

const LINE: &str = "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, \
                    {decimal_bytes_per_sec}, {eta} left";

/// A bar for this number of bytes.
pub fn bar(total: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(LINE).expect("a template that a test has tried");
    ProgressBar::new(total).with_style(style.progress_chars("=> ")).with_message(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    #[test]
    fn it_grows_and_never_overflows() {
        let terminal = InMemoryTerm::new(2, 120);
        let bar = bar(4_000_000, "reading");
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.inc(2_000_000);
        bar.force_draw();
        let half = terminal.contents();
        let full = format!("{}>{}", "=".repeat(15), " ".repeat(14));
        assert!(half.starts_with(&format!("reading [{full}] 2.00 MB of 4.00 MB")), "{half}");
        bar.inc(9_000_000);
        bar.force_draw();
        assert!(terminal.contents().contains(&"=".repeat(30)));
        bar.finish_and_clear();
        assert_eq!(terminal.contents().trim(), "");
    }
}
