//! Checks that cost communication or time, on request (`FTMPI_CHECK=1`). Do all ranks make the same
//! collective call? What has a rank left open at the end?
//!
//! Guarantees: without checks, a collective pays one predicted branch. With checks, every
//! collective on an intracommunicator first compares the calls of all ranks. A difference that MPI
//! forbids becomes an error on every rank that can see it, instead of a hang or a wrong result. The
//! error names both calls.
//!
//! A non-blocking call does not wait for others: its request ends with that error. A persistent
//! call is compared when it is made; MPI allows it to wait for all ranks then.

use std::borrow::Cow;

use super::{Buffer, Collective, CommId, Mpi, Peer};
use crate::bail;
use crate::collective::{Blocks, Call, Piece, Plan, Schedule, Steps};
use crate::comm::Members;
use crate::datatype::{Builtin, Class, Datatype, TypeId};
use crate::engine::{Decision, Link, ReqId};
use crate::error::Result;
use crate::op::{OpId, Predefined};

/// Bytes of what is compared.
const LEN: usize = 24;
/// No value that ranks could differ in.
const ANY: u32 = u32::MAX;

/// What all ranks must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallRecord {
    kind: u32,
    root: u32,
    op: u32,
    /// What each rank contributes (or gets), if it must be the same on all ranks.
    amount: Amount,
}

/// CollectiveForm much data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Amount {
    /// `u64::MAX` where ranks may differ.
    bytes: u64,
    /// One more than the number of the predefined type of which all is made. 0 where there are
    /// several types, or none, or bytes that may stand for anything.
    values: u32,
}

impl Amount {
    const ANY: Self = Self { bytes: u64::MAX, values: 0 };
    const NONE: Self = Self { bytes: 0, values: 0 };

    fn of(datatype: &Datatype, count: i64) -> Self {
        let bytes = datatype.size().saturating_mul(count.max(0) as u64);
        let values = match datatype.base() {
            Some(base) if bytes > 0 && !is_raw(base) => base as u32 + 1,
            _ => 0,
        };
        Self { bytes, values }
    }

    fn builtin(self) -> Option<Builtin> {
        Builtin::ALL.get((self.values as usize).checked_sub(1)?).copied()
    }
}

/// Programs use bytes for characters, and the reverse.
fn is_raw(builtin: Builtin) -> bool {
    matches!(builtin.class(), Class::Byte | Class::Packed | Class::Character(_) | Class::Marker)
}

const NAMES: [&str; 22] = [
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
];

/// The form of a collective call; MPI lets no two of them meet (MPI-4.1, 6.12 and 6.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectiveForm {
    Blocking,
    NonBlocking,
    Persistent,
}

impl CollectiveForm {
    /// Forms of a call are distinguished by multiples of this number.
    const STEP: u32 = 32;
}

impl CallRecord {
    fn encode(self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..4].copy_from_slice(&self.kind.to_le_bytes());
        out[4..8].copy_from_slice(&self.root.to_le_bytes());
        out[8..12].copy_from_slice(&self.op.to_le_bytes());
        out[12..16].copy_from_slice(&self.amount.values.to_le_bytes());
        out[16..].copy_from_slice(&self.amount.bytes.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; LEN]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            kind: word(0),
            root: word(4),
            op: word(8),
            amount: Amount {
                values: word(12),
                bytes: u64::from(word(16)) | u64::from(word(20)) << 32,
            },
        }
    }

    fn name(self) -> Cow<'static, str> {
        let name = NAMES.get((self.kind & (CollectiveForm::STEP - 1)) as usize).copied();
        match (name, self.kind / CollectiveForm::STEP) {
            (Some(name), 0) => name.into(),
            (Some(name), 1) => format!("MPI_I{}", name["MPI_".len()..].to_lowercase()).into(),
            (Some(name), 2) => format!("{name}_init").into(),
            _ => "another call".into(),
        }
    }
}

/// Whether all ranks, whose records are in `all`, call what this one does.
fn verdict(mine: &[u8], all: &[u8]) -> Result<()> {
    let Some(mine) = mine.first_chunk().map(CallRecord::decode) else { return Ok(()) };
    let name = mine.name();
    for (rank, other) in all.as_chunks::<LEN>().0.iter().enumerate() {
        let other = CallRecord::decode(other);
        if other.kind != mine.kind {
            bail!(Other, "rank {rank} calls {} while this rank calls {name}", other.name());
        }
        if other.root != mine.root {
            bail!(
                Root,
                "rank {rank} calls {name} with root {}, this rank with root {}",
                other.root as i32,
                mine.root as i32
            );
        }
        if other.op != mine.op {
            bail!(Op, "rank {rank} calls {name} with another operation than this rank");
        }
        if other.amount.bytes != mine.amount.bytes {
            bail!(
                Count,
                "rank {rank} calls {name} with {} bytes, this rank with {}",
                other.amount.bytes,
                mine.amount.bytes
            );
        }
        if let (Some(its), Some(ours)) = (other.amount.builtin(), mine.amount.builtin())
            && its.class() != ours.class()
        {
            bail!(
                Type,
                "rank {rank} calls {name} with values of {}, this rank with values of {}",
                its.name(),
                ours.name()
            );
        }
    }
    Ok(())
}

