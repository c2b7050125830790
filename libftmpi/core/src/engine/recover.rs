//! New incarnations: channels begin with `Resume`, logs are sent again and cut, events are fetched and
//! repeated (ARCHITECTURE.md, "The life of a failure").

use super::{Awaited, ChannelPhase, Engine, Frame, Link, Logger, Out, Peer, Snapshot, State};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::{Pin, Readiness};
use ftmpi_protocols::received::Received;
use ftmpi_wire::header::{FLAG_SYNC, Kind, Received as WireReceived};
use ftmpi_wire::{
    Determinant, EventNo, Header, ImageNo, Incarnation, Rank, Ssn, control, event_log,
};
use std::collections::{BTreeMap, VecDeque};

/// Events that are being fetched from the logger at the begin of a life.
#[derive(Debug)]
pub(super) struct Fetch {
    from: EventNo,
    records: Vec<Determinant>,
    done: bool,
    /// Matches of named receives that were made meanwhile.
    pub(super) early: Vec<(u64, Rank, Ssn)>,
}

impl<L: Link> Engine<L> {
    /// A life begins that is not the first, without an image: everything is to be repeated from
    /// the start of the program.
    pub fn replay_from_start(&mut self) {
        let incarnations: Vec<_> = self.state.peers.iter().map(|peer| peer.incarnation).collect();
        self.replay_after(EventNo(0), &incarnations);
    }

    /// This process was restored from image `image`: forget the old life's channels, repeat what
    /// it had done since.
    pub fn restored(&mut self, image: ImageNo, incarnations: &[Incarnation]) {
        self.link.abandon(&mut self.state);
        let state = &mut self.state;
        state.restores += 1;
        state.begin_from(image);
        if state.waves.counted {
            state.return_to(image);
        }
        state.logger = Logger::Absent;
        state.to_logger.clear();
        for (index, &incarnation) in incarnations.iter().enumerate() {
            let rank = Rank(index as u32);
            if rank != state.me || state.hooks.memory {
                if state.peers[index].cluster_peer {
                    state.return_channel(rank);
                } else {
                    state.forget_channel(rank);
                }
                let peer = &mut state.peers[index];
                peer.incarnation = incarnation;
                if peer.has_traffic() || rank == state.me {
                    state.want(rank);
                }
            }
        }
        state.counters.replayed = 0;
        if !state.hooks.outcomes {
            return self.begin_again();
        }
        let events = state.snapshots.iter().find(|s| s.image == image).map(|s| s.events);
        match events {
            Some(events) => self.replay_after(events, incarnations),
            None => self.link.give_up(format!("image {image} does not know itself: it is damaged")),
        }
    }

    fn replay_after(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        if !self.state.hooks.outcomes {
            return self.begin_again();
        }
        let state = &mut self.state;
        // Peers may send again before the logger answers: no choice may be made until it is known
        // which were made already, and which receives were cancelled.
        state.matcher.repin(|posted| if posted.post == 0 { posted.pin } else { Pin::Held });
        state.fetch =
            Some(Fetch { from: last.next(), records: Vec::new(), done: false, early: Vec::new() });
        let begin = L::now_ns();
        state.batch = None;
        state.protocol.on_new_incarnation(last, incarnations);
        state.commands_to_queues();
        if state.hooks.logger {
            state.queue_for_logger(event_log::Frame::Fetch { from: last.next() });
            while !self.state.fetch.as_ref().is_some_and(|fetch| fetch.done) {
                self.block();
            }
        }
        let fetch = self.state.fetch.as_mut().expect("just filled");
        let records = std::mem::take(&mut fetch.records);
        self.state.protocol.on_restart(last, records);
        self.work();
        while self.state.protocol.gathering() {
            self.block();
        }
        let state = &mut self.state;
        let fetch = state.fetch.take().expect("filled above");
        state.counters.replayed = state.protocol.recorded();
        state.counters.recovery_ns = L::now_ns().saturating_sub(begin);
        for (post, source, ssn) in fetch.early {
            state.protocol.on_match(post, source, ssn);
        }
        state.replay_reported = false;
        state.commands_to_queues();
        let protocol = &mut state.protocol;
        state.matcher.repin(|posted| match posted.post {
            0 => posted.pin,
            post => protocol.pin(post),
        });
        state.rematch();
        self.link.point("replay");
        self.work();
    }

