//! The log of one rank: its segments, its write buffer, and an index of its events.

mod recovery;

pub(super) use recovery::{Evidence, Recovered};

use super::part::Part;
use super::segment::{self, BATCH_BYTES, BATCH_RECORDS_MAX, Batch, HEADER_BYTES};
use crate::files::{Files, StoreFile};
use crate::tuning::event_log::{INDEX_BYTES, PRUNE_BYTES, RESERVE_BYTES, SEGMENT_BYTES};
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) fn name(rank: Rank, first: EventNo) -> String {
    format!("r{:010}-{:020}.events", rank.0, first.0)
}

fn damaged_name(rank: Rank, of: &str) -> String {
    format!("r{:010}-{of}.damaged", rank.0)
}

pub(super) fn parse_name(name: &str) -> Option<(Rank, EventNo)> {
    let (rank, first) = name.strip_prefix('r')?.strip_suffix(".events")?.split_once('-')?;
    Some((Rank(rank.parse().ok()?), EventNo(first.parse().ok()?)))
}

/// Whose log is damaged, and from which event on.
pub(super) fn parse_damaged_name(name: &str) -> Option<(Rank, EventNo)> {
    let (rank, of) = name.strip_prefix('r')?.strip_suffix(".damaged")?.split_once('-')?;
    Some((Rank(rank.parse().ok()?), EventNo(of.parse().unwrap_or(u64::MAX))))
}

/// The directory of the logs, and the way to change it.
#[derive(Debug, Clone)]
pub(super) struct LogDir {
    pub dir: PathBuf,
    pub files: Files,
}

#[derive(Debug)]
struct Segment {
    file: Arc<StoreFile>,
    path: PathBuf,
    first: EventNo,
    bytes: u64,
    /// Sparse: the batch that begins with this event begins at this byte.
    index: Vec<(EventNo, u64)>,
}

impl Segment {
    fn create(log_dir: &LogDir, rank: Rank, first: EventNo) -> io::Result<Self> {
        let path = log_dir.dir.join(name(rank, first));
        // Such a file is left over from a first write that failed.
        if path.exists() {
            log_dir.files.remove(&path)?;
        }
        let file = log_dir.files.create(&path)?;
        if let Err(error) = file.write_all_at(&segment::header(rank, first), 0) {
            let _ = log_dir.files.remove(&path);
            return Err(error);
        }
        let bytes = HEADER_BYTES as u64;
        Ok(Self { file: Arc::new(file), path, first, bytes, index: Vec::new() })
    }

    fn add_to_index(&mut self, first: EventNo, at: u64) {
        if self.index.last().is_none_or(|(_, last)| at - last >= INDEX_BYTES) {
            self.index.push((first, at));
        }
    }
}

/// The log of one rank.
#[derive(Debug)]
pub(super) struct RankLog {
    rank: Rank,
    incarnation: Incarnation,
    /// Oldest first. There is at least one; the last is written to.
    segments: Vec<Segment>,
    /// Number after the last event in the file.
    next: EventNo,
    /// Encoded records that are not in the file yet. They begin at `next`.
    buffer: Vec<u8>,
    /// Files with bytes that are not synced.
    unsynced: Vec<Arc<StoreFile>>,
    /// The directory has names that are not synced.
    new_names: bool,
    /// Files that mark the log as damaged. They are removed when the log is complete again.
    markers: Vec<PathBuf>,
    /// The last write failed: room must be proved before the log takes more.
    failed: bool,
    /// The log is to be restarted at this event, and the first attempt failed. The next fence tries
    /// again, and nothing is written before. Until then the old log stays.
    restart_at: Option<EventNo>,
}

impl RankLog {
    pub fn create(log_dir: &LogDir, rank: Rank, first: EventNo) -> io::Result<Self> {
        let segment = Segment::create(log_dir, rank, first)?;
        Ok(Self {
            rank,
            incarnation: Incarnation(0),
            unsynced: vec![segment.file.clone()],
            segments: vec![segment],
            next: first,
            buffer: Vec::new(),
            new_names: true,
            markers: Vec::new(),
            failed: false,
            restart_at: None,
        })
    }

