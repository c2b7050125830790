//! Two hosts with ranks that do not reach each other are not left so: after a while the ranks of
//! one of them run elsewhere, or the network works again. No rank waits in silence.

use super::broken;

/// How long hosts may be cut off from each other, in a job that has other troubles as well.
const PATIENCE: u64 = 60_000;

/// The cut.
#[derive(Debug, Default)]
pub struct CutNoticed {
    since: Option<u64>,
}

impl CutNoticed {
    /// A cut lasts; `between`: both hosts are up and have ranks that have not come to their end.
    pub fn lasts(&mut self, now: u64, between: bool) {
        if !between {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert(now);
        if now - since > PATIENCE {
            broken("cut-noticed", "ranks have been cut off from one another, and nothing is done");
        }
    }

    /// It is mended.
    pub fn is_over(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_that_is_answered_is_no_fault() {
        let mut noticed = CutNoticed::default();
        noticed.lasts(0, true);
        noticed.lasts(PATIENCE, true);
        noticed.lasts(PATIENCE + 1, false);
        noticed.lasts(PATIENCE + 2, true);
        noticed.is_over();
        noticed.lasts(10 * PATIENCE, true);
        let over = std::panic::catch_unwind(move || noticed.lasts(11 * PATIENCE + 1, true));
        assert!(over.is_err());
    }
}
