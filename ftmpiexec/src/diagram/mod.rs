//! `ftmpiexec --diagram TRACE`: a space-time diagram of a run that was recorded with `--trace` and
//! `--trace-messages`, as papers about such protocols draw them. Ranks are lines from left to
//! right, messages are arrows between them.
//!
//! | module | subject |
//! | --- | --- |
//! | [`recording`] | what the file says |
//! | [`layout`] | where moments lie |
//! | [`draw`] | the picture |

mod draw;
mod layout;
mod recording;

use anyhow::{Context, bail};
use recording::Recording;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Arrows that somebody can look at in one picture.
const ARROWS_MAX: usize = 1500;

/// Prints the picture of a file, or of a part of the run.
///
/// # Errors
/// The file cannot be read, is none of `--trace`, or has too much to be drawn.
pub fn run(file: &Path, window: Option<(Duration, Duration)>) -> anyhow::Result<()> {
    let option = || format!("--diagram {}", file.display());
    let text = std::fs::read_to_string(file).with_context(option)?;
    let mut recording = Recording::read(&text).with_context(option)?;
    if let Some((from, to)) = window {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        recording = recording.between(us(from), us(to));
    }
    let count = recording.arrows.len();
    if count > ARROWS_MAX {
        bail!(
            "{}: {count} messages are too many for a picture of at most {ARROWS_MAX}; choose a part \
             of the run with --window FROM,TO{}",
            option(),
            around_first_death(&recording)
        );
    }
    if !recording.has_messages {
        eprintln!("{}: the file has no messages: record them with --trace-messages", crate::NAME);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(draw::svg(&recording).as_bytes()).and_then(|()| out.flush())?;
    Ok(())
}

/// An example for the option.
fn around_first_death(recording: &Recording) -> String {
    let deaths = recording.marks.iter().filter_map(|mark| match mark.what {
        recording::What::Death(..) => Some(mark.at),
        _ => None,
    });
    let Some(first) = deaths.min_by(f64::total_cmp) else { return String::new() };
    let ms = (first / 1e3) as u64;
    format!(" (a rank died at {ms}ms: --window {}ms,{}ms)", ms.saturating_sub(5), ms + 5)
}