    /// Everything that was answered so far is stable, and nothing recorded is left to repeat.
    pub(super) fn is_settled(&mut self) -> bool {
        if self.is_repeating() {
            return false;
        }
        self.state.protocol.settle();
        self.work();
        let protocol = &self.state.protocol;
        protocol.stable() >= protocol.last_event()
    }

    /// Before the program's end is told to anybody, under a protocol that might take this life back:
    /// waits until nothing can.
    pub fn conclude(&mut self) {
        while self.state.hooks.arrivals
            && !self.is_settled()
            && (self.state.fetch.is_some() || !self.state.is_behind())
        {
            self.block();
        }
    }

    /// Everything that an image taken now would depend on is stable, and, in a wave, the others are
    /// as far as they must be.
    pub(super) fn image_safe(&mut self, image: ImageNo) -> Readiness {
        if self.state.fetch.is_some() || self.state.protocol.repeating() {
            // A life that has not caught up is part of the image that it began from.
            return Readiness::NotYet;
        }
        if self.state.waves.counted {
            self.image_waits_since();
        }
        self.state.protocol.on_image_due(image);
        // The markers leave now: while a rank stands still nothing else may give it work.
        self.work();
        let (protocol, peers) = (&self.state.protocol, &self.state.peers);
        if peers.iter().any(|peer| peer.channel.broken) {
            return Readiness::NotYet;
        }
        let mut open = peers
            .iter()
            .enumerate()
            .filter(|(_, peer)| peer.cluster_peer && peer.phase.is_there())
            .map(|(index, peer)| (Rank(index as u32), peer.received.count()));
        let readiness = protocol.image_ready(image, &mut open);
        // Only then: each look makes an event of the negative answers so far, and a program that asks
        // again and again would never see all of them stable.
        self.state.waves.settling = readiness == Readiness::Now && !self.is_settled();
        if self.state.waves.settling { Readiness::NotYet } else { readiness }
    }

    /// An image with this number is being taken of this very state.
    pub(super) fn image_taken(&mut self, image: ImageNo) {
        if self.state.waves.counted {
            self.count_channel_state();
        }
        if !self.state.hooks.log_payload {
            return;
        }
        let state = &mut self.state;
        let reach = state.spare_logs();
        let received = state.peers.iter().map(|peer| peer.received.clone()).collect();
        let events = state.protocol.last_event();
        let channel_memory = state.channel_memory.place;
        state.snapshots.push_back(Snapshot { image, events, received, channel_memory, reach });
    }
}

impl Peer {
    pub(super) fn has_traffic(&self) -> bool {
        self.last_ssn > Ssn(0) || self.received.last() > Ssn(0)
    }
}

impl State {
    /// The protocol cannot judge yet what comes: nobody is to send before the log was read.
    pub(super) fn reads_event_log(&self) -> bool {
        self.hooks.arrivals && self.fetch.as_ref().is_some_and(|fetch| !fetch.done)
    }

    /// A channel to a peer is there: say what we have of it.
    pub(super) fn begin_channel(&mut self, rank: Rank, incarnation: Incarnation) {
        if incarnation > self.peers[rank.index()].incarnation {
            self.begin_incarnation_of(rank, incarnation);
        }
        let memory = self.hooks.memory;
        let peer = &mut self.peers[rank.index()];
        if (incarnation != peer.incarnation && !memory)
            || peer.phase.is_there()
            || peer.channel.broken
        {
            return;
        }
        let mut payload = if memory {
            self.resume_for_memory(rank)
        } else {
            control::encode(&peer.received.to_wire())
        };
        self.protocol.resume(rank, &mut payload);
        let header = Header {
            kind: Kind::Resume,
            flags: 0,
            context: 0,
            tag: 0,
            len: payload.len() as u64,
            ssn: Ssn(0),
        };
        let frame = Frame { header, payload: UserPtr::own(&payload), sent: 0, begun: false };
        let peer = &mut self.peers[rank.index()];
        peer.resume = Some(Out {
            frame,
            owned: Some(payload),
            after: EventNo(0),
            request: None,
            gated_at: None,
            message: false,
            marker: None,
        });
        peer.phase = ChannelPhase::Fresh;
        self.queue_greeting(rank);
        self.mark_busy(rank);
    }

