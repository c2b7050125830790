//! The messages to one rank: records in main memory that wait to be written or read, and files.

use super::segment::{self, RECORD_BYTES};
use crate::files::{Files, StoreFile};
use crate::tuning::message_store::{CUT_BYTES, DIRECT_MIN, FILE_BYTES, GATHER_BYTES};
use anyhow::Context;
use ftmpi_protocols::channel_memory::{Memory, Record, Summary};
use ftmpi_wire::Rank;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

fn name(rank: Rank, last: u64) -> String {
    format!("r{:010}-{last:020}.messages", rank.0)
}

pub(super) fn parse_name(name: &str) -> Option<(Rank, u64)> {
    let (rank, last) = name.strip_prefix('r')?.strip_suffix(".messages")?.split_once('-')?;
    Some((Rank(rank.parse().ok()?), last.parse().ok()?))
}

#[derive(Debug)]
struct Part {
    file: Arc<StoreFile>,
    path: PathBuf,
    /// The last place before this file.
    last: u64,
    /// Where the records begin, and where they end.
    begin: u64,
    bytes: u64,
}

/// A file and a length that it never falls below.
pub(super) type Written = (Arc<StoreFile>, u64);

#[derive(Debug)]
struct Held {
    record: Record,
    payload: Rc<[u8]>,
}

/// The messages to one rank.
#[derive(Debug)]
pub(super) struct RankMessages {
    rank: Rank,
    /// Oldest first. The last is written to.
    parts: Vec<Part>,
    /// Records that are in no file yet.
    unwritten: VecDeque<Held>,
    /// Records that are in a file, and here for the receiver.
    held: VecDeque<Held>,
    /// The last place that is written.
    written: u64,
    /// The next record to be read from a file: its place, its file, its offset.
    cursor: Option<(u64, u64, u64)>,
    unsynced: Vec<Arc<StoreFile>>,
}

impl RankMessages {
    pub fn new(rank: Rank) -> Self {
        Self {
            rank,
            parts: Vec::new(),
            unwritten: VecDeque::new(),
            held: VecDeque::new(),
            written: 0,
            cursor: None,
            unsynced: Vec::new(),
        }
    }

    /// Reads what is there. Files after the first damage are set aside.
    pub fn recover(
        dir: &Path,
        files: &Files,
        rank: Rank,
        lasts: BTreeSet<u64>,
        machine: &mut Memory,
        lines: &mut Vec<String>,
    ) -> anyhow::Result<Option<Self>> {
        let mut messages = Self::new(rank);
        let newest = lasts.last().copied();
        let mut sound = true;
        for last in lasts {
            let path = dir.join(name(rank, last));
            let about = || format!("messages in {}", path.display());
            let bytes = std::fs::read(&path).with_context(about)?;
            let first = messages.parts.is_empty();
            let header = segment::read_header(&bytes, rank, last);
            let Some((summary, begin)) =
                header.filter(|_| sound && (first || last == messages.written))
            else {
                if Some(last) == newest && bytes.len() < segment::HEADER_BYTES {
                    // The first write to this file never completed.
                    files.remove(&path).with_context(about)?;
                    continue;
                }
                lines.push(format!("{} is damaged and set aside", path.display()));
                files.rename(&path, &path.with_extension("damaged")).with_context(about)?;
                sound = false;
                continue;
            };
            if first {
                machine.restore(rank, &summary);
            }
            messages.written = last;
            let end = segment::scan(&bytes, begin, last + 1, |record| {
                machine.found(rank, record);
                messages.written = record.place;
            });
            let file = files.open(&path).with_context(about)?;
            if end < bytes.len() {
                sound = Some(last) == newest;
                lines.push(format!(
                    "what was sent to rank {rank} ends in an unfinished or damaged write behind \
                     message {}, which was cut off",
                    messages.written
                ));
                file.set_len(end as u64).with_context(about)?;
            }
            let file = Arc::new(file);
            messages.unsynced.push(file.clone());
            let (begin, bytes) = (begin as u64, end as u64);
            messages.parts.push(Part { file, path, last, begin, bytes });
        }
        Ok((!messages.parts.is_empty()).then_some(messages))
    }

    pub fn append(&mut self, record: Record, payload: Rc<[u8]>) {
        self.unwritten.push_back(Held { record, payload });
    }

    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Begins a file after everything that is written, which `summary` covers. If that fails, the
    /// file before is used further.
    pub fn begin_part(&mut self, dir: &Path, files: &Files, summary: &Summary) -> io::Result<()> {
        let path = dir.join(name(self.rank, summary.last));
        if path.exists() {
            files.remove(&path)?;
        }
        let file = files.create(&path)?;
        let head = segment::header(self.rank, summary);
        if let Err(error) = file.write_all_at(&head, 0) {
            let _ = files.remove(&path);
            return Err(error);
        }
        let (file, begin) = (Arc::new(file), head.len() as u64);
        self.unsynced.push(file.clone());
        self.parts.push(Part { file, path, last: summary.last, begin, bytes: begin });
        Ok(())
    }

