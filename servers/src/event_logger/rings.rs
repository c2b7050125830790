//! Event rings ([`ftmpi_transport::event_ring`]): ranks of this host store their events in files of
//! the logger's directory that both have mapped, and do not wait.
//!
//! An event in a ring counts as written. Therefore the logger carries a ring into the log before it
//! tells anybody about that rank, and before a round makes logs durable. All rings are sealed for
//! that moment, so the round is one instant of the rings, too. A ring ends with its connection: it
//! is sealed, carried over, removed. The next logger finds the rings of a dead one in the
//! directory. If the log cannot be written, the ring stays until it can. Until then the rank gets
//! no later incarnation, and nothing is called durable.

use super::core::Core;
use super::link::Link;
use crate::event_store::boot_id;
use crate::private_directory::create_private;
use anyhow::Context;
use ftmpi_protocols::event_log::{ConnId, Input};
use ftmpi_transport::event_ring::Reader;
use ftmpi_wire::event_log::{Frame, RECORDS_MAX};
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The extension of the files of rings.
const ENDING: &str = "ring";
/// Numbers of connections that exist only to carry a ring over. Real connections are numbered from
/// 1.
const OWN_CONNECTIONS: u64 = 1 << 62;

#[derive(Debug)]
struct Ring {
    conn: ConnId,
    incarnation: Incarnation,
    reader: Reader,
    path: PathBuf,
    /// The last event that was taken from the ring.
    last: EventNo,
    /// The connection of the ring is over.
    retired: bool,
    /// Why the ring cannot be read.
    broken: Option<String>,
}

/// Events that a rank stored in a ring, and that its log lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OwedEvents {
    /// The ring cannot be read.
    #[error("the last events of rank {rank} are damaged ({why}, in {})", .path.display())]
    Damaged {
        /// The rank.
        rank: Rank,
        /// The problem.
        why: String,
        /// The file of the ring.
        path: PathBuf,
    },
    /// The log cannot be written.
    #[error(
        "the event logger cannot write the last events of rank {rank} into its log in {}; make room \
         there", .directory.display()
    )]
    Unwritten {
        /// The rank.
        rank: Rank,
        /// The directory of the logs.
        directory: PathBuf,
    },
}

/// Events that follow each other, from any number of frames.
struct Batch {
    first: EventNo,
    clock: EventNo,
    records: Vec<Determinant>,
}

impl Batch {
    fn takes(&self, next: EventNo, count: usize) -> bool {
        let here = self.records.len();
        here > 0
            && count > 0
            && here + count <= RECORDS_MAX
            && self.first.0.checked_add(here as u64) == Some(next.0)
    }
}

/// All rings.
#[derive(Debug)]
pub(super) struct Rings {
    dir: PathBuf,
    made: u64,
    rings: BTreeMap<Rank, Vec<Ring>>,
    boot: String,
    bytes: Vec<u8>,
    /// Events that were taken from rings.
    pub events: u64,
}

impl Rings {
    /// Finds the rings that an earlier logger has left in the directory.
    ///
    /// # Errors
    /// A ring cannot be opened (no descriptor, no memory), or is damaged. Without it the log of its
    /// rank would end too early, and the rank would take another course than others have seen. The
    /// start is to be tried again.
    pub fn find(dir: &Path) -> anyhow::Result<Self> {
        let mut found = Self {
            dir: dir.to_owned(),
            made: 0,
            rings: BTreeMap::new(),
            boot: boot_id(),
            bytes: Vec::new(),
            events: 0,
        };
        let about = || format!("event rings in {}", dir.display());
        for entry in std::fs::read_dir(dir).with_context(about)? {
            let path = entry.with_context(about)?.path();
            if path.extension().is_none_or(|end| end != ENDING) {
                continue;
            }
            let number = path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
            found.made = found.made.max(number.unwrap_or(0));
            let opened = File::options().read(true).write(true).open(&path);
            let opened = opened.and_then(|file| Reader::open(file, &found.boot));
            let opened = opened.with_context(|| {
                format!("{}, which may hold the last events of a rank", path.display())
            });
            match opened? {
                Some((reader, rank, incarnation)) => {
                    let conn = ConnId(OWN_CONNECTIONS + number.unwrap_or(0));
                    let last = EventNo(0);
                    let (retired, broken) = (true, None);
                    let ring = Ring { conn, incarnation, reader, path, last, retired, broken };
                    found.rings.entry(rank).or_default().push(ring);
                }
                None => {
                    let _ = std::fs::remove_file(&path);
                }
            }
        }
        for rings in found.rings.values_mut() {
            rings.sort_by_key(|ring| (ring.incarnation, ring.conn));
        }
        Ok(found)
    }

    fn ranks(&self) -> Vec<Rank> {
        self.rings.keys().copied().collect()
    }
}