    /// The channel is gone. What waited for it is in the log, or, without one, still in the queue.
    pub(super) fn end_channel(&mut self, rank: Rank) {
        if self.peers[rank.index()].logged {
            self.forget_channel(rank);
            self.want(rank);
        } else if self.leaving {
            // Nothing is sent or awaited any more: the peer has left before us.
            self.peers[rank.index()].phase = ChannelPhase::Absent;
        } else if self.peers[rank.index()].cluster_peer {
            self.channel_broke(rank);
        } else {
            let me = self.me;
            self.failure = Some(format!(
                "rank {me} lost its connection to rank {rank}, and the protocol keeps no log to \
                 repair it from; run with --protocol pessimistic"
            ));
        }
    }

    fn forget_channel(&mut self, rank: Rank) {
        let peer = &mut self.peers[rank.index()];
        peer.phase = ChannelPhase::Absent;
        peer.resume = None;
        peer.absent = true;
        peer.has = Received::default();
        peer.piggyback_frame = None;
        peer.piggyback_out = false;
        peer.parts.clear();
        // Whether it heard of that is not known; and its new life may be older than what it heard.
        peer.sent_cut = Received::default();
        peer.sent_newest = Received::default();
        self.forget_measure();
        self.protocol.on_parted(rank);
        let peer = &mut self.peers[rank.index()];
        let queue = std::mem::take(&mut peer.queue);
        // Announcements to the lost channel are made again from the log.
        let keys: Vec<_> = self.pending.keys().filter(|key| key.0 == rank).copied().collect();
        let requests: Vec<_> = keys
            .into_iter()
            .filter_map(|key| self.pending.remove(&key)?.request)
            .chain(queue.into_iter().filter_map(|out| out.request))
            .collect();
        for request in requests {
            self.send_is_out(request);
        }
    }

    /// A peer begins a new life.
    pub(super) fn begin_incarnation_of(&mut self, rank: Rank, incarnation: Incarnation) {
        if incarnation <= self.peers[rank.index()].incarnation
            || rank == self.me
            || self.hooks.memory
        {
            // (Channels to memories outlive the lives of ranks.)
            return;
        }
        self.peers[rank.index()].incarnation = incarnation;
        if self.peers[rank.index()].cluster_peer {
            // All that share our waves return to the last one: our own end is near.
            self.renew_channel(rank);
            self.peers[rank.index()].channel.broken = true;
            return;
        }
        self.forget_channel(rank);
        // If its newest image was damaged, it needs what images so far need not have had.
        let peer = &mut self.peers[rank.index()];
        peer.its_newest = (ImageNo(0), Received::default());
        peer.log.want_all(&mut self.memory);
        self.protocol.on_peer_restart(rank, incarnation);
        self.commands_to_queues();
        if self.peers[rank.index()].has_traffic() {
            self.want(rank);
        }
    }

    /// A peer says what it has of us: messages flow again, first what it lacks.
    pub(super) fn resumed(&mut self, rank: Rank, payload: &[u8]) {
        let Ok((wire, said)) = control::decode_front::<WireReceived>(payload) else {
            self.failure = Some(format!("rank {rank} sent a malformed Resume"));
            return;
        };
        let has = Received::from_wire(&wire);
        let peer = &mut self.peers[rank.index()];
        if let Some(first) = peer.log.cut_at().first_beyond(&has) {
            let me = self.me;
            if let Some(image) = self.begun_from.filter(|_| self.lean_images) {
                let why = format!(
                    "image {image} has no messages to rank {rank} from {first} on, which a newer image of rank {rank} \
                     had received that is lost or damaged"
                );
                self.orphan = Some((why, Some(image)));
                return;
            }
            self.failure = Some(if self.hooks.memory {
                format!(
                    "the channel memory of rank {rank} has lost messages of rank {me} from {first} on, \
                     which it had stored: its files are lost or damaged"
                )
            } else {
                format!(
                    "rank {rank} cannot be recovered: it restarted from a state that lacks messages of \
                     rank {me} from {first} on, which the log of rank {me} has no more because newer \
                     images of rank {rank} had been committed; those images are lost or damaged"
                )
            });
            return;
        }
        peer.has = has;
        peer.phase =
            if peer.resume.is_some() { ChannelPhase::Answered } else { ChannelPhase::Ready };
        peer.absent = false;
        self.protocol.on_joined(rank, said);
        if !self.hooks.memory {
            self.send_cut(rank);
            self.send_newest(rank);
        }
        self.commands_to_queues();
        self.mark_busy(rank);
        if self.tracks() {
            self.rebuild.push(rank);
        }
    }