impl<L: Link> Mpi<L> {
    /// Switches the checks on.
    pub fn set_checks(&mut self, on: bool) {
        self.checks = on;
    }

    /// Whether the checks are on.
    #[must_use]
    pub fn checks(&self) -> bool {
        self.checks
    }

    fn amount_of(&self, count: i64, datatype: TypeId) -> Amount {
        self.types.get(datatype).map_or(Amount::NONE, |datatype| Amount::of(datatype, count))
    }

    fn record_of(&self, what: &Collective<'_>, how: CollectiveForm) -> CallRecord {
        use Collective as C;
        let root_of = |root: Peer| match root {
            Peer::Rank(rank) => rank,
            _ => ANY,
        };
        // Only user operations differ in number from rank to rank.
        let op_of = |op: OpId| if (op.0 as usize) < Predefined::ALL.len() { op.0 } else { ANY };
        let (any, no_root, no_op) = (Amount::ANY, ANY, ANY);
        // The part that is not in place says how long it is.
        let side = |send: Buffer, sent: Amount, received: Amount| match send {
            Buffer::At(_) => sent,
            Buffer::InPlace => received,
        };
        let (kind, root, op, amount) = match *what {
            C::Barrier => (0, no_root, no_op, any),
            C::Bcast { count, datatype, root, .. } => {
                (1, root_of(root), no_op, self.amount_of(count, datatype))
            }
            C::Gather { send, send_count, send_type, recv_count, recv_type, root, .. } => {
                // Only the root's receive arguments are significant. At the root they may stand for
                // the whole call.
                let recv = if send == Buffer::InPlace {
                    self.amount_of(recv_count, recv_type)
                } else {
                    Amount::NONE
                };
                (2, root_of(root), no_op, side(send, self.amount_of(send_count, send_type), recv))
            }
            C::Gatherv { root, .. } => (3, root_of(root), no_op, any),
            C::Scatter { recv, recv_count, recv_type, send_count, send_type, root, .. } => {
                let send = if recv == Buffer::InPlace {
                    self.amount_of(send_count, send_type)
                } else {
                    Amount::NONE
                };
                (4, root_of(root), no_op, side(recv, self.amount_of(recv_count, recv_type), send))
            }
            C::Scatterv { root, .. } => (5, root_of(root), no_op, any),
            C::Allgather { recv_count, recv_type, .. } => {
                (6, no_root, no_op, self.amount_of(recv_count, recv_type))
            }
            C::Allgatherv { .. } => (7, no_root, no_op, any),
            C::Alltoall { recv_count, recv_type, .. } => {
                (8, no_root, no_op, self.amount_of(recv_count, recv_type))
            }
            C::Alltoallv { .. } => (9, no_root, no_op, any),
            C::Alltoallw { .. } => (10, no_root, no_op, any),
            C::Reduce { count, datatype, op, root, .. } => {
                (11, root_of(root), op_of(op), self.amount_of(count, datatype))
            }
            C::Allreduce { count, datatype, op, .. } => {
                (12, no_root, op_of(op), self.amount_of(count, datatype))
            }
            C::Scan { count, datatype, op, .. } => {
                (13, no_root, op_of(op), self.amount_of(count, datatype))
            }
            C::Exscan { count, datatype, op, .. } => {
                (14, no_root, op_of(op), self.amount_of(count, datatype))
            }
            C::ReduceScatter { op, .. } => (15, no_root, op_of(op), any),
            C::ReduceScatterBlock { recv_count, datatype, op, .. } => {
                (16, no_root, op_of(op), self.amount_of(recv_count, datatype))
            }
            C::NeighborAllgather { .. } => (17, no_root, no_op, any),
            C::NeighborAllgatherv { .. } => (18, no_root, no_op, any),
            C::NeighborAlltoall { .. } => (19, no_root, no_op, any),
            C::NeighborAlltoallv { .. } => (20, no_root, no_op, any),
            C::NeighborAlltoallw { .. } => (21, no_root, no_op, any),
        };
        CallRecord { kind: kind + how as u32 * CollectiveForm::STEP, root, op, amount }
    }

