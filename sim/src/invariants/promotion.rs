//! A rank that begins in its standby loses nothing.
//!
//! A standby has read an image ahead of time. While it waited, its rank may have taken later
//! images, and others may have forgotten what these contain: payloads in the logs of senders,
//! events, text. So the standby must be of the newest image that the rank is offered, which nobody
//! has cut behind, and of the very incarnation that is announced to all. (That its messages are
//! repeated, that its rank is dead, and that its host takes ranks, other invariants see.)

use super::broken;
use ftmpi_wire::{ImageNo, Incarnation};

const NAME: &str = "promotion loses nothing";

/// What a process is made for: incarnation and image.
pub type Made = (Incarnation, ImageNo);

/// A rank begins in this standby. `ordered`: its incarnation and the images that it is offered,
/// newest first; `cut`: the oldest image that others keep something for.
pub fn begins(rank: usize, standby: Made, ordered: (Incarnation, &[ImageNo]), cut: ImageNo) {
    let ((made_for, image), (incarnation, offered)) = (standby, ordered);
    if image < cut {
        broken(NAME, &format!("rank {rank} begins from image {image}; logs are cut at {cut}"));
    }
    if offered.first() != Some(&image) {
        broken(NAME, &format!("rank {rank} begins from image {image}, and has {offered:?}"));
    }
    if made_for != incarnation {
        broken(NAME, &format!("the standby of rank {rank} is {made_for}, not {incarnation}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERED: (Incarnation, &[ImageNo]) = (Incarnation(2), &[ImageNo(5), ImageNo(4)]);

    #[test]
    fn the_newest_image_in_the_next_incarnation() {
        begins(0, (Incarnation(2), ImageNo(5)), ORDERED, ImageNo(4));
    }

    #[test]
    #[should_panic(expected = "promotion loses nothing is broken")]
    fn an_older_image_that_is_kept() {
        begins(0, (Incarnation(2), ImageNo(4)), ORDERED, ImageNo(4));
    }

    #[test]
    #[should_panic(expected = "logs are cut at 5")]
    fn an_image_behind_which_logs_are_cut() {
        begins(0, (Incarnation(2), ImageNo(4)), ORDERED, ImageNo(5));
    }

    #[test]
    #[should_panic(expected = "the standby of rank 0")]
    fn a_standby_of_another_incarnation() {
        begins(0, (Incarnation(1), ImageNo(5)), ORDERED, ImageNo(4));
    }
}
