//! Messages between a rank and the agent of its host: postcard datagrams over a Unix
//! `SOCK_SEQPACKET` socket. Descriptors travel with them (`SCM_RIGHTS`).
//!
//! The agent sets up every connection (connect, accept, authenticate, retry) and hands the rank
//! finished descriptors. A rank therefore has no listening socket, no thread and no event loop of
//! its own. Where a message says *with a descriptor*, exactly the named descriptors come with it.

use crate::group_news::{GroupNews, GroupRequest};
use crate::new_processes::{JobAnswer, JobQuestion, World};
use crate::{EventNo, ImageNo, Incarnation, ProtocolTraits, Rank};
use serde::{Deserialize, Serialize};

pub use crate::rank_env::{RANK_ENV, RankEnv};

/// Bytes of one datagram at the most.
pub const DATAGRAM_BYTES_MAX: usize = 128 << 10;

/// Descriptors that a rank finds open when it starts, and where the library keeps its own. The
/// numbers are high, so neither a program nor a restored process is in the way.
pub mod fds {
    /// The control socket.
    pub const CONTROL: i32 = 1000;
    /// The shared status page (`memfd`, [`crate::status::PAGE_BYTES`]).
    pub const STATUS: i32 = 1001;
    /// The image to restore, as a raw stream; open only if there is one.
    pub const IMAGE: i32 = 1002;
    /// The library's own descriptors are this or higher.
    pub const FIRST_OWN: i32 = 1003;
}

