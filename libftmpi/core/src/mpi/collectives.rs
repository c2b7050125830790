//! Collectives, blocking, non-blocking and persistent (MPI-4.1, chapter 6).
//!
//! `collective_arguments` checks and resolves what the program gives.

use super::checks::CollectiveForm;
use super::collective_arguments::address;
use super::{Collective, CommId, Mpi, Request, Status};
use crate::arguments::Buffer;
use crate::bail;
use crate::collective::{Call, Plan, Schedule, Sides, persistent_tag_of, tag_of};
use crate::comm::Members;
use crate::datatype::TypeId;
use crate::engine::{Link, ReqId};
use crate::error::Result;
use crate::op::OpId;
use crate::request::{Active, Slot, Template};

impl<L: Link> Mpi<L> {
    /// Runs a collective to its end.
    #[inline]
    pub fn collective(&mut self, comm: CommId, what: Collective<'_>) -> Result<()> {
        if self.engine.alert() {
            self.must_be_whole(comm)?;
        }
        if self.checks {
            self.compare_calls(comm, &what, CollectiveForm::Blocking)?;
        }
        if let Some(answer) = self.short_collective(comm, &what) {
            return answer;
        }
        let members = self.members(comm)?;
        let call = self.resolve(comm, &members, &what)?;
        let tag = self.next_tag(comm)?;
        let schedule = self.schedule(&call, &members, tag);
        self.blamed = comm;
        self.run(schedule)?;
        self.engine.make_log_room();
        Ok(())
    }

    /// Starts a collective.
    pub fn icollective(&mut self, comm: CommId, what: Collective<'_>) -> Result<Request> {
        if self.engine.alert() {
            self.must_be_whole(comm)?;
        }
        let members = self.members(comm)?;
        let call = self.resolve(comm, &members, &what)?;
        let schedule = if self.checks && members.remote.is_none() {
            self.compare_later(comm, &what, &call, &members)?
        } else {
            let tag = self.next_tag(comm)?;
            self.schedule(&call, &members, tag)
        };
        let schedule = Box::new(schedule);
        let task = self.engine.start_schedule(schedule)?;
        self.new_request(Slot::once(comm, Active::Schedule(task, members)))
    }

    /// Makes a persistent collective.
    pub fn collective_init(&mut self, comm: CommId, what: Collective<'_>) -> Result<Request> {
        let members = self.members(comm)?;
        let call = Box::new(self.resolve(comm, &members, &what)?);
        if self.checks {
            self.compare_calls(comm, &what, CollectiveForm::Persistent)?;
        }
        let entry = self.comm_mut(comm)?;
        entry.persistent = entry.persistent.wrapping_add(1);
        let tag = persistent_tag_of(entry.persistent);
        self.new_request(Slot::persistent(comm, Template::Collective(call, tag, members)))
    }

    /// `MPI_Reduce_local`
    pub fn reduce_local(
        &mut self,
        input: Buffer,
        inout: Buffer,
        count: i64,
        datatype: TypeId,
        op: OpId,
    ) -> Result<()> {
        let (input, inout) = (address(input, "input")?, address(inout, "result")?);
        let (elements, op) = self.operands(count, datatype, op)?;
        if input == inout && elements.count > 0 {
            bail!(Buffer, "both operands of a reduction are the same memory");
        }
        op.apply(input, inout, elements.count, &elements.datatype)
    }

    /// The tag of the next collective of `comm`.
    pub(super) fn next_tag(&mut self, comm: CommId) -> Result<i32> {
        let entry = self.comm_mut(comm)?;
        entry.sequence = entry.sequence.wrapping_add(1);
        Ok(tag_of(entry.sequence))
    }

    /// Writes this rank's part of a collective down.
    pub(super) fn schedule(&mut self, call: &Call, members: &Members, tag: i32) -> Schedule<ReqId> {
        let context = members.collective_context();
        let (engine, pool) = (&mut self.engine, &mut self.pool);
        let oversubscribed = self.oversubscribed.then_some(&*self.hosts);
        let plan = Plan::new(engine, pool, &members.local, members.me, context, tag);
        let mut plan = plan.oversubscribed(oversubscribed);
        match &members.remote {
            None => call.write(&mut plan),
            Some(remote) => {
                let sides = Sides { local: &members.local, me: members.me, remote };
                call.write_between(&mut plan, sides);
            }
        }
        plan.finish()
    }

    /// Runs a schedule to its end; other schedules go on meanwhile.
    pub(super) fn run(&mut self, mut schedule: Schedule<ReqId>) -> Result<()> {
        while !schedule.advance(&mut self.engine) {
            match schedule.waits_for() {
                Some(request) => {
                    let done = self.engine.wait(request);
                    schedule.completed(&done);
                }
                None => self.engine.block(),
            }
        }
        // What the call does next, others may see.
        self.engine.step();
        match schedule.dismantle(&mut self.pool) {
            None => Ok(()),
            Some(error) => {
                let status = Status { error: Some(error), ..Status::EMPTY };
                let comm = self.blamed;
                Err(self.failed(error, status, comm))
            }
        }
    }
}
