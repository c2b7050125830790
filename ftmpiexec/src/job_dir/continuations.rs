//! `continuations`: how often the job was continued by `--auto-restart` without a newer image, so
//! that a script which starts it again and again does not do so for ever.
//!
//! Guarantees: a job that makes a newer image between two runs is never refused. A file that cannot
//! be read counts as none.

use ftmpi_servers::private_directory::open_own_empty;
use std::io::{self, Write};
use std::path::Path;

/// The name of the file.
pub const NAME: &str = "continuations";

/// Runs in a row that make no newer image, before the next one is refused.
pub const FRUITLESS_MAX: u32 = 2;

/// Whether the job may go on once more. `newest`: a number that grows with each new image of any
/// rank. `false`: the last runs have made none.
///
/// # Errors
/// The count cannot be stored.
pub fn count(directory: &Path, newest: u64) -> io::Result<bool> {
    let known = read(directory);
    let fruitless = match known {
        Some((mark, fruitless)) if mark == newest => fruitless + 1,
        _ => 0,
    };
    if fruitless >= FRUITLESS_MAX {
        return Ok(false);
    }
    let mut file = open_own_empty(&directory.join(NAME))?;
    writeln!(file, "{newest} {fruitless}")?;
    Ok(true)
}

/// The user continues the job by hand: the count begins again.
pub fn forget(directory: &Path) {
    // If it cannot be removed, the user is told what to do once more.
    let _ = std::fs::remove_file(directory.join(NAME));
}

/// `--auto-restart` would go on for ever.
pub fn no_progress(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "the last {} runs of this job have made no newer image, so another one would not either: \
         give the job more time or a shorter --ckpt-interval; to go on all the same: ftmpiexec \
         --restart {directory}",
        FRUITLESS_MAX
    )
}

/// The count of runs without progress cannot be stored.
pub fn not_counted(why: &io::Error) -> String {
    format!("how often this job was continued cannot be written down: {why}")
}

fn read(directory: &Path) -> Option<(u64, u32)> {
    let text = std::fs::read_to_string(directory.join(NAME)).ok()?;
    let mut words = text.split_ascii_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse::<u32>().ok()?.min(FRUITLESS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_without_a_newer_image_are_the_last() {
        let directory = tempfile::tempdir().unwrap();
        let runs = |marks: &[u64]| -> Vec<bool> {
            marks.iter().map(|mark| count(directory.path(), *mark).unwrap()).collect()
        };
        assert_eq!(runs(&[0, 5, 5, 6, 6]), [true; 5]);
        assert_eq!(runs(&[6, 6, 7, 7, 7]), [false, false, true, true, false]);
        forget(directory.path());
        assert!(count(directory.path(), 7).unwrap());
        std::fs::write(directory.path().join(NAME), "\u{0}\u{fe}").unwrap();
        assert!(count(directory.path(), 7).unwrap(), "a damaged file");
    }
}
