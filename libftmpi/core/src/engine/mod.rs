//! The engine: takes the program's sends and receives, matches, asks the protocol, drives the link.
//!
//! Guarantees (ARCHITECTURE.md, "The life of a message"): every message has its identity from the
//! program's call; messages of one pair in one context keep their order; under a logging protocol
//! every payload is in the sender log before it leaves, duplicates are dropped, and nothing leaves
//! before the protocol lets it. Single-threaded, no I/O of its own: the world is a [`Link`].
//!
//! | file | what |
//! | --- | --- |
//! | `matching` | the two queues |
//! | `post` | receives of the program |
//! | `progress` | looking, waiting, carrying out |
//! | `send` | outgoing: log, gate, queue, rendezvous |
//! | `receive` | incoming: duplicates, matching, landing |
//! | `direct_receive` | the shortest way in |
//! | `schedules` | non-blocking collectives under way |
//! | `output_commit` | what is done to the world outside: once, and after all that led to it is stable |
//! | `services` | one-sided requests of others: when they are served |
//! | `outcome` | waits, tests, probes, clocks: what is recorded and repeated |
//! | `recover` | new incarnations: `Resume`, log cuts, replay |
//! | `channel_memory` | channel memories: the one stream in, and where a rank stands in it |
//! | `waves` | coordinated images: markers, what is held and kept, new lives of all ranks |
//! | `shared_memory_barrier` | ranks that share memory take their images at one moment |

// An envelope has many parts, and a struct of them would only be taken apart again.
#![allow(clippy::too_many_arguments)]

mod channel_memory;
mod direct_receive;
mod images;
mod late_log;
pub mod link;
mod log_room;
mod matching;
mod outcome;
mod output_commit;
mod payload;
mod post;
mod progress;
mod receive;
mod recover;
mod request;
mod schedules;
mod send;
mod services;
pub mod shared_memory_barrier;
mod slots;
mod waves;

pub use crate::ids::{MessageId, ReqId, TaskId};
pub use direct_receive::{Exact, Receipt};
pub use ftmpi_wire::status::Counters;
pub use link::{Captured, Frame, Landing, Link, Piece, Push, Sink, Token};
pub use outcome::Decision;
pub use output_commit::{Effect, INTENT};
pub use request::{Completion, Envelope, RecvData, SendData, SendMode, Source, Tag};
pub(crate) use services::Turn;

use crate::usermem::UserPtr;
use crate::window::Windows;
use ftmpi_protocols::log_memory::LogMemory;
use ftmpi_protocols::protocol::{Command, Hooks, Marker, Protocol};
use ftmpi_protocols::received::Received;
use ftmpi_protocols::sender_log::SenderLog;
use ftmpi_wire::{EventNo, Header, ImageNo, Incarnation, Rank, Ssn};
use matching::Matcher;
use request::{Request, RequestKind};
use slots::Slots;
use std::collections::{BTreeMap, VecDeque};

/// State of the way to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChannelPhase {
    /// Never wanted, or gone.
    Absent,
    /// Asked for.
    Asked,
    /// There; the peer's `Resume` has not come yet.
    Fresh,
    /// The peer's `Resume` has come, ours has not left yet.
    Answered,
    /// Messages flow.
    Ready,
}

impl ChannelPhase {
    /// Is the channel there?
    fn is_there(self) -> bool {
        matches!(self, Self::Fresh | Self::Answered | Self::Ready)
    }
}

/// State of the connection to the event logger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logger {
    /// Not needed so far.
    Absent,
    /// To be asked for.
    Wanted,
    /// Asked for.
    Asked,
    /// There.
    Open,
}

/// A frame that waits to leave.
#[derive(Debug)]
struct Out {
    frame: Frame,
    /// Owns the payload if nobody else does.
    owned: Option<Vec<u8>>,
    /// Own events up to here must be stable first.
    after: EventNo,
    /// To be told that it is out.
    request: Option<ReqId>,
    /// When it was found to wait for the logger.
    gated_at: Option<f64>,
    /// It is a message (or its announcement) of the program; else a frame of the engine's own.
    message: bool,
    /// A marker: gets its count when it leaves.
    marker: Option<Marker>,
}

