//! The machine of the event logger, with vectors for files.
//!
//! Appended records are first in memory, then written, then durable. A death of the logger loses
//! what is not written, a loss of power what is not durable.

use crate::invariants::whole_logs::WholeLogs;
use crate::mutants::Mutant;
use ftmpi_protocols::event_log::{ConnId, EventLog, Found, Input, Output, Promise};
use ftmpi_wire::event_log::{Frame, RECORDS_MAX};
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::collections::{BTreeMap, VecDeque};

/// Something for an incarnation of a rank: a frame, or the end of its connection.
pub struct Answer {
    /// The receiver.
    pub rank: Rank,
    /// The incarnation of the rank.
    pub incarnation: Incarnation,
    /// On which connection.
    pub conn: ConnId,
    /// `None`: the connection is closed.
    pub frame: Option<Frame>,
}

/// The log of one rank.
#[derive(Debug)]
struct File {
    incarnation: Incarnation,
    first: EventNo,
    records: Vec<Determinant>,
    /// So many of the records are written, and so many are durable.
    written: usize,
    durable: usize,
    /// A round was made since the logger began, so the machine knows what is durable.
    synced: bool,
    /// What lay behind the last record was lost by damage, and no rank has sent it again.
    damage: Option<String>,
}

impl File {
    fn new(incarnation: Incarnation, first: EventNo) -> Self {
        let (written, durable, synced, damage) = (0, 0, true, None);
        Self { incarnation, first, records: Vec::new(), written, durable, synced, damage }
    }

    fn last(&self, count: usize) -> EventNo {
        EventNo(self.first.0 + count as u64 - 1)
    }
}

/// A logger.
pub struct Logger {
    machine: EventLog,
    promise: Promise,
    files: BTreeMap<Rank, File>,
    connections: BTreeMap<ConnId, (Rank, Incarnation)>,
    next: u64,
    whole: WholeLogs,
    /// Incarnations that will never be served, and why; since the last question.
    refused: Vec<(Rank, Incarnation, String)>,
    /// What was forgotten since the last question: of which rank, below which event.
    pruned: Vec<(Rank, EventNo)>,
    mutant: Option<Mutant>,
}

impl Logger {
    /// Without any file; numbers of connections begin behind `first`.
    #[must_use]
    pub fn new(first: u64, promise: Promise, mutant: Option<Mutant>) -> Self {
        Self {
            machine: EventLog::new(promise),
            promise,
            files: BTreeMap::new(),
            connections: BTreeMap::new(),
            next: first,
            whole: WholeLogs::default(),
            refused: Vec::new(),
            pruned: Vec::new(),
            mutant,
        }
    }

    /// It dies and starts again from its files. `power`: the computer went down with it.
    pub fn restart(&mut self, power: bool) {
        self.machine = EventLog::new(self.promise);
        self.connections.clear();
        for (&rank, file) in &mut self.files {
            let left = if power { file.durable } else { file.written };
            file.records.truncate(left);
            file.written = left;
            // After a loss of power what is found is durable. Else a round has to come first, after
            // the ranks' events in the rings.
            let early = self.mutant == Some(Mutant::MarkBeforeRings);
            file.synced = power || early;
            file.durable = if file.synced { left } else { file.durable.min(left) };
            let (incarnation, last) = (file.incarnation, file.last(left));
            self.whole.restarts(rank, last, power);
            self.whole.forgets(rank, last);
            let unseen = self.mutant == Some(Mutant::DamageNotSeen);
            let damage = file.damage.clone().filter(|_| !unseen);
            let (base, lost) = (file.first, None);
            self.machine.restore(rank, Found { incarnation, base, last, damage, lost });
            if file.synced {
                self.machine.handle(Input::Durable { rank, up_to: last }, &mut Vec::new());
            }
        }
    }

    /// The disk damages the log of a rank, `behind` events before its end; false: there is nothing
    /// to damage. The logger finds it when it begins again.
    pub fn damage(&mut self, rank: Rank, behind: usize) -> bool {
        let Some(file) = self.files.get_mut(&rank).filter(|file| file.written > 0) else {
            return false;
        };
        let left = file.written.saturating_sub(behind);
        file.records.truncate(left);
        (file.written, file.durable) = (left, file.durable.min(left));
        let last = file.last(left);
        file.damage = Some(format!("a flipped bit behind event {last}"));
        self.whole.forgets(rank, last);
        true
    }

    /// The incarnations that were refused for ever since the last call, and why.
    pub fn take_refused(&mut self) -> Vec<(Rank, Incarnation, String)> {
        std::mem::take(&mut self.refused)
    }

