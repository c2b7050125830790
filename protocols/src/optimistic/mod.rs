//! Optimistic message logging (o2p-2009; Damani and Garg 1996): determinants go to the event logger
//! at once, and no message waits.
//!
//! What is lost with a rank before it was logged takes with it every rank that has come to depend
//! on it. These *orphans* roll back.
//!
//! | module | what |
//! | --- | --- |
//! | [`vector`] | the intervals of others that this rank's state depends on |
//! | [`history`] | what every rank is known to have lost |
//! | [`recovery`] | the largest part of the log that depends on nothing lost |
//!
//! Guarantees:
//! - Before every message, and every other frame that reveals a match, the receiver gets the
//!   sender's dependencies that it must know. Before those it gets every loss that the sender knows
//!   of. A receiver can therefore always judge. A message from an orphan is refused. After any
//!   other message the receiver depends on what the sender depends on.
//! - A rank whose vector names a lost interval ends this incarnation at once
//!   ([`Command::RollBack`]). Other ranks go on and notice nothing.
//! - An image is taken, and output committed, only when every interval that the state depends on is
//!   stable. No image is therefore ever an orphan, and what only earlier images needed can go at
//!   once.
//!
//! *Why entries of stable intervals may be cleared* (o2p-2009 §3.3; Ropars and Morin 2007). An
//! interval whose event is in the log can be lost only with another interval that it depends on and
//! that is not in a log. Every rank that depends on the first interval depends on the second, whose
//! entry is never cleared.

pub mod history;
mod recovery;
pub mod vector;

use crate::causal::encoding::{Reader, put};
use crate::determinant_sender::DeterminantSender;
use crate::protocol::*;
use crate::recorder::Recorder;
use crate::tuning::{BATCH_RECORDS, OPTIMISTIC_GATHER};
use ftmpi_wire::{DecodeError, Determinant, EventNo, Header, Incarnation, Rank, Ssn};
use history::{Histories, Interval, Standing};
use recovery::Gathering;
use std::collections::VecDeque;
use vector::Vector;

/// `--tracking`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracking {
    /// Acknowledgements of the logger clear entries of the vector.
    #[default]
    O2p,
    /// Entries stay: what optimistic protocols before O2P sent along (o2p-2009 §4.3).
    Standard,
}

impl Tracking {
    /// By its name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "o2p" => Some(Self::O2p),
            "standard" => Some(Self::Standard),
            _ => None,
        }
    }
}

/// What the protocol is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Every reception becomes a determinant; else only what replay needs.
    pub all: bool,
    /// Values of the clock become determinants.
    pub clock: bool,
    /// What becomes of entries that are stable.
    pub tracking: Tracking,
}

/// What is known about one peer.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    /// Messages flow.
    joined: bool,
    /// What comes from it is refused: its state depends on what was lost.
    orphan: bool,
    /// Changes of the vector, and of the known losses, that were sent to the peer.
    sent_changes: u64,
    sent_losses: u64,
    /// Its incarnation, as far as known.
    incarnation: Incarnation,
    /// The last of its intervals that the logger called stable.
    stable: Interval,
}

/// The protocol `optimistic`.
#[derive(Debug)]
pub struct Optimistic {
    me: Rank,
    hooks: Hooks,
    tracking: Tracking,
    recorder: Recorder,
    determinant_sender: DeterminantSender,
    /// This incarnation, and the last event that it made itself.
    incarnation: Incarnation,
    last: Option<Interval>,
    events: u64,
    vector: Vector,
    /// Changes of the vector that are noted in the log.
    noted: u64,
    histories: Histories,
    peers: Vec<Peer>,
    /// The logger has been asked what is stable, and has not answered.
    asked: bool,
    gathering: Option<Gathering>,
    /// This incarnation is to end.
    orphan: bool,
    commands: VecDeque<Command>,
    counts: Counts,
}

