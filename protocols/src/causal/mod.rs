//! Causal message logging (event-logger-2005; mpich-v-2006 §3.4): no message waits.
//!
//! A determinant that is not known to be stable travels before every message whose receiver could
//! come to depend on it. Every rank that depends on an event can therefore send it to a later
//! incarnation of the event's creator.
//!
//! | module | what |
//! | --- | --- |
//! | [`store`] | the events of all ranks that are not known to be stable |
//! | [`technique`], [`vcausal`], [`manetho`], [`logon`] | what travels with a message |
//! | [`recovery`] | a new incarnation gathers its events from the logger and from all peers |
//! | [`encoding`] | events as bytes |
//!
//! *With an event logger* events also go there, in the background. Its acknowledgements say up to
//! where the events of every rank are stable; stable events are forgotten everywhere. The log of a
//! rank also holds copies of foreign events that its own events may depend on and that are not
//! known to be stable ([`Determinant::Witness`]). The logs together therefore never hold an event
//! without its past, and all ranks may die at once.
//!
//! *Without a logger* an event is needed until the oldest image that its creator may restart from
//! was taken after it. The creator then tells the other ranks. An image contains what its rank
//! knows, so no image depends on an event that neither the image nor a log holds.

pub mod encoding;
pub mod logon;
pub mod manetho;
mod recovery;
pub mod store;
pub mod technique;
pub mod vcausal;

use crate::determinant_sender::{Cursor, DeterminantSender, VOID};
use crate::protocol::*;
use crate::recorder::Recorder;
use crate::tuning::{BATCH_RECORDS, CAUSAL_GATHER, HELD_UNASKED};
use encoding::Reader;
use ftmpi_wire::{DecodeError, Determinant, EventNo, Header, Incarnation, Rank, Ssn};
use recovery::{Gathering, Owed};
use std::collections::{BTreeMap, VecDeque};
use store::{Event, Store};
use technique::{Technique, Trouble};

/// `--piggyback`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Piggyback {
    /// [`vcausal`]
    #[default]
    Vcausal,
    /// [`manetho`]
    Manetho,
    /// [`logon`]
    Logon,
}

impl Piggyback {
    /// By its name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "vcausal" => Some(Self::Vcausal),
            "manetho" => Some(Self::Manetho),
            "logon" => Some(Self::Logon),
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
    /// What travels with a message.
    pub piggyback: Piggyback,
    /// Events go to a logger.
    pub logger: bool,
    /// Piggybacks also carry what is known to be stable. With several loggers each logger knows its
    /// own ranks only (event-logger-2005 §VI, the array carried by the nodes).
    pub carry: bool,
}

/// The protocol `causal`.
#[derive(Debug)]
pub struct Causal {
    me: Rank,
    hooks: Hooks,
    recorder: Recorder,
    store: Store,
    technique: Box<dyn Technique>,
    /// The way to the logger, if there is one.
    determinant_sender: Option<DeterminantSender>,
    /// Own events that were given to the determinant_sender.
    logged: EventNo,
    /// Per rank: our log holds copies of its events up to this one, as far as they were not stable.
    witnessed: Vec<EventNo>,
    /// The logger has been asked what is stable, and has not answered.
    asked: bool,
    /// Version of the store when a piggyback for each rank was asked for last.
    sent_version: Vec<u64>,
    /// Known stable clocks travel with events.
    carry: bool,
    /// Per rank: when what is stable of it changed last, counted in changes.
    changed: Vec<u64>,
    /// Changes so far, and how many of them each peer has.
    changes: u64,
    carried: Vec<u64>,
    /// The incarnation of each rank, as far as known.
    incarnations: Vec<Incarnation>,
    /// Peers that are not being recovered, by their own messages.
    complete: Vec<bool>,
    /// Peers that are being recovered and have not been answered.
    awaited: Vec<bool>,
    /// Peers to which messages flow.
    joined: Vec<bool>,
    gathering: Option<Gathering>,
    /// Which attempt to gather this is.
    round: u32,
    /// Questions of peers that cannot be answered yet.
    owed: Vec<Owed>,
    /// Beginnings of answers of which more is to come.
    parts: BTreeMap<Rank, Vec<u8>>,
    commands: VecDeque<Command>,
    counts: Counts,
}

impl Causal {
    /// For rank `me` of a job in which the ranks have these incarnations.
    #[must_use]
    pub fn new(settings: Settings, me: Rank, incarnations: &[Incarnation]) -> Self {
        let size = incarnations.len();
        let technique: Box<dyn Technique> = match settings.piggyback {
            Piggyback::Vcausal => Box::new(vcausal::Vcausal::new(size)),
            Piggyback::Manetho => Box::new(manetho::Manetho::new(size)),
            Piggyback::Logon => Box::new(logon::Logon::new(size)),
        };
        Self::with_technique(settings, technique, me, incarnations)
    }

