//! The images of a wave are a consistent cut (Chandy and Lamport 1985; mpich-v-2006 §2). After a
//! return no rank has received a message that its cluster peer has not sent yet. That the others
//! are not lost, the results show.

use super::broken;
use ftmpi_protocols::received::Received;
use ftmpi_wire::header;

/// A rank reports to a cluster peer what it has received from it; the present state of the peer has
/// sent `sent`.
pub fn received(rank: usize, cluster_peer: usize, said: &header::Received, sent: &Received) {
    if Received::from_wire(said).exceeds(sent) {
        let how = format!(
            "rank {rank} has received {said:?} from rank {cluster_peer}, whose state has sent up to {}",
            sent.contiguous()
        );
        broken("consistent-cut", &how);
    }
}