    /// Queues everything of the log that the peer lacks, in order.
    pub(super) fn rebuild_queue(&mut self, rank: Rank, eager_limit: usize) {
        self.finish_late_to(rank);
        let peer = &mut self.peers[rank.index()];
        let old = std::mem::take(&mut peer.queue);
        let mut requests = BTreeMap::new();
        let mut queue = VecDeque::new();
        for out in old {
            match out.request {
                Some(request) if out.message => {
                    requests.insert(out.frame.header.ssn, request);
                }
                _ if out.message => {}
                _ => queue.push_back(out),
            }
        }
        peer.queue = queue;
        // What had been announced and turns out to be there already is done.
        let has = &peer.has;
        let settled: Vec<_> = self
            .pending
            .keys()
            .filter(|(to, ssn)| *to == rank && has.contains(*ssn))
            .copied()
            .collect();
        let settled: Vec<_> =
            settled.iter().filter_map(|key| self.pending.remove(key)?.request).collect();
        let missing: Vec<_> = peer
            .log
            .iter()
            .filter(|entry| {
                !peer.has.contains(entry.ssn)
                    || (!self.hooks.memory
                        && entry.flags & FLAG_SYNC != 0
                        && self.unacknowledged.contains_key(&(rank, entry.ssn)))
            })
            .map(|entry| {
                let len = entry.payload.len();
                // What is there is only asked about, without its payload: it may be cut at any time.
                let asks = len > eager_limit || peer.has.contains(entry.ssn);
                let kind = if asks { Kind::RequestToSend } else { Kind::Eager };
                let (flags, context, tag, ssn) = (entry.flags, entry.context, entry.tag, entry.ssn);
                let header = Header { kind, flags, context, tag, len: len as u64, ssn };
                (header, UserPtr::own(self.memory.bytes(entry.payload)))
            })
            .collect();
        for request in settled {
            self.send_is_out(request);
        }
        // Synchronous sends that the peer's images have, and the log has forgotten: all that is left
        // to ask is whether they were matched.
        let log = &self.peers[rank.index()].log;
        let forgotten: Vec<_> = self
            .unacknowledged
            .range((rank, Ssn(0))..=(rank, Ssn(u64::MAX)))
            .map(|(&(_, ssn), _)| ssn)
            .filter(|&ssn| log.cut_at().contains(ssn) && log.get(ssn).is_none())
            .filter(|_| !self.hooks.memory)
            .collect();
        for ssn in forgotten {
            let kind = Kind::RequestToSend;
            let header = Header { kind, flags: FLAG_SYNC, context: 0, tag: 0, len: 0, ssn };
            self.announce(rank, header, None);
        }
        for (header, payload) in missing {
            let ssn = header.ssn;
            // Whether it is announced may have changed with the kind of channel.
            let announced = self.pending.remove(&(rank, ssn));
            let queued = requests.remove(&ssn);
            self.counters.resent += u64::from(queued.is_none() && announced.is_none());
            let request = queued.or(announced.and_then(|pending| pending.request));
            if header.kind == Kind::RequestToSend {
                if self.peers[rank.index()].has.contains(ssn) {
                    // It only asks whether the message was matched.
                    if let Some(request) = request {
                        self.send_is_out(request);
                    }
                } else {
                    let pending = super::Rendezvous { header, payload, owned: None, request };
                    self.pending.insert((rank, ssn), pending);
                }
                self.announce(rank, header, None);
            } else {
                self.enqueue(rank, header, payload, None, request);
            }
        }
        for request in requests.into_values() {
            self.send_is_out(request);
        }
        if self.hooks.memory {
            let peer = &mut self.peers[rank.index()];
            peer.log.cut(&peer.has, &mut self.memory);
            self.repeat_acknowledgements(rank);
        }
    }

    /// A peer's oldest offered image has this much: the log may forget it.
    pub(super) fn log_cut(&mut self, rank: Rank, payload: &[u8]) {
        if let Ok(wire) = control::decode::<WireReceived>(payload) {
            let received = Received::from_wire(&wire);
            self.finish_late_to(rank);
            if self.hooks.memory {
                self.memory_has_more(rank, &received);
            }
            self.peers[rank.index()].log.cut(&received, &mut self.memory);
            if self.hooks.memory {
                self.put_confirmed(rank);
            }
        }
    }