/// A rank to its agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromRank {
    /// The first message of every incarnation (from `MPI_Init`, or after a restore). With a
    /// descriptor: the rank's doorbell (`eventfd`), which the agent hands to ranks of the same
    /// host.
    Hello {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The process that is the rank (a wrapper script's child, perhaps).
        pid: u32,
        /// The image that this incarnation continues, if any.
        resumed: Option<ImageNo>,
        /// The executable, for the next start from an image.
        executable: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Why images of this process cannot be taken, if they cannot (more threads…).
        no_image: Option<String>,
    },
    /// Asks for a channel to this rank in this incarnation. [`ToRank::Channel`] answers as soon as
    /// there is one. The agent forgets the request when that incarnation dies.
    Open {
        /// With whom.
        peer: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// How often a connection between these two incarnations was lost before, as far as we
        /// know.
        round: u32,
    },
    /// Asks for a connection to the event logger. [`ToRank::EventLog`] answers. The rank asks again
    /// when the connection is lost; the agent retries until the logger answers.
    OpenEventLog,
    /// Image `image` begins to stream on the descriptor that [`ToRank::TakeImage`] brought.
    ImageBegun {
        /// Its number.
        image: ImageNo,
        /// Bytes that the program had written to standard output and error when it was taken.
        written: [u64; 2],
        /// Bytes of standard input that it had consumed.
        consumed: u64,
        /// How long the rank stood still.
        pause_ns: u64,
        /// Bytes that will be streamed, as far as known.
        estimate: u64,
    },
    /// No image was taken, and why (the descriptor is closed).
    ImageRefused {
        /// Its number.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// Replay is over: what was recorded has been repeated.
    CaughtUp {
        /// Determinants and messages that were replayed.
        replayed: u64,
    },
    /// Answer to [`ToRank::Settle`].
    Settled,
    /// Asks the launcher something; [`ToRank::Answer`] answers.
    Ask {
        /// Counts the questions of this rank.
        number: u64,
        /// The question.
        question: JobQuestion,
    },
    /// Before [`FromRank::Finalizing`], where the job has several worlds: processes of other
    /// worlds with which this rank still has a communicator.
    Connected {
        /// One process of each such world at least.
        with: Vec<Rank>,
    },
    /// `MPI_Finalize` was called; answered by [`ToRank::AllFinalized`].
    Finalizing,
    /// The program ends with this code; answered by [`ToRank::AllExiting`].
    Exiting {
        /// Argument of `exit`.
        code: i32,
    },
    /// `MPI_Abort`, or an error that nobody handled.
    Abort {
        /// Exit code for the whole job.
        code: i32,
        /// One line, or empty.
        text: String,
    },
    /// The sender log is above half its limit: images of the receivers would let it be cut.
    LogFull {
        /// Bytes of payload held.
        bytes: u64,
        /// It is above its limit, so the rank waits.
        waits: bool,
    },
    /// The channel to this incarnation of a peer broke, and the protocol cannot repair it alone.
    ChannelLost {
        /// With whom.
        peer: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// This incarnation depends on what another rank has lost, or has lost what another rank needs.
    /// It waits for its end, so that another incarnation can begin from an image.
    Orphan {
        /// One line.
        why: String,
        /// From one before this.
        before: Option<ImageNo>,
    },
    /// The rank is about to change this file of the program: the file must return to a wave with
    /// its ranks. Or why it cannot.
    WillChangeFile {
        /// Its whole path.
        path: String,
        /// One line.
        problem: Option<String>,
    },
    /// A line for the user: a warning of the library.
    Warning {
        /// The line.
        text: String,
    },
    /// Asks for memory that ranks of this host share. [`ToRank::Segment`] answers. The first rank
    /// that asks makes it. It is forgotten when `takers` have it, or when the creator has another
    /// incarnation.
    Segment {
        /// Name of the segment.
        name: SegmentName,
        /// Its length.
        bytes: u64,
        /// How many ask for it.
        takers: u32,
    },
    /// No rank will ask for this memory any more.
    SegmentOver {
        /// Name of the segment.
        name: SegmentName,
    },
    /// With a descriptor (`O_PATH`): an image rests on this file. The agent keeps the file while
    /// the image is offered.
    KeepFile {
        /// The image.
        image: ImageNo,
        /// The file.
        file: FileKey,
        /// The file was opened after the image, and a replay opens it again: the file is kept while
        /// this image or an earlier one is offered.
        replay: bool,
    },
    /// Asks for a file that was kept. [`ToRank::KeptFile`] answers.
    NeedFile {
        /// [`FileKey::digest`]
        file: u64,
    },
    /// What is loaded at the start of the program, before [`FromRank::Hello`]: the program itself
    /// and its libraries, in the order of their loading.
    Loaded {
        /// All of them.
        objects: Vec<LoadedObject>,
    },
    /// No image of this rank can be taken, and the sender logs of others were full: they have
    /// dropped what this rank has received. It cannot be recovered until it has an image.
    Unprotected,
    /// A word about a communicator, for all ranks.
    Group(GroupRequest),
}

/// A program or library in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoadedObject {
    /// The file.
    pub path: Vec<u8>,
    /// Its build-id, or a digest of its contents where it has none.
    pub id: Vec<u8>,
}

/// Digests of files are below this.
pub const FILE_DIGESTS: u64 = 1 << 62;

/// A file of a host: no other file is or was the same one. (Numbers of inodes are given again.)
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct FileKey {
    /// `st_dev`
    pub device: u64,
    /// `st_ino`
    pub inode: u64,
    /// When the file was made, in nanoseconds since 1970; 0: the file system does not tell.
    pub birth: u64,
}

impl FileKey {
    /// One number for the file: at least 2 and below [`FILE_DIGESTS`].
    #[must_use]
    pub fn digest(self) -> u64 {
        let mix =
            |h: u64, word: u64| (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        let digest = [self.device, self.inode, self.birth].into_iter().fold(1, mix);
        (digest % FILE_DIGESTS).max(2)
    }
}

/// Memory that ranks of one host share. The agent adds the incarnation of its creator: after all
/// ranks have returned to an earlier state, the same name means other memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SegmentName {
    /// Who named it.
    pub creator: Rank,
    /// How many it had named before; none: the board of its host.
    pub serial: Option<u32>,
}

/// An agent to one of its ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToRank {
    /// Answer to [`FromRank::Hello`].
    Welcome(Box<JobView>),
    /// A channel is there. Shared memory: with two descriptors, the segment
    /// (`ftmpi_transport::shm`, `first` says which side is ours) and the peer's doorbell.
    /// TCP: with one, the connected and authenticated socket.
    Channel {
        /// With whom.
        peer: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// How.
        kind: ChannelKind,
    },
    /// With a descriptor: the connected and authenticated socket to the event logger.
    EventLog,
    /// A rank has a new incarnation: forget channels to earlier ones.
    PeerRestarted {
        /// The rank.
        rank: Rank,
        /// The new incarnation.
        incarnation: Incarnation,
        /// Where it now is (index of host).
        host: u32,
    },
    /// The connection to a peer on another host counts as lost (fault injection).
    ChannelOver {
        /// The peer.
        peer: Rank,
    },
    /// Take image `image` now and stream it to the descriptor that comes along. The agent sends
    /// the boot library's signal after this message.
    TakeImage {
        /// Its number.
        image: ImageNo,
    },
    /// The image is on stable storage.
    ImageCommitted {
        /// Its number.
        image: ImageNo,
        /// The oldest image that is still offered for a restart: logs reach back to it.
        oldest: ImageNo,
    },
    /// The image was lost (disk full, server gone, …); the older ones stand.
    ImageFailed {
        /// Its number.
        image: ImageNo,
    },
    /// What is written of other ranks, where loggers send it to all hosts (`--stable-vector
    /// broadcast`).
    StableClocks {
        /// As in [`Frame::Stable`](crate::event_log::Frame).
        clocks: Vec<(Rank, EventNo)>,
    },
    /// Make everything stable that has happened in this incarnation until now, then answer with
    /// [`FromRank::Settled`]. The agent sends the boot library's signal after this message.
    Settle,
    /// Answer to [`FromRank::Ask`].
    Answer {
        /// The number of the question.
        number: u64,
        /// The answer.
        answer: JobAnswer,
    },
    /// Processes have joined the job. Comes before any channel to one of them.
    Grown {
        /// Their world.
        world: World,
        /// The host of each.
        hosts: Vec<u32>,
    },
    /// All processes of a world have ended in order: forget channels to them.
    WorldOver {
        /// The world.
        world: World,
    },
    /// Every rank has called `MPI_Finalize`.
    AllFinalized,
    /// Every rank has ended its program: no rank needs another rank's log any more.
    AllExiting,
    /// End at once with this code, silently.
    Die {
        /// Exit code.
        code: i32,
    },
    /// With a descriptor (sealed against other lengths), unless it cannot be had.
    Segment {
        /// Name of the segment.
        name: SegmentName,
        /// One line, if it cannot be had.
        why: Option<String>,
    },
    /// Ranks that the others go on without, and what ranks agreed on.
    Group(GroupNews),
    /// With a descriptor (`O_PATH`), if the file is kept.
    KeptFile {
        /// Which.
        file: u64,
    },
}

