//! The log of one rank: its segments, its write buffer, and where its events lie.

use super::Part;
use super::segment::{self, BATCH_BYTES, BATCH_RECORDS_MAX, Batch, End, HEADER_BYTES};
use crate::files::{Files, StoreFile};
use anyhow::Context;
use ftmpi_protocols::event_log::Found;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment is closed when it is larger.
const SEGMENT_BYTES: u64 = 32 << 20;
/// A segment of which nothing is needed is closed, to be removed, when it is larger.
const PRUNE_BYTES: u64 = 1 << 20;
/// Room that must be there before a log whose disk was full is served again.
const ROOM_BYTES: u64 = 512 << 10;
/// One place is remembered for about so many bytes.
const INDEX_BYTES: u64 = 64 << 10;

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

pub(super) fn parse_damaged_name(name: &str) -> Option<Rank> {
    let (rank, _) = name.strip_prefix('r')?.strip_suffix(".damaged")?.split_once('-')?;
    Some(Rank(rank.parse().ok()?))
}

/// Where logs lie and how that is changed.
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
    /// Sparse: a batch begins with this event at this byte.
    index: Vec<(EventNo, u64)>,
}

impl Segment {
    fn create(log_dir: &LogDir, rank: Rank, first: EventNo) -> io::Result<Self> {
        let path = log_dir.dir.join(name(rank, first));
        // Left over from a write that failed right at the beginning.
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

    fn note(&mut self, first: EventNo, at: u64) {
        if self.index.last().is_none_or(|(_, last)| at - last >= INDEX_BYTES) {
            self.index.push((first, at));
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct RankLog {
    rank: Rank,
    incarnation: Incarnation,
    /// Oldest first, at least one; the last is written to.
    segments: Vec<Segment>,
    /// Number after the last event in the file.
    next: EventNo,
    /// Encoded records that are not in the file yet; they begin at `next`.
    buffer: Vec<u8>,
    /// Files with something that is not synced.
    unsynced: Vec<Arc<StoreFile>>,
    /// The directory has entries that are not synced.
    new_names: bool,
    /// Files that say that the log is damaged; they go when it is whole again.
    markers: Vec<PathBuf>,
    /// The last write failed: room must be proved before more is promised.
    failed: bool,
    /// The log is to begin anew at this event, which failed: the next fence does it, and nothing is written
    /// before. Until then the old log stands.
    anew: Option<EventNo>,
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
            anew: None,
        })
    }

    /// Reads what is there, cuts off a torn end, sets damaged parts aside. `durable`: an event that was on
    /// stable storage once, and all before it. `limit`: after a loss of power, the last event that counts.
    /// `same_boot`: what a logger before this one could not make durable, the system may have lost since.
    pub fn recover(
        log_dir: &LogDir,
        rank: Rank,
        firsts: BTreeSet<EventNo>,
        (was_damaged, durable): (bool, Option<&EventNo>),
        (limit, same_boot): (Option<EventNo>, bool),
        lines: &mut Vec<String>,
    ) -> anyhow::Result<(Self, Found, u64)> {
        let dir = log_dir.dir.as_path();
        let mut incarnation = Incarnation(0);
        let mut segments: Vec<Segment> = Vec::new();
        let base = firsts.first().copied().unwrap_or(EventNo(1));
        let mut next = base;
        let mut damage: Option<String> =
            was_damaged.then(|| format!("found by an earlier start; see {}", dir.display()));
        let mut broken = false;
        let last = firsts.last().copied();
        for first in firsts {
            let path = dir.join(name(rank, first));
            let about = || format!("event log {}", path.display());
            if broken {
                set_aside(&path, log_dir, rank);
                continue;
            }
            let file = log_dir.files.open(&path).with_context(about)?;
            let bytes = std::fs::read(&path).with_context(about)?;
            if bytes.len() < HEADER_BYTES && Some(first) == last && first == next {
                // Its first write never completed.
                log_dir.files.remove(&path).with_context(about)?;
                continue;
            }
            let problem = match segment::check_header(&bytes, rank, first) {
                Ok(()) if first != next => Some(format!("events from {next} are missing")),
                Ok(()) => None,
                Err(why) => Some(why),
            };
            if let Some(why) = problem {
                damage = Some(format!("{}: {why}", path.display()));
                broken = true;
                set_aside(&path, log_dir, rank);
                continue;
            }
            let mut part = Segment {
                file: Arc::new(file),
                path: path.clone(),
                first,
                bytes: 0,
                index: Vec::new(),
            };
            let mut sure = 0;
            let (sound, after, end) = segment::scan(&bytes, first, |batch, at| {
                incarnation = incarnation.max(batch.incarnation);
                part.note(batch.first, at as u64);
                if durable.is_some_and(|durable| batch.next() <= durable.next()) {
                    sure = (at + BATCH_BYTES + batch.payload_bytes()) as u64;
                }
            });
            next = after;
            part.bytes = sound as u64;
            let end = match end {
                End::Torn if Some(first) != last => {
                    End::Damaged(format!("it ends at byte {sound}"))
                }
                other => other,
            };
            if let End::Damaged(why) = &end {
                damage = Some(format!("{}: {why}", path.display()));
                broken = true;
                let copy = dir.join(damaged_name(rank, &format!("{:020}", first.0)));
                // The copy is for a closer look and as the mark; the sound part remains in place.
                std::fs::copy(&path, copy).with_context(about)?;
            }
            if end != End::Clean {
                part.file.set_len(sound as u64).with_context(about)?;
            }
            if end == End::Torn {
                lines.push(format!(
                    "the event log of rank {rank} ends in an unfinished write, which was cut off \
                     behind event {}",
                    next.0 - 1
                ));
            }
            if same_boot {
                part.file.doubt(sure, part.bytes);
            }
            segments.push(part);
        }
        if let Some(&durable) = durable.filter(|durable| **durable >= next && damage.is_none()) {
            damage = Some(format!(
                "{}: events {next} to {durable} were durable and are not there any more",
                dir.display()
            ));
            // The next mark will tell less; this remains.
            let gone = dir.join(damaged_name(rank, &format!("{:020}", next.0)));
            std::fs::write(&gone, "").with_context(|| format!("{}", gone.display()))?;
        }
        if let Some(why) = &damage {
            lines.push(format!(
                "the event log of rank {rank} is damaged behind event {}: {why}; the job goes on, \
                 but until it has two more images this rank cannot be restarted if the lost events \
                 are needed",
                next.0 - 1
            ));
        }
        if segments.is_empty() {
            segments.push(Segment::create(log_dir, rank, next)?);
        }
        let markers = std::fs::read_dir(dir)?
            .filter_map(|entry| entry.ok())
            .filter(|e| e.file_name().to_str().and_then(parse_damaged_name) == Some(rank))
            .map(|entry| entry.path())
            .collect();
        let unsynced = segments.iter().map(|s| s.file.clone()).collect();
        let buffer = Vec::new();
        let mut log = Self {
            rank,
            incarnation,
            segments,
            next,
            buffer,
            unsynced,
            new_names: true,
            markers,
            failed: false,
            anew: None,
        };
        let before = log.next;
        if let Some(limit) = limit {
            log.cut_back(log_dir, limit).context("cutting the event log after a loss of power")?;
            // What was behind the limit was damaged or not, it does not count.
            damage = damage.filter(|_| log.next <= limit && log.next == before);
        }
        let last = EventNo(log.next.0 - 1);
        let cut = before.0 - log.next.0;
        Ok((log, Found { incarnation, base, last, damage }, cut))
    }

    /// Removes the events behind `limit` (never such as were pruned); whoever lives stays fenced.
    fn cut_back(&mut self, log_dir: &LogDir, limit: EventNo) -> io::Result<()> {
        let first = self.segments[0].first;
        let next = limit.next().max(first);
        if next >= self.next {
            return Ok(());
        }
        while self.segments.len() > 1 && self.active().first >= next {
            let gone = self.segments.pop().expect("more than one");
            self.unsynced.retain(|file| !Arc::ptr_eq(file, &gone.file));
            log_dir.files.remove(&gone.path)?;
        }
        let bytes = std::fs::read(&self.active().path)?;
        let mut end = (HEADER_BYTES as u64, self.active().first);
        segment::scan(&bytes, self.active().first, |batch, at| {
            // Marks are made between batches, so that no batch lies across one.
            if batch.next() <= next {
                end = ((at + BATCH_BYTES + batch.payload_bytes()) as u64, batch.next());
            }
        });
        let active = self.segments.last_mut().expect("there is always one");
        active.file.set_len(end.0)?;
        active.bytes = end.0;
        active.index.retain(|(_, at)| *at < end.0);
        self.next = end.1;
        self.fence(log_dir, self.incarnation)
    }

    pub fn append(&mut self, incarnation: Incarnation, first: EventNo, records: &[Determinant]) {
        if self.anew.is_some() {
            // They were given before the failure was told; the next flush says that they are forgotten.
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
        if let Some(first) = self.anew {
            return Err(io::Error::other(format!("it could not be begun anew at event {first}")));
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
        // Its memory is used again.
        self.buffer = payload;
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }

    pub fn fence(&mut self, log_dir: &LogDir, incarnation: Incarnation) -> io::Result<()> {
        self.begin_anew(log_dir)?;
        if self.failed {
            // A word may find room where a batch does not. Not every file system can tell.
            use rustix::fs::{FallocateFlags, fallocate};
            let active = self.active();
            let flags = FallocateFlags::KEEP_SIZE;
            match fallocate(active.file.file(), flags, active.bytes, ROOM_BYTES) {
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let batch = Batch::describe(self.next, incarnation, &[]);
        self.write(log_dir, &batch.encode(), &[])?;
        self.incarnation = incarnation;
        Ok(())
    }

    /// Appends all of it or nothing.
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
            // A part may have been written. If it cannot be cut off, the next write covers it.
            let _ = active.file.set_len(active.bytes);
            self.failed = true;
            return Err(error);
        }
        for (first, at) in starts {
            active.note(*first, active.bytes + at);
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

    /// Begins a segment at this event.
    fn begin_segment(&self, log_dir: &LogDir, first: EventNo) -> io::Result<Segment> {
        let mut segment = Segment::create(log_dir, self.rank, first)?;
        // Every segment tells the living incarnation, for older ones may be removed.
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
        self.begin_anew(log_dir)?;
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
        self.anew = Some(first);
        self.begin_anew(log_dir)
    }

    /// What a [`RankLog::restart`] has left to be done, if it has.
    fn begin_anew(&mut self, log_dir: &LogDir) -> io::Result<()> {
        let Some(first) = self.anew else { return Ok(()) };
        let segment = self.begin_segment(log_dir, first).inspect_err(|_| self.failed = true)?;
        (self.anew, self.next) = (None, first);
        for old in std::mem::take(&mut self.segments) {
            // The new one may have the name of an old one, whose file is gone already then.
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
        // If it cannot be removed it lies there without harm: a later start sees the same events.
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

    /// What must be synced for everything up to the event that comes first, and whether the names in
    /// the directory must be, too.
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

fn set_aside(path: &Path, log_dir: &LogDir, rank: Rank) {
    let of = path.file_stem().and_then(|s| s.to_str()).unwrap_or("segment");
    let of = of.rsplit('-').next().unwrap_or(of);
    let _ = log_dir.files.rename(path, &log_dir.dir.join(damaged_name(rank, of)));
}
