//! An incarnation that its logger will never serve (what it must repeat is lost) ends the job, at
//! once and with the logger's reason: the job neither waits for ever nor ends as if nothing were
//! lost. Nor is anything else ever the end of it, but that an image was damaged and the ranks whose
//! logs its rank then needs have died since, with lean images.

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

    /// The job has ended with an error: is that because of one of the refused ranks, or because a
    /// lean image lacks what a peer needs?
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
