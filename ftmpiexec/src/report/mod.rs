//! What happened in a job, for `--report`.
//!
//! All times are milliseconds or seconds of the launcher's clock since it began. Counters are sums
//! over ranks. The counters of a restarted rank go on from its image, which holds them. So the sums
//! say what the program did and not what was repeated.

//!
//! | module | subject |
//! | --- | --- |
//! | [`contents`] | the fields about the whole job |
//! | [`losses`], [`remedies`] | the time that each failure cost; what a user can do |
//! | [`summary`] | the last lines of a job, with advice |
//! | [`file`] | the files of `--report` |

mod contents;
pub mod file;
mod losses;
mod remedies;
pub mod summary;

use crate::cli::Plan;
use crate::history::view::seconds;
use contents::{ChannelMemories, ProcessRecord, Times};
use ftmpi_protocols::waves::Over;
use ftmpi_wire::status::Counters;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::Duration;

/// Records what happens in a job.
#[derive(Debug)]
pub struct Recorder {
    protocol: String,
    protocol_asked: String,
    events: &'static str,
    hosts: Vec<String>,
    processes: Vec<Vec<ProcessRecord>>,
    latest: Vec<Counters>,
    log_peak: Vec<u64>,
    /// When a fault was injected into this incarnation.
    kills: BTreeMap<(Rank, Incarnation), Duration>,
    detect: BTreeMap<(Rank, Incarnation), Duration>,
    pauses: Times,
    costs: Times,
    durations: Times,
    waves: Times,
    waves_void: u64,
    clusters: Option<Vec<u32>>,
    image_bytes: u64,
    images_failed: u64,
    servers_failed: u32,
    images_ordered: u64,
    logs_full: u64,
    memories: ChannelMemories,
    loggers: [u64; 3],
}

impl Recorder {
    /// Nothing has happened yet.
    pub fn new(plan: &Plan) -> Self {
        let size = plan.placement.len();
        Self {
            protocol: plan.protocol.name.clone(),
            protocol_asked: plan.protocol_asked().to_owned(),
            events: match plan.protocol.events {
                ftmpi_wire::control::Events::All => "all",
                ftmpi_wire::control::Events::Nondeterministic => "nondeterministic",
            },
            hosts: plan.machines.iter().map(|machine| machine.name.clone()).collect(),
            processes: vec![Vec::new(); size],
            latest: vec![Counters::default(); size],
            log_peak: vec![0; size],
            kills: BTreeMap::new(),
            detect: BTreeMap::new(),
            pauses: Times::default(),
            costs: Times::default(),
            durations: Times::default(),
            waves: Times::default(),
            waves_void: 0,
            clusters: plan.clusters.clone(),
            image_bytes: 0,
            memories: ChannelMemories::default(),
            loggers: [0; 3],
            images_failed: 0,
            servers_failed: 0,
            images_ordered: 0,
            logs_full: 0,
        }
    }

    /// The job has so many ranks now.
    pub fn ranks_added(&mut self, size: usize, all_return: bool) {
        self.processes.resize(size, Vec::new());
        self.latest.resize(size, Counters::default());
        self.log_peak.resize(size, 0);
        if let Some(clusters) = &mut self.clusters {
            // What joins takes part in the waves of all, or is a cluster of its own.
            let own = clusters.len() as u32;
            clusters.resize(size, if all_return { 0 } else { own });
        }
    }

    /// A rank's process runs.
    pub fn spawned(&mut self, rank: Rank, incarnation: Incarnation, pid: u32, at: Duration) {
        let processes = &mut self.processes[rank.index()];
        // A process that refused its image never was the rank. The same incarnation tries another
        // image.
        if let Some(same) =
            processes.last_mut().filter(|process| process.incarnation == incarnation.0)
        {
            (same.pid, same.to_s) = (pid, None);
            return;
        }
        // The end of an incarnation whose agent was lost is not reported: it is over by now.
        if let Some(before) = processes.last_mut() {
            before.to_s.get_or_insert(seconds(at));
        }
        processes.push(ProcessRecord {
            incarnation: incarnation.0,
            pid,
            from_s: seconds(at),
            to_s: None,
        });
    }

    /// A rank said hello as this process.
    pub fn hello(&mut self, rank: Rank, incarnation: Incarnation, pid: u32) {
        if let Some(process) = self.processes[rank.index()]
            .iter_mut()
            .rev()
            .find(|process| process.incarnation == incarnation.0)
        {
            process.pid = pid;
        }
    }