/// What is known about one peer.
struct Peer {
    incarnation: Incarnation,
    phase: ChannelPhase,
    /// It died and its new life has not resumed yet: sends to it are only logged.
    absent: bool,
    /// Last number given to a message to it.
    last_ssn: Ssn,
    /// Messages of it that we have.
    received: Received,
    /// Our messages that it has said to have.
    has: Received,
    log: SenderLog,
    /// Payloads for it are logged ([`Protocol::logs_payload`]).
    logged: bool,
    /// It returns to the same waves as this rank ([`Protocol::shares_waves`]).
    cluster_peer: bool,
    /// `Resume`, the first frame on a channel.
    resume: Option<Out>,
    queue: VecDeque<Out>,
    /// What it was last told that it may cut from its log for us.
    sent_cut: Received,
    /// What it was last told that our newest image has of it.
    sent_newest: Received,
    /// Its newest image, as far as it told, and what that has of us.
    its_newest: (ImageNo, Received),
    /// Payload of a control frame that is landing.
    control: Vec<u8>,
    /// What the protocol puts before a message, on its way.
    piggyback: Vec<u8>,
    /// The part of it that leaves next, and how much left before.
    piggyback_frame: Option<Frame>,
    piggyback_left: usize,
    /// All of it has left, and the message that it belongs to has not: nothing comes between.
    piggyback_out: bool,
    /// Parts of a piggyback that goes on.
    parts: Vec<u8>,
    channel: waves::ChannelState,
}

/// Where a message that was announced before is to land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    By(ReqId),
    Waiting(MessageId),
}

/// A rendezvous that waits for its clear-to-send.
#[derive(Debug)]
struct Rendezvous {
    /// Its envelope.
    header: Header,
    payload: UserPtr,
    owned: Option<Vec<u8>>,
    request: Option<ReqId>,
}

/// A message that did not fit into its receive.
struct TooLong {
    tag: i32,
    /// Bytes of the receive, and of the message.
    fits: u64,
    len: u64,
}

/// What an image of this rank holds, for cutting logs when it is the oldest.
#[derive(Debug)]
struct Snapshot {
    image: ImageNo,
    events: EventNo,
    received: Vec<Received>,
    /// Place in the stream out of the rank's memory.
    channel_memory: u64,
    /// Which image of each peer the logs in it reach back to; 0: as far as in memory.
    reach: Vec<ImageNo>,
}

/// Everything but the link, so that the link can call it while it is being polled.
pub struct State {
    me: Rank,
    protocol: Box<dyn Protocol>,
    hooks: Hooks,
    stable: EventNo,
    peers: Vec<Peer>,
    requests: Slots<Request>,
    matcher: Matcher,
    memory: LogMemory,
    late_log: late_log::LateLog,
    /// Bytes that the sender logs may hold before images are asked for.
    log_limit: u64,
    /// Bytes of a piggyback in one frame.
    piggyback_part: usize,
    /// Number of wildcard receives posted, whose matches are determinants.
    posts: u64,
    /// Number of other receives posted, which may be cancelled.
    named_posts: u64,
    awaited: BTreeMap<(Rank, Ssn), Awaited>,
    pending: BTreeMap<(Rank, Ssn), Rendezvous>,
    unacknowledged: BTreeMap<(Rank, Ssn), ReqId>,
    /// Peers with something to push.
    busy: Vec<Rank>,
    /// Peers whose queue is to be made anew from the log.
    rebuild: Vec<Rank>,
    /// Peers to which a channel is to be asked for.
    wanted: Vec<Rank>,
    snapshots: VecDeque<Snapshot>,
    /// The oldest image that may be asked for.
    oldest_image: ImageNo,
    /// The newest one that is offered.
    newest_image: ImageNo,
    /// Images leave out of the logs what the newest image of the receiver has.
    lean_images: bool,
    /// Frames for the event logger.
    to_logger: VecDeque<ftmpi_wire::event_log::Frame>,
    /// A frame has left from a queue since the last rest.
    left: bool,
    /// The latest messages that did not fit, for the text of the error.
    too_long: VecDeque<TooLong>,
    logger: Logger,
    fetch: Option<recover::Fetch>,
    failure: Option<String>,
    /// This life is to end and another to begin from an image: why.
    orphan: Option<(String, Option<ImageNo>)>,
    /// From which image this life began.
    begun_from: Option<ImageNo>,
    trash: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    counters: Counters,
    /// Of the link: to measure how long things take.
    now_ns: fn() -> u64,
    /// Last record of a batch that is under way to the logger, and when it left.
    batch: Option<(EventNo, u64)>,
    replay_reported: bool,
    /// Replay is over: held receives may match, at the next step of work.
    free_held_due: bool,
    /// The program is in `MPI_Finalize`.
    leaving: bool,
    last_clock: f64,
    /// Seconds that the program's clock is ahead of the link's.
    clock_ahead: f64,
    /// Messages for which nothing has to wait may be pushed at the call ([`Engine::isend`]). Off
    /// where each has to be seen when it leaves: waves that hold or keep what is sent.
    short_way: bool,
    waves: waves::Waves,
    services: services::Services,
    repeatable_run: output_commit::RepeatableRun,
    /// Times that this process began from an image.
    restores: u64,
    channel_memory: channel_memory::ChannelMemory,
}

