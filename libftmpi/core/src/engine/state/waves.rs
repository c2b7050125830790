//! What coordinated waves need of a rank and of each of its channels.

use super::super::link::{Landing, Token};
use super::out::Out;
use crate::room;
use crate::usermem::UserPtr;
use ftmpi_wire::{Header, ImageNo, Rank};
use std::collections::VecDeque;

/// A frame that came from a peer behind its marker.
#[derive(Debug)]
pub(crate) struct HeldFrame {
    pub header: Header,
    pub payload: Vec<u8>,
    whole: bool,
}

/// What waves need of one channel.
#[derive(Debug, Default)]
pub(crate) struct WaveChannel {
    /// The first frame on the channel, before `Resume`.
    greeting: Option<Out>,
    /// Messages that have left whole for this peer.
    sent: u64,
    /// What comes is held.
    hold: bool,
    held: VecDeque<HeldFrame>,
    /// The log is part of the state that this incarnation began from, and is not sent again yet.
    owed: bool,
    /// The channel was lost while both ranks live: only a return to the last wave repairs it.
    broken: bool,
    /// There was a channel to this incarnation of the peer, or to an earlier one.
    met: bool,
}

impl WaveChannel {
    /// The channel to a peer that returns to the same wave as this rank.
    pub fn returning() -> Self {
        Self { owed: true, met: true, ..Self::default() }
    }

    /// There is a channel.
    pub fn meet(&mut self) {
        self.met = true;
    }

    /// Whether there ever was a channel.
    pub fn has_met(&self) -> bool {
        self.met
    }

    /// The frame that goes before `Resume`.
    pub fn greeting_mut(&mut self) -> Option<&mut Out> {
        self.greeting.as_mut()
    }

    /// Sets or removes the frame that goes before `Resume`.
    pub fn set_greeting(&mut self, greeting: Option<Out>) {
        self.greeting = greeting;
    }

    /// Messages that have left whole for this peer.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// A message has left whole.
    #[inline]
    pub fn message_left(&mut self) {
        self.sent += 1;
    }

    /// The peer has said what it has: the log is no longer owed, and so many messages count as
    /// sent.
    pub fn reconciled(&mut self, sent: u64) {
        (self.owed, self.sent) = (false, sent);
    }

    /// Whether the log is part of the state that this incarnation began from.
    pub fn is_owed(&self) -> bool {
        self.owed
    }

    /// Whether only a return to the last wave repairs the channel.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Only a return to the last wave repairs the channel from now on.
    pub fn break_off(&mut self) {
        self.broken = true;
    }

    /// The peer has ended in order. What came from it and is held stays.
    pub fn part(&mut self) {
        (self.broken, self.met, self.owed) = (false, false, false);
    }

    /// Whether what comes from this peer has to wait.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.hold || !self.held.is_empty()
    }

    /// Room for a frame that has to wait; `None`: there is no memory for it.
    pub fn hold_frame(&mut self, header: &Header) -> Option<Landing> {
        let mut payload = room::zeroed(header.len)?;
        let (at, capacity) = (UserPtr::own_mut(&mut payload), payload.len());
        self.held.push_back(HeldFrame { header: *header, payload, whole: false });
        Some(Landing { at, capacity, token: Token::Held })
    }

    /// The frame that waits is complete.
    pub fn held_landed(&mut self) {
        if let Some(last) = self.held.back_mut() {
            last.whole = true;
        }
    }

    /// The channel ended in the middle of a frame that waits.
    pub fn held_aborted(&mut self) {
        self.held.pop_back();
    }
}

/// What waves need of a rank.
#[derive(Debug)]
pub(crate) struct Waves {
    /// Messages are counted per channel.
    counted: bool,
    /// Nothing but markers and what has begun may leave.
    closed: bool,
    /// What leaves is kept.
    keeping: bool,
    /// Neither of both, and no news came: a message may be pushed at the call. Else each has to be
    /// seen when it leaves.
    open: bool,
    /// News came: calls ask whether what they do can end.
    watched: bool,
    /// Peers that are held or whose held frames are not all taken yet.
    holding: usize,
    /// Broken channels that are to be reported to the agent.
    lost: Vec<Rank>,
    /// The image waits only for own events to become stable.
    settling: bool,
    /// Since when an image is waited for, in seconds.
    since: Option<f64>,
    /// The last wave that is behind this rank.
    past: ImageNo,
}