    /// With a technique of one's own.
    #[must_use]
    pub fn with_technique(
        settings: Settings,
        technique: Box<dyn Technique>,
        me: Rank,
        incarnations: &[Incarnation],
    ) -> Self {
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
                piggyback: true,
                logger: settings.logger,
                ..Hooks::default()
            },
            recorder: Recorder::default(),
            store: Store::new(size),
            technique,
            determinant_sender: settings.logger.then(DeterminantSender::default),
            logged: EventNo(0),
            witnessed: vec![EventNo(0); size],
            asked: false,
            sent_version: vec![0; size],
            carry: settings.carry,
            changed: vec![0; size],
            changes: 0,
            carried: vec![0; size],
            incarnations: incarnations.to_vec(),
            complete: vec![true; size],
            awaited: vec![false; size],
            joined: vec![false; size],
            gathering: None,
            round: 0,
            owed: Vec::new(),
            parts: BTreeMap::new(),
            commands: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Own events that are not on their way to the logger.
    #[inline]
    fn unsent(&self) -> u64 {
        self.store.last(self.me).0 - self.logged.0
    }

    /// Puts own events on their way to the logger, behind copies of what they may depend on.
    fn send(&mut self) {
        if self.store.last(self.me) > self.logged {
            self.send_all_held();
        }
    }

    /// Sends all held events that are not in the log yet to the logger. What this state depends on
    /// is among them, or is stable.
    fn send_all_held(&mut self) {
        let Some(determinant_sender) = &mut self.determinant_sender else { return };
        if self.gathering.is_some() {
            return;
        }
        for &creator in self.store.active() {
            if creator == self.me {
                continue;
            }
            let witnessed = &mut self.witnessed[creator.index()];
            let (first, events) = self.store.after(creator, *witnessed);
            if events.len() > 0 {
                let count = events.len() as u32;
                determinant_sender.push(Determinant::Witness { creator, count, first });
                events.for_each(|event| determinant_sender.push(event.determinant));
                *witnessed = self.store.last(creator);
            }
        }
        let (_, events) = self.store.after(self.me, self.logged);
        events.for_each(|event| determinant_sender.push(event.determinant));
        self.logged = self.store.last(self.me);
        determinant_sender.send(&mut self.commands);
    }

    /// One batch is under way at a time, unless much has gathered: under load batches grow by
    /// themselves, without load an event goes at once.
    #[inline]
    fn send_in_turn(&mut self) {
        let waiting = self.unsent();
        if waiting > 0
            && let Some(determinant_sender) = &self.determinant_sender
            && (determinant_sender.under_way() == 0 || waiting >= CAUSAL_GATHER)
        {
            self.send();
        }
    }

    /// Events of others are being carried along: are they stable by now?
    fn ask_what_is_stable(&mut self) {
        if let Some(determinant_sender) = &mut self.determinant_sender
            && !self.asked
            && determinant_sender.under_way() == 0
            && determinant_sender.waiting() == 0
            && self.gathering.is_none()
            && self.store.active().iter().any(|&rank| rank != self.me)
        {
            self.asked = true;
            determinant_sender.ask(&mut self.commands);
        }
    }

    fn note_stable(&mut self, rank: Rank, clock: EventNo) {
        if clock > self.store.stable(rank) {
            self.store.set_stable(rank, clock);
            self.changes += 1;
            self.changed[rank.index()] = self.changes;
        }
    }

    /// Appends the number of clocks that follow, and the clocks that changed since the last
    /// piggyback for this peer.
    fn put_changes(&self, to: Rank, out: &mut Vec<u8>) {
        let told = self.carried[to.index()];
        if !self.carry || told == self.changes {
            return out.push(0);
        }
        let news = || self.changed.iter().enumerate().filter(|&(_, &changed)| changed > told);
        encoding::put(out, news().count() as u64);
        for (index, _) in news() {
            encoding::put(out, index as u64);
            encoding::put(out, self.store.stable(Rank(index as u32)).0);
        }
    }

    fn take_changes(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
        for _ in 0..reader.number()? {
            let rank = reader.rank(self.size())?;
            let clock = reader.last_event()?;
            if rank != self.me {
                self.note_stable(rank, clock);
            }
        }
        Ok(())
    }

    fn give_up(&mut self, why: String) {
        self.commands.push_back(Command::GiveUp(why));
    }

    fn troubled(&mut self, from: Rank, trouble: &Trouble) {
        let me = self.me;
        self.give_up(format!(
            "rank {me} cannot go on with what rank {from} told it: {trouble}; its memory or the \
             network is damaged, or a replay took another course than the first incarnation"
        ));
    }

