//! What an algorithm asks for, step by step.
//!
//! Each algorithm of this folder is written once, over [`Steps`]. Two executors carry it out.
//! [`Plan`](super::Plan) writes the steps into a schedule, which runs at once, later or again.
//! [`Short`](super::Short) runs them at once, without a schedule.
//!
//! Guarantees: both executors give the messages of an operation the same identities, in the order
//! in which the algorithm names them. Ranks may differ in the executor that they take.

use super::data::{Operands, Piece};
use crate::usermem::UserPtr;

/// An executor of an algorithm between the ranks of one group.
pub trait Steps {
    /// This rank. On the remote side of an intercommunicator it belongs to the other group.
    fn me(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Whether the ranks share a host that has fewer processors than ranks. The cost of an
    /// algorithm is then how often a rank waits for another one, which runs in its place.
    fn is_oversubscribed(&self) -> bool;

    /// Whether the ranks are oversubscribed, and so few that each may send to all.
    fn prefers_direct(&self) -> bool;

    /// Sends `data` to rank `to`, as message number `step` of the operation.
    fn send(&mut self, data: Piece, to: usize, step: usize);

    /// Receives message number `step` of the operation from rank `from`. The message is there after
    /// the next fence, or when the operation ends.
    fn recv(&mut self, into: Piece, from: usize, step: usize);

    /// Waits for all sends and receives above.
    fn fence(&mut self);

    /// Copies, repacking between layouts.
    fn copy(&mut self, from: Piece, to: Piece);

    /// `inout = input op inout` on `count` elements.
    fn reduce(&mut self, what: Operands<'_>, count: usize, input: UserPtr, inout: UserPtr);

    /// `len` bytes that live as long as the operation.
    fn scratch(&mut self, len: usize) -> UserPtr;

    /// Room for `count` elements that lie as the program's do.
    #[inline]
    fn elements(&mut self, like: Operands<'_>, count: usize) -> UserPtr {
        let (len, origin) = like.span(count);
        self.scratch(len).offset(origin)
    }

    /// Scratch memory for `n` operands: the origin of the first one, and the bytes from one origin
    /// to the next. The operands never overlap, also where the extent of the datatype is smaller
    /// than its true extent.
    fn operands(&mut self, like: Operands<'_>, n: usize) -> (UserPtr, i64) {
        let (len, origin) = like.span(like.count);
        let stride = len.next_multiple_of(16);
        (self.scratch(n * stride).offset(origin), stride as i64)
    }
}
