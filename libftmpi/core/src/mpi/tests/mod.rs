//! The facade on real engines, one thread per rank, messages through memory.

mod collectives;
mod communicators;
mod generations;
mod going_on;
mod later;
mod loopback;
mod point;

use super::{Buffer, CommId, Counts, Mpi, Outgoing, PartitionedBuffer, Peer, SendKind, Tag};
use crate::datatype::{Builtin, TypeId};
use crate::usermem::UserPtr;
pub(super) use loopback::{Loopback, run};

pub(super) type Rank0 = Mpi<Loopback>;
pub(super) const WORLD: CommId = CommId::WORLD;
pub(super) const INT: TypeId = TypeId::builtin(Builtin::Int);
pub(super) const DOUBLE: TypeId = TypeId::builtin(Builtin::Double);

/// The address of a test's own values.
pub(super) fn address_of<T>(values: &mut [T]) -> UserPtr {
    // SAFETY: every test keeps its buffers until its requests are complete.
    unsafe { UserPtr::new(values.as_mut_ptr().cast()) }
}

pub(super) fn at<T>(values: &mut [T]) -> Buffer {
    Buffer::At(address_of(values))
}

pub(super) fn outgoing(buffer: UserPtr, count: i64, to: Peer, tag: i32) -> Outgoing {
    Outgoing { buffer, count, datatype: INT, to, tag }
}

pub(super) fn ints(buffer: UserPtr, partitions: i64, count: i64) -> PartitionedBuffer {
    PartitionedBuffer { buffer, partitions, count, datatype: INT }
}

pub(super) fn counts(values: &[i32]) -> Counts {
    // SAFETY: tests pass one entry per process.
    unsafe { Counts::i32(values.as_ptr()) }
}

pub(super) fn me(mpi: &Rank0) -> (usize, usize) {
    (mpi.comm_rank(WORLD).unwrap() as usize, mpi.comm_size(WORLD).unwrap() as usize)
}

pub(super) fn send(mpi: &mut Rank0, values: &mut [i32], to: usize, tag: i32) {
    let count = values.len() as i64;
    let to = Peer::Rank(to as u32);
    mpi.send(SendKind::Standard, address_of(values), count, INT, to, tag, WORLD).unwrap();
}

pub(super) fn recv(mpi: &mut Rank0, values: &mut [i32], from: Peer, tag: Tag) -> super::Status {
    let count = values.len() as i64;
    mpi.recv(address_of(values), count, INT, from, tag, WORLD).unwrap()
}
