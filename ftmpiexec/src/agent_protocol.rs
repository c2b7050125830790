//! What the launcher and an agent tell each other: frames over one authenticated TCP connection
//! (`ftmpi_transport::framed`), in order, each way.
//!
//! The launcher decides (its dispatcher), the agent carries out and reports. Messages about a rank
//! name its incarnation; what comes late about an old one is ignored on both sides.

use crate::binding::Binding;
use ftmpi_protocols::dispatcher::{Ending, ImageFacts};
use ftmpi_wire::control::{InjectPoint, JobView};
use ftmpi_wire::status::Counters;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Bytes of one frame at the most: a job view of some 100 000 ranks fits.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Bytes of output that an agent may have on its way to the launcher: a stopped terminal holds
/// back the ranks' output and nothing else.
pub const OUTPUT_WINDOW_BYTES: usize = 1 << 20;

/// What a new agent reads from its standard input, as one line of JSON: how to come back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentSetup {
    /// The job's key, hexadecimal.
    pub key: String,
    /// What images are encrypted with, hexadecimal, if they are.
    pub image_key: Option<String>,
    /// Its index in the list of hosts.
    pub host: u32,
    /// Where the launcher listens; tried in order.
    pub launcher: Vec<SocketAddr>,
    /// Processes of an agent that died here: killed before anything starts.
    pub leftovers: Vec<ProcessId>,
    /// Other hosts take part: listen on all interfaces.
    pub listen_everywhere: bool,
    /// Removed when the launcher dies without a word (it cannot do so itself then).
    pub temporary: Option<std::path::PathBuf>,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number, which is also that of its process group.
    pub pid: u32,
    /// When it started (clock ticks since boot, field 22 of `/proc/PID/stat`).
    pub started: u64,
}

/// One part of the command line: what its ranks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// The working directory.
    pub directory: String,
}

/// What makes the text of a rank final (`--output committed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Commitment {
    /// All events that came before it are stable, or an image was taken after it.
    Events,
    /// Only an image: the protocol rolls ranks back to images.
    Images,
}

/// Everything about the job that does not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What ranks are told; the parts about one rank (`app_number`, `retained`, `inject`), and what is
    /// known only when all hosts are (`crowded`), are filled in by the agent.
    pub view: JobView,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// Part of each rank.
    pub program_of: Vec<u32>,
    /// Number of each rank among those of its host at the start (`MPI_LOCALRANKID`).
    pub local_rank_of: Vec<u32>,
    /// All "hosts" are this machine (`-launcher fork`): its processors are shared by all ranks.
    pub one_machine: bool,
    /// Text of the ranks is held until it is final; by what. None: it is passed on as it comes.
    pub commitment: Option<Commitment>,
    /// Images hold only what changed since an earlier one.
    pub incremental: bool,
    /// How they are compressed.
    pub compress: u8,
    /// Images are also kept on the hosts of their ranks, in a directory of each host below this one,
    /// which belongs to the job.
    pub local_images: Option<std::path::PathBuf>,
    /// Which processors the ranks of a host may use, if not all.
    pub binding: Option<Binding>,
    /// Soft and hard limit of the stack at the first start: the address layout hangs on it.
    pub stack_limit: (u64, u64),
}

