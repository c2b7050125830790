//! Event logs on disk: one append-only log per rank, in segments.
//!
//! Guarantees: what [`EventStore::flush`] confirms is in the hands of the system and survives the
//! death of this process. What a [`Round`] makes durable survives a loss of power, and after one
//! nothing else counts (see `marker`). A failed write leaves the log as it was. At a restart torn
//! ends are cut off. Damage is reported and remembered in a file `*.damaged` until the log is
//! complete again.

mod log;
mod marker;
mod part;
mod segment;

use crate::files::Files;
use crate::private_directory::PrivateDir;
use crate::tuning::event_logger::SYNC_THREADS;
use anyhow::Context;
use ftmpi_protocols::event_log::Found;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use log::{Evidence, LogDir, RankLog, Recovered};
pub(crate) use marker::boot_id;
use marker::{Making, Marker};
use part::Part;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// What is to be synced of one log.
#[derive(Debug, Clone)]
struct Dirty {
    rank: Rank,
    up_to: EventNo,
    parts: Vec<Part>,
    names: bool,
}

/// All logs at one instant. [`Round::sync`] makes them durable, away from the thread that serves.
#[derive(Debug, Clone)]
pub struct Round {
    dirty: Vec<Dirty>,
    mark: Making,
    log_dir: LogDir,
}

impl Round {
    /// Makes everything durable that was written before this round began.
    ///
    /// # Errors
    /// Nobody knows what is durable. The round is to be tried again.
    pub fn sync(&self) -> io::Result<()> {
        let parts: Vec<(Rank, &Part)> =
            self.dirty.iter().flat_map(|d| d.parts.iter().map(|part| (d.rank, part))).collect();
        sync_parts(&parts)?;
        if self.dirty.iter().any(|dirty| dirty.names) {
            self.log_dir.files.sync_dir(&self.log_dir.dir)?;
        }
        self.mark.make()
    }

    /// The number of files that the round syncs.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.dirty.iter().map(|dirty| dirty.parts.len() as u64).sum::<u64>() + 1
    }

    /// What is durable after the round.
    pub fn durable(&self) -> impl Iterator<Item = (Rank, EventNo)> + '_ {
        self.dirty.iter().map(|dirty| (dirty.rank, dirty.up_to))
    }
}

/// Syncs the files of all ranks, several at a time: the file system makes one commit of them.
fn sync_parts(parts: &[(Rank, &Part)]) -> io::Result<()> {
    let sync = |parts: &[(Rank, &Part)]| parts.iter().try_for_each(|(rank, part)| part.sync(*rank));
    if parts.len() < 2 {
        return sync(parts);
    }
    std::thread::scope(|scope| {
        let each = parts.len().div_ceil(SYNC_THREADS);
        let threads: Vec<_> =
            parts.chunks(each).map(|parts| scope.spawn(move || sync(parts))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => Err(io::Error::other("a thread that syncs events ended")),
        })
    })
}

/// The result of [`EventStore::open`].
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: EventStore,
    /// What the machine must know of each log.
    pub found: Vec<(Rank, Found)>,
    /// Lines for the administrator.
    pub lines: Vec<String>,
    /// Events that were written but do not count any more, because the power was lost.
    pub cut: u64,
    /// The system went down while events came in. Some may be lost without a trace.
    pub power_lost: bool,
}

/// All logs of one directory.
#[derive(Debug)]
pub struct EventStore {
    _dir: PrivateDir,
    log_dir: LogDir,
    marker: Marker,
    logs: BTreeMap<Rank, RankLog>,
    dirty: BTreeSet<Rank>,
}

