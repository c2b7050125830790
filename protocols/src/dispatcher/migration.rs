//! What is known of a rank that moves without a failure, and why a rank does not move.

use super::messages::MoveCause;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fmt;
use std::time::Duration;

/// How far a migration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveState {
    /// An image is being taken.
    AwaitsImage,
    /// The old incarnation ends.
    Ends,
    /// The new incarnation begins and catches up.
    Begins,
    /// The rank is at full speed.
    Done,
    /// The rank stays.
    Failed(MoveFailure),
}

/// Why a rank does not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveFailure {
    /// Its image was not kept.
    ImageLost(String),
    /// The program ends.
    RankEnds,
    /// No image of it can be taken.
    NoImage,
    /// The host that it was to go to was lost.
    GoalLost,
    /// No other host can take it.
    NoOtherHost,
    /// The host takes ranks again.
    Undrained,
}

impl fmt::Display for MoveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ImageLost(why) => write!(f, "its image was not kept: {why}"),
            Self::RankEnds => f.write_str("its program ends"),
            Self::NoImage => f.write_str("no image of it can be taken"),
            Self::GoalLost => f.write_str("the host that it was to go to was lost"),
            Self::NoOtherHost => f.write_str("no other host can take it"),
            Self::Undrained => f.write_str("the host takes ranks again"),
        }
    }
}

/// Why a request to move ranks is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The job has no images.
    NoImages {
        /// Name of the protocol.
        protocol: String,
        /// The protocol could take images.
        off: bool,
    },
    /// No image of the rank can be taken.
    NoImageOf {
        /// The rank.
        rank: Rank,
    },
    /// The rank is there.
    AlreadyThere {
        /// The rank.
        rank: Rank,
        /// Name of the host.
        host: String,
    },
    /// The rank is moving.
    Moving {
        /// The rank.
        rank: Rank,
    },
    /// The program of the rank ends, or has ended.
    RankEnds {
        /// The rank.
        rank: Rank,
    },
    /// The host takes no ranks.
    Drained {
        /// Name of the host.
        host: String,
    },
    /// The host takes no ranks: too much has failed there.
    Shunned {
        /// Name of the host.
        host: String,
    },
    /// The host has no slot for one more rank.
    NoRoom {
        /// Name of the host.
        host: String,
    },
    /// The host is not there.
    NotUp {
        /// Name of the host.
        host: String,
    },
    /// No other host can take the ranks.
    NoOtherHost {
        /// Name of the host.
        host: String,
    },
    /// The rank shares memory with the other ranks of its host.
    SharesMemory {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
    },
    /// Ranks of the host share memory, and each would move on its own.
    NotTogether {
        /// Name of the host.
        host: String,
    },
    /// The job is about to end.
    Ending,
}

/// A rank that moves, or has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The rank.
    pub rank: Rank,
    /// The host that it leaves.
    pub from: u32,
    /// The host that it goes to, once that is known.
    pub to: Option<u32>,
    /// The cause.
    pub cause: MoveCause,
    /// How far it is.
    pub state: MoveState,
    /// When it was asked for, since the start of the job.
    pub asked_at: Duration,
    /// The image that it takes along, and when it was durable.
    pub image: Option<(ImageNo, Duration)>,
    /// When the old incarnation had ended.
    pub ended_at: Option<Duration>,
    /// The incarnation that began at the goal.
    pub incarnation: Option<Incarnation>,
    /// When it said hello.
    pub hello_at: Option<Duration>,
    /// When the rank was at full speed, and all that returned with it.
    pub back_at: Option<Duration>,
    /// Its images with this number or a lower one are too old.
    pub(super) before: ImageNo,
    /// Images that were lost.
    pub(super) lost: u32,
}

impl Migration {
    /// Whether it is under way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.state, MoveState::AwaitsImage | MoveState::Ends | MoveState::Begins)
    }
}
