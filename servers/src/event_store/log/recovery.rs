//! Recovery of the log of one rank when its server starts.
//!
//! Guarantees: all sound events before the first damage are kept. A torn end is cut off. Damaged
//! segments, and those after them, get names that end in `.damaged`. An event that was durable once
//! and is missing counts as damage.
//!
//! Nobody sends again what was durable. Where such events are damaged, the log begins anew behind
//! them, with all that is sound up to its end: images that need no earlier event still serve. A
//! header says only what the name of the file says, too: one that is damaged is written again.

use super::{LogDir, RankLog, Segment, damaged_name, name, parse_damaged_name};
use crate::event_store::segment::{self, BATCH_BYTES, End, HEADER_BYTES};
use crate::files::StoreFile;
use anyhow::Context;
use ftmpi_protocols::event_log::Found;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What the directory shows of a log before the segments are read.
#[derive(Debug)]
pub(in crate::event_store) struct Evidence {
    /// The first event of each segment.
    pub firsts: BTreeSet<EventNo>,
    /// An earlier start found the log damaged, here or behind.
    pub damaged: Option<EventNo>,
    /// This event, and all before it, were on stable storage once.
    pub durable: Option<EventNo>,
    /// After a loss of power: the last event that counts.
    pub limit: Option<EventNo>,
    /// The system has not gone down since the events were written. What an earlier server failed to
    /// make durable may be lost all the same.
    pub same_boot: bool,
}

/// What recovery gives.
#[derive(Debug)]
pub(in crate::event_store) struct Recovered {
    pub log: RankLog,
    pub found: Found,
    /// Events that do not count any more.
    pub cut: u64,
}

/// The segments that were read so far.
struct Reading<'a> {
    log_dir: &'a LogDir,
    rank: Rank,
    evidence: &'a Evidence,
    segments: Vec<Segment>,
    incarnation: Incarnation,
    /// Number after the last sound event.
    next: EventNo,
    damage: Option<String>,
    /// The first event of the log, and why earlier ones are missing that were not pruned.
    base: EventNo,
    lost: Option<String>,
    /// The segments that follow are set aside.
    broken: bool,
    lines: &'a mut Vec<String>,
}

/// What is said of a log that has lost its begin.
fn lost_text(rank: Rank, first: EventNo, why: &str) -> String {
    format!(
        "the event log of rank {rank} has lost the events before {first} ({why}); the rank can be \
         restarted from images that need none of them"
    )
}

