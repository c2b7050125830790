//! The engine: takes the program's sends and receives, matches, asks the protocol, drives the link.
//!
//! Guarantees (`docs/internals/life-of-a-message.md`): every message has its identity from the
//! program's call; messages of one pair in one context keep their order. Under a logging protocol
//! every payload is in the sender log before its buffer is free again. Duplicates are dropped, and
//! nothing leaves before the protocol allows it. The engine is single-threaded and has no I/O of
//! its own: the world is a [`Link`].
//!
//! A caller calls the functions of [`Engine`], and [`Engine::block`] or [`Engine::progress`] until
//! what it waits for is done. The link calls the [`Sink`] with what came while it is polled.
//!
//! | file | what |
//! | --- | --- |
//! | `state` | the parts of the engine's state, each with its own fields |
//! | `matching` | the two queues of MPI |
//! | `post`, `direct_receive` | receives of the program, and the shortest way in |
//! | `send`, `outgoing` | sends: number, log, gate; what leaves for a peer, in order |
//! | `receive`, `incoming` | matching and landing of messages; every frame that comes |
//! | `progress`, `commands` | looking, waiting, carrying out |
//! | `outcome`, `probe`, `cancel`, `time` | waits, tests, probes, clocks, as recorded |
//! | `cancel_send` | synchronous sends that are cancelled |
//! | `schedules`, `tasks` | non-blocking collectives under way |
//! | `services` | one-sided requests of others: when they are served |
//! | `output_commit` | effects on the world outside: once, after their causes are stable |
//! | `channel_recovery`, `replay`, `log_cuts` | new incarnations, and what logs forget |
//! | `event_logger` | frames to and from the event logger |
//! | `channel_memory` | where every peer is a channel memory |
//! | `waves`, `reconcile` | coordinated images: markers, what is held, channels afterwards |
//! | `images`, `log_room` | when an image may be taken; room in the sender log |
//! | `group_news` | going on without ranks that have died |
//! | `shared_memory_barrier` | ranks that share memory take their images at one moment |
//! | `tuning` | constants |

mod cancel;
mod cancel_send;
mod channel_memory;
mod channel_recovery;
mod commands;
mod direct_receive;
mod event_logger;
mod group_news;
mod images;
mod incoming;
pub mod link;
mod log_cuts;
mod log_room;
mod matching;
mod newcomers;
mod outcome;
mod outgoing;
mod output_commit;
mod payload;
mod post;
mod probe;
mod progress;
mod receive;
mod reconcile;
mod replay;
pub mod request;
mod schedules;
mod send;
mod services;
pub mod shared_memory_barrier;
mod slots;
mod state;
mod steps;
mod tasks;
mod time;
mod tuning;
mod waiting;
mod waves;

pub use crate::ids::{MessageId, ReqId, TaskId};
pub use direct_receive::Receipt;
pub use ftmpi_wire::status::Counters;
pub(crate) use group_news::is_of_faults;
pub use link::{
    Captured, Changes, DirectReceive, Exact, Frame, Landing, Link, Piece, Push, Sink, Token,
};
pub use outcome::Decision;
pub use output_commit::{Effect, INTENT};
pub use request::{Completion, Envelope, RecvData, SendData, SendMode, Source, Tag};
pub(crate) use services::Turn;
pub use state::State;

use crate::window::Windows;
use ftmpi_protocols::protocol::Protocol;
use ftmpi_wire::{Incarnation, Rank};
use tasks::Tasks;

/// The engine of one rank.
pub struct Engine<L: Link> {
    /// The world.
    pub link: L,
    state: State,
    idle_polls: u32,
    /// Values of the clock that were recorded.
    clock_reads: u32,
    /// In which incarnation all that text depends on was asked to become stable
    /// ([`Engine::settle_or_commit`]).
    settle_asked: Option<u64>,
    /// How often a look at one rank alone found something since everything else was looked at.
    narrow_run: u32,
    tasks: Tasks,
    /// Memory that others may access.
    pub(crate) windows: Windows,
    /// Outside of the program's calls, where nothing may be served.
    quiet: bool,
}

impl<L: Link> Engine<L> {
    /// An engine for rank `me`, with one entry of `incarnations` per rank.
    pub fn new(
        link: L,
        me: Rank,
        incarnations: &[Incarnation],
        protocol: Box<dyn Protocol>,
    ) -> Self {
        Self {
            link,
            state: State::new(me, incarnations, protocol, L::now_ns),
            idle_polls: 0,
            clock_reads: 0,
            settle_asked: None,
            narrow_run: 0,
            tasks: Tasks::default(),
            windows: Windows::default(),
            quiet: false,
        }
    }

    /// Own rank.
    #[inline]
    pub fn me(&self) -> Rank {
        self.state.me
    }

    /// Ranks in the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.state.channels.count() as u32
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.state.counters()
    }

    /// Payload bytes that the program has sent and received.
    #[inline]
    pub fn bytes_moved(&self) -> u64 {
        self.state.counters.bytes_sent + self.state.counters.bytes_received
    }

    /// How many messages of the program have come that nobody has received, on one context if one
    /// is named. (Contexts of collectives are odd.)
    #[must_use]
    pub fn unexpected(&self, context: Option<u32>) -> usize {
        let matcher = &self.state.matcher;
        let contexts = matcher.waiting().into_iter().map(|id| matcher.message(id).context);
        contexts.filter(|&c| context.map_or(c % 2 == 0, |context| c == context)).count()
    }

    /// Whether this protocol needs the event logger.
    pub fn needs_logger(&self) -> bool {
        self.state.hooks.logger
    }
}
