//! Freeing and cancelling requests (MPI-3.1, 3.7.3 and 3.8.4).

use super::{Mpi, Request};
use crate::bail;
use crate::engine::Link;
use crate::error::Result;
use crate::request::{Active, CallbackKind, RequestState};

impl<L: Link> Mpi<L> {
    /// `MPI_Request_free`: communication under way goes on.
    pub fn request_free(&mut self, request: &mut Request) -> Result<()> {
        if *request == Request::NULL {
            bail!(Request, "MPI_REQUEST_NULL was given");
        }
        self.state_of(*request)?;
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get_mut(index)
        {
            self.blamed = slot.comm;
            if let Some(Active::Duplicate(_)) = slot.active {
                bail!(Request, "the request of MPI_Comm_idup cannot be freed: complete it");
            }
            if let Some(Active::Agreement(_)) = slot.active {
                bail!(Request, "the request of an agreement cannot be freed: complete it");
            }
            if let Some(Active::PartitionedSend(_) | Active::PartitionedRecv(_)) = slot.active {
                bail!(
                    Request,
                    "partitioned communication is under way: complete it before freeing it"
                );
            }
            if let Some(Active::Generalized(generalized)) = &mut slot.active
                && !generalized.complete
            {
                // `MPI_Grequest_complete` still needs it.
                generalized.released = true;
                *request = Request::NULL;
                return Ok(());
            }
            if let Some(place) = self.staged.iter().position(|(of, _)| of == request) {
                let (_, staging) = self.staged.swap_remove(place);
                if slot.active.is_some() {
                    // Communication that goes on without a request still reads and writes there.
                    std::mem::forget(staging);
                }
            }
            match slot.active.take() {
                Some(Active::Exchange { send: Some(send), recv, copy: Some(copy), .. }) => {
                    // The payload is a copy in our memory: it must be out before that goes.
                    self.requests.remove(index);
                    self.engine.wait(send);
                    self.pool.give_back(copy);
                    if let Some(recv) = recv {
                        self.engine.free_when_done(recv);
                    }
                }
                other => {
                    self.requests.remove(index);
                    self.let_go(other);
                }
            }
        }
        *request = Request::NULL;
        Ok(())
    }

    fn let_go(&mut self, active: Option<Active>) {
        match active {
            Some(Active::Send(id) | Active::Recv(id, _)) => self.engine.free_when_done(id),
            Some(Active::Schedule(id, _)) => self.engine.detach_schedule(id),
            Some(Active::Generalized(generalized)) => {
                self.push_callback(CallbackKind::Free, generalized.callbacks);
            }
            Some(Active::Exchange { send, recv, .. }) => {
                for id in send.into_iter().chain(recv) {
                    self.engine.free_when_done(id);
                }
            }
            _ => {}
        }
    }

    /// `MPI_Cancel`
    pub fn cancel(&mut self, request: Request) -> Result<()> {
        if self.state_of(request)? == RequestState::Inactive {
            bail!(Request, "the request is null or not started: there is nothing to cancel");
        }
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            Some(Active::Send(id) | Active::Recv(id, _)) => {
                let id = *id;
                self.engine.cancel(id);
                Ok(())
            }
            Some(Active::Came(_)) => {
                self.engine.cancel_too_late();
                Ok(())
            }
            Some(Active::Schedule(..) | Active::Duplicate(_) | Active::Agreement(_)) => {
                bail!(Request, "a collective operation cannot be cancelled")
            }
            Some(Active::PartitionedSend(_) | Active::PartitionedRecv(_)) => {
                bail!(Request, "partitioned communication cannot be cancelled")
            }
            _ => Ok(()),
        }
    }
}
