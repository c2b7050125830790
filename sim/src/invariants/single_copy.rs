//! A reader of a payload in the sender's memory finds what was sent. This ends when the frame is
//! whole on its way, or when its sender has taken it back (`Link::withdraw`).

use super::broken;
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::Rank;

/// A payload that a rank has shown to a peer.
#[derive(Debug, Clone)]
pub struct Shown {
    at: UserPtr,
    bytes: Vec<u8>,
}

impl Shown {
    /// This one.
    #[must_use]
    pub fn new(at: UserPtr, bytes: &[u8]) -> Self {
        Self { at, bytes: bytes.to_vec() }
    }

    /// The rest of its frame is pushed from there.
    pub fn stays(&self, rank: usize, to: Rank, at: UserPtr, bytes: &[u8]) {
        if self.at != at || self.bytes != bytes {
            let how = format!("rank {rank} has moved or changed what rank {to} may be reading");
            broken("single-copy", &how);
        }
    }
}
