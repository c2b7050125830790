//! What happened in a job, for `--report`.
//!
//! All times are milliseconds or seconds of the launcher's clock since it began; counters are
//! sums over ranks. A restarted rank counts from its image on (its counters are part of it), so
//! sums tell what the program did, not what was repeated.

use crate::cli::Plan;
use ftmpi_protocols::dispatcher::{Dispatcher, Failure};
use ftmpi_protocols::waves::Over;
use ftmpi_wire::status::Counters;
use ftmpi_wire::{Incarnation, Rank};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The file's contents.
#[derive(Debug, Serialize)]
pub struct RunReport {
    protocol: String,
    events: &'static str,
    ranks: usize,
    /// The cluster of each rank, where the ranks of one return together.
    clusters: Option<Vec<u32>>,
    hosts: Vec<String>,
    wall_s: f64,
    exit_code: i32,
    failures: Vec<FailureReport>,
    /// Lives that were rolled back because they depended on what a failed rank lost, or had lost what one needs.
    orphans: Vec<FailureReport>,
    checkpoints: Checkpoints,
    waves: WavesReport,
    messages: Messages,
    piggyback: Piggyback,
    event_logger: EventLogger,
    channel_memories: ChannelMemories,
    recovered: Vec<Recovered>,
    logs: Logs,
    servers_restarted: u32,
    pids: Vec<Vec<ProcessRecord>>,
}

