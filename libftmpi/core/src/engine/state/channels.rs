//! The channels to the peers, as the engine sees them: what is known about each peer, what waits to
//! leave for it, and which peers need work.
//!
//! Interface of [`Channels`]: [`peer`](Channels::peer) and [`peer_mut`](Channels::peer_mut) give
//! one peer. [`queue`](Channels::queue) queues a frame. [`mark_busy`](Channels::mark_busy),
//! [`request`](Channels::request) and [`rebuild_later`](Channels::rebuild_later) note work that
//! `Engine::work` takes with the `next_*` functions.

use super::super::link::Frame;
use super::super::tuning::PIGGYBACK_PART;
use super::out::Out;
use super::waves::WaveChannel;
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::{Hooks, Protocol};
use ftmpi_protocols::received::Received;
use ftmpi_protocols::sender_log::SenderLog;
use ftmpi_wire::header::{FLAG_MORE, Kind};
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn};
use std::collections::{BTreeSet, VecDeque};

/// State of the channel to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelPhase {
    /// Never requested, or gone.
    Absent,
    /// Requested from the agent.
    Asked,
    /// Open; the peer's `Resume` has not come yet.
    Fresh,
    /// The peer's `Resume` has come, ours has not left yet.
    Answered,
    /// Messages flow.
    Ready,
    /// The peer has died, and the job goes on without it.
    Dead,
}

impl ChannelPhase {
    /// Whether messages flow.
    #[inline]
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// Whether the channel is open.
    #[inline]
    pub fn is_there(self) -> bool {
        matches!(self, Self::Fresh | Self::Answered | Self::Ready)
    }
}

/// What the protocol puts before a message, on its way to one peer.
#[derive(Debug, Default)]
pub(crate) struct OutgoingPiggyback {
    pub bytes: Vec<u8>,
    /// The part that leaves next.
    frame: Option<Frame>,
    /// Bytes of the parts that have left.
    left: usize,
    /// All of it has left, and the message that it belongs to has not: nothing comes between.
    out: bool,
}

/// The next frame of a piggyback of which `rest` is left.
fn part_of(rest: &[u8], most: usize) -> Frame {
    let part = &rest[..rest.len().min(most)];
    let flags = if part.len() < rest.len() { FLAG_MORE } else { 0 };
    let (kind, ssn, len) = (Kind::Piggyback, Ssn(0), part.len() as u64);
    let header = Header { kind, flags, context: 0, tag: 0, len, ssn };
    Frame::new(header, UserPtr::own(part))
}

impl OutgoingPiggyback {
    /// Whether any of it has left.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.frame.is_some() || self.out
    }

    /// Whether all of it has left.
    #[inline]
    pub fn is_out(&self) -> bool {
        self.out
    }

    /// Whether a part is on its way.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.frame.is_some()
    }

    /// The bytes are filled in: the first part is next.
    pub fn begin(&mut self, most: usize) {
        self.left = 0;
        self.frame = Some(part_of(&self.bytes, most));
    }

    /// Pushes part by part as long as `push` takes them; `true` when all of it has left.
    pub fn push_parts(&mut self, most: usize, mut push: impl FnMut(&mut Frame) -> bool) -> bool {
        while let Some(frame) = &mut self.frame {
            if !push(frame) {
                return false;
            }
            self.left += frame.header.len as usize;
            let rest = &self.bytes[self.left..];
            self.frame = (!rest.is_empty()).then(|| part_of(rest, most));
        }
        self.out = true;
        true
    }

    /// The message has left, too.
    #[inline]
    pub fn message_left(&mut self) {
        self.out = false;
    }

    /// The channel is gone.
    pub fn forget(&mut self) {
        (self.frame, self.out) = (None, false);
    }
}

