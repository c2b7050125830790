//! Channel memories: the machine with vectors for files. Each memory serves some of the ranks.
//! Appended records are first in memory, then written; a death loses what is not written.

use crate::mutants::Mutant;
use ftmpi_protocols::channel_memory::{Fate, Memory, Record, Say, Summary};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::header::Kind;
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Header, Incarnation, Rank};
use std::collections::BTreeMap;

/// The caller at the other end of a connection.
pub type Caller = (usize, Incarnation, usize);

#[derive(Default)]
struct File {
    /// What lies before the first record.
    before: Summary,
    records: Vec<(Record, Vec<u8>)>,
    written: usize,
}

struct Server {
    machine: Memory,
    files: BTreeMap<Rank, File>,
}

/// All memories of a job.
pub struct Memories {
    servers: Vec<Server>,
    callers: BTreeMap<ConnId, Caller>,
    next: u64,
    mutant: Option<Mutant>,
}

/// A frame for a caller.
pub type CallerFrame = (ConnId, Header, Vec<u8>);

impl Memories {
    /// So many, without any file.
    #[must_use]
    pub fn new(count: usize, mutant: Option<Mutant>) -> Self {
        let server = || Server { machine: Memory::default(), files: BTreeMap::new() };
        let servers = (0..count).map(|_| server()).collect();
        Self { servers, callers: BTreeMap::new(), next: 0, mutant }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    fn home(&self, rank: usize) -> usize {
        rank % self.servers.len()
    }

    /// The caller at the other end, if the connection is open.
    #[must_use]
    pub fn caller(&self, conn: ConnId) -> Option<Caller> {
        self.callers.get(&conn).copied()
    }

    /// The connections of an incarnation of a rank.
    #[must_use]
    pub fn of_incarnation(&self, rank: usize, incarnation: Incarnation) -> Vec<ConnId> {
        let theirs = |caller: &Caller| (caller.0, caller.1) == (rank, incarnation);
        self.callers.iter().filter(|(_, caller)| theirs(caller)).map(|(id, _)| *id).collect()
    }

    /// An incarnation of a rank calls the memory of another (or its own). Also the connections that
    /// end by it.
    pub fn connect(&mut self, caller: Caller) -> (Option<ConnId>, Vec<ConnId>) {
        self.next += 1;
        let (conn, home) = (ConnId(self.next), self.home(caller.2));
        let (from, to) = (Rank(caller.0 as u32), Rank(caller.2 as u32));
        let (welcome, ended) = self.servers[home].machine.hello(conn, from, caller.1, to);
        for old in &ended {
            self.callers.remove(old);
        }
        if welcome != Welcome::Yes {
            return (None, ended);
        }
        self.callers.insert(conn, caller);
        (Some(conn), ended)
    }

    /// A connection is gone.
    pub fn lost(&mut self, conn: ConnId) {
        if let Some(caller) = self.callers.remove(&conn) {
            let home = self.home(caller.2);
            self.servers[home].machine.lost(conn);
        }
    }

    /// A frame comes.
    pub fn frame(&mut self, conn: ConnId, header: &Header, payload: Vec<u8>) {
        let Some(caller) = self.caller(conn) else { return };
        let home = self.home(caller.2);
        let mutant = self.mutant;
        let server = &mut self.servers[home];
        if mutant == Some(Mutant::MatchAckNotKept) && header.kind == Kind::SyncAck {
            return;
        }
        match server.machine.arrived(conn, header) {
            Fate::Keep(to, record) => {
                let file = server.files.entry(to).or_default();
                file.records.push((record, payload));
                if mutant == Some(Mutant::MemoryTellsUnwritten) {
                    server.machine.written(to, record.place);
                }
            }
            Fate::Said => {
                if let Some((to, place)) = server.machine.said(conn, header, &payload) {
                    let place = place + u64::from(mutant == Some(Mutant::MemoryCutsTooFar));
                    server.files.entry(to).or_default().cut(place);
                }
            }
            Fate::Drop => {}
            Fate::Senseless => panic!("no memory can use {header:?}"),
        }
    }

    /// What was appended is written.
    pub fn write(&mut self) {
        for server in &mut self.servers {
            for (&to, file) in &mut server.files {
                file.written = file.records.len();
                if let Some((last, _)) = file.records.last() {
                    server.machine.written(to, last.place);
                }
            }
        }
    }

    /// All frames for callers.
    pub fn caller_frames(&mut self) -> Vec<CallerFrame> {
        let mut out = Vec::new();
        for (&conn, caller) in &self.callers {
            let home = caller.2 % self.servers.len();
            let server = &mut self.servers[home];
            while let Some(say) = server.machine.next(conn) {
                match say {
                    Say::Frame(header, payload) => out.push((conn, header, payload)),
                    Say::Record(place) => {
                        let file = &server.files[&Rank(caller.2 as u32)];
                        // One that a bug has thrown away is passed over.
                        if let Some((record, payload)) = file.get(place) {
                            out.push((conn, record.announcement(), Vec::new()));
                            out.push((conn, record.header, payload.clone()));
                        }
                    }
                }
            }
        }
        out
    }

    /// One dies and starts again from its files; the connections that end by it.
    pub fn restart(&mut self, number: usize) -> Vec<ConnId> {
        let count = self.servers.len();
        let server = &mut self.servers[number];
        server.machine = Memory::default();
        for (&to, file) in &mut server.files {
            file.records.truncate(file.written);
            if self.mutant == Some(Mutant::MemoryForgetsOrder) {
                file.sort_by_sender();
            }
            server.machine.restore(to, &file.before);
            file.records.iter().for_each(|(record, _)| server.machine.found(to, record));
        }
        let ended: Vec<_> = self
            .callers
            .iter()
            .filter(|(_, caller)| caller.2 % count == number)
            .map(|(id, _)| *id)
            .collect();
        ended.iter().for_each(|conn| {
            self.callers.remove(conn);
        });
        ended
    }
}

impl File {
    fn first(&self) -> u64 {
        self.before.last + 1
    }

    fn get(&self, place: u64) -> Option<&(Record, Vec<u8>)> {
        self.records.get(place.checked_sub(self.first())? as usize)
    }

    /// Forgets what lies before, but not which messages there were.
    fn cut(&mut self, place: u64) {
        let mut machine = Memory::default();
        let to = Rank(0);
        machine.restore(to, &self.before);
        let count = (place - self.before.last).min(self.written as u64) as usize;
        for (record, _) in self.records.drain(..count) {
            machine.found(to, &record);
        }
        self.written -= count;
        self.before = machine.summary(to);
    }

    /// For a mutant.
    fn sort_by_sender(&mut self) {
        let first = self.first();
        self.records.sort_by_key(|(record, _)| record.source);
        for (place, (record, _)) in (first..).zip(&mut self.records) {
            record.place = place;
        }
    }
}
