//! The core of the event logger: carries out what the machine decides.

use super::link::{Link, NAME};
use super::rings::{OwedEvents, Rings};
use crate::event_store::{EventStore, Opened, Round};
use crate::server_process::log_line;
use ftmpi_protocols::event_log::{ConnId, EventLog, Input, Output, Promise};
use ftmpi_wire::event_log::{Frame, RECORDS_MAX};
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Machine, files and connections.
pub(super) struct Core {
    pub(super) machine: EventLog,
    store: EventStore,
    pub(super) links: HashMap<ConnId, Rc<Link>>,
    pub(super) rings: Rings,
    /// Ranks with records that were taken and are not in their file yet.
    unwritten: BTreeSet<Rank>,
    changed: Rc<Notify>,
    /// Rounds of syncing that have begun.
    begun: u64,
    /// The last round that succeeded.
    done: watch::Sender<u64>,
    /// The round that is under way.
    running: Option<Round>,
    /// The machine's count of changes in what is stable.
    clocks: watch::Sender<u64>,
    /// Bytes sent to other loggers and agents about stable events, and news received from loggers.
    clock_bytes: u64,
    clocks_heard: u64,
    /// Somebody waits for the next round.
    pub hurry: Rc<Notify>,
    /// Events that a loss of power has cost, and whether it may have cost others.
    cut: u64,
    power_lost: bool,
    promise: Promise,
    events: u64,
    writes: u64,
    syncs: u64,
    failed_writes: u64,
}

impl Core {
    /// # Errors
    /// A ring that an earlier logger left cannot be read.
    pub fn new(opened: Opened, promise: Promise) -> anyhow::Result<Self> {
        let Opened { store, found, cut, power_lost, .. } = opened;
        let mut machine = EventLog::new(promise);
        for (rank, found) in found {
            let up_to = found.last;
            machine.restore(rank, found);
            if !store.is_dirty() {
                machine.handle(Input::Durable { rank, up_to }, &mut Vec::new());
            }
        }
        let changed = Rc::new(Notify::new());
        if store.is_dirty() {
            changed.notify_one();
        }
        let rings = Rings::find(store.path())?;
        let mut core = Self {
            machine,
            store,
            links: HashMap::new(),
            rings,
            unwritten: BTreeSet::new(),
            changed,
            begun: 0,
            done: watch::Sender::new(0),
            running: None,
            clocks: watch::Sender::new(0),
            clock_bytes: 0,
            clocks_heard: 0,
            hurry: Rc::new(Notify::new()),
            cut,
            power_lost,
            promise,
            events: 0,
            writes: 0,
            syncs: 0,
            failed_writes: 0,
        };
        core.retire_found().into_iter().for_each(|line| log_line(NAME, line));
        Ok(core)
    }

    /// Notified when something is to be synced.
    pub fn changed(&self) -> Rc<Notify> {
        self.changed.clone()
    }

    /// The answer to this hello. `link` hears everything that concerns the connection.
    pub fn hello(
        &mut self,
        conn: ConnId,
        rank: Rank,
        incarnation: Incarnation,
        link: Rc<Link>,
    ) -> Welcome {
        // The ring must be drained before anybody hears what this rank has done.
        if !self.machine.is_over(rank, incarnation)
            && let Err(welcome) = self.retire_rings(rank)
        {
            return welcome;
        }
        self.links.insert(conn, link.clone());
        self.feed(Input::Hello { conn, rank, incarnation });
        link.take_welcome().unwrap_or_else(|| Welcome::No("internal error: no answer".into()))
    }

    pub fn forget(&mut self, conn: ConnId) {
        self.links.remove(&conn);
    }

