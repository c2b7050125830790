//! The ways themselves: who sends what to whom, in which order.
//!
//! Guarantees: as [`super`] says, the messages of the schedules in [`crate::collective`], in which
//! the algorithms are named.

use super::{BlockPlaces, DIRECT_RANKS, Line, Operands};
use crate::collective::{PAIRWISE_RANKS, SMALL_CROWD, from_root, gather, lend, reduce};
use crate::datatype::{Datatype, TypeId};
use crate::engine::{Link, RecvData, SendData, SendMode, Source, Tag};
use crate::error::{ErrorClass, Result};
use crate::mpi::{Mpi, Status};
use crate::op::Op;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

impl<L: Link> Mpi<L> {
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
    fn gave(&mut self, request: Option<crate::engine::ReqId>) {
        if let Some(request) = request {
            self.engine.wait(request);
        }
    }

    /// Sends to one rank and receives from one. What is sent goes first: the receive can then take
    /// its message straight from the channel.
    #[inline]
    fn give_and_take(
        &mut self,
        line: Line,
        (out, out_len, to): (UserPtr, usize, usize),
        (into, into_len, from): (UserPtr, usize, usize),
        step: usize,
        error: &mut Option<ErrorClass>,
    ) {
        let send = self.give(line, out, out_len, to, step);
        self.take(line, into, into_len, from, step, error);
        self.gave(send);
    }

