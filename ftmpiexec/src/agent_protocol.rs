//! The protocol between the launcher and an agent: frames over one authenticated TCP connection
//! (`ftmpi_transport::framed`), in order, in both directions.
//!
//! The launcher's dispatcher decides; the agent carries out and reports. Messages about a rank name
//! its incarnation, and both sides ignore what comes late about an old incarnation.

mod setup;

pub use setup::AgentSetup;

pub use crate::actual_command::ActualCommand;
use crate::binding::{Binding, MemoryPolicy};
use crate::call_spans::CallReport;
use crate::cpu_baseline::CpuBaseline;
use crate::host_limits::HostLimits;
use crate::os_text::OsText;
use crate::restore_facts::RestoreFacts;
use ftmpi_protocols::dispatcher::{Ending, ImageFacts, StandbyNews};
use ftmpi_wire::control::{InjectPoint, JobView, LoadedObject};
use ftmpi_wire::group_news::{GroupNews, GroupRequest};
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion, World};
use ftmpi_wire::status::Counters;
use ftmpi_wire::waiting::Noted;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The most bytes of one frame: a job view of some 100 000 ranks fits.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Bytes of output that an agent may have on the way to the launcher. So a stopped terminal holds
/// back the ranks' output and nothing else.
pub const OUTPUT_WINDOW_BYTES: usize = 1 << 20;

/// A process, told from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The process number, which is also the number of its process group.
    pub pid: u32,
    /// When the process started (clock ticks since boot, field 22 of `/proc/PID/stat`).
    pub started: u64,
}

/// One part of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Program and arguments.
    pub command: Vec<OsText>,
    /// The whole environment.
    pub environment: Vec<(OsText, OsText)>,
    /// The working directory.
    #[serde(with = "crate::os_text::path")]
    pub directory: PathBuf,
    /// Where it is looked for, if not in `PATH`.
    #[serde(default)]
    pub search: Option<OsText>,
}

impl Program {
    /// The program as a path, if it is one; else its name.
    pub fn path(&self) -> String {
        let name = self.command.first().map(OsText::to_os).unwrap_or_default();
        let is_path = name.as_encoded_bytes().contains(&b'/');
        let path = if is_path { self.directory.join(name) } else { name.into() };
        path.to_string_lossy().into_owned()
    }

    /// Where a name without a path is looked for.
    pub fn search_path(&self) -> OsString {
        let mut variables = self.environment.iter().rev();
        let path = || variables.find(|(name, _)| name == "PATH").map(|(_, value)| value);
        self.search.as_ref().or_else(path).map(OsText::to_os).unwrap_or_default()
    }
}

/// What makes the text of a rank final (`--output committed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Commitment {
    /// All events before the text are stable, or an image was taken after it.
    Events,
    /// Only an image after the text: the protocol rolls ranks back to images.
    Images,
}

/// The facts about the job that do not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What ranks receive. The agent fills in the parts about one rank (`app_number`, `retained`,
    /// `inject`) and the part that is known only when all hosts are known (`oversubscribed`).
    pub view: JobView,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// The part that each rank runs.
    pub program_of: Vec<u32>,
    /// Number of each rank on its host at the start (`MPI_LOCALRANKID`).
    pub local_rank_of: Vec<u32>,
    /// All "hosts" are this machine (`-launcher fork`): all ranks share its processors.
    pub one_machine: bool,
    /// What makes held text of the ranks final. `None`: text is passed on as it comes.
    pub commitment: Option<Commitment>,
    /// Images hold only what changed since an earlier image.
    pub incremental: bool,
    /// Level of the compression of images.
    pub compress: u8,
    /// The job's directory for copies of images on the hosts of their ranks; each host has a
    /// directory below it.
    #[serde(with = "crate::os_text::optional_path")]
    pub local_images: Option<PathBuf>,
    /// Bytes that images may take on one disk; `None`: they leave room.
    pub image_space: Option<u64>,
    /// The job's directory, which other hosts may not have; `None`: nothing is kept.
    #[serde(with = "crate::os_text::optional_path")]
    pub directory: Option<PathBuf>,
    /// Which processors the ranks of a host may use; `None`: all.
    pub binding: Option<Binding>,
    /// Instructions that ranks count on, if not those of their hosts.
    pub cpu_baseline: Option<CpuBaseline>,
    /// From which NUMA nodes ranks take memory, if they are not to take it where they touch it.
    pub memory: Option<MemoryPolicy>,
    /// The command that says whether a host is well, and the time between two of its runs.
    pub health: Option<(String, Duration)>,
    /// Ranks record their calls (`--trace`).
    pub traced: bool,
    /// And their messages (`--trace-messages`).
    pub trace_messages: bool,
    /// Soft and hard limit of the stack at the first start. The address layout depends on it.
    pub stack_limit: (u64, u64),
}

