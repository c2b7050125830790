//! The machine of the event logger: keeps the determinants of many ranks (mpich-v-2006 §3.3,
//! event-logger-2005 §IV-B).
//!
//! Calling convention: call [`EventLog::handle`] with an [`Input`], then carry out the [`Output`]s
//! that it appended, in order. Queries never change state. The server stores and moves bytes; the
//! machine decides which bytes.
//!
//! Guarantees:
//! - The log of a rank is contiguous. Events that come again after a reconnect are compared with
//!   the stored ones and acknowledged, not stored twice. A difference is an error and overwrites
//!   nothing.
//! - *Written* is acknowledged only after [`Input::Written`], *durable* only after
//!   [`Input::Durable`]. A machine that [promises](Promise::Durable) durability calls nothing
//!   written that is not durable: a loss of power takes nothing of what it has acknowledged.
//! - One living incarnation per rank, one connection per incarnation. A higher incarnation shuts
//!   out the lower one from its hello on, also after a restart of the logger: [`Output::Fence`] is
//!   stored before the welcome. A second connection of the same incarnation replaces the first.
//! - A fetch is answered with every event from the wanted one on, or refused. Events that were lost
//!   by damage are never passed over in silence.
//! - Damage does not stop living ranks. They go on appending, and the log is whole again once the
//!   lost events are pruned or were sent again.

mod clocks;
mod logs;
mod messages;

#[cfg(test)]
mod tests;

use clocks::Clocks;
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use logs::Log;
pub use messages::*;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Conn {
    rank: Rank,
    incarnation: Incarnation,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Its fence is being written.
    Fencing,
    /// It is the connection of its rank.
    Open,
    /// An overlap is being compared; these come behind it.
    Comparing { first: EventNo, rest: Vec<Determinant> },
}

/// The machine.
#[derive(Debug, Default)]
pub struct EventLog {
    logs: BTreeMap<Rank, Log>,
    conns: BTreeMap<ConnId, Conn>,
    clocks: Clocks,
    promise: Promise,
    /// Incarnations that want their log from this event on, of which not all is promised yet.
    asking: BTreeMap<ConnId, (Rank, EventNo)>,
}

impl EventLog {
    /// Without any log.
    #[must_use]
    pub fn new(promise: Promise) -> Self {
        Self { promise, ..Self::default() }
    }

    /// A log that was found on disk; before the first input.
    pub fn restore(&mut self, rank: Rank, found: Found) {
        self.logs.insert(rank, Log::restored(found));
    }