/// The launcher to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// First word.
    Job(Box<Job>),
    /// Where the agents listen, by index of host; sent again when one is restarted.
    Agents(Vec<Option<SocketAddr>>),
    /// Where the servers of each rank of this agent listen; sent again when they move.
    Servers {
        /// Event logger of each rank; empty if the protocol has none.
        event_loggers: Vec<SocketAddr>,
        /// Checkpoint server of each rank; empty if there are no images.
        checkpoint_servers: Vec<SocketAddr>,
    },
    /// Start a life.
    Start(Start),
    /// A rank was given a new life somewhere.
    Announce {
        /// Who.
        rank: Rank,
        /// In which life.
        incarnation: Incarnation,
        /// Where.
        host: u32,
    },
    /// To one rank of this agent, word by word.
    Forward {
        /// To whom.
        rank: Rank,
        /// In which life.
        incarnation: Incarnation,
        /// What.
        order: RankOrder,
    },
    /// Send a signal to a rank's process (fault injection).
    Kill {
        /// To whom.
        rank: Rank,
        /// The signal.
        signal: i32,
    },
    /// So many bytes of output have been printed.
    OutputPrinted(u32),
    /// Bytes for the standard input of a rank.
    Input {
        /// For whom.
        rank: Rank,
        /// For which life.
        incarnation: Incarnation,
        /// Where they begin in all of the input: a life may try several processes, one after the other.
        offset: u64,
        /// The bytes; none means the end of the input.
        bytes: Vec<u8>,
    },
    /// A heartbeat arrived.
    Heard,
    /// Die at once without any care (fault injection).
    KillYourself,
    /// Nobody returns any more: the journals of these files go.
    ForgetFiles(Vec<String>),
    /// Kill everything, report nothing more, end.
    Stop {
        /// The job goes on later: text that is not final is not said, for it may become another one.
        keep: bool,
    },
}

/// What a rank is told by way of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankOrder {
    /// Take this image.
    TakeImage {
        /// Which.
        image: ImageNo,
        /// What the store keeps beside it, if waves decide that.
        keep: Option<[ImageNo; 2]>,
    },
    /// The image is durable; logs reach back to `oldest`.
    ImageCommitted {
        /// Which.
        image: ImageNo,
        /// How far back.
        oldest: ImageNo,
    },
    /// The image was lost.
    ImageFailed(ImageNo),
    /// All have called `MPI_Finalize`.
    AllFinalized,
    /// All programs have ended.
    AllExiting,
    /// End at once with this code.
    Die(i32),
}

/// Start a life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Who.
    pub rank: Rank,
    /// In which life.
    pub incarnation: Incarnation,
    /// Images that it may continue, newest first.
    pub images: Vec<Image>,
    /// Whether it may begin anew if there is none that can be read.
    pub or_beginning: bool,
    /// Whether what the server has behind them is given up before.
    pub no_newer: bool,
    /// Bytes of output and error that have been printed already.
    pub printed: [u64; 2],
    /// Whether standard input is fed to it.
    pub fed: bool,
    /// Faults to inject.
    pub inject: Vec<InjectPoint>,
    /// How its process was really executed, if not as the command line says.
    pub actual_command: Option<ActualCommand>,
    /// What [`JobView::oversubscribed`] is to say.
    pub oversubscribed: bool,
    /// Files that are to return with it.
    pub files: Vec<String>,
    /// They can, to this wave and later ones: what was before is forgotten.
    pub files_since: ImageNo,
}

/// How a process was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActualCommand {
    /// The file, as given to `execve`.
    pub file: Vec<u8>,
    /// Its arguments, from its own name on.
    pub arguments: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// Its working directory.
    pub directory: Vec<u8>,
}

/// [`ImageFacts`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its number.
    pub image: ImageNo,
    /// Bytes stored.
    pub bytes: u64,
    /// Bytes of output and error that the program had written.
    pub written: [u64; 2],
    /// Bytes of input that it had consumed.
    pub consumed: u64,
}

impl From<ImageFacts> for Image {
    fn from(facts: ImageFacts) -> Self {
        let ImageFacts { image, bytes, written, consumed } = facts;
        Self { image, bytes, written, consumed }
    }
}

impl From<Image> for ImageFacts {
    fn from(image: Image) -> Self {
        let Image { image, bytes, written, consumed } = image;
        Self { image, bytes, written, consumed }
    }
}

