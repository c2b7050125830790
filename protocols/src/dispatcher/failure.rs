//! A failure, as the report has it.

use super::notice::Cause;
use crate::judge::Named;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// One failure of one rank, for the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Who failed.
    pub rank: Rank,
    /// The incarnation that began after it.
    pub incarnation: Incarnation,
    /// When the dispatcher learnt of it, since the start of the job.
    pub at: Duration,
    /// The cause.
    pub cause: Cause,
    /// The rank began again without others.
    pub alone: bool,
    /// The detector and the recovery that the judge named; none where nothing is to judge.
    pub named: Option<Named>,
    /// When the new incarnation said hello.
    pub hello_at: Option<Duration>,
    /// The image that it continued.
    pub image: Option<ImageNo>,
    /// When it had caught up.
    pub caught_up_at: Option<Duration>,
    /// Determinants and messages replayed.
    pub replayed: u64,
}

impl Failure {
    /// It has just become known; this incarnation is to follow.
    pub(super) fn now(rank: Rank, incarnation: Incarnation, at: Duration, cause: Cause) -> Self {
        Self {
            rank,
            incarnation,
            at,
            cause,
            alone: false,
            named: None,
            hello_at: None,
            image: None,
            caught_up_at: None,
            replayed: 0,
        }
    }

    /// As the judge named it.
    pub(super) fn judged(self, named: Option<Named>) -> Self {
        Self { named, ..self }
    }
}