/// The engine of one rank.
pub struct Engine<L: Link> {
    /// The world.
    pub link: L,
    state: State,
    idle_polls: u32,
    /// Values of the clock that were recorded.
    clock_reads: u32,
    /// In which life all that text depends on was asked to become stable ([`Engine::settle_or_commit`]).
    settle_asked: Option<u64>,
    /// How often a look at one rank alone found something since everything else was looked at.
    narrow_run: u32,
    tasks: schedules::Tasks,
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
        let hooks = protocol.hooks();
        let peers = incarnations
            .iter()
            .enumerate()
            .map(|(rank, &incarnation)| Peer {
                logged: hooks.log_payload && protocol.logs_payload(Rank(rank as u32)),
                cluster_peer: hooks.channel_state && protocol.shares_waves(Rank(rank as u32)),
                incarnation,
                phase: ChannelPhase::Absent,
                absent: false,
                last_ssn: Ssn(0),
                received: Received::default(),
                has: Received::default(),
                log: SenderLog::default(),
                resume: None,
                queue: VecDeque::new(),
                sent_cut: Received::default(),
                sent_newest: Received::default(),
                its_newest: (ImageNo(0), Received::default()),
                control: Vec::new(),
                piggyback: Vec::new(),
                piggyback_frame: None,
                piggyback_left: 0,
                piggyback_out: false,
                parts: Vec::new(),
                channel: waves::ChannelState::default(),
            })
            .collect();
        let state = State {
            me,
            stable: protocol.stable(),
            hooks,
            protocol,
            peers,
            requests: Slots::new(),
            matcher: Matcher::new(),
            memory: LogMemory::default(),
            late_log: late_log::LateLog::new(),
            log_limit: u64::MAX,
            piggyback_part: send::PIGGYBACK_PART,
            posts: 0,
            named_posts: 0,
            awaited: BTreeMap::new(),
            pending: BTreeMap::new(),
            unacknowledged: BTreeMap::new(),
            busy: Vec::new(),
            rebuild: Vec::new(),
            // What comes, comes from one's own memory.
            wanted: if hooks.memory { vec![me] } else { Vec::new() },
            snapshots: VecDeque::new(),
            oldest_image: ImageNo(0),
            newest_image: ImageNo(0),
            lean_images: false,
            to_logger: VecDeque::new(),
            left: false,
            too_long: VecDeque::new(),
            logger: Logger::Absent,
            fetch: None,
            failure: None,
            orphan: None,
            begun_from: None,
            trash: Vec::new(),
            buffers: Vec::new(),
            counters: Counters::default(),
            now_ns: L::now_ns,
            batch: None,
            replay_reported: true,
            free_held_due: false,
            leaving: false,
            last_clock: f64::NEG_INFINITY,
            clock_ahead: 0.0,
            short_way: true,
            waves: waves::Waves::new(hooks.channel_state),
            services: services::Services::default(),
            repeatable_run: output_commit::RepeatableRun::default(),
            restores: 0,
            channel_memory: channel_memory::ChannelMemory::default(),
        };
        Self {
            link,
            state,
            idle_polls: 0,
            clock_reads: 0,
            settle_asked: None,
            narrow_run: 0,
            tasks: schedules::Tasks::default(),
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
        self.state.peers.len() as u32
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        let state = &self.state;
        let counts = state.protocol.counts();
        Counters {
            piggyback_bytes: counts.piggyback_bytes,
            piggyback_events: counts.piggyback_events,
            held_events: counts.held_events,
            recovered_from_logger: counts.recovered_from_logger,
            recovered_from_peers: counts.recovered_from_peers,
            determinants: state.protocol.determinants(),
            log_bytes: state.memory.held(),
            log_bytes_peak: state.memory.peak(),
            ..state.counters
        }
    }