    /// Compares the call with those of the other members.
    #[cold]
    #[inline(never)]
    pub(super) fn compare_calls(
        &mut self,
        comm: CommId,
        what: &Collective<'_>,
        how: CollectiveForm,
    ) -> Result<()> {
        if self.remote(comm).is_ok() {
            return Ok(());
        }
        let mine = self.record_of(what, how).encode();
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &mine)?;
        self.blamed = comm;
        let verdict = verdict(&mine, &all);
        if verdict.is_err() {
            // Takes both tags as if the call were carried out: a rank whose call does not wait has
            // taken both.
            self.next_tag(comm)?;
        }
        verdict
    }

    /// Compares a call that must not wait. The schedule of `call` goes on when the records of all
    /// ranks are here, or ends with an error.
    #[cold]
    #[inline(never)]
    pub(super) fn compare_later(
        &mut self,
        comm: CommId,
        what: &Collective<'_>,
        call: &Call,
        members: &Members,
    ) -> Result<Schedule<ReqId>> {
        let mine = self.record_of(what, CollectiveForm::NonBlocking).encode();
        let (first, then) = (self.next_tag(comm)?, self.next_tag(comm)?);
        let context = members.collective_context();
        let (engine, pool) = (&mut self.engine, &mut self.pool);
        let mut plan = Plan::new(engine, pool, &members.local, members.me, context, first)
            .oversubscribed(self.oversubscribed.then_some(&*self.hosts));
        let (word, all) = (plan.scratch(LEN), plan.scratch(LEN * plan.size));
        word.write(&mine);
        let records = Call::Allgather {
            send: Some(Piece::bytes(word, LEN)),
            recv: Blocks::bytes_each(all, LEN),
        };
        records.write(&mut plan);
        plan.compare(verdict, &mine, all);
        plan.turn_to_tag(then);
        call.write(&mut plan);
        Ok(plan.finish())
    }

    /// CollectiveForm many messages of the program have come and were not received; on one
    /// communicator, if one is named. The number depends on timing. It is recorded, so that a
    /// replay gives the same answer.
    fn unreceived(&mut self, context: Option<u32>) -> usize {
        self.poll_once();
        match self.engine.decide_polled() {
            Decision::Negative => 0,
            Decision::Positive(n) => n as usize,
            Decision::Live => {
                let n = self.engine.unexpected(context);
                if n > 0 {
                    self.engine.answered(n as u64);
                } else {
                    self.engine.answered_negative();
                }
                n
            }
        }
    }

    /// What is lost with a communicator that is about to be freed, if the checks are on.
    #[must_use]
    pub fn lost_with(&mut self, comm: CommId) -> Option<String> {
        if !self.checks {
            return None;
        }
        let context = self.members(comm).ok()?.context;
        let (n, name) = (self.unreceived(Some(context)), self.comm_get_name(comm).ok()?);
        let on = match String::from_utf8_lossy(name) {
            name if name.is_empty() => "it".into(),
            name => name,
        };
        let s = if n == 1 { "" } else { "s" };
        (n > 0).then(|| format!("{n} message{s} that came on {on} and was not received"))
    }

    /// What the program has left open, for a report at its end: one text for each kind.
    #[must_use]
    pub fn left_open(&mut self) -> Vec<String> {
        let came = self.unreceived(None);
        let mut out = Vec::new();
        let mut note = |n: usize, what: &str| {
            if n > 0 {
                out.push(format!("{n} {what}{}", if n == 1 { "" } else { "s" }));
            }
        };
        note(self.open_requests(), "request that was started and not completed");
        let idle = self.requests.iter().filter(|(_, slot)| !slot.is_open()).count();
        note(idle, "persistent request that was not freed");
        note(came, "message that came and was not received");
        note(self.messages.len(), "message that was probed and not received");
        note(self.comms.len().saturating_sub(2), "communicator that was not freed");
        note(self.sessions.len(), "session that was not finalized");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        for (kind, name) in NAMES.iter().enumerate() {
            let amount = Amount { bytes: 1 << 40 | 7, values: 5 };
            let record = CallRecord { kind: kind as u32, root: 3, op: ANY, amount };
            assert_eq!(CallRecord::decode(&record.encode()), record);
            assert_eq!(record.name(), *name);
        }
        let of = |kind, how: CollectiveForm| CallRecord {
            kind: kind + how as u32 * CollectiveForm::STEP,
            root: ANY,
            op: ANY,
            amount: Amount::NONE,
        };
        assert_eq!(of(12, CollectiveForm::NonBlocking).name(), "MPI_Iallreduce");
        assert_eq!(of(1, CollectiveForm::Persistent).name(), "MPI_Bcast_init");
        assert_eq!(of(0, CollectiveForm::NonBlocking).name(), "MPI_Ibarrier");
        assert_eq!(of(31, CollectiveForm::Blocking).name(), "another call");
    }

    #[test]
    fn amounts_name_their_values() {
        let (int, byte) = (Datatype::builtin(Builtin::Int), Datatype::builtin(Builtin::Byte));
        assert_eq!(Amount::of(int, 3), Amount { bytes: 12, values: Builtin::Int as u32 + 1 });
        assert_eq!(Amount::of(int, 3).builtin(), Some(Builtin::Int));
        assert_eq!(
            Amount::of(&Datatype::vector(2, 1, 3, int).unwrap(), 1).builtin(),
            Some(Builtin::Int)
        );
        assert_eq!(Amount::of(int, 0), Amount::NONE);
        assert_eq!(Amount::of(byte, 3).builtin(), None);
        assert_eq!(Amount::ANY.builtin(), None);
    }
}
