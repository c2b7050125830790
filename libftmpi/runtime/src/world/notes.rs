//! Notes of messages for `--trace-messages`: what leaves and what comes, by channel.
//!
//! Guarantees: without that option there are no [`Notes`], and nothing is noted. A message is noted
//! when it has left whole, and when its payload has landed; a duplicate is not.

use super::World;
use crate::call_trace::{self, MessageEnd};
use ftmpi_core::engine::{Frame, Token};
use ftmpi_core::usermem::UserPtr;
use ftmpi_protocols::protocol::{Marker, Stage};
use ftmpi_wire::call_trace::{Kind as End, MESSAGES, message};
use ftmpi_wire::header::Kind;
use ftmpi_wire::status::word;
use ftmpi_wire::{Header, Incarnation, Rank, Recovery};

/// What notes need to know.
#[derive(Debug)]
pub(super) struct Notes {
    me: Rank,
    /// At the other end of every channel is a channel memory.
    memories: bool,
    /// The protocol has markers.
    waves: bool,
    /// From a channel memory: the sender of the next message.
    placed: Rank,
}

/// The notes of one channel while it is looked at.
pub(super) struct ChannelNotes<'a> {
    notes: &'a mut Notes,
    /// Of the peer.
    incarnation: Incarnation,
    /// Where the frame that is landing is put, if it may be a marker.
    marker_at: Option<UserPtr>,
}

impl<'a> ChannelNotes<'a> {
    pub(super) fn new(notes: &'a mut Notes, incarnation: Incarnation) -> Self {
        Self { notes, incarnation, marker_at: None }
    }

    /// A frame begins to land.
    #[cold]
    pub(super) fn begins(&mut self, header: &Header, at: UserPtr, token: Token) {
        self.marker_at =
            (self.notes.may_be_marker(header) && token == Token::Control).then_some(at);
    }

    /// A frame has landed; the engine does not know yet.
    #[cold]
    pub(super) fn came(&mut self, from: Rank, header: &Header, token: Token) {
        let marker = self.marker_at.take().and_then(read_marker);
        match (header.kind, marker) {
            (Kind::Place, _) => self.notes.placed = Rank(header.tag as u32),
            (Kind::Eager | Kind::Data, _) if token != Token::Discard => {
                let held = if token == Token::Held { message::HELD } else { 0 };
                let from = if self.notes.memories { self.notes.placed } else { from };
                let end = self.notes.end(End::Received, (from, self.incarnation), header);
                call_trace::message_end(&MessageEnd { bits: held, ..end });
            }
            (_, Some(marker)) => {
                let end = self.notes.end(End::Received, (from, self.incarnation), header);
                call_trace::message_end(&of_marker(end, marker));
            }
            _ => {}
        }
    }
}

impl Notes {
    fn may_be_marker(&self, header: &Header) -> bool {
        self.waves && header.kind == Kind::Protocol && header.len == Marker::BYTES as u64
    }

    fn end(&self, kind: End, (peer, of): (Rank, Incarnation), header: &Header) -> MessageEnd {
        MessageEnd {
            kind,
            me: self.me.0,
            peer: peer.0,
            incarnation: if self.memories { message::NO_INCARNATION } else { of.0 },
            number: header.ssn.0,
            bytes: header.len,
            bits: 0,
        }
    }
}

impl World {
    /// The notes of an incarnation that begins, if somebody wants them.
    pub(super) fn begin_notes(&mut self) {
        let wanted = call_trace::is_on() && self.status.get(word::TRACE) & MESSAGES != 0;
        self.notes = self.job.as_ref().filter(|_| wanted).map(|job| Notes {
            me: self.me,
            memories: job.traits.memory,
            waves: matches!(job.traits.recovery, Recovery::Waves | Recovery::ClusterWaves),
            placed: self.me,
        });
    }

    /// A frame has left whole.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sent(&mut self, to: Rank, frame: &Frame) {
        let incarnation = self.peers.incarnation_of(to.index()).unwrap_or_default();
        let Some(notes) = &self.notes else { return };
        let end = notes.end(End::Sent, (to, incarnation), &frame.header);
        match frame.header.kind {
            Kind::Eager | Kind::Data => call_trace::message_end(&end),
            _ if notes.may_be_marker(&frame.header) => {
                if let Some(marker) = read_marker(frame.payload) {
                    call_trace::message_end(&of_marker(end, marker));
                }
            }
            _ => {}
        }
    }
}

fn read_marker(at: UserPtr) -> Option<Marker> {
    let mut bytes = [0; Marker::BYTES];
    at.read(&mut bytes);
    Marker::decode(&bytes)
}

fn of_marker(end: MessageEnd, marker: Marker) -> MessageEnd {
    let cut = if marker.stage == Stage::Cut { message::CUT } else { 0 };
    MessageEnd { number: marker.wave.0, bits: message::MARKER | cut, ..end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Ssn, Wave};

    fn notes(memories: bool) -> Notes {
        Notes { me: Rank(1), memories, waves: true, placed: Rank(1) }
    }

    fn header(kind: Kind, len: u64) -> Header {
        Header { kind, flags: 0, context: 0, tag: 0, len, ssn: Ssn(7) }
    }

    #[test]
    fn only_markers_are_read_as_markers() {
        let marker = Marker { wave: Wave(3), stage: Stage::Cut, count: 9 };
        let bytes = marker.encode();
        assert_eq!(read_marker(UserPtr::own(&bytes)), Some(marker));
        let of_waves = notes(false);
        assert!(of_waves.may_be_marker(&header(Kind::Protocol, 17)));
        assert!(!of_waves.may_be_marker(&header(Kind::Protocol, 16)));
        assert!(!of_waves.may_be_marker(&header(Kind::Eager, 17)));
        assert!(!Notes { waves: false, ..of_waves }.may_be_marker(&header(Kind::Protocol, 17)));
    }

    #[test]
    fn an_end_names_message_and_incarnation_and_a_memory_has_none() {
        let of = |memories| {
            notes(memories).end(End::Sent, (Rank(2), Incarnation(5)), &header(Kind::Eager, 8))
        };
        let end = of(false);
        assert_eq!((end.me, end.peer, end.incarnation, end.number, end.bytes), (1, 2, 5, 7, 8));
        assert_eq!(of(true).incarnation, message::NO_INCARNATION);
        let marker = of_marker(end, Marker { wave: Wave(3), stage: Stage::Begun, count: 0 });
        assert_eq!((marker.number, marker.bits), (3, message::MARKER));
    }
}
