//! Where every peer is a channel memory (`ftmpi_protocols::channel_memory`): what comes to a rank comes
//! from its own memory, in one stream whose order is stored.
//!
//! Guarantees: the stream goes on exactly where this state of the rank stands, whatever breaks or is
//! restored; a hole in it ends the job with one line; acknowledgements of synchronous sends reach
//! their memory at least once, and one that comes before a replay has sent the message again is kept.

use super::{Landing, Out, State, Token};
use ftmpi_wire::header::{Kind, Received as WireReceived};
use ftmpi_wire::{Header, Rank, Ssn, control};
use std::collections::BTreeSet;

/// Where a rank stands in the stream out of its memory.
#[derive(Debug, Default)]
pub(super) struct ChannelMemory {
    /// Place of the last record that landed whole.
    pub place: u64,
    /// Sender and place of the record that comes next, or is landing.
    next: Option<(Rank, u64)>,
    /// Records up to here are needed by no image.
    pub cut: u64,
    /// Acknowledgements of matches that their memory has not confirmed.
    unconfirmed: BTreeSet<(Rank, Ssn)>,
    /// Acknowledgements of messages that are yet to be sent again.
    early: BTreeSet<(Rank, Ssn)>,
    /// A message whose way into its memory is being measured, and since when.
    measured: Option<(Rank, Ssn, u64)>,
}

fn is_record(header: &Header) -> bool {
    matches!(header.kind, Kind::Eager | Kind::SyncAck)
}

impl ChannelMemory {
    /// A message to this memory is on its way: measures one at a time.
    #[inline]
    pub fn measure_put(&mut self, to: Rank, ssn: Ssn, now_ns: fn() -> u64) {
        if self.measured.is_none() {
            self.measured = Some((to, ssn, now_ns()));
        }
    }
}

impl State {
    /// A frame begins; `end`: whose memory it comes from.
    pub(super) fn arrive_from_memory(&mut self, end: Rank, header: &Header) -> Landing {
        match header.kind {
            Kind::Place => {
                self.announced_place(end, Rank(header.tag as u32), header.ssn.0);
                self.discard()
            }
            Kind::Eager | Kind::SyncAck => {
                match self.channel_memory.next.filter(|_| end == self.me) {
                    Some((source, _)) => self.take_frame(source, header),
                    None => {
                        // The memory confirms that it has our acknowledgement.
                        self.channel_memory.unconfirmed.remove(&(end, header.ssn));
                        self.discard()
                    }
                }
            }
            _ => self.take_frame(end, header),
        }
    }

    fn announced_place(&mut self, end: Rank, source: Rank, place: u64) {
        let (me, expected) = (self.me, self.channel_memory.place + 1);
        if end != me || source.index() >= self.peers.len() {
            self.failure = Some(format!("rank {me}: the memory of rank {end} makes no sense"));
        } else if place != expected {
            self.failure = Some(format!(
                "rank {me} cannot be recovered: its channel memory has what was sent to it only from \
                 message {place} on, and {expected} is needed: the memory's files are lost or \
                 damaged, or the images that they were cut for"
            ));
        } else {
            self.channel_memory.next = Some((source, place));
        }
    }

    /// A frame has landed whole.
    #[inline]
    pub(super) fn landed_from_memory(&mut self, end: Rank, header: &Header, token: Token) {
        if end == self.me
            && is_record(header)
            && let Some((source, place)) = self.channel_memory.next.take()
        {
            self.channel_memory.place = place;
            return self.finish_landing(source, header, token);
        }
        self.finish_landing(end, header, token);
    }

    /// Who sent what was landing when the connection broke; the memory will give it again.
    pub(super) fn source_of_broken(&mut self, end: Rank, header: &Header) -> Rank {
        if end == self.me && is_record(header) {
            return self.channel_memory.next.take().map_or(end, |(source, _)| source);
        }
        end
    }

    /// What we tell a memory first: to our own, where we stand.
    pub(super) fn resume_for_memory(&mut self, of: Rank) -> Vec<u8> {
        if of != self.me {
            return control::encode(&WireReceived::default());
        }
        self.channel_memory.next = None;
        let (contiguous, replies) = (Ssn(self.channel_memory.place), Ssn(self.channel_memory.cut));
        control::encode(&WireReceived { contiguous, replies, beyond: Vec::new() })
    }

    /// No image needs what lies before.
    pub(super) fn cut_channel_memory(&mut self, place: u64) {
        if place > self.channel_memory.cut {
            self.channel_memory.cut = place;
            let wire = WireReceived { contiguous: Ssn(place), ..WireReceived::default() };
            let me = self.me;
            self.control_frame(me, Kind::LogCut, Ssn(0), control::encode(&wire));
        }
    }

    /// An acknowledgement goes to this rank's memory: kept until that has confirmed it.
    pub(super) fn keep_acknowledgement(&mut self, to: Rank, ssn: Ssn) {
        self.channel_memory.unconfirmed.insert((to, ssn));
    }

    /// A channel to this rank's memory is there again: what it may not have of our acknowledgements.
    pub(super) fn repeat_acknowledgements(&mut self, to: Rank) {
        let range = (to, Ssn(0))..=(to, Ssn(u64::MAX));
        let missing: Vec<Ssn> =
            self.channel_memory.unconfirmed.range(range).map(|entry| entry.1).collect();
        let is_ack = |out: &Out| out.frame.header.kind == Kind::SyncAck && !out.frame.begun;
        self.peers[to.index()].queue.retain(|out| !is_ack(out));
        for ssn in missing {
            self.control_frame(to, Kind::SyncAck, ssn, Vec::new());
        }
    }

    /// An acknowledgement of something that we are yet to send, in this life.
    pub(super) fn keep_early(&mut self, by: Rank, ssn: Ssn) {
        if ssn > self.peers[by.index()].last_ssn {
            self.channel_memory.early.insert((by, ssn));
        }
    }

    /// Was this synchronous message acknowledged before it was sent again?
    pub(super) fn was_early(&mut self, to: Rank, ssn: Ssn) -> bool {
        self.channel_memory.early.remove(&(to, ssn))
    }

    /// A memory says what it has.
    pub(super) fn put_confirmed(&mut self, by: Rank) {
        if let Some((to, ssn, since)) = self.channel_memory.measured
            && to == by
            && self.peers[by.index()].log.cut_at().contains(ssn)
        {
            self.channel_memory.measured = None;
            self.counters.puts_measured += 1;
            self.counters.put_ns += (self.now_ns)().saturating_sub(since);
        }
    }

    /// What was being measured is lost with its channel.
    pub(super) fn forget_measure(&mut self) {
        self.channel_memory.measured = None;
    }
}
