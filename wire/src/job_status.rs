//! The state of a running job, as `ftmpi-ctl status --json` and every viewer show it.
//!
//! The launcher fills a [`JobStatus`] when somebody asks ([`crate::job_control`]). Times are
//! seconds: of an age or of a duration, unless the name says otherwise. A field may be added; a
//! change of meaning raises [`VERSION`].

use serde::{Deserialize, Serialize};

/// Version of everything in this module.
pub const VERSION: u32 = 1;

/// Everything about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// [`VERSION`] of the launcher.
    pub version: u32,
    /// The job as a whole.
    pub job: JobFacts,
    /// The hosts in their order.
    pub hosts: Vec<HostStatus>,
    /// The ranks in their order.
    pub ranks: Vec<RankStatus>,
    /// The servers.
    pub servers: Vec<ServerStatus>,
    /// The waves, where images are taken in waves.
    pub waves: Option<WavesStatus>,
    /// Failures, oldest first.
    pub faults: Vec<FaultStatus>,
    /// Ranks that moved, or are moving, without a failure; oldest first.
    pub migrations: Vec<MigrationStatus>,
}

/// The job as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    /// A name that no other job has.
    pub id: String,
    /// The process of the launcher.
    pub launcher_pid: u32,
    /// The host of the launcher.
    pub launcher_host: String,
    /// The directory of the job, if the job has one.
    pub directory: Option<String>,
    /// Program and arguments of the first part of the command line.
    pub command: String,
    /// Name of the protocol.
    pub protocol: String,
    /// How far the job is.
    pub phase: JobPhase,
    /// When the launcher began, in milliseconds since 1970.
    pub started_ms: u64,
    /// Since the launcher began.
    pub elapsed_s: f64,
    /// Time between two images of a rank; none: no images are taken.
    pub ckpt_interval_s: Option<f64>,
    /// Restarts after failures.
    pub restarts: u32,
    /// Restarts at which the job is given up.
    pub restarts_max: u32,
    /// Images that became durable.
    pub images: u64,
    /// Their bytes.
    pub image_bytes: u64,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobPhase {
    /// Not every rank has had a process.
    Starting,
    /// Ranks run.
    Running,
    /// Last images are taken; the job will be continued later.
    Suspending,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Whether ranks can run there.
    pub state: HostState,
    /// The host takes no ranks, and those that it had move.
    pub drained: bool,
    /// What monitoring says.
    pub health: Health,
    /// Why the health is not good.
    pub health_why: Option<String>,
    /// Slots of the machine file.
    pub slots: Option<u32>,
    /// Processors that ranks may use, once the agent has said so.
    pub processors: Option<u32>,
    /// The agent's process.
    pub agent_pid: Option<u32>,
    /// Ranks that are placed there.
    pub ranks: Vec<u32>,
}

/// Whether ranks can run on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// Its agent is being started.
    Starting,
    /// Its agent is there.
    Up,
    /// It is not used any more.
    Gone,
}

/// What monitoring says about a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nothing is wrong.
    #[default]
    Good,
    /// It may fail soon.
    Bad,
    /// It is to be emptied.
    Drain,
}

impl Health {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Drain => "drain",
        }
    }
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankStatus {
    /// Its number.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Its incarnation.
    pub incarnation: u32,
    /// The process that is the rank.
    pub pid: Option<u32>,
    /// What it does.
    pub state: RankState,
    /// It has done that for so long, as far as the launcher knows.
    pub state_s: f64,
    /// What it waits for inside of a call, if it does.
    pub wait: Option<Wait>,
    /// It has neither sent nor received for so long.
    pub idle_s: f64,
    /// The newest image from which it could be restarted.
    pub image: Option<ImageStatus>,
    /// How long ago the image was ordered that is being taken.
    pub taking_image_s: Option<f64>,
    /// Bytes of payload in its sender log.
    pub log_bytes: u64,
    /// The limit of that log, if the user has set one.
    pub log_limit_bytes: Option<u64>,
    /// Messages sent by the program.
    pub messages_sent: u64,
    /// Messages delivered to the program.
    pub messages_received: u64,
    /// Payload bytes sent.
    pub bytes_sent: u64,
    /// Payload bytes delivered.
    pub bytes_received: u64,
    /// How often it failed.
    pub failures: u32,
    /// The process that waits to take its place.
    #[serde(default)]
    pub standby: Option<StandbyStatus>,
}

/// A standby of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandbyStatus {
    /// Name of its host.
    pub host: String,
    /// The image that it continues.
    pub image: u64,
    /// It has read the image.
    pub ready: bool,
}

impl StandbyStatus {
    /// `standby on h2`, or `standby on h2 reads image 5`
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { host, image, ready } = self;
        let doing = if *ready { String::new() } else { format!(" reads image {image}") };
        format!("standby on {host}{doing}")
    }
}

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// Its process waits for a host.
    WaitsForHost,
    /// Its first process starts.
    Starting,
    /// A later process starts from an image, or from the start of the program.
    Restoring,
    /// It repeats what an earlier incarnation did.
    CatchingUp,
    /// It is outside of MPI, or polls.
    Computing,
    /// It sleeps inside of a call of MPI.
    Waiting,
    /// Its process was stopped (SIGSTOP, a debugger).
    Stopped,
    /// Its process sleeps in a system call outside of MPI.
    Blocked,
    /// It is in `MPI_Finalize`, or behind it.
    Finalizing,
    /// It is being ended: it moves, or ranks return to an earlier wave.
    Ending,
    /// Its program has ended.
    Done,
}

