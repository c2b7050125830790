//! A new incarnation finds out how far it may repeat its log, and tells every rank what is lost.
//!
//! *How far.* The log notes before an event on which intervals of others the event depends that
//! were not known to be stable ([`Determinant::Depends`]). The incarnation repeats the log up to
//! the first note of a lost interval. The rank of an interval reports whether it is lost. If that
//! rank is being recovered too and has not reported yet, the incarnation waits for it.
//!
//! The incarnation reports its own losses *before* it waits, on the assumption that nothing else is
//! lost. It reports again if that turns out to be wrong. Ranks that wait for each other therefore
//! come to an end. They reach the greatest part of all logs in which nothing depends on a lost
//! event, because every cut was forced by a loss. An incarnation that hears of a loss only after it
//! has begun is an orphan like any other.
//!
//! *Who hears it.* Every rank: the incarnation opens channels to all, and the first message on
//! every channel contains all known losses.
//!
//! *The log.* Nothing is ever removed from the log. The first record of a new incarnation says
//! after which place it goes on ([`Determinant::Begins`]); what lies between is void. The log is
//! therefore also the record of all incarnations of its rank.

use super::history::{Incarnations, Interval, Standing};
use super::{Optimistic, Peer};
use crate::causal::encoding::Reader;
use crate::protocol::{Command, Records};
use ftmpi_wire::{DecodeError, Determinant, EventNo, Incarnation, Rank};

/// Kind of the only frame among the ranks: what was lost.
const LOSSES: u8 = 1;

/// An incarnation that does not know yet how far it may repeat its log.
#[derive(Debug)]
pub(super) struct Gathering {
    /// Place of the last record that the image has behind it.
    base: EventNo,
    /// The rank's incarnations as the image knows them.
    before: Incarnations,
    /// The log behind the image, once it was read.
    log: Option<Vec<Determinant>>,
}

/// What a log allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Course {
    /// Records to repeat, with notes of dependencies.
    pub kept: Vec<(EventNo, Determinant)>,
    /// Place of the last record that is not void.
    pub after: EventNo,
    /// The incarnations that the log mentions.
    pub incarnations: Incarnations,
    /// The log may turn out to allow less: some of its ranks have not reported yet.
    pub waits: bool,
}

/// Reads a log whose first record is at the place after `base`.
pub(super) fn course(
    base: EventNo,
    mut incarnations: Incarnations,
    log: &[Determinant],
    standing: impl Fn(Rank, Interval) -> Standing,
) -> Course {
    let mut kept: Vec<(EventNo, Determinant)> = Vec::new();
    for (record, place) in log.iter().zip(base.0 + 1..) {
        if let Determinant::Begins { incarnation, after } = *record {
            kept.retain(|(place, _)| *place <= after);
            incarnations.begin(incarnation, after);
        } else {
            kept.push((EventNo(place), *record));
        }
    }
    // Notes belong to the event behind them; without it they say nothing.
    let is_event =
        |(_, record): &(EventNo, Determinant)| !matches!(record, Determinant::Depends { .. });
    kept.truncate(kept.iter().rposition(is_event).map_or(0, |last| last + 1));
    let (mut after, mut waits) = (EventNo(base.0 + log.len() as u64), false);
    let mut notes = 0;
    for at in 0..kept.len() {
        let Determinant::Depends { rank, incarnation, place } = kept[at].1 else {
            notes = at + 1;
            continue;
        };
        match standing(rank, Interval { incarnation, place }) {
            Standing::Lost => {
                after = EventNo(kept[notes].0.0 - 1);
                kept.truncate(notes);
                break;
            }
            Standing::Unknown => waits = true,
            Standing::Present | Standing::Recovered => {}
        }
    }
    Course { kept, after, incarnations, waits }
}

