//! What the engine needs of the world: channels to peers, the event logger, a clock, a way to wait.
//!
//! The runtime implements [`Link`] over shared memory and sockets, the simulator over queues. Both
//! drive the same engine.

use crate::ids::{MessageId, ReqId};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::Readiness;
use ftmpi_wire::group_news::GroupNews;
pub use ftmpi_wire::header::Exact;
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion};
use ftmpi_wire::status::Counters;
use ftmpi_wire::waiting::Waiting;
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, control::FromRank, event_log};

/// A frame on its way out. The link keeps its progress in it.
#[derive(Debug)]
pub struct Frame {
    /// The envelope; `len` says how many bytes are at `payload`.
    pub header: Header,
    /// The bytes: stay where they are until the frame is pushed whole, dropped with its channel, or
    /// [withdrawn](Link::withdraw).
    pub payload: UserPtr,
    /// For the link: bytes of payload that were handed over.
    pub sent: u64,
    /// For the link: the header is handed over.
    pub begun: bool,
}

impl Frame {
    /// A frame that has not begun to leave.
    #[inline]
    #[must_use]
    pub fn new(header: Header, payload: UserPtr) -> Self {
        Self { header, payload, sent: 0, begun: false }
    }
}

/// A receive that may take its message straight from the channel.
#[derive(Debug, Clone, Copy)]
pub struct DirectReceive {
    /// The sender.
    pub from: Rank,
    /// The context.
    pub context: u32,
    /// The tag, if one is named.
    pub tag: Option<i32>,
    /// Where the payload is to be put.
    pub into: UserPtr,
    /// Bytes that fit there.
    pub capacity: usize,
    /// Nobody can cancel the receive, so the begin of a message may be put there while the rest
    /// comes.
    pub blocks: bool,
}

/// How far [`Link::push`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// All of the frame is on its way; its payload may be reused.
    Done,
    /// No more fits now.
    Full,
}

/// Where the payload of an arriving frame is to be put.
#[derive(Debug, Clone, Copy)]
pub struct Landing {
    /// First byte.
    pub at: UserPtr,
    /// Bytes that fit; what is beyond is dropped (truncation).
    pub capacity: usize,
    /// For [`Sink::landed`] or [`Sink::aborted`].
    pub token: Token,
}

/// What a payload that lands is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Nothing: a duplicate.
    Discard,
    /// A frame behind a marker, which waits.
    Held,
    /// A receive of the program.
    Request(ReqId),
    /// A message that nobody asked for yet.
    Unexpected(MessageId),
    /// A frame of the engine's own.
    Control,
}

/// What became of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// It was not taken; the link has reported why.
    Refused {
        /// The reason does not pass by itself: the program has what no image can contain.
        lasts: bool,
    },
    /// It is being written; this incarnation goes on.
    Running,
    /// This is a later incarnation, restored from it; the ranks now have these incarnations.
    Restored(Vec<Incarnation>),
}

/// What has become of the processes of a job since an image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The hosts of those that have joined since.
    pub joined: Vec<u32>,
    /// Those that are not there now: of worlds that have ended, or that the ranks have returned
    /// from.
    pub gone: Vec<Rank>,
}

/// Memory that ranks of one host share, as one of them knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The rank that named it.
    pub creator: Rank,
    /// Pieces that the creator had named before.
    pub serial: u32,
    /// Bytes of the whole.
    pub len: usize,
    /// The part of this rank, which is in its images.
    pub mine: std::ops::Range<usize>,
    /// All ranks that share it.
    pub among: Vec<Rank>,
}

/// The receiver of what the link brings.
pub trait Sink {
    /// Whether a posted receive takes this message.
    fn expects(&self, from: Rank, header: &Header) -> bool;
    /// A frame begins.
    fn arrive(&mut self, from: Rank, header: &Header) -> Landing;
    /// Its payload is where it was to be put.
    fn landed(&mut self, from: Rank, header: &Header, token: Token);
    /// Its channel ended before that.
    fn aborted(&mut self, from: Rank, header: &Header, token: Token);
    /// A channel to this incarnation of a peer is there.
    fn channel_up(&mut self, peer: Rank, incarnation: Incarnation);
    /// A channel broke without news of the peer: the engine requests another.
    fn channel_lost(&mut self, peer: Rank);
    /// A peer has a new incarnation: its channels are gone.
    fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation);
    /// The others go on without a rank, a communicator was revoked, or members have agreed. Of a
    /// rank that has died nothing more comes.
    fn group_news(&mut self, news: GroupNews);
    /// Processes have joined the job, on these hosts. Their numbers are the next ones.
    fn grown(&mut self, hosts: &[u32]);
    /// A process of another world has ended in order.
    fn left(&mut self, peer: Rank);
    /// A frame of the event logger.
    fn log_frame(&mut self, frame: event_log::Frame);
    /// A (new) connection to the event logger is there.
    fn logger_up(&mut self);
    /// The connection to the event logger is gone; the engine requests another.
    fn logger_lost(&mut self);
    /// An image is on stable storage.
    fn image_committed(&mut self, image: ImageNo, oldest: ImageNo);
    /// An image was lost, or will never be taken.
    fn image_failed(&mut self, image: ImageNo);
}