impl RankState {
    /// The words for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WaitsForHost => "waits for a host",
            Self::Starting => "starts",
            Self::Restoring => "is restored",
            Self::CatchingUp => "catches up",
            Self::Computing => "computes",
            Self::Waiting => "waits",
            Self::Stopped => "is stopped",
            Self::Blocked => "sleeps outside of MPI",
            Self::Finalizing => "finalizes",
            Self::Ending => "is being ended",
            Self::Done => "has ended",
        }
    }
}

/// What a rank waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The function that the program called: `MPI_Recv`.
    pub call: Option<String>,
    /// For what.
    pub reason: WaitReason,
    /// The ranks that it waits for, eight at the most.
    pub peers: Vec<u32>,
    /// It waits for any rank.
    pub any_source: bool,
    /// It goes on as soon as one of the peers does its part; otherwise it needs all of them.
    pub one_is_enough: bool,
    /// The tag of the message, if one is named.
    pub tag: Option<i32>,
    /// Since when.
    pub since_s: f64,
}

impl Wait {
    /// `waits for rank 1 in MPI_Recv (tag 7) since 61 s`
    #[must_use]
    pub fn in_words(&self) -> String {
        let peers: Vec<String> = self.peers.iter().map(ToString::to_string).collect();
        let or = if self.one_is_enough { "one of ranks" } else { "ranks" };
        let whom = match (&peers[..], self.any_source) {
            (_, true) => Some("any rank".to_owned()),
            ([], false) => None,
            ([one], false) => Some(format!("rank {one}")),
            (_, false) => Some(format!("{or} {}", peers.join(", "))),
        };
        let what = match (self.reason, whom) {
            (WaitReason::EventLogger, _) => "the event logger".to_owned(),
            (WaitReason::Recovery, _) => "what it has to repeat".to_owned(),
            (WaitReason::Send | WaitReason::Channel, Some(whom)) => {
                format!("{whom} to take a message")
            }
            (_, Some(whom)) => whom,
            (WaitReason::Send | WaitReason::Channel, None) => "a message to leave".to_owned(),
            (WaitReason::OneSided, None) => "one-sided operations".to_owned(),
            (_, None) => "other ranks".to_owned(),
        };
        let call = self.call.as_deref().map_or_else(String::new, |call| format!(" in {call}"));
        let tag = self.tag.map_or_else(String::new, |tag| format!(" (tag {tag})"));
        format!("waits for {what}{call}{tag} for {:.0} s", self.since_s)
    }
}

/// Why a rank sleeps inside of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A message of the peers.
    Message,
    /// The peers take a message: they must receive it.
    Send,
    /// A message leaves: the peers take it from its channel as soon as they are inside of MPI.
    Channel,
    /// The other ranks of a collective operation.
    Collective,
    /// Peers that serve one-sided operations, or end their epochs.
    OneSided,
    /// The event logger.
    EventLogger,
    /// What an earlier incarnation has recorded.
    Recovery,
    /// Something else.
    Other,
}

impl WaitReason {
    /// All reasons, in the order of their numbers on the status page.
    pub const ALL: [Self; 8] = [
        Self::Message,
        Self::Send,
        Self::Channel,
        Self::Collective,
        Self::OneSided,
        Self::EventLogger,
        Self::Recovery,
        Self::Other,
    ];
}

/// An image of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ImageStatus {
    /// Its number.
    pub image: u64,
    /// Bytes stored.
    pub bytes: u64,
    /// Since it became durable; none: an earlier launcher stored it.
    pub age_s: Option<f64>,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// What it is: `event logger 0`.
    pub name: String,
    /// Its host; none: the launcher's.
    pub host: Option<String>,
    /// It serves.
    pub up: bool,
    /// Where it listens, once that is known.
    pub address: Option<String>,
    /// How often it was started again.
    pub restarts: u64,
    /// The ranks that it serves; empty: all.
    pub ranks: Vec<u32>,
}

/// Waves of images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WavesStatus {
    /// Waves that counted.
    pub complete: u64,
    /// Waves that did not.
    pub void: u64,
    /// The newest wave that counted, by cluster.
    pub newest: Vec<Option<u64>>,
    /// Since a wave was complete.
    pub age_s: Option<f64>,
    /// Clusters in which a wave is under way.
    pub under_way: u32,
}

/// One failure of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultStatus {
    /// The rank.
    pub rank: u32,
    /// When, since the launcher began.
    pub at_s: f64,
    /// Why, in words.
    pub cause: String,
    /// The image from which it came back.
    pub image: Option<u64>,
    /// From the failure until the rank had caught up; none: it has not.
    pub back_s: Option<f64>,
}

/// A rank that moves without a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MigrationStatus {
    /// The rank.
    pub rank: u32,
    /// Name of the host that it leaves.
    pub from: String,
    /// Name of the host that it goes to, once that is known.
    pub to: Option<String>,
    /// When it was asked for, since the launcher began.
    pub at_s: f64,
    /// How far it is.
    pub state: MigrationState,
    /// The image that it took along.
    pub image: Option<u64>,
    /// From the request until the image was durable.
    pub image_s: Option<f64>,
    /// From the request until the rank was at full speed.
    pub total_s: Option<f64>,
    /// Why it did not move.
    pub why: Option<String>,
}

/// How far a migration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationState {
    /// Its image is being taken.
    AwaitsImage,
    /// The old incarnation ends.
    Ends,
    /// The new incarnation begins and catches up.
    Begins,
    /// It is at full speed.
    Done,
    /// It stays where it was.
    Failed,
}

impl JobStatus {
    /// How many ranks are in a state.
    #[must_use]
    pub fn count(&self, state: RankState) -> usize {
        self.ranks.iter().filter(|rank| rank.state == state).count()
    }

    /// The host of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&HostStatus> {
        self.hosts.iter().find(|host| host.name == name)
    }
}