impl Reading<'_> {
    fn read_segment(&mut self, first: EventNo) -> anyhow::Result<()> {
        let path = self.log_dir.dir.join(name(self.rank, first));
        let about = || format!("event log {}", path.display());
        if self.broken {
            self.set_aside(&path);
            return Ok(());
        }
        let is_last = self.evidence.firsts.last() == Some(&first);
        let file = self.log_dir.files.open(&path).with_context(about)?;
        let mut bytes = std::fs::read(&path).with_context(about)?;
        if bytes.len() < HEADER_BYTES && is_last && first == self.next {
            // The first write to this segment never completed.
            return self.log_dir.files.remove(&path).with_context(about);
        }
        let mut header = segment::check_header(&bytes, self.rank, first);
        if header.is_err() && segment::only_header_is_damaged(&bytes, first) {
            self.mend_header(&mut bytes, &file, first, &path).with_context(about)?;
            header = Ok(());
        }
        if header.is_ok() && first > self.next && self.nobody_has(first) {
            self.begin_behind(
                first,
                format!("{}: events from {} are missing", path.display(), self.next),
            );
        }
        let problem = match header {
            Ok(()) if first != self.next => Some(format!("events from {} are missing", self.next)),
            Ok(()) => None,
            Err(why) => Some(why.to_string()),
        };
        if let Some(why) = problem {
            let why = format!("{}: {why}", path.display());
            if self.nobody_has(self.next.next()) {
                // A later segment may be sound.
                self.damage = Some(why);
            } else {
                self.report_damage(why);
            }
            self.set_aside(&path);
            return Ok(());
        }
        let mut segment = Segment {
            file: Arc::new(file),
            path: path.clone(),
            first,
            bytes: 0,
            index: Vec::new(),
        };
        let mut durable_bytes = 0;
        let (sound, after, end) = segment::scan(&bytes, first, |batch, at| {
            self.incarnation = self.incarnation.max(batch.incarnation);
            segment.add_to_index(batch.first, at as u64);
            if self.evidence.durable.is_some_and(|durable| batch.next() <= durable.next()) {
                durable_bytes = (at + BATCH_BYTES + batch.payload_bytes()) as u64;
            }
        });
        self.next = after;
        segment.bytes = sound as u64;
        let end = match end {
            End::Torn if !is_last => End::Damaged(format!("it ends at byte {sound}")),
            other => other,
        };
        if let End::Damaged(why) = &end {
            let why = format!("{}: {why}", path.display());
            let rest =
                segment::sound_end(&bytes, sound).filter(|(_, event)| self.nobody_has(*event));
            if let Some(rest) = rest {
                self.set_aside(&path);
                return self.keep_rest(&bytes, rest, why).with_context(about);
            }
            if self.nobody_has(self.next.next()) {
                self.damage = Some(why);
            } else {
                self.report_damage(why);
            }
            let copy = damaged_name(self.rank, &format!("{:020}", first.0));
            // The copy is for a closer look, and marks the damage. The sound part stays in place.
            std::fs::copy(&path, self.log_dir.dir.join(copy)).with_context(about)?;
        }
        if end != End::Clean {
            segment.file.set_len(sound as u64).with_context(about)?;
        }
        if end == End::Torn {
            self.lines.push(format!(
                "the event log of rank {} ends in an unfinished write, which is cut off after event {}",
                self.rank,
                self.next.0 - 1
            ));
        }
        if self.evidence.same_boot {
            segment.file.doubt(durable_bytes, segment.bytes);
        }
        self.segments.push(segment);
        Ok(())
    }

    /// Writes the header of a segment again.
    fn mend_header(
        &mut self,
        bytes: &mut [u8],
        file: &StoreFile,
        first: EventNo,
        path: &Path,
    ) -> io::Result<()> {
        let header = segment::header(self.rank, first);
        file.write_all_at(&header, 0)?;
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        self.lines.push(format!(
            "the event log of rank {} had a damaged header ({}), which is written again: its \
             events are all there",
            self.rank,
            path.display()
        ));
        Ok(())
    }

    /// Whether the events from the next one to before `first` were durable: no rank sends them
    /// again.
    fn nobody_has(&self, first: EventNo) -> bool {
        self.evidence.durable.is_some_and(|durable| durable.next() >= first)
    }

    /// The log begins with `first`: earlier events are lost.
    fn begin_behind(&mut self, first: EventNo, why: String) {
        for segment in std::mem::take(&mut self.segments) {
            self.set_aside(&segment.path);
        }
        let why = self.damage.take().unwrap_or(why);
        let text = lost_text(self.rank, first, &why);
        self.lines.push(text.clone());
        self.lost = Some(text);
        (self.base, self.next) = (first, first);
    }

    /// Keeps what is sound behind damage in a segment, which has been set aside.
    fn keep_rest(
        &mut self,
        bytes: &[u8],
        (at, first): (usize, EventNo),
        why: String,
    ) -> anyhow::Result<()> {
        self.begin_behind(first, why);
        let mut segment = Segment::create(self.log_dir, self.rank, first)?;
        let moved = |place: usize| (HEADER_BYTES + place - at) as u64;
        let (end, next, _) = segment::scan_from(bytes, (at, first), |batch, place| {
            self.incarnation = self.incarnation.max(batch.incarnation);
            segment.add_to_index(batch.first, moved(place));
        });
        segment.file.write_all_at(&bytes[at..end], moved(at))?;
        (segment.bytes, self.next) = (moved(end), next);
        self.segments.push(segment);
        Ok(())
    }

    fn report_damage(&mut self, why: String) {
        self.damage = Some(why);
        self.broken = true;
    }

    fn set_aside(&self, path: &Path) {
        let of = path.file_stem().and_then(|s| s.to_str()).unwrap_or("segment");
        let of = of.rsplit('-').next().unwrap_or(of);
        let aside = self.log_dir.dir.join(damaged_name(self.rank, of));
        let _ = self.log_dir.files.rename(path, &aside);
    }

    /// Reports durable events that are missing, and any damage.
    fn check_durable(&mut self) -> anyhow::Result<()> {
        let (dir, next) = (self.log_dir.dir.as_path(), self.next);
        let missing = |durable: &EventNo| *durable >= next && self.damage.is_none();
        if let Some(durable) = self.evidence.durable.filter(missing) {
            self.damage = Some(format!(
                "{}: events {next} to {durable} were durable and are not there any more",
                dir.display()
            ));
            // The next mark of durability covers less. This file remains.
            let marker = dir.join(damaged_name(self.rank, &format!("{:020}", next.0)));
            std::fs::write(&marker, "").with_context(|| format!("{}", marker.display()))?;
        }
        if let Some(why) = &self.damage {
            self.lines.push(format!(
                "the event log of rank {} is damaged after event {}: {why}; the job goes on, but until \
                 the rank has two more images it cannot be restarted if the lost events are needed",
                self.rank,
                next.0 - 1
            ));
        }
        Ok(())
    }
}

