//! Coordinated waves: markers, what is held and what is kept between marker and image, and how two
//! lives that begin from the same wave put their channel together again.
//!
//! Guarantees: a marker goes before every frame that was not begun when it was wanted; while sends
//! are held nothing else leaves; while they are kept, a copy of every message that leaves is in the
//! sender log; what a held peer sends is taken in its order when it is released. See
//! `ftmpi_protocols::coordinated` for why an image then has all that it needs.

use super::{ChannelPhase, Engine, Frame, Landing, Link, Out, Peer, ReqId, Sink, State, Token};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::Marker;
use ftmpi_protocols::received::Received;
use ftmpi_wire::header::{FLAG_SYNC, Kind};
use ftmpi_wire::{EventNo, Header, ImageNo, Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

/// A frame that came from a peer behind its marker.
#[derive(Debug)]
pub(super) struct HeldFrame {
    header: Header,
    payload: Vec<u8>,
    whole: bool,
}

/// What waves need of one channel.
#[derive(Debug, Default)]
pub(super) struct ChannelState {
    /// First word on the channel.
    pub(super) greeting: Option<Out>,
    /// Messages that have left whole for this peer.
    pub(super) sent: u64,
    /// What comes is held.
    hold: bool,
    held: VecDeque<HeldFrame>,
    /// The log is part of the state that this life began from, and not sent again yet.
    owed: bool,
    /// The channel is lost while both live: nothing repairs it but a return to the last wave.
    pub(super) broken: bool,
}

/// What waves need of a rank.
#[derive(Debug, Default)]
pub(super) struct Waves {
    /// Messages are counted per channel.
    pub(super) counted: bool,
    /// Nothing but markers and what is begun may leave.
    pub(super) closed: bool,
    /// What leaves is kept.
    keeping: bool,
    /// Peers that are held or whose held frames are not all taken yet.
    pub(super) holding: usize,
    /// Broken channels that the agent is to be told of.
    pub(super) lost: Vec<Rank>,
    /// Nothing but the own events' way to stable storage is waited for.
    pub(super) settling: bool,
    /// Since when an image is waited for.
    pub(super) since: Option<f64>,
    /// The last wave that is behind this rank.
    past: ImageNo,
}

impl Waves {
    pub(super) fn new(counted: bool) -> Self {
        Self { counted, ..Self::default() }
    }
}

impl<L: Link> Engine<L> {
    /// Nothing is to be replayed: the life is where it was.
    pub(super) fn begin_again(&mut self) {
        self.state.replay_reported = false;
        self.link.point("replay");
        self.work();
    }

    /// Since when the image is waited for; the first time that it is asked for, from now on.
    pub(super) fn image_waits_since(&mut self) -> f64 {
        if self.state.waves.since.is_none() {
            self.link.point("wave");
        }
        let now = self.link.clock();
        *self.state.waves.since.get_or_insert(now)
    }

    /// Before it shares memory with others of its host, a rank has all waves behind it for which one of
    /// them stands still.
    pub fn join_shared_memory(&mut self, host: &[Rank]) {
        if self.has_waves() {
            while !self.link.join_shared_memory(host, self.state.waves.past) {
                self.block();
            }
            self.link.report_call_ends(true);
        }
    }

    /// The image is being taken: what of the channels' state is in it.
    pub(super) fn count_channel_state(&mut self) {
        let state = &mut self.state;
        let bytes: usize =
            state.cluster_peers().flat_map(|p| p.log.iter()).map(|e| e.payload.len()).sum();
        state.counters.channel_state_bytes += bytes as u64;
        if let Some(since) = state.waves.since.take() {
            let waited = (self.link.clock() - since).max(0.0);
            self.state.counters.wave_wait_ns += (waited * 1e9) as u64;
        }
    }
}

impl State {
    // ---- out ----------------------------------------------------------------------------------

    fn marker_out(marker: Marker) -> Out {
        let payload = marker.encode().to_vec();
        let len = payload.len() as u64;
        let header =
            Header { kind: Kind::Protocol, flags: 0, context: 0, tag: 0, len, ssn: Ssn(0) };
        Out {
            frame: Frame { header, payload: UserPtr::own(&payload), sent: 0, begun: false },
            owned: Some(payload),
            after: EventNo(0),
            request: None,
            gated_at: None,
            message: false,
            marker: Some(marker),
        }
    }

    /// Markers to all cluster peers with whom a channel is open.
    pub(super) fn mark(&mut self, marker: Marker) {
        for index in 0..self.peers.len() {
            if self.peers[index].cluster_peer && self.peers[index].phase.is_there() {
                self.mark_channel(Rank(index as u32), marker);
            }
        }
    }

    fn mark_channel(&mut self, rank: Rank, marker: Marker) {
        let peer = &mut self.peers[rank.index()];
        // A message whose piggyback has begun to leave goes first.
        let begun = usize::from(peer.piggyback_has_begun() && !peer.queue.is_empty());
        let behind = peer.queue.iter().skip(begun);
        let at = begun + behind.take_while(|out| out.frame.begun || out.marker.is_some()).count();
        peer.queue.insert(at, Self::marker_out(marker));
        self.mark_busy(rank);
    }

    /// First word on a new channel, even before `Resume`: a peer that may send messages must know
    /// of the waves that we have behind us.
    pub(super) fn queue_greeting(&mut self, rank: Rank) {
        if !self.peers[rank.index()].cluster_peer {
            return;
        }
        let greeting = self.protocol.greeting().map(Self::marker_out);
        self.peers[rank.index()].channel.greeting = greeting;
    }

    pub(super) fn hold_sends(&mut self) {
        self.waves.closed = true;
        self.short_way = false;
    }

    pub(super) fn keep_sent(&mut self) {
        self.waves.keeping = true;
        // It keeps nothing.
        self.short_way = false;
    }

    /// A frame has left whole.
    #[inline]
    pub(super) fn has_left(&mut self, to: Rank, out: &Out) {
        if self.waves.counted
            && self.peers[to.index()].cluster_peer
            && matches!(out.frame.header.kind, Kind::Eager | Kind::Data)
        {
            self.peers[to.index()].channel.sent += 1;
            if self.waves.keeping {
                self.keep_copy(to, out);
            }
        }
    }

    #[cold]
    fn keep_copy(&mut self, to: Rank, out: &Out) {
        let Header { flags, context, tag, len, ssn, .. } = out.frame.header;
        let block = self.memory.take(len as usize);
        out.frame.payload.read(self.memory.bytes_mut(block));
        self.peers[to.index()].log.keep(ssn, context, tag, flags, block);
    }

    pub(super) fn forget_sent(&mut self) {
        self.waves.keeping = false;
        self.short_way = !self.waves.closed;
        for peer in self.peers.iter_mut().filter(|peer| peer.cluster_peer && !peer.channel.owed) {
            for entry in peer.log.take_all() {
                entry.give(&mut self.memory);
            }
        }
    }

    // ---- in -----------------------------------------------------------------------------------

    pub(super) fn hold_from(&mut self, rank: Rank) {
        let channel = &mut self.peers[rank.index()].channel;
        if !channel.hold && channel.held.is_empty() {
            self.waves.holding += 1;
        }
        channel.hold = true;
    }

    /// Does what comes from this peer have to wait?
    pub(super) fn is_held(&self, from: Rank) -> bool {
        let channel = &self.peers[from.index()].channel;
        channel.hold || !channel.held.is_empty()
    }

    /// Room for a frame that has to wait.
    pub(super) fn hold_frame(&mut self, from: Rank, header: &Header) -> Landing {
        let mut payload = vec![0; header.len as usize];
        let (at, capacity) = (UserPtr::own_mut(&mut payload), payload.len());
        let frame = HeldFrame { header: *header, payload, whole: false };
        self.peers[from.index()].channel.held.push_back(frame);
        self.counters.held_frames += 1;
        Landing { at, capacity, token: Token::Held }
    }

    /// Such a frame is here.
    pub(super) fn held_landed(&mut self, from: Rank) {
        let channel = &mut self.peers[from.index()].channel;
        if let Some(last) = channel.held.back_mut() {
            last.whole = true;
        }
        self.take_held(from);
    }

    /// The channel ended in the middle of such a frame.
    pub(super) fn held_aborted(&mut self, from: Rank) {
        self.peers[from.index()].channel.held.pop_back();
    }

    /// What was held may go and come.
    pub(super) fn release(&mut self) {
        self.waves.closed = false;
        self.short_way = !self.waves.keeping;
        for index in 0..self.peers.len() {
            let rank = Rank(index as u32);
            self.mark_busy(rank);
            if std::mem::take(&mut self.peers[index].channel.hold) {
                if self.peers[index].channel.held.is_empty() {
                    self.waves.holding -= 1;
                }
                self.take_held(rank);
            }
        }
    }

    /// Takes what was held, as far as it is here and until a marker in it holds the peer again.
    fn take_held(&mut self, from: Rank) {
        loop {
            let channel = &mut self.peers[from.index()].channel;
            if channel.hold || !channel.held.front().is_some_and(|frame| frame.whole) {
                return;
            }
            let HeldFrame { header, payload, .. } = channel.held.pop_front().expect("just seen");
            if channel.held.is_empty() {
                self.waves.holding -= 1;
            }
            let landing = self.take_frame(from, &header);
            landing.at.write(&payload[..payload.len().min(landing.capacity)]);
            self.landed(from, &header, landing.token);
        }
    }

    // ---- new lives ----------------------------------------------------------------------------

    /// An image is taken, or will not be.
    pub(super) fn image_over(&mut self, image: ImageNo) {
        self.protocol.on_image_over(image);
        self.waves.past = self.waves.past.max(image);
        // Whether it was taken or not: nobody waits for it any more.
        self.waves.since = None;
    }

    /// A life begins from an image of a wave.
    pub(super) fn return_to(&mut self, image: ImageNo) {
        self.protocol.on_return(image);
        self.waves = Waves { past: image, ..Waves::new(true) };
        self.short_way = true;
    }

    /// The channel to a cluster peer, which returns, too, is new; everything else is as it was.
    pub(super) fn return_channel(&mut self, rank: Rank) {
        self.renew_channel(rank);
        self.protocol.on_parted(rank);
        let peer = &mut self.peers[rank.index()];
        peer.channel = ChannelState { owed: true, ..ChannelState::default() };
    }

    fn cluster_peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.cluster_peer)
    }

    /// The channel is gone; what waits to leave stays, none of it begun.
    pub(super) fn renew_channel(&mut self, rank: Rank) {
        let peer = &mut self.peers[rank.index()];
        peer.phase = ChannelPhase::Absent;
        peer.resume = None;
        peer.channel.greeting = None;
        peer.piggyback_frame = None;
        peer.piggyback_out = false;
        peer.parts.clear();
        peer.has = Received::default();
        peer.queue.retain(|out| out.marker.is_none());
        for out in &mut peer.queue {
            (out.frame.sent, out.frame.begun) = (0, false);
        }
    }

    /// Both ends live and have lost what was under way: only the last wave has it.
    pub(super) fn channel_broke(&mut self, rank: Rank) {
        self.renew_channel(rank);
        self.peers[rank.index()].channel.broken = true;
        self.waves.lost.push(rank);
    }

    /// The peer has said what it has: queues what it lacks, in the order of the program's calls.
    pub(super) fn reconcile(&mut self, rank: Rank, eager_limit: usize) {
        // What is announced anew reveals what was done since, and has its events behind it.
        let after = match self.hooks.sends {
            true => self.protocol.gate(),
            false => EventNo(0),
        };
        let peer = &mut self.peers[rank.index()];
        peer.channel.owed = false;
        peer.channel.sent = peer.has.count();
        let has = peer.has.clone();
        let old = std::mem::take(&mut peer.queue);
        let mut queue: VecDeque<Out> = VecDeque::new();
        let mut messages: BTreeMap<Ssn, Out> = BTreeMap::new();
        let mut settled: Vec<ReqId> = Vec::new();
        for out in old {
            match out.frame.header.kind {
                // Announced anew below, from what is pending.
                Kind::RequestToSend => {}
                Kind::Eager | Kind::Data if has.contains(out.frame.header.ssn) => {
                    settled.extend(out.request);
                }
                Kind::Eager | Kind::Data => {
                    messages.insert(out.frame.header.ssn, out);
                }
                _ => queue.push_back(out),
            }
        }
        let log: Vec<_> = self.peers[rank.index()].log.take_all().collect();
        for entry in log {
            let (ssn, len) = (entry.ssn, entry.payload.len());
            if !has.contains(ssn) && !messages.contains_key(&ssn) {
                self.counters.resent += 1;
                let (flags, context, tag) = (entry.flags, entry.context, entry.tag);
                let mut header =
                    Header { kind: Kind::Eager, flags, context, tag, len: len as u64, ssn };
                let owned = self.memory.bytes(entry.payload).to_vec();
                let payload = UserPtr::own(&owned);
                if len > eager_limit {
                    header.kind = Kind::RequestToSend;
                    let pending =
                        super::Rendezvous { header, payload, owned: Some(owned), request: None };
                    self.pending.insert((rank, ssn), pending);
                } else {
                    messages.insert(ssn, Self::message_out(header, payload, Some(owned), None));
                }
            }
            entry.give(&mut self.memory);
        }
        let range = (rank, Ssn(0))..=(rank, Ssn(u64::MAX));
        let pending: Vec<_> = self.pending.range(range.clone()).map(|(&(_, ssn), _)| ssn).collect();
        for ssn in pending {
            if has.contains(ssn) {
                let pending = self.pending.remove(&(rank, ssn)).expect("just seen");
                settled.extend(pending.request);
            } else {
                let header = self.pending[&(rank, ssn)].header;
                messages.insert(ssn, Out { after, ..Self::announcement(header) });
            }
        }
        queue.extend(messages.into_values());
        // Matched or not? The acknowledgement may have been under way.
        let asked: Vec<_> = self.unacknowledged.range(range).map(|(&(_, ssn), _)| ssn).collect();
        for ssn in asked.into_iter().filter(|&ssn| has.contains(ssn)) {
            let kind = Kind::RequestToSend;
            let header = Header { kind, flags: FLAG_SYNC, context: 0, tag: 0, len: 0, ssn };
            queue.push_back(Out { after, ..Self::announcement(header) });
        }
        // A wave that has reached us since the channel was made has its markers first.
        let queue_now = &mut self.peers[rank.index()].queue;
        debug_assert!(queue_now.is_empty());
        let (markers, rest): (VecDeque<_>, VecDeque<_>) =
            queue.into_iter().partition(|out| out.marker.is_some());
        *queue_now = markers;
        queue_now.extend(rest);
        for request in settled {
            self.send_is_out(request);
        }
        self.mark_busy(rank);
    }

    fn message_out(
        header: Header,
        payload: UserPtr,
        owned: Option<Vec<u8>>,
        request: Option<ReqId>,
    ) -> Out {
        let frame = Frame { header, payload, sent: 0, begun: false };
        let after = EventNo(0);
        Out { frame, owned, after, request, gated_at: None, message: true, marker: None }
    }

    fn announcement(mut header: Header) -> Out {
        let len = header.len.to_le_bytes().to_vec();
        header.len = len.len() as u64;
        let payload = UserPtr::own(&len);
        Self::message_out(header, payload, Some(len), None)
    }
}
