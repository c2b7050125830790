//! The contents of the file of `--report`. The keys are an interface.

use super::Recorder;
use super::losses::{Loss, losses};
use super::remedies::remedy;
use crate::history::History;
use crate::history::view::seconds;
use crate::notices;
use ftmpi_protocols::dispatcher::{Dispatcher, Failure, Migration, MoveCause, MoveState};
use ftmpi_protocols::judge::{Named, Recovery};
use ftmpi_wire::Incarnation;
use ftmpi_wire::status::Counters;
use serde::Serialize;
use std::time::Duration;

/// The contents of the file.
#[derive(Debug, Serialize)]
pub struct RunReport {
    protocol: String,
    /// As the command line has it: `auto` where the protocol was chosen for it.
    protocol_asked: String,
    events: &'static str,
    ranks: usize,
    /// The cluster of each rank, if the ranks of a cluster return together.
    clusters: Option<Vec<u32>>,
    hosts: Vec<String>,
    wall_s: f64,
    exit_code: i32,
    failures: Vec<FailureReport>,
    /// Incarnations that were rolled back: they depended on what a failed rank lost, or had lost
    /// what another rank needs.
    orphans: Vec<FailureReport>,
    /// Ranks that moved without a failure.
    migrations: Vec<MigrationReport>,
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
    /// Name of the detector; none where there was nothing to judge.
    detector: Option<&'static str>,
    recovery: &'static str,
    image: Option<u64>,
    replayed: u64,
    /// From the injected kill, or from the moment when the agent saw the death, to the dispatcher.
    detect_ms: Option<f64>,
    /// From the dispatcher to the first message of the new incarnation.
    restore_ms: Option<f64>,
    /// From that message until the rank had caught up.
    catch_up_ms: Option<f64>,
    /// From the death until the rank had caught up. Where ranks return to a wave: also the work
    /// since the wave.
    lost_s: Option<f64>,
    /// What the user can do.
    remedy: Option<&'static str>,
}

/// A rank that moved, or was to move, without a failure.
#[derive(Debug, Serialize)]
struct MigrationReport {
    rank: u32,
    from: String,
    to: Option<String>,
    at_s: f64,
    /// `asked`, `drained` or `health`.
    cause: &'static str,
    /// `done`, `failed` or `under way`.
    outcome: &'static str,
    /// Why the rank stayed.
    why: Option<String>,
    image: Option<u64>,
    /// From the request until the image was durable.
    image_ms: Option<f64>,
    /// From then until the old incarnation had ended.
    end_ms: Option<f64>,
    /// From then to the first message of the new incarnation.
    restore_ms: Option<f64>,
    /// From the request until the rank was at full speed, and all that returned with it.
    total_ms: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct Checkpoints {
    /// Decisions of the checkpoint scheduler. While it was away, the launcher decided.
    ordered: u64,
    count: u64,
    failed: u64,
    bytes: u64,
    pause_ms_mean: f64,
    pause_ms_max: f64,
    cost_ms_mean: f64,
    duration_ms_mean: f64,
    duration_ms_max: f64,
}

/// Coordinated waves.
#[derive(Debug, Default, Serialize)]
struct WavesReport {
    complete: u64,
    /// Waves in which some rank had no image.
    void: u64,
    /// From the order to the last receipt.
    duration_ms_mean: f64,
    duration_ms_max: f64,
    /// From the order of an image to its beginning, of all ranks: the time for markers and for
    /// messages under way.
    wait_ms: f64,
    /// Payload that images hold as the state of channels.
    channel_state_bytes: u64,
    /// Frames of ranks that were ahead: they waited for an image.
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
    /// Messages whose senders were orphans.
    orphans_refused: u64,
    resent: u64,
}

/// What a causal or optimistic protocol puts before messages. Under `optimistic` an event is an
/// entry of the dependency vector.
#[derive(Debug, Default, Serialize)]
struct Piggyback {
    messages: u64,
    events: u64,
    /// With headers.
    bytes: u64,
    build_ms: f64,
    merge_ms: f64,
    /// Events that ranks held when the job ended because they were not known to be stable.
    held_events: u64,
}

/// What the channel memories reported at the end of the job, each since its last start, and what
/// ranks measured.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct ChannelMemories {
    pub(super) count: u64,
    pub(super) records: u64,
    pub(super) stored_bytes: u64,
    /// Bytes that left main memory before their reader took them, and bytes that were read again.
    pub(super) spilled_bytes: u64,
    pub(super) reread_bytes: u64,
    /// Bytes in their files at the end.
    pub(super) file_bytes: u64,
    /// From a send to the answer that the message is stored.
    puts_measured: u64,
    put_ms_mean: f64,
}

