//! Coordinated waves: markers, and what is held and what is kept between marker and image.
//!
//! Guarantees: a marker goes before every frame that had not begun when the marker was wanted.
//! While sends are held nothing else leaves. While sends are kept, a copy of every message that
//! leaves is in the sender log. What a held peer sends is taken in its order when the peer is
//! released. See `ftmpi_protocols::coordinated` for why an image then has all that it needs.

use super::Engine;
use super::link::{Landing, Link, Sink};
use super::state::State;
use super::state::out::Out;
use super::state::waves::WaveChannel;
use ftmpi_protocols::protocol::Marker;
use ftmpi_wire::{Header, ImageNo, Rank};

impl<L: Link> Engine<L> {
    /// Since when the image is waited for: from now on, if it is asked for the first time.
    pub(super) fn image_waits_since(&mut self) -> f64 {
        if !self.state.waves.image_awaited() {
            self.link.point("wave");
        }
        let now = self.link.clock();
        self.state.waves.image_since(now)
    }

    /// Before a rank shares memory with others of its host, all waves are behind it for which one
    /// of them stands still.
    pub fn join_shared_memory(&mut self, host: &[Rank]) {
        if self.has_waves() {
            while !self.link.join_shared_memory(host, self.state.waves.past()) {
                self.block();
            }
            self.link.report_call_ends(true);
        }
    }

    /// The image is being taken: counts the part of the channels' state that is in it.
    pub(super) fn count_channel_state(&mut self) {
        let state = &mut self.state;
        let entries = state.channels.cluster_peers().flat_map(|peer| peer.log.iter());
        let bytes: usize = entries.map(|entry| entry.payload.len()).sum();
        state.counters.channel_state_bytes += bytes as u64;
        if let Some(since) = state.waves.take_since() {
            let waited = (self.link.clock() - since).max(0.0);
            self.state.counters.wave_wait_ns += (waited * 1e9) as u64;
        }
    }
}

impl State {
    /// Queues markers to all cluster peers with an open channel.
    pub(super) fn mark(&mut self, marker: Marker) {
        for rank in self.channels.ranks() {
            let peer = self.channels.peer(rank);
            if peer.cluster_peer && peer.phase.is_there() {
                self.mark_channel(rank, marker);
            }
        }
    }

    fn mark_channel(&mut self, rank: Rank, marker: Marker) {
        let peer = self.channels.peer_mut(rank);
        // A message whose piggyback has begun to leave goes first.
        let begun = usize::from(peer.piggyback.has_begun() && !peer.queue.is_empty());
        let behind = peer.queue.iter().skip(begun);
        let at = begun + behind.take_while(|out| out.frame.begun || out.marker.is_some()).count();
        peer.queue.insert(at, Out::marker(marker));
        self.channels.mark_busy(rank);
    }

    /// Sets the first frame on a new channel, before `Resume`. A peer that may send messages must
    /// know of the waves that are behind this rank.
    pub(super) fn queue_greeting(&mut self, rank: Rank) {
        let peer = self.channels.peer_mut(rank);
        if peer.cluster_peer {
            peer.wave.set_greeting(self.protocol.greeting().map(Out::marker));
        }
    }

    /// No copies of what leaves are kept any more, and those that were are dropped.
    pub(super) fn forget_sent(&mut self) {
        self.waves.set_keeping(false);
        let memory = self.logs.memory_mut();
        let peers = self.channels.iter_mut();
        for peer in peers.filter(|peer| peer.cluster_peer && !peer.wave.is_owed()) {
            for entry in peer.log.take_all() {
                entry.give(memory);
            }
        }
    }

    /// Room for a frame that has to wait.
    pub(super) fn hold_frame(&mut self, from: Rank, header: &Header) -> Landing {
        self.counters.held_frames += 1;
        match self.channels.peer_mut(from).wave.hold_frame(header) {
            Some(landing) => landing,
            None => self.has_no_room(from, header),
        }
    }

    /// A frame that has to wait is complete.
    pub(super) fn held_landed(&mut self, from: Rank) {
        self.channels.peer_mut(from).wave.held_landed();
        self.take_held(from);
    }

    /// What was held may leave and be taken.
    pub(super) fn release(&mut self) {
        self.waves.set_closed(false);
        for rank in self.channels.ranks() {
            self.channels.mark_busy(rank);
            if self.waves.release(&mut self.channels.peer_mut(rank).wave) {
                self.take_held(rank);
            }
        }
    }

    /// Takes what was held, as far as it is complete and until a marker in it holds the peer again.
    fn take_held(&mut self, from: Rank) {
        while let Some(frame) = self.waves.next_held(&mut self.channels.peer_mut(from).wave) {
            let (header, payload) = (frame.header, frame.payload);
            let landing = self.take_frame(from, &header);
            landing.at.write(&payload[..payload.len().min(landing.capacity)]);
            self.landed(from, &header, landing.token);
        }
    }

    /// An image was taken, or will not be: nobody waits for it any more.
    pub(super) fn image_over(&mut self, image: ImageNo) {
        self.protocol.on_image_over(image);
        self.waves.image_over(image);
    }

    /// The channel to a cluster peer, which returns as well, is new; everything else is as it was.
    pub(super) fn return_channel(&mut self, rank: Rank) {
        self.renew_channel(rank);
        self.protocol.on_parted(rank);
        self.channels.peer_mut(rank).wave = WaveChannel::returning();
    }

    /// The channel is gone; what waits to leave stays, none of it begun.
    pub(super) fn renew_channel(&mut self, rank: Rank) {
        let peer = self.channels.peer_mut(rank);
        peer.forget_under_way();
        peer.wave.set_greeting(None);
        peer.queue.retain(|out| out.marker.is_none());
        for out in &mut peer.queue {
            (out.frame.sent, out.frame.begun) = (0, false);
        }
    }

    /// Both ends live and have lost what was under way: only the last wave has it.
    pub(super) fn channel_broke(&mut self, rank: Rank) {
        self.renew_channel(rank);
        self.channels.peer_mut(rank).wave.break_off();
        self.waves.channel_lost(rank);
    }
}
