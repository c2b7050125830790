//! Channels that begin and end: `Resume`, and what is sent again
//! (`docs/internals/life-of-a-failure.md`).
//!
//! Guarantees: the first frame on a channel says what this rank has. A peer gets from the log, in
//! order, exactly what it lacks. A hole that no log can fill ends the incarnation, or the job, with
//! one line.

use super::link::Frame;
use super::state::State;
use super::state::channels::ChannelPhase;
use super::state::out::Out;
use super::state::rendezvous::Announced;
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::received::Received;
use ftmpi_wire::header::{FLAG_SYNC, Kind, Received as WireReceived};
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, control};
use std::collections::{BTreeMap, VecDeque};

impl State {
    /// A channel to a peer is there: queues the `Resume` with what this rank has of it.
    pub(super) fn begin_channel(&mut self, rank: Rank, incarnation: Incarnation) {
        if incarnation > self.channels.peer(rank).incarnation {
            self.begin_incarnation_of(rank, incarnation);
        }
        let memory = self.hooks.memory;
        let peer = self.channels.peer(rank);
        if (incarnation != peer.incarnation && !memory)
            || peer.phase.is_there()
            || peer.phase == ChannelPhase::Dead
            || peer.wave.is_broken()
        {
            return;
        }
        let mut payload = if memory {
            self.resume_for_memory(rank)
        } else {
            control::encode(&peer.received.to_wire())
        };
        self.protocol.resume(rank, &mut payload);
        let peer = self.channels.peer_mut(rank);
        peer.resume = Some(Out::control(Kind::Resume, Ssn(0), payload));
        peer.phase = ChannelPhase::Fresh;
        peer.wave.meet();
        self.queue_greeting(rank);
        self.channels.mark_busy(rank);
    }

    /// The channel is gone. What waited for it is in the log, or, without a log, still in the
    /// queue.
    pub(super) fn end_channel(&mut self, rank: Rank) {
        let peer = self.channels.peer(rank);
        if peer.phase == ChannelPhase::Dead {
            return;
        }
        let (logged, cluster_peer, peer_is_stranger) =
            (peer.logged, peer.cluster_peer, peer.stranger);
        if logged {
            self.forget_channel(rank);
            self.channels.request(rank);
        } else if peer.may_leave {
            self.forget_stranger(rank);
        } else if self.channels.are_leaving() {
            // Nothing is sent or awaited any more: the peer has left before us.
            self.channels.peer_mut(rank).phase = ChannelPhase::Absent;
        } else if cluster_peer {
            self.channel_broke(rank);
        } else if self.faults.goes_on() || peer_is_stranger {
            // The news of its death, or of its end in order, is on the way. Until it comes, all
            // wait.
            self.channels.peer_mut(rank).phase = ChannelPhase::Asked;
            self.waves.channel_lost(rank);
        } else {
            let me = self.me;
            self.recovery.fail(format!(
                "rank {me} lost its connection to rank {rank}, and the protocol keeps no log to \
                 repair it from; run with --protocol pessimistic"
            ));
        }
    }

    pub(super) fn forget_channel(&mut self, rank: Rank) {
        let peer = self.channels.peer_mut(rank);
        peer.forget_under_way();
        peer.absent = true;
        // Whether the peer received the last cut is not known; and its new incarnation may be older
        // than what it received.
        peer.sent_cut = Received::default();
        peer.sent_newest = Received::default();
        let queue = std::mem::take(&mut peer.queue);
        self.memory_stream.forget_measure();
        self.protocol.on_parted(rank);
        // Announcements to the lost channel are made again from the log.
        let mut requests = self.rendezvous.forget_to(rank);
        requests.extend(queue.into_iter().filter_map(|out| out.request));
        for request in requests {
            self.send_is_out(request);
        }
    }

    /// A peer begins a new incarnation.
    pub(super) fn begin_incarnation_of(&mut self, rank: Rank, incarnation: Incarnation) {
        let peer = self.channels.peer_mut(rank);
        if incarnation <= peer.incarnation || rank == self.me || self.hooks.memory {
            // (Channels to memories outlive the incarnations of ranks.)
            return;
        }
        peer.incarnation = incarnation;
        if peer.cluster_peer {
            let met = peer.wave.has_met();
            self.renew_channel(rank);
            let peer = self.channels.peer_mut(rank);
            if met {
                // All ranks that share waves return to the last one, so this incarnation ends soon.
                peer.wave.break_off();
            } else if peer.has_traffic() {
                // The peer died before it met anybody, and began again alone. What waits in the
                // queue is for its new incarnation.
                self.channels.request(rank);
            }
            return;
        }
        self.forget_channel(rank);
        // If the peer's newest image was damaged, the peer needs what images so far need not have
        // had.
        let peer = self.channels.peer_mut(rank);
        peer.its_newest = (ImageNo(0), Received::default());
        peer.log.want_all(self.logs.memory_mut());
        self.protocol.on_peer_restart(rank, incarnation);
        self.commands_to_queues();
        if self.channels.peer(rank).has_traffic() {
            self.channels.request(rank);
        }
    }

    /// The `Resume` of a peer, with what it has of this rank: messages flow again, first what it
    /// lacks.
    pub(super) fn resumed(&mut self, rank: Rank, payload: &[u8]) {
        let Ok((wire, rest)) = control::decode_front::<WireReceived>(payload) else {
            self.recovery.fail(format!("rank {rank} sent a malformed Resume"));
            return;
        };
        let has = Received::from_wire(&wire);
        let peer = self.channels.peer_mut(rank);
        if let Some(first) = peer.log.cut_at().first_beyond(&has) {
            return self.cannot_resume(rank, first);
        }
        peer.has = has;
        peer.phase = match peer.resume {
            Some(_) => ChannelPhase::Answered,
            None => ChannelPhase::Ready,
        };
        peer.absent = false;
        self.protocol.on_joined(rank, rest);
        if !self.hooks.memory {
            self.send_cut(rank);
            self.send_newest(rank);
        }
        self.commands_to_queues();
        self.channels.mark_busy(rank);
        if self.tracks() {
            self.channels.rebuild_later(rank);
        }
    }

