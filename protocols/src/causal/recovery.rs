//! A new incarnation gathers what it must repeat: from the logger, if there is one, and from every
//! peer.
//!
//! *Why from every peer.* Every rank that depends on an event that is not stable holds it, and no
//! other rank need hold it. An answer contains everything that the peer holds and the asker does
//! not, not only the asker's own events: the asker's repeated events must travel on with their
//! past.
//!
//! *When answers count.* An answer is a look at one moment. The peer may learn more later, from
//! messages that are under way. Living incarnations answer for themselves; an incarnation that dies
//! before it answers does not. Therefore:
//! 1. A question names the incarnations of all ranks that the asker knows of.
//! 2. A peer answers only when it has closed its channels to all earlier incarnations.
//! 3. The asker asks all peers again when it hears of another death before it has all answers.
//!
//! With all answers to one question no incarnation can come to depend on an event of the asker that
//! the asker was not told. Such an incarnation would have the event from one that learned it later,
//! and so on. The chain begins at an incarnation that every rank had closed off.
//!
//! A rank that is itself gathering answers as soon as it has read its own log: the log may hold
//! copies of the asker's events.

use super::Causal;
use super::encoding::{Reader, put};
use crate::protocol::{Command, Records};
use crate::tuning::ANSWER_PART_BYTES;
use ftmpi_wire::{DecodeError, Determinant, EventNo, Incarnation, Rank};

/// Kinds of frames among the ranks.
const ASK: u8 = 1;
const ANSWER: u8 = 2;
const MORE: u8 = 3;
const COMPLETE: u8 = 4;
const NEEDED_NO_MORE: u8 = 5;

/// An incarnation that does not know yet what it is to repeat.
#[derive(Debug)]
pub(super) struct Gathering {
    /// The log has been read, or there is none.
    log_read: bool,
    /// Peers that have answered the present question.
    answered: Vec<bool>,
    left: usize,
    /// Own events that the log holds.
    logged: Vec<Determinant>,
    /// Number of the last own event in the image.
    base: EventNo,
}

/// A question that cannot be answered yet.
#[derive(Debug)]
pub(super) struct Owed {
    /// Who asked.
    pub by: Rank,
    round: u64,
    incarnations: Vec<Incarnation>,
    knows: Vec<(Rank, EventNo)>,
}

impl Causal {
    pub(super) fn size(&self) -> usize {
        self.incarnations.len()
    }

    fn peers(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.me;
        (0..self.size() as u32).map(Rank).filter(move |&rank| rank != me)
    }

    /// Says of every rank up to where its events are stable, and how many more are known.
    fn put_known(&self, out: &mut Vec<u8>) {
        for rank in (0..self.size() as u32).map(Rank) {
            let (stable, last) = (self.store.stable(rank), self.store.last(rank));
            if last > EventNo(0) {
                put(out, u64::from(rank.0));
                put(out, stable.0);
                put(out, last.0 - stable.0);
            }
        }
    }

    /// What a peer knows. What it calls stable is stable, own events included: an earlier
    /// incarnation reported them. Without this note the peer would seem to have these events, and
    /// to know what was before them.
    fn take_known(&mut self, reader: &mut Reader) -> Result<Vec<(Rank, EventNo)>, DecodeError> {
        let mut known = Vec::new();
        while !reader.is_empty() {
            let rank = reader.rank(self.size())?;
            let (stable, more) = (reader.last_event()?, reader.last_event()?);
            self.store.set_stable(rank, stable);
            known.push((rank, EventNo(stable.0 + more.0)));
        }
        Ok(known)
    }