impl Optimistic {
    /// For rank `me` of a job in which the ranks have these incarnations.
    #[must_use]
    pub fn new(settings: Settings, me: Rank, incarnations: &[Incarnation]) -> Self {
        let size = incarnations.len();
        Self {
            me,
            hooks: Hooks {
                log_payload: true,
                wildcard_matches: true,
                all_matches: settings.all,
                outcomes: true,
                clock: settings.clock,
                sends: true,
                arrivals: true,
                piggyback: true,
                logger: true,
                ..Hooks::default()
            },
            tracking: settings.tracking,
            recorder: Recorder::default(),
            determinant_sender: DeterminantSender::default(),
            incarnation: incarnations[me.index()],
            last: None,
            events: 0,
            vector: Vector::new(size),
            noted: 0,
            histories: Histories::new(size),
            peers: incarnations
                .iter()
                .map(|&incarnation| Peer { incarnation, ..Peer::default() })
                .collect(),
            asked: false,
            gathering: None,
            orphan: false,
            commands: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// The last event that this incarnation made itself.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.last
    }

    /// Notes in the log on which intervals the next event depends. A later incarnation repeats the
    /// event only if none of them is lost.
    #[cold]
    fn note_dependencies(&mut self) {
        for (rank, on) in self.vector.raised_since(self.noted) {
            if rank != self.me && !self.is_safe(rank, on) {
                let Interval { incarnation, place } = on;
                self.determinant_sender.push(Determinant::Depends { rank, incarnation, place });
            }
        }
    }

    /// Sends what waits, under the clock by which peers name the last of it.
    fn send(&mut self) {
        let before = self.commands.len();
        self.determinant_sender.send(&mut self.commands);
        self.name_clocks(before);
    }

    fn name_clocks(&mut self, from: usize) {
        for command in self.commands.range_mut(from..) {
            if let Command::Log { first, clock, records } = command {
                let place = EventNo(first.0 + records.len() as u64 - 1);
                *clock = Interval { incarnation: self.incarnation, place }.pack();
            }
        }
    }

    /// Sends at once, unless much is under way already: batches then grow by themselves.
    #[inline]
    fn send_in_turn(&mut self) {
        let waiting = self.determinant_sender.waiting();
        if waiting > 0 && (self.determinant_sender.under_way() == 0 || waiting >= OPTIMISTIC_GATHER)
        {
            self.send();
        }
    }

    fn ask(&mut self) {
        let before = self.commands.len();
        self.determinant_sender.ask(&mut self.commands);
        self.name_clocks(before);
    }

    /// Asks the logger what is stable, if this state depends on others and no acknowledgement is
    /// coming that would answer.
    fn ask_what_is_stable(&mut self) {
        if !self.asked
            && self.determinant_sender.under_way() == 0
            && self.determinant_sender.waiting() == 0
            && self.gathering.is_none()
            && !self.depends_on_nobody()
        {
            self.asked = true;
            self.ask();
        }
    }

    /// Is this interval of another rank known to be stable, or part of what the rank recovered?
    fn is_safe(&self, rank: Rank, interval: Interval) -> bool {
        is_safe(&self.peers, &self.histories, rank, interval)
    }

    /// Nothing that others may lose takes this state with it.
    fn depends_on_nobody(&self) -> bool {
        self.vector.entries().all(|(rank, on)| rank == self.me || self.is_safe(rank, on))
    }

    /// After news of what is stable of a rank, or of what it has recovered.
    fn clear_safe(&mut self) {
        if self.tracking == Tracking::O2p {
            let (me, peers, histories) = (self.me, &self.peers, &self.histories);
            self.vector.clear_where(|rank, on| rank != me && is_safe(peers, histories, rank, on));
        }
    }

    /// After news of what was lost.
    fn look_at_losses(&mut self) {
        let lost = self.vector.entries().find(|&(rank, on)| {
            rank != self.me && self.histories.standing(rank, on) == Standing::Lost
        });
        if let (Some((rank, on)), false) = (lost, self.orphan) {
            self.orphan = true;
            let text = format!(
                "it depends on event {} of incarnation {} of rank {rank}, which was lost",
                on.place, on.incarnation
            );
            self.commands.push_back(Command::RollBack(text));
        }
        self.clear_safe();
        self.decide_course();
    }

    fn take_piggyback(&mut self, from: Rank, piggyback: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader(piggyback);
        if self.histories.take_news(&mut reader)? {
            self.look_at_losses();
        }
        // All entries belong to one state: the state is an orphan, or all of them count.
        let mut entries = reader;
        while !entries.is_empty() {
            let (rank, on) = take_entry(&mut entries, self.peers.len())?;
            match self.histories.standing(rank, on) {
                Standing::Lost => self.peers[from.index()].orphan = true,
                Standing::Unknown => {
                    return Err(DecodeError::new(
                        "dependencies",
                        "they name an unknown incarnation",
                    ));
                }
                Standing::Present | Standing::Recovered => {}
            }
        }
        while !reader.is_empty() && !self.peers[from.index()].orphan {
            let (rank, on) = take_entry(&mut reader, self.peers.len())?;
            if rank != self.me && (self.tracking == Tracking::Standard || !self.is_safe(rank, on)) {
                self.vector.raise(rank, on);
            }
        }
        Ok(())
    }

    fn troubled(&mut self, from: Rank, error: DecodeError) {
        let me = self.me;
        self.commands.push_back(Command::GiveUp(format!(
            "rank {me} cannot go on with what rank {from} told it: {error}; its memory or the network \
             is damaged"
        )));
    }
}

fn take_entry(reader: &mut Reader, size: usize) -> Result<(Rank, Interval), DecodeError> {
    let rank = reader.rank(size)?;
    let incarnation = Incarnation(reader.small()?);
    Ok((rank, Interval { incarnation, place: EventNo(reader.number()?) }))
}

fn is_safe(peers: &[Peer], histories: &Histories, rank: Rank, interval: Interval) -> bool {
    // An interval that is stable in one incarnation may be lost and made again in another.
    let stable = peers[rank.index()].stable;
    (interval.incarnation == stable.incarnation && interval.place <= stable.place)
        || histories.standing(rank, interval) == Standing::Recovered
}

impl Records for Optimistic {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn record(&mut self, determinant: Determinant) {
        if self.vector.changes() != self.noted {
            self.note_dependencies();
        }
        self.determinant_sender.push(determinant);
        self.events += 1;
        let interval =
            Interval { incarnation: self.incarnation, place: self.determinant_sender.last() };
        self.last = Some(interval);
        self.vector.raise(self.me, interval);
        self.noted = self.vector.changes();
        if self.determinant_sender.waiting() >= BATCH_RECORDS {
            self.send();
        }
    }

