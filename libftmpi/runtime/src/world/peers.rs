//! The channels of this rank by peer: which channel it sends on, and which ones it has asked for.
//! How channels begin and end is in [`channels`](super::channels).

use super::channels::{Channel, PeerChannel};
use crate::sleep;
use ftmpi_core::engine::{Frame, Push, Token};
use ftmpi_transport::tcp::Outcome;
use ftmpi_wire::{Header, Incarnation, Rank};

/// The channels to all peers.
#[derive(Default)]
pub(super) struct Peers {
    pub(super) channels: Vec<PeerChannel>,
    /// Frames that were landing on the channels of the incarnation before this one.
    broken_off: Vec<(Rank, Header, Token)>,
    /// For each peer, the channel that this rank sends on.
    send_on: Vec<Option<usize>>,
    /// Peers to which a channel was requested that has not come.
    asked: Vec<Rank>,
    /// For each peer, its latest known incarnation, and how often the connection to that
    /// incarnation was lost. Sockets of earlier rounds are over, whichever side noticed first.
    rounds: Vec<(Incarnation, u32)>,
    /// At the other end of every channel is a channel memory, which has no incarnations.
    memories: bool,
    /// Peers that have died, and that the others go on without.
    dead: Vec<Rank>,
    /// A push since the last rest found a socket full.
    pub(super) socket_full: bool,
}

impl Peers {
    /// No channels yet.
    pub(super) fn new(incarnations: impl IntoIterator<Item = Incarnation>, memories: bool) -> Self {
        let mut peers = Self::default();
        peers.begin(incarnations.into_iter(), memories);
        peers
    }

    /// Drops the channels of the incarnation that has ended. Frames that were landing when the
    /// image was taken come again; [`Peers::take_broken_off`] names them.
    pub(super) fn end_incarnation(&mut self) {
        self.broken_off.extend(self.channels.drain(..).filter_map(|mut way| {
            let (header, token) = way.channel.take_incoming()?;
            Some((way.peer, header, token))
        }));
        self.asked.clear();
    }

    /// Begins an incarnation, without channels.
    pub(super) fn begin(
        &mut self,
        incarnations: impl Iterator<Item = Incarnation>,
        memories: bool,
    ) {
        self.rounds = incarnations.map(|incarnation| (incarnation, 0)).collect();
        self.send_on = vec![None; self.rounds.len()];
        self.memories = memories;
    }

    /// So many more peers.
    pub(super) fn grow(&mut self, count: usize) {
        self.rounds.resize(self.rounds.len() + count, (Incarnation(0), 0));
        self.send_on.resize(self.rounds.len(), None);
    }

    /// No channel to this peer is awaited any more.
    pub(super) fn ask_no_more(&mut self, peer: Rank) {
        self.asked.retain(|&asked| asked != peer);
    }

    pub(super) fn are_memories(&self) -> bool {
        self.memories
    }

    /// The place of the channel that this rank sends on.
    #[inline]
    pub(super) fn sender(&self, to: Rank) -> Option<usize> {
        self.send_on[to.index()]
    }

    /// See [`Link::push`](ftmpi_core::engine::Link::push).
    #[inline]
    pub(super) fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        let Some(index) = self.send_on[to.index()] else { return Push::Full };
        let payload: *const u8 = frame.payload.as_ptr().cast();
        match &mut self.channels[index].channel {
            Channel::Shm { channel, doorbell } => {
                // SAFETY: the engine keeps the payload where it is until the frame is done.
                let done = unsafe {
                    channel.push(&frame.header, payload, &mut frame.begun, &mut frame.sent)
                };
                if channel.must_ring() {
                    sleep::ring(*doorbell);
                }
                if done { Push::Done } else { Push::Full }
            }
            Channel::Tcp(channel) => {
                // SAFETY: as above.
                let outcome = unsafe {
                    channel.push(&frame.header, payload, &mut frame.begun, &mut frame.sent)
                };
                self.socket_full |= outcome != Outcome::Done;
                // A lost connection shows at the next poll.
                if outcome == Outcome::Done { Push::Done } else { Push::Full }
            }
        }
    }

    /// The latest known incarnation of a rank.
    pub(super) fn incarnation_of(&self, rank: usize) -> Option<Incarnation> {
        self.rounds.get(rank).map(|(incarnation, _)| *incarnation)
    }

    /// How often the connection to this incarnation was lost.
    pub(super) fn round_of(&self, peer: Rank, incarnation: Incarnation) -> u32 {
        match self.rounds[peer.index()] {
            (known, round) if known == incarnation => round,
            _ => 0,
        }
    }

    /// The round of the latest incarnation of a peer.
    pub(super) fn round(&mut self, peer: Rank) -> &mut u32 {
        &mut self.rounds[peer.index()].1
    }

    /// A peer has this incarnation now, or a later one. A request for a channel to an earlier one
    /// is made again.
    pub(super) fn learn(&mut self, peer: Rank, incarnation: Incarnation) {
        let known = &mut self.rounds[peer.index()];
        if known.0 < incarnation {
            *known = (incarnation, 0);
            self.asked.retain(|&asked| asked != peer);
        }
    }

    /// A channel to this peer is requested.
    pub(super) fn ask(&mut self, peer: Rank) {
        self.asked.push(peer);
    }

    /// Whether a requested channel has not come.
    #[inline]
    pub(super) fn waits_for_channels(&self) -> bool {
        !self.asked.is_empty()
    }

    #[cfg(test)]
    pub(super) fn has_asked(&self, peer: Rank) -> bool {
        self.asked.contains(&peer)
    }

    /// The peer has died, and nothing comes from it any more.
    pub(super) fn forget(&mut self, peer: Rank) {
        self.asked.retain(|&asked| asked != peer);
        self.dead.push(peer);
    }

    /// Whether the peer has died for good.
    pub(super) fn is_forgotten(&self, peer: Rank) -> bool {
        self.dead.contains(&peer)
    }

    /// A channel has come; whether it is the first to this peer, which this rank sends on.
    pub(super) fn add(&mut self, channel: PeerChannel) -> bool {
        let peer = channel.peer;
        self.asked.retain(|&asked| asked != peer);
        let slot = &mut self.send_on[peer.index()];
        let first = slot.is_none();
        if first {
            *slot = Some(self.channels.len());
        }
        self.channels.push(channel);
        first
    }

    /// Takes a channel out. The last channel gets its place.
    pub(super) fn remove(&mut self, index: usize) -> PeerChannel {
        let removed = self.channels.swap_remove(index);
        for slot in &mut self.send_on {
            match *slot {
                Some(at) if at == index => *slot = None,
                Some(at) if at == self.channels.len() => *slot = Some(index),
                _ => {}
            }
        }
        removed
    }

    /// Frames of the incarnation before this one that come again.
    pub(super) fn take_broken_off(&mut self) -> Vec<(Rank, Header, Token)> {
        std::mem::take(&mut self.broken_off)
    }

    /// Whether anything waits in a ring.
    pub(super) fn are_ready(&self) -> bool {
        self.channels.iter().any(|way| match &way.channel {
            Channel::Shm { channel, .. } => channel.is_ready() || channel.can_go_on(),
            Channel::Tcp(_) => false,
        })
    }

    /// Peers ring the doorbell of a rank that sleeps.
    pub(super) fn set_sleeping(&self, sleeping: bool) {
        for way in &self.channels {
            if let Channel::Shm { channel, .. } = &way.channel {
                channel.set_sleeping(sleeping);
            }
        }
    }
}