    /// A memory has written these. Some of them may come from our earlier life, over a connection that it read
    /// to its end after it had answered ours: they are on their way again, or about to be, and the log is
    /// about to let their payload go.
    fn memory_has_more(&mut self, of: Rank, received: &Received) {
        let peer = &mut self.peers[of.index()];
        peer.has.absorb(received);
        for out in &mut peer.queue {
            let header = &out.frame.header;
            if out.message && out.owned.is_none() && received.contains(header.ssn) {
                let mut payload = vec![0; header.len as usize];
                out.frame.payload.read(&mut payload);
                out.frame.payload = UserPtr::own(&payload);
                out.owned = Some(payload);
            }
        }
    }

    /// An image is stable: what only older ones needed may go everywhere.
    pub(super) fn cut_logs(&mut self, image: ImageNo, oldest: ImageNo) {
        self.newest_image = image.max(self.newest_image);
        while self.snapshots.front().is_some_and(|s| s.image < oldest) {
            self.snapshots.pop_front();
        }
        let Some(front) = self.snapshots.front().filter(|front| front.image == oldest) else {
            self.send_all_newest();
            return self.commands_to_queues();
        };
        self.oldest_image = oldest;
        self.protocol.on_oldest_image(front.events);
        if self.hooks.memory {
            let place = front.channel_memory;
            self.cut_channel_memory(place);
        } else {
            for index in 0..self.peers.len() {
                self.send_cut(Rank(index as u32));
            }
            self.send_all_newest();
        }
        self.commands_to_queues();
    }

    fn send_all_newest(&mut self) {
        for index in 0..self.peers.len() {
            self.send_newest(Rank(index as u32));
        }
    }

    /// Tells a peer what its images need not have in the log for us, if it has not heard of it.
    fn send_newest(&mut self, rank: Rank) {
        let newest = self.newest_image;
        let mut snapshots = self.snapshots.iter().filter(|_| self.lean_images);
        let Some(snapshot) = snapshots.find(|s| s.image == newest) else {
            return;
        };
        let received = &snapshot.received[rank.index()];
        let peer = &mut self.peers[rank.index()];
        if rank == self.me
            || !peer.logged
            || !received.exceeds(&peer.sent_newest)
            || !received.exceeds(&peer.sent_cut)
        {
            return;
        }
        peer.sent_newest = received.clone();
        let payload = control::encode(&received.to_wire());
        self.control_frame(rank, Kind::ImageHas, Ssn(newest.0), payload);
    }

    /// A peer's newest image has this much: ours need not have it.
    pub(super) fn image_has(&mut self, rank: Rank, image: Ssn, payload: &[u8]) {
        if let Ok(wire) = control::decode::<WireReceived>(payload) {
            self.peers[rank.index()].its_newest = (ImageNo(image.0), Received::from_wire(&wire));
        }
    }

    /// An image is being taken: leaves out of it what the newest image of each peer has. If that one turns out to be
    /// damaged, the peer needs more, and this rank returns to the image before this one, unless it lives. So no two
    /// images in a row reach back to the same image of a peer only.
    fn spare_logs(&mut self) -> Vec<ImageNo> {
        let mut reach = vec![ImageNo(0); self.peers.len()];
        if !self.lean_images {
            return reach;
        }
        for (index, (peer, reach)) in self.peers.iter_mut().zip(&mut reach).enumerate() {
            let (image, has) = &peer.its_newest;
            let is_newer = |snapshot: &Snapshot| snapshot.reach[index] < *image;
            if *image > ImageNo(0) && self.snapshots.iter().all(is_newer) {
                *reach = *image;
                peer.log.spare(has, &mut self.memory);
            } else {
                peer.log.want_all(&mut self.memory);
            }
        }
        reach
    }

    /// This life begins from an image, which did not have what was spared.
    fn begin_from(&mut self, image: ImageNo) {
        self.newest_image = image;
        self.begun_from = Some(image);
        for peer in &mut self.peers {
            // It may live again by now, from another one.
            peer.its_newest = (ImageNo(0), Received::default());
            peer.log.lose_spared(&mut self.memory);
        }
    }

    /// Images leave out of the logs what the newest image of each receiver has.
    pub(super) fn set_lean_images(&mut self, lean: bool) {
        self.lean_images = lean && self.hooks.log_payload && !self.hooks.memory;
    }