impl Optimistic {
    fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.me;
        (0..self.peers.len() as u32).map(Rank).filter(move |&rank| rank != me)
    }

    pub(super) fn begin_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.commands.clear();
        self.orphan = false;
        self.asked = false;
        self.incarnation = incarnations[self.me.index()];
        self.last = None;
        self.vector.reset();
        self.noted = self.vector.changes();
        for (peer, &incarnation) in self.peers.iter_mut().zip(incarnations) {
            *peer = Peer { incarnation, stable: peer.stable, ..Peer::default() };
        }
        let before = self.histories.of(self.me).clone();
        self.gathering = Some(Gathering { base: last, before, log: None });
        self.counts.recovered_from_logger = 0;
        for to in self.others() {
            self.commands.push_back(Command::Join { to });
        }
    }

    pub(super) fn log_was_read(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        if let Some(gathering) = &mut self.gathering {
            gathering.base = last;
            gathering.log = Some(recorded);
        }
        self.decide_course();
    }

    pub(super) fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation) {
        let known = &mut self.peers[peer.index()].incarnation;
        *known = incarnation.max(*known);
        if self.gathering.is_some() {
            self.commands.push_back(Command::Join { to: peer });
        }
    }

    /// If the log was read: reports how far it may be repeated by what is known. Begins to repeat
    /// it if no other rank must report first.
    pub(super) fn decide_course(&mut self) {
        let Some(Gathering { base, before, log: Some(log) }) = &self.gathering else { return };
        let course = course(*base, before.clone(), log, |rank, interval| {
            let Some(peer) = self.peers.get(rank.index()) else { return Standing::Lost };
            match self.histories.standing(rank, interval) {
                // The rank is known to have died, and has not reported its losses.
                Standing::Present if interval.incarnation < peer.incarnation => Standing::Unknown,
                standing => standing,
            }
        });
        let (base, mut incarnations, waits) = (*base, course.incarnations, course.waits);
        incarnations.begin(self.incarnation, course.after);
        if self.histories.learn(self.me, incarnations) {
            self.send_losses();
        }
        if !waits && let Some(Gathering { log: Some(log), .. }) = self.gathering.take() {
            self.begin_to_repeat(base, &log, course.kept, course.after);
        }
    }

    fn begin_to_repeat(
        &mut self,
        base: EventNo,
        log: &[Determinant],
        kept: Vec<(EventNo, Determinant)>,
        after: EventNo,
    ) {
        self.determinant_sender.restart(base, log);
        self.determinant_sender.push(Determinant::Begins { incarnation: self.incarnation, after });
        let mut recorded = Vec::with_capacity(kept.len());
        for (_, record) in kept {
            match record {
                Determinant::Depends { rank, incarnation, place } => {
                    let on = Interval { incarnation, place };
                    if rank != self.me && !self.is_safe(rank, on) {
                        self.vector.raise(rank, on);
                    }
                }
                event => recorded.push(event),
            }
        }
        // What came while the log was read is in the vector too, and is not noted yet.
        self.events += recorded.len() as u64;
        self.counts.recovered_from_logger = recorded.len() as u64;
        self.recorder.begin(recorded);
        self.after_replay_step();
        self.send();
    }

    /// Sends to every joined peer the losses that it does not know.
    fn send_losses(&mut self) {
        for to in self.others() {
            self.send_losses_to(to);
        }
    }

    fn send_losses_to(&mut self, to: Rank) {
        let peer = &mut self.peers[to.index()];
        let told = std::mem::replace(&mut peer.sent_losses, self.histories.version());
        if !peer.joined || told == self.histories.version() {
            // A peer that has not joined gets them with the first message on the channel, or when
            // it has joined.
            peer.sent_losses = told;
            return;
        }
        let mut payload = vec![LOSSES];
        self.histories.put_news(told, &mut payload);
        self.commands.push_back(Command::SendFirst { to, payload });
    }

    pub(super) fn joined_with(&mut self, peer: Rank, said: &[u8]) {
        self.peers[peer.index()].joined = true;
        self.take_losses(peer, said);
        self.send_losses_to(peer);
    }

    pub(super) fn on_own_frame(&mut self, from: Rank, payload: &[u8]) {
        match payload.split_first() {
            Some((&LOSSES, losses)) => self.take_losses(from, losses),
            _ => self.troubled(from, DecodeError::new("frame of optimistic logging", "its kind")),
        }
    }

    fn take_losses(&mut self, from: Rank, losses: &[u8]) {
        match self.histories.take_news(&mut Reader(losses)) {
            Ok(true) => self.look_at_losses(),
            Ok(false) => {}
            Err(error) => self.troubled(from, error),
        }
    }
}