#[derive(Debug, Serialize)]
struct FailureReport {
    rank: u32,
    at_s: f64,
    cause: String,
    recovery: &'static str,
    image: Option<u64>,
    replayed: u64,
    /// From the injected kill (or the agent's sight of the death) to the dispatcher's knowledge.
    detect_ms: Option<f64>,
    /// From there to the new life's first word.
    restore_ms: Option<f64>,
    /// From there until it had caught up.
    catch_up_ms: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct Checkpoints {
    /// Decisions of the checkpoint scheduler; while it was away the launcher made them itself.
    ordered: u64,
    count: u64,
    failed: u64,
    bytes: u64,
    pause_ms_mean: f64,
    pause_ms_max: f64,
    duration_ms_mean: f64,
    duration_ms_max: f64,
}

/// Coordinated waves.
#[derive(Debug, Default, Serialize)]
struct WavesReport {
    complete: u64,
    /// Some rank had no image in them.
    void: u64,
    /// From the order to the last receipt.
    duration_ms_mean: f64,
    duration_ms_max: f64,
    /// From the order of an image to its begin, of all ranks: markers and what was under way.
    wait_ms: f64,
    /// Payload that images have as state of channels.
    channel_state_bytes: u64,
    /// Frames of ranks that were ahead, which waited for an image.
    held_frames: u64,
}

#[derive(Debug, Default, Serialize)]
struct Messages {
    sent: u64,
    payload_bytes: u64,
    received: u64,
    received_bytes: u64,
    determinants: u64,
    gate_waits: u64,
    gate_wait_ms: f64,
    duplicates_dropped: u64,
    /// Their senders were orphans.
    orphans_refused: u64,
    resent: u64,
}

/// What a causal or optimistic protocol put before messages; under `optimistic` an event is an entry
/// of the dependency vector.
#[derive(Debug, Default, Serialize)]
struct Piggyback {
    events: u64,
    /// Headers included.
    bytes: u64,
    build_ms: f64,
    merge_ms: f64,
    /// Events that ranks held when the job ended because they were not known to be stable.
    held_events: u64,
}

/// What the memories told at the end of the job (since each of them was last started), and what ranks
/// measured.
#[derive(Debug, Default, Clone, Serialize)]
struct ChannelMemories {
    count: u64,
    records: u64,
    stored_bytes: u64,
    /// Bytes that left main memory before their reader took them, and that were read from files.
    spilled_bytes: u64,
    reread_bytes: u64,
    /// Bytes in their files at the end.
    file_bytes: u64,
    /// From a send to the word that it is stored.
    puts_measured: u64,
    put_ms_mean: f64,
}

#[derive(Debug, Default, Serialize)]
struct EventLogger {
    /// How many there were; and, where there are several, bytes of what they told each other or the
    /// hosts of what is written, and clocks that they heard.
    count: u64,
    clock_bytes_told: u64,
    clocks_heard: u64,
    /// Events that ranks stored in memory which they share with a logger: nothing waited for them.
    stored_near: u64,
    /// Batches whose way there and back was measured.
    round_trips: u64,
    round_trip_ms_mean: f64,
}

/// Where the last life of a restarted rank had its events from.
#[derive(Debug, Serialize)]
struct Recovered {
    rank: u32,
    from_logger: u64,
    from_peers: u64,
    /// Until it had them all.
    ms: f64,
}

#[derive(Debug, Default, Serialize)]
struct Logs {
    /// Bytes held in sender logs when the job ended.
    bytes: u64,
    /// The most that each rank ever held, summed.
    peak_bytes: u64,
}

#[derive(Debug, Clone, Serialize)]
struct ProcessRecord {
    incarnation: u32,
    pid: u32,
    from_s: f64,
    to_s: Option<f64>,
}

/// Collects.
#[derive(Debug)]
pub struct Recorder {
    protocol: String,
    events: &'static str,
    hosts: Vec<String>,
    processes: Vec<Vec<ProcessRecord>>,
    latest: Vec<Counters>,
    phases: Vec<u64>,
    log_peak: Vec<u64>,
    /// When a fault was injected into this life.
    kills: BTreeMap<(Rank, Incarnation), Duration>,
    detect: BTreeMap<(Rank, Incarnation), Duration>,
    pauses: Vec<u64>,
    durations: Vec<u64>,
    waves: Vec<u64>,
    waves_void: u64,
    clusters: Option<Vec<u32>>,
    image_bytes: u64,
    images_failed: u64,
    servers_failed: u32,
    images_ordered: u64,
    memories: ChannelMemories,
    loggers: [u64; 3],
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Recorder {
    /// Nothing has happened yet.
    pub fn new(plan: &Plan) -> Self {
        let size = plan.placement.len();
        Self {
            protocol: plan.protocol.name.clone(),
            events: match plan.protocol.events {
                ftmpi_wire::control::Events::All => "all",
                ftmpi_wire::control::Events::Nondeterministic => "nondeterministic",
            },
            hosts: plan.machines.iter().map(|machine| machine.name.clone()).collect(),
            processes: vec![Vec::new(); size],
            latest: vec![Counters::default(); size],
            phases: vec![0; size],
            log_peak: vec![0; size],
            kills: BTreeMap::new(),
            detect: BTreeMap::new(),
            pauses: Vec::new(),
            durations: Vec::new(),
            waves: Vec::new(),
            waves_void: 0,
            clusters: plan.clusters.clone(),
            image_bytes: 0,
            memories: ChannelMemories::default(),
            loggers: [0; 3],
            images_failed: 0,
            servers_failed: 0,
            images_ordered: 0,
        }
    }

    /// An agent runs as this process.
    pub fn agent_ready(&mut self, _host: u32, _pid: u32) {}

    /// A rank's process runs.
    pub fn spawned(&mut self, rank: Rank, incarnation: Incarnation, pid: u32, at: Duration) {
        let processes = &mut self.processes[rank.index()];
        // A process whose image proved no good never was the rank; the same life tries another image.
        if let Some(same) =
            processes.last_mut().filter(|process| process.incarnation == incarnation.0)
        {
            (same.pid, same.to_s) = (pid, None);
            return;
        }
        // Nobody told of the end of a life whose agent was lost: it was over by now.
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

    /// The process that is the rank itself.
    pub fn hello(&mut self, rank: Rank, incarnation: Incarnation, pid: u32, _at: Duration) {
        if let Some(process) = self.processes[rank.index()]
            .iter_mut()
            .rev()
            .find(|process| process.incarnation == incarnation.0)
        {
            process.pid = pid;
        }
    }

    /// A rank's process is gone, and the agent saw it so long ago.
    pub fn ended(&mut self, rank: Rank, incarnation: Incarnation, at: Duration, seen: Duration) {
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
    }

    /// A fault is being injected.
    pub fn killed(&mut self, rank: Rank, incarnation: Incarnation, at: Duration) {
        self.kills.insert((rank, incarnation), at);
    }

    /// Whether a fault was injected into this life.
    pub fn was_killed(&self, rank: Rank, incarnation: Incarnation) -> bool {
        self.kills.contains_key(&(rank, incarnation))
    }

    /// What the rank counts, as of the last time its agent looked.
    pub fn counters_of(&self, rank: Rank) -> &Counters {
        &self.latest[rank.index()]
    }

    /// What the rank was doing when its counters came last (`ftmpi_wire::status::Phase`).
    pub fn phase(&self, rank: Rank) -> u64 {
        self.phases[rank.index()]
    }

    /// The counters of a life.
    pub fn counters(&mut self, rank: Rank, phase: u64, counters: Counters) {
        self.phases[rank.index()] = phase;
        self.latest[rank.index()] = counters;
        let peak = &mut self.log_peak[rank.index()];
        *peak = (*peak).max(counters.log_bytes_peak);
    }

    /// Grows while the program gets on.
    pub fn progress(&self, rank: Rank) -> u64 {
        let counters = &self.latest[rank.index()];
        counters.messages_sent + counters.messages_received
    }

    /// An image was taken.
    pub fn image_taken(&mut self, pause_ns: u64) {
        self.pauses.push(pause_ns);
    }

    /// It is durable.
    pub fn image_committed(&mut self, bytes: u64, took_ns: u64) {
        self.image_bytes += bytes;
        self.durations.push(took_ns);
    }

    /// A wave is over.
    pub fn wave_over(&mut self, over: &Over) {
        match over.complete {
            Some(_) => self.waves.push(over.took.as_nanos() as u64),
            None => self.waves_void += 1,
        }
    }

    /// It was lost.
    pub fn image_failed(&mut self) {
        self.images_failed += 1;
    }

    /// The checkpoint scheduler has decided.
    pub fn scheduler_ordered(&mut self) {
        self.images_ordered += 1;
    }

    /// A server had to be restarted.
    pub fn server_failed(&mut self) {
        self.servers_failed += 1;
    }

    /// Images that are durable.
    pub fn images(&self) -> usize {
        self.durations.len()
    }

    /// Whether every rank has had a process.
    pub fn all_have_started(&self) -> bool {
        self.processes.iter().all(|processes| !processes.is_empty())
    }

    /// Ranks whose process runs.
    pub fn running(&self) -> usize {
        let runs = |processes: &Vec<ProcessRecord>| {
            processes.last().is_some_and(|process| process.to_s.is_none())
        };
        self.processes.iter().filter(|processes| runs(processes)).count()
    }

    /// What an event logger says of itself.
    pub fn add_logger_status(&mut self, state: &serde_json::Value) {
        let of = |name: &str| state[name].as_u64().unwrap_or(0);
        let added = [1, of("clock_bytes_told"), of("clocks_heard")];
        self.loggers = std::array::from_fn(|index| self.loggers[index] + added[index]);
    }

    /// What a channel memory says of itself.
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

    /// Everything, for the file of the report.
    pub fn report(&self, dispatcher: &Dispatcher, wall: Duration, exit_code: i32) -> RunReport {
        let sum = |of: fn(&Counters) -> u64| self.latest.iter().map(of).sum::<u64>();
        let mean = |values: &[u64]| {
            let total: u64 = values.iter().sum();
            milliseconds(Duration::from_nanos(total / values.len().max(1) as u64))
        };
        let most = |values: &[u64]| {
            milliseconds(Duration::from_nanos(values.iter().copied().max().unwrap_or(0)))
        };
        let facts = |of: &[Failure]| {
            of.iter()
                .map(|failure| {
                    let dead = Incarnation(failure.incarnation.0.saturating_sub(1));
                    FailureReport {
                        rank: failure.rank.0,
                        at_s: seconds(failure.at),
                        cause: failure.cause.clone(),
                        recovery: if self.clusters.is_some() { "rollback" } else { "restart" },
                        image: failure.image.map(|image| image.0),
                        replayed: failure.replayed,
                        detect_ms: self
                            .detect
                            .get(&(failure.rank, dead))
                            .copied()
                            .map(milliseconds),
                        restore_ms: failure
                            .hello_at
                            .map(|at| milliseconds(at.saturating_sub(failure.at))),
                        catch_up_ms: failure
                            .caught_up_at
                            .zip(failure.hello_at)
                            .map(|(up, hello)| milliseconds(up.saturating_sub(hello))),
                    }
                })
                .collect()
        };
        RunReport {
            protocol: self.protocol.clone(),
            clusters: self.clusters.clone(),
            events: self.events,
            ranks: self.processes.len(),
            hosts: self.hosts.clone(),
            wall_s: seconds(wall),
            exit_code,
            failures: facts(dispatcher.failures()),
            orphans: facts(dispatcher.orphans()),
            checkpoints: Checkpoints {
                ordered: self.images_ordered,
                count: self.durations.len() as u64,
                failed: self.images_failed,
                bytes: self.image_bytes,
                pause_ms_mean: mean(&self.pauses),
                pause_ms_max: most(&self.pauses),
                duration_ms_mean: mean(&self.durations),
                duration_ms_max: most(&self.durations),
            },
            waves: WavesReport {
                complete: self.waves.len() as u64,
                void: self.waves_void,
                duration_ms_mean: mean(&self.waves),
                duration_ms_max: most(&self.waves),
                wait_ms: milliseconds(Duration::from_nanos(sum(|c| c.wave_wait_ns))),
                channel_state_bytes: sum(|c| c.channel_state_bytes),
                held_frames: sum(|c| c.held_frames),
            },
            messages: Messages {
                sent: sum(|c| c.messages_sent),
                payload_bytes: sum(|c| c.bytes_sent),
                received: sum(|c| c.messages_received),
                received_bytes: sum(|c| c.bytes_received),
                determinants: sum(|c| c.determinants),
                gate_waits: sum(|c| c.gate_waits),
                gate_wait_ms: milliseconds(Duration::from_nanos(sum(|c| c.gate_wait_ns))),
                duplicates_dropped: sum(|c| c.duplicates),
                orphans_refused: sum(|c| c.orphan_messages),
                resent: sum(|c| c.resent),
            },
            piggyback: Piggyback {
                events: sum(|c| c.piggyback_events),
                bytes: sum(|c| c.piggyback_bytes),
                build_ms: milliseconds(Duration::from_nanos(sum(|c| c.piggyback_build_ns))),
                merge_ms: milliseconds(Duration::from_nanos(sum(|c| c.piggyback_merge_ns))),
                held_events: sum(|c| c.held_events),
            },
            channel_memories: ChannelMemories {
                puts_measured: sum(|c| c.puts_measured),
                put_ms_mean: milliseconds(Duration::from_nanos(
                    sum(|c| c.put_ns) / sum(|c| c.puts_measured).max(1),
                )),
                ..self.memories.clone()
            },
            event_logger: EventLogger {
                count: self.loggers[0],
                clock_bytes_told: self.loggers[1],
                clocks_heard: self.loggers[2],
                stored_near: sum(|c| c.stored_same_host),
                round_trips: sum(|c| c.logger_round_trips),
                round_trip_ms_mean: milliseconds(Duration::from_nanos(
                    sum(|c| c.logger_round_trip_ns) / sum(|c| c.logger_round_trips).max(1),
                )),
            },
            recovered: self
                .latest
                .iter()
                .enumerate()
                .filter(|(_, counters)| counters.recovery_ns > 0)
                .map(|(rank, counters)| Recovered {
                    rank: rank as u32,
                    from_logger: counters.recovered_from_logger,
                    from_peers: counters.recovered_from_peers,
                    ms: milliseconds(Duration::from_nanos(counters.recovery_ns)),
                })
                .collect(),
            logs: Logs { bytes: sum(|c| c.log_bytes), peak_bytes: self.log_peak.iter().sum() },
            servers_restarted: self.servers_failed,
            pids: self.processes.clone(),
        }
    }
}
