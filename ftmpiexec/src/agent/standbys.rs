//! Standbys: processes on this host that have read the newest image of their rank and wait for the
//! end of it ([`gate`](super::gate)). The order of the next incarnation lets one go on.
//!
//! Guarantees: a standby goes on only as the incarnation for which it was made, from the first
//! image of the order, when it has read the image, after the incarnation was declared and was not
//! taken back. In every other case the standby is killed, and the incarnation begins as if there
//! had been none. From the moment when it goes on, the process is one of a rank like any other.

use super::directory::RankKey;
use super::events::AgentEvent;
use super::gate::{Gate, Opener};
use super::image_results::{Restore, Stream};
use super::rank_link::watch_exit;
use super::spawn::{self, SpawnError, Spawned};
use super::start::Prepared;
use super::{Agent, processes, restore};
use crate::agent_protocol::{ActualCommand, Report, Start};
use crate::tuning::STANDBY_TEXT_BYTES;
use ftmpi_checkpoint::boot_abi;
use ftmpi_protocols::dispatcher::StandbyNews;
use ftmpi_wire::status::word;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;

/// The process of a standby, and what was prepared for it.
#[derive(Debug)]
struct Process {
    prepared: Box<Prepared>,
    child: Child,
    spawned: Spawned,
}

/// A standby. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Standby {
    /// Tells it from others of its rank.
    serial: u64,
    incarnation: Incarnation,
    image: ImageNo,
    /// What decides how its process was started, beside the image.
    started_as: (bool, Option<ActualCommand>),
    opener: Option<Opener>,
    process: Option<Process>,
    /// It has read its image.
    filled: bool,
    /// Its process was reaped.
    reaped: bool,
    /// The order of the incarnation that begins in it, once that was declared.
    declared: Option<Start>,
}

impl Drop for Standby {
    fn drop(&mut self) {
        if let Some(process) = self.process.as_ref().filter(|_| !self.reaped) {
            processes::signal_group(process.child.id(), libc::SIGKILL);
        }
    }
}

impl Standby {
    /// Whether an incarnation that is ordered in this way can begin in it.
    fn fits(&self, start: &Start) -> bool {
        let is_next = self.incarnation == start.incarnation
            && start.images.first().is_some_and(|newest| newest.image == self.image);
        // Files that return with a rank would return too late for what is mapped already.
        let as_ordered = !start.no_newer
            && start.files.is_empty()
            && (self.started_as.0, &self.started_as.1) == (start.fed, &start.actual_command);
        is_next && as_ordered
    }

    /// Whether its process has ended.
    fn has_ended(&self) -> bool {
        let state = |process: &Process| processes::state_of(process.child.id());
        !self.reaped && self.process.as_ref().and_then(state) == Some('Z')
    }

    /// Reaps the process, which has ended; why it ended, and whether the next one would, too.
    fn reap(&mut self) -> (String, bool) {
        self.reaped = true;
        let Some(process) = &mut self.process else { return ("it has no process".into(), false) };
        let said = last_line(&mut process.child);
        let Ok(status) = process.child.wait() else { return ("it is gone".into(), false) };
        match (status.code(), status.signal()) {
            (Some(boot_abi::EXIT_IMAGE_MISFIT), _) => {
                (said.unwrap_or_else(|| "its image does not fit this host".to_owned()), true)
            }
            (Some(boot_abi::EXIT_IMAGE_DAMAGED), _) => ("its image broke off".to_owned(), false),
            (Some(code), _) => (format!("it ended with exit code {code}"), false),
            (None, signal) => {
                let signal = signal.unwrap_or(libc::SIGKILL);
                (format!("it was killed by signal {signal}"), false)
            }
        }
    }
}

/// The last line of what a process that has ended wrote to standard error, without its beginning,
/// which names the rank.
fn last_line(child: &mut Child) -> Option<String> {
    let mut text = Vec::new();
    let pipe = child.stderr.take()?;
    pipe.take(STANDBY_TEXT_BYTES as u64).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().last()?;
    let words = line.strip_prefix("ftmpi: rank ").and_then(|rest| rest.split_once(": "));
    Some(words.map_or(line, |(_, words)| words).to_owned())
}

/// The standbys of this host, by rank.
#[derive(Debug, Default)]
pub(super) struct Standbys {
    waiting: BTreeMap<Rank, Standby>,
    /// The incarnation that begins in it is being declared.
    going: BTreeMap<Rank, Standby>,
    last: u64,
}

impl Standbys {
    /// A standby is made, in place of an earlier one; its number.
    fn begin(&mut self, rank: Rank, standby: impl FnOnce(u64) -> Standby) -> u64 {
        self.last += 1;
        self.waiting.insert(rank, standby(self.last));
        self.last
    }

