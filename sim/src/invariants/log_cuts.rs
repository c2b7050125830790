//! `log cut ≤ oldest image offered` (mpich-v-2006 §3). Logs keep everything that an incarnation
//! from an offered image needs: the events after that image, and the messages that the image has
//! not received. While the start of the program is offered, nothing at all.

use super::broken;
use ftmpi_protocols::received::Received;
use ftmpi_wire::{EventNo, Rank, header};

/// The logger forgets the events of a rank below `below`; the oldest offered image was taken after
/// event `oldest` (0: the start).
pub fn events(rank: Rank, below: EventNo, oldest: EventNo) {
    if below.0 > oldest.0 + 1 {
        let how = format!(
            "events of rank {rank} below {below} are forgotten, and an image is offered that was taken \
             after event {oldest}"
        );
        broken("log-cuts", &how);
    }
}

/// A rank lets images of a peer be without these messages; its own newest durable one has received
/// those.
pub fn in_images(rank: usize, peer: usize, spared: &header::Received, newest: &Received) {
    if Received::from_wire(spared).exceeds(newest) {
        let how = format!(
            "rank {rank} lets images of rank {peer} be without messages up to {}, and its newest image has received \
             {}",
            spared.contiguous,
            newest.contiguous(),
        );
        broken("log-cuts", &how);
    }
}

/// A rank lets a peer forget these messages; its oldest offered image has received those.
pub fn messages(rank: usize, peer: usize, cut: &header::Received, oldest: &Received) {
    if Received::from_wire(cut).exceeds(oldest) {
        let how = format!(
            "rank {rank} lets rank {peer} forget messages up to {}, and an image is offered that has \
             received {}",
            cut.contiguous,
            oldest.contiguous(),
        );
        broken("log-cuts", &how);
    }
}