    fn order(&mut self, command: Command) {
        self.commands.push_back(command);
    }
}

impl Protocol for Optimistic {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.begin_incarnation(last, incarnations);
    }

    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.peer_restarted(peer, incarnation);
    }

    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        self.histories.put_news(0, out);
        self.peers[peer.index()].sent_losses = self.histories.version();
    }

    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        self.joined_with(peer, said);
    }

    fn on_parted(&mut self, peer: Rank) {
        let Peer { incarnation, stable, .. } = self.peers[peer.index()];
        self.peers[peer.index()] = Peer { incarnation, stable, ..Peer::default() };
    }

    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.on_own_frame(from, payload);
    }

    fn counts(&self) -> Counts {
        Counts { held_events: self.vector.entries().count() as u64, ..self.counts }
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl Logging for Optimistic {
    #[inline]
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        self.record_fails();
        self.send_in_turn();
        SendVerdict::Go
    }

    /// While the state depends on what others may lose, no event of it can count as stable.
    fn last_event(&self) -> EventNo {
        if self.gathering.is_some() || !self.depends_on_nobody() {
            return EventNo(u64::MAX);
        }
        self.determinant_sender.last()
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.asked = false;
        self.determinant_sender.acknowledged(written, durable);
        if self.tracking == Tracking::O2p
            && let Some(own) = self.vector.get(self.me)
            && own.place <= self.determinant_sender.written()
        {
            self.vector.clear(self.me);
        }
        self.send_in_turn();
    }

    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        for &(rank, clock) in clocks {
            if rank != self.me
                && let Some(peer) = self.peers.get_mut(rank.index())
            {
                peer.stable = Interval::unpack(clock).max(peer.stable);
            }
        }
        self.clear_safe();
    }

    fn stable(&self) -> EventNo {
        self.determinant_sender.written()
    }

    fn flush(&mut self) {
        if self.gathering.is_none() {
            self.send();
        }
    }

    fn settle(&mut self) {
        if self.gathering.is_none() {
            self.record_fails();
            self.send();
            self.ask_what_is_stable();
        }
    }

    /// Asks again. A logger that lost its memory also learns the clocks of the events, for peers
    /// that wait until they are stable.
    fn on_logger_back(&mut self) {
        self.asked = false;
        if self.gathering.is_none() {
            self.determinant_sender.logger_back(&mut self.commands);
            self.name_clocks(0);
            self.ask();
        }
    }

    fn gathering(&self) -> bool {
        self.gathering.is_some()
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.log_was_read(last, recorded);
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        self.commands.push_back(Command::Prune { below: events.next() });
    }

    fn determinants(&self) -> u64 {
        self.events
    }
}

impl Piggybacking for Optimistic {
    #[inline]
    fn has_piggyback(&self, to: Rank) -> bool {
        let peer = &self.peers[to.index()];
        peer.sent_changes != self.vector.changes() || peer.sent_losses != self.histories.version()
    }

    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        let peer = &mut self.peers[to.index()];
        let sent_losses = std::mem::replace(&mut peer.sent_losses, self.histories.version());
        let told = std::mem::replace(&mut peer.sent_changes, self.vector.changes());
        self.histories.put_news(sent_losses, out);
        let mut entries = 0;
        for (rank, on) in self.vector.raised_since(told) {
            put(out, u64::from(rank.0));
            put(out, u64::from(on.incarnation.0));
            put(out, on.place.0);
            entries += 1;
        }
        if entries == 0 && sent_losses == self.histories.version() {
            return out.clear();
        }
        self.counts.piggyback_events += entries;
        self.counts.piggyback_bytes += (Header::BYTES + out.len()) as u64;
    }

    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        if let Err(error) = self.take_piggyback(from, piggyback) {
            self.troubled(from, error);
        }
    }

    fn on_arrival(&mut self, from: Rank, _ssn: Ssn) -> ArrivalVerdict {
        if self.refuses(from) { ArrivalVerdict::Orphan } else { ArrivalVerdict::Accept }
    }

    #[inline]
    fn refuses(&self, from: Rank) -> bool {
        self.peers[from.index()].orphan
    }
}

impl Waves for Optimistic {}

#[cfg(test)]
mod tests;
