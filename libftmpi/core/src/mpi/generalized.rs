//! Generalized requests: the program says when they are complete (MPI-4.1, 13.2).
//!
//! Guarantees: the query function is called once for every status that a call returns for such a
//! request, the free function once for the request. Both are called after the call has done
//! everything else, with nothing of MPI half done: they may call MPI again.
//!
//! The functions are called by the front, which knows the program's language and status. This
//! module hands it [`PendingCallback`]s.

use super::{CommId, Mpi, Request};
use crate::bail;
use crate::engine::Link;
use crate::error::Result;
use crate::request::{Active, CallbackKind, Callbacks, Generalized, PendingCallback, Slot};

impl<L: Link> Mpi<L> {
    /// `MPI_Grequest_start`
    pub fn grequest_start(&mut self, callbacks: Callbacks) -> Result<Request> {
        let generalized = Generalized { callbacks, complete: false, released: false };
        self.new_request(Slot::once(CommId::WORLD, Active::Generalized(generalized)))
    }

    /// `MPI_Grequest_complete`
    pub fn grequest_complete(&mut self, request: Request) -> Result<()> {
        let index = request.index();
        let slot = index.and_then(|index| self.requests.get_mut(index));
        let Some(Active::Generalized(generalized)) = slot.and_then(|slot| slot.active.as_mut())
        else {
            bail!(Request, "{:#010x} is no generalized request", request.0);
        };
        if generalized.complete {
            bail!(Request, "the generalized request is complete already");
        }
        generalized.complete = true;
        if generalized.released {
            let callbacks = generalized.callbacks;
            index.map(|index| self.requests.remove(index));
            self.push_callback(CallbackKind::Free, callbacks);
        }
        Ok(())
    }

    /// The functions of a generalized request and whether it is complete; `None` for all others.
    #[must_use]
    pub fn generalized(&self, request: Request) -> Option<(Callbacks, bool)> {
        match self.requests.get(request.index()?)?.active {
            Some(Active::Generalized(Generalized { callbacks, complete, .. })) => {
                Some((callbacks, complete))
            }
            _ => None,
        }
    }

    pub(super) fn push_callback(&mut self, kind: CallbackKind, callbacks: Callbacks) {
        self.callbacks.push(PendingCallback { kind, callbacks, place: 0 });
    }

    /// Whether there are functions to be called.
    #[inline]
    #[must_use]
    pub fn has_callbacks(&self) -> bool {
        !self.callbacks.is_empty()
    }

    /// Functions that are to be called now.
    pub fn take_callbacks(&mut self) -> Vec<PendingCallback> {
        std::mem::take(&mut self.callbacks)
    }
}