#[derive(Debug, Default, Serialize)]
struct EventLogger {
    /// How many event loggers there were. If there are several: bytes that they sent to each other
    /// or the hosts about stored events, and clocks that they received.
    count: u64,
    clock_bytes_told: u64,
    clocks_heard: u64,
    /// Events that ranks stored in memory which they share with a logger: no send waited for them.
    stored_near: u64,
    /// Batches whose round trip was measured.
    round_trips: u64,
    round_trip_ms_mean: f64,
}

/// The sources of the events of a restarted rank's last incarnation.
#[derive(Debug, Serialize)]
struct Recovered {
    rank: u32,
    from_logger: u64,
    from_peers: u64,
    /// Until the rank had all events.
    ms: f64,
}

#[derive(Debug, Default, Serialize)]
struct Logs {
    /// Bytes held in sender logs when the job ended.
    bytes: u64,
    /// Sum over the ranks of the most that each rank ever held.
    peak_bytes: u64,
}

/// A process of a rank.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ProcessRecord {
    pub(super) incarnation: u32,
    pub(super) pid: u32,
    pub(super) from_s: f64,
    pub(super) to_s: Option<f64>,
}

/// Sums over the latest counters of all ranks.
struct Sums<'a>(&'a [Counters]);

impl Sums<'_> {
    fn of(&self, counter: fn(&Counters) -> u64) -> u64 {
        self.0.iter().map(counter).sum()
    }

    /// The mean of `total` nanoseconds, in milliseconds.
    fn mean_ms(&self, total: fn(&Counters) -> u64, number: fn(&Counters) -> u64) -> f64 {
        nanoseconds(self.of(total) / self.of(number).max(1))
    }

    fn ms(&self, total: fn(&Counters) -> u64) -> f64 {
        nanoseconds(self.of(total))
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Milliseconds of so many nanoseconds.
fn nanoseconds(number: u64) -> f64 {
    milliseconds(Duration::from_nanos(number))
}

/// Nanoseconds that were measured several times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) total: u64,
    max: u64,
}

impl Times {
    pub(super) fn add(&mut self, nanoseconds: u64) {
        self.count += 1;
        self.total += nanoseconds;
        self.max = self.max.max(nanoseconds);
    }

    fn mean_ms(&self) -> f64 {
        nanoseconds(self.total / self.count.max(1))
    }

    fn max_ms(&self) -> f64 {
        nanoseconds(self.max)
    }
}

impl Recorder {
    /// Everything that was recorded, for the file of the report.
    pub fn report(
        &self,
        dispatcher: &Dispatcher,
        history: &History,
        wall: Duration,
        exit_code: i32,
    ) -> RunReport {
        let sums = Sums(&self.latest);
        let failures = |of: &[Failure]| {
            let losses = losses(of, history, self);
            of.iter()
                .zip(losses)
                .map(|(failure, loss)| self.failure_report(failure, loss))
                .collect()
        };
        RunReport {
            protocol: self.protocol.clone(),
            protocol_asked: self.protocol_asked.clone(),
            clusters: self.clusters.clone(),
            events: self.events,
            ranks: self.processes.len(),
            hosts: self.hosts.clone(),
            wall_s: seconds(wall),
            exit_code,
            failures: failures(dispatcher.failures()),
            orphans: failures(dispatcher.orphans()),
            migrations: dispatcher.migrations().iter().map(|m| self.migration_report(m)).collect(),
            checkpoints: self.checkpoints(),
            waves: WavesReport {
                complete: self.waves.count,
                void: self.waves_void,
                duration_ms_mean: self.waves.mean_ms(),
                duration_ms_max: self.waves.max_ms(),
                wait_ms: sums.ms(|c| c.wave_wait_ns),
                channel_state_bytes: sums.of(|c| c.channel_state_bytes),
                held_frames: sums.of(|c| c.held_frames),
            },
            messages: Messages::new(&sums),
            piggyback: Piggyback::new(&sums),
            channel_memories: ChannelMemories {
                puts_measured: sums.of(|c| c.puts_measured),
                put_ms_mean: sums.mean_ms(|c| c.put_ns, |c| c.puts_measured),
                ..self.memories.clone()
            },
            event_logger: EventLogger {
                count: self.loggers[0],
                clock_bytes_told: self.loggers[1],
                clocks_heard: self.loggers[2],
                stored_near: sums.of(|c| c.stored_same_host),
                round_trips: sums.of(|c| c.logger_round_trips),
                round_trip_ms_mean: sums
                    .mean_ms(|c| c.logger_round_trip_ns, |c| c.logger_round_trips),
            },
            recovered: self.recovered(),
            logs: Logs { bytes: sums.of(|c| c.log_bytes), peak_bytes: self.log_peak.iter().sum() },
            servers_restarted: self.servers_failed,
            pids: self.processes.clone(),
        }
    }

