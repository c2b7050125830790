//! One step of a schedule.

use super::data::{Piece, TypeRef};
use crate::error::Result;
use crate::op::Op;
use crate::usermem::UserPtr;
use ftmpi_wire::{Rank, Ssn};

/// One step of a schedule.
#[derive(Clone)]
pub enum Step {
    /// Start a send.
    Send {
        /// Identity, reserved when the schedule was built.
        ssn: Ssn,
        /// Receiver.
        to: Rank,
        /// Tag in the collective context.
        tag: i32,
        /// Payload.
        data: Piece,
    },
    /// Start a receive.
    Recv {
        /// Sender.
        from: Rank,
        /// Tag in the collective context.
        tag: i32,
        /// Place of the payload.
        into: Piece,
    },
    /// Wait for all sends and receives that were started before.
    Fence,
    /// `inout = input op inout`.
    Reduce {
        /// Operation.
        op: Op,
        /// Type of the elements.
        datatype: TypeRef,
        /// Their number.
        count: usize,
        /// Left operand.
        input: UserPtr,
        /// Right operand and result.
        inout: UserPtr,
    },
    /// Copy, repacking between layouts.
    Copy {
        /// Source.
        from: Piece,
        /// Target.
        to: Piece,
    },
    /// Ends the schedule with an error if the records of all ranks show that they call different
    /// things. Messages that were reserved for later steps are never sent: their numbers stay free.
    Compare {
        /// Compares ours with all of them, in the order of the ranks.
        verdict: fn(&[u8], &[u8]) -> Result<()>,
        /// Our word.
        mine: Box<[u8]>,
        /// The records of all ranks, one after the other.
        all: UserPtr,
        /// How many ranks.
        ranks: usize,
    },
}

/// A receive that waits for the next fence of an operation without a schedule.
pub struct Awaited {
    /// Sender.
    pub from: Rank,
    /// Tag in the collective context.
    pub tag: i32,
    /// Place of the payload.
    pub into: Piece,
}