    #[inline]
    fn take(
        &mut self,
        line: Line,
        into: UserPtr,
        len: usize,
        from: usize,
        step: usize,
        error: &mut Option<ErrorClass>,
    ) {
        let from = Source::Rank(self.world_of(line, from));
        let into = RecvData::Bytes { ptr: into, len };
        let done = self.engine.recv(into, from, line.context, Tag::Is(line.tag | step as i32));
        *error = error.or(done.error);
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

    pub(super) fn fast_barrier(&mut self, line: Line) -> Result<()> {
        let (me, n) = (line.me, line.size);
        let (mut distance, mut round) = (1, 0);
        let mut error = None;
        if n > SMALL_CROWD && line.crowded {
            if me > 0 {
                self.give_and_take_at_one(line, (UserPtr::BOTTOM, UserPtr::BOTTOM), 0, &mut error);
            } else {
                for from in 1..n {
                    self.take(line, UserPtr::BOTTOM, 0, from, 0, &mut error);
                }
                self.give_all(line, UserPtr::BOTTOM, 0);
            }
            return self.outcome(line, error);
        }
        while distance < n {
            let out = (UserPtr::BOTTOM, 0, (me + distance) % n);
            let into = (UserPtr::BOTTOM, 0, (me + n - distance) % n);
            self.give_and_take(line, out, into, round, &mut error);
            distance *= 2;
            round += 1;
        }
        self.outcome(line, error)
    }

    /// Rank 0 gets what lies at the first address, and gives what goes to the second.
    fn give_and_take_at_one(
        &mut self,
        line: Line,
        (out, into): (UserPtr, UserPtr),
        len: usize,
        error: &mut Option<ErrorClass>,
    ) {
        let send = self.give(line, out, len, 0, 0);
        self.take(line, into, len, 0, 1, error);
        self.gave(send);
    }

    /// What rank 0 gives to all others in the second step.
    fn give_all(&mut self, line: Line, at: UserPtr, len: usize) {
        for to in 1..line.size {
            let send = self.give(line, at, len, to, 1);
            self.gave(send);
        }
    }

    pub(super) fn fast_bcast(
        &mut self,
        line: Line,
        at: UserPtr,
        len: usize,
        root: usize,
    ) -> Result<()> {
        let n = line.size;
        let place = (line.me + n - root) % n;
        let mut error = None;
        if line.crowded && from_root(len) {
            if place > 0 {
                self.take(line, at, len, root, 0, &mut error);
            } else {
                for place in 1..n {
                    let send = self.give(line, at, len, (root + place) % n, 0);
                    self.gave(send);
                }
            }
            return self.outcome(line, error);
        }
        let mut mask = 1;
        while mask < n {
            if place & mask != 0 {
                self.take(line, at, len, (place - mask + root) % n, 0, &mut error);
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

    pub(super) fn fast_allreduce(
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
        if line.crowded && reduce::at_one(n, len) {
            let mut error = None;
            if line.me > 0 {
                self.give_and_take_at_one(line, (result, result), len, &mut error);
                return self.outcome(line, error);
            }
            let mut copies = self.pool.take((n - 1) * len);
            let others = lend(&mut copies);
            let at = |i: usize| match i {
                0 => result,
                i => others.offset(((i - 1) * len) as i64),
            };
            for from in 1..n {
                self.take(line, at(from), len, from, 0, &mut error);
            }
            for (left, right) in reduce::as_by_doubling(n) {
                op.apply(at(left), at(right), count, datatype)?;
            }
            at(reduce::last_by_doubling(n)).copy_to(result, len);
            self.give_all(line, result, len);
            self.pool.give_back(copies);
            return self.outcome(line, error);
        }
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
            self.take(line, acc, len, me + 1, 1, &mut error);
        } else {
            let number = if me < 2 * extra {
                self.take(line, other, len, me - 1, 0, &mut error);
                op.apply(other, acc, count, datatype)?;
                me / 2
            } else {
                me - extra
            };
            let real = |number: usize| if number < extra { 2 * number + 1 } else { number + extra };
            let mut mask = 1;
            while mask < power {
                let partner = number ^ mask;
                let at = real(partner);
                self.give_and_take(line, (acc, len, at), (other, len, at), mask, &mut error);
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

    /// The tree of [`crate::collective`]'s reduce.
    pub(super) fn fast_reduce(
        &mut self,
        line: Line,
        mine: UserPtr,
        result: UserPtr,
        what: Operands,
        root: usize,
    ) -> Result<()> {
        let Some(builtin) = what.datatype.as_builtin() else { return Ok(()) };
        let (datatype, len, n) = (Datatype::builtin(builtin), what.len, line.size);
        let place = (line.me + n - root) % n;
        // Two in turn: the operand so far lies in the other one.
        let mut copies =
            (place.is_multiple_of(2) && n > 1).then(|| [self.pool.take(len), self.pool.take(len)]);
        let spare = copies.as_mut().map_or([result; 2], |copies| copies.each_mut().map(lend));
        let (mut acc, mut turn, mut mask) = (mine, 0, 1);
        let mut error = None;
        while mask < n && place & mask == 0 {
            if place + mask < n {
                let last = mask * 2 >= n;
                let into = if place == 0 && last && acc != result {
                    result
                } else {
                    turn ^= 1;
                    spare[turn]
                };
                self.take(line, into, len, (place + mask + root) % n, 0, &mut error);
                what.op.apply(acc, into, what.count, datatype)?;
                acc = into;
            }
            mask *= 2;
        }
        if place != 0 {
            let send = self.give(line, acc, len, (place - mask + root) % n, 0);
            self.gave(send);
        } else if acc != result {
            acc.copy_to(result, len);
        }
        copies.into_iter().flatten().for_each(|copy| self.pool.give_back(copy));
        self.outcome(line, error)
    }

    /// Everybody's operands go straight to whose block of the result they belong to; see [`crate::collective`]'s
    /// reduce-scatter.
    pub(super) fn fast_reduce_scatter(
        &mut self,
        line: Line,
        blocks: &[(UserPtr, usize); PAIRWISE_RANKS],
        result: UserPtr,
        in_place: bool,
        what: Operands,
    ) -> Result<()> {
        let Some(builtin) = what.datatype.as_builtin() else { return Ok(()) };
        let datatype = Datatype::builtin(builtin);
        let (me, n, len) = (line.me, line.size, what.len);
        let (mut sends, mut error) = ([None; PAIRWISE_RANKS], None);
        for (distance, under_way) in sends.iter_mut().enumerate().take(n).skip(1) {
            let to = (me + distance) % n;
            let (at, len) = blocks[to];
            if len > 0 {
                *under_way = self.give(line, at, len, to, distance);
            }
        }
        let mut copies = [self.pool.take(len), self.pool.take(if in_place { len } else { 0 })];
        let [incoming, sum] = copies.each_mut().map(lend);
        // What is in place may not have left yet.
        let sum = if in_place { sum } else { result };
        blocks[me].0.copy_to(sum, len);
        if len > 0 {
            for distance in 1..n {
                self.take(line, incoming, len, (me + n - distance) % n, distance, &mut error);
                what.op.apply(incoming, sum, what.count, datatype)?;
            }
        }
        sends.into_iter().for_each(|send| self.gave(send));
        if in_place {
            sum.copy_to(result, len);
        }
        copies.into_iter().for_each(|copy| self.pool.give_back(copy));
        self.outcome(line, error)
    }

    /// Two ranks exchange their blocks; more follow Bruck's algorithm, or give theirs straight to all.
    pub(super) fn fast_allgather(
        &mut self,
        line: Line,
        send: Option<UserPtr>,
        recv: UserPtr,
        block: usize,
    ) -> Result<()> {
        let (me, n) = (line.me, line.size);
        let place = |i: usize| recv.offset((i * block) as i64);
        let mine = send.unwrap_or(place(me));
        if n <= 2 {
            if send.is_some() {
                mine.copy_to(place(me), block);
            }
            let mut error = None;
            if n == 2 {
                let other = 1 - me;
                let (out, into) = ((mine, block, other), (place(other), block, other));
                self.give_and_take(line, out, into, 0, &mut error);
            }
            return self.outcome(line, error);
        }
        if line.crowded && n <= DIRECT_RANKS {
            if send.is_some() {
                mine.copy_to(place(me), block);
            }
            return self.exchange_blocks(line, |_| (mine, block), |from| (place(from), block));
        }
        // Blocks of ranks me, me + 1, … in this order.
        let mut copy = self.pool.take(n * block);
        let stage = lend(&mut copy);
        mine.copy_to(stage, block);
        let (mut have, mut round, mut error) = (1, 0, None);
        while have < n {
            let more = have.min(n - have);
            let into = stage.offset((have * block) as i64);
            let out = (stage, more * block, (me + n - have) % n);
            self.give_and_take(line, out, (into, more * block, (me + have) % n), round, &mut error);
            have += more;
            round += 1;
        }
        stage.copy_to(place(me), (n - me) * block);
        if me > 0 {
            stage.offset(((n - me) * block) as i64).copy_to(recv, me * block);
        }
        self.pool.give_back(copy);
        self.outcome(line, error)
    }

    /// Everything is sent before anything is waited for.
    pub(super) fn fast_alltoall(
        &mut self,
        line: Line,
        send: UserPtr,
        recv: UserPtr,
        block: usize,
    ) -> Result<()> {
        let at = |base: UserPtr, i: usize| base.offset((i * block) as i64);
        at(send, line.me).copy_to(at(recv, line.me), block);
        self.exchange_blocks(line, |to| (at(send, to), block), |from| (at(recv, from), block))
    }

    /// Everybody's block, of whatever size, goes straight to everybody.
    pub(super) fn fast_allgatherv(
        &mut self,
        line: Line,
        send: Option<UserPtr>,
        blocks: &BlockPlaces,
    ) -> Result<()> {
        let (place, len) = blocks[line.me];
        let mine = send.unwrap_or(place);
        if mine != place {
            mine.copy_to(place, len);
        }
        self.exchange_blocks(line, |_| (mine, len), |from| blocks[from])
    }

    /// Blocks of different sizes, from everybody to everybody.
    pub(super) fn fast_alltoallv(
        &mut self,
        line: Line,
        out: &BlockPlaces,
        into: &BlockPlaces,
    ) -> Result<()> {
        let ((mine, len), (place, _)) = (out[line.me], into[line.me]);
        if mine != place {
            mine.copy_to(place, len);
        }
        self.exchange_blocks(line, |to| out[to], |from| into[from])
    }

    /// One message from everybody to everybody; everything is sent before anything is waited for. Nothing is no
    /// message.
    #[inline]
    fn exchange_blocks(
        &mut self,
        line: Line,
        out: impl Fn(usize) -> (UserPtr, usize),
        into: impl Fn(usize) -> (UserPtr, usize),
    ) -> Result<()> {
        let (me, n) = (line.me, line.size);
        let (mut sends, mut error) = ([None; DIRECT_RANKS], None);
        for (distance, under_way) in sends.iter_mut().enumerate().take(n).skip(1) {
            let to = (me + distance) % n;
            let (at, len) = out(to);
            if len > 0 {
                *under_way = self.give(line, at, len, to, 0);
            }
        }
        for distance in 1..n {
            let from = (me + n - distance) % n;
            let (at, len) = into(from);
            if len > 0 {
                self.take(line, at, len, from, 0, &mut error);
            }
        }
        sends.into_iter().take(n).for_each(|send| self.gave(send));
        self.outcome(line, error)
    }

    /// Straight to the root.
    pub(super) fn fast_gather(
        &mut self,
        line: Line,
        mine: Option<UserPtr>,
        all: UserPtr,
        len: usize,
        root: usize,
    ) -> Result<()> {
        let mut error = None;
        if line.me != root {
            let send = mine.and_then(|mine| self.give(line, mine, len, root, 0));
            self.gave(send);
        } else {
            let place = |i: usize| all.offset((i * len) as i64);
            if let Some(mine) = mine {
                mine.copy_to(place(root), len);
            }
            for from in (0..line.size).filter(|&from| from != root) {
                self.take(line, place(from), len, from, 0, &mut error);
            }
        }
        self.outcome(line, error)
    }

    /// Straight from the root.
    pub(super) fn fast_scatter(
        &mut self,
        line: Line,
        mine: Option<UserPtr>,
        all: UserPtr,
        len: usize,
        root: usize,
    ) -> Result<()> {
        let mut error = None;
        if line.me != root {
            if let Some(mine) = mine {
                self.take(line, mine, len, root, 0, &mut error);
            }
        } else {
            let place = |i: usize| all.offset((i * len) as i64);
            let mut sends = [None; gather::TREE_RANKS];
            for to in (0..line.size).filter(|&to| to != root) {
                sends[to] = self.give(line, place(to), len, to, 0);
            }
            if let Some(mine) = mine {
                place(root).copy_to(mine, len);
            }
            sends.into_iter().for_each(|send| self.gave(send));
        }
        self.outcome(line, error)
    }
}