    pub(super) fn begin_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.commands.clear();
        self.owed.clear();
        self.parts.clear();
        self.joined.fill(false);
        self.asked = false;
        self.incarnations = incarnations.to_vec();
        self.complete.fill(false);
        self.awaited.fill(false);
        self.carried.fill(0);
        let base = if self.determinant_sender.is_some() { self.store.last(self.me) } else { last };
        self.gathering = Some(Gathering {
            log_read: false,
            answered: vec![false; incarnations.len()],
            left: 0,
            logged: Vec::new(),
            base,
        });
        (self.counts.recovered_from_logger, self.counts.recovered_from_peers) = (0, 0);
        self.ask_all();
    }

    /// Begins a round of questions.
    fn ask_all(&mut self) {
        let Some(gathering) = &mut self.gathering else { return };
        self.round += 1;
        gathering.answered.fill(false);
        gathering.left = gathering.answered.len() - 1;
        for peer in self.peers() {
            if self.joined[peer.index()] {
                self.ask(peer);
            } else {
                self.commands.push_back(Command::Join { to: peer });
            }
        }
    }

    fn ask(&mut self, to: Rank) {
        let mut payload = vec![ASK];
        put(&mut payload, u64::from(self.round));
        self.incarnations
            .iter()
            .for_each(|incarnation| put(&mut payload, u64::from(incarnation.0)));
        self.put_known(&mut payload);
        self.commands.push_back(Command::SendFirst { to, payload });
    }

    /// The log behind the image has been read.
    pub(super) fn log_was_read(&mut self, last: EventNo, recorded: &[Determinant]) {
        if let Some(determinant_sender) = &mut self.determinant_sender {
            determinant_sender.restart(last, recorded);
        }
        let own = self.read_log(recorded);
        let Some(gathering) = &mut self.gathering else { return };
        let end = EventNo(gathering.base.0 + own.len() as u64);
        gathering.logged = own;
        gathering.log_read = true;
        if self.determinant_sender.is_some() {
            self.store.set_stable(self.me, end);
        }
        self.logged = end;
        self.answer_owed();
        self.complete_if_all_answered();
    }

    pub(super) fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation) {
        self.incarnations[peer.index()] = incarnation.max(self.incarnations[peer.index()]);
        self.complete[peer.index()] = false;
        self.awaited[peer.index()] = true;
        if self.gathering.is_some() {
            self.ask_all();
        }
        self.answer_owed();
    }

    /// The first message on a channel: whether this rank is complete, and what it knows.
    pub(super) fn put_greeting(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.gathering.is_none()));
        self.put_known(out);
    }

    pub(super) fn joined_with(&mut self, peer: Rank, said: &[u8]) {
        self.joined[peer.index()] = true;
        let mut reader = Reader(said);
        let heard = reader.byte().and_then(|byte| Ok((byte != 0, self.take_known(&mut reader)?)));
        match heard {
            Ok((complete, clocks)) => {
                self.technique.begins(peer, &clocks);
                self.sent_version[peer.index()] = u64::MAX;
                self.complete[peer.index()] = complete;
                self.awaited[peer.index()] &= !complete;
                self.carried[peer.index()] = 0;
            }
            Err(error) => self.troubled(peer, &error.into()),
        }
        if self.determinant_sender.is_none() {
            self.send_needed_no_more(peer);
        }
        if self.gathering.as_ref().is_some_and(|gathering| !gathering.answered[peer.index()]) {
            self.ask(peer);
        }
    }

    pub(super) fn read_or_give_up(&mut self, from: Rank, payload: &[u8]) {
        if let Err(error) = self.read_frame(from, payload) {
            self.troubled(from, &error.into());
        }
    }

    fn read_frame(&mut self, from: Rank, payload: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader(payload);
        match reader.byte()? {
            ASK => {
                let round = reader.number()?;
                let incarnations = (0..self.size())
                    .map(|_| Ok(Incarnation(reader.small()?)))
                    .collect::<Result<Vec<_>, DecodeError>>()?;
                let knows = self.take_known(&mut reader)?;
                self.owed.retain(|owed| owed.by != from);
                self.owed.push(Owed { by: from, round, incarnations, knows });
                self.answer_owed();
            }
            kind @ (ANSWER | MORE) => {
                let round = reader.number()?;
                self.on_answer_part(from, round, reader.0, kind == MORE);
            }
            COMPLETE => {
                self.complete[from.index()] = true;
                self.awaited[from.index()] = false;
            }
            NEEDED_NO_MORE => {
                let number = reader.last_event()?;
                self.store.set_stable(from, number);
            }
            _ => return Err(DecodeError::new("frame of causal logging", "unknown kind")),
        }
        Ok(())
    }

    /// Answers what can be answered by now.
    fn answer_owed(&mut self) {
        if self.gathering.as_ref().is_some_and(|gathering| !gathering.log_read) {
            return;
        }
        let incarnations = &self.incarnations;
        let closed = |owed: &mut Owed| {
            owed.incarnations.iter().zip(incarnations).all(|(asked, own)| own >= asked)
        };
        let ready: Vec<_> = self.owed.extract_if(.., closed).collect();
        for Owed { by, round, knows, .. } in ready {
            let mut events = Vec::new();
            self.awaited[by.index()] = false;
            self.technique.begins(by, &knows);
            self.technique.build(&self.store, by, false, &mut events);
            let mut parts = events.chunks(ANSWER_PART_BYTES).peekable();
            loop {
                let part = parts.next().unwrap_or_default();
                let more = parts.peek().is_some();
                let mut payload = vec![if more { MORE } else { ANSWER }];
                put(&mut payload, round);
                payload.extend_from_slice(part);
                self.commands.push_back(Command::SendFirst { to: by, payload });
                if !more {
                    break;
                }
            }
        }
    }

    fn on_answer_part(&mut self, from: Rank, round: u64, part: &[u8], more: bool) {
        let parts = self.parts.entry(from).or_default();
        parts.extend_from_slice(part);
        if more {
            return;
        }
        // Also an answer to an earlier question counts: the peer does not send its events again.
        let events = std::mem::take(parts);
        if let Err(trouble) = self.technique.merge(&mut self.store, from, Reader(&events)) {
            self.troubled(from, &trouble);
        }
        if let Some(gathering) = &mut self.gathering
            && round == u64::from(self.round)
            && !std::mem::replace(&mut gathering.answered[from.index()], true)
        {
            gathering.left -= 1;
            self.complete_if_all_answered();
        }
    }

    fn complete_if_all_answered(&mut self) {
        let Some(gathering) =
            self.gathering.take_if(|gathering| gathering.log_read && gathering.left == 0)
        else {
            return;
        };
        let (me, logged) = (self.me, self.logged);
        if self.store.stable(me) > logged {
            let lost = self.store.stable(me);
            self.give_up(format!(
                "rank {me} cannot be recovered: it restarted from a state before its event {}, and \
                 its events up to {lost} are kept nowhere any more, because newer images of it had \
                 been committed; those images are lost or damaged",
                logged.next(),
            ));
            return;
        }
        let mut recorded = gathering.logged;
        self.counts.recovered_from_logger = recorded.len() as u64;
        let (_, told) = self.store.after(me, logged);
        self.counts.recovered_from_peers = told.len() as u64;
        recorded.extend(told.map(|event| event.determinant));
        self.recorder.begin(recorded);
        self.after_replay_step();
        self.send();
        for to in self.peers() {
            if self.joined[to.index()] {
                self.commands.push_back(Command::SendFirst { to, payload: vec![COMPLETE] });
            }
        }
    }

    /// Without a logger: no rank needs to hold the own events that the oldest image has behind it.
    pub(super) fn send_needed_no_more_to_all(&mut self) {
        for peer in self.peers() {
            if self.joined[peer.index()] {
                self.send_needed_no_more(peer);
            }
        }
    }

    fn send_needed_no_more(&mut self, to: Rank) {
        let stable = self.store.stable(self.me);
        if stable > EventNo(0) {
            let mut payload = vec![NEEDED_NO_MORE];
            put(&mut payload, stable.0);
            self.commands.push_back(Command::SendFirst { to, payload });
        }
    }
}
