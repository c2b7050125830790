//! An image is taken only when every event of its rank until then is written (mpich-v-2006 §3): an
//! incarnation that begins from it asks for the events after it, so what it contains must never be
//! lost.

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
