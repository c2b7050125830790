//! The machine of the channel memory's server: where each frame is kept, and who must be told.
//!
//! Calling convention: call the methods with what happened (`hello`, `arrived`, `said`, `written`,
//! `lost`). Then drain [`Memory::next`] for each connection that they name until it returns `None`.
//! Queries never change state. The server moves the bytes.
//!
//! To each calling rank the memory acts as the peer that the rank wants to reach. It begins with
//! `Resume` (what it has of the caller) and drops duplicates by identity. `LogCut` names what the
//! caller need not keep any more. To the rank that it belongs to, it also gives the stream of all
//! puts, each frame behind a `Place`.
//!
//! Guarantees: places are contiguous from 1. Nothing is acknowledged or given to the reader before
//! [`Memory::written`]. An incarnation that is over is refused once a later one has called. There
//! is one connection for each caller and memory; a later one replaces the earlier.

use crate::event_log::ConnId;
use crate::received::Received;
use ftmpi_wire::header::{Kind, Received as WireReceived};
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Header, Incarnation, Rank, Ssn, control};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is known of a frame that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Its place in the order of its reader.
    pub place: u64,
    /// Who sent it.
    pub source: Rank,
    /// The incarnation of the rank.
    pub incarnation: Incarnation,
    /// Its envelope: a message, or the acknowledgement of one.
    pub header: Header,
}

impl Record {
    /// The frame that goes before it to its reader.
    #[must_use]
    pub fn announcement(&self) -> Header {
        Header {
            kind: Kind::Place,
            flags: 0,
            context: 0,
            tag: self.source.0 as i32,
            len: 0,
            ssn: Ssn(self.place),
        }
    }
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Append it, with its payload, to what this rank is to read.
    Keep(Rank, Record),
    /// It is there already: drop its payload.
    Drop,
    /// For [`Memory::said`], with its payload.
    Said,
    /// No memory can use it: the caller is to be sent away.
    Senseless,
}

/// Something for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// This frame.
    Frame(Header, Vec<u8>),
    /// What lies at this place of the caller's own memory, behind its announcement.
    Record(u64),
}

/// What must be known of everything before a place when the records themselves are gone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The last place that it covers.
    pub last: u64,
    /// What is there of each sender.
    pub received: Vec<(Rank, WireReceived)>,
    /// Their incarnations.
    pub incarnations: Vec<(Rank, Incarnation)>,
}

/// What is sent to one rank.
#[derive(Debug, Default)]
struct Home {
    /// Records up to here may be gone.
    base: u64,
    /// The last place that was given away.
    last: u64,
    /// Everything up to here is written.
    written: u64,
    /// What came from each sender, written or not.
    taken: BTreeMap<Rank, Received>,
    /// What is written of it.
    stored: BTreeMap<Rank, Received>,
    /// Sender and number of what is not written, from `written` on; no number: no message.
    unwritten: VecDeque<(Rank, Option<Ssn>)>,
    incarnations: BTreeMap<Rank, Incarnation>,
}

#[derive(Debug)]
struct Conn {
    from: Rank,
    to: Rank,
    incarnation: Incarnation,
    resume_due: bool,
    acknowledge_due: bool,
    /// Acknowledgements of matches that were put here, and their places.
    echoes: VecDeque<(u64, Ssn)>,
    /// The last place that the reader was given, once the reader has sent where to begin.
    given: Option<u64>,
}

/// The memories of several ranks.
#[derive(Debug, Default)]
pub struct Memory {
    homes: BTreeMap<Rank, Home>,
    conns: BTreeMap<ConnId, Conn>,
}

fn frame(kind: Kind, ssn: Ssn, payload: Vec<u8>) -> Say {
    let len = payload.len() as u64;
    Say::Frame(Header { kind, flags: 0, context: 0, tag: 0, len, ssn }, payload)
}

impl Memory {
    /// What an earlier run of the server had before its oldest record of this rank.
    pub fn restore(&mut self, to: Rank, summary: &Summary) {
        let received: BTreeMap<_, _> = summary
            .received
            .iter()
            .map(|(rank, wire)| (*rank, Received::from_wire(wire)))
            .collect();
        let home = Home {
            base: summary.last,
            last: summary.last,
            written: summary.last,
            taken: received.clone(),
            stored: received,
            unwritten: VecDeque::new(),
            incarnations: summary.incarnations.iter().copied().collect(),
        };
        self.homes.insert(to, home);
    }

    /// A record that an earlier run had written; in order.
    pub fn found(&mut self, to: Rank, record: &Record) {
        let home = self.homes.entry(to).or_default();
        home.last = record.place;
        home.written = record.place;
        let latest = home.incarnations.entry(record.source).or_default();
        *latest = record.incarnation.max(*latest);
        if record.header.kind == Kind::Eager {
            home.taken.entry(record.source).or_default().insert(record.header.ssn);
            home.stored.entry(record.source).or_default().insert(record.header.ssn);
        }
    }

