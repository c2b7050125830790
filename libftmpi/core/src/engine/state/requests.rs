//! The requests of the program: sends that are not out yet, and receives.

use super::super::request::{Completion, RecvData, Request, RequestKind, Source};
use super::super::slots::Slots;
use crate::error::ErrorClass;
use crate::ids::ReqId;
use crate::usermem::UserPtr;

/// All requests, by number.
#[derive(Debug)]
pub(crate) struct Requests {
    slots: Slots<Request>,
}

impl Requests {
    pub const fn new() -> Self {
        Self { slots: Slots::new() }
    }

    /// A send that has not left; `unacknowledged`: it completes when it is matched as well.
    #[inline]
    pub fn new_send(&mut self, unacknowledged: bool) -> ReqId {
        let kind = RequestKind::Send { out: false, unacknowledged };
        ReqId(self.slots.insert(Request::new(kind)))
    }

    /// A send that has failed.
    pub fn new_failed(&mut self, error: ErrorClass) -> ReqId {
        let kind = RequestKind::Send { out: true, unacknowledged: false };
        let completion = Completion { error: Some(error), ..Completion::NOTHING };
        ReqId(self.slots.insert(Request { done: true, completion, ..Request::new(kind) }))
    }

    /// A receive that has nothing yet.
    #[inline]
    pub fn new_recv(&mut self, into: RecvData, from: Source) -> ReqId {
        let kind = RequestKind::Recv { into, staging: None, posted: None, from };
        ReqId(self.slots.insert(Request::new(kind)))
    }

    /// A receive that is complete.
    #[inline]
    pub fn new_received(&mut self, from: Source, completion: Completion) -> ReqId {
        let into = RecvData::Bytes { ptr: UserPtr::BOTTOM, len: 0 };
        let kind = RequestKind::Recv { into, staging: None, posted: None, from };
        ReqId(self.slots.insert(Request { done: true, completion, ..Request::new(kind) }))
    }

    #[inline]
    pub fn get(&self, id: ReqId) -> &Request {
        self.slots.get(id.0)
    }

    #[inline]
    pub fn get_mut(&mut self, id: ReqId) -> &mut Request {
        self.slots.get_mut(id.0)
    }

    /// Whether the request is complete.
    #[inline]
    pub fn is_done(&self, id: ReqId) -> bool {
        self.get(id).done
    }

    /// Ends a request.
    #[inline]
    pub fn remove(&mut self, id: ReqId) -> Request {
        self.slots.remove(id.0)
    }

    /// The request is complete; it goes, if the program has freed it.
    #[inline]
    pub fn complete(&mut self, id: ReqId) {
        let request = self.get_mut(id);
        request.done = true;
        if request.detached {
            self.remove(id);
        }
    }

    /// The program has freed the request: it goes when it is complete.
    pub fn detach(&mut self, id: ReqId) {
        let request = self.get_mut(id);
        if request.done {
            self.remove(id);
        } else {
            request.detached = true;
        }
    }

    /// The payload of a send has left.
    #[inline]
    pub fn send_left(&mut self, id: ReqId) {
        if let RequestKind::Send { out, unacknowledged } = &mut self.get_mut(id).kind {
            *out = true;
            if !*unacknowledged {
                self.complete(id);
            }
        }
    }

    /// A synchronous send was matched.
    pub fn send_matched(&mut self, id: ReqId) {
        if let RequestKind::Send { out, unacknowledged } = &mut self.get_mut(id).kind {
            *unacknowledged = false;
            if *out {
                self.complete(id);
            }
        }
    }
}
