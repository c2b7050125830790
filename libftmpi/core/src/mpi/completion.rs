//! Completing one request: wait and test (MPI-3.1, 3.7.3), and what all completions share.
//!
//! Guarantees: for a request whose state depends on timing,
//! [`Engine::decide`](crate::engine::Engine::decide) says whether it is reported as complete. Calls
//! whose answer cannot depend on timing (waits for given requests, tests of requests that are
//! complete for certain) record nothing.

use super::{Mpi, Request, Status};
use crate::bail;
use crate::engine::{Decision, Link};
use crate::error::{ErrorClass, Result};
use crate::request::{Active, CallbackKind, RequestState, Slot, Staging};

impl<L: Link> Mpi<L> {
    #[inline]
    pub(super) fn new_request(&mut self, slot: Slot) -> Result<Request> {
        let index = self.requests.insert(slot)?;
        Ok(Request::at(index))
    }

    pub(super) fn state_of(&self, request: Request) -> Result<RequestState> {
        match request {
            Request::NULL => return Ok(RequestState::Inactive),
            // Whether a send was complete at once depends on timing.
            Request::DONE => return Ok(RequestState::Open),
            _ => {}
        }
        match request.index().and_then(|index| self.requests.get(index)) {
            Some(slot) => Ok(slot.state()),
            _ => bail!(Request, "{:#010x} is no request: was it completed or freed?", request.0),
        }
    }

