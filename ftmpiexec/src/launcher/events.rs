//! What the launcher waits for.

use super::discovered::{DiscoveryError, Found};
use super::joins::Lines;
use crate::agent_protocol::FromAgent;
use crate::output::Delivery;
use ftmpi_protocols::scheduler::scheduler_process::{Order, Word};
use ftmpi_servers::dashboard::Question;
use ftmpi_servers::metrics::StateRequest;
use ftmpi_wire::Rank;
use ftmpi_wire::job_control::{JoinRequest, Verb};
use std::net::SocketAddr;
use tokio::sync::mpsc;

/// What the launcher's tasks report to its one thread. `launch` counts the starts of an agent or
/// server, so that a late event of an earlier start is ignored.
#[derive(Debug)]
pub enum LauncherEvent {
    /// An agent sent a message.
    Agent { host: u32, launch: u64, message: Box<FromAgent> },
    /// The connection of an agent ended.
    AgentGone { host: u32, launch: u64, why: String },
    /// The process of an agent (or the ssh that started it) ended, or could not be started.
    AgentEnded { host: u32, launch: u64, why: String },
    /// The time for the first message of an agent is over.
    AgentLate { host: u32, launch: u64 },
    /// A message cannot be sent to an agent, now or ever.
    AgentUnsendable { host: u32, launch: u64, why: String },
    /// A server listens.
    ServerUp { index: usize, launch: u64, address: SocketAddr },
    /// A server wrote a line to its standard error.
    ServerLine { index: usize, launch: u64, text: String },
    /// A server cannot store, and why; or (`None`) it can again.
    ServerStorage { index: usize, launch: u64, trouble: Option<String> },
    /// The logs of a server take more of the disk than they leave.
    LogsNeedRoom { index: usize, launch: u64, why: String },
    /// A server was asked whether it is there. `trouble`: no answer came, and why.
    ServerPinged { index: usize, launch: u64, trouble: Option<PingTrouble> },
    /// A server has ended or could not be started.
    ServerEnded { index: usize, launch: u64, why: String },
    /// Time to start a server again.
    RestartServer { index: usize },
    /// Text was printed, or could not be.
    Printed { host: u32, launch: u64, bytes: u32, delivery: Delivery, upto: Printed },
    /// The servers told what an earlier run had stored.
    Discovered(Result<Vec<Found>, DiscoveryError>),
    /// Something came from the connection with this number to the checkpoint scheduler.
    Scheduler { number: u64, event: SchedulerEvent },
    /// Bytes of standard input; no bytes at its end.
    Input(Vec<u8>),
    /// A user asks for images now.
    ImagesWanted(ImageAnswers),
    /// A user asks for something (`ftmpi-ctl`).
    Asked { verb: Verb, answers: ImageAnswers },
    /// A command brings processes.
    JoinAsked { request: Box<JoinRequest>, lines: Lines },
    /// A user asks for the state of the job.
    StateWanted(Question, StateRequest),
    /// The batch system gave more nodes to the job.
    NodesJoined(Vec<String>),
    /// A line for the user.
    Notice(String),
}

/// Why a server did not answer.
#[derive(Debug)]
pub struct PingTrouble {
    /// One line.
    pub why: String,
    /// Its host answers, and nobody listens at the server's address.
    pub refused: bool,
}

/// A stream of a rank has been printed up to this position.
#[derive(Debug, Clone, Copy)]
pub struct Printed {
    pub rank: Rank,
    pub stream: u8,
    pub bytes: u64,
}

/// What happens on the connection to the checkpoint scheduler.
#[derive(Debug)]
pub enum SchedulerEvent {
    /// The connection is there; messages for the scheduler go into this queue.
    Up(mpsc::UnboundedSender<Word>),
    /// The scheduler decided.
    Ordered(Order),
    /// The connection broke.
    Gone,
}

/// Takes the lines of an answer to a user.
pub type ImageAnswers = mpsc::UnboundedSender<String>;