    /// A standby that waits, or that an incarnation begins in.
    fn get_mut(&mut self, rank: Rank, serial: u64) -> Option<&mut Standby> {
        let both = [self.waiting.get_mut(&rank), self.going.get_mut(&rank)];
        both.into_iter().flatten().find(|standby| standby.serial == serial)
    }

    /// Takes it out; `true`: an incarnation begins in it.
    fn take_out(&mut self, rank: Rank, serial: u64) -> Option<(Standby, bool)> {
        for (standbys, going) in [(&mut self.waiting, false), (&mut self.going, true)] {
            if standbys.get(&rank).is_some_and(|standby| standby.serial == serial) {
                return standbys.remove(&rank).map(|standby| (standby, going));
            }
        }
        None
    }

    /// Drops the standby of a rank.
    pub(super) fn remove(&mut self, rank: Rank) {
        self.waiting.remove(&rank);
    }

    /// This incarnation of a rank begins elsewhere.
    pub(super) fn outdated(&mut self, rank: Rank, incarnation: Incarnation) {
        for standbys in [&mut self.waiting, &mut self.going] {
            if standbys.get(&rank).is_some_and(|standby| standby.incarnation <= incarnation) {
                standbys.remove(&rank);
            }
        }
    }

    /// A rank begins here: its standby, if the incarnation can begin in it. Any other is dropped.
    pub(super) fn take(&mut self, start: &Start) -> Option<Standby> {
        self.going.remove(&start.rank);
        self.waiting.remove(&start.rank).filter(|standby| standby.fits(start))
    }

    /// The incarnation that begins in this standby is being declared.
    pub(super) fn goes_on(&mut self, rank: Rank, standby: Standby) {
        self.going.insert(rank, standby);
    }

    /// The standby in which this incarnation begins.
    fn going_mut(&mut self, (rank, incarnation): RankKey) -> Option<&mut Standby> {
        self.going.get_mut(&rank).filter(|standby| standby.incarnation == incarnation)
    }

    /// Whether this child of the agent is one of them, and is not reaped yet.
    pub(super) fn own(&self, pid: u32) -> bool {
        let all = self.waiting.values().chain(self.going.values());
        let mut running =
            all.filter(|standby| !standby.reaped).filter_map(|it| it.process.as_ref());
        running.any(|process| process.child.id() == pid)
    }
}

/// What came of the search for the image of a standby.
#[derive(Debug)]
pub struct StandbyFetched {
    serial: u64,
    start: Start,
    outcome: Result<Stream, String>,
}

impl Agent {
    /// Makes a standby for an incarnation that is ordered in this way.
    pub(super) fn make_standby(&mut self, start: Start) {
        let (rank, incarnation) = (start.rank, start.incarnation);
        let image = start.images.first().map_or(ImageNo(0), |facts| facts.image);
        if start.actual_command.as_ref().is_some_and(|command| command.contained) {
            // Only the whole command leads into the container, and it may do anything.
            let why = "its program runs in a container of its own".to_owned();
            let news = StandbyNews::Lost { image, why, for_good: true };
            return self.link.report(rank, incarnation, Report::Standby(news));
        }
        let events = self.events.clone();
        let started_as = (start.fed, start.actual_command.clone());
        let mut gate = None;
        let serial = self.standbys.begin(rank, |serial| {
            let (closed, opener) = Gate::new(rank, serial, events);
            gate = Some(closed);
            let opener = Some(opener);
            let (process, filled, reaped, declared) = (None, false, false, None);
            Standby {
                serial,
                incarnation,
                image,
                started_as,
                opener,
                process,
                filled,
                reaped,
                declared,
            }
        });
        let Some(gate) = gate else { return };
        let (source, events) = (self.source_of_images(), self.events.clone());
        tokio::spawn(async move {
            let outcome = restore::standby::fetch(&start, &source, gate).await;
            let fetched = Box::new(StandbyFetched { serial, start, outcome });
            let _ = events.send(AgentEvent::StandbyFetched(fetched));
        });
    }

    /// The search for the image of a standby has ended: has its process started.
    pub(super) fn standby_fetched(&mut self, fetched: StandbyFetched) {
        let StandbyFetched { serial, start, outcome } = fetched;
        let rank = start.rank;
        if self.standbys.get_mut(rank, serial).is_none() {
            return;
        }
        let order = outcome.and_then(|stream| {
            self.prepare(start, Some(stream), Some(serial)).map_err(|error| error.to_string())
        });
        match order {
            Ok(order) => self.starter.order(order),
            Err(why) => self.standby_lost((rank, serial), why, false),
        }
    }