/// Processes that join the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Their world.
    pub world: World,
    /// The host of each.
    pub hosts: Vec<u32>,
    /// Their number on their host, within their world.
    pub local_rank_of: Vec<u32>,
    /// The program of each: index into all programs.
    pub program_of: Vec<u32>,
    /// New programs.
    pub programs: Vec<Program>,
}

impl Job {
    /// Takes new processes in.
    pub fn grow(&mut self, growth: &Growth) {
        let view = &mut self.view;
        view.host_of.extend(&growth.hosts);
        view.node_of.extend(&growth.hosts);
        view.size = view.host_of.len() as u32;
        view.incarnations.resize(view.host_of.len(), Incarnation(0));
        view.worlds.push(growth.world);
        ftmpi_protocols::registry::take_in(&mut view.protocol, growth.world);
        self.local_rank_of.extend(&growth.local_rank_of);
        self.program_of.extend(&growth.program_of);
        self.programs.extend(growth.programs.iter().cloned());
    }
}

/// A message of the launcher to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// The first message.
    Job(Box<Job>),
    /// Which instructions ranks count on. Sent before the first rank starts.
    CpuBaseline(CpuBaseline),
    /// Where the agents listen, by host. Sent again when an agent is restarted.
    Agents(Vec<Option<SocketAddr>>),
    /// Where the servers of each rank listen. Sent again when a server moves.
    Servers {
        /// Event logger of each rank; empty if the protocol has none.
        event_loggers: Vec<SocketAddr>,
        /// Checkpoint server of each rank; empty if there are no images.
        checkpoint_servers: Vec<SocketAddr>,
    },
    /// Processes join the job.
    Grow(Box<Growth>),
    /// All processes of this world have ended, and the job goes on.
    WorldOver(World),
    /// The answer to a question of a rank.
    Answer {
        /// The rank.
        rank: Rank,
        /// The rank's incarnation.
        incarnation: Incarnation,
        /// The number of the question.
        number: u64,
        /// The answer.
        answer: JobAnswer,
    },
    /// Start an incarnation.
    Start(Start),
    /// Make a standby that this order of an incarnation to come can begin in.
    MakeStandby(Start),
    /// Drop the standby of this rank.
    DropStandby(Rank),
    /// A rank has a new incarnation.
    Announce {
        /// The rank.
        rank: Rank,
        /// The rank's incarnation.
        incarnation: Incarnation,
        /// The rank's host.
        host: u32,
    },
    /// Pass news on to these ranks, or to all.
    Group {
        /// The news.
        news: GroupNews,
        /// Whom; none: all.
        to: Option<Vec<Rank>>,
    },
    /// Pass an order on to a rank.
    Forward {
        /// The rank.
        rank: Rank,
        /// The rank's incarnation.
        incarnation: Incarnation,
        /// The order.
        order: RankOrder,
    },
    /// Send a signal to a rank's process (fault injection).
    Kill {
        /// The rank.
        rank: Rank,
        /// The signal.
        signal: i32,
    },
    /// So many bytes of output have been printed.
    OutputPrinted(u32),
    /// Bytes for the standard input of a rank.
    Input {
        /// The rank.
        rank: Rank,
        /// The rank's incarnation.
        incarnation: Incarnation,
        /// Position of the bytes in all of the input. An incarnation may try several processes, one
        /// after the other.
        offset: u64,
        /// The bytes. No bytes mean the end of the input.
        bytes: Vec<u8>,
    },
    /// A heartbeat of the agent arrived.
    HeartbeatReceived {
        /// Counts these answers.
        number: u64,
    },
    /// Hosts whose agents are up and are not on the launcher's host. An agent that hears nothing
    /// from the launcher asks them.
    Witnesses(Vec<u32>),
    /// The way to another host counts as cut, or as mended (fault injection).
    CutOff {
        /// Index of the other host.
        host: u32,
        /// Whether it is cut.
        cut: bool,
    },
    /// Kill yourself (fault injection).
    KillYourself,
    /// Remove the journals of these files: no rank returns to a wave any more.
    ForgetFiles(Vec<String>),
    /// Kill everything, report nothing more, end.
    Stop {
        /// The job goes on later: text that is not final is dropped, because it may change.
        keep: bool,
    },
}