    /// A rank connects; frames for it come out of later calls under this number.
    pub fn connect(&mut self, rank: Rank, incarnation: Incarnation) -> (ConnId, Vec<Answer>) {
        self.next += 1;
        let conn = ConnId(self.next);
        self.connections.insert(conn, (rank, incarnation));
        let frames = self.handle(Input::Hello { conn, rank, incarnation });
        (conn, frames)
    }

    /// A frame of a rank.
    pub fn frame(&mut self, conn: ConnId, frame: Frame) -> Vec<Answer> {
        if let (Some(Mutant::AnsweredBeforeDurable), Frame::Fetch { from }) = (self.mutant, &frame)
        {
            return self.answer_at_once(conn, *from);
        }
        self.handle(Input::Frame { conn, frame })
    }

    /// The deliberate bug: the whole log, although not all of it is durable.
    fn answer_at_once(&mut self, conn: ConnId, from: EventNo) -> Vec<Answer> {
        let Some(&(rank, incarnation)) = self.connections.get(&conn) else { return Vec::new() };
        let next = self.files.get(&rank).map_or(from, |file| file.last(file.records.len() + 1));
        let (mut inputs, mut frames) = (VecDeque::new(), Vec::new());
        let stream = Output::Stream { conn, rank, from, next: next.max(from) };
        self.carry_out(stream, &mut inputs, &mut frames);
        let answer = |(conn, frame)| Answer { rank, incarnation, conn, frame };
        let mut answers: Vec<_> = frames.into_iter().map(answer).collect();
        answers.extend(inputs.into_iter().flat_map(|input| self.handle(input)));
        answers
    }

    /// A connection ended.
    pub fn lost(&mut self, conn: ConnId) -> Vec<Answer> {
        let answers = self.handle(Input::Lost { conn });
        self.connections.remove(&conn);
        answers
    }

    /// Somebody wants to hear from the beginning what is written.
    pub fn peer_logger_listens(&mut self, conn: ConnId) {
        self.machine.peer_logger_listens(conn);
    }

    /// The clocks that it must hear now.
    pub fn news_for_peer_logger(&mut self, conn: ConnId) -> Vec<(Rank, EventNo)> {
        let mut frames = Vec::new();
        self.machine.news_for_peer_logger(conn, &mut frames);
        let clocks = |frame| match frame {
            Frame::Stable { clocks } => clocks,
            other => panic!("{other:?} for another logger"),
        };
        frames.into_iter().flat_map(clocks).collect()
    }

    /// A peer logger reported it.
    pub fn peer_logger_reports(&mut self, clocks: &[(Rank, EventNo)]) {
        self.machine.peer_logger_reports(clocks);
    }

