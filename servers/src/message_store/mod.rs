//! Files of a channel memory: for each rank the messages to it, in order.
//!
//! Guarantees: a record counts as written when the system has taken all of it. A process that
//! starts on the directory again finds every such record of this boot of the system. Main memory is
//! bounded: records that their receiver has not taken stay there while there is room, and are read
//! from their file otherwise. What is cut is removed file by file.

mod rank_messages;
mod segment;

use crate::files::Files;
use crate::private_directory::PrivateDir;
use anyhow::{Context, bail};
use ftmpi_protocols::channel_memory::{Memory, Record, Summary};
use ftmpi_wire::Rank;
use rank_messages::{RankMessages, Written};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Counters since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records and bytes of payload that were stored.
    pub records: u64,
    #[allow(missing_docs)]
    pub bytes: u64,
    /// Bytes that left main memory before their receiver took them.
    pub spilled: u64,
    /// Bytes that were read from files.
    pub reread: u64,
}

/// The messages of one channel memory.
#[derive(Debug)]
pub struct MessageStore {
    dir: PrivateDir,
    files: Files,
    ranks_messages: BTreeMap<Rank, RankMessages>,
    /// Bytes of payload in main memory.
    held: u64,
    limit: u64,
    counts: Counts,
    /// The next file could not be made.
    rollover_failed: bool,
    /// Lines for the administrator.
    lines: Vec<String>,
}

/// Files that are to be made durable.
#[derive(Clone)]
pub struct Unsynced {
    files: Vec<(Rank, Vec<Written>)>,
    all: Files,
    dir: std::path::PathBuf,
}

impl Unsynced {
    /// Makes the files durable.
    ///
    /// # Errors
    /// Nobody knows what is durable.
    pub fn sync(&self) -> io::Result<()> {
        let mut files = self.files.iter().flat_map(|(_, files)| files);
        files.try_for_each(|(file, bytes)| file.sync_first(*bytes))?;
        self.all.sync_dir(&self.dir)
    }
}

impl MessageStore {
    /// Opens the directory and tells the machine what is there.
    ///
    /// # Errors
    /// The directory is in use, cannot be read, or is of an earlier boot of the system.
    pub fn open(path: &Path, limit: u64, boot: &str, machine: &mut Memory) -> anyhow::Result<Self> {
        Self::open_with(path, Files::default(), limit, boot, machine)
    }

    /// As [`MessageStore::open`], through these files.
    fn open_with(
        path: &Path,
        files: Files,
        limit: u64,
        boot: &str,
        machine: &mut Memory,
    ) -> anyhow::Result<Self> {
        let dir = PrivateDir::take(path)?;
        let mark = path.join("boot");
        let known = std::fs::read_to_string(&mark).unwrap_or_default();
        let mut firsts: BTreeMap<Rank, BTreeSet<u64>> = BTreeMap::new();
        for entry in std::fs::read_dir(path)? {
            if let Some((rank, last)) =
                entry?.file_name().to_str().and_then(rank_messages::parse_name)
            {
                firsts.entry(rank).or_default().insert(last);
            }
        }
        if !known.is_empty() && known != boot && !firsts.is_empty() {
            bail!(
                "the messages in {} were stored before this computer was restarted: what had not \
                 reached its disk is lost, and with it the order of messages; a job under the \
                 protocol channel-memory cannot be continued after that",
                path.display()
            );
        }
        std::fs::write(&mark, boot).with_context(|| mark.display().to_string())?;
        let mut lines = Vec::new();
        let mut ranks_messages = BTreeMap::new();
        for (rank, lasts) in firsts {
            if let Some(messages) =
                RankMessages::recover(path, &files, rank, lasts, machine, &mut lines)?
            {
                ranks_messages.insert(rank, messages);
            }
        }
        let (counts, rollover_failed) = (Counts::default(), false);
        Ok(Self { dir, files, ranks_messages, held: 0, limit, counts, rollover_failed, lines })
    }

    /// The lines for the administrator since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Takes a record. It is in no file before [`MessageStore::flush`].
    pub fn append(&mut self, to: Rank, record: Record, payload: Rc<[u8]>) {
        self.counts.records += 1;
        self.counts.bytes += payload.len() as u64;
        self.held += payload.len() as u64;
        self.ranks_messages
            .entry(to)
            .or_insert_with(|| RankMessages::new(to))
            .append(record, payload);
    }