    /// A caller has proved the key. The result includes the connections that it replaces.
    pub fn hello(
        &mut self,
        conn: ConnId,
        from: Rank,
        incarnation: Incarnation,
        to: Rank,
    ) -> (Welcome, Vec<ConnId>) {
        let home = self.homes.entry(to).or_default();
        let latest = home.incarnations.entry(from).or_default();
        if incarnation < *latest {
            return (Welcome::Stale, Vec::new());
        }
        *latest = incarnation;
        let replaced: Vec<_> = self
            .conns
            .iter()
            .filter(|(_, c)| (c.from, c.to) == (from, to))
            .map(|(id, _)| *id)
            .collect();
        for old in &replaced {
            self.conns.remove(old);
        }
        let new = Conn {
            from,
            to,
            incarnation,
            resume_due: true,
            acknowledge_due: false,
            echoes: VecDeque::new(),
            given: None,
        };
        self.conns.insert(conn, new);
        (Welcome::Yes, replaced)
    }

    /// Whether this connection is served.
    #[must_use]
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn)
    }

    /// A connection is gone.
    pub fn lost(&mut self, conn: ConnId) {
        self.conns.remove(&conn);
    }

    /// A frame begins.
    pub fn arrived(&mut self, conn: ConnId, header: &Header) -> Fate {
        let Some(caller) = self.conns.get_mut(&conn) else { return Fate::Senseless };
        let home = self.homes.entry(caller.to).or_default();
        let number = match header.kind {
            Kind::Eager => {
                if !home.taken.entry(caller.from).or_default().insert(header.ssn) {
                    caller.acknowledge_due = true;
                    return Fate::Drop;
                }
                Some(header.ssn)
            }
            Kind::SyncAck => {
                caller.echoes.push_back((home.last + 1, header.ssn));
                None
            }
            Kind::Resume | Kind::LogCut => return Fate::Said,
            _ => return Fate::Senseless,
        };
        home.last += 1;
        home.unwritten.push_back((caller.from, number));
        let record = Record {
            place: home.last,
            source: caller.from,
            incarnation: caller.incarnation,
            header: *header,
        };
        Fate::Keep(caller.to, record)
    }

    /// A frame for the memory itself. A place: the rank's records up to there are needed no more.
    pub fn said(&mut self, conn: ConnId, header: &Header, payload: &[u8]) -> Option<(Rank, u64)> {
        let caller = self.conns.get_mut(&conn).filter(|caller| caller.from == caller.to)?;
        let wire: WireReceived = control::decode(payload).ok()?;
        let home = self.homes.entry(caller.to).or_default();
        let cut = if header.kind == Kind::Resume {
            caller.given = Some(wire.contiguous.0);
            wire.replies.0
        } else {
            wire.contiguous.0
        };
        if cut <= home.base || cut > home.written {
            return None;
        }
        home.base = cut;
        Some((caller.to, cut))
    }

    /// Everything of this rank up to this place is in its file. The result: connections with
    /// something to send.
    pub fn written(&mut self, to: Rank, place: u64) -> Vec<ConnId> {
        let Some(home) = self.homes.get_mut(&to) else { return Vec::new() };
        let mut senders = BTreeSet::new();
        while home.written < place.min(home.last) {
            let (source, number) = home.unwritten.pop_front().expect("one for each place");
            home.written += 1;
            senders.insert(source);
            if let Some(ssn) = number {
                home.stored.entry(source).or_default().insert(ssn);
            }
        }
        let mut told = Vec::new();
        for (id, caller) in self.conns.iter_mut().filter(|(_, caller)| caller.to == to) {
            if senders.contains(&caller.from) {
                caller.acknowledge_due = true;
                told.push(*id);
            } else if caller.from == to {
                told.push(*id);
            }
        }
        told
    }

    /// The next frame for this caller, if there is one.
    pub fn next(&mut self, conn: ConnId) -> Option<Say> {
        let caller = self.conns.get_mut(&conn)?;
        let home = self.homes.get(&caller.to)?;
        let of_caller = || home.stored.get(&caller.from).cloned().unwrap_or_default();
        if caller.resume_due {
            let has = of_caller();
            caller.resume_due = false;
            return Some(frame(Kind::Resume, Ssn(0), control::encode(&has.to_wire())));
        }
        if caller.acknowledge_due {
            let has = of_caller();
            caller.acknowledge_due = false;
            return Some(frame(Kind::LogCut, Ssn(0), control::encode(&has.to_wire())));
        }
        if let Some(&(place, ssn)) = caller.echoes.front()
            && place <= home.written
        {
            caller.echoes.pop_front();
            return Some(frame(Kind::SyncAck, ssn, Vec::new()));
        }
        let given = caller.given.as_mut()?;
        // If the reader asks for records that are gone, it sees the hole.
        *given = (*given).max(home.base);
        (*given < home.written).then(|| {
            *given += 1;
            Say::Record(*given)
        })
    }

    /// Everything that was taken so far, for the begin of a file.
    #[must_use]
    pub fn summary(&self, to: Rank) -> Summary {
        let Some(home) = self.homes.get(&to) else { return Summary::default() };
        Summary {
            last: home.last,
            received: home.taken.iter().map(|(rank, has)| (*rank, has.to_wire())).collect(),
            incarnations: home.incarnations.iter().map(|(rank, latest)| (*rank, *latest)).collect(),
        }
    }

    /// Rank, places that may be gone, places that are written.
    pub fn ranks(&self) -> impl Iterator<Item = (Rank, u64, u64)> {
        self.homes.iter().map(|(rank, home)| (*rank, home.base, home.written))
    }
}
