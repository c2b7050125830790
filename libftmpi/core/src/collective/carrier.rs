//! The engine as carrier of schedules.

use super::schedule::Carrier;
use crate::engine::{Completion, Engine, Link, RecvData, ReqId, SendData};
use ftmpi_wire::{Rank, Ssn};

impl<L: Link> Carrier for Engine<L> {
    type Request = ReqId;

    fn reserve(&mut self, to: Rank) -> Ssn {
        Engine::reserve(self, to)
    }

    fn send(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u32,
        tag: i32,
    ) -> Option<ReqId> {
        self.isend_reserved(ssn, data, to, context, tag)
    }

    fn receive(&mut self, into: RecvData, from: Rank, context: u32, tag: i32) -> ReqId {
        self.irecv_own(into, from, context, tag)
    }

    fn is_done(&self, request: ReqId) -> bool {
        Engine::is_done(self, request)
    }

    fn finish(&mut self, request: ReqId) -> Completion {
        Engine::finish(self, request)
    }
}