    /// Takes over the log of this rank behind an image: own events, and copies of others' events.
    fn read_log(&mut self, records: &[Determinant]) -> Vec<Determinant> {
        let mut own = Vec::new();
        let mut cursor = Cursor::default();
        let mut creator = (self.me, EventNo(0));
        for record in records {
            let foreign = cursor.foreign > 0;
            cursor.pass(record);
            match *record {
                _ if foreign => {
                    let (rank, number) = creator;
                    creator.1 = number.next();
                    if *record != VOID && rank != self.me && rank.index() < self.store.size() {
                        let event = Event { determinant: *record, seen: EventNo(0) };
                        match self.store.add(rank, number, event) {
                            Ok(true) => self.technique.added(rank, number),
                            Ok(false) => {}
                            Err(conflict) => self.troubled(self.me, &conflict.into()),
                        }
                        let witnessed = &mut self.witnessed[rank.index()];
                        *witnessed = number.max(*witnessed);
                    }
                }
                Determinant::Witness { creator: rank, first, .. } => creator = (rank, first),
                own_event => own.push(own_event),
            }
        }
        own
    }
}

impl Records for Causal {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn record(&mut self, determinant: Determinant) {
        let seen = match determinant {
            Determinant::Match { source, .. } if source != self.me => self.store.last_held(source),
            _ => EventNo(0),
        };
        let number = self.store.push(self.me, Event { determinant, seen });
        self.technique.added(self.me, number);
        if number.0 - self.logged.0 >= BATCH_RECORDS {
            self.send();
        }
    }

    fn order(&mut self, command: Command) {
        self.commands.push_back(command);
    }
}

impl Protocol for Causal {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.begin_incarnation(last, incarnations);
    }

    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.peer_restarted(peer, incarnation);
    }

    fn resume(&mut self, _peer: Rank, out: &mut Vec<u8>) {
        self.put_greeting(out);
    }

    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        self.joined_with(peer, said);
    }

    fn on_parted(&mut self, peer: Rank) {
        self.joined[peer.index()] = false;
        self.owed.retain(|owed| owed.by != peer);
        self.parts.remove(&peer);
    }

    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.read_or_give_up(from, payload);
    }

    fn counts(&self) -> Counts {
        Counts { held_events: self.store.held(), ..self.counts }
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl Logging for Causal {
    #[inline]
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        self.record_fails();
        self.send_in_turn();
        SendVerdict::Go
    }

    /// Without a logger the number of the own event, else the place in the log. Events without a
    /// place count as behind everything that can be stable.
    fn last_event(&self) -> EventNo {
        match &self.determinant_sender {
            None => self.store.last(self.me),
            Some(_) if self.unsent() > 0 => EventNo(u64::MAX),
            Some(determinant_sender) => determinant_sender.last(),
        }
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        let Some(determinant_sender) = &mut self.determinant_sender else { return };
        self.asked = false;
        determinant_sender.acknowledged(written, durable);
        let clock = determinant_sender.stable_clock();
        self.note_stable(self.me, clock);
        self.send_in_turn();
    }

    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        for &(rank, clock) in clocks {
            if rank != self.me && rank.index() < self.store.size() {
                self.note_stable(rank, clock);
            }
        }
    }

    fn stable(&self) -> EventNo {
        self.determinant_sender.as_ref().map_or(EventNo(u64::MAX), DeterminantSender::written)
    }

    fn flush(&mut self) {
        self.send();
    }

    fn settle(&mut self) {
        self.record_fails();
        self.send();
    }

    /// A message from a named source makes no own event, and yet what follows depends on its
    /// sender's events. Those that are not stable are held here.
    fn commit(&mut self) {
        self.record_fails();
        self.send_all_held();
    }

    fn on_logger_back(&mut self) {
        self.asked = false;
        if let Some(determinant_sender) = &mut self.determinant_sender {
            determinant_sender.logger_back(&mut self.commands);
        }
    }

    fn gathering(&self) -> bool {
        self.gathering.is_some()
    }

    fn is_awaited(&self) -> bool {
        self.awaited.contains(&true)
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.log_was_read(last, &recorded);
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        if self.determinant_sender.is_some() {
            self.commands.push_back(Command::Prune { below: events.next() });
        } else {
            self.store.set_stable(self.me, events);
            self.send_needed_no_more_to_all();
        }
    }

    fn determinants(&self) -> u64 {
        self.store.last(self.me).0
    }
}

impl Piggybacking for Causal {
    #[inline]
    fn has_piggyback(&self, to: Rank) -> bool {
        self.sent_version[to.index()] != self.store.version()
    }

    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.sent_version[to.index()] = self.store.version();
        self.put_changes(to, out);
        let events = self.technique.build(&self.store, to, self.complete[to.index()], out);
        if events == 0 {
            out.clear();
        } else {
            self.carried[to.index()] = self.changes;
            self.counts.piggyback_events += events;
            self.counts.piggyback_bytes += (Header::BYTES + out.len()) as u64;
            self.ask_what_is_stable();
        }
    }

    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        let mut reader = Reader(piggyback);
        let outcome = self
            .take_changes(&mut reader)
            .map_err(Trouble::from)
            .and_then(|()| self.technique.merge(&mut self.store, from, reader));
        if let Err(trouble) = outcome {
            self.troubled(from, &trouble);
        }
        // A rank that only receives would hold them for ever. It hears what is stable when it asks.
        if self.store.held() > HELD_UNASKED {
            self.ask_what_is_stable();
        }
    }
}

impl Waves for Causal {}

#[cfg(test)]
mod tests;