    /// Is this the connection of its rank?
    #[must_use]
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.conns.get(&conn).is_some_and(|state| matches!(state.phase, Phase::Open))
    }

    /// Has a later incarnation of this rank said hello?
    #[must_use]
    pub fn is_over(&self, rank: Rank, incarnation: Incarnation) -> bool {
        self.logs.get(&rank).is_some_and(|log| incarnation < log.incarnation)
    }

    /// The last event of a rank that is in its file.
    #[must_use]
    pub fn written(&self, rank: Rank) -> EventNo {
        self.logs.get(&rank).map_or(EventNo(0), |log| log.written)
    }

    /// State of every log.
    pub fn ranks(&self) -> impl Iterator<Item = RankState> + '_ {
        self.logs.iter().map(|(rank, log)| log.state(*rank))
    }

    /// Takes one input; appends what is to be done.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Hello { conn, rank, incarnation } => self.hello(conn, rank, incarnation, out),
            Input::Fenced { conn, outcome } => self.fenced(conn, outcome, out),
            Input::Frame { conn, frame } => self.frame(conn, frame, out),
            Input::Malformed { conn, why } => {
                let Some(rank) = self.conns.get(&conn).map(|c| c.rank) else { return };
                let why = format!(
                    "rank {rank} sends what is no event: {why}; is the libmpi of its program of the \
                     same version as this logger?"
                );
                self.refuse_incarnation(conn, why, out);
            }
            Input::Compared { conn, outcome } => self.compared(conn, outcome, out),
            Input::Written { rank } => {
                if let Some(log) = self.logs.get_mut(&rank) {
                    log.written = log.stored;
                    log.trouble = None;
                    if self.promise == Promise::Written {
                        log.acknowledge(self.promise, out);
                        self.note_promised(rank);
                    }
                }
            }
            Input::WriteFailed { rank, why } => {
                let Some(log) = self.logs.get_mut(&rank) else { return };
                log.stored = log.written;
                let why = format!("cannot write the events of rank {rank}: {why}");
                log.trouble = Some(why.clone());
                match log.conn.take() {
                    Some(conn) => self.close(conn, why, out),
                    None => out.push(Output::Say { text: why }),
                }
            }
            Input::Durable { rank, up_to } => {
                if let Some(log) = self.logs.get_mut(&rank)
                    && log.durable < up_to.min(log.written)
                {
                    log.durable = up_to.min(log.written);
                    log.acknowledge(self.promise, out);
                    self.note_promised(rank);
                    self.answer(rank, out);
                }
            }
            Input::ReadFailed { conn, why } => {
                let Some(rank) = self.conns.get(&conn).map(|c| c.rank) else { return };
                self.refuse_incarnation(
                    conn,
                    format!("events of rank {rank} cannot be read: {why}"),
                    out,
                );
            }
            Input::Lost { conn } => self.forget(conn),
        }
    }

    /// What is sent along with an acknowledgement to this connection, if the rank wants it: the
    /// events of other ranks that became stable since the last call. Several frames in a job of
    /// very many ranks.
    pub fn stable_news(&mut self, conn: ConnId, out: &mut Vec<Frame>) {
        if let Some(state) = self.conns.get(&conn) {
            self.clocks.news(conn, Some(state.rank), out);
        }
    }

    /// A peer logger wants to hear what is written of the ranks of this one, from the beginning.
    pub fn peer_logger_listens(&mut self, conn: ConnId) {
        self.clocks.watch(conn);
    }

    /// The peer logger no longer listens.
    pub fn peer_logger_left(&mut self, conn: ConnId) {
        self.clocks.forget(conn);
    }

    /// What the peer logger must hear now: what was written since it heard last.
    pub fn news_for_peer_logger(&mut self, conn: ConnId, out: &mut Vec<Frame>) {
        self.clocks.news(conn, None, out);
    }

    /// A peer logger reports what is written of its ranks.
    pub fn peer_logger_reports(&mut self, clocks: &[(Rank, EventNo)]) {
        for &(rank, clock) in clocks {
            self.clocks.heard(rank, clock);
        }
    }

    /// Grows whenever there may be news.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.clocks.changes()
    }

    fn hello(&mut self, conn: ConnId, rank: Rank, incarnation: Incarnation, out: &mut Vec<Output>) {
        let is_new = !self.logs.contains_key(&rank);
        let log = self.logs.entry(rank).or_insert_with(|| Log::new(incarnation));
        if incarnation < log.incarnation {
            out.push(Output::Welcome { conn, welcome: Welcome::Stale });
            return;
        }
        if incarnation == log.incarnation
            && let Some(why) = &log.refusal
        {
            out.push(Output::Welcome { conn, welcome: Welcome::No(why.clone()) });
            return;
        }
        let raised = incarnation > log.incarnation;
        let phase =
            if is_new || raised || log.trouble.is_some() { Phase::Fencing } else { Phase::Open };
        let fencing = matches!(phase, Phase::Fencing);
        if raised {
            log.incarnation = incarnation;
            log.refusal = None;
            // Open or opening connections belong to an earlier incarnation.
            log.conn = None;
            let old: Vec<ConnId> = self
                .conns
                .iter()
                .filter(|(_, c)| c.rank == rank && !matches!(c.phase, Phase::Fencing))
                .map(|(id, _)| *id)
                .collect();
            for conn in old {
                self.conns.remove(&conn);
                self.clocks.forget(conn);
                self.asking.remove(&conn);
                out.push(Output::Refuse { conn });
            }
        }
        self.conns.insert(conn, Conn { rank, incarnation, phase });
        if fencing {
            out.push(Output::Fence { conn, rank, incarnation });
        } else {
            self.open(conn, out);
        }
    }

    fn fenced(&mut self, conn: ConnId, outcome: Result<(), String>, out: &mut Vec<Output>) {
        let Some(state) = self.conns.get(&conn) else { return };
        let (rank, incarnation) = (state.rank, state.incarnation);
        if !matches!(state.phase, Phase::Fencing) {
            return;
        }
        let Some(log) = self.logs.get_mut(&rank) else { return };
        let welcome = match outcome {
            Ok(()) if incarnation == log.incarnation => {
                log.trouble = None;
                return self.open(conn, out);
            }
            Ok(()) => Welcome::Stale,
            Err(why) => {
                let why = format!("the event logger cannot write its log of rank {rank}: {why}");
                log.trouble = Some(why.clone());
                Welcome::Later(why)
            }
        };
        self.conns.remove(&conn);
        out.push(Output::Welcome { conn, welcome });
    }

    fn open(&mut self, conn: ConnId, out: &mut Vec<Output>) {
        let Some(state) = self.conns.get_mut(&conn) else { return };
        state.phase = Phase::Open;
        let Some(log) = self.logs.get_mut(&state.rank) else { return };
        if let Some(old) = log.conn.replace(conn) {
            self.conns.remove(&old);
            self.clocks.forget(old);
            self.asking.remove(&old);
            out.push(Output::Close { conn: old, why: String::new() });
        }
        out.push(Output::Welcome { conn, welcome: Welcome::Yes });
    }

    fn frame(&mut self, conn: ConnId, frame: Frame, out: &mut Vec<Output>) {
        // A connection that was refused or closed may still have frames under way.
        let Some(state) = self.conns.get(&conn) else { return };
        let rank = state.rank;
        if !matches!(state.phase, Phase::Open) {
            let why = format!("rank {rank} speaks before it was answered");
            return self.close(conn, why, out);
        }
        match frame {
            Frame::Append { first, clock, records } => {
                self.clocks.announce(rank, first, clock, records.len());
                self.append(conn, rank, first, records, out);
                self.note_promised(rank);
            }
            Frame::Watch => self.clocks.watch(conn),
            // The shell has looked before it gave us this.
            Frame::LookIntoRing => {}
            Frame::Prune { below } => {
                if let Some(log) = self.logs.get_mut(&rank) {
                    log.prune(rank, below, out);
                    log.acknowledge(self.promise, out);
                }
                self.note_promised(rank);
                self.answer(rank, out);
            }
            Frame::Fetch { from } => {
                let from = from.max(EventNo(1));
                let Some(log) = self.logs.get(&rank) else { return };
                match log.fetch(rank, from) {
                    Ok(next) if log.promised(self.promise) < log.stored && from < next => {
                        self.asking.insert(conn, (rank, from));
                    }
                    Ok(next) => out.push(Output::Stream { conn, rank, from, next }),
                    Err(why) => self.refuse_incarnation(conn, why.to_string(), out),
                }
            }
            Frame::Ack { .. }
            | Frame::Events { .. }
            | Frame::End { .. }
            | Frame::Refused
            | Frame::EventRing { .. }
            | Frame::Stable { .. } => {
                let why = format!("rank {rank} sends a frame that only a logger may send");
                self.close(conn, why, out);
            }
        }
    }

    fn append(
        &mut self,
        conn: ConnId,
        rank: Rank,
        first: EventNo,
        mut records: Vec<Determinant>,
        out: &mut Vec<Output>,
    ) {
        let Some(log) = self.logs.get_mut(&rank) else { return };
        let last = first.0.checked_add(records.len() as u64);
        if first.0 == 0 || last.is_none_or(|last| last == u64::MAX) {
            let why = format!("rank {rank} sends events with the impossible number {first}");
            return self.close(conn, why, out);
        }
        if first > log.stored.next()
            && let Err(why) = log.jump(rank, first, out)
        {
            return self.refuse_incarnation(conn, why.to_string(), out);
        }
        // Pruned events are needed by no rank and cannot be compared.
        let pruned = log.base.0.saturating_sub(first.0).min(records.len() as u64);
        records.drain(..pruned as usize);
        let first = EventNo(first.0 + pruned);
        let known = log.stored.next().0.saturating_sub(first.0).min(records.len() as u64);
        if known == 0 {
            log.extend(rank, first, records, self.promise, out);
            return;
        }
        let rest = records.split_off(known as usize);
        if let Some(state) = self.conns.get_mut(&conn) {
            state.phase = Phase::Comparing { first: EventNo(first.0 + known), rest };
        }
        out.push(Output::Compare { conn, rank, first, records });
    }

    fn compared(&mut self, conn: ConnId, outcome: Result<bool, String>, out: &mut Vec<Output>) {
        let Some(state) = self.conns.get_mut(&conn) else { return };
        let rank = state.rank;
        let Phase::Comparing { first, rest } = std::mem::replace(&mut state.phase, Phase::Open)
        else {
            return;
        };
        let Some(log) = self.logs.get_mut(&rank) else { return };
        match outcome {
            Ok(true) => {
                log.extend(rank, first, rest, self.promise, out);
                self.note_promised(rank);
            }
            Ok(false) => {
                let why = format!(
                    "rank {rank} sends events before {first} otherwise than they are stored: two \
                     processes act as this rank, or its replay went wrong"
                );
                self.refuse_incarnation(conn, why, out);
            }
            Err(why) => {
                let why = format!("stored events of rank {rank} cannot be read: {why}");
                self.refuse_incarnation(conn, why, out);
            }
        }
    }

    /// What was sent again may be promised already.
    fn note_promised(&mut self, rank: Rank) {
        if let Some(log) = self.logs.get(&rank) {
            self.clocks.written(rank, log.promised(self.promise));
        }
    }

    /// An incarnation that asked for a log of which not all was promised gets its answer when all
    /// of it is. The incarnation and all others will rely on that answer.
    fn answer(&mut self, rank: Rank, out: &mut Vec<Output>) {
        let Some(log) = self.logs.get(&rank) else { return };
        if log.promised(self.promise) < log.stored {
            return;
        }
        let next = log.stored.next();
        self.asking.retain(|&conn, &mut (of, from)| {
            if of == rank {
                out.push(Output::Stream { conn, rank, from, next });
            }
            of != rank
        });
    }

    /// This incarnation cannot go on with this log: its next hello is answered with the reason.
    fn refuse_incarnation(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        if let Some(state) = self.conns.get(&conn)
            && let Some(log) = self.logs.get_mut(&state.rank)
            && log.incarnation == state.incarnation
        {
            log.refusal = Some(why.clone());
        }
        self.close(conn, why, out);
    }

    fn close(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        self.forget(conn);
        out.push(Output::Close { conn, why });
    }

    fn forget(&mut self, conn: ConnId) {
        self.clocks.forget(conn);
        self.asking.remove(&conn);
        if let Some(state) = self.conns.remove(&conn)
            && let Some(log) = self.logs.get_mut(&state.rank)
            && log.conn == Some(conn)
        {
            log.conn = None;
        }
    }
}