    /// Ranks with records that are in no file.
    pub fn unwritten(&self) -> impl Iterator<Item = Rank> + '_ {
        self.ranks_messages
            .iter()
            .filter(|(_, messages)| messages.has_unwritten())
            .map(|(rank, _)| *rank)
    }

    /// Writes all records of a rank. Returns the last place that is written.
    ///
    /// # Errors
    /// The disk is full, or fails. The rest is kept, to be written later.
    pub fn flush(&mut self, to: Rank, summary: impl Fn() -> Summary) -> io::Result<u64> {
        let Some(messages) = self.ranks_messages.get_mut(&to) else { return Ok(0) };
        let written = messages.flush(self.dir.path(), &self.files);
        while self.held > self.limit
            && let Some(bytes) = messages.spill()
        {
            self.held -= bytes;
            self.counts.spilled += bytes;
        }
        let written = written?;
        // Everything is written, whether the next file can be made now or only after the next
        // flush.
        if messages.is_full() {
            let begun = messages.begin_part(self.dir.path(), &self.files, &summary());
            if let Err(error) = &begun
                && !self.rollover_failed
            {
                self.lines.push(format!(
                    "no further file can be begun in {}, the last ones grow: {error}",
                    self.dir.path().display()
                ));
            }
            self.rollover_failed = begun.is_err();
        }
        Ok(written)
    }

    /// The record at a place, for its receiver, who takes records in order.
    ///
    /// # Errors
    /// The record is damaged or missing.
    pub fn take(&mut self, to: Rank, place: u64) -> io::Result<(Record, Rc<[u8]>)> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "there is no such record");
        let messages = self.ranks_messages.get_mut(&to).ok_or_else(gone)?;
        self.held -= messages.forget_before(place);
        if let Some((record, payload)) = messages.take_held(place) {
            self.held -= payload.len() as u64;
            return Ok((record, payload));
        }
        let (record, payload) = messages.read(place)?;
        self.counts.reread += payload.len() as u64;
        Ok((record, payload))
    }

    /// Records up to this place are no longer needed.
    pub fn cut(&mut self, to: Rank, place: u64, summary: &Summary) -> io::Result<()> {
        match self.ranks_messages.get_mut(&to) {
            Some(messages) => messages.cut(self.dir.path(), &self.files, place, summary),
            None => Ok(()),
        }
    }

    /// The files that are not durable. The caller makes them so.
    pub fn take_unsynced(&mut self) -> Unsynced {
        let files = self
            .ranks_messages
            .iter_mut()
            .map(|(rank, messages)| (*rank, messages.take_unsynced()))
            .collect();
        Unsynced { files, all: self.files.clone(), dir: self.dir.path().to_owned() }
    }

    /// [`Unsynced::sync`] failed: the files are not durable.
    pub fn put_back_unsynced(&mut self, unsynced: &Unsynced) {
        for (rank, files) in &unsynced.files {
            if let Some(messages) = self.ranks_messages.get_mut(rank) {
                messages.put_back_unsynced(files);
            }
        }
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes in files, and bytes of payload in main memory.
    #[must_use]
    pub fn sizes(&self) -> (u64, u64) {
        (self.ranks_messages.values().map(RankMessages::bytes).sum(), self.held)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Op;
    use crate::storage_faults::Switch;
    use ftmpi_protocols::channel_memory::Fate;
    use ftmpi_protocols::event_log::ConnId;
    use ftmpi_wire::{Header, Incarnation, Ssn, header::Kind};
    use std::sync::Arc;

    const TO: Rank = Rank(3);
    const CONN: ConnId = ConnId(1);

    fn put(machine: &mut Memory, store: &mut MessageStore, ssn: u64, bytes: usize) {
        let len = bytes as u64;
        let header = Header { kind: Kind::Eager, flags: 0, context: 0, tag: 1, len, ssn: Ssn(ssn) };
        let Fate::Keep(to, record) = machine.arrived(CONN, &header) else { panic!() };
        store.append(to, record, Rc::from(vec![ssn as u8; bytes]));
    }

    fn open(path: &Path, limit: u64, boot: &str) -> anyhow::Result<(Memory, MessageStore)> {
        open_with(path, Files::default(), limit, boot)
    }

    fn open_with(
        path: &Path,
        files: Files,
        limit: u64,
        boot: &str,
    ) -> anyhow::Result<(Memory, MessageStore)> {
        let mut machine = Memory::default();
        let store = MessageStore::open_with(path, files, limit, boot, &mut machine)?;
        machine.hello(CONN, Rank(0), Incarnation(0), TO);
        Ok((machine, store))
    }

    fn files_of_messages(path: &Path) -> Vec<std::path::PathBuf> {
        let paths = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "messages")).collect()
    }

    #[test]
    fn what_was_written_is_found_again_in_order_and_what_was_cut_is_remembered_as_had() {
        let dir = tempfile::tempdir().unwrap();
        let (mut machine, mut store) = open(dir.path(), 1000, "a").unwrap();
        for ssn in 1..=100 {
            put(&mut machine, &mut store, ssn, 400_000);
            let written = store.flush(TO, || machine.summary(TO)).unwrap();
            machine.written(TO, written);
        }
        // Nearly all records left main memory, and are read again.
        assert!(store.sizes().1 <= 400_000 && store.counts().spilled > 39_000_000);
        for place in 1..=100 {
            let (record, payload) = store.take(TO, place).unwrap();
            assert_eq!((record.place, record.header.ssn), (place, Ssn(place)));
            assert!(payload.len() == 400_000 && payload.iter().all(|&b| b == place as u8));
        }
        store.cut(TO, 90, &machine.summary(TO)).unwrap();
        assert!(store.sizes().0 < 40_000_000);
        drop(store);
        let (mut machine, mut store) = open(dir.path(), 1000, "a").unwrap();
        assert_eq!(store.take(TO, 95).unwrap().0.header.ssn, Ssn(95));
        let again = Header { ssn: Ssn(2), ..store.take(TO, 96).unwrap().0.header };
        assert_eq!(machine.arrived(CONN, &again), Fate::Drop);
        put(&mut machine, &mut store, 101, 5);
        store.flush(TO, || machine.summary(TO)).unwrap();
        assert_eq!(store.take(TO, 101).unwrap().1.len(), 5);
        drop(store);
        assert!(open(dir.path(), 1000, "b").unwrap_err().to_string().contains("restarted"));
    }

    #[test]
    fn a_torn_end_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let (mut machine, mut store) = open(dir.path(), 1000, "a").unwrap();
        for ssn in 1..=3 {
            put(&mut machine, &mut store, ssn, 10);
        }
        store.flush(TO, || machine.summary(TO)).unwrap();
        let bytes = store.sizes().0;
        drop(store);
        let file = files_of_messages(dir.path()).remove(0);
        let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
        file.set_len(bytes - 3).unwrap();
        let (mut machine, mut store) = open(dir.path(), 1000, "a").unwrap();
        put(&mut machine, &mut store, 3, 10);
        assert_eq!(store.flush(TO, || machine.summary(TO)).unwrap(), 3);
        assert_eq!(store.take(TO, 3).unwrap().0.header.ssn, Ssn(3));
    }

    /// What was taken is written: it counts, and leaves main memory. The next file comes when there
    /// is room.
    #[test]
    fn a_file_that_cannot_be_begun_holds_nothing_up() {
        let dir = tempfile::tempdir().unwrap();
        let switch = Arc::new(Switch::new(|op| matches!(op, Op::Create(_))));
        let files = Files::watched(switch.clone());
        let (mut machine, mut store) = open_with(dir.path(), files, 1000, "a").unwrap();
        let mut said = Vec::new();
        for ssn in 1..=30 {
            put(&mut machine, &mut store, ssn, 1 << 20);
            let written = store.flush(TO, || machine.summary(TO)).unwrap();
            assert_eq!(written, ssn);
            assert!(store.sizes().1 <= 1000, "it stays in main memory");
            said.extend(store.take_lines());
            switch.set((1..25).contains(&ssn));
        }
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(files_of_messages(dir.path()).len(), 2);
        drop(store);
        let (_, mut store) = open(dir.path(), 1000, "a").unwrap();
        assert_eq!(store.take_lines(), [""; 0]);
        for place in 1..=30 {
            assert_eq!(store.take(TO, place).unwrap().1[0], place as u8);
        }
    }

    #[test]
    fn a_reader_goes_on_behind_a_file_that_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let (mut machine, mut store) = open(dir.path(), 1000, "a").unwrap();
        for ssn in 1..=20 {
            put(&mut machine, &mut store, ssn, 1 << 20);
            store.flush(TO, || machine.summary(TO)).unwrap();
        }
        assert_eq!(files_of_messages(dir.path()).len(), 2);
        // The last one of the first file.
        for place in 1..=16 {
            store.take(TO, place).unwrap();
        }
        store.cut(TO, 16, &machine.summary(TO)).unwrap();
        assert_eq!(files_of_messages(dir.path()).len(), 1);
        for place in 17..=20 {
            assert_eq!(store.take(TO, place).unwrap().1[0], place as u8);
        }
    }

    /// However much memory the record asks for.
    #[test]
    fn a_record_whose_length_changed_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let (mut machine, mut store) = open(dir.path(), 5, "a").unwrap();
        put(&mut machine, &mut store, 1, 10);
        store.flush(TO, || machine.summary(TO)).unwrap();
        let path = files_of_messages(dir.path()).remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        let head = bytes.len() - 10 - segment::RECORD_BYTES;
        let begin: [u8; segment::RECORD_BYTES] = *bytes[head..].first_chunk().unwrap();
        let (mut record, _) = segment::read_head(&begin).unwrap();
        record.header.len = 1 << 47;
        bytes.splice(head..head + begin.len(), segment::record_head(&record, &[]));
        std::fs::write(&path, bytes).unwrap();
        let error = store.take(TO, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
}
