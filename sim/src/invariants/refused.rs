//! An incarnation that its logger will never serve (what it must repeat is lost) ends the job, at once and with the logger's
//! reason: the job neither waits for ever nor ends as if nothing were lost. Nor is anything else ever the end of it, but
//! that an image was damaged and the ranks whose logs its rank then needs have died since, with lean images.

use super::broken;
use ftmpi_wire::Rank;

/// Who was refused, and why.
#[derive(Debug, Default)]
pub struct Refused {
    refused: Vec<(Rank, String)>,
    lean: bool,
}

impl Refused {
    /// An incarnation of this rank is.
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

    /// The job has ended with an error; is that for one of them?
    pub fn explains(&self, code: i32, text: &str) -> bool {
        let says = |(rank, why): &(Rank, String)| {
            text.starts_with(&format!("rank {rank} on ")) && text.ends_with(why.as_str())
        };
        // The last: one that it took after it had begun from a lean one has taken the place of the older one.
        let none_left = [
            "it has no older image to return to",
            "logs do not reach back to the beginning any more",
            "no image is left",
        ];
        let lean = self.lean && none_left.iter().any(|words| text.ends_with(words));
        code == 1 && (lean || self.refused.iter().any(says))
    }
}
