//! Short blocking collectives on predefined types, straight to the engine.
//!
//! Guarantees: the messages are those that the schedules of [`crate::collective`] send, with the
//! same identities, so that ranks may differ in which way they take.

use super::arguments::{Buffer, Peer, dense};
use super::{Collective, CommId, Mpi, Status};
use crate::collective::{lend, tag_of};
use crate::datatype::{Datatype, TypeId};
use crate::engine::{Link, RecvData, SendData, SendMode, Source, Tag};
use crate::error::{ErrorClass, Result};
use crate::op::Op;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

/// Up to this many bytes.
const SHORT_BYTES: usize = 2048;

/// One collective of a communicator: where its messages belong.
#[derive(Clone, Copy)]
struct Line {
    comm: CommId,
    me: usize,
    size: usize,
    context: u16,
    tag: i32,
    /// Ranks of the communicator are those of the world.
    same_as_world: bool,
}

impl<L: Link> Mpi<L> {
    /// Runs the call if it is one of the short ones.
    #[inline]
    pub(super) fn fast_collective(
        &mut self,
        comm: CommId,
        what: &Collective<'_>,
    ) -> Option<Result<()>> {
        match *what {
            Collective::Barrier => {
                let line = self.line(comm)?;
                Some(self.fast_barrier(line))
            }
            Collective::Bcast { buffer, count, datatype, root: Peer::Rank(root) } => {
                let (at, len) = dense(buffer, count, datatype)?;
                if len == 0 || len > SHORT_BYTES || root >= self.comm_size(comm).ok()? {
                    return None;
                }
                let line = self.line(comm)?;
                Some(self.fast_bcast(line, at, len, root as usize))
            }
            Collective::Allreduce { send, recv: Buffer::At(recv), count, datatype, op } => {
                let (at, len) = dense(recv, count, datatype)?;
                if len == 0 || len > SHORT_BYTES {
                    return None;
                }
                let op = **self.ops.get(op).ok()?;
                let builtin = Datatype::builtin(datatype.as_builtin()?);
                if !matches!(op, Op::Predefined(_)) || op.check(builtin).is_err() {
                    return None;
                }
                if let Buffer::At(from) = send {
                    dense(from, count, datatype)?;
                }
                let line = self.line(comm)?;
                if let Buffer::At(from) = send {
                    from.copy_to(at, len);
                }
                Some(self.fast_allreduce(line, at, len, count as usize, datatype, op))
            }
            _ => None,
        }
    }

    /// The next collective of an intracommunicator.
    #[inline]
    fn line(&mut self, comm: CommId) -> Option<Line> {
        let world = self.engine.size();
        let entry = self.comms.get_mut(comm.0)?;
        let members = &entry.members;
        if members.remote.is_some() {
            return None;
        }
        entry.sequence = entry.sequence.wrapping_add(1);
        Some(Line {
            comm,
            me: members.me as usize,
            size: members.local.len() as usize,
            context: members.collective_context(),
            tag: tag_of(entry.sequence),
            same_as_world: comm == CommId::WORLD && members.local.len() == world,
        })
    }

    #[inline]
    fn world_of(&self, line: Line, rank: usize) -> Rank {
        if line.same_as_world {
            return Rank(rank as u32);
        }
        let comm = self.comms.get(line.comm.0);
        comm.and_then(|comm| comm.members.local.world(rank as u32))
            .expect("the communicator of a running collective has this rank")
    }

    #[inline]
    fn give(
        &mut self,
        line: Line,
        at: UserPtr,
        len: usize,
        to: usize,
        step: usize,
    ) -> Option<crate::engine::ReqId> {
        let to = self.world_of(line, to);
        let data = SendData::Bytes { ptr: at, len };
        self.engine.isend(data, to, line.context, line.tag | step as i32, SendMode::Standard)
    }

    #[inline]
    fn get(
        &mut self,
        line: Line,
        at: UserPtr,
        len: usize,
        from: usize,
        step: usize,
    ) -> crate::engine::ReqId {
        let from = Source::Rank(self.world_of(line, from));
        let into = RecvData::Bytes { ptr: at, len };
        self.engine.irecv(into, from, line.context, Tag::Is(line.tag | step as i32))
    }