/// An agent to the launcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// First word.
    Ready {
        /// Where it accepts channels.
        port: u16,
        /// Its process.
        process: ProcessId,
        /// Processors that its ranks may use.
        processors: u32,
    },
    /// I am alive; sent every second.
    Heartbeat,
    /// About one life of one rank.
    Rank {
        /// Which rank.
        rank: Rank,
        /// Which life.
        incarnation: Incarnation,
        /// What.
        report: Report,
    },
    /// Output of a rank.
    Output {
        /// Whose.
        rank: Rank,
        /// 0: standard output, 1: standard error.
        stream: u8,
        /// Position of the first byte in all that the program ever wrote.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A line for the user.
    Notice(String),
}

/// What happened to a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// Its process runs.
    Spawned {
        /// The process.
        process: ProcessId,
        /// Bytes of standard input that it has behind it.
        consumed: u64,
    },
    /// It could not be started.
    CannotStart {
        /// Exit code.
        code: i32,
        /// One line.
        why: String,
    },
    /// This image cannot be used.
    ImageUnusable {
        /// Which.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// It entered `MPI_Init` or came back.
    Hello {
        /// The process that is the rank.
        pid: u32,
        /// The image that it continues.
        resumed: Option<ImageNo>,
        /// Why no image can be taken of it.
        no_image: Option<String>,
        /// How it was executed, if not as the command line says.
        actual_command: Option<Box<ActualCommand>>,
    },
    /// Replay is over.
    CaughtUp {
        /// Determinants and messages.
        replayed: u64,
    },
    /// Its channel to this life of a peer broke.
    ChannelLost {
        /// With whom.
        peer: Rank,
        /// In which life.
        peer_incarnation: Incarnation,
    },
    /// It depends on what another rank has lost, or has lost what another one needs.
    Orphan {
        /// One line.
        why: String,
        /// Another life is to begin from an image before this one.
        before: Option<ImageNo>,
    },
    /// Its sender log is full.
    LogFull {
        /// Bytes of payload held.
        bytes: u64,
    },
    /// It shares memory with ranks of its host, under waves of images.
    SharesMemory,
    /// It is about to change this file, which must return with the ranks; or why it cannot.
    Guards {
        /// Its path.
        path: String,
        /// One line.
        problem: Option<String>,
    },
    /// `MPI_Finalize`.
    Finalizing,
    /// `exit`.
    Exiting {
        /// Exit code.
        code: i32,
    },
    /// `MPI_Abort`.
    Abort {
        /// Exit code.
        code: i32,
        /// One line.
        text: String,
    },
    /// An image was taken: the rank goes on.
    ImageTaken {
        /// Which.
        image: ImageNo,
        /// How long it stood still.
        pause_ns: u64,
    },
    /// An image is durable.
    ImageCommitted {
        /// Which and how big.
        image: Image,
        /// The oldest that the store offers.
        oldest: ImageNo,
        /// From the order to the commit.
        took_ns: u64,
    },
    /// An image was not kept.
    ImageFailed {
        /// Which.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// Its event logger does not serve it.
    LoggerTrouble {
        /// One line.
        why: String,
        /// It never will.
        for_good: bool,
    },
    /// It serves it again.
    LoggerBack,
    /// The counters of its status page (every second, and once after its end).
    Counters {
        /// What the rank does (`ftmpi_wire::status::Phase`).
        phase: u64,
        /// What it has counted.
        counters: Box<Counters>,
    },
    /// Standard input took so many bytes.
    InputTaken(u32),
    /// The process is gone; the last word about this life.
    Ended {
        /// How.
        ending: How,
        /// Nanoseconds since the agent saw it.
        seen_ns: u64,
    },
}

/// [`Ending`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// Exit code.
    Code(i32),
    /// Signal.
    Signal(i32),
    /// The control socket closed.
    ControlLost,
}

impl From<How> for Ending {
    fn from(how: How) -> Self {
        match how {
            How::Code(code) => Self::Code(code),
            How::Signal(signal) => Self::Signal(signal),
            How::ControlLost => Self::ControlLost,
        }
    }
}