/// How two ranks are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// A shared segment; one side is `first`.
    SharedMemory {
        /// Whether we are the first side.
        first: bool,
    },
    /// A socket.
    Tcp {
        /// Which round of the two incarnations it belongs to: what is of an earlier one is over.
        round: u32,
    },
}

/// What a rank must know of its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// Number of ranks, of all worlds.
    pub size: u32,
    /// The worlds, in the order of their beginning.
    pub worlds: Vec<World>,
    /// Processes of worlds that have ended, or that all ranks have returned from.
    pub gone: Vec<Rank>,
    /// The last wave that is behind all ranks, and so behind a rank that joins them.
    pub past: ImageNo,
    /// How many processes the hosts of the job take as meant (`MPI_UNIVERSE_SIZE`).
    pub universe: u32,
    /// Tells this job from others; 0: not known.
    pub job: u64,
    /// Host of each rank (index into `hosts`).
    pub host_of: Vec<u32>,
    /// Host of each rank as the program learns it: as it was at the first start, in every
    /// incarnation. A replay would otherwise answer differently.
    pub node_of: Vec<u32>,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The incarnation of each rank at this moment.
    pub incarnations: Vec<Incarnation>,
    /// `MPI_APPNUM`: index of the `:`-separated part of the command.
    pub app_number: u32,
    /// The job goes on without ranks that die.
    pub goes_on: bool,
    /// Deaths and revocations so far, in their order: for ranks that say hello after them.
    pub news: Vec<GroupNews>,
    /// The protocol and its settings.
    pub protocol: ProtocolConfig,
    /// What follows from the protocol for everybody.
    pub traits: ProtocolTraits,
    /// Processors of this host and ranks on it: decides how long to spin.
    pub processors: u32,
    /// Ranks on this host.
    pub local_ranks: u32,
    /// Events stored for this rank from here on are to be fetched when an incarnation begins again.
    pub retained: Vec<RetainedImage>,
    /// Faults to inject into this rank (`point=NAME,nth=N`), already filtered for it.
    pub inject: Vec<InjectPoint>,
    /// Every channel over TCP, also within a host.
    pub force_tcp: bool,
    /// Images are taken, so a sender log that is full can be cut.
    pub images: bool,
    /// Bytes of payload that a rank's sender log may hold before it asks for images and waits for
    /// them. 0 in the launcher's words to an agent: a share of the memory of the rank's host.
    pub log_limit: u64,
    /// Bytes of memory for it that a rank touches before it begins.
    pub log_reserve: u64,
    /// Images leave out of the sender log what the newest image of its receiver has.
    pub lean_images: bool,
    /// When the job began, in seconds since 1970: what the ranks' clocks count from, so that a
    /// double resolves nanoseconds.
    pub epoch: u64,
    /// Files of the program return to a wave with its ranks; this tells their journals from those
    /// of other jobs. 0: they do not.
    pub files: u64,
    /// Some host had more ranks than CPUs when the job first started. The value is the same for all
    /// ranks in all incarnations, wherever they run then. Collectives choose their algorithms by
    /// it, and a replay must repeat the same messages.
    pub oversubscribed: bool,
}

