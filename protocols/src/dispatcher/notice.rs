//! What the dispatcher reports to the user: facts, no sentences.
//!
//! The launcher has one sentence for each of these values (`ftmpiexec/src/notices.rs`).

use super::messages::{Ending, MoveCause};
use super::migration::{MoveFailure, Refusal};
use super::network::{NetworkEnd, NetworkNotice};
use crate::judge::{Ground, Named};
use ftmpi_wire::{ImageNo, Rank};
use std::time::Duration;

/// Why a rank, or all ranks of a cluster, begin a new incarnation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The process of the rank ended.
    Ended(Ending),
    /// The agent of the rank's host was lost.
    AgentLost {
        /// One line.
        why: String,
    },
    /// A host was lost with its ranks.
    HostLost {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// The rank had left without `exit`, and a peer needs again what it sent.
    LeftWithoutExit,
    /// A rank of the cluster had left without `exit`, and another cluster needs its log.
    LogNeeded {
        /// The rank that left.
        rank: Rank,
    },
    /// An image of the wave cannot be restored.
    ImageUnusable {
        /// The rank that the image is of.
        rank: Rank,
        /// Its number.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// A channel between two living ranks broke.
    ChannelBroke {
        /// Its ends.
        ends: [Rank; 2],
    },
    /// The rank depends on what was lost, or lacks what a peer needs.
    Orphan {
        /// One line, from the rank.
        why: String,
    },
    /// The hosts of two ranks do not reach each other.
    Cut {
        /// Names of the hosts.
        hosts: [String; 2],
    },
    /// A detector has the rank, or its host, given up.
    Judged(Ground),
    /// Ranks of the cluster move to other hosts.
    Moves {
        /// The ranks.
        ranks: Vec<Rank>,
    },
    /// A cause of one rank, where several ranks are concerned.
    OfRank {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// What happened to it.
        cause: Box<Self>,
    },
}

/// Whether a rank begins in its standby.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InStandby {
    /// It begins from its image.
    No,
    /// The standby on this host takes its place.
    At(String),
    /// Its host is tried first, and then the standby on this host.
    Second(String),
}

