//! Where every peer is a channel memory (`ftmpi_protocols::channel_memory`): what comes to a rank
//! comes from its own memory, in one stream whose order is stored.
//!
//! Guarantees: the stream goes on exactly where this state of the rank stands, also after a broken
//! connection or a restore. A hole in it ends the job with one line. Acknowledgements of
//! synchronous sends reach their memory at least once, and one that comes before a replay has sent
//! the message again is kept.

use super::link::{Landing, Token};
use super::state::State;
use super::state::out::Out;
use ftmpi_wire::header::{Kind, Received as WireReceived};
use ftmpi_wire::{Header, Rank, Ssn, control};

fn is_record(header: &Header) -> bool {
    matches!(header.kind, Kind::Eager | Kind::SyncAck)
}

impl State {
    /// A frame begins; `end`: whose memory it comes from.
    pub(super) fn arrive_from_memory(&mut self, end: Rank, header: &Header) -> Landing {
        match header.kind {
            Kind::Place => {
                self.announced_place(end, Rank(header.tag as u32), header.ssn.0);
                self.landings.discard()
            }
            Kind::Eager | Kind::SyncAck => {
                match self.memory_stream.next_source().filter(|_| end == self.me) {
                    Some(source) => self.take_frame(source, header),
                    None => {
                        self.memory_stream.confirmed(end, header.ssn);
                        self.landings.discard()
                    }
                }
            }
            _ => self.take_frame(end, header),
        }
    }

    fn announced_place(&mut self, end: Rank, source: Rank, place: u64) {
        let (me, expected) = (self.me, self.memory_stream.place() + 1);
        if end != me || source.index() >= self.channels.count() {
            self.recovery.fail(format!(
                "rank {me}: the channel memory of rank {end} announced a message that cannot be: \
                 the memory or the network is damaged"
            ));
        } else if place != expected {
            self.recovery.fail(format!(
                "rank {me} cannot be recovered: its channel memory has what was sent to it only from \
                 message {place} on, and {expected} is needed: the memory's files are lost or \
                 damaged, or the images that they were cut for"
            ));
        } else {
            self.memory_stream.expect(source, place);
        }
    }

    /// A frame has landed whole.
    #[inline]
    pub(super) fn landed_from_memory(&mut self, end: Rank, header: &Header, token: Token) {
        if end == self.me
            && is_record(header)
            && let Some(source) = self.memory_stream.landed()
        {
            return self.finish_landing(source, header, token);
        }
        self.finish_landing(end, header, token);
    }

    /// Who sent what was landing when the connection broke; the memory will send it again.
    pub(super) fn source_of_broken(&mut self, end: Rank, header: &Header) -> Rank {
        if end == self.me && is_record(header) {
            return self.memory_stream.broke_off().unwrap_or(end);
        }
        end
    }

    /// The `Resume` for a memory. To the own memory: where we stand in its stream.
    pub(super) fn resume_for_memory(&mut self, of: Rank) -> Vec<u8> {
        if of != self.me {
            return control::encode(&WireReceived::default());
        }
        self.memory_stream.broke_off();
        let stream = &self.memory_stream;
        let (contiguous, replies) = (Ssn(stream.place()), Ssn(stream.cut()));
        control::encode(&WireReceived { contiguous, replies, beyond: Vec::new() })
    }

    /// No image needs what lies before this place.
    pub(super) fn cut_channel_memory(&mut self, place: u64) {
        if self.memory_stream.cut_to(place) {
            let wire = WireReceived { contiguous: Ssn(place), ..WireReceived::default() };
            let me = self.me;
            self.control_frame(me, Kind::LogCut, Ssn(0), control::encode(&wire));
        }
    }

    /// A channel to this rank's memory is there again: sends the acknowledgements that the memory
    /// may not have.
    pub(super) fn repeat_acknowledgements(&mut self, to: Rank) {
        let is_ack = |out: &Out| out.frame.header.kind == Kind::SyncAck && !out.frame.begun;
        self.channels.peer_mut(to).queue.retain(|out| !is_ack(out));
        for ssn in self.memory_stream.unconfirmed_to(to) {
            self.control_frame(to, Kind::SyncAck, ssn, Vec::new());
        }
    }

    /// An acknowledgement of a message that this incarnation has yet to send.
    pub(super) fn keep_early(&mut self, by: Rank, ssn: Ssn) {
        if ssn > self.channels.peer(by).last_ssn {
            self.memory_stream.keep_early(by, ssn);
        }
    }

    /// A memory has stored messages: ends the measurement of one that is among them.
    pub(super) fn put_confirmed(&mut self, by: Rank) {
        let log = &self.channels.peer(by).log;
        if let Some(since) = self.memory_stream.put_confirmed(by, |ssn| log.cut_at().contains(ssn))
        {
            self.counters.puts_measured += 1;
            self.counters.put_ns += (self.now_ns)().saturating_sub(since);
        }
    }
}
