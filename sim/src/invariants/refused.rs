//! An incarnation that its logger can never serve (what it must repeat is lost) ends the job at
//! once, with the logger's reason. The job neither waits for ever nor continues as if nothing were
//! lost. A job is given up for one other reason only: an image was damaged, and with lean images
//! the ranks whose logs its rank then needs have died since.

use super::broken;
use ftmpi_protocols::dispatcher::EndReason;
use ftmpi_wire::Rank;

/// The refused ranks, and why.
#[derive(Debug, Default)]
pub struct Refused {
    refused: Vec<(Rank, String)>,
    lean: bool,
}

impl Refused {
    /// An incarnation of this rank is refused.
    pub fn is_refused(&mut self, rank: Rank, why: &str) {
        self.refused.push((rank, why.to_owned()));
    }

    /// An incarnation has lost with its image what a peer needs.
    pub fn lacks(&mut self, lean_images: bool, image_damaged: bool) {
        if !(lean_images && image_damaged) {
            broken("refused", "a log lacks what a peer needs, and no image was damaged");
        }
        self.lean = true;
    }

    /// The dispatcher has heard it, and does not end the job.
    pub fn goes_on(&self, rank: Rank) -> ! {
        broken("refused", &format!("the job goes on, and no logger will ever serve rank {rank}"))
    }

    /// The job has ended with an error. Is the reason one of the refused ranks, or a lean image
    /// that lacks what a peer needs?
    pub fn explains(&self, code: i32, reason: Option<&EndReason>) -> bool {
        code == 1
            && match reason {
                Some(EndReason::LoggerRefuses { rank, why, .. }) => {
                    self.refused.iter().any(|refused| refused == &(*rank, why.clone()))
                }
                Some(EndReason::NoOlderImage { .. } | EndReason::NoWaveLeft { .. }) => self.lean,
                // An image that was taken after the lean one has replaced the older one.
                Some(EndReason::CannotStart { why, .. }) => self.lean && why == "no image is left",
                _ => false,
            }
    }
}
