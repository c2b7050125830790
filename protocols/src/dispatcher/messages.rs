//! Inputs and commands of the dispatcher.

pub use super::failure::Failure;
use super::hosts::Place;
use super::notice::{EndReason, Notice};
use super::standbys::{StandbyNews, StandbyOrder};
use super::worlds::{Asker, Origin, Wanted};
pub use crate::ending::{Ending, MemoryLimit, signal_name};
use crate::judge::Fact;
use crate::scheduler::scheduler_process::{Order, Word};
pub use crate::waves::ImageFacts;
use ftmpi_wire::group_news::{GroupNews, GroupRequest};
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// What happened. An input about a rank names the incarnation that it is about. Inputs about an
/// earlier incarnation are ignored.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent of this host is connected and ready.
    AgentUp {
        /// Index of the host.
        host: u32,
    },
    /// The connection to a ready agent broke, or its heartbeat stopped.
    AgentLost {
        /// Index of the host.
        host: u32,
        /// One line.
        why: String,
        /// It fell silent. Otherwise its connection ended, so the system of its host may be well.
        silent: bool,
    },
    /// An agent could not be started.
    AgentFailed {
        /// Index of the host.
        host: u32,
        /// One line.
        why: String,
    },
    /// The rank's process runs.
    Spawned {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// The rank's process could not be started at all (missing program…); ends the job.
    CannotStart {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// Exit code for the job (126, 127).
        code: i32,
        /// One line.
        why: String,
    },
    /// An image proved unusable at a restart.
    ImageUnusable {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The image.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// Somebody noticed what no process and no connection tells: a rank that stands still, a host
    /// that is about to fail or sound again.
    Noticed(Fact),
    /// The rank has entered `MPI_Init`, or came back.
    Hello {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The image that this incarnation continues.
        resumed: Option<ImageNo>,
        /// Whether its images can be taken.
        can_image: bool,
    },
    /// The sender log of a rank is full: only images of its receivers let it be cut.
    LogFull,
    /// What became of a standby that was ordered for this rank and incarnation.
    Standby(Rank, Incarnation, StandbyNews),
    /// Ranks share memory: those of a host stay together when they move.
    SharesMemory,
    /// Somebody asks for an image of every rank now.
    ImagesWanted,
    /// Replay is over.
    CaughtUp {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// Determinants and messages replayed.
        replayed: u64,
    },
    /// A rank asks for new processes, which are one world.
    Spawn {
        /// Who asks.
        asker: Asker,
        /// What it asks for, in the order of the new ranks.
        wanted: Vec<Wanted>,
    },
    /// A command of the user brings processes, which are one world without a parent.
    Join {
        /// The number of the command.
        number: u64,
        /// What it brings, in the order of the new ranks.
        wanted: Vec<Wanted>,
    },
    /// The user wants the end of the world that this command has brought.
    EndJoined {
        /// The number of the command.
        number: u64,
        /// The exit code that the command is to have.
        code: i32,
    },
    /// These ranks may send to each other from now on.
    Meet {
        /// Both.
        ranks: [Rank; 2],
    },
    /// A rank is about to call `MPI_Finalize`, and still has communicators with these processes of
    /// other worlds.
    Connected {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// One process of each such world at least.
        with: Vec<Rank>,
    },
    /// `MPI_Finalize` was called.
    Finalizing {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// The program ends.
    Exiting {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// With this code.
        code: i32,
    },
    /// `MPI_Abort`.
    Abort {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// Exit code for the job.
        code: i32,
        /// One line, or empty.
        text: String,
    },
    /// The process is gone.
    Ended {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// How the process ended.
        ending: Ending,
        /// A number that grows while the program makes progress (messages sent and received). It
        /// distinguishes a crash that comes back at the same place from one that comes at random.
        progress: u64,
    },
    /// An image is durable.
    ImageCommitted {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// What and how big.
        image: ImageFacts,
        /// The oldest image that the store still offers.
        oldest: ImageNo,
    },
    /// An image was refused by the rank or lost on its way.
    ImageFailed {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The image.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// A rank asks, in its incarnation, for something about a communicator.
    Group(Rank, Incarnation, GroupRequest),
    /// A channel between two living ranks broke, and the protocol cannot repair it.
    ChannelLost {
        /// The rank that reports it.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The other end.
        peer: Rank,
        /// Its incarnation.
        peer_incarnation: Incarnation,
    },
    /// The rank depends on what another one lost, or has lost what another one needs: this
    /// incarnation of it is to be given up.
    Orphan {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// One line.
        why: String,
        /// This image and later ones do not have what is needed.
        before: Option<ImageNo>,
    },
    /// What an image cost its rank.
    ImageCost {
        /// By how much it held the rank up.
        cost: Duration,
    },
    /// What a rank has received in all, for the choice of the next image.
    Received {
        /// The rank.
        rank: Rank,
        /// Bytes of payload.
        bytes: u64,
    },
    /// The rank's event logger does not serve it.
    LoggerTrouble {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// One line.
        why: String,
        /// The logger will never serve this incarnation: waiting is in vain.
        for_good: bool,
    },
    /// It serves it again.
    LoggerBack {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// A server cannot store what ranks send. The ranks wait.
    StorageTrouble {
        /// Number of the server.
        server: u32,
        /// Its name for the user.
        name: String,
        /// One line.
        why: String,
    },
    /// It can store again, or was started anew.
    StorageBack {
        /// Number of the server.
        server: u32,
    },
    /// A server does not answer: its host is gone, or it cannot be started again.
    ServerAway {
        /// Number of the server.
        server: u32,
        /// Its name for the user.
        name: String,
        /// One line.
        why: String,
    },
    /// It answers again.
    ServerBack {
        /// Number of the server.
        server: u32,
    },
    /// Two hosts that are up do not reach each other.
    Cut {
        /// Their indices.
        hosts: [u32; 2],
        /// One line.
        why: String,
    },
    /// They reach each other again.
    CutMended {
        /// Their indices.
        hosts: [u32; 2],
    },
    /// A scheduler process is there; what an earlier one ordered is void.
    SchedulerUp,
    /// It is gone.
    SchedulerLost,
    /// It decided.
    Ordered(Order),
    /// Time has passed: see whether an image or a deadline is due.
    Tick,
    /// The user wants the job to stop so that it can be continued, with a last image of every rank
    /// if that takes no longer than this.
    Suspend {
        /// The time.
        grace: Duration,
    },
    /// A rank is to move, to this host or to any other one.
    Migrate {
        /// The rank.
        rank: Rank,
        /// Index of the host.
        to: Option<u32>,
    },
    /// All ranks are to leave a host, and no rank is to begin there.
    Drain {
        /// Index of the host.
        host: u32,
    },
    /// A host takes ranks again.
    Undrain {
        /// Index of the host.
        host: u32,
    },
    /// What monitoring says about a host.
    Health {
        /// Index of the host.
        host: u32,
        /// Why it may fail soon; none: nothing is wrong.
        bad: Option<String>,
    },
    /// A host joins the job. It gets the next index.
    HostAdded {
        /// Its name.
        name: String,
        /// What it can take.
        place: Place,
    },
    /// The job cannot go on for now, though what it has stored may be sound: it is kept.
    GiveUp {
        /// For the launcher.
        code: i32,
        /// Why.
        text: String,
    },
    /// The user wants the job to end.
    Stop {
        /// Exit code.
        code: i32,
        /// One line, or empty.
        text: String,
    },
}

/// Why a rank moves without a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveCause {
    /// A user asked for this very rank.
    Asked,
    /// A user drains its host.
    Drained,
    /// Its host may fail soon.
    Unhealthy {
        /// One line, from monitoring.
        why: String,
    },
}

/// What an earlier run of the job left of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// Its last incarnation, as far as anybody knows.
    pub incarnation: Incarnation,
    /// Images that are offered, oldest first.
    pub images: Vec<ImageFacts>,
    /// Logs reach back to the start of the program.
    pub start_offered: bool,
    /// The highest number that an image ever had.
    pub highest: ImageNo,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Tell the scheduler process.
    Schedule(Word),
    /// Start the agent of this host.
    StartAgent {
        /// Index of the host.
        host: u32,
    },
    /// Tell every agent: the rank has this new incarnation, there.
    Announce {
        /// The rank.
        rank: Rank,
        /// The new incarnation.
        incarnation: Incarnation,
        /// Index of the host.
        host: u32,
    },
    /// Start the rank's process.
    Start {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// Index of the host.
        host: u32,
        /// The images that it may continue, newest first; empty: from the beginning.
        images: Vec<ImageFacts>,
        /// Whether it may also begin at the start of the program if none of them can be read (logs
        /// reach back to the start).
        or_beginning: bool,
        /// The store must first give up what it has behind these images: it has less of the rank's
        /// log than others need.
        no_newer: bool,
        /// The last wave that is behind all ranks: behind this one as well, if it begins.
        past: ImageNo,
    },
    /// Tell every agent: these processes have joined the job. They are started next.
    Grow {
        /// Who asked for them.
        origin: Origin,
        /// Their world.
        world: World,
        /// The host of each.
        hosts: Vec<u32>,
    },
    /// Answer the rank that asked for new processes: the first of them, or why there are none.
    SpawnOver {
        /// Who asked.
        asker: Asker,
        /// The answer.
        outcome: Result<Rank, String>,
    },
    /// The processes of a command of the user have all called `MPI_Init`.
    Joined {
        /// The number of the command.
        number: u64,
        /// The first of them.
        first: Rank,
    },
    /// Tell a command of the user how its world has ended.
    JoinOver {
        /// The number of the command.
        number: u64,
        /// Its exit code.
        code: i32,
        /// Why, if its programs have not all ended in order.
        reason: Option<EndReason>,
    },
    /// Tell every agent: all processes of this world have ended, and the job goes on.
    WorldOver(World),
    /// Have the store give up the images of all processes of this world: nobody returns to them.
    ForgetImages(World),
    /// Ask the rank for an image.
    TakeImage {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The number that it gets.
        image: ImageNo,
        /// The other images that the store is to keep (0: none), if the store does not decide that
        /// itself.
        keep: Option<[ImageNo; crate::waves::KEPT]>,
    },
    /// End the process of the rank at once, or make sure that it does not begin: all ranks of its
    /// cluster return to an earlier wave, or the rank is an orphan, or it moves. The dispatcher
    /// waits for its end.
    Kill {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// Every rank was heard about a wave, for the report.
    WaveOver(crate::waves::Over),
    /// Tell the rank that its image is durable.
    ImageCommitted {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The image.
        image: ImageNo,
        /// Logs reach back to this one; 0 is the start of the program.
        oldest: ImageNo,
    },
    /// Tell the rank that its image was lost.
    ImageFailed {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// The image.
        image: ImageNo,
    },
    /// Make a standby of a rank, or drop one.
    Standby(StandbyOrder),
    /// Tell these ranks, or all.
    News {
        /// What.
        news: GroupNews,
        /// Whom; none: all.
        to: Option<Vec<Rank>>,
    },
    /// Tell the rank that all have called `MPI_Finalize`.
    AllFinalized {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// Tell the rank that all programs have ended.
    AllExiting {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// Let the rank end at once.
    Die {
        /// The rank.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// With this exit code.
        code: i32,
    },
    /// Report this to the user.
    Notify(Notice),
    /// Stop everything that still runs. The last command.
    End {
        /// Exit code.
        code: i32,
        /// Why, unless all programs have ended.
        reason: Option<EndReason>,
        /// Events and images may still be of use: the job was given up, it did not end.
        keep: bool,
    },
}
