//! What the engine needs of the world: channels to peers, the event logger, a clock, a way to wait.
//!
//! The runtime implements [`Link`] over shared memory and sockets, the simulator over queues. Both
//! drive the same engine.

use super::Exact;
use crate::ids::{MessageId, ReqId};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::Readiness;
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, control::FromRank, event_log};

/// A frame on its way out. The link keeps its progress in it.
#[derive(Debug)]
pub struct Frame {
    /// The envelope; `len` says how many bytes are at `payload`.
    pub header: Header,
    /// The bytes: stay where they are until the frame is pushed whole, dropped with its channel, or
    /// [withdrawn](Link::withdraw).
    pub payload: UserPtr,
    /// For the link: bytes of payload already handed over.
    pub sent: u64,
    /// For the link: the header is handed over.
    pub begun: bool,
}

/// How far [`Link::push`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// The frame is whole on its way; its payload may be reused.
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
    /// To be given back.
    pub token: Token,
}

/// What the engine wants to be reminded of when a payload has landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Nothing: a duplicate.
    Discard,
    /// A frame behind a marker: it waits.
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
    /// It was not taken; the link has said why.
    Refused,
    /// It is being written; this life goes on.
    Running,
    /// This is a later life, restored from it; the ranks now have these incarnations.
    Restored(Vec<Incarnation>),
}

/// Memory that ranks of one host share, as one of them knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Who named it.
    pub creator: Rank,
    /// How many it had named before.
    pub serial: u32,
    /// Bytes of the whole.
    pub len: usize,
    /// The part of this rank, which is in its images.
    pub mine: std::ops::Range<usize>,
    /// All ranks that share it.
    pub among: Vec<Rank>,
}

