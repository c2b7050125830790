//! The channels to the peers. They come from the agent, end with the incarnation that they lead to,
//! and deliver what they bring to the engine.
//!
//! Guarantees: no frame of an old incarnation is handed over once a newer one is known. A frame
//! that a channel's end cuts in the middle of landing is reported (`Sink::aborted`).

use super::notes::ChannelNotes;
use super::{Point, World, reach_point};
use crate::control::close;
use crate::ending::fatal;
use crate::sleep;
use ftmpi_core::engine::{Landing, Sink, Token};
use ftmpi_transport::FrameReceiver;
use ftmpi_transport::shm;
use ftmpi_transport::tcp::{self, Outcome};
use ftmpi_wire::control::ChannelKind;
use ftmpi_wire::group_news::GroupNews;
use ftmpi_wire::{Header, Incarnation, Rank};

#[expect(clippy::large_enum_variant, reason = "each look at a channel would follow a pointer")]
pub(super) enum Channel {
    Shm { channel: shm::Channel<Token>, doorbell: i32 },
    Tcp(tcp::Channel<Token>),
}

impl Channel {
    /// The frame that is in the middle of landing, if the channel ends now.
    pub(super) fn take_incoming(&mut self) -> Option<(Header, Token)> {
        match self {
            Self::Shm { channel, .. } => channel.take_incoming(),
            Self::Tcp(channel) => channel.take_incoming(),
        }
    }
}

/// A channel to one incarnation of a peer.
pub(super) struct PeerChannel {
    pub(super) peer: Rank,
    pub(super) incarnation: Incarnation,
    pub(super) channel: Channel,
}

/// Hands the frames of one channel to the engine.
pub(super) struct ChannelReceiver<'a, S: Sink> {
    pub(super) from: Rank,
    pub(super) sink: &'a mut S,
    pub(super) inject: &'a mut Vec<Point>,
    pub(super) notes: Option<ChannelNotes<'a>>,
}

impl<S: Sink> FrameReceiver for ChannelReceiver<'_, S> {
    type Token = Token;

    #[inline]
    fn expects(&self, header: &Header) -> bool {
        self.sink.expects(self.from, header)
    }

    #[inline]
    fn begin(&mut self, header: &Header) -> (*mut u8, usize, Token) {
        let Landing { at, capacity, token } = self.sink.arrive(self.from, header);
        if let Some(notes) = &mut self.notes {
            notes.begins(header, at, token);
        }
        if !self.inject.is_empty() {
            reach_point(self.inject, "ring-read");
            if header.kind == ftmpi_wire::header::Kind::Data {
                reach_point(self.inject, "rendezvous");
            }
        }
        (at.as_ptr().cast(), capacity, token)
    }

    #[inline]
    fn end(&mut self, header: &Header, token: Token) {
        if let Some(notes) = &mut self.notes {
            notes.came(self.from, header, token);
        }
        self.sink.landed(self.from, header, token);
    }
}

impl World {
    pub(super) fn join<S: Sink>(
        &mut self,
        sink: &mut S,
        peer: Rank,
        incarnation: Incarnation,
        kind: ChannelKind,
        passed: &[i32],
    ) {
        let known = self.job.as_ref().and_then(|job| job.incarnations.get(peer.index()).copied());
        let is_dead = self.peers.is_forgotten(peer);
        if is_dead || known.is_none_or(|known| incarnation < known) {
            passed.iter().for_each(|&fd| close(fd));
            return;
        }
        if !self.peers.are_memories() {
            // News of the new incarnation may come with its channel.
            self.part(sink, peer, incarnation);
        }
        if let ChannelKind::Tcp { round } = kind {
            let current = *self.peers.round(peer);
            if round < current {
                return passed.iter().for_each(|&fd| close(fd));
            }
            if round > current {
                // The peer has noticed before this rank that the connection is gone.
                *self.peers.round(peer) = round;
                self.lose(sink, peer);
            }
        }
        let channel = match (kind, passed) {
            (ChannelKind::SharedMemory { first }, &[segment, doorbell]) => {
                let boot = self.boot.take();
                let mapped = shm::bytes_of(segment).and_then(|bytes| {
                    let at = self.reserve(bytes, &boot);
                    // SAFETY: `reserve` gave this range to us and to nobody else; agents seal the
                    // size of segments.
                    unsafe { shm::Channel::map(segment, first, at, bytes) }
                });
                self.boot = boot;
                let local_ranks = self.job.as_ref().map_or(1, |job| job.local_ranks);
                let oversubscribed =
                    self.job.as_ref().is_some_and(|job| job.local_ranks > job.processors);
                let channel = match mapped.map(|channel| channel.among(local_ranks as usize)) {
                    Ok(channel) if oversubscribed => channel.oversubscribed(),
                    Ok(channel) => channel,
                    Err(error) => fatal("a shared segment cannot be mapped", &error),
                };
                close(segment);
                Channel::Shm { channel, doorbell }
            }
            (ChannelKind::Tcp { .. }, &[socket]) => match tcp::Channel::new(socket) {
                Ok(channel) => {
                    self.watch(socket);
                    Channel::Tcp(channel)
                }
                Err(_) => return close(socket),
            },
            _ => return passed.iter().for_each(|&fd| close(fd)),
        };
        if self.peers.add(PeerChannel { peer, incarnation, channel }) {
            sink.channel_up(peer, incarnation);
        }
    }