/// An order to a rank, which its agent passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankOrder {
    /// Take this image.
    TakeImage {
        /// The image's number.
        image: ImageNo,
        /// The other images that the store keeps, if waves decide that.
        keep: Option<[ImageNo; 2]>,
    },
    /// The image is durable, and logs must reach back to `oldest`.
    ImageCommitted {
        /// The image's number.
        image: ImageNo,
        /// The oldest image that is still offered.
        oldest: ImageNo,
    },
    /// The image was lost.
    ImageFailed(ImageNo),
    /// All ranks have called `MPI_Finalize`.
    AllFinalized,
    /// All programs have ended.
    AllExiting,
    /// End at once with this code.
    Die(i32),
}

/// The start of an incarnation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The rank.
    pub rank: Rank,
    /// The rank's incarnation.
    pub incarnation: Incarnation,
    /// Images that the incarnation may continue, newest first.
    pub images: Vec<ImageFacts>,
    /// Whether it may begin from the start of the program if no image can be read.
    pub or_beginning: bool,
    /// Whether newer images on the server are given up first.
    pub no_newer: bool,
    /// The last wave that is behind all ranks.
    pub past: ImageNo,
    /// Bytes of output and error that have been printed already.
    pub printed: [u64; 2],
    /// Whether standard input is fed to it.
    pub fed: bool,
    /// Faults to inject.
    pub inject: Vec<InjectPoint>,
    /// How the process was really executed, if not as the command line says.
    pub actual_command: Option<ActualCommand>,
    /// Whether some host had more ranks than processors at the start of the job.
    pub oversubscribed: bool,
    /// What the rank's first incarnation had loaded, if that is known.
    pub loaded: Option<Vec<LoadedObject>>,
    /// Files that return with the rank.
    pub files: Vec<String>,
    /// The files can return to this wave and later ones.
    pub files_since: ImageNo,
}

/// A message of an agent to the launcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message.
    Ready {
        /// The port on which the agent accepts channels.
        port: u16,
        /// The agent's process.
        process: ProcessId,
        /// Processors that the ranks of the host may use.
        processors: u32,
        /// What decides whether the host can restore the images of another host.
        restore_facts: Box<RestoreFacts>,
        /// What the ranks of the host may use.
        limits: Box<HostLimits>,
    },
    /// The agent is alive; sent every second.
    Heartbeat {
        /// The number of the last answer that arrived.
        answered: u64,
    },
    /// The way to another host does not work, although channels lead there.
    PathLost {
        /// Index of the other host.
        host: u32,
        /// One line.
        why: String,
    },
    /// The way to another host works again.
    PathBack {
        /// Index of the other host.
        host: u32,
    },
    /// A report about an incarnation of a rank.
    Rank {
        /// The rank.
        rank: Rank,
        /// The rank's incarnation.
        incarnation: Incarnation,
        /// The report.
        report: Report,
    },
    /// Output of a rank.
    Output {
        /// The rank.
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
    /// SIGTERM came. The agent goes on.
    Terminate,
    /// The health command says something new about the host.
    Health {
        /// Why the host may fail soon; none: it is well.
        bad: Option<String>,
    },
}

/// What a rank does at the moment of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    /// The state of its process, by the letter of proc(5), if it has one.
    pub letter: Option<char>,
    /// What it waits for inside of a call.
    pub waiting: Option<Noted>,
    /// Grows while the program polls.
    pub polls: u64,
}

/// Why an image cannot be used whose rank had a file open that is gone.
pub const FILE_GONE: &str = "a file that it rests on is gone, which the line of the rank names";