    pub fn append(&mut self, incarnation: Incarnation, first: EventNo, records: &[Determinant]) {
        if self.restart_at.is_some() {
            // The caller does not know of the failure yet. The next flush reports that they are
            // lost.
            return;
        }
        debug_assert_eq!(
            first.0,
            self.next.0 + (self.buffer.len() / Determinant::BYTES) as u64,
            "the machine gives contiguous events"
        );
        self.incarnation = incarnation;
        self.buffer.reserve(records.len() * Determinant::BYTES);
        for record in records {
            self.buffer.extend_from_slice(&record.encode());
        }
    }

    pub fn flush(&mut self, log_dir: &LogDir) -> io::Result<()> {
        if let Some(first) = self.restart_at {
            return Err(io::Error::other(format!("it could not be restarted at event {first}")));
        }
        let payload = std::mem::take(&mut self.buffer);
        let mut out = Vec::with_capacity(payload.len() + BATCH_BYTES);
        let mut first = self.next;
        let mut starts = Vec::new();
        for part in payload.chunks(BATCH_RECORDS_MAX * Determinant::BYTES) {
            let batch = Batch::describe(first, self.incarnation, part);
            starts.push((first, out.len() as u64));
            out.extend_from_slice(&batch.encode());
            out.extend_from_slice(part);
            first = batch.next();
        }
        self.write(log_dir, &out, &starts)?;
        self.next = first;
        // The memory of the buffer is used again.
        self.buffer = payload;
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }

    pub fn fence(&mut self, log_dir: &LogDir, incarnation: Incarnation) -> io::Result<()> {
        self.complete_restart(log_dir)?;
        if self.failed {
            // A fence may fit where a batch does not: reserve room first, where the file system
            // can.
            use rustix::fs::{FallocateFlags, fallocate};
            let active = self.active();
            let flags = FallocateFlags::KEEP_SIZE;
            match fallocate(active.file.file(), flags, active.bytes, RESERVE_BYTES) {
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let batch = Batch::describe(self.next, incarnation, &[]);
        self.write(log_dir, &batch.encode(), &[])?;
        self.incarnation = incarnation;
        Ok(())
    }

    /// Appends all of the bytes or none.
    fn write(
        &mut self,
        log_dir: &LogDir,
        bytes: &[u8],
        starts: &[(EventNo, u64)],
    ) -> io::Result<()> {
        if self.active().bytes >= SEGMENT_BYTES && self.active().first < self.next {
            self.roll(log_dir)?;
        }
        let active = self.segments.last_mut().expect("there is always one");
        if let Err(error) = active.file.write_all_at(bytes, active.bytes) {
            // A part may be written. If it cannot be cut off, the next write covers it.
            let _ = active.file.set_len(active.bytes);
            self.failed = true;
            return Err(error);
        }
        for (first, at) in starts {
            active.add_to_index(*first, active.bytes + at);
        }
        active.bytes += bytes.len() as u64;
        self.failed = false;
        let file = active.file.clone();
        if !self.unsynced.iter().any(|other| Arc::ptr_eq(other, &file)) {
            self.unsynced.push(file);
        }
        if !starts.is_empty() {
            self.remove_markers(log_dir);
        }
        Ok(())
    }

    fn active(&self) -> &Segment {
        self.segments.last().expect("there is always one")
    }

    /// Makes a segment that begins with this event.
    fn begin_segment(&self, log_dir: &LogDir, first: EventNo) -> io::Result<Segment> {
        let mut segment = Segment::create(log_dir, self.rank, first)?;
        // Every segment records the living incarnation, because older segments may be removed.
        let fence = Batch::describe(first, self.incarnation, &[]).encode();
        if let Err(error) = segment.file.write_all_at(&fence, segment.bytes) {
            let _ = log_dir.files.remove(&segment.path);
            return Err(error);
        }
        segment.bytes += fence.len() as u64;
        Ok(segment)
    }

    fn take_into_use(&mut self, segment: Segment) {
        self.unsynced.push(segment.file.clone());
        self.segments.push(segment);
        self.new_names = true;
    }

    fn roll(&mut self, log_dir: &LogDir) -> io::Result<()> {
        let segment = self.begin_segment(log_dir, self.next)?;
        self.take_into_use(segment);
        Ok(())
    }

    pub fn prune(&mut self, log_dir: &LogDir, below: EventNo) -> io::Result<()> {
        self.complete_restart(log_dir)?;
        let mut outcome = Ok(());
        if below >= self.next && self.active().bytes >= PRUNE_BYTES {
            outcome = self.roll(log_dir);
        }
        while self.segments.get(1).is_some_and(|second| second.first <= below) {
            self.remove_oldest(log_dir);
        }
        outcome
    }

    pub fn restart(&mut self, log_dir: &LogDir, first: EventNo) -> io::Result<()> {
        self.buffer.clear();
        self.restart_at = Some(first);
        self.complete_restart(log_dir)
    }

    /// Completes a [`RankLog::restart`] that failed, if there is one.
    fn complete_restart(&mut self, log_dir: &LogDir) -> io::Result<()> {
        let Some(first) = self.restart_at else { return Ok(()) };
        let segment = self.begin_segment(log_dir, first).inspect_err(|_| self.failed = true)?;
        (self.restart_at, self.next) = (None, first);
        for old in std::mem::take(&mut self.segments) {
            // If the new segment has the name of an old one, the old file is gone already.
            if old.path != segment.path {
                let _ = log_dir.files.remove(&old.path);
            }
        }
        self.unsynced.clear();
        self.take_into_use(segment);
        self.remove_markers(log_dir);
        Ok(())
    }

    fn remove_oldest(&mut self, log_dir: &LogDir) {
        let old = self.segments.remove(0);
        self.unsynced.retain(|file| !Arc::ptr_eq(file, &old.file));
        // A file that cannot be removed does no harm: a later start finds the same events in it.
        let _ = log_dir.files.remove(&old.path);
    }

    fn remove_markers(&mut self, log_dir: &LogDir) {
        for marker in self.markers.drain(..) {
            let _ = log_dir.files.remove(&marker);
        }
    }

    pub fn read(&self, from: EventNo, most: usize) -> io::Result<Vec<Determinant>> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let index = self.segments.partition_point(|s| s.first <= from);
        let segment = index.checked_sub(1).and_then(|n| self.segments.get(n));
        let segment = segment.ok_or_else(|| damaged("the log begins later"))?;
        let start = segment.index.partition_point(|(first, _)| *first <= from);
        let start = start.checked_sub(1).and_then(|n| segment.index.get(n));
        let mut at = start.map_or(HEADER_BYTES as u64, |(_, at)| *at);
        let mut out = Vec::new();
        let mut payload = Vec::new();
        while at < segment.bytes && out.len() < most {
            let mut head = [0; BATCH_BYTES];
            segment.file.file().read_exact_at(&mut head, at)?;
            let batch = Batch::decode(&head).ok_or_else(|| damaged("a batch's header changed"))?;
            payload.resize(batch.payload_bytes(), 0);
            segment.file.file().read_exact_at(&mut payload, at + BATCH_BYTES as u64)?;
            if !batch.matches(&payload) {
                return Err(damaged("a batch's checksum does not match any more"));
            }
            at += (BATCH_BYTES + payload.len()) as u64;
            let skip = from.0.saturating_sub(batch.first.0).min(batch.records as u64) as usize;
            for record in payload.chunks_exact(Determinant::BYTES).skip(skip) {
                if out.len() == most {
                    break;
                }
                let record = Determinant::decode(record).map_err(|e| damaged(&e.to_string()))?;
                out.push(record);
            }
        }
        if out.is_empty() {
            return Err(damaged("the log ends before"));
        }
        Ok(out)
    }

    /// What must be synced to make all events up to the returned one durable, and whether the names
    /// in the directory must be synced as well.
    pub fn take_unsynced(&mut self) -> (EventNo, Vec<Part>, bool) {
        let files = std::mem::take(&mut self.unsynced);
        let is_in = |s: &&Segment| files.iter().any(|file| Arc::ptr_eq(file, &s.file));
        let part = |s: &Segment| Part { file: s.file.clone(), first: s.first, bytes: s.bytes };
        let parts = self.segments.iter().filter(is_in).map(part).collect();
        (self.last(), parts, std::mem::take(&mut self.new_names))
    }

    pub fn put_back_unsynced(&mut self, parts: &[Part], names: bool) {
        self.unsynced.extend(parts.iter().map(|part| part.file.clone()));
        self.new_names |= names;
    }

    /// The last event in the file.
    pub fn last(&self) -> EventNo {
        EventNo(self.next.0 - 1)
    }

    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.bytes).sum()
    }
}