    /// Writes everything. Returns the last place that is written.
    pub fn flush(&mut self, dir: &Path, files: &Files) -> io::Result<u64> {
        if self.parts.is_empty() {
            self.begin_part(dir, files, &Summary::default())?;
        }
        while !self.unwritten.is_empty() {
            let mut out = Vec::new();
            let mut count = 0;
            let mut direct = None;
            for held in &self.unwritten {
                count += 1;
                out.extend_from_slice(&segment::record_head(&held.record, &held.payload));
                if held.payload.len() >= DIRECT_MIN {
                    direct = Some(held.payload.clone());
                    break;
                }
                out.extend_from_slice(&held.payload);
                if out.len() >= GATHER_BYTES {
                    break;
                }
            }
            let active = self.parts.last_mut().expect("there is one");
            let at = active.bytes;
            let written = active.file.write_all_at(&out, at).and_then(|()| match &direct {
                Some(payload) => active.file.write_all_at(payload, at + out.len() as u64),
                None => Ok(()),
            });
            if let Err(error) = written {
                // If a part of it cannot be cut off, the next write covers it.
                let _ = active.file.set_len(at);
                return Err(error);
            }
            active.bytes += (out.len() + direct.map_or(0, |payload| payload.len())) as u64;
            let file = active.file.clone();
            if !self.unsynced.iter().any(|other| Arc::ptr_eq(other, &file)) {
                self.unsynced.push(file);
            }
            self.held.extend(self.unwritten.drain(..count));
            self.written = self.held.back().map_or(self.written, |held| held.record.place);
        }
        Ok(self.written)
    }

    /// Whether the current file is to be closed. Everything that was taken is in it.
    pub fn is_full(&self) -> bool {
        self.unwritten.is_empty() && self.parts.last().is_some_and(|part| part.bytes >= FILE_BYTES)
    }

    /// Drops the oldest record in main memory, which is in its file as well.
    pub fn spill(&mut self) -> Option<u64> {
        self.held.pop_front().map(|held| held.payload.len() as u64)
    }

    /// Drops the records before this place, which the receiver has taken. Returns their bytes.
    pub fn forget_before(&mut self, place: u64) -> u64 {
        let mut bytes = 0;
        while self.held.front().is_some_and(|held| held.record.place < place) {
            bytes += self.spill().unwrap_or(0);
        }
        bytes
    }

    pub fn take_held(&mut self, place: u64) -> Option<(Record, Rc<[u8]>)> {
        let held = self.held.pop_front()?;
        if held.record.place != place {
            self.held.push_front(held);
            return None;
        }
        Some((held.record, held.payload))
    }

    /// Reads a record from its file.
    pub fn read(&mut self, place: u64) -> io::Result<(Record, Rc<[u8]>)> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        // A cut may have removed the file that ended directly before this place.
        let known =
            self.cursor.take().filter(|cursor| cursor.0 == place).and_then(|(_, last, at)| {
                Some((self.parts.iter().position(|part| part.last == last)?, at))
            });
        let search = || {
            let index = self.parts.iter().rposition(|part| part.last < place)?;
            Some((index, self.parts[index].begin))
        };
        let (mut index, mut at) =
            known.or_else(search).ok_or_else(|| damaged("what was sent first is gone"))?;
        loop {
            let mut part = &self.parts[index];
            if at >= part.bytes {
                index += 1;
                part = self.parts.get(index).ok_or_else(|| damaged("it ends before"))?;
                at = part.begin;
                continue;
            }
            let mut head = [0; RECORD_BYTES];
            part.file.file().read_exact_at(&mut head, at)?;
            let (record, crc) =
                segment::read_head(&head).ok_or_else(|| damaged("a record's head changed"))?;
            let end = at + RECORD_BYTES as u64 + record.header.len;
            // Checked before so much memory is asked for.
            if end > part.bytes {
                return Err(damaged("a record's length changed"));
            }
            if record.place == place {
                let mut payload = vec![0; record.header.len as usize];
                part.file.file().read_exact_at(&mut payload, at + RECORD_BYTES as u64)?;
                if !segment::fits(&head, &payload, crc) {
                    return Err(damaged("a record's checksum does not match any more"));
                }
                self.cursor = Some((place + 1, part.last, end));
                return Ok((record, payload.into()));
            }
            at = end;
        }
    }

    pub fn cut(
        &mut self,
        dir: &Path,
        files: &Files,
        place: u64,
        summary: &Summary,
    ) -> io::Result<()> {
        let active = self.parts.last();
        let mut outcome = Ok(());
        if place >= self.written
            && self.unwritten.is_empty()
            && active.is_some_and(|part| part.bytes >= CUT_BYTES && part.last < summary.last)
        {
            outcome = self.begin_part(dir, files, summary);
        }
        // Removing old files makes the room that the new one may lack.
        while self.parts.get(1).is_some_and(|second| second.last <= place) {
            let old = self.parts.remove(0);
            self.unsynced.retain(|file| !Arc::ptr_eq(file, &old.file));
            files.remove(&old.path)?;
        }
        outcome
    }

    /// Files that are not durable, and their lengths.
    pub fn take_unsynced(&mut self) -> Vec<Written> {
        let files = std::mem::take(&mut self.unsynced);
        let is_in = |part: &&Part| files.iter().any(|file| Arc::ptr_eq(file, &part.file));
        self.parts.iter().filter(is_in).map(|part| (part.file.clone(), part.bytes)).collect()
    }

    /// The files are not durable after all.
    pub fn put_back_unsynced(&mut self, files: &[Written]) {
        self.unsynced.extend(files.iter().map(|(file, _)| file.clone()));
    }

    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}