impl Waves {
    pub fn new(counted: bool) -> Self {
        Self {
            counted,
            closed: false,
            keeping: false,
            open: true,
            watched: false,
            holding: 0,
            lost: Vec::new(),
            settling: false,
            since: None,
            past: ImageNo(0),
        }
    }

    /// The incarnation begins from an image of this wave.
    pub fn return_to(&mut self, image: ImageNo) {
        *self = Self { past: image, ..Self::new(true) };
    }

    /// Whether messages are counted per channel: the protocol takes its images in waves.
    #[inline]
    pub fn are_counted(&self) -> bool {
        self.counted
    }

    /// Whether messages may be pushed at the call.
    #[inline]
    pub fn are_open(&self) -> bool {
        self.open
    }

    /// Whether nothing but markers and what has begun may leave.
    #[inline]
    pub fn are_closed(&self) -> bool {
        self.closed
    }

    /// Whether what leaves is kept.
    #[inline]
    pub fn are_keeping(&self) -> bool {
        self.keeping
    }

    /// Whether messages may leave, as far as waves are concerned.
    pub fn are_quiet(&self) -> bool {
        !self.closed && !self.keeping
    }

    /// From here on calls ask whether what they do can end.
    pub fn look_closely(&mut self) {
        (self.watched, self.open) = (true, false);
    }

    /// Nothing but markers and what has begun may leave, or everything.
    pub fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
        self.open = self.are_quiet() && !self.watched;
    }

    /// What leaves is kept, or not.
    pub fn set_keeping(&mut self, keeping: bool) {
        self.keeping = keeping;
        self.open = self.are_quiet() && !self.watched;
    }

    /// Whether any peer is held.
    #[inline]
    pub fn are_holding(&self) -> bool {
        self.holding > 0
    }

    /// What comes on this channel is held.
    pub fn hold(&mut self, channel: &mut WaveChannel) {
        if !channel.is_held() {
            self.holding += 1;
        }
        channel.hold = true;
    }

    /// What comes on this channel is held no more; `true` if it was.
    pub fn release(&mut self, channel: &mut WaveChannel) -> bool {
        let was_held = std::mem::take(&mut channel.hold);
        if was_held && channel.held.is_empty() {
            self.holding -= 1;
        }
        was_held
    }

    /// The next frame that was held and may be taken: it is complete, and the channel is not held.
    #[inline]
    pub fn next_held(&mut self, channel: &mut WaveChannel) -> Option<HeldFrame> {
        if channel.hold || !channel.held.front()?.whole {
            return None;
        }
        let frame = channel.held.pop_front();
        if channel.held.is_empty() {
            self.holding -= 1;
        }
        frame
    }

    /// The channel to this rank is broken: that is to be reported to the agent.
    pub fn channel_lost(&mut self, rank: Rank) {
        self.lost.push(rank);
    }

    /// Whether a broken channel is to be reported to the agent.
    #[inline]
    pub fn have_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The next broken channel that is to be reported to the agent.
    #[inline]
    pub fn next_lost(&mut self) -> Option<Rank> {
        self.lost.pop()
    }

    /// Says whether the image waits only for own events to become stable.
    pub fn set_settling(&mut self, settling: bool) {
        self.settling = settling;
    }

    /// Whether the image waits only for own events to become stable.
    pub fn are_settling(&self) -> bool {
        self.settling
    }

    /// Whether an image is waited for.
    pub fn image_awaited(&self) -> bool {
        self.since.is_some()
    }

    /// Since when the image is waited for; `now` the first time.
    pub fn image_since(&mut self, now: f64) -> f64 {
        *self.since.get_or_insert(now)
    }

    /// The image is waited for no more; gives since when it was.
    pub fn take_since(&mut self) -> Option<f64> {
        self.since.take()
    }

    /// The image was taken, or will not be.
    pub fn image_over(&mut self, image: ImageNo) {
        self.past = self.past.max(image);
        self.since = None;
    }

    /// The last wave that is behind this rank.
    pub fn past(&self) -> ImageNo {
        self.past
    }
}