    /// The process of a standby was started, or could not be.
    pub(super) fn standby_started(
        &mut self,
        serial: u64,
        prepared: Box<Prepared>,
        started: Result<(Child, Spawned), SpawnError>,
    ) {
        let rank = prepared.start.rank;
        let Some(standby) = self.standbys.get_mut(rank, serial) else {
            if let Ok((child, _)) = started {
                processes::signal_group(child.id(), libc::SIGKILL);
            }
            return;
        };
        let problem = match started {
            Ok((child, spawned)) => {
                let (pid, exited) = (child.id(), AgentEvent::StandbyExited { rank, serial });
                standby.process = Some(Process { prepared, child, spawned });
                watch_exit(pid, exited, self.events.clone()).err().map(|e| e.to_string())
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = problem {
            self.standby_lost((rank, serial), why, false);
        }
    }

    /// A standby has read its image.
    pub(super) fn standby_filled(&mut self, rank: Rank, serial: u64) {
        let Some(standby) = self.standbys.get_mut(rank, serial) else { return };
        standby.filled = true;
        let (incarnation, news) = (standby.incarnation, StandbyNews::Ready(standby.image));
        self.link.report(rank, incarnation, Report::Standby(news));
        self.promote_if_ready((rank, incarnation));
    }

    /// The process of a standby has ended.
    pub(super) fn standby_exited(&mut self, rank: Rank, serial: u64) {
        if let Some(standby) = self.standbys.get_mut(rank, serial) {
            let (why, for_good) = standby.reap();
            self.standby_lost((rank, serial), why, for_good);
        }
    }

    /// There will be no such standby. An incarnation that was to begin in it begins from the image.
    fn standby_lost(&mut self, (rank, serial): (Rank, u64), why: String, for_good: bool) {
        let Some((standby, going)) = self.standbys.take_out(rank, serial) else { return };
        let key = (rank, standby.incarnation);
        let news = StandbyNews::Lost { image: standby.image, why, for_good };
        self.link.report(key.0, key.1, Report::Standby(news));
        if going
            && let Some(start) = standby.declared.clone()
            && self.ranks.fetch_ended(key)
        {
            self.start(start);
        }
    }

    /// An incarnation that is to begin in its standby was declared: the standby goes on when it has
    /// read its image, unless the incarnation is void by now, or the standby gone.
    pub(super) fn standby_may_go(&mut self, restore: Restore) {
        let Restore { start, outcome, .. } = restore;
        let key = (start.rank, start.incarnation);
        if let Some(standby) = self.standbys.going_mut(key).filter(|_| outcome.is_ok()) {
            standby.declared = Some(start);
            return self.promote_if_ready(key);
        }
        if !self.directory.borrow().is_current(key) || !self.ranks.fetch_ended(key) {
            return;
        }
        match outcome {
            Ok(_) => self.start(start),
            Err(e) => {
                let report = Report::CannotStart { code: 1, why: e.to_string() };
                self.link.report(key.0, key.1, report);
            }
        }
    }

    /// The incarnation begins in its standby, if it was declared and the image is read.
    fn promote_if_ready(&mut self, key: RankKey) {
        let Some(standby) = self.standbys.going_mut(key) else { return };
        if !standby.filled || standby.declared.is_none() {
            return;
        }
        if standby.has_ended() {
            // The event is on its way. It would be a failure of the rank once the gate is open.
            let serial = standby.serial;
            return self.standby_exited(key.0, serial);
        }
        let Some(standby) = self.standbys.going.remove(&key.0) else { return };
        if self.directory.borrow().is_current(key) && self.ranks.fetch_ended(key) {
            self.promote(standby);
        }
    }

    /// The process of a standby becomes that of its rank.
    fn promote(&mut self, mut standby: Standby) {
        let Some(start) = standby.declared.take() else { return };
        let key = (start.rank, start.incarnation);
        let (process, opener) = (standby.process.take(), standby.opener.take());
        let (Some(process), Some(opener)) = (process, opener) else { return self.start(start) };
        let Process { mut prepared, child, spawned } = process;
        let pid = child.id();
        prepared.page.set(word::DIED, self.died_before(key));
        prepared.start = start;
        spawn::promote(pid, self.cpus_of(key.0).as_ref());
        self.tell_withheld();
        match self.follow_process(prepared, (child, spawned)) {
            Ok(process) => {
                self.runs(process);
                opener.open();
            }
            Err(error) => {
                processes::signal_group(pid, libc::SIGKILL);
                self.cannot_start(key, Some(standby.image), &error);
            }
        }
    }
}
