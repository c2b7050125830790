//! The live line at the bottom of a terminal.

use crate::text::count;

/// What the live line shows.
#[derive(Debug)]
pub struct Status {
    /// Since the start of the launcher.
    pub seconds: u64,
    /// Ranks whose process runs.
    pub running: usize,
    /// All ranks.
    pub ranks: usize,
    /// Images that are durable.
    pub images: u64,
    /// Failures of ranks.
    pub failures: usize,
    /// Failures whose rank has caught up.
    pub recovered: usize,
}

/// The live line at the bottom of a terminal.
pub fn status(now: &Status) -> String {
    format!(
        "{} s · {} of {} running · {} · {} · {} recovered",
        now.seconds,
        now.running,
        count(now.ranks, "rank"),
        count(now.images, "image"),
        count(now.failures, "failure"),
        now.recovered
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        let now = Status { seconds: 1, running: 1, ranks: 1, images: 1, failures: 1, recovered: 0 };
        assert_eq!(status(&now), "1 s · 1 of 1 rank running · 1 image · 1 failure · 0 recovered");
        let now = Status { ranks: 4, images: 0, failures: 2, ..now };
        assert_eq!(
            status(&now),
            "1 s · 1 of 4 ranks running · 0 images · 2 failures · 0 recovered"
        );
    }
}