    /// How many messages of the program have come that nobody has received, on one context if one is named.
    /// (Contexts of collectives are odd.)
    #[must_use]
    pub fn unexpected(&self, context: Option<u16>) -> usize {
        let matcher = &self.state.matcher;
        let contexts = matcher.waiting().into_iter().map(|id| matcher.message(id).context);
        contexts.filter(|&c| context.map_or(c % 2 == 0, |context| c == context)).count()
    }

    /// Does this protocol need the event logger?
    pub fn needs_logger(&self) -> bool {
        self.state.hooks.logger
    }
}

impl State {
    /// Is there anything for [`Engine::work`]? Checked after every step, so it is cheap.
    #[inline]
    fn has_work(&self) -> bool {
        !self.busy.is_empty()
            || !self.wanted.is_empty()
            || !self.rebuild.is_empty()
            || self.logger == Logger::Wanted
            || (self.logger == Logger::Open && !self.to_logger.is_empty())
            || self.failure.is_some()
            || self.orphan.is_some()
            || self.free_held_due
            || !self.replay_reported
            || !self.waves.lost.is_empty()
    }

    /// Is this life still on its way to where an earlier one was? In waves all must be at the end of
    /// what is recorded, also of what need not be told, before the next may begin.
    fn is_behind(&self) -> bool {
        let protocol = &self.protocol;
        if self.waves.counted { protocol.repeating() } else { protocol.replaying() }
    }

    fn mark_busy(&mut self, peer: Rank) {
        if !self.busy.contains(&peer) {
            self.busy.push(peer);
        }
    }

    fn want(&mut self, peer: Rank) {
        let p = &self.peers[peer.index()];
        if p.phase == ChannelPhase::Absent && !p.channel.broken && !self.wanted.contains(&peer) {
            self.wanted.push(peer);
        }
    }

    fn carry_out(&mut self, command: Command) {
        use ftmpi_wire::event_log::Frame as Log;
        match command {
            Command::Log { first, clock, records } => {
                self.queue_for_logger(Log::Append { first, clock, records });
            }
            Command::SendFirst { to, payload } => {
                let kind = ftmpi_wire::header::Kind::Protocol;
                self.control_frame(to, kind, Ssn(0), payload);
                self.peers[to.index()].bring_forward();
            }
            Command::Join { to } => self.want(to),
            Command::Prune { below } => self.queue_for_logger(Log::Prune { below }),
            Command::FreeHeld => self.free_held_due = true,
            Command::RollBack(why) => self.orphan = Some((why, None)),
            Command::GiveUp(why) => self.failure = Some(why),
            Command::Send { to, payload } => {
                self.control_frame(to, ftmpi_wire::header::Kind::Protocol, Ssn(0), payload);
            }
            Command::Mark(marker) => self.mark(marker),
            Command::HoldSends => self.hold_sends(),
            Command::HoldFrom(peer) => self.hold_from(peer),
            Command::Release => self.release(),
            Command::KeepSent => self.keep_sent(),
            Command::ForgetSent => self.forget_sent(),
        }
    }

    /// Hands over what is for the logger. What it stores at once is as good as written: an
    /// acknowledgement without the way.
    fn hand_to_logger<L: Link>(&mut self, link: &mut L) {
        if self.logger != Logger::Open {
            return;
        }
        while let Some(frame) = self.to_logger.pop_front() {
            let stored = link.log(&frame);
            let ftmpi_wire::event_log::Frame::Append { first, records, .. } = frame else {
                continue;
            };
            if records.is_empty() {
                continue;
            }
            let last = EventNo(first.0 + records.len() as u64 - 1);
            if stored {
                self.counters.stored_same_host += records.len() as u64;
                self.protocol.on_stable(last, EventNo(0));
                self.commands_to_queues();
            } else if self.batch.is_none() {
                self.batch = Some((last, (self.now_ns)()));
            }
        }
    }

    fn queue_for_logger(&mut self, frame: ftmpi_wire::event_log::Frame) {
        self.to_logger.push_back(frame);
        if self.logger == Logger::Absent {
            self.logger = Logger::Wanted;
        }
    }

    /// Commands that arise while the link is being polled are carried out as far as that needs no
    /// link; the rest waits for [`Engine::work`].
    fn commands_to_queues(&mut self) {
        while let Some(command) = self.protocol.next_command() {
            self.carry_out(command);
        }
    }
}
