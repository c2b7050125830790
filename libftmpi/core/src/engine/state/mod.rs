//! The state of a rank's engine: everything but the link, so that the link can call it while it is
//! being polled.
//!
//! Each part owns its fields and does not know the other parts. Operations across parts are methods
//! of [`State`] or `Engine`, in the files of the engine.
//!
//! | part | what |
//! | --- | --- |
//! | `channels`, `out` | the peers, and what waits to leave for each |
//! | `requests` | requests of the program |
//! | `landings` | buffers, and messages that are awaited at a known place |
//! | `rendezvous` | sends that wait for an answer of their receiver |
//! | `logs` | memory of the sender logs |
//! | `snapshots` | what the images of this rank hold |
//! | `event_log` | frames to the event logger |
//! | `recovery` | begin and end of an incarnation |
//! | `waves` | coordinated images |
//! | `services` | one-sided requests of others |
//! | `steps` | the order of the program's threads |
//! | `memory_stream` | place in the stream out of the channel memory |
//! | `faults` | ranks that have died, and whom that concerns |
//! | `output_run`, `clock` | effects outside of MPI; time |

pub(super) mod channels;
pub(super) mod clock;
pub(super) mod event_log;
pub(super) mod faults;
pub(super) mod landings;
pub(super) mod log_ahead;
pub(super) mod logs;
pub(super) mod memory_stream;
pub(super) mod out;
pub(super) mod output_run;
pub(super) mod recovery;
pub(super) mod rendezvous;
pub(super) mod requests;
pub(super) mod services;
pub(super) mod snapshots;
pub(super) mod steps;
pub(super) mod waves;

use super::matching::Matcher;
use channels::Channels;
use clock::Clock;
use event_log::EventLog;
use faults::Faults;
use ftmpi_protocols::protocol::{Hooks, Protocol};
use ftmpi_wire::status::Counters;
use ftmpi_wire::{Incarnation, Rank};
use landings::Landings;
use logs::Logs;
use memory_stream::MemoryStream;
use output_run::RepeatableRun;
use recovery::Recovery;
use rendezvous::Rendezvous;
use requests::Requests;
use services::Services;
use snapshots::Snapshots;
use steps::Steps;
use waves::Waves;

/// Numbers of posted receives, by which a replay knows them.
#[derive(Debug, Default)]
pub(super) struct PostNumbers {
    /// Wildcard receives, whose matches are determinants.
    pub(super) wild: u64,
    /// All others, which may be cancelled.
    pub(super) named: u64,
}

/// Everything but the link.
pub struct State {
    pub(super) me: Rank,
    pub(super) protocol: Box<dyn Protocol>,
    pub(super) hooks: Hooks,
    pub(super) channels: Channels,
    /// Hosts of processes that have joined the job since they were last asked for.
    pub(super) newcomers: Vec<u32>,
    pub(super) requests: Requests,
    pub(super) matcher: Matcher,
    pub(super) posts: PostNumbers,
    pub(super) landings: Landings,
    pub(super) rendezvous: Rendezvous,
    pub(super) logs: Logs,
    pub(super) snapshots: Snapshots,
    pub(super) event_log: EventLog,
    pub(super) recovery: Recovery,
    pub(super) waves: Waves,
    pub(super) services: Services,
    pub(super) steps: Steps,
    pub(super) memory_stream: MemoryStream,
    pub(super) repeatable_run: RepeatableRun,
    pub(super) clock: Clock,
    pub(super) faults: Faults,
    pub(super) counters: Counters,
    /// The link's clock, to measure how long things take.
    pub(super) now_ns: fn() -> u64,
}

impl State {
    /// The state at the begin of an incarnation, with one entry of `incarnations` per rank.
    pub(super) fn new(
        me: Rank,
        incarnations: &[Incarnation],
        protocol: Box<dyn Protocol>,
        now_ns: fn() -> u64,
    ) -> Self {
        let hooks = protocol.hooks();
        let mut channels = Channels::new(incarnations, hooks, &*protocol);
        if hooks.memory {
            // All messages come from the rank's own memory.
            channels.request(me);
        }
        Self {
            me,
            protocol,
            hooks,
            channels,
            newcomers: Vec::new(),
            requests: Requests::new(),
            matcher: Matcher::new(),
            posts: PostNumbers::default(),
            landings: Landings::default(),
            rendezvous: Rendezvous::default(),
            logs: Logs::new(),
            snapshots: Snapshots::new(),
            event_log: EventLog::new(),
            recovery: Recovery::new(),
            waves: Waves::new(hooks.channel_state),
            services: Services::default(),
            steps: Steps::default(),
            memory_stream: MemoryStream::default(),
            repeatable_run: RepeatableRun::default(),
            clock: Clock::new(),
            faults: Faults::default(),
            counters: Counters::default(),
            now_ns,
        }
    }

    /// What has been counted.
    pub(super) fn counters(&self) -> Counters {
        let counts = self.protocol.counts();
        let memory = self.logs.memory();
        Counters {
            piggyback_bytes: counts.piggyback_bytes,
            piggyback_events: counts.piggyback_events,
            held_events: counts.held_events,
            recovered_from_logger: counts.recovered_from_logger,
            recovered_from_peers: counts.recovered_from_peers,
            determinants: self.protocol.determinants(),
            log_bytes: memory.held(),
            log_bytes_peak: memory.peak(),
            ..self.counters
        }
    }

    /// Whether `Engine::work` has anything to do. Checked after every step, so it is cheap.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.channels.have_work()
            || self.event_log.has_work()
            || self.recovery.has_work()
            || self.waves.have_lost()
    }

    /// Whether this incarnation is still on its way to where an earlier one was. In waves all ranks
    /// must be at the end of what is recorded, also of what is not reported, before the next may
    /// begin.
    pub(super) fn is_behind(&self) -> bool {
        let protocol = &self.protocol;
        if self.waves.are_counted() { protocol.repeating() } else { protocol.replaying() }
    }

    /// Whether messages are counted, so that it is known which ones we have.
    #[inline]
    pub(super) fn tracks(&self) -> bool {
        self.hooks.log_payload || self.waves.are_counted()
    }
}
