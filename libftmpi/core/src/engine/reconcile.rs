//! How two incarnations that begin from the same wave put their channel together again.
//!
//! Guarantees: the peer gets, in the order of the program's calls, every message that it lacks,
//! once. Markers of a wave that has reached this rank meanwhile go first.

use super::channel_recovery::question;
use super::link::Frame;
use super::state::State;
use super::state::out::Out;
use super::state::rendezvous::Announced;
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_wire::header::{FLAG_HEARD, Kind};
use ftmpi_wire::{EventNo, Header, Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

/// The queue to one peer, taken apart.
#[derive(Default)]
struct Parts {
    /// Messages that the peer lacks.
    messages: BTreeMap<Ssn, Out>,
    /// Frames of the engine.
    others: VecDeque<Out>,
    /// Requests of messages that the peer has.
    settled: Vec<ReqId>,
}

impl State {
    /// The peer has said what it has: queues what it lacks, in the order of the program's calls.
    pub(super) fn reconcile(&mut self, rank: Rank, eager_limit: usize) {
        // A repeated announcement reveals what was done since, so it has the events of that time
        // behind it.
        let after = if self.hooks.sends { self.protocol.gate() } else { EventNo(0) };
        let mut parts = self.take_apart(rank);
        self.give_log(rank, eager_limit, &mut parts);
        self.announce_again(rank, after, &mut parts);
        let Parts { messages, mut others, settled } = parts;
        others.extend(messages.into_values());
        // Whether these were matched, or removed: the answer may have been under way. A question
        // about what is to be removed goes behind its message.
        let has = &self.channels.peer(rank).has;
        for ssn in self.rendezvous.unacknowledged_by(rank) {
            if self.rendezvous.is_cancelling(rank, ssn) {
                others.push_back(Out::control(Kind::Cancel, ssn, Vec::new()));
            } else if has.contains(ssn) {
                others.push_back(Out { after, ..Out::announcement(question(ssn)) });
            }
        }
        // A wave that has reached us since the channel was made has its markers first.
        let queue = &mut self.channels.peer_mut(rank).queue;
        debug_assert!(queue.is_empty());
        let (markers, rest): (VecDeque<_>, VecDeque<_>) =
            others.into_iter().partition(|out| out.marker.is_some());
        *queue = markers;
        queue.extend(rest);
        for request in settled {
            self.send_is_out(request);
        }
        self.channels.mark_busy(rank);
    }

    /// Takes the queue apart; announcements are dropped, and made again from what is announced.
    fn take_apart(&mut self, rank: Rank) -> Parts {
        let peer = self.channels.peer_mut(rank);
        peer.wave.reconciled(peer.has.count());
        let mut parts = Parts::default();
        for out in std::mem::take(&mut peer.queue) {
            let ssn = out.frame.header.ssn;
            match out.frame.header.kind {
                Kind::RequestToSend => {}
                // Asked again for what is not answered.
                Kind::Cancel if out.frame.header.flags & FLAG_HEARD == 0 => {}
                Kind::Eager | Kind::Data if peer.has.contains(ssn) => {
                    parts.settled.extend(out.request);
                }
                Kind::Eager | Kind::Data => {
                    parts.messages.insert(ssn, out);
                }
                _ => parts.others.push_back(out),
            }
        }
        parts
    }

    /// Messages of the log that the peer lacks: they leave or are announced; the log is empty then.
    fn give_log(&mut self, rank: Rank, eager_limit: usize, parts: &mut Parts) {
        let peer = self.channels.peer_mut(rank);
        let log: Vec<_> = peer.log.take_all().collect();
        for entry in log {
            let (ssn, len) = (entry.ssn, entry.payload.len());
            if !peer.has.contains(ssn) && !parts.messages.contains_key(&ssn) {
                self.counters.resent += 1;
                let (flags, context, tag) = (entry.flags, entry.context, entry.tag);
                let kind = if len > eager_limit { Kind::RequestToSend } else { Kind::Eager };
                let header = Header { kind, flags, context, tag, len: len as u64, ssn };
                let owned = self.logs.memory().bytes(entry.payload).to_vec();
                let payload = UserPtr::own(&owned);
                if len > eager_limit {
                    let owned = Some(owned);
                    let announced = Announced { header, payload, owned, request: None };
                    self.rendezvous.announce(rank, announced);
                } else {
                    let out = Out::message(Frame::new(header, payload), Some(owned), None);
                    parts.messages.insert(ssn, out);
                }
            }
            entry.give(self.logs.memory_mut());
        }
    }

    /// Announces again what the peer has not.
    fn announce_again(&mut self, rank: Rank, after: EventNo, parts: &mut Parts) {
        let settled = self.rendezvous.settle(rank, &self.channels.peer(rank).has);
        parts.settled.extend(settled);
        for ssn in self.rendezvous.announced_to(rank) {
            let header = self.rendezvous.header(rank, ssn);
            parts.messages.insert(ssn, Out { after, ..Out::announcement(header) });
        }
    }
}
