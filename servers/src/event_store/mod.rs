//! Event logs on disk: one append-only log per rank, in segments.
//!
//! Guarantees: what [`EventStore::flush`] confirmed is in the system's hands and survives the death
//! of this process; what was synced survives the loss of power; a failed write leaves the log as it
//! was before. At a restart torn ends are cut off, damage is reported and remembered (a file
//! `*.damaged` beside the log) until the machine says that the log is whole again.

mod log;
mod segment;

use crate::shell::PrivateDir;
use ftmpi_protocols::event_log::Found;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use log::RankLog;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file to be synced, whose it is, and which events will be durable then.
#[derive(Debug, Clone)]
pub struct Dirty {
    /// Whose.
    pub rank: Rank,
    /// Durable up to here, once all files of this rank are synced.
    pub up_to: EventNo,
    /// The files.
    pub files: Vec<Arc<File>>,
}

/// What [`EventStore::open`] gives.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: EventStore,
    /// What the machine must know of each log.
    pub found: Vec<(Rank, Found)>,
    /// What must be told to whoever watches.
    pub lines: Vec<String>,
}

/// All logs of one directory.
#[derive(Debug)]
pub struct EventStore {
    dir: PrivateDir,
    logs: BTreeMap<Rank, RankLog>,
    dirty: BTreeSet<Rank>,
}

impl EventStore {
    /// Takes the directory and finds what is there.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(path: &Path) -> anyhow::Result<Opened> {
        let dir = PrivateDir::take(path)?;
        let mut segments: BTreeMap<Rank, BTreeSet<EventNo>> = BTreeMap::new();
        let mut damaged: BTreeSet<Rank> = BTreeSet::new();
        for entry in std::fs::read_dir(path)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some((rank, first)) = log::parse_name(name) {
                segments.entry(rank).or_default().insert(first);
            } else if let Some(rank) = log::parse_damaged_name(name) {
                damaged.insert(rank);
                segments.entry(rank).or_default();
            }
        }
        let mut store = Self { dir, logs: BTreeMap::new(), dirty: BTreeSet::new() };
        let (mut found, mut lines) = (Vec::new(), Vec::new());
        for (rank, firsts) in segments {
            let (log, what) =
                RankLog::recover(path, rank, firsts, damaged.contains(&rank), &mut lines)?;
            found.push((rank, what));
            store.logs.insert(rank, log);
            store.dirty.insert(rank);
        }
        Ok(Opened { store, found, lines })
    }

    /// Takes records; they are in the file after the next [`EventStore::flush`].
    pub fn append(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        first: EventNo,
        records: &[Determinant],
    ) {
        // The machine has fenced before it appends, so the log is there.
        if let Some(log) = self.logs.get_mut(&rank) {
            log.append(incarnation, first, records);
        }
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// Nothing of it is in the file, and it is forgotten.
    pub fn flush(&mut self, rank: Rank) -> io::Result<()> {
        let Some(log) = self.logs.get_mut(&rank) else {
            return Err(io::Error::other("there is no such log"));
        };
        self.dirty.insert(rank);
        log.flush(self.dir.path())
    }

    /// Writes that this incarnation lives, making the log if there is none.
    ///
    /// # Errors
    /// It could not be written.
    pub fn fence(&mut self, rank: Rank, incarnation: Incarnation) -> io::Result<()> {
        let log = match self.logs.entry(rank) {
            std::collections::btree_map::Entry::Occupied(log) => log.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(RankLog::create(self.dir.path(), rank, EventNo(1))?)
            }
        };
        self.dirty.insert(rank);
        log.fence(self.dir.path(), incarnation)
    }

    /// Stored records from `from` on; at most `most`, at least one.
    ///
    /// # Errors
    /// They cannot be read, or are not what was written.
    pub fn read(&self, rank: Rank, from: EventNo, most: usize) -> io::Result<Vec<Determinant>> {
        match self.logs.get(&rank) {
            Some(log) => log.read(from, most),
            None => Err(io::Error::other("there is no such log")),
        }
    }

    /// Removes what lies wholly before this event.
    ///
    /// # Errors
    /// A new segment could not be begun; nothing is lost.
    pub fn prune(&mut self, rank: Rank, below: EventNo) -> io::Result<()> {
        match self.logs.get_mut(&rank) {
            Some(log) => log.prune(self.dir.path(), below),
            None => Ok(()),
        }
    }

    /// Throws the log away and begins a new one at this event.
    ///
    /// # Errors
    /// The new one could not be begun.
    pub fn restart(&mut self, rank: Rank, first: EventNo) -> io::Result<()> {
        self.dirty.insert(rank);
        match self.logs.get_mut(&rank) {
            Some(log) => log.restart(self.dir.path(), first),
            None => {
                self.logs.insert(rank, RankLog::create(self.dir.path(), rank, first)?);
                Ok(())
            }
        }
    }

    /// What must be synced to make everything written durable; it counts as done.
    pub fn take_dirty(&mut self) -> Vec<Dirty> {
        let dirty = std::mem::take(&mut self.dirty);
        dirty
            .into_iter()
            .filter_map(|rank| {
                let log = self.logs.get_mut(&rank)?;
                let (up_to, files) = log.take_unsynced();
                Some(Dirty { rank, up_to, files })
            })
            .collect()
    }

    /// Whether something is not durable yet.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// After a sync that failed: it is to be tried again.
    pub fn mark_dirty(&mut self, dirty: &Dirty) {
        if let Some(log) = self.logs.get_mut(&dirty.rank) {
            log.put_back_unsynced(&dirty.files);
            self.dirty.insert(dirty.rank);
        }
    }

    /// Bytes in all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.logs.values().map(RankLog::bytes).sum()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}