    /// Waits for a receive, which must bring `len` bytes.
    #[inline]
    fn got(&mut self, request: crate::engine::ReqId, error: &mut Option<ErrorClass>) {
        let done = self.engine.wait(request);
        *error = error.or(done.error);
    }

    #[inline]
    fn gave(&mut self, request: Option<crate::engine::ReqId>) {
        if let Some(request) = request {
            self.engine.wait(request);
        }
    }

    fn outcome(&mut self, line: Line, error: Option<ErrorClass>) -> Result<()> {
        match error {
            None => Ok(()),
            Some(error) => {
                let status = Status { error: Some(error), ..Status::EMPTY };
                Err(self.failed(error, status, line.comm))
            }
        }
    }

    fn fast_barrier(&mut self, line: Line) -> Result<()> {
        let (me, n) = (line.me, line.size);
        let (mut distance, mut round) = (1, 0);
        let mut error = None;
        while distance < n {
            let recv = self.get(line, UserPtr::BOTTOM, 0, (me + n - distance) % n, round);
            let send = self.give(line, UserPtr::BOTTOM, 0, (me + distance) % n, round);
            self.gave(send);
            self.got(recv, &mut error);
            distance *= 2;
            round += 1;
        }
        self.outcome(line, error)
    }

    fn fast_bcast(&mut self, line: Line, at: UserPtr, len: usize, root: usize) -> Result<()> {
        let n = line.size;
        let place = (line.me + n - root) % n;
        let mut error = None;
        let mut mask = 1;
        while mask < n {
            if place & mask != 0 {
                let from = Source::Rank(self.world_of(line, (place - mask + root) % n));
                let into = RecvData::Bytes { ptr: at, len };
                error = self.engine.recv(into, from, line.context, Tag::Is(line.tag)).error;
                break;
            }
            mask *= 2;
        }
        mask /= 2;
        while mask > 0 {
            if place + mask < n {
                let send = self.give(line, at, len, (place + mask + root) % n, 0);
                self.gave(send);
            }
            mask /= 2;
        }
        self.outcome(line, error)
    }

    fn fast_allreduce(
        &mut self,
        line: Line,
        result: UserPtr,
        len: usize,
        count: usize,
        datatype: TypeId,
        op: Op,
    ) -> Result<()> {
        let n = line.size;
        if n < 2 {
            return Ok(());
        }
        let Some(builtin) = datatype.as_builtin() else { return Ok(()) };
        let datatype = Datatype::builtin(builtin);
        let mut copy = self.pool.take(len);
        let (mut acc, mut other) = (result, lend(&mut copy));
        let mut error = None;
        let power = 1 << n.ilog2();
        let extra = n - power;
        let me = line.me;
        let lends = me < 2 * extra && me.is_multiple_of(2);
        if lends {
            let send = self.give(line, acc, len, me + 1, 0);
            self.gave(send);
            let recv = self.get(line, acc, len, me + 1, 1);
            self.got(recv, &mut error);
        } else {
            let number = if me < 2 * extra {
                let recv = self.get(line, other, len, me - 1, 0);
                self.got(recv, &mut error);
                op.apply(other, acc, count, datatype)?;
                me / 2
            } else {
                me - extra
            };
            let real = |number: usize| if number < extra { 2 * number + 1 } else { number + extra };
            let mut mask = 1;
            while mask < power {
                let partner = number ^ mask;
                let recv = self.get(line, other, len, real(partner), mask);
                let send = self.give(line, acc, len, real(partner), mask);
                self.gave(send);
                self.got(recv, &mut error);
                if partner < number {
                    op.apply(other, acc, count, datatype)?;
                } else {
                    op.apply(acc, other, count, datatype)?;
                    std::mem::swap(&mut acc, &mut other);
                }
                mask *= 2;
            }
            if me < 2 * extra {
                let send = self.give(line, acc, len, me - 1, 1);
                self.gave(send);
            }
            if acc != result {
                acc.copy_to(result, len);
            }
        }
        self.pool.give_back(copy);
        self.outcome(line, error)
    }
}
