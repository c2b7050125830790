//! The status of requests that stay: `MPI_Request_get_status` and its forms for several requests
//! (MPI-4.1, 3.7.6).
//!
//! Guarantees: as for the calls that complete requests, every answer that depends on timing is
//! recorded. An answer that the program got for a request it gets again.

use super::{Mpi, Request, Status, TestAny};
use crate::engine::Link;
use crate::error::{ErrorClass, Result};
use crate::request::{Active, CallbackKind, RequestState, Slot};
use std::ops::ControlFlow;

impl<L: Link> Mpi<L> {
    /// `MPI_Request_get_status`
    pub fn request_get_status(&mut self, request: Request) -> Result<Option<Status>> {
        match self.state_of(request)? {
            RequestState::Inactive => return Ok(Some(Status::NO_OPERATION)),
            RequestState::Known => {}
            RequestState::Open => {
                if !self.decide_done(request) {
                    return Ok(None);
                }
            }
        }
        self.peek(request, 0).map(Some)
    }

    /// `MPI_Request_get_status_any`
    pub fn request_get_status_any(&mut self, requests: &[Request]) -> Result<TestAny> {
        let i = match self.test_any(requests)? {
            ControlFlow::Break(answer) => return Ok(answer),
            ControlFlow::Continue(i) => i,
        };
        let Some(&request) = requests.get(i) else {
            crate::bail!(Intern, "entry {i} was recorded as complete, but there is none");
        };
        self.await_done(request);
        Ok(TestAny::Done(i, self.peek(request, 0)?))
    }

    /// `MPI_Request_get_status_all`
    pub fn request_get_status_all(
        &mut self,
        requests: &[Request],
        mut status: impl FnMut(usize, &Status),
    ) -> Result<bool> {
        if !self.all_done(requests)? {
            return Ok(false);
        }
        for (i, &request) in requests.iter().enumerate() {
            let one = match self.state_of(request)? {
                RequestState::Inactive => Status::EMPTY,
                RequestState::Known | RequestState::Open => {
                    self.await_done(request);
                    self.peek(request, i)?
                }
            };
            status(i, &one);
        }
        Ok(true)
    }

    /// `MPI_Request_get_status_some`; `None`: nothing is active. `done` gets the position in the
    /// output, the index and the status of each.
    pub fn request_get_status_some(
        &mut self,
        requests: &[Request],
        mut done: impl FnMut(usize, usize, &Status),
    ) -> Result<Option<usize>> {
        let Some(chosen) = self.choose(requests, false)? else { return Ok(None) };
        for (n, &i) in chosen.iter().enumerate() {
            let Some(&request) = requests.get(i) else {
                crate::bail!(Intern, "entry {i} was recorded as complete, but there is none");
            };
            self.await_done(request);
            let status = self.peek(request, n)?;
            done(n, i, &status);
        }
        Ok(Some(chosen.len()))
    }

    /// The status of a request that is complete, without ending it.
    fn peek(&mut self, request: Request, place: usize) -> Result<Status> {
        let Some(index) = request.index() else { return Ok(Status::EMPTY) };
        // The answer that the program got stays: the result moves from the engine into the slot.
        let Some(slot) = self.requests.get_mut(index) else { return Ok(Status::EMPTY) };
        let comm = slot.comm;
        match slot.active {
            Some(Active::Generalized(generalized)) => {
                self.push_callback(CallbackKind::Query, generalized.callbacks);
                if let Some(question) = self.callbacks.last_mut() {
                    question.place = place;
                }
                return Ok(Status::EMPTY);
            }
            Some(Active::Send(id)) => {
                // Asked again next time, as it would be if it had been complete at once.
                let status = Status::sent(&self.engine.finish(id));
                let failed = status.error.is_some();
                slot.active = Some(if failed { Active::Known(status) } else { Active::Sent });
                return Ok(status);
            }
            Some(Active::Sent) => return Ok(Status::EMPTY),
            Some(Active::Recv(id, _)) if self.engine.is_interrupted(id) => {
                return Ok(Status { error: Some(ErrorClass::ProcFailedPending), ..Status::EMPTY });
            }
            _ => {}
        }
        let kept = Slot { comm, active: slot.active.take(), template: None };
        let moved = self.requests.insert(kept)?;
        let status = self.collect(&mut Request::at(moved));
        if !self.staged.is_empty() {
            self.staged_is_done(request, false);
        }
        if let Some(slot) = self.requests.get_mut(index) {
            slot.active = Some(Active::Known(status));
        }
        Ok(status)
    }
}
