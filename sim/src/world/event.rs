//! Events of the heap, news for a rank, and what channels carry.

use super::agents::Beginning;
use crate::invariants::dependencies::Truth;
use crate::loggers::ClockNews;
use ftmpi_protocols::dispatcher::{Command, Input};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_protocols::scheduler::scheduler_process::{Order, Word};
use ftmpi_wire::{EventNo, Header, ImageNo, Incarnation, Rank, event_log};
use std::rc::Rc;

/// Something that comes over a channel.
#[derive(Debug)]
pub enum Item {
    /// A frame.
    #[allow(missing_docs)]
    Frame { header: Header, payload: Vec<u8>, truth: Rc<Truth> },
    /// A frame of whose payload half is there.
    #[allow(missing_docs)]
    First { header: Header, payload: Vec<u8>, truth: Rc<Truth> },
    /// The other half.
    #[allow(missing_docs)]
    Rest { payload: Vec<u8>, truth: Rc<Truth> },
}

/// Something that a rank's next poll finds.
#[derive(Debug)]
pub enum News {
    /// A channel.
    Channel(Rank, Incarnation, u64),
    /// The channel to this incarnation of a peer broke, and both live.
    Lost(Rank, Incarnation),
    /// A peer's new incarnation.
    Restarted(Rank, Incarnation),
    /// A connection to the logger.
    LoggerUp(ConnId),
    /// It is gone.
    LoggerLost,
    /// A frame of the logger.
    Log(ConnId, event_log::Frame),
    /// What its host heard from the loggers of others.
    Clocks(Vec<(Rank, EventNo)>),
    /// An image is stable.
    Committed(ImageNo, ImageNo),
    /// An image was lost or will not be taken.
    ImageFailed(ImageNo),
    /// From a channel.
    Item(Rank, Incarnation, Item),
}

/// What is to happen at a moment of the simulation.
#[derive(Debug)]
pub(super) enum Event {
    /// For this incarnation of a rank.
    News(usize, Incarnation, News),
    /// Something on the channel between these incarnations.
    Arrive {
        from: (usize, Incarnation),
        to: (usize, Incarnation),
        way: u64,
        item: Item,
    },
    Open {
        a: (usize, Incarnation),
        b: (usize, Incarnation),
    },
    Wake(usize, Incarnation),
    Crash,
    Commit(usize, Incarnation, ImageNo),
    /// The logger looks into the ring of this rank.
    LooksIntoRing(usize),
    /// A frame reaches the logger.
    AtLogger(usize, ConnId, event_log::Frame),
    LoggerOpens(usize, Incarnation),
    LoggerWrites,
    LoggerSyncs(usize),
    /// Clocks reach other loggers, or the hosts.
    ClocksArrive(ClockNews),
    LoggerDies,
    LogDamaged,
    /// A frame reaches a channel memory, or a rank from it.
    AtMemory(ConnId, Header, Vec<u8>),
    FromMemory(ConnId, Item),
    MemoriesWrite,
    MemoryDies,
    MemoryHearsEnd(ConnId),
    PowerLoss,
    /// Everything loses power.
    Outage,
    ChannelBreaks,
    /// Two hosts do not reach each other.
    NetworkSplits,
    /// Faults of the model.
    ModelDue,
    CutLooks,
    CutMended,
    /// The launcher hears something.
    ToLauncher(u64, Box<Input>),
    /// A command reaches an agent.
    AtHost {
        host: usize,
        agent: u64,
        command: Box<Command>,
        round: u64,
    },
    AgentUp(u64, usize),
    Relaunch(u64),
    /// The user wants to go on later.
    Suspend,
    /// Somebody wants ranks elsewhere.
    Move,
    AgentDies,
    HostBreaks,
    HostSuspected,
    /// Somebody has stopped the process of a rank, and the launcher notices.
    RankStopped,
    HostMended(u64, usize),
    /// An incarnation begins, or has found that its image is damaged.
    Begin(Beginning),
    Tried(ImageNo, Beginning),
    /// The scheduler, what it sends and what it receives: by the number of its process.
    SchedulerUp(u64),
    SchedulerLost(u64),
    SchedulerDies,
    AtScheduler(u64, Box<Word>),
    Ordered(u64, Order),
    Tick,
}