impl Core {
    /// Makes a ring for this connection, and the frame that offers it. `None`: there is no room for
    /// one, and the connection serves as well.
    pub fn begin_ring(
        &mut self,
        conn: ConnId,
        rank: Rank,
        incarnation: Incarnation,
    ) -> Option<Frame> {
        let rings = &mut self.rings;
        rings.made += 1;
        let path = rings.dir.join(format!("{}.{ENDING}", rings.made));
        let cookie = RandomState::new().hash_one((rings.made, rank));
        let file = create_private(&path).ok()?;
        let Ok(reader) = Reader::make(file, cookie, rank, incarnation, &rings.boot) else {
            let _ = std::fs::remove_file(&path);
            return None;
        };
        let (process, descriptor) = (std::process::id(), reader.descriptor() as u32);
        let (last, retired, broken) = (EventNo(0), false, None);
        let ring = Ring { conn, incarnation, reader, path, last, retired, broken };
        rings.rings.entry(rank).or_default().push(ring);
        Some(Frame::EventRing { process, descriptor, cookie })
    }

    /// Takes the events in the rings of a rank. [`Core::flush`] writes them.
    pub fn drain(&mut self, rank: Rank) {
        let count = self.rings.rings.get(&rank).map_or(0, Vec::len);
        (0..count).for_each(|index| self.drain_one(rank, index));
    }

    /// Takes the events in all rings.
    pub fn drain_all(&mut self) {
        self.rings.ranks().into_iter().for_each(|rank| self.drain(rank));
    }

    /// Takes the events in all rings at one instant, and writes them. Until [`Core::unseal`] nobody
    /// stores in them.
    pub fn seal_and_drain(&mut self) {
        self.rings.rings.values().flatten().for_each(|ring| ring.reader.seal());
        self.drain_all();
        self.flush();
    }

    pub fn unseal(&mut self) {
        let live = self.rings.rings.values().flatten().filter(|ring| !ring.retired);
        live.for_each(|ring| ring.reader.unseal());
    }

    fn drain_one(&mut self, rank: Rank, index: usize) {
        let mut bytes = std::mem::take(&mut self.rings.bytes);
        bytes.clear();
        let Some(ring) = self.rings.rings.get_mut(&rank).and_then(|all| all.get_mut(index)) else {
            return;
        };
        let conn = ring.conn;
        let mut broken = ring.broken.clone();
        if broken.is_none()
            && let Err(error) = ring.reader.take(&mut bytes)
        {
            broken = Some(error.to_string());
        }
        let (mut at, mut last, mut events) = (0, EventNo(0), 0);
        let mut batch: Option<Batch> = None;
        while broken.is_none() && at < bytes.len() {
            match Frame::decode(&bytes[at..]) {
                Ok(Some((Frame::Append { first, clock, records }, taken))) => {
                    at += taken;
                    events += records.len() as u64;
                    last = EventNo(first.0.saturating_add(records.len() as u64).saturating_sub(1));
                    // Most frames hold one event: the machine is given many at once.
                    match &mut batch {
                        Some(batch) if batch.takes(first, records.len()) => {
                            batch.clock = clock;
                            batch.records.extend(records);
                        }
                        _ => {
                            let full = batch.replace(Batch { first, clock, records });
                            self.feed_batch(conn, full);
                        }
                    }
                }
                Ok(Some(_)) => broken = Some("it is no event".to_owned()),
                Ok(None) => broken = Some("an event is not whole".to_owned()),
                Err(error) => broken = Some(error.to_string()),
            }
        }
        self.feed_batch(conn, batch);
        self.rings.events += events;
        self.rings.bytes = bytes;
        if let Some(why) = &broken {
            self.feed(Input::Malformed { conn, why: format!("in its event ring: {why}") });
        }
        if let Some(ring) = self.rings.rings.get_mut(&rank).and_then(|all| all.get_mut(index)) {
            ring.last = ring.last.max(last);
            ring.broken = broken;
        }
    }

    fn feed_batch(&mut self, conn: ConnId, batch: Option<Batch>) {
        if let Some(Batch { first, clock, records }) = batch {
            let frame = Frame::Append { first, clock, records };
            self.feed(Input::Frame { conn, frame });
        }
    }

    /// After a flush: gives back the room of what is written. The rest is taken again.
    pub(super) fn settle_rings(&mut self) {
        for (rank, rings) in &mut self.rings.rings {
            for ring in rings.iter_mut().filter(|ring| ring.reader.is_owing()) {
                // A damaged ring stays as it is: a later logger must find it, too.
                if ring.broken.is_none() && self.machine.written(*rank) >= ring.last {
                    ring.reader.give_back();
                } else {
                    ring.reader.take_again();
                }
            }
        }
    }

