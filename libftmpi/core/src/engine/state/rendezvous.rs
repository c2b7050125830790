//! Sends that wait for an answer of their receiver: announced payloads that wait for a
//! clear-to-send, and synchronous sends that wait for an acknowledgement.

use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::received::Received;
use ftmpi_wire::{Header, Rank, Ssn};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A payload that was announced and waits for its clear-to-send.
#[derive(Debug)]
pub(crate) struct Announced {
    /// The envelope.
    pub header: Header,
    pub payload: UserPtr,
    /// The payload, if nobody else owns it.
    pub owned: Option<Vec<u8>>,
    pub request: Option<ReqId>,
}

/// A synchronous send that waits for its acknowledgement.
#[derive(Debug)]
struct Unacknowledged {
    request: ReqId,
    context: u32,
    /// The receiver is asked to forget it.
    cancelling: bool,
}

/// The sends that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Rendezvous {
    announced: BTreeMap<(Rank, Ssn), Announced>,
    unacknowledged: BTreeMap<(Rank, Ssn), Unacknowledged>,
}

fn all_to(rank: Rank) -> RangeInclusive<(Rank, Ssn)> {
    (rank, Ssn(0))..=(rank, Ssn(u64::MAX))
}

impl Rendezvous {
    /// Whether no send waits for an answer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.announced.is_empty() && self.unacknowledged.is_empty()
    }

    /// This payload was announced.
    pub fn announce(&mut self, to: Rank, announced: Announced) {
        self.announced.insert((to, announced.header.ssn), announced);
    }

    /// The payload does not wait any more.
    pub fn take(&mut self, to: Rank, ssn: Ssn) -> Option<Announced> {
        self.announced.remove(&(to, ssn))
    }

    /// The numbers of the payloads that were announced to this rank, ascending.
    pub fn announced_to(&self, to: Rank) -> Vec<Ssn> {
        self.announced.range(all_to(to)).map(|(&(_, ssn), _)| ssn).collect()
    }

    /// The envelope of a payload that was announced.
    pub fn header(&self, to: Rank, ssn: Ssn) -> Header {
        self.announced[&(to, ssn)].header
    }

    /// Forgets the payloads that were announced to this rank; gives their requests.
    pub fn forget_to(&mut self, to: Rank) -> Vec<ReqId> {
        let ssns = self.announced_to(to);
        ssns.into_iter().filter_map(|ssn| self.take(to, ssn)?.request).collect()
    }

    /// Forgets the payloads that turned out to be at this rank already; gives their requests.
    pub fn settle(&mut self, to: Rank, has: &Received) -> Vec<ReqId> {
        let ssns = self.announced_to(to).into_iter().filter(|&ssn| has.contains(ssn));
        let ssns: Vec<_> = ssns.collect();
        ssns.into_iter().filter_map(|ssn| self.take(to, ssn)?.request).collect()
    }

    /// The ranks that have not answered this request.
    pub fn receivers(&self, request: ReqId) -> impl Iterator<Item = Rank> {
        let announced = self.announced.iter();
        let announced = announced.filter(move |(_, wait)| wait.request == Some(request));
        let unanswered = self.unacknowledged.iter().filter(move |(_, of)| of.request == request);
        announced.map(|((to, _), _)| *to).chain(unanswered.map(|((to, _), _)| *to))
    }

    /// The ranks that have not answered some send.
    pub fn all_receivers(&self) -> impl Iterator<Item = Rank> {
        let waiting = self.announced.keys().chain(self.unacknowledged.keys());
        waiting.map(|(to, _)| *to)
    }

    /// The payloads of this request that wait, each with its receiver.
    pub fn of_request(&mut self, request: ReqId) -> impl Iterator<Item = (Rank, &mut Announced)> {
        self.announced
            .iter_mut()
            .filter(move |(_, announced)| announced.request == Some(request))
            .map(|(&(to, _), announced)| (to, announced))
    }

    /// This synchronous send waits for its acknowledgement.
    pub fn await_acknowledgement(&mut self, to: Rank, ssn: Ssn, request: ReqId, context: u32) {
        let unacknowledged = Unacknowledged { request, context, cancelling: false };
        self.unacknowledged.insert((to, ssn), unacknowledged);
    }

    /// The acknowledgement is there.
    pub fn acknowledged(&mut self, by: Rank, ssn: Ssn) -> Option<ReqId> {
        self.unacknowledged.remove(&(by, ssn)).map(|waiting| waiting.request)
    }

    /// The receiver is asked to forget this message from now on; `false` if it was before.
    pub fn cancel(&mut self, to: Rank, ssn: Ssn) -> bool {
        let waiting = self.unacknowledged.get_mut(&(to, ssn));
        waiting.is_some_and(|waiting| !std::mem::replace(&mut waiting.cancelling, true))
    }

    /// Whether the receiver is asked to forget this message.
    pub fn is_cancelling(&self, to: Rank, ssn: Ssn) -> bool {
        self.unacknowledged.get(&(to, ssn)).is_some_and(|waiting| waiting.cancelling)
    }

    /// The message of this request, if it waits for its acknowledgement.
    pub fn unacknowledged_of(&self, request: ReqId) -> Option<(Rank, Ssn)> {
        let found = self.unacknowledged.iter().find(|(_, waiting)| waiting.request == request);
        found.map(|(message, _)| *message)
    }

    /// The requests that wait, each with its receiver and its context.
    pub fn requests(&self) -> Vec<(Rank, u32, ReqId)> {
        let announced = self.announced.iter().filter_map(|((to, _), announced)| {
            Some((*to, announced.header.context, announced.request?))
        });
        let waiting = self.unacknowledged.iter();
        let waiting = waiting.map(|((to, _), waiting)| (*to, waiting.context, waiting.request));
        announced.chain(waiting).collect()
    }

    /// Whether this message waits for its acknowledgement.
    pub fn awaits_acknowledgement(&self, to: Rank, ssn: Ssn) -> bool {
        self.unacknowledged.contains_key(&(to, ssn))
    }

    /// The messages to this rank that wait for their acknowledgement, ascending.
    pub fn unacknowledged_by(&self, rank: Rank) -> impl Iterator<Item = Ssn> {
        self.unacknowledged.range(all_to(rank)).map(|(&(_, ssn), _)| ssn)
    }
}