/// What is known about one peer.
pub(crate) struct Peer {
    pub incarnation: Incarnation,
    pub phase: ChannelPhase,
    /// It is of another world.
    pub stranger: bool,
    /// This rank has no communicator with it, or it has ended in order: its end is no loss.
    pub may_leave: bool,
    /// The peer died and its new incarnation has not resumed yet: sends to it are only logged.
    pub absent: bool,
    /// Last number given to a message to it.
    pub last_ssn: Ssn,
    /// Its messages that this rank has.
    pub received: Received,
    /// Messages of it that were cancelled and removed here, and it may not know that.
    pub forgotten: BTreeSet<Ssn>,
    /// Messages of this rank that it has, as far as is known.
    pub has: Received,
    pub log: SenderLog,
    /// Payloads for it are logged ([`Protocol::logs_payload`]).
    pub logged: bool,
    /// It returns to the same waves as this rank ([`Protocol::shares_waves`]).
    pub cluster_peer: bool,
    /// `Resume`, the first frame on a channel.
    pub resume: Option<Out>,
    pub queue: VecDeque<Out>,
    /// The last log cut that was sent to it.
    pub sent_cut: Received,
    /// What our newest image has of it, as it was last sent.
    pub sent_newest: Received,
    /// Its newest image, as far as is known, and what that image has of this rank.
    pub its_newest: (ImageNo, Received),
    /// Payload of a control frame that is landing.
    pub control: Vec<u8>,
    pub piggyback: OutgoingPiggyback,
    /// Parts of an arriving piggyback that is not complete.
    pub parts: Vec<u8>,
    pub wave: WaveChannel,
}

impl Peer {
    fn new(rank: Rank, incarnation: Incarnation, hooks: Hooks, protocol: &dyn Protocol) -> Self {
        Self {
            incarnation,
            phase: ChannelPhase::Absent,
            stranger: false,
            may_leave: false,
            absent: false,
            last_ssn: Ssn(0),
            received: Received::default(),
            forgotten: BTreeSet::new(),
            has: Received::default(),
            log: SenderLog::default(),
            logged: hooks.log_payload && protocol.logs_payload(rank),
            cluster_peer: hooks.channel_state && protocol.shares_waves(rank),
            resume: None,
            queue: VecDeque::new(),
            sent_cut: Received::default(),
            sent_newest: Received::default(),
            its_newest: (ImageNo(0), Received::default()),
            control: Vec::new(),
            piggyback: OutgoingPiggyback::default(),
            parts: Vec::new(),
            wave: WaveChannel::default(),
        }
    }

    /// Whether any message has passed between this rank and the peer.
    pub fn has_traffic(&self) -> bool {
        self.last_ssn > Ssn(0) || self.received.last() > Ssn(0)
    }

    /// Moves the frame that was queued last before all frames that have not begun to leave, but
    /// behind frames that were moved forward earlier.
    pub fn bring_forward(&mut self) {
        let Some(last) = self.queue.pop_back() else { return };
        let begun =
            self.piggyback.has_begun() || self.queue.front().is_some_and(|out| out.frame.begun);
        let first = usize::from(begun && !self.queue.is_empty());
        let earlier = self
            .queue
            .iter()
            .skip(first)
            .take_while(|out| out.frame.header.kind == Kind::Protocol)
            .count();
        self.queue.insert(first + earlier, last);
    }

    /// Forgets what was under way on a channel that is gone, in both directions.
    pub fn forget_under_way(&mut self) {
        self.phase = ChannelPhase::Absent;
        self.resume = None;
        self.has = Received::default();
        self.piggyback.forget();
        self.parts.clear();
    }
}

/// All peers, and which of them need work.
pub(crate) struct Channels {
    peers: Vec<Peer>,
    /// Peers with something to push.
    busy: Vec<Rank>,
    /// Peers whose queue is to be rebuilt from the log.
    rebuild: Vec<Rank>,
    /// Peers to which a channel is to be requested.
    wanted: Vec<Rank>,
    /// Bytes of a piggyback in one frame.
    piggyback_part: usize,
    /// A frame has left from a queue since the last rest.
    left: bool,
    /// The program is in `MPI_Finalize`.
    leaving: bool,
}

impl Channels {
    /// Channels to one peer per entry of `incarnations`.
    pub fn new(incarnations: &[Incarnation], hooks: Hooks, protocol: &dyn Protocol) -> Self {
        let peers = incarnations.iter().enumerate();
        let peers = peers
            .map(|(rank, &incarnation)| Peer::new(Rank(rank as u32), incarnation, hooks, protocol))
            .collect();
        Self {
            peers,
            busy: Vec::new(),
            rebuild: Vec::new(),
            wanted: Vec::new(),
            piggyback_part: PIGGYBACK_PART,
            left: false,
            leaving: false,
        }
    }

    /// So many processes have joined the job. This rank has no communicator with them yet.
    pub fn grow(&mut self, count: usize, hooks: Hooks, protocol: &dyn Protocol) {
        for _ in 0..count {
            let rank = Rank(self.peers.len() as u32);
            let mut peer = Peer::new(rank, Incarnation(0), hooks, protocol);
            (peer.stranger, peer.may_leave) = (true, true);
            self.peers.push(peer);
        }
    }