    /// Gives one input to the machine and carries out what follows. Appended records may still wait
    /// for [`Core::flush`].
    pub fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        let mut out = Vec::new();
        while let Some(input) = inputs.pop_front() {
            self.machine.handle(input, &mut out);
            for output in out.drain(..) {
                if let Some(input) = self.carry_out(output, &mut inputs) {
                    inputs.push_back(input);
                }
            }
        }
    }

    /// Writes everything that was taken.
    pub fn flush(&mut self) {
        while let Some(rank) = self.unwritten.first().copied() {
            let outcome = self.flush_rank(rank);
            self.feed(outcome);
        }
        self.settle_rings();
        let changes = self.machine.changes();
        self.clocks.send_if_modified(|told| std::mem::replace(told, changes) != changes);
    }

    /// Another logger or an agent subscribes to news about stable events. The receiver changes when
    /// there is news.
    pub fn peer_subscribed(&mut self, conn: ConnId) -> watch::Receiver<u64> {
        self.machine.peer_logger_listens(conn);
        self.clocks.subscribe()
    }

    pub fn peer_left(&mut self, conn: ConnId) {
        self.machine.peer_logger_left(conn);
    }

    pub fn clocks_for_peer(&mut self, conn: ConnId, out: &mut Vec<u8>) {
        let mut frames = Vec::new();
        self.machine.news_for_peer_logger(conn, &mut frames);
        frames.iter().for_each(|frame| frame.encode(out));
        self.clock_bytes += out.len() as u64;
    }

    pub fn clocks_from_peer(&mut self, clocks: &[(Rank, EventNo)]) {
        self.clocks_heard += clocks.len() as u64;
        self.machine.peer_logger_reports(clocks);
    }

    /// Writes the log of a rank. The machine must be given the returned input.
    fn flush_rank(&mut self, rank: Rank) -> Input {
        self.unwritten.remove(&rank);
        self.writes += 1;
        match self.store.flush(rank) {
            Ok(()) => {
                self.changed.notify_one();
                Input::Written { rank }
            }
            Err(error) => {
                self.failed_writes += 1;
                Input::WriteFailed { rank, why: self.describe(&error) }
            }
        }
    }

    fn describe(&self, error: &std::io::Error) -> String {
        format!("{error} (in {}; make room there)", self.store.path().display())
    }

    fn carry_out(&mut self, output: Output, inputs: &mut VecDeque<Input>) -> Option<Input> {
        match output {
            Output::Fence { conn, rank, incarnation } => {
                let outcome = self.store.fence(rank, incarnation);
                self.changed.notify_one();
                return Some(Input::Fenced {
                    conn,
                    outcome: outcome.map_err(|e| self.describe(&e)),
                });
            }
            Output::Welcome { conn, welcome } => {
                self.with_link(conn, |link| link.set_welcome(welcome));
            }
            Output::Append { rank, incarnation, first, records } => {
                self.events += records.len() as u64;
                self.store.append(rank, incarnation, first, &records);
                self.unwritten.insert(rank);
            }
            Output::Compare { conn, rank, first, records } => {
                self.flush_if_needed(rank, inputs);
                let mut at = 0;
                let mut same = true;
                while same && at < records.len() {
                    let from = EventNo(first.0 + at as u64);
                    match self.store.read(rank, from, records.len() - at) {
                        Ok(stored) => {
                            same = records[at..].starts_with(&stored);
                            at += stored.len();
                        }
                        Err(error) => {
                            let outcome = Err(error.to_string());
                            return Some(Input::Compared { conn, outcome });
                        }
                    }
                }
                return Some(Input::Compared { conn, outcome: Ok(same) });
            }
            Output::Ack { conn, written, durable } => {
                self.with_link(conn, |link| link.set_ack(written, durable));
            }
            Output::Stream { conn, rank, from, next } => {
                self.flush_if_needed(rank, inputs);
                self.with_link(conn, |link| link.set_stream(rank, from, next));
            }
            Output::Prune { rank, below } => {
                self.flush_if_needed(rank, inputs);
                if let Err(error) = self.store.prune(rank, below) {
                    log_line(NAME, format!("old events of rank {rank} remain: {error}"));
                }
            }
            Output::Restart { rank, first } => {
                self.unwritten.remove(&rank);
                if let Err(error) = self.store.restart(rank, first) {
                    self.failed_writes += 1;
                    return Some(Input::WriteFailed { rank, why: self.describe(&error) });
                }
                self.changed.notify_one();
            }
            Output::Refuse { conn } => self.with_link(conn, Link::refuse),
            Output::Close { conn, why } => {
                if !why.is_empty() {
                    log_line(NAME, why);
                }
                self.with_link(conn, Link::close);
            }
            Output::Say { text } => log_line(NAME, text),
        }
        None
    }

    fn flush_if_needed(&mut self, rank: Rank, inputs: &mut VecDeque<Input>) {
        if self.unwritten.contains(&rank) {
            let outcome = self.flush_rank(rank);
            inputs.push_back(outcome);
        }
    }

    fn with_link(&self, conn: ConnId, tell: impl FnOnce(&Link)) {
        if let Some(link) = self.links.get(&conn) {
            tell(link);
        }
    }

    /// The news about other ranks that this rank gets with its acknowledgement, encoded.
    pub fn stable_news(&mut self, conn: ConnId, out: &mut Vec<u8>) {
        let mut frames = Vec::new();
        self.machine.stable_news(conn, &mut frames);
        frames.iter().for_each(|frame| frame.encode(out));
    }

    /// The next part of a stream, encoded: at most one frame of events.
    pub fn read_events(
        &mut self,
        conn: ConnId,
        rank: Rank,
        from: EventNo,
        next: EventNo,
        out: &mut Vec<u8>,
    ) -> Option<EventNo> {
        let most = RECORDS_MAX.min((next.0 - from.0) as usize);
        match self.store.read(rank, from, most) {
            Ok(records) => {
                let after = EventNo(from.0 + records.len() as u64);
                Frame::Events { first: from, records }.encode(out);
                Some(after)
            }
            Err(error) => {
                self.feed(Input::ReadFailed { conn, why: error.to_string() });
                None
            }
        }
    }

    /// Begins a round: everything as it is now is to become durable.
    ///
    /// # Errors
    /// Events that ranks rely on are in no log: a mark would describe an instant that never was. To
    /// be tried again.
    pub fn begin_round(&mut self) -> Result<Round, OwedEvents> {
        self.seal_and_drain();
        let owed = self.settle_owed();
        let round = owed.map(|()| self.store.take_round());
        self.unseal();
        match &round {
            Ok(round) => {
                self.begun += 1;
                self.running = Some(round.clone());
            }
            Err(_) => self.changed.notify_one(),
        }
        round
    }

    /// Begins the last round: nothing is written after it.
    ///
    /// # Errors
    /// As with [`Core::begin_round`].
    pub fn begin_last_round(&mut self) -> Result<Round, OwedEvents> {
        self.seal_and_drain();
        self.settle_owed()?;
        // A round that is under way may end after the last mark, or fail without being noticed.
        if let Some(running) = self.running.take() {
            self.store.round_failed(&running);
        }
        Ok(self.store.take_last_round())
    }

    /// The round that is under way has ended.
    pub fn end_round(&mut self, good: bool) {
        let Some(round) = self.running.take() else { return };
        if good {
            self.syncs += round.files();
            self.done.send_replace(self.begun);
            for (rank, up_to) in round.durable() {
                self.feed(Input::Durable { rank, up_to });
            }
        } else {
            self.store.round_failed(&round);
            self.changed.notify_one();
        }
    }

    /// The round after which everything that is written now is durable, and a receiver of the last
    /// successful round. `None`: everything is durable.
    pub fn durable_after(&mut self) -> Option<(u64, watch::Receiver<u64>)> {
        self.drain_all();
        self.flush();
        if self.owed().is_none() && self.running.is_none() && !self.store.is_dirty() {
            return None;
        }
        self.changed.notify_one();
        self.hurry.notify_one();
        Some((self.begun + 1, self.done.subscribe()))
    }

    /// The directory of the logs, and their bytes.
    pub fn stored(&self) -> (PathBuf, u64) {
        (self.store.path().to_owned(), self.store.bytes())
    }

    pub fn status(&self, uptime: Duration, rejected: u64) -> serde_json::Value {
        serde_json::json!({
            "server": NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "directory": self.store.path().display().to_string(),
            "uptime_s": uptime.as_secs_f64(),
            "connections": self.links.len(),
            "events": self.events,
            "events_in_rings": self.rings.events,
            "bytes": self.store.bytes(),
            "writes": self.writes,
            "failed_writes": self.failed_writes,
            "syncs": self.syncs,
            "cut_events": self.cut,
            "power_lost": self.power_lost,
            "acknowledges": match self.promise {
                Promise::Written => "written",
                Promise::Durable => "durable",
            },
            "clock_bytes_told": self.clock_bytes,
            "clocks_heard": self.clocks_heard,
            "rejected_callers": rejected,
            "ranks": self.machine.ranks().collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Files, Op};
    use crate::storage_faults::{Plan, Switch};
    use ftmpi_transport::event_ring::{Put, Writer, file_of};
    use ftmpi_wire::Determinant;
    use std::path::Path;
    use std::sync::Arc;

    const RANK: Rank = Rank(0);
    const CONN: ConnId = ConnId(1);

    fn open(dir: &Path, files: Files) -> Core {
        let opened = EventStore::open_with(dir, files, "first").unwrap();
        Core::new(opened, Promise::Written).unwrap()
    }

    fn hello(core: &mut Core) {
        let welcome = core.hello(CONN, RANK, Incarnation(0), Rc::new(Link::default()));
        assert_eq!(welcome, Welcome::Yes);
    }

    fn frame(first: u64, count: u64) -> Frame {
        let event = |n| Determinant::Clock { fails: 0, bits: n };
        let records = (first..first + count).map(event).collect();
        Frame::Append { first: EventNo(first), clock: EventNo(0), records }
    }

    /// The last mark covers what a round has taken whose end nobody notices.
    #[test]
    fn the_end_makes_durable_what_a_round_had_begun_with() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Arc::new(Plan::new(None));
        let mut core = open(dir.path(), Files::watched(plan.clone()));
        hello(&mut core);
        core.feed(Input::Frame { conn: CONN, frame: frame(1, 3) });
        core.flush();
        let running = core.begin_round().unwrap();
        core.begin_last_round().unwrap().sync().unwrap();
        plan.lose_power(|_| 0);
        drop((running, core));
        let opened = EventStore::open_with(dir.path(), Files::default(), "second").unwrap();
        let (_, found) = &opened.found[0];
        assert_eq!((found.last, &found.damage), (EventNo(3), &None));
        assert!(!opened.power_lost, "it was a clean end");
    }

    fn round(core: &mut Core) -> Result<(), OwedEvents> {
        core.begin_round()?.sync().unwrap();
        core.end_round(true);
        Ok(())
    }

    fn ring(core: &mut Core) -> Writer {
        let near = core.begin_ring(CONN, RANK, Incarnation(0));
        let Some(Frame::EventRing { process, descriptor, cookie }) = near else {
            panic!("{near:?}")
        };
        Writer::map_anywhere(&file_of(process, descriptor).unwrap(), cookie).unwrap()
    }

    fn store(ring: &mut Writer, first: u64, count: u64) {
        let mut bytes = Vec::new();
        frame(first, count).encode(&mut bytes);
        assert_eq!(ring.put(&bytes), Put::Stored);
    }

    /// The rank has heard that the event is safe, and others may depend on it: no mark without the
    /// event.
    #[test]
    fn what_finds_no_room_in_the_log_is_not_durable() {
        fn is_write(op: &Op<'_>) -> bool {
            let end = |path: &Path| path.extension().is_some_and(|end| end == "events");
            matches!(op, Op::Write { path, .. } if end(path))
        }
        let dir = tempfile::tempdir().unwrap();
        let switch = Arc::new(Switch::new(is_write));
        let mut core = open(dir.path(), Files::watched(switch.clone()));
        hello(&mut core);
        let mut ring = ring(&mut core);
        store(&mut ring, 1, 3);
        round(&mut core).unwrap();
        assert!(core.durable_after().is_none());
        store(&mut ring, 4, 2);
        switch.set(true);
        assert!(core.durable_after().is_some());
        let why = round(&mut core).unwrap_err().to_string();
        assert!(why.contains("rank 0") && why.contains("make room"), "{why}");
        // The logger has closed the connection of the rank.
        core.end_ring(CONN, RANK);
        core.feed(Input::Lost { conn: CONN });
        core.forget(CONN);
        assert!(core.durable_after().is_some());
        round(&mut core).unwrap_err();
        core.begin_last_round().unwrap_err();
        // This holds also if the rank does not return.
        switch.set(false);
        round(&mut core).unwrap();
        assert!(core.durable_after().is_none());
        assert_eq!(core.machine.written(RANK), EventNo(5));
    }

    #[test]
    fn what_is_damaged_in_a_ring_is_not_durable() {
        let dir = tempfile::tempdir().unwrap();
        let mut core = open(dir.path(), Files::default());
        hello(&mut core);
        let mut ring = ring(&mut core);
        store(&mut ring, 1, 3);
        assert_eq!(ring.put(b"no event, but as long as a prefix"), Put::Stored);
        assert!(core.durable_after().is_some());
        let why = round(&mut core).unwrap_err().to_string();
        assert!(why.contains("rank 0") && why.contains("damaged"), "{why}");
    }
}