    /// Tells a peer what its log may forget, if it has not heard of it.
    fn send_cut(&mut self, rank: Rank) {
        let Some(front) = self.snapshots.front().filter(|front| front.image == self.oldest_image)
        else {
            return;
        };
        let received = &front.received[rank.index()];
        let peer = &mut self.peers[rank.index()];
        if rank == self.me || !peer.logged || !received.exceeds(&peer.sent_cut) {
            return;
        }
        peer.sent_cut = received.clone();
        let payload = control::encode(&received.to_wire());
        self.control_frame(rank, Kind::LogCut, Ssn(0), payload);
    }

    /// The image was not taken after all, or was lost.
    pub(super) fn forget_image(&mut self, image: ImageNo) {
        self.snapshots.retain(|s| s.image != image);
    }

    /// Replay is over: receives that were held back take what came meanwhile.
    pub(super) fn free_held(&mut self) {
        let protocol = &mut self.protocol;
        self.matcher.repin(|posted| match posted.post {
            0 => posted.pin,
            post => protocol.pin(post),
        });
        self.rematch();
    }

    /// Offers every waiting message to the posted receives again.
    pub(super) fn rematch(&mut self) {
        for id in self.matcher.waiting() {
            let m = self.matcher.message(id);
            let (source, context, tag, ssn) = (m.source, m.context, m.tag, m.ssn);
            if let Some(posted) = self.matcher.arrive(source, context, tag, ssn) {
                self.matcher.unlink(id);
                // A message that had been announced is now awaited by the receive.
                self.awaited.retain(|_, awaited| *awaited != Awaited::Waiting(id));
                self.record_match(posted.source, posted.post, source, ssn);
                self.deliver(posted.request, id);
            }
        }
    }

    /// The event logger is connected (again).
    pub(super) fn on_logger_connected(&mut self) {
        self.logger = Logger::Open;
        self.batch = None;
        self.to_logger.retain(|frame| matches!(frame, event_log::Frame::Prune { .. }));
        if self.hooks.piggyback {
            self.queue_for_logger(event_log::Frame::Watch);
        }
        match &self.fetch {
            Some(fetch) if !fetch.done => {
                let from = EventNo(fetch.from.0 + fetch.records.len() as u64);
                self.queue_for_logger(event_log::Frame::Fetch { from });
            }
            _ => self.protocol.on_logger_back(),
        }
        self.commands_to_queues();
        self.mark_busy(self.me);
    }

    /// The event logger speaks.
    pub(super) fn on_logger_frame(&mut self, frame: event_log::Frame) {
        let me = self.me;
        match frame {
            event_log::Frame::Ack { written, durable } => {
                if let Some((last, since)) = self.batch
                    && last <= written
                {
                    self.batch = None;
                    self.counters.logger_round_trips += 1;
                    self.counters.logger_round_trip_ns += (self.now_ns)().saturating_sub(since);
                }
                self.protocol.on_stable(written, durable);
                self.commands_to_queues();
            }
            event_log::Frame::Stable { clocks } => self.protocol.on_stable_clocks(&clocks),
            event_log::Frame::Events { first, records } => {
                let Some(fetch) = &mut self.fetch else { return };
                let expected = fetch.from.0 + fetch.records.len() as u64;
                if first.0 != expected {
                    self.failure = Some(format!(
                        "rank {me} cannot be recovered: the event logger has its events only from \
                         {first} on, and {expected} is needed"
                    ));
                    return;
                }
                fetch.records.extend(records);
            }
            event_log::Frame::End { next } => {
                let Some(fetch) = &mut self.fetch else { return };
                let expected = fetch.from.0 + fetch.records.len() as u64;
                if next.0 != expected {
                    self.failure = Some(format!(
                        "rank {me} cannot be recovered: the event logger ends at event {next}, \
                         and {expected} was expected"
                    ));
                    return;
                }
                fetch.done = true;
            }
            event_log::Frame::Refused => {
                self.failure =
                    Some(format!("rank {me}: the event logger says that this life is over"));
            }
            event_log::Frame::Append { .. }
            | event_log::Frame::Prune { .. }
            | event_log::Frame::Fetch { .. }
            | event_log::Frame::EventRing { .. }
            | event_log::Frame::LookIntoRing
            | event_log::Frame::Watch => {}
        }
    }
}
