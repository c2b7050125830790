//! A life that its logger will never serve (what it must repeat is lost) ends the job, at once and with the logger's
//! reason: the job neither waits for ever nor ends as if nothing were lost, and nothing else is ever the end of it.

use super::broken;
use ftmpi_wire::Rank;

/// Who was refused, and why.
#[derive(Debug, Default)]
pub struct Refused {
    lives: Vec<(Rank, String)>,
}

impl Refused {
    /// A life of this rank is.
    pub fn is_refused(&mut self, rank: Rank, why: &str) {
        self.lives.push((rank, why.to_owned()));
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
        code == 1 && self.lives.iter().any(says)
    }
}