impl RankLog {
    /// Reads the segments of a log. What must be reported to the administrator is added to `lines`.
    pub(in crate::event_store) fn recover(
        log_dir: &LogDir,
        rank: Rank,
        evidence: &Evidence,
        lines: &mut Vec<String>,
    ) -> anyhow::Result<Recovered> {
        let dir = log_dir.dir.as_path();
        let base = evidence.firsts.first().copied().unwrap_or(EventNo(1));
        let earlier = format!("found by an earlier start; see {}", dir.display());
        let lost = evidence.damaged.filter(|at| *at < base);
        let mut reading = Reading {
            log_dir,
            rank,
            evidence,
            segments: Vec::new(),
            incarnation: Incarnation(0),
            next: base,
            damage: evidence.damaged.filter(|at| *at >= base).map(|_| earlier.clone()),
            base,
            lost: lost.map(|_| lost_text(rank, base, &earlier)),
            broken: false,
            lines,
        };
        for first in &evidence.firsts {
            reading.read_segment(*first)?;
        }
        reading.check_durable()?;
        let Reading { mut segments, incarnation, next, mut damage, base, lost, .. } = reading;
        if segments.is_empty() {
            segments.push(Segment::create(log_dir, rank, next)?);
        }
        let markers = std::fs::read_dir(dir)?
            .filter_map(|entry| entry.ok())
            .filter(|entry| {
                let name = entry.file_name();
                name.to_str().and_then(parse_damaged_name).is_some_and(|(of, _)| of == rank)
            })
            .map(|entry| entry.path())
            .collect();
        let mut log = Self {
            rank,
            incarnation,
            unsynced: segments.iter().map(|s| s.file.clone()).collect(),
            segments,
            next,
            buffer: Vec::new(),
            new_names: true,
            markers,
            failed: false,
            restart_at: None,
        };
        let before = log.next;
        if let Some(limit) = evidence.limit {
            log.cut_back(log_dir, limit).context("cutting the event log after a loss of power")?;
            // Damage after the limit does not matter: nothing there counts.
            damage = damage.filter(|_| log.next <= limit && log.next == before);
        }
        let last = EventNo(log.next.0 - 1);
        let cut = before.0 - log.next.0;
        Ok(Recovered { log, found: Found { incarnation, base, last, damage, lost }, cut })
    }

    /// Removes the events after `limit`, but none before the first segment, which prunes have left.
    /// The living incarnation stays fenced.
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
            // Marks are made between batches: the limit never lies within a batch.
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
}

#[cfg(test)]
mod tests {
    use crate::event_store::EventStore;
    use crate::event_store::log::name;
    use crate::files::Files;
    use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};

    /// The batches have checksums of their own, and the name of the file says whose they are.
    #[test]
    fn a_damaged_header_costs_no_event() {
        let rank = Rank(0);
        let both = [1, 2].map(|bits| Determinant::Clock { fails: 0, bits });
        // Magic, version, rank, first event, checksum.
        for (byte, durable) in [(2, true), (8, true), (13, false), (20, false), (29, true)] {
            let dir = tempfile::tempdir().unwrap();
            let begin = || EventStore::open_with(dir.path(), Files::default(), "first").unwrap();
            let mut store = begin().store;
            store.fence(rank, Incarnation(0)).unwrap();
            store.append(rank, Incarnation(0), EventNo(1), &both);
            store.flush(rank).unwrap();
            if durable {
                store.take_round().sync().unwrap();
            }
            drop(store);
            let path = dir.path().join(name(rank, EventNo(1)));
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[byte] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            for start in 1..3 {
                let opened = begin();
                let [(_, found)] = &opened.found[..] else { panic!("{:?}", opened.found) };
                assert_eq!((found.base, found.last), (EventNo(1), EventNo(2)), "byte {byte}");
                assert!(found.damage.is_none() && found.lost.is_none(), "byte {byte}, {found:?}");
                assert_eq!(opened.lines.len(), usize::from(start == 1), "{:?}", opened.lines);
                assert_eq!(opened.store.read(rank, EventNo(1), 9).unwrap(), both, "byte {byte}");
            }
        }
    }
}