/// Who hears what the link brings.
pub trait Sink {
    /// Whether a posted receive takes this message.
    fn expects(&self, from: Rank, header: &Header) -> bool;
    /// A frame begins.
    fn arrive(&mut self, from: Rank, header: &Header) -> Landing;
    /// Its payload is where it was to be put.
    fn landed(&mut self, from: Rank, header: &Header, token: Token);
    /// Its channel ended before that.
    fn aborted(&mut self, from: Rank, header: &Header, token: Token);
    /// A channel to this life of a peer is there.
    fn channel_up(&mut self, peer: Rank, incarnation: Incarnation);
    /// A channel broke without news of the peer: ask for another.
    fn channel_lost(&mut self, peer: Rank);
    /// A peer has a new life: its channels are gone.
    fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation);
    /// The event logger says something.
    fn log_frame(&mut self, frame: event_log::Frame);
    /// A (new) connection to the event logger is there.
    fn logger_up(&mut self);
    /// The connection to the event logger is gone; the engine asks for another.
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
    /// The payload of the frame that has begun to leave to this rank is to be free. `true`: it is; the frame goes on with
    /// the same bytes wherever it is pushed from next. `false`: the peer is reading it at this moment; ask again.
    fn withdraw(&mut self, _to: Rank) -> bool {
        true
    }
    /// Payloads above this are announced first.
    fn eager_limit(&self, to: Rank) -> usize;
    /// So often a rank that waits looks in vain before it first [rests](Self::rest).
    #[inline]
    fn looks(&self) -> u32 {
        16
    }
    /// So often it looks between two rests, at least once and no more often than before the first: what is to be
    /// done at a rest takes as long as several looks, and delays the answer to what comes meanwhile.
    #[inline]
    fn looks_between(&self) -> u32 {
        1
    }
    /// A channel to this life of a peer is wanted.
    fn open(&mut self, peer: Rank, incarnation: Incarnation);
    /// Looks once at everything, the channel of `first` before the others. `true` if anything came.
    fn poll<S: Sink>(&mut self, sink: &mut S, first: Option<Rank>) -> bool;
    /// Looks once at everything but the channel of `except`.
    fn poll_others<S: Sink>(&mut self, sink: &mut S, _except: Option<Rank>) -> bool {
        self.poll(sink, None)
    }
    /// Takes what has come of this rank, message by message, as long as a posted receive takes it
    /// ([`Sink::expects`]) and it is there as a whole.
    fn take_expected<S: Sink>(&mut self, _sink: &mut S, _from: Rank) {}
    /// If the next frame of this rank is a whole message with this context and tag (if one is given), without flags,
    /// which fits into `capacity` bytes and whose number is `fresh`, puts it there. `blocks`: nobody can cancel the
    /// receive, so the begin of a message may be put there while the rest comes.
    fn take_exact(
        &mut self,
        _from: Rank,
        _context: u16,
        _tag: Option<i32>,
        _into: UserPtr,
        _capacity: usize,
        _blocks: bool,
        _fresh: impl Fn(Ssn) -> bool,
    ) -> Exact {
        Exact::Other
    }
    /// To the event logger. `true`: these are events, and they are stored where neither the end of this
    /// process nor the logger's can take them; nothing need wait for an acknowledgement.
    fn log(&mut self, frame: &event_log::Frame) -> bool;
    /// To the agent.
    fn notify_agent(&mut self, message: FromRank);
    /// Nothing came: spin, yield or sleep until something may have.
    fn rest(&mut self);
    /// Where others need the processor, gives them a turn and nothing else. `false`: it is not the time for that.
    fn give_turn(&mut self) -> bool {
        false
    }
    /// The program asks again and again: give way if others need the processor.
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
    /// Named point of fault injection.
    fn point(&mut self, _name: &'static str) {}
    /// This is a restored process: every channel is gone. Tells the sink of half-landed payloads
    /// ([`Sink::aborted`]), forgets all channels and the logger's connection without touching
    /// their descriptors (the numbers may mean something else now).
    fn abandon<S: Sink>(&mut self, sink: &mut S);
    /// Recovery is impossible.
    fn give_up(&mut self, why: String) -> !;
    /// This life is an orphan, or lacks what a peer needs: it ends, and the next begins from an image (before this one).
    fn roll_back(&mut self, why: String, before: Option<ImageNo>) -> !;
    /// Is an image of this process wanted?
    fn image_due(&self) -> Option<ImageNo> {
        None
    }
    /// Is it wanted that everything becomes stable that has happened?
    fn settle_due(&self) -> bool {
        false
    }
    /// It is.
    fn settled(&mut self) {}
    /// Takes the image that is due; returns once more in every life that begins from it. The
    /// contents of `useless` memory are not wanted in it: such a life may find zeros there; in this one they stay.
    fn capture(&mut self, _image: ImageNo, _useless: &mut dyn Iterator<Item = &[u8]>) -> Captured {
        Captured::Refused
    }
    /// The image that is due will not be taken.
    fn refuse(&mut self, _image: ImageNo, _why: &str) {}
    /// The image that is due could not be taken yet: the program's next call is to come to us
    /// ([`Engine::attend`](super::Engine::attend)).
    fn remind(&mut self) {}
    /// The file system, for the program's files.
    fn disk(&mut self) -> Option<&mut dyn crate::file::disk::Disk> {
        None
    }
    /// From now on [`super::Engine::call_ends`] is to be called at the end of every call of the program,
    /// or no more.
    fn report_call_ends(&mut self, _wanted: bool) {}
    /// Memory that other ranks of this host get under the same name, zero at first. `None`: there is none,
    /// or they are not on this host; what [`join_shared_memory`](Self::join_shared_memory) began is taken back then.
    fn share(&mut self, _piece: Piece) -> Option<UserPtr> {
        None
    }
    /// Leaves it.
    fn part_shared(&mut self, _at: UserPtr) {}
    /// Under waves, before memory is shared with any of these: see [`shared_memory_barrier`](super::shared_memory_barrier), whose
    /// `join` gives the answer. `past` is the last wave that this rank has behind it.
    fn join_shared_memory(&mut self, _host: &[Rank], _past: ImageNo) -> bool {
        true
    }
    /// Does this rank share memory, under waves?
    fn shares(&self) -> bool {
        false
    }
    /// This rank stands still for an image. Do all that it shares memory with? From then on
    /// [`capture`](Self::capture) takes it at one moment with theirs; it and [`refuse`](Self::refuse) also
    /// say that the image is behind this rank. [`Readiness::Never`]: they were awaited for long enough.
    fn stands(&mut self, _image: ImageNo) -> Readiness {
        Readiness::Now
    }
    /// The engine's counters, from time to time.
    fn publish(&mut self, _counters: &super::Counters) {}
}