    /// Is this a connection of its present incarnation?
    #[must_use]
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.connections.contains_key(&conn)
    }

    /// The last event of a rank that is in its file.
    #[must_use]
    pub fn written(&self, rank: Rank) -> EventNo {
        self.files.get(&rank).map_or(EventNo(0), |file| file.last(file.written))
    }

    /// What was forgotten since the last call: of which rank, below which event.
    pub fn take_pruned(&mut self) -> Vec<(Rank, EventNo)> {
        std::mem::take(&mut self.pruned)
    }

    /// Writes what is in memory.
    pub fn write(&mut self) -> Vec<Answer> {
        let ranks: Vec<_> = self.files.keys().copied().collect();
        ranks.into_iter().flat_map(|rank| self.write_rank(rank)).collect()
    }

    fn write_rank(&mut self, rank: Rank) -> Vec<Answer> {
        let Some(file) = self.files.get_mut(&rank) else { return Vec::new() };
        if file.written == file.records.len() {
            return Vec::new();
        }
        file.written = file.records.len();
        self.handle(Input::Written { rank })
    }

    /// Makes durable what is written.
    pub fn sync(&mut self) -> Vec<Answer> {
        let ranks: Vec<_> = self.files.keys().copied().collect();
        let mut answers = Vec::new();
        for rank in ranks {
            let Some(file) = self.files.get_mut(&rank) else { continue };
            if file.durable < file.written || !file.synced {
                (file.durable, file.synced) = (file.written, true);
                let up_to = file.last(file.durable);
                answers.extend(self.handle(Input::Durable { rank, up_to }));
            }
        }
        answers
    }

    fn handle(&mut self, input: Input) -> Vec<Answer> {
        let mut frames = Vec::new();
        let mut inputs = VecDeque::from([input]);
        let mut out = Vec::new();
        while let Some(input) = inputs.pop_front() {
            self.machine.handle(input, &mut out);
            for output in out.drain(..) {
                self.carry_out(output, &mut inputs, &mut frames);
            }
        }
        let mut answers = Vec::new();
        for (conn, frame) in frames {
            let Some(&(rank, incarnation)) = self.connections.get(&conn) else { continue };
            if frame.is_none() {
                self.connections.remove(&conn);
            }
            answers.push(Answer { rank, incarnation, conn, frame });
        }
        answers
    }

    fn carry_out(
        &mut self,
        output: Output,
        inputs: &mut VecDeque<Input>,
        frames: &mut Vec<(ConnId, Option<Frame>)>,
    ) {
        match output {
            Output::Fence { conn, rank, incarnation } => {
                self.files
                    .entry(rank)
                    .or_insert_with(|| File::new(incarnation, EventNo(1)))
                    .incarnation = incarnation;
                inputs.push_back(Input::Fenced { conn, outcome: Ok(()) });
            }
            Output::Append { rank, incarnation, first, records } => {
                let file = self.files.entry(rank).or_insert_with(|| File::new(incarnation, first));
                WholeLogs::append(rank, file.last(file.records.len()), first);
                file.records.extend(records);
                file.damage = None;
                if self.mutant == Some(Mutant::AcknowledgedBeforeWritten) {
                    inputs.push_back(Input::Written { rank });
                }
                if self.mutant == Some(Mutant::AcknowledgedBeforeDurable) {
                    let up_to = file.last(file.records.len());
                    inputs.push_back(Input::Written { rank });
                    inputs.push_back(Input::Durable { rank, up_to });
                }
            }
            Output::Compare { conn, rank, first, records } => {
                let file = &self.files[&rank];
                let at = (first.0 - file.first.0) as usize;
                let same = file.records[at..at + records.len()] == records[..];
                inputs.push_back(Input::Compared { conn, outcome: Ok(same) });
            }
            Output::Ack { conn, written, durable } => {
                let mut news = Vec::new();
                self.machine.stable_news(conn, &mut news);
                frames.extend(news.into_iter().map(|frame| (conn, Some(frame))));
                if let Some(&(rank, _)) = self.connections.get(&conn) {
                    self.whole.acknowledges(rank, written, durable);
                }
                frames.push((conn, Some(Frame::Ack { written, durable })));
            }
            Output::Stream { conn, rank, from, next } => {
                // An acknowledged event must be there.
                if let Some(file) = self.files.get_mut(&rank)
                    && file.written < file.records.len()
                {
                    file.written = file.records.len();
                    inputs.push_back(Input::Written { rank });
                }
                if let Some(file) = self.files.get(&rank) {
                    let at = |event: EventNo| (event.0.max(file.first.0) - file.first.0) as usize;
                    let mut first = from;
                    for records in file.records[at(from)..at(next)].chunks(RECORDS_MAX) {
                        let records = records.to_vec();
                        let after = EventNo(first.0 + records.len() as u64);
                        frames.push((conn, Some(Frame::Events { first, records })));
                        first = after;
                    }
                }
                frames.push((conn, Some(Frame::End { next })));
            }
            Output::Prune { rank, below } => {
                self.pruned.push((rank, below));
                if let Some(file) = self.files.get_mut(&rank) {
                    if file.written < file.records.len() {
                        file.written = file.records.len();
                        inputs.push_back(Input::Written { rank });
                    }
                    let cut = below.0.saturating_sub(file.first.0) as usize;
                    let cut = cut.min(file.records.len());
                    file.records.drain(..cut);
                    file.first = EventNo(file.first.0 + cut as u64);
                    file.written = file.written.saturating_sub(cut);
                    file.durable = file.durable.saturating_sub(cut);
                }
            }
            Output::Restart { rank, first } => {
                self.whole.log_begins_again(rank);
                let incarnation = self.files.get(&rank).map_or(Incarnation(0), |f| f.incarnation);
                self.files.insert(rank, File::new(incarnation, first));
            }
            Output::Refuse { conn } => frames.push((conn, Some(Frame::Refused))),
            Output::Close { conn, .. } => frames.push((conn, None)),
            Output::Welcome { conn, welcome } => {
                let caller = self.connections.get(&conn).copied();
                if welcome != Welcome::Yes {
                    self.connections.remove(&conn);
                }
                if let (Welcome::No(why), Some((rank, incarnation))) = (welcome, caller) {
                    self.refused.push((rank, incarnation, why));
                }
            }
            Output::Say { .. } => {}
        }
    }
}