    /// Ends the rings of this rank. Their events go into its log before its connection is given up
    /// or another one is welcomed.
    ///
    /// # Errors
    /// An event in them is not in the log, so nobody may hear what this rank has done.
    pub fn retire_rings(&mut self, rank: Rank) -> Result<(), Welcome> {
        for ring in self.rings.rings.get_mut(&rank).into_iter().flatten() {
            ring.reader.seal();
            ring.retired = true;
        }
        while let Some(ring) = self.rings.rings.get(&rank).and_then(|rings| rings.first()) {
            let (conn, incarnation) = (ring.conn, ring.incarnation);
            self.drain_one(rank, 0);
            self.flush();
            if self.is_owed(rank) {
                // The connection of the ring is closed: another one of the same incarnation carries
                // the ring over.
                let link = Rc::new(Link::default());
                self.rings.made += 1;
                let own = ConnId(OWN_CONNECTIONS + self.rings.made);
                self.links.insert(own, link.clone());
                self.feed(Input::Hello { conn: own, rank, incarnation });
                let welcome = link.take_welcome();
                if welcome == Some(Welcome::Stale) {
                    // A later incarnation was welcomed before this ring was made: nobody has used
                    // the ring.
                    if let Some(ring) = self.rings.rings.get_mut(&rank).and_then(|r| r.first_mut())
                    {
                        (ring.last, ring.broken) = (EventNo(0), None);
                    }
                }
                if welcome == Some(Welcome::Yes) {
                    if let Some(ring) = self.rings.rings.get_mut(&rank).and_then(|r| r.first_mut())
                    {
                        ring.conn = own;
                    }
                    self.drain_one(rank, 0);
                    self.flush();
                }
                self.feed(Input::Lost { conn: own });
                self.forget(own);
                if let Some(ring) = self.rings.rings.get_mut(&rank).and_then(|r| r.first_mut()) {
                    ring.conn = conn;
                }
            }
            let first = self.rings.rings.get(&rank).and_then(|rings| rings.first());
            let Some(ring) = first else { break };
            if let Some(why) = self.owes(rank, ring) {
                return Err(match why {
                    OwedEvents::Damaged { .. } => {
                        Welcome::No(format!("{why}; the rank cannot be restarted"))
                    }
                    OwedEvents::Unwritten { .. } => Welcome::Later(why.to_string()),
                });
            }
            let _ = std::fs::remove_file(&ring.path);
            let Some(rings) = self.rings.rings.get_mut(&rank) else { break };
            rings.remove(0);
            if rings.is_empty() {
                self.rings.rings.remove(&rank);
            }
        }
        Ok(())
    }

    /// A connection is over, and its ring with it.
    pub fn end_ring(&mut self, conn: ConnId, rank: Rank) {
        let of = self.rings.rings.get(&rank).into_iter().flatten();
        if of.into_iter().any(|ring| ring.conn == conn) {
            // What cannot be written now is tried again before the next incarnation is welcomed.
            let _ = self.retire_rings(rank);
        }
    }

    /// Why an event of this ring is not in the log of its rank, if one is not. To be asked after
    /// the ring is drained and the log written.
    fn owes(&self, rank: Rank, ring: &Ring) -> Option<OwedEvents> {
        if let Some(why) = &ring.broken {
            let (why, path) = (why.clone(), ring.path.clone());
            return Some(OwedEvents::Damaged { rank, why, path });
        }
        (ring.last > self.machine.written(rank))
            .then(|| OwedEvents::Unwritten { rank, directory: self.rings.dir.clone() })
    }

    /// Why an event of any ring is in no log, if one is not. To be asked after all rings are
    /// drained and the logs written.
    pub fn owed(&self) -> Option<OwedEvents> {
        let mut rings =
            self.rings.rings.iter().flat_map(|(rank, all)| all.iter().map(|r| (*rank, r)));
        rings.find_map(|(rank, ring)| self.owes(rank, ring))
    }

    /// Carries over what is left in rings whose connection is over: their ranks may never return.
    ///
    /// # Errors
    /// An event of any ring is in no log.
    pub fn settle_owed(&mut self) -> Result<(), OwedEvents> {
        let over = |rings: &Vec<Ring>| rings.first().is_some_and(|ring| ring.retired);
        let ranks: Vec<Rank> =
            self.rings.rings.iter().filter(|(_, all)| over(all)).map(|(rank, _)| *rank).collect();
        for rank in ranks {
            let _ = self.retire_rings(rank);
        }
        self.owed().map_or(Ok(()), Err)
    }

    fn is_owed(&self, rank: Rank) -> bool {
        let first = self.rings.rings.get(&rank).and_then(|rings| rings.first());
        first.is_some_and(|ring| ring.broken.is_none() && ring.last > self.machine.written(rank))
    }

    /// Ends the rings that earlier loggers have left.
    pub fn retire_found(&mut self) -> Vec<String> {
        let ranks = self.rings.ranks();
        let ended = ranks.into_iter().map(|rank| self.retire_rings(rank));
        ended
            .filter_map(|outcome| match outcome {
                Err(Welcome::No(why) | Welcome::Later(why)) => Some(why),
                _ => None,
            })
            .collect()
    }
}
