//! A counter of all members of a communicator, kept by the first of them: what is behind the shared
//! pointer of a file (MPI-4.1, 14.4.4).
//!
//! The counter is a window that the program does not know, served like any other, so that it
//! survives failures and every addition happens once. Only these calls look into the window: it
//! needs no locks, and a logging protocol records nothing when a message leaves the rank.

use super::one_sided::{OneSided, OriginBuffer, TargetBuffer};
use super::{CommId, Mpi, Peer};
use crate::collective::address_of;
use crate::datatype::{Builtin, TypeId};
use crate::engine::{Decision, Link};
use crate::error::Result;
use crate::ids::WinId;
use crate::op::{OpId, Predefined};
use crate::window::Flavor;

impl<L: Link> Mpi<L> {
    /// Makes a counter with the value 0; all members call it.
    pub(super) fn win_counter(&mut self, comm: CommId) -> Result<WinId> {
        let info = self.infos.insert(Default::default())?;
        self.infos.get_mut(info)?.set(b"no_locks", b"true")?;
        let first = self.comm_rank(comm)? == 0;
        let answer = self.win_allocate(if first { 8 } else { 0 }, 1, Some(info), comm);
        self.infos.free(info)?;
        let (id, _) = answer?;
        let window = self.window_mut(id)?;
        debug_assert!(window.flavor == Flavor::Allocate);
        window.counter = true;
        window.locked_all = true;
        window.targets.iter_mut().for_each(|targets| targets.asked = true);
        Ok(id)
    }

    /// Frees a counter; all members call it.
    pub(super) fn free_counter(&mut self, id: WinId) -> Result<()> {
        self.window_mut(id)?.locked_all = false;
        self.win_free(id)
    }

    /// Returns the counter's value, and applies `op` to it.
    fn use_counter(&mut self, id: WinId, value: i64, op: Predefined) -> Result<i64> {
        let window = self.window_mut(id)?;
        if window.members.me == 0 {
            let at = window.base;
            let before = match self.engine.decide_polled() {
                Decision::Positive(before) => before as i64,
                _ => {
                    let before = at.load();
                    self.engine.answered(before as u64);
                    before
                }
            };
            match op {
                Predefined::Sum => at.store(before.wrapping_add(value)),
                Predefined::Replace => at.store(value),
                _ => {}
            }
            return Ok(before);
        }
        let (mut ours, mut theirs) = (self.pool.take(8), self.pool.take(8));
        let (from, to) = (address_of(&mut ours), address_of(&mut theirs));
        from.store(value);
        let datatype = TypeId::builtin(Builtin::Int64T);
        let buffer = |at| OriginBuffer { at, count: 1, datatype };
        let what = OneSided::GetAccumulate {
            origin: buffer(from),
            result: buffer(to),
            op: OpId::predefined(op),
        };
        let target = TargetBuffer { rank: Peer::Rank(0), disp: 0, count: 1, datatype };
        let answer = self.one_sided(id, target, what).and_then(|()| self.finish_transfers(id, 0));
        let before = to.load();
        self.pool.give_back(ours);
        self.pool.give_back(theirs);
        answer.map(|()| before)
    }

    /// Its value.
    pub(super) fn counter(&mut self, id: WinId) -> Result<i64> {
        self.use_counter(id, 0, Predefined::NoOp)
    }

    /// Adds to it; returns what it was before.
    pub(super) fn add_to_counter(&mut self, id: WinId, value: i64) -> Result<i64> {
        self.use_counter(id, value, Predefined::Sum)
    }

    /// Sets the counter; all members call this with the same value, the first member sets it.
    pub(super) fn set_counter(&mut self, id: WinId, value: i64) -> Result<()> {
        if self.window(id)?.members.me == 0 {
            self.use_counter(id, value, Predefined::Replace)?;
        }
        Ok(())
    }
}
