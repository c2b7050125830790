//! Event rings in the world. What a rank stores in the ring of a logger on its host counts as
//! written at once, and outlives rank and logger. Only a loss of power takes it.

use super::{Event, World};
use crate::mutants::Mutant;
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::{EventNo, Incarnation, Rank};

/// The ring of one rank, and what keeps it from being used.
#[derive(Debug, Default)]
pub(super) struct Ring {
    frames: Vec<(ConnId, Incarnation, Frame)>,
    /// The last event that went another way, and is not acknowledged.
    on_socket: Option<EventNo>,
}

/// Number of the last event of a frame that holds events.
fn last_of(frame: &Frame) -> Option<EventNo> {
    match frame {
        Frame::Append { first, records, .. } if !records.is_empty() => {
            Some(EventNo(first.0 + records.len() as u64 - 1))
        }
        _ => None,
    }
}

impl World {
    /// Puts events into the ring; `false`: they must go another way.
    pub(super) fn store_near(&mut self, rank: usize, conn: ConnId, frame: &Frame) -> bool {
        let Some(last) = last_of(frame).filter(|_| self.setup.near) else { return false };
        // Now and then it is full, or sealed for the moment of a round.
        let usable =
            self.logger.is_open(conn) && self.rings[rank].on_socket.is_none() && self.below(12) > 0;
        if !usable {
            self.rings[rank].on_socket = Some(last);
            return false;
        }
        let incarnation = self.processes[rank].incarnation;
        self.note(|| format!("rank {rank} stores up to event {last} in its ring"));
        self.rings[rank].frames.push((conn, incarnation, frame.clone()));
        let delay = self.below(400);
        self.after(delay, Event::LooksIntoRing(rank));
        true
    }

    /// A rank hears an acknowledgement.
    pub(super) fn acknowledged(&mut self, rank: usize, written: EventNo) {
        let ring = &mut self.rings[rank];
        ring.on_socket = ring.on_socket.filter(|last| *last > written);
    }

    /// A connection ended: nothing is on its way any more.
    pub(super) fn leaves_ring(&mut self, rank: usize) {
        self.rings[rank].on_socket = None;
    }

    /// The last event that is in a ring.
    pub(super) fn in_ring(&self, rank: usize) -> EventNo {
        let frames = self.rings[rank].frames.iter();
        frames.filter_map(|(.., frame)| last_of(frame)).max().unwrap_or_default()
    }

    /// The logger writes what is in the ring into its log.
    pub(super) fn empty_ring(&mut self, rank: usize) {
        let frames = std::mem::take(&mut self.rings[rank].frames);
        if frames.is_empty() {
            return;
        }
        self.note(|| format!("the logger empties the ring of rank {rank}"));
        let mut own: Option<(ConnId, Incarnation)> = None;
        for (conn, incarnation, frame) in frames {
            let conn = if self.logger.is_open(conn) {
                conn
            } else if let Some((conn, _)) = own.filter(|(_, of)| *of == incarnation) {
                conn
            } else {
                // Found by a logger that began again: a connection of its own carries it over.
                let (conn, answers) = self.logger.connect(Rank(rank as u32), incarnation);
                self.deliver_log(answers);
                own = Some((conn, incarnation));
                conn
            };
            let answers = self.logger.frame(conn, frame);
            self.deliver_log(answers);
        }
        let answers = self.logger.write();
        self.deliver_log(answers);
        if let Some((conn, _)) = own {
            let answers = self.logger.lost(conn);
            self.deliver_log(answers);
        }
        self.spread_clocks();
    }

    /// Before the connection of a rank ends, or another one is welcomed.
    pub(super) fn retire_ring(&mut self, rank: usize) {
        if self.setup.mutant == Some(Mutant::RingForgotten) {
            self.rings[rank].frames.clear();
        }
        self.empty_ring(rank);
    }

    /// All rings of one logger at one instant, before a round begins.
    pub(super) fn empty_rings(&mut self, logger: Option<usize>) {
        if self.setup.mutant == Some(Mutant::RoundWithoutRings) {
            return;
        }
        for rank in 0..self.rings.len() {
            if logger.is_none_or(|logger| self.logger.serves(logger, rank)) {
                self.empty_ring(rank);
            }
        }
    }

    /// A loss of power.
    pub(super) fn lose_rings(&mut self) {
        self.rings.iter_mut().for_each(|ring| *ring = Ring::default());
    }
}