/// An image that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetainedImage {
    /// Its number.
    pub image: ImageNo,
    /// Not used by the agent: filled in by the library.
    pub events: EventNo,
}

/// Kill yourself at the `nth` time you come to `point`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectPoint {
    /// Name of the point.
    pub point: String,
    /// Which time.
    pub nth: u64,
    /// The number of the fault, which the rank leaves behind (`status::word::FAULT`).
    pub fault: u32,
}

/// The protocol of a job, as given on the command line and checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolConfig {
    /// `none`, `pessimistic`, …
    pub name: String,
    /// Which receptions become determinants.
    pub events: Events,
    /// `MPI_Wtime` is logged (`true`) or free.
    pub log_wtime: bool,
    /// Further settings of the protocol, as `key=value`.
    pub settings: Vec<(String, String)>,
}

impl ProtocolConfig {
    /// The value of a setting, if it was given.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Whether several event loggers tell each host what is written, instead of each other.
    #[must_use]
    pub fn broadcasts_clocks(&self) -> bool {
        self.setting("stable-vector") == Some("broadcast")
    }
}

/// `--events`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Events {
    /// Every reception.
    All,
    /// Only what replay needs.
    Nondeterministic,
}

/// Encodes one datagram.
///
/// # Panics
/// Never for the types of this module.
#[must_use]
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_stdvec(message).expect("control messages have no unencodable part")
}

/// The same into memory that is there; `None` if it is too short.
pub fn encode_into<'a, T: Serialize>(message: &T, into: &'a mut [u8]) -> Option<&'a [u8]> {
    postcard::to_slice(message, into).ok().map(|bytes| &*bytes)
}

/// Decodes one datagram.
///
/// # Errors
/// Bytes that are no such message.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, crate::DecodeError> {
    postcard::from_bytes(bytes)
        .map_err(|_| crate::DecodeError::new("control message", "not a known message"))
}

/// Decodes a message that more follows; what follows it.
///
/// # Errors
/// As [`decode`].
pub fn decode_front<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
) -> Result<(T, &'a [u8]), crate::DecodeError> {
    postcard::take_from_bytes(bytes)
        .map_err(|_| crate::DecodeError::new("control message", "not a known message"))
}
