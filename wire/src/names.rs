//! Types for the numbers of the protocols, so that one number cannot be passed for another.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $name {
            /// The number after this one.
            #[inline]
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }
    };
}

number!(
    /// A process of the job, by its number in `MPI_COMM_WORLD`.
    Rank(u32)
);
number!(
    /// How often a rank has been started again: 0 is its first incarnation.
    Incarnation(u32)
);
number!(
    /// Sender's sequence number: the n-th message of one rank to one other rank, counted from 1 at
    /// the program's call. So it is the same in every replay. 0 means "none yet".
    Ssn(u64)
);
number!(
    /// The number of an image of one rank, counted from 1 and never reused.
    ImageNo(u64)
);
number!(
    /// Receiver's sequence number: position of an event in the sequence of one rank's determinants,
    /// counted from 1. 0 means "none yet".
    EventNo(u64)
);
number!(
    /// The number of a coordinated checkpoint wave.
    Wave(u64)
);

impl Rank {
    /// As an index into a table of ranks.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The identity of an image, which is also its name in every store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId {
    /// The rank.
    pub rank: Rank,
    /// The number of the image.
    pub image: ImageNo,
    /// The incarnation of the rank that took the image.
    pub incarnation: Incarnation,
}