    fn failure_report(&self, failure: &Failure, loss: Option<Loss>) -> FailureReport {
        let restored = failure.hello_at.map(|at| at.saturating_sub(failure.at));
        let caught_up = failure.caught_up_at.zip(failure.hello_at);
        FailureReport {
            rank: failure.rank.0,
            at_s: seconds(failure.at),
            cause: notices::cause(&failure.cause),
            detector: failure.named.map(|named| named.detector),
            recovery: match failure.named {
                Some(Named { own: Some(own), .. }) => own,
                Some(named) if named.recovery == Recovery::Migrate => "migrate",
                Some(named) if named.recovery == Recovery::Ignore => "ignore",
                _ if self.clusters.is_some() && !failure.alone => "rollback",
                _ => "restart",
            },
            image: failure.image.map(|image| image.0),
            replayed: failure.replayed,
            detect_ms: self.detected_after(failure).map(milliseconds),
            restore_ms: restored.map(milliseconds),
            catch_up_ms: caught_up.map(|(up, hello)| milliseconds(up.saturating_sub(hello))),
            lost_s: loss.map(|loss| seconds(loss.length())),
            remedy: remedy(&failure.cause),
        }
    }

    /// When the process ended whose end this failure is.
    pub fn died_at(&self, failure: &Failure) -> Duration {
        failure.at.saturating_sub(self.detected_after(failure).unwrap_or_default())
    }

    /// From the injected kill, or from the moment when the agent saw the death, to the dispatcher.
    pub(super) fn detected_after(&self, failure: &Failure) -> Option<Duration> {
        let dead = Incarnation(failure.incarnation.0.saturating_sub(1));
        self.detect.get(&(failure.rank, dead)).copied()
    }

    fn migration_report(&self, migration: &Migration) -> MigrationReport {
        let name = |host: u32| self.hosts.get(host as usize).cloned().unwrap_or_default();
        let span = |from: Option<Duration>, to: Option<Duration>| {
            from.zip(to).map(|(from, to)| milliseconds(to.saturating_sub(from)))
        };
        let (asked, image_at) = (Some(migration.asked_at), migration.image.map(|(_, at)| at));
        MigrationReport {
            rank: migration.rank.0,
            from: name(migration.from),
            to: migration.to.map(name),
            at_s: seconds(migration.asked_at),
            cause: match migration.cause {
                MoveCause::Asked => "asked",
                MoveCause::Drained => "drained",
                MoveCause::Unhealthy { .. } => "health",
            },
            outcome: match migration.state {
                MoveState::Done => "done",
                MoveState::Failed(_) => "failed",
                _ => "under way",
            },
            why: match &migration.state {
                MoveState::Failed(why) => Some(why.to_string()),
                _ => None,
            },
            image: migration.image.map(|(image, _)| image.0),
            image_ms: span(asked, image_at),
            end_ms: span(image_at, migration.ended_at),
            restore_ms: span(migration.ended_at, migration.hello_at),
            total_ms: span(asked, migration.back_at),
        }
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints {
            ordered: self.images_ordered,
            count: self.durations.count,
            failed: self.images_failed,
            bytes: self.image_bytes,
            pause_ms_mean: self.pauses.mean_ms(),
            pause_ms_max: self.pauses.max_ms(),
            cost_ms_mean: self.costs.mean_ms(),
            duration_ms_mean: self.durations.mean_ms(),
            duration_ms_max: self.durations.max_ms(),
        }
    }

    fn recovered(&self) -> Vec<Recovered> {
        let ranks = self.latest.iter().enumerate();
        ranks
            .filter(|(_, counters)| counters.recovery_ns > 0)
            .map(|(rank, counters)| Recovered {
                rank: rank as u32,
                from_logger: counters.recovered_from_logger,
                from_peers: counters.recovered_from_peers,
                ms: nanoseconds(counters.recovery_ns),
            })
            .collect()
    }
}

impl Messages {
    fn new(sums: &Sums<'_>) -> Self {
        Self {
            sent: sums.of(|c| c.messages_sent),
            payload_bytes: sums.of(|c| c.bytes_sent),
            received: sums.of(|c| c.messages_received),
            received_bytes: sums.of(|c| c.bytes_received),
            determinants: sums.of(|c| c.determinants),
            gate_waits: sums.of(|c| c.gate_waits),
            gate_wait_ms: sums.ms(|c| c.gate_wait_ns),
            duplicates_dropped: sums.of(|c| c.duplicates),
            orphans_refused: sums.of(|c| c.orphan_messages),
            resent: sums.of(|c| c.resent),
        }
    }
}

impl Piggyback {
    fn new(sums: &Sums<'_>) -> Self {
        Self {
            messages: sums.of(|c| c.piggyback_messages),
            events: sums.of(|c| c.piggyback_events),
            bytes: sums.of(|c| c.piggyback_bytes),
            build_ms: sums.ms(|c| c.piggyback_build_ns),
            merge_ms: sums.ms(|c| c.piggyback_merge_ns),
            held_events: sums.of(|c| c.held_events),
        }
    }
}