    /// A rank's process has ended; the agent saw that so long ago. The result is the time since
    /// the end: an injected fault is known better.
    pub fn ended(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        at: Duration,
        seen: Duration,
    ) -> Duration {
        if let Some(process) = self.processes[rank.index()]
            .iter_mut()
            .rev()
            .find(|process| process.incarnation == incarnation.0)
        {
            process.to_s = Some(seconds(at));
        }
        let since =
            self.kills.remove(&(rank, incarnation)).map_or(seen, |kill| at.saturating_sub(kill));
        self.detect.insert((rank, incarnation), since);
        since
    }

    /// A fault is being injected.
    pub fn killed(&mut self, rank: Rank, incarnation: Incarnation, at: Duration) {
        self.kills.insert((rank, incarnation), at);
    }

    /// New counters of a rank came.
    pub fn counters(&mut self, rank: Rank, counters: Counters) {
        self.latest[rank.index()] = counters;
        let peak = &mut self.log_peak[rank.index()];
        *peak = (*peak).max(counters.log_bytes_peak);
    }

    /// The latest counters of a rank.
    pub fn counters_of(&self, rank: Rank) -> &Counters {
        &self.latest[rank.index()]
    }

    /// Bytes and messages that all ranks have sent.
    pub fn sent(&self) -> (u64, u64) {
        let sum = |of: fn(&Counters) -> u64| self.latest.iter().map(of).sum();
        (sum(|counters| counters.bytes_sent), sum(|counters| counters.messages_sent))
    }

    /// A number that grows while the program of a rank makes progress.
    pub fn progress(&self, rank: Rank) -> u64 {
        let counters = &self.latest[rank.index()];
        counters.messages_sent + counters.messages_received
    }

    /// An image was taken.
    pub fn image_taken(&mut self, pause_ns: u64) {
        self.pauses.add(pause_ns);
    }

    /// An image held up its rank, pause included.
    pub fn image_cost(&mut self, cost_ns: u64) {
        self.costs.add(cost_ns);
    }

    /// An image is durable.
    pub fn image_committed(&mut self, bytes: u64, took_ns: u64) {
        self.image_bytes += bytes;
        self.durations.add(took_ns);
    }

    /// A wave has ended.
    pub fn wave_over(&mut self, over: &Over) {
        match over.complete {
            Some(_) => self.waves.add(over.took.as_nanos() as u64),
            None => self.waves_void += 1,
        }
    }

    /// An image was lost.
    pub fn image_failed(&mut self) {
        self.images_failed += 1;
    }

    /// The checkpoint scheduler has decided.
    pub fn scheduler_ordered(&mut self) {
        self.images_ordered += 1;
    }

    /// The sender log of a rank was full, and asked for images.
    pub fn log_full(&mut self) {
        self.logs_full += 1;
    }

    /// A server had to be restarted.
    pub fn server_failed(&mut self) {
        self.servers_failed += 1;
    }

    /// How often servers had to be restarted.
    pub fn servers_restarted(&self) -> u32 {
        self.servers_failed
    }

    /// A host has joined the job.
    pub fn host_added(&mut self, name: String) {
        self.hosts.push(name);
    }

    /// The process that a rank is now.
    pub fn pid(&self, rank: Rank) -> Option<u32> {
        let last = self.processes[rank.index()].last();
        last.filter(|process| process.to_s.is_none()).map(|process| process.pid)
    }

    /// Waves that counted, and waves that did not.
    pub fn waves_counted(&self) -> (u64, u64) {
        (self.waves.count, self.waves_void)
    }

    /// How many images became durable.
    pub fn images(&self) -> u64 {
        self.durations.count
    }

    /// Bytes of the images that became durable.
    pub fn image_bytes(&self) -> u64 {
        self.image_bytes
    }

    /// Whether every rank has had a process.
    pub fn all_have_started(&self) -> bool {
        self.processes.iter().all(|processes| !processes.is_empty())
    }

    /// How many ranks have a process that runs.
    pub fn running(&self) -> usize {
        let runs = |processes: &Vec<ProcessRecord>| {
            processes.last().is_some_and(|process| process.to_s.is_none())
        };
        self.processes.iter().filter(|processes| runs(processes)).count()
    }

    /// Adds the figures of an event logger.
    pub fn add_logger_status(&mut self, state: &serde_json::Value) {
        let of = |name: &str| state[name].as_u64().unwrap_or(0);
        let added = [1, of("clock_bytes_told"), of("clocks_heard")];
        self.loggers = std::array::from_fn(|index| self.loggers[index] + added[index]);
    }

    /// Adds the figures of a channel memory.
    pub fn add_memory_status(&mut self, state: &serde_json::Value) {
        let of = |name: &str| state["memory"][name].as_u64().unwrap_or(0);
        let memories = &mut self.memories;
        memories.count += 1;
        memories.records += of("records");
        memories.stored_bytes += of("bytes");
        memories.spilled_bytes += of("spilled_bytes");
        memories.reread_bytes += of("reread_bytes");
        memories.file_bytes += of("file_bytes");
    }
}