/// The world.
pub trait Link {
    /// Hands over as much of the frame as fits. Only for peers whose channel is up.
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push;
    /// Frees the payload of the frame that has begun to leave to this rank. `true`: it is free; the
    /// frame goes on with the same bytes wherever it is pushed from next. `false`: the peer reads
    /// it at this moment; ask again.
    fn withdraw(&mut self, _to: Rank) -> bool {
        true
    }
    /// Payloads of more bytes are announced first.
    fn eager_limit(&self, to: Rank) -> usize;
    /// Fruitless looks of a rank that waits before its first [rest](Self::rest).
    #[inline]
    fn looks(&self) -> u32 {
        16
    }
    /// Looks between two rests: at least one, and no more than before the first. The work of a rest
    /// takes as long as several looks, and delays the answer to what comes meanwhile.
    #[inline]
    fn looks_between(&self) -> u32 {
        1
    }
    /// Requests a channel to this incarnation of a peer.
    fn open(&mut self, peer: Rank, incarnation: Incarnation);
    /// Looks once at everything, the channel of `first` before the others. `true` if anything came.
    fn poll<S: Sink>(&mut self, sink: &mut S, first: Option<Rank>) -> bool;
    /// Looks once at everything but the channel of `except`.
    fn poll_others<S: Sink>(&mut self, sink: &mut S, _except: Option<Rank>) -> bool {
        self.poll(sink, None)
    }
    /// Looks once at what the event logger has answered.
    fn poll_logger<S: Sink>(&mut self, _sink: &mut S) -> bool {
        false
    }
    /// Takes what has come of this rank, message by message, as long as the message is complete and
    /// a posted receive takes it ([`Sink::expects`]).
    fn take_expected<S: Sink>(&mut self, _sink: &mut S, _from: Rank) {}
    /// Puts the next frame of the sender into this receive, if the frame is a whole message for it,
    /// without flags, which fits and whose number is `fresh`.
    #[inline]
    fn take_exact(&mut self, _receive: &DirectReceive, _fresh: impl Fn(Ssn) -> bool) -> Exact {
        Exact::Other
    }
    /// Sends a frame to the event logger. `true`: it holds events, and they are stored where
    /// neither the end of this process nor the end of the logger can lose them. Nothing waits for
    /// an acknowledgement.
    fn log(&mut self, frame: &event_log::Frame) -> bool;
    /// Whether the launcher can be asked for what needs one ([`ask_job`](Self::ask_job)); one line
    /// if not.
    fn may_ask_job(&self) -> Result<(), String> {
        Err("this process was not started by ftmpiexec, which could start others and join them; \
             start it with ftmpiexec -n 1"
            .into())
    }
    /// Whether processes may be joined by a socket of the program; one line if not.
    fn may_join(&self) -> Result<(), String> {
        self.may_ask_job()
    }
    /// Asks the launcher; [`take_answer`](Self::take_answer) gives its answer under the number that
    /// this gives. Questions of a lane are counted.
    ///
    /// # Errors
    /// The question is too long; one line.
    fn ask_job(&mut self, _lane: u32, _question: JobQuestion) -> Result<u64, String> {
        Err("this process has no launcher".into())
    }
    /// The answer to the question of this number, once it has come.
    fn take_answer(&mut self, _number: u64) -> Option<JobAnswer> {
        None
    }
    /// A number that no other job has; 0 if it is not known.
    fn job_number(&self) -> u64 {
        0
    }
    /// Sends a message to the agent.
    fn notify_agent(&mut self, message: FromRank);
    /// Nothing came: spins, yields or sleeps until something may have come.
    fn rest(&mut self);
    /// The next rest is short, because this rank has something to do soon.
    fn rest_briefly(&mut self) {}
    /// Whether a rank that waits may use the processor for something that has time, and there is a
    /// clock to measure it ([`now_ns`](Self::now_ns)).
    fn has_idle_processor(&self) -> bool {
        false
    }
    /// The first touch of memory without contents. `small`: with small pages.
    fn touch(&mut self, _memory: &mut [u8], _small: bool) {}
    /// Whether the last rest was a sleep in which nothing came, or one of many sleeps.
    fn slept_in_vain(&self) -> bool {
        false
    }
    /// Tells people what this rank waits for. `progress` grows with every message: the same wait
    /// for another message is another wait.
    fn publish_wait(&mut self, _waiting: Waiting, _progress: u64) {}
    /// Gives others a turn on the processor, where they need it. `false`: it is not the time for
    /// that.
    fn give_turn(&mut self) -> bool {
        false
    }
    /// The program polls: gives way if others need the processor.
    fn relax(&mut self);
    /// Seconds since some point in the past.
    fn clock(&mut self) -> f64;
    /// Nanoseconds on a clock of its own, to measure how long things take; 0 where nothing is
    /// measured.
    #[must_use]
    fn now_ns() -> u64
    where
        Self: Sized,
    {
        0
    }
    /// A message to this rank has waited for so long until events were stable.
    fn gate_waited(&mut self, _to: Rank, _waited_ns: u64) {}
    /// Named point of fault injection.
    fn point(&mut self, _name: &'static str) {}
    /// This is a restored process: every channel is gone. Reports half-landed payloads
    /// ([`Sink::aborted`]), forgets all channels and the logger's connection without touching their
    /// descriptors (the numbers may mean something else now).
    fn abandon<S: Sink>(&mut self, sink: &mut S);
    /// Recovery is impossible: ends the job.
    fn give_up(&mut self, why: String) -> !;
    /// This incarnation is an orphan, or lacks what a peer needs. It ends, and the next one begins
    /// from an image, older than `before` if that is given.
    fn roll_back(&mut self, why: String, before: Option<ImageNo>) -> !;
    /// The image of this process that is wanted.
    fn image_due(&self) -> Option<ImageNo> {
        None
    }
    /// Whether everything that has happened is to become stable.
    fn settle_due(&self) -> bool {
        false
    }
    /// Everything that had happened is stable.
    fn settled(&mut self) {}
    /// Takes the image that is due; returns once more in every incarnation that begins from it. The
    /// contents of `useless` memory are not wanted in it: such an incarnation may find zeros there;
    /// in this one they stay.
    fn capture(&mut self, _image: ImageNo, _useless: &mut dyn Iterator<Item = &[u8]>) -> Captured {
        Captured::Refused { lasts: false }
    }
    /// After a restore: what is new among the processes of the job, of which the image knows so
    /// many.
    fn changes_since(&mut self, _known: usize) -> Changes {
        Changes::default()
    }
    /// The image that is due will not be taken.
    fn refuse(&mut self, _image: ImageNo, _why: &str) {}
    /// The image that is due could not be taken yet: the program's next call is to come to
    /// [`Engine::attend`](super::Engine::attend).
    fn remind(&mut self) {}
    /// The file system, for the program's files.
    fn disk(&mut self) -> Option<&mut dyn crate::file::disk::Disk> {
        None
    }
    /// Says whether [`Engine::call_ends`](super::Engine::call_ends) is to be called at the end of
    /// every call of the program.
    fn report_call_ends(&mut self, _wanted: bool) {}
    /// Memory that other ranks of this host get under the same name, zero at first. `None`: there
    /// is none, or the ranks are not on this host; what
    /// [`join_shared_memory`](Self::join_shared_memory) began is taken back then.
    fn share(&mut self, _piece: Piece) -> Option<UserPtr> {
        None
    }
    /// Leaves shared memory.
    fn part_shared(&mut self, _at: UserPtr) {}
    /// Under waves, before memory is shared with any of these ranks: see
    /// [`shared_memory_barrier`](super::shared_memory_barrier), whose `join` gives the answer.
    /// `past` is the last wave that is behind this rank.
    fn join_shared_memory(&mut self, _host: &[Rank], _past: ImageNo) -> bool {
        true
    }
    /// The number of the program's thread that calls: the same one in every incarnation. 0: nobody
    /// knows it.
    fn thread(&self) -> u32 {
        0
    }
    /// Whether other threads stay out while this one rests in the middle of a call; what was asked
    /// before.
    fn keep_threads_out(&mut self, _keep: bool) -> bool {
        false
    }
    /// This thread has done something for which others may wait, though nothing came or left. They
    /// are woken when it rests or its call ends.
    fn others_may_go_on(&mut self) {}
    /// Whether this rank shares memory, under waves.
    fn shares(&self) -> bool {
        false
    }
    /// This rank stands still for an image. Whether all ranks do that it shares memory with: from
    /// then on [`capture`](Self::capture) takes the image at one moment with theirs. `capture` and
    /// [`refuse`](Self::refuse) also say that the image is behind this rank. [`Readiness::Never`]:
    /// the others were awaited for long enough.
    fn stands(&mut self, _image: ImageNo) -> Readiness {
        Readiness::Now
    }
    /// Publishes the engine's counters; called from time to time.
    fn publish(&mut self, _counters: &Counters) {}
}