    /// The peer lacks messages from `first` on, which the log has no more.
    fn cannot_resume(&mut self, rank: Rank, first: Ssn) {
        let me = self.me;
        if let Some(image) = self.recovery.begun_from().filter(|_| self.snapshots.are_lean()) {
            let why = format!(
                "image {image} has no messages to rank {rank} from {first} on, which a newer image \
                 of rank {rank} had received that is lost or damaged"
            );
            return self.recovery.roll_back(why, Some(image));
        }
        self.recovery.fail(if self.hooks.memory {
            format!(
                "the channel memory of rank {rank} has lost messages of rank {me} from {first} on, \
                 which it had stored: its files are lost or damaged"
            )
        } else {
            format!(
                "rank {rank} cannot be recovered: it restarted from a state that lacks messages of \
                 rank {me} from {first} on, which the log of rank {me} has no more. Either newer \
                 images of rank {rank} had been committed, which are lost or damaged; or no image of \
                 rank {rank} could be taken, and the log was full (a line has told so)"
            )
        });
    }

    /// Takes the messages out of a queue; gives the requests of those that have one.
    fn take_queued_messages(&mut self, rank: Rank) -> BTreeMap<Ssn, ReqId> {
        let peer = self.channels.peer_mut(rank);
        let mut requests = BTreeMap::new();
        let mut queue = VecDeque::new();
        for out in std::mem::take(&mut peer.queue) {
            match out.request {
                Some(request) if out.message => {
                    requests.insert(out.frame.header.ssn, request);
                }
                _ if out.message => {}
                _ => queue.push_back(out),
            }
        }
        peer.queue = queue;
        requests
    }

    /// What the log has and the peer lacks, in order: each as it is to be sent.
    fn missing(&self, rank: Rank, eager_limit: usize) -> Vec<(Header, UserPtr)> {
        let peer = self.channels.peer(rank);
        let entries = peer.log.iter().filter(|entry| {
            !peer.has.contains(entry.ssn)
                || (!self.hooks.memory
                    && entry.flags & FLAG_SYNC != 0
                    && self.rendezvous.awaits_acknowledgement(rank, entry.ssn))
        });
        entries
            .map(|entry| {
                let len = entry.payload.len();
                // About what the peer has it is only asked, without the payload, which may be cut
                // at any time.
                let asks = len > eager_limit || peer.has.contains(entry.ssn);
                let kind = if asks { Kind::RequestToSend } else { Kind::Eager };
                let (flags, context, tag, ssn) = (entry.flags, entry.context, entry.tag, entry.ssn);
                let header = Header { kind, flags, context, tag, len: len as u64, ssn };
                (header, UserPtr::own(self.logs.memory().bytes(entry.payload)))
            })
            .collect()
    }

    /// Synchronous sends that the peer's images have, and the log has forgotten: all that is left
    /// to ask is whether they were matched.
    fn ask_about_forgotten(&mut self, rank: Rank) {
        if self.hooks.memory {
            return;
        }
        let log = &self.channels.peer(rank).log;
        let asked = self.rendezvous.unacknowledged_by(rank);
        let forgotten: Vec<_> =
            asked.filter(|&ssn| log.cut_at().contains(ssn) && log.get(ssn).is_none()).collect();
        for ssn in forgotten {
            self.announce(rank, question(ssn));
        }
    }

    /// Queues everything of the log that the peer lacks, in order.
    pub(super) fn rebuild_queue(&mut self, rank: Rank, eager_limit: usize) {
        self.logs.finish_late_to(rank);
        let mut requests = self.take_queued_messages(rank);
        // What had been announced and turns out to be there already is done.
        let settled = self.rendezvous.settle(rank, &self.channels.peer(rank).has);
        let missing = self.missing(rank, eager_limit);
        for request in settled {
            self.send_is_out(request);
        }
        self.ask_about_forgotten(rank);
        for (header, payload) in missing {
            let ssn = header.ssn;
            // Whether it is announced may have changed with the kind of channel.
            let announced = self.rendezvous.take(rank, ssn);
            let queued = requests.remove(&ssn);
            self.counters.resent += u64::from(queued.is_none() && announced.is_none());
            let request = queued.or(announced.and_then(|announced| announced.request));
            if header.kind == Kind::RequestToSend {
                if self.channels.peer(rank).has.contains(ssn) {
                    // It only asks whether the message was matched.
                    if let Some(request) = request {
                        self.send_is_out(request);
                    }
                } else {
                    let announced = Announced { header, payload, owned: None, request };
                    self.rendezvous.announce(rank, announced);
                }
                self.announce(rank, header);
            } else {
                self.enqueue(rank, Out::message(Frame::new(header, payload), None, request));
            }
        }
        for request in requests.into_values() {
            self.send_is_out(request);
        }
        if self.hooks.memory {
            let peer = self.channels.peer_mut(rank);
            peer.log.cut(&peer.has, self.logs.memory_mut());
            self.repeat_acknowledgements(rank);
        }
    }
}

/// An announcement without payload, which asks whether a synchronous message was matched.
pub(super) fn question(ssn: Ssn) -> Header {
    let kind = Kind::RequestToSend;
    Header { kind, flags: FLAG_SYNC, context: 0, tag: 0, len: 0, ssn }
}