    /// Is an open request complete now?
    pub(super) fn is_done(&self, request: Request) -> bool {
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            None | Some(Active::Known(_) | Active::Sent | Active::Came(_)) => true,
            Some(Active::Send(id) | Active::Recv(id, _)) => self.engine.is_done(*id),
            Some(Active::Exchange { send, recv, .. }) => {
                send.is_none_or(|id| self.engine.is_done(id))
                    && recv.is_none_or(|id| self.engine.is_done(id))
            }
            Some(Active::Schedule(id, _)) => self.engine.schedule_is_done(*id),
            Some(Active::Duplicate(duplicate)) => self.engine.schedule_is_done(duplicate.task),
            Some(Active::Agreement(agreement)) => self.engine.has_agreed(&agreement.name),
            Some(Active::Generalized(generalized)) => generalized.complete,
            Some(Active::Flush(owner, until)) => self.is_flushed(*owner, *until),
            Some(Active::PartitionedSend(send)) => send.is_done(&self.engine),
            Some(Active::PartitionedRecv(recv)) => recv.is_done(),
            Some(Active::OneSided(transfer)) => self.transfer_looks_done(transfer),
        }
    }

    /// Blocks until the request is complete.
    pub(super) fn await_done(&mut self, request: Request) {
        self.look_after_partitions();
        while !self.is_done(request) {
            self.block();
        }
    }

    /// One step of waiting.
    pub(super) fn block(&mut self) {
        self.engine.block();
        self.look_after_partitions();
    }

    /// One look for a call that polls.
    pub(super) fn poll_once(&mut self) {
        self.engine.poll_once();
        self.look_after_partitions();
    }

    /// Whether the request is a receive from any source whose wait was interrupted by a death.
    #[cold]
    fn is_interrupted(&mut self, request: Request) -> bool {
        let slot = request.index().and_then(|index| self.requests.get(index));
        let Some(slot) = slot else { return false };
        let interrupted =
            matches!(slot.active, Some(Active::Recv(id, _)) if self.engine.is_interrupted(id));
        if interrupted {
            self.blamed = slot.comm;
        }
        interrupted
    }

    /// Whether the request has ended because of a death or a revocation.
    pub(super) fn has_failed(&self, request: Request) -> bool {
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            Some(Active::Send(id) | Active::Recv(id, _)) => self.engine.has_failed(*id),
            Some(Active::Exchange { send, recv, .. }) => {
                send.iter().chain(recv).any(|id| self.engine.has_failed(*id))
            }
            Some(Active::Schedule(id, _)) => self.engine.schedule_has_failed(*id),
            _ => false,
        }
    }

    /// Takes the result of an active request that is complete; it becomes null, or inactive if it
    /// is persistent.
    pub(super) fn collect(&mut self, request: &mut Request) -> Status {
        let Some(index) = request.index() else {
            *request = Request::NULL;
            return Status::EMPTY;
        };
        if self.engine.alert() && self.is_interrupted(*request) {
            return Status { error: Some(ErrorClass::ProcFailedPending), ..Status::EMPTY };
        }
        let Some(slot) = self.requests.get_mut(index) else { return Status::EMPTY };
        self.blamed = slot.comm;
        let active = slot.active.take();
        let (this, over) = (*request, slot.template.is_none());
        if over {
            self.requests.remove(index);
            *request = Request::NULL;
        }
        match active {
            None | Some(Active::Sent) => Status::EMPTY,
            Some(Active::Came(status)) => status,
            Some(Active::Generalized(generalized)) => {
                self.push_callback(CallbackKind::QueryAndFree, generalized.callbacks);
                Status::EMPTY
            }
            Some(Active::Flush(owner, _)) => {
                self.reap(owner);
                Status::EMPTY
            }
            Some(Active::PartitionedSend(send)) => self.finish_partitioned_send(*send),
            Some(Active::PartitionedRecv(recv)) => self.finish_partitioned_recv(*recv),
            Some(Active::Known(status)) => {
                // A status that was asked for before.
                if !self.staged.is_empty() {
                    self.staged_is_done(this, over);
                }
                status
            }
            Some(Active::Send(id)) => Status::sent(&self.engine.finish(id)),
            Some(Active::Recv(id, members)) => Status::received(&self.engine.finish(id), &members),
            Some(Active::Exchange { send, recv, members, copy }) => {
                let sent = send.and_then(|id| self.engine.finish(id).error);
                if let Some(copy) = copy {
                    self.pool.give_back(copy);
                }
                let status = recv.map_or(Status::PROC_NULL, |id| {
                    Status::received(&self.engine.wait(id), &members)
                });
                Status { error: status.error.or(sent), ..status }
            }
            Some(Active::Duplicate(duplicate)) => {
                // Others may have taken contexts since the wait.
                self.engine.step();
                self.duplicated(*duplicate)
            }
            Some(Active::Agreement(agreement)) => self.agreement_is_done(*agreement),
            Some(Active::OneSided(transfer)) => {
                self.transfer_is_done(&transfer);
                Status { error: transfer.borrow().error, ..Status::EMPTY }
            }
            Some(Active::Schedule(id, _)) => {
                let mut schedule = self.engine.take_schedule(id);
                self.error_text = schedule.as_mut().and_then(|schedule| schedule.take_error_text());
                let error = schedule.and_then(|schedule| schedule.dismantle(&mut self.pool));
                if !self.staged.is_empty() {
                    self.staged_is_done(this, over);
                }
                Status { error, ..Status::EMPTY }
            }
        }
    }

    /// The result of a call on one request that ended with `status`.
    pub fn verdict(&mut self, status: Status) -> Result<Status> {
        match status.error {
            None => Ok(status),
            Some(error) => {
                let comm = self.blamed;
                Err(self.failed(error, status, comm))
            }
        }
    }

    /// The same on a request that stays.
    pub fn verdict_on(&mut self, request: Request, status: Status) -> Result<Status> {
        if status.error.is_some()
            && let Some(slot) = request.index().and_then(|index| self.requests.get(index))
        {
            self.blamed = slot.comm;
        }
        self.verdict(status)
    }

    /// `MPI_Wait`
    #[inline]
    pub fn wait(&mut self, request: &mut Request) -> Result<Status> {
        let status = self.wait_one(request)?;
        self.verdict(status)
    }

    #[inline]
    pub(super) fn wait_one(&mut self, request: &mut Request) -> Result<Status> {
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get(index)
            && slot.template.is_none()
            && let Some(Active::Came(status)) = slot.active
        {
            self.blamed = slot.comm;
            self.requests.forget(index);
            *request = Request::NULL;
            return Ok(status);
        }
        if *request == Request::DONE {
            *request = Request::NULL;
            return Ok(Status::EMPTY);
        }
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get(index)
            && slot.template.is_none()
            && let Some(Active::Send(id) | Active::Recv(id, _)) = &slot.active
        {
            // The fast path: nothing else needs attention. Other threads may come in while this one
            // waits, and the table may move.
            let (id, comm) = (*id, slot.comm);
            self.engine.wait_for(id);
            self.blamed = comm;
            if self.engine.is_interrupted(id) {
                return Ok(Status { error: Some(ErrorClass::ProcFailedPending), ..Status::EMPTY });
            }
            let done = self.engine.finish(id);
            *request = Request::NULL;
            return Ok(match self.requests.remove(index).and_then(|slot| slot.active) {
                Some(Active::Recv(_, members)) => Status::received(&done, &members),
                _ => Status::sent(&done),
            });
        }
        match self.state_of(*request)? {
            RequestState::Inactive => Ok(Status::NO_OPERATION),
            RequestState::Known => Ok(self.collect(request)),
            RequestState::Open => {
                self.await_done(*request);
                Ok(self.collect(request))
            }
        }
    }

    /// `MPI_Test`
    pub fn test(&mut self, request: &mut Request) -> Result<Option<Status>> {
        match self.state_of(*request)? {
            RequestState::Inactive => return Ok(Some(Status::NO_OPERATION)),
            RequestState::Known => {}
            RequestState::Open => {
                if !self.decide_done(*request) {
                    return Ok(None);
                }
            }
        }
        let status = self.collect(request);
        self.verdict(status).map(Some)
    }

    /// Whether the program learns that an open request is complete; it is complete then.
    pub(super) fn decide_done(&mut self, request: Request) -> bool {
        self.poll_once();
        match self.engine.decide_polled() {
            Decision::Negative => false,
            Decision::Positive(_) => {
                self.await_done(request);
                true
            }
            Decision::Live => {
                let done = self.is_done(request);
                if done {
                    self.engine.answered(1);
                } else {
                    self.engine.answered_negative();
                }
                done
            }
        }
    }

    /// The program's memory of this collective is elsewhere.
    pub fn stage_request(&mut self, request: Request, staging: Box<dyn Staging>) {
        self.staged.push((request, staging));
    }

    pub(super) fn staged_begins(&mut self, request: Request) {
        for (_, staging) in self.staged.iter_mut().filter(|(of, _)| *of == request) {
            staging.begin();
        }
    }

    #[cold]
    pub(super) fn staged_is_done(&mut self, request: Request, over: bool) {
        for (_, staging) in self.staged.iter_mut().filter(|(of, _)| *of == request) {
            staging.end();
        }
        if over {
            self.staged.retain(|(of, _)| *of != request);
        }
    }
}