/// Something that the user should know. The job goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A rank has failed, and the others go on without it.
    GoesOn {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// The cause.
        cause: Cause,
        /// What the judge named.
        named: Option<Named>,
    },
    /// A rank begins a new incarnation.
    Restarting {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// The cause.
        cause: Cause,
        /// The image that it begins from; none: the start of the program.
        image: Option<ImageNo>,
        /// What the judge named.
        named: Option<Named>,
        /// Whether it begins in its standby.
        standby: InStandby,
    },
    /// No standby of a rank is made any more.
    NoStandby {
        /// The rank.
        rank: Rank,
        /// Name of the host of the last one.
        host: String,
        /// One line.
        why: String,
    },
    /// An orphan begins a new incarnation.
    RollsBack {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line, from the rank.
        why: String,
        /// The image that it begins from; none: the start of the program.
        image: Option<ImageNo>,
    },
    /// The ranks of a cluster return to a wave.
    Returning {
        /// The cause.
        cause: Cause,
        /// The ranks; none: all ranks of the job.
        ranks: Option<Vec<Rank>>,
        /// The wave; none: the start of the program.
        wave: Option<ImageNo>,
        /// What the judge named.
        named: Option<Named>,
    },
    /// A new incarnation has caught up with the one before it.
    Back {
        /// The rank.
        rank: Rank,
        /// The image that it began from; none: the start of the program.
        image: Option<ImageNo>,
        /// Determinants and messages replayed.
        replayed: u64,
        /// Since the failure.
        took: Duration,
    },
    /// A rank ended without `MPI_Finalize`, and others still run.
    LeftEarly {
        /// The rank.
        rank: Rank,
        /// How long after that the job is ended.
        grace: Duration,
    },
    /// A rank ended well without `MPI_Init`, and others are in MPI.
    WithoutMpi {
        /// The rank.
        rank: Rank,
    },
    /// No wave begins, because this rank has not called `MPI_Init`.
    WithoutWaves {
        /// The rank.
        rank: Rank,
    },
    /// An agent was lost and is started again.
    AgentRestarts {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
        /// What the judge named; none where the host had no ranks.
        named: Option<Named>,
    },
    /// A host has no agent any more, and ranks of it move.
    RanksMove {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
        /// The ranks.
        ranks: Vec<Rank>,
        /// Name of their new host.
        to: String,
        /// What is named where their standbys are on that host, and take their places.
        promoted: Option<Named>,
    },
    /// A rank begins its next incarnation on another host, because a detector has it so.
    Migrates {
        /// The rank.
        rank: Rank,
        /// How its process died; none: it lives, and is ended for this.
        ending: Option<Ending>,
        /// Name of the host that it leaves.
        host: String,
        /// Name of its new host.
        to: String,
        /// Why.
        ground: Ground,
        /// What the judge named.
        named: Named,
    },
    /// Hosts take no rank from now on.
    Shunned {
        /// Their names.
        hosts: Vec<String>,
        /// Why.
        ground: Ground,
        /// What the judge named.
        named: Named,
    },
    /// Hosts that were shunned may have ranks again.
    UsedAgain {
        /// Their names.
        hosts: Vec<String>,
    },
    /// A spare host cannot be reached at the start.
    SpareDown {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
        /// When it is tried again; none: never.
        again: Option<Duration>,
    },
    /// A host that had been given up has an agent again.
    HostBack {
        /// Name of the host.
        host: String,
    },
    /// A library with detectors does not answer as it should; the next detector looks.
    Library {
        /// One line.
        what: String,
    },
    /// A host is said to be about to fail, and no other host takes its ranks.
    NoRemedy {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// A rank has moved without a failure, and is at full speed.
    Moved {
        /// The rank.
        rank: Rank,
        /// Name of the host that it left.
        from: String,
        /// Name of its new host.
        to: String,
        /// The image that it took along, and the time until the image was durable.
        image: Option<(ImageNo, Duration)>,
        /// From the request.
        took: Duration,
    },
    /// A rank that was to move stays.
    Stays {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// The reason.
        why: MoveFailure,
    },
    /// All ranks leave a host.
    Draining {
        /// Name of the host.
        host: String,
        /// The cause.
        cause: MoveCause,
        /// How many ranks have to move.
        ranks: usize,
    },
    /// No rank is left on a host that was to be emptied.
    Drained {
        /// Name of the host.
        host: String,
    },
    /// A host takes ranks again.
    Undrained {
        /// Name of the host.
        host: String,
    },
    /// Monitoring says that a host may fail soon, and its ranks cannot leave it.
    CannotDrain {
        /// Name of the host.
        host: String,
        /// What monitoring says.
        cause: MoveCause,
        /// Why they cannot.
        refusal: Refusal,
    },
    /// A host has joined the running job.
    HostJoined {
        /// Name of the host.
        host: String,
    },
    /// A host was to join the running job, and its agent cannot be started.
    HostCannotJoin {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// An image cannot be restored; an older one serves.
    ImageUnusable {
        /// The rank.
        rank: Rank,
        /// Number of the image.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// An image was not kept. Reported once for all ranks.
    ImageLost {
        /// The rank.
        rank: Rank,
        /// Number of the image.
        image: ImageNo,
        /// One line.
        why: String,
    },
    /// A rank waits for its event logger. Reported once for all ranks.
    LoggerAway {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line.
        why: String,
        /// How long the job waits.
        patience: Duration,
    },
    /// The event logger serves all ranks again.
    LoggerBack,
    /// A server cannot store what ranks send.
    StorageAway {
        /// The name of the server.
        server: String,
        /// One line.
        why: String,
        /// How long the job waits.
        patience: Duration,
    },
    /// All servers can store again.
    StorageBack,
    /// The network, or a server that does not answer.
    Network(NetworkNotice),
    /// Last images are taken, because the job is to be continued later.
    LastImages {
        /// How long the job waits for them.
        grace: Duration,
    },
}

/// Why the job ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The launcher ordered it, with this text.
    Ordered(String),
    /// The process of a rank could not be started.
    CannotStart {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line.
        why: String,
    },
    /// A rank ended without `MPI_Finalize`, and others still ran after the grace.
    LeftEarly {
        /// The rank.
        rank: Rank,
        /// The grace.
        grace: Duration,
    },
    /// A rank ended with an exit code before it had finalized MPI.
    ExitedEarly {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// The exit code.
        code: i32,
        /// Whether it had called `MPI_Init`.
        initialized: bool,
    },
    /// `MPI_Abort`.
    Aborted {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// The exit code.
        code: i32,
    },
    /// The library of a rank found an error.
    LibraryError {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line, from the library.
        text: String,
    },
    /// All ranks have failed, and none is brought back.
    NoRankLeft,
    /// Two ranks that live have lost their connection, and nothing can repair it.
    ConnectionLost {
        /// Between whom.
        cause: Cause,
    },
    /// A rank failed, and the protocol restarts nothing.
    RankLost {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// How the process ended.
        ending: Ending,
        /// Name of the protocol.
        protocol: String,
    },
    /// A host failed, and the protocol restarts nothing.
    HostLost {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
        /// Name of the protocol.
        protocol: String,
    },
    /// A rank died by the same fault again and again.
    SameDeath {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// How the process ended.
        ending: Ending,
        /// How often.
        times: u32,
        /// The host that it had left for that reason.
        before: Option<String>,
    },
    /// A detector has the job given up.
    Judged {
        /// What happened.
        cause: Cause,
        /// Why that is the end.
        ground: Ground,
        /// What the judge named.
        named: Named,
    },
    /// More restarts than the user allows.
    TooManyRestarts {
        /// What would be the next one.
        cause: Cause,
        /// The limit.
        limit: u32,
    },
    /// The agent of a host could not be started at the begin of the job.
    HostUnreachable {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// A host is gone, and no other host is left for its ranks.
    NoHostLeft {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// A rank lacks what a peer needs, and has no older image to return to.
    NoOlderImage {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line, from the rank.
        why: String,
    },
    /// A cluster has no wave to return to, and logs do not reach back to the start.
    NoWaveLeft {
        /// Why it would return.
        cause: Cause,
    },
    /// An event logger will never serve a rank.
    LoggerRefuses {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line.
        why: String,
    },
    /// An event logger did not serve a rank for too long.
    LoggerSilent {
        /// The rank.
        rank: Rank,
        /// Name of its host.
        host: String,
        /// One line.
        why: String,
        /// How long the job waited.
        patience: Duration,
    },
    /// A server could not store for too long.
    StorageSilent {
        /// The name of the server.
        server: String,
        /// One line.
        why: String,
        /// How long the job waited.
        patience: Duration,
    },
    /// The network, or a server that does not answer.
    Network(NetworkEnd),
    /// The job was interrupted and can be continued.
    Suspended(LastImages),
}

/// What a suspended job can be continued from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastImages {
    /// The job takes no images.
    None,
    /// Every rank that can has a last image.
    All {
        /// Since the order.
        took: Duration,
    },
    /// Some ranks go on from something older.
    Some {
        /// How many ranks.
        missing: usize,
        /// Ranks of the job.
        size: usize,
        /// One of the ranks.
        rank: Rank,
        /// Why it has no last image; none: the time was too short.
        why: Option<String>,
    },
}
