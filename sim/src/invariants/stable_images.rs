//! An image is taken only when every earlier event of its rank is written (mpich-v-2006 §3). An
//! incarnation that begins from the image asks for later events only, so the image's own events
//! must never be lost.

use super::broken;
use ftmpi_wire::EventNo;

/// An image is taken whose last event this is.
pub fn taken(rank: usize, last: EventNo, written: EventNo) {
    if last > written {
        let how =
            format!("rank {rank} takes an image after event {last}, and {written} are written");
        broken("stable-images", &how);
    }
}