/// What happened to a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// The process of the incarnation runs.
    Spawned {
        /// The process.
        process: ProcessId,
        /// Bytes of standard input that the program has consumed.
        consumed: u64,
    },
    /// The incarnation could not be started.
    CannotStart {
        /// Exit code.
        code: i32,
        /// One line.
        why: String,
    },
    /// This image cannot be used.
    ImageUnusable {
        /// The image's number.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// The rank entered `MPI_Init` or came back.
    Hello {
        /// The process that is the rank.
        pid: u32,
        /// The image that the process continues.
        resumed: Option<ImageNo>,
        /// Why no image of the rank can be taken.
        no_image: Option<String>,
        /// How the process was executed, if not as the command line says.
        actual_command: Option<Box<ActualCommand>>,
    },
    /// What the rank's first incarnation has loaded.
    Loaded {
        /// The program, then its libraries.
        objects: Vec<LoadedObject>,
    },
    /// The replay is over.
    CaughtUp {
        /// Determinants and messages that were replayed.
        replayed: u64,
    },
    /// The rank has a word about a communicator.
    Group(GroupRequest),
    /// The channel to an incarnation of a peer broke.
    ChannelLost {
        /// The peer.
        peer: Rank,
        /// The peer's incarnation.
        peer_incarnation: Incarnation,
    },
    /// The rank depends on events that another rank has lost, or has lost what another rank needs.
    Orphan {
        /// One line.
        why: String,
        /// The next incarnation must begin from an image before this one.
        before: Option<ImageNo>,
    },
    /// The sender log of the rank is full, or will be.
    LogFull {
        /// Bytes of payload held.
        bytes: u64,
        /// It is full, so the rank waits.
        waits: bool,
    },
    /// No image of the rank can be taken, and full logs have dropped what it has received.
    Unprotected,
    /// The rank shares memory with ranks of its host, under waves of images.
    SharesMemory,
    /// The rank is about to change this file. The file returns with the ranks, unless there is a
    /// problem.
    Guards {
        /// The file's path.
        path: String,
        /// One line.
        problem: Option<String>,
    },
    /// The rank asks the launcher something.
    Asks {
        /// The number of the question.
        number: u64,
        /// The question.
        question: Box<JobQuestion>,
    },
    /// The rank is about to call `MPI_Finalize`, and has communicators with these processes of
    /// other worlds.
    Connected {
        /// One process of each world at least.
        with: Vec<Rank>,
    },
    /// The standby that is to be this incarnation is ready, or gone.
    Standby(StandbyNews),
    /// The rank called `MPI_Finalize`.
    Finalizing,
    /// The program calls `exit`.
    Exiting {
        /// Exit code.
        code: i32,
    },
    /// The rank called `MPI_Abort`.
    Abort {
        /// Exit code.
        code: i32,
        /// One line.
        text: String,
    },
    /// An image was taken, and the rank goes on.
    ImageTaken {
        /// The image's number.
        image: ImageNo,
        /// How long the rank stood still.
        pause_ns: u64,
    },
    /// An image is durable.
    ImageCommitted {
        /// The image.
        image: ImageFacts,
        /// The oldest image that the store offers.
        oldest: ImageNo,
        /// From the order to the commit.
        took_ns: u64,
        /// By how much the image held up the rank.
        cost_ns: u64,
    },
    /// An image was not kept.
    ImageFailed {
        /// The image's number.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// The event logger does not serve the rank.
    LoggerTrouble {
        /// One line.
        why: String,
        /// The logger never will.
        for_good: bool,
    },
    /// The event logger serves the rank again.
    LoggerBack,
    /// The counters of the status page: every second, and once after the end of the process.
    Counters {
        /// What the rank does (`ftmpi_wire::status::Phase`).
        phase: u64,
        /// What the rank has counted.
        counters: Box<Counters>,
        /// What the rank does at this moment.
        doing: Box<Doing>,
    },
    /// What the rank has recorded of its calls: every second, and after the end of the process.
    Calls(Box<CallReport>),
    /// The program's standard input took so many bytes.
    InputTaken(u32),
    /// The process has ended. The last report about an incarnation.
    Ended {
        /// The cause of the end.
        ending: Ending,
        /// Nanoseconds since the agent saw the end.
        seen_ns: u64,
        /// The number of the fault by which the rank killed itself, if it did.
        fault: Option<u32>,
    },
    /// The rank has loaded an MPI library that is not ours.
    OtherMpi {
        /// The library.
        path: String,
    },
}