impl EventStore {
    /// Takes the directory and finds what is there.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(path: &Path, files: Files) -> anyhow::Result<Opened> {
        Self::open_with(path, files, &boot_id())
    }

    /// As [`EventStore::open`], on this boot of the system and through these files.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open_with(path: &Path, files: Files, boot: &str) -> anyhow::Result<Opened> {
        let dir = PrivateDir::take(path)?;
        let mut segments: BTreeMap<Rank, BTreeSet<EventNo>> = BTreeMap::new();
        let mut damaged: BTreeMap<Rank, EventNo> = BTreeMap::new();
        for entry in std::fs::read_dir(path)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some((rank, first)) = log::parse_name(name) {
                segments.entry(rank).or_default().insert(first);
            } else if let Some((rank, at)) = log::parse_damaged_name(name) {
                let last = damaged.entry(rank).or_default();
                *last = at.max(*last);
                segments.entry(rank).or_default();
            }
        }
        let log_dir = LogDir { dir: path.to_owned(), files };
        let (marker, mark) = Marker::open(path, &log_dir.files, boot)?;
        // What was durable once must be there, or be reported as damage: images of other ranks may
        // depend on it.
        let durable = mark.as_ref().map(|mark| mark.last.clone()).unwrap_or_default();
        for (rank, _) in durable.iter().filter(|(_, last)| **last > EventNo(0)) {
            segments.entry(*rank).or_default();
        }
        let marked = mark.as_ref().is_some_and(|mark| mark.boot == boot);
        // After another boot only what was durable counts.
        let mark = mark.filter(|mark| mark.boot != boot);
        let power_lost = marker.lost;
        let (mut found, mut lines, mut cut) = (Vec::new(), Vec::new(), 0);
        let (mut logs, mut dirty) = (BTreeMap::new(), BTreeSet::new());
        for (rank, firsts) in segments {
            let evidence = Evidence {
                firsts,
                damaged: damaged.get(&rank).copied(),
                durable: durable.get(&rank).copied(),
                limit: mark.as_ref().map(|mark| mark.last.get(&rank).copied().unwrap_or_default()),
                same_boot: marked,
            };
            let Recovered { log, found: what, cut: lost } =
                RankLog::recover(&log_dir, rank, &evidence, &mut lines)?;
            found.push((rank, what));
            cut += lost;
            logs.insert(rank, log);
            dirty.insert(rank);
        }
        if cut > 0 {
            lines.push(format!(
                "{cut} events were written but not durable when the system went down; ranks that \
                 live send them again, a job that is continued goes on from before them"
            ));
        }
        let mut store = Self { _dir: dir, log_dir, marker, logs, dirty };
        if marked {
            // Only the process died. Ranks may have stored events in rings meanwhile, on which
            // others depend, and the logs lack them. A mark now would describe an instant that
            // never was. The next round follows those events; the existing marks count until then.
            return Ok(Opened { store, found, lines, cut, power_lost });
        }
        // From here on the marks of this boot count.
        let round = store.take_round();
        if let Err(error) = round.sync() {
            store.round_failed(&round);
            if mark.is_some() {
                return Err(error).context("what counts after the loss of power cannot be noted");
            }
            lines.push(format!("events cannot be made durable: {error}"));
        }
        Ok(Opened { store, found, lines, cut, power_lost })
    }

    /// Takes records. They are in the file after the next [`EventStore::flush`].
    pub fn append(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        first: EventNo,
        records: &[Determinant],
    ) {
        // The machine fences a rank before it appends, so the log is there.
        if let Some(log) = self.logs.get_mut(&rank) {
            log.append(incarnation, first, records);
        }
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// No record is in the file, and the records are forgotten.
    pub fn flush(&mut self, rank: Rank) -> io::Result<()> {
        let Some(log) = self.logs.get_mut(&rank) else {
            return Err(io::Error::other("there is no such log"));
        };
        self.dirty.insert(rank);
        log.flush(&self.log_dir)
    }

    /// Records the living incarnation, and makes the log if there is none.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn fence(&mut self, rank: Rank, incarnation: Incarnation) -> io::Result<()> {
        let log = match self.logs.entry(rank) {
            std::collections::btree_map::Entry::Occupied(log) => log.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(RankLog::create(&self.log_dir, rank, EventNo(1))?)
            }
        };
        self.dirty.insert(rank);
        log.fence(&self.log_dir, incarnation)
    }

    /// Stored records from `from` on: at most `most`, at least one.
    ///
    /// # Errors
    /// The records cannot be read, or are not what was written.
    pub fn read(&self, rank: Rank, from: EventNo, most: usize) -> io::Result<Vec<Determinant>> {
        match self.logs.get(&rank) {
            Some(log) => log.read(from, most),
            None => Err(io::Error::other("there is no such log")),
        }
    }

    /// Removes the segments that lie completely before this event.
    ///
    /// # Errors
    /// A new segment could not be made. Nothing is lost.
    pub fn prune(&mut self, rank: Rank, below: EventNo) -> io::Result<()> {
        match self.logs.get_mut(&rank) {
            Some(log) => log.prune(&self.log_dir, below),
            None => Ok(()),
        }
    }

    /// Discards the log and begins a new one at this event.
    ///
    /// # Errors
    /// The new log could not be made. The next [`EventStore::fence`] tries again, and nothing is
    /// taken before.
    pub fn restart(&mut self, rank: Rank, first: EventNo) -> io::Result<()> {
        self.dirty.insert(rank);
        match self.logs.get_mut(&rank) {
            Some(log) => log.restart(&self.log_dir, first),
            None => {
                self.logs.insert(rank, RankLog::create(&self.log_dir, rank, first)?);
                Ok(())
            }
        }
    }

    /// All logs as they are now. What is to be synced counts as done.
    pub fn take_round(&mut self) -> Round {
        let dirty = std::mem::take(&mut self.dirty);
        let dirty = dirty
            .into_iter()
            .filter_map(|rank| {
                let (up_to, parts, names) = self.logs.get_mut(&rank)?.take_unsynced();
                Some(Dirty { rank, up_to, parts, names })
            })
            .collect();
        let mark = self.marker.next(self.logs.iter().map(|(rank, log)| (*rank, log.last())));
        Round { dirty, mark, log_dir: self.log_dir.clone() }
    }

    /// The last round: nothing is written after it.
    pub fn take_last_round(&mut self) -> Round {
        self.marker.ending = true;
        self.take_round()
    }

    /// Whether something is not durable yet.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// A round failed, and is to be tried again.
    pub fn round_failed(&mut self, round: &Round) {
        for dirty in &round.dirty {
            if let Some(log) = self.logs.get_mut(&dirty.rank) {
                log.put_back_unsynced(&dirty.parts, dirty.names);
                self.dirty.insert(dirty.rank);
            }
        }
    }

    /// Bytes in all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.logs.values().map(RankLog::bytes).sum()
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.log_dir.dir
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Op;
    use crate::storage_faults::{Fault, Plan, Switch};
    use std::sync::Arc;

    const RANKS: u32 = 2;
    type Positions = BTreeMap<Rank, EventNo>;

    fn event(rank: Rank, number: u64) -> Determinant {
        Determinant::Clock { fails: rank.0, bits: number }
    }

    /// What a run learns about its events.
    #[derive(Debug, Default)]
    struct Said {
        written: Positions,
        /// The position of all logs when a round began.
        rounds: Vec<Positions>,
        /// The positions after the last round that succeeded.
        durable: Positions,
    }

    /// Two ranks log in turn. A round makes their events durable every few events.
    fn history(dir: &Path, files: Files) -> Said {
        let mut said = Said { rounds: vec![Positions::new()], ..Said::default() };
        let Ok(Opened { mut store, .. }) = EventStore::open_with(dir, files, "first") else {
            return said;
        };
        for turn in 0..24u32 {
            let rank = Rank(turn % RANKS);
            if turn < RANKS && store.fence(rank, Incarnation(0)).is_err() {
                continue;
            }
            let last = said.written.get(&rank).copied().unwrap_or_default();
            let records: Vec<_> =
                (1..=u64::from(turn % 3) + 1).map(|n| event(rank, last.0 + n)).collect();
            if store.logs.contains_key(&rank) {
                store.append(rank, Incarnation(0), last.next(), &records);
                if store.flush(rank).is_ok() {
                    said.written.insert(rank, EventNo(last.0 + records.len() as u64));
                }
            }
            if turn % 5 == 4 {
                let round = store.take_round();
                said.rounds.push(said.written.clone());
                if round.sync().is_ok() {
                    said.durable = said.written.clone();
                } else {
                    store.round_failed(&round);
                }
            }
        }
        said
    }

    fn found(dir: &Path, boot: &str, what: &str) -> Positions {
        let opened = EventStore::open_with(dir, Files::default(), boot).unwrap();
        let mut positions = Positions::new();
        for (rank, found) in opened.found {
            assert_eq!(found.damage, None, "{what}");
            if found.last == EventNo(0) {
                continue;
            }
            positions.insert(rank, found.last);
            let mut next = EventNo(1);
            while next <= found.last {
                for record in opened.store.read(rank, next, 100).unwrap() {
                    assert_eq!(record, event(rank, next.0), "{what}");
                    next = next.next();
                }
            }
            assert_eq!(next, found.last.next(), "{what}");
        }
        positions
    }

    #[test]
    fn after_a_fault_at_any_change_all_logs_agree() {
        let whole = Arc::new(Plan::new(None));
        let begin = tempfile::tempdir().unwrap();
        history(begin.path(), Files::watched(whole.clone()));
        let changes = whole.changes();
        assert!(changes > 40, "{changes} changes");
        let mut state = 99_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) as usize % below
        };
        for at in 0..=changes {
            for fault in [Fault::Full, Fault::Death] {
                let dir = tempfile::tempdir().unwrap();
                let plan = Arc::new(Plan::new(Some((at, fault))));
                let said = history(dir.path(), Files::watched(plan));
                let what = format!("{fault:?} at change {at}");
                assert_eq!(found(dir.path(), "first", &what), said.written, "{what}");
            }
            // The fault is at that change, or at the end of a history in which it happened.
            for (round, fault) in (0..6).flat_map(|n| [(n, Fault::Death), (n, Fault::Full)]) {
                let dir = tempfile::tempdir().unwrap();
                let plan = Arc::new(Plan::new(Some((at, fault))));
                let said = history(dir.path(), Files::watched(plan.clone()));
                plan.lose_power(&mut draw);
                let what = format!("{fault:?} at change {at}, then power lost, {round}: {said:?}");
                let there = found(dir.path(), "second", &what);
                assert!(said.rounds.contains(&there), "{there:?} is no instant; {what}");
                for (rank, last) in &said.durable {
                    assert!(there.get(rank) >= Some(last), "{there:?} lost durable; {what}");
                }
            }
        }
    }

    /// Events in the rings of a dead logger come into the logs only after the next logger has
    /// started. A mark before that would keep events of one rank without events of another on which
    /// they depend.
    #[test]
    fn a_logger_that_begins_again_marks_no_instant_before_it_has_read_the_rings() {
        let dir = tempfile::tempdir().unwrap();
        let begin = |boot| EventStore::open_with(dir.path(), Files::default(), boot).unwrap();
        let log = |store: &mut EventStore, rank, number| {
            store.append(rank, Incarnation(0), EventNo(number), &[event(rank, number)]);
            store.flush(rank).unwrap();
        };
        let Opened { mut store, .. } = begin("first");
        for rank in [Rank(0), Rank(1)] {
            store.fence(rank, Incarnation(0)).unwrap();
            log(&mut store, rank, 1);
        }
        store.take_round().sync().unwrap();
        // An event of one rank. The second event of the other rank, which came before it, is in a
        // ring.
        log(&mut store, Rank(1), 2);
        drop(store);
        let opened = begin("first");
        assert!(opened.store.is_dirty(), "a round comes, of all that is there by then");
        assert_eq!(opened.found[1].1.last, EventNo(2));
        drop(opened);
        let both: Positions = [(Rank(0), EventNo(1)), (Rank(1), EventNo(1))].into();
        assert_eq!(found(dir.path(), "second", "the power was lost"), both);
        // A round after the rings were read keeps both.
        let mut store = begin("second").store;
        log(&mut store, Rank(1), 2);
        drop(store);
        let mut store = begin("second").store;
        log(&mut store, Rank(0), 2);
        store.take_round().sync().unwrap();
        drop(store);
        let both: Positions = [(Rank(0), EventNo(2)), (Rank(1), EventNo(2))].into();
        assert_eq!(found(dir.path(), "third", "the power was lost again"), both);
    }

    /// Others may have images that depend on the missing event: the log counts as damaged, at this
    /// start and at the next.
    #[test]
    fn what_was_durable_and_is_gone_is_damage() {
        let cut = |path: &Path| {
            let len = std::fs::metadata(path).unwrap().len();
            std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len / 2).unwrap();
        };
        let remove = |path: &Path| std::fs::remove_file(path).unwrap();
        let harms: [&dyn Fn(&Path); 2] = [&cut, &remove];
        for harm in harms {
            let dir = tempfile::tempdir().unwrap();
            let said = history(dir.path(), Files::default());
            assert!(said.durable[&Rank(0)] > EventNo(10));
            harm(&dir.path().join(log::name(Rank(0), EventNo(1))));
            for start in ["the first", "the second"] {
                let opened = EventStore::open_with(dir.path(), Files::default(), "first").unwrap();
                for (rank, found) in opened.found {
                    assert_eq!(found.damage.is_some(), rank == Rank(0), "{start} start, {found:?}");
                }
            }
        }
    }

    /// What lies behind the damage serves the images that need nothing before it, at this start and
    /// at the next. Events that nobody sends again are not waited for.
    #[test]
    fn events_behind_a_flipped_bit_that_were_durable_are_kept() {
        let rank = Rank(0);
        let dir = tempfile::tempdir().unwrap();
        let mut store = EventStore::open_with(dir.path(), Files::default(), "first").unwrap().store;
        store.fence(rank, Incarnation(0)).unwrap();
        for number in 1..=9 {
            store.append(rank, Incarnation(0), EventNo(number), &[event(rank, number)]);
            store.flush(rank).unwrap();
        }
        store.take_round().sync().unwrap();
        drop(store);
        let path = dir.path().join(log::name(rank, EventNo(1)));
        let mut bytes = std::fs::read(&path).unwrap();
        // Header, fence, and batches of one event: the records of events 3 and 5.
        for number in [3, 5] {
            bytes[64 + 64 * number - 20] ^= 4;
        }
        std::fs::write(&path, bytes).unwrap();
        for start in ["the first", "the second"] {
            let opened = EventStore::open_with(dir.path(), Files::default(), "first").unwrap();
            let [(_, found)] = &opened.found[..] else { panic!("{:?}", opened.found) };
            assert_eq!((found.base, found.last), (EventNo(6), EventNo(9)), "{start} start");
            assert_eq!(found.damage, None, "{start} start");
            assert!(found.lost.is_some(), "{start} start");
            let kept: Vec<_> = (6..=9).map(|number| event(rank, number)).collect();
            assert_eq!(opened.store.read(rank, EventNo(6), 9).unwrap(), kept, "{start} start");
            assert!(opened.store.read(rank, EventNo(5), 9).is_err());
        }
        // The log goes on.
        let mut store = EventStore::open_with(dir.path(), Files::default(), "first").unwrap().store;
        store.fence(rank, Incarnation(1)).unwrap();
        store.append(rank, Incarnation(1), EventNo(10), &[event(rank, 10)]);
        store.flush(rank).unwrap();
        let kept: Vec<_> = (8..=10).map(|number| event(rank, number)).collect();
        assert_eq!(store.read(rank, EventNo(8), 9).unwrap(), kept);
    }

    /// The old log stays until the new one is there. What is acknowledged later follows a sound
    /// beginning.
    #[test]
    fn a_log_that_cannot_be_begun_again_takes_nothing_until_it_is() {
        let rank = Rank(0);
        let fails: [fn(&Op<'_>) -> bool; 2] =
            [|op| matches!(op, Op::Create(_)), |op| matches!(op, Op::Write { .. })];
        for (which, fails) in fails.into_iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            let switch = Arc::new(Switch::new(fails));
            let files = Files::watched(switch.clone());
            let mut store = EventStore::open_with(dir.path(), files, "first").unwrap().store;
            store.fence(rank, Incarnation(0)).unwrap();
            store.append(rank, Incarnation(0), EventNo(1), &[event(rank, 1)]);
            store.flush(rank).unwrap();
            switch.set(true);
            store.restart(rank, EventNo(10)).unwrap_err();
            // The machine may have given these records before it knew.
            store.append(rank, Incarnation(0), EventNo(10), &[event(rank, 10)]);
            store.flush(rank).unwrap_err();
            store.fence(rank, Incarnation(0)).unwrap_err();
            switch.set(false);
            assert_eq!(store.read(rank, EventNo(1), 9).unwrap(), [event(rank, 1)], "{which}");
            store.fence(rank, Incarnation(1)).unwrap();
            let records: Vec<_> = (10..=12).map(|number| event(rank, number)).collect();
            store.append(rank, Incarnation(1), EventNo(10), &records);
            store.flush(rank).unwrap();
            drop(store);
            let Opened { store, found, .. } =
                EventStore::open_with(dir.path(), Files::default(), "first").unwrap();
            let [(_, found)] = &found[..] else { panic!("{found:?}") };
            assert_eq!(found.damage, None, "{which}");
            assert_eq!((found.base, found.last), (EventNo(10), EventNo(12)), "{which}");
            assert_eq!(found.incarnation, Incarnation(1), "{which}");
            assert_eq!(store.read(rank, EventNo(10), 9).unwrap(), records, "{which}");
        }
    }
}