    /// Ends all channels to incarnations of `peer` before `incarnation`.
    pub(super) fn part<S: Sink>(&mut self, sink: &mut S, peer: Rank, incarnation: Incarnation) {
        self.peers.learn(peer, incarnation);
        for index in (0..self.peers.channels.len()).rev() {
            let way = &self.peers.channels[index];
            if way.peer == peer && way.incarnation < incarnation {
                self.end(sink, index, true);
            }
        }
    }

    /// Ends all channels to a peer whose connection is gone; the engine requests another. Both
    /// sides of a pair that had two sockets give up both, so that each begins the next round with
    /// `Resume`.
    pub(super) fn lose<S: Sink>(&mut self, sink: &mut S, peer: Rank) {
        let before = self.peers.channels.len();
        for index in (0..before).rev() {
            if self.peers.channels[index].peer == peer {
                self.end(sink, index, true);
            }
        }
        if self.peers.channels.len() < before {
            sink.channel_lost(peer);
        }
    }

    /// Takes what has come on the channels of a rank that has ended.
    pub(super) fn take_all_of<S: Sink>(&mut self, sink: &mut S, rank: Rank) {
        for index in (0..self.peers.channels.len()).rev() {
            while self.peers.channels.get(index).is_some_and(|way| way.peer == rank)
                && self.poll_channel(sink, index)
            {}
        }
    }

    /// News about ranks. What a dead rank had sent is taken first, then its channels end.
    pub(super) fn take_group_news<S: Sink>(&mut self, sink: &mut S, news: GroupNews) {
        if let GroupNews::Failed(rank) = news {
            self.take_all_of(sink, rank);
            for index in (0..self.peers.channels.len()).rev() {
                if self.peers.channels[index].peer == rank {
                    self.end(sink, index, true);
                }
            }
            self.peers.forget(rank);
        }
        sink.group_news(news);
    }

    /// Ends a channel; a frame that was landing is reported.
    pub(super) fn end<S: Sink>(&mut self, sink: &mut S, index: usize, close_it: bool) {
        let mut way = self.peers.remove(index);
        if let Some((header, token)) = way.channel.take_incoming() {
            sink.aborted(way.peer, &header, token);
        }
        if close_it {
            match &way.channel {
                Channel::Shm { channel, doorbell } => {
                    close(*doorbell);
                    forget_memory(channel.mapping());
                }
                Channel::Tcp(channel) => self.unwatch(channel.fd()),
            }
        }
    }

    pub(super) fn poll_channel<S: Sink>(&mut self, sink: &mut S, index: usize) -> bool {
        let way = &mut self.peers.channels[index];
        let notes = self.notes.as_mut().map(|notes| ChannelNotes::new(notes, way.incarnation));
        let mut receiver =
            ChannelReceiver { from: way.peer, sink, inject: &mut self.inject, notes };
        match &mut way.channel {
            Channel::Shm { channel, doorbell } => {
                let came = channel.poll(&mut receiver);
                // A writer that sleeps because the ring was full does not learn that there is room.
                if came && channel.must_ring_for_room() {
                    sleep::ring(*doorbell);
                }
                came
            }
            Channel::Tcp(channel) => match channel.poll(&mut receiver) {
                Outcome::Done => true,
                Outcome::Nothing => false,
                Outcome::Lost => {
                    // The peer has probably died, and news of that is on its way. If it has only
                    // lost the connection, the engine requests another.
                    let peer = way.peer;
                    *self.peers.round(peer) += 1;
                    self.lose(sink, peer);
                    true
                }
            },
        }
    }
}

/// Gives the memory of a dead channel back and keeps the place reserved.
fn forget_memory((base, bytes): (*mut u8, usize)) {
    // SAFETY: the range is the mapping of a channel that nobody refers to any more.
    unsafe {
        libc::mmap(
            base.cast(),
            bytes,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
            -1,
            0,
        );
    }
}