    /// What is known about this rank.
    #[inline]
    pub fn peer(&self, rank: Rank) -> &Peer {
        &self.peers[rank.index()]
    }

    /// What is known about this rank, to be changed.
    #[inline]
    pub fn peer_mut(&mut self, rank: Rank) -> &mut Peer {
        &mut self.peers[rank.index()]
    }

    /// Ranks in the job.
    #[inline]
    pub fn count(&self) -> usize {
        self.peers.len()
    }

    /// All ranks.
    pub fn ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.peers.len() as u32).map(Rank)
    }

    /// All peers, by rank.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter()
    }

    /// All peers, by rank, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.iter_mut()
    }

    /// The peers that return to the same waves as this rank.
    pub fn cluster_peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.cluster_peer)
    }

    /// Whether `Engine::work` has something to do here.
    #[inline]
    pub fn have_work(&self) -> bool {
        !self.busy.is_empty() || !self.wanted.is_empty() || !self.rebuild.is_empty()
    }

    /// Whether any peer has something to push.
    #[inline]
    pub fn are_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// The peer has something to push.
    #[inline]
    pub fn mark_busy(&mut self, peer: Rank) {
        if !self.busy.contains(&peer) {
            self.busy.push(peer);
        }
    }

    /// A channel to the peer is needed.
    pub fn request(&mut self, peer: Rank) {
        let p = &self.peers[peer.index()];
        let is_absent = p.phase == ChannelPhase::Absent && !p.wave.is_broken();
        if is_absent && !self.wanted.contains(&peer) {
            self.wanted.push(peer);
        }
    }

    /// Queues a frame behind what waits for the same peer. What is for a dead rank is dropped.
    pub fn queue(&mut self, to: Rank, out: Out) {
        if self.peers[to.index()].phase == ChannelPhase::Dead {
            return;
        }
        self.peers[to.index()].queue.push_back(out);
        self.mark_busy(to);
        self.request(to);
    }

    /// `Engine::work` has something to do that is no channel's. A request for a channel to `me` is
    /// none.
    pub fn wake(&mut self, me: Rank) {
        self.wanted.push(me);
    }

    /// Nothing is to be done for this peer any more.
    pub fn forget(&mut self, peer: Rank) {
        for list in [&mut self.busy, &mut self.rebuild, &mut self.wanted] {
            list.retain(|one| *one != peer);
        }
    }

    /// The peer's queue is to be rebuilt from the log.
    pub fn rebuild_later(&mut self, peer: Rank) {
        self.rebuild.push(peer);
    }

    /// The next peer whose queue is to be rebuilt.
    #[inline]
    pub fn next_rebuild(&mut self) -> Option<Rank> {
        self.rebuild.pop()
    }

    /// The next peer to which a channel is to be requested.
    #[inline]
    pub fn next_request(&mut self) -> Option<Rank> {
        self.wanted.pop()
    }

    /// Whether a channel is to be requested.
    #[inline]
    pub fn have_requests(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes the list of busy peers, for a round of pushing.
    #[inline]
    pub fn take_busy(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.busy)
    }

    /// Gives back those that are still busy; what became busy meanwhile comes behind them.
    #[inline]
    pub fn put_busy(&mut self, stuck: Vec<Rank>) {
        let fresh = std::mem::replace(&mut self.busy, stuck);
        for peer in fresh {
            self.mark_busy(peer);
        }
    }

    /// Bytes of a piggyback in one frame.
    #[inline]
    pub fn piggyback_part(&self) -> usize {
        self.piggyback_part
    }

    /// Sets the bytes of a piggyback in one frame.
    pub fn set_piggyback_part(&mut self, bytes: usize) {
        self.piggyback_part = bytes.max(1);
    }

    /// A frame has left from a queue.
    #[inline]
    pub fn frame_left(&mut self) {
        self.left = true;
    }

    /// Whether a frame has left from a queue since the last question.
    #[inline]
    pub fn take_left(&mut self) -> bool {
        std::mem::take(&mut self.left)
    }

    /// Whether the program neither sends nor receives any more.
    pub fn are_leaving(&self) -> bool {
        self.leaving
    }

    /// Says whether the program neither sends nor receives any more.
    pub fn set_leaving(&mut self, leaving: bool) {
        self.leaving = leaving;
    }
}
