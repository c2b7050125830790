//! Deliberate bugs that test the checker: some seed must catch each of them.
//!
//! One bug is not here: an *image* whose incarnation is not checked. The simulated world replaces
//! the image catalogue, so the catalogue's own tests catch that bug
//! (`a_late_image_of_a_dead_life_is_refused`).

mod mutated;

pub use mutated::protocol;

use crate::programs::Program;
use crate::protocol_config::Variant;
use ftmpi_core::window::request::{Action, Request};

/// For a mutant: a request for an exclusive lock becomes one for a shared lock.
pub fn share_lock(message: &mut [u8]) {
    if let Ok((Request { action: Action::Lock { exclusive: true }, .. }, _)) =
        Request::decode(message)
    {
        message[1] = 0;
    }
}

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutant {
    /// A message leaves before its sender's determinants are stable.
    SendNotGated,
    /// The acknowledgement of a synchronous send leaves before the match that it reveals is stable.
    SyncAckNotGated,
    /// Matches are not recorded.
    DeterminantNotMade,
    /// Some determinants are not sent to the logger.
    DeterminantNotSent,
    /// Negative answers are not counted.
    FailsLost,
    /// Outcomes are not recorded.
    OutcomeNotMade,
    /// A replay matches in the order of arrival.
    ReplayInArrivalOrder,
    /// Receives whose match is not recorded are not held back.
    NothingHeld,
    /// A receive that was cancelled matches in a replay.
    CancelledMatches,
    /// An image is taken in the middle of a replay.
    ImageDuringReplay,
    /// An image is taken before the events in it are stable.
    ImageBeforeStable,
    /// What a logger that died did not acknowledge is not sent again.
    LoggerLossForgotten,
    /// What a rank had stored in its ring is not in its log when its next incarnation asks.
    RingForgotten,
    /// Logs become durable without what the rings hold at that instant.
    RoundWithoutRings,
    /// A logger that begins again calls durable what it finds, before it has read the rings.
    MarkBeforeRings,
    /// The logger acknowledges before it writes.
    AcknowledgedBeforeWritten,
    /// The logger calls durable what is not even written.
    AcknowledgedBeforeDurable,
    /// An image counts before the events that it depends on are durable.
    ImageBeforeDurable,
    /// One of several loggers, of which a loss of power must take nothing, acknowledges what is
    /// written.
    PromiseNotKept,
    /// Such a logger gives a new incarnation its log before all of it is durable.
    AnsweredBeforeDurable,
    /// A rank begins on a host that is being emptied.
    DrainedHostTaken,
    /// Payloads are not logged.
    PayloadNotLogged,
    /// Peers are asked to forget one message too many.
    LogCutTooEarly,
    /// Peers are informed that the newest image has one message more than it has.
    ImageToldTooMuch,
    /// A message that came twice is taken twice.
    DuplicateAccepted,
    /// The restart handshake claims one message too many.
    WrongMessageDropped,
    /// The restart handshake leaves out the holes.
    HoleForgotten,
    /// Frames of an earlier incarnation of their sender are taken.
    IncarnationNotChecked,
    /// A blocking wave goes on sending between marker and image: its marker comes too early.
    ChannelNotClosed,
    /// What leaves between marker and image of a non-blocking wave is not kept.
    ChannelStateForgotten,
    /// A message of a later wave is delivered before the image.
    LateMessageTaken,
    /// An image does not wait for the markers.
    MarkersNotAwaited,
    /// A wave counts when one image of it is durable.
    IncompleteWave,
    /// Payloads between clusters are not logged.
    BetweenNotLogged,
    /// Determinants are made only of what comes from other clusters. That is right only for
    /// programs whose sends do not depend on the order of receptions.
    DeterminantInsideNotMade,
    /// What only older images needed is forgotten when an image is durable, though its wave is not
    /// complete.
    LogCutAtIncompleteWave,
    /// Clusters in which nothing failed are rolled back with the one that failed.
    OthersRolledBack,
    /// The answer to an announcement of a cluster peer leaves before the match that it reveals is
    /// stable.
    ClearToSendNotGated,
    /// A marker leaves only with the next step of the program, for which a rank that stands still
    /// waits in vain.
    MarkerWaitsForProgram,
    /// The images of the last complete wave are removed for those of an incomplete one.
    OldWaveRemoved,
    /// A rank leaves when its program is over, though peers may need its log.
    LeavesEarly,
    /// Some piggybacks are not sent.
    PiggybackForgotten,
    /// Where a piggyback names the creator of several events once, one of them is lost.
    FactoringLosesEvent,
    /// What a peer was known to have is believed of its next incarnation as well.
    KnowledgeNotReset,
    /// A new incarnation does not ask its peers for its events.
    PeersNotAsked,
    /// With a logger, a new incarnation asks all its peers for its events but one.
    OnePeerNotAsked,
    /// Events of a rank are believed to be needed no more, or stable, one too early.
    SettledTooFar,
    /// Events of others are not put into the log before those that depend on them.
    WitnessForgotten,
    /// A channel memory acknowledges and gives what it has not written.
    MemoryTellsUnwritten,
    /// A channel memory throws one message too many away.
    MemoryCutsTooFar,
    /// A channel memory that starts again gives messages in another order.
    MemoryForgetsOrder,
    /// A channel memory loses acknowledgements of matches.
    MatchAckNotKept,
    /// The stable clocks of the logger are taken for one higher.
    StableTooFar,
    /// One of several loggers reports to the others, or to the hosts, one event more than it has
    /// written.
    PeerLoggerToldTooFar,
    /// A rank that depends on what was lost does not roll back.
    OrphanNotDetected,
    /// What a state sent that is to be rolled back is taken by those who know it.
    OrphanMessageTaken,
    /// A new incarnation repeats the first event of its log that depends on what was lost.
    RolledBackTooShort,
    /// A new incarnation does not repeat the last event of its log that it could.
    RolledBackTooFar,
    /// Losses are not sent to peers with whom a channel begins.
    LossNotSent,
    /// An orphan goes back to a wave, and its cluster peers do not.
    OrphanReturnsAlone,
    /// An incarnation that was given up before its process began begins all the same.
    GivenUpIncarnationBegins,
    /// Something that must not be done twice is done without an intent.
    IntentNotMade,
    /// It is done before its intent, and what led to it, is stable.
    EffectNotGated,
    /// It is done when the rank's own events are stable, although events of others that it depends
    /// on may not be.
    OthersNotCommitted,
    /// A logger that begins again does not see that a log is damaged.
    DamageNotSeen,
    /// A rank that will never be served waits as for a logger that is away.
    RefusalTakenForTrouble,
    /// A host counts as dead, and its ranks live on.
    RanksOutliveTheirHost,
    /// That two hosts do not reach each other is not reported.
    CutNotReported,
    /// The slots of the hosts are not known when ranks move.
    SlotsForgotten,
    /// A host that no rank may begin on any more takes ranks all the same.
    ShunnedHostUsed,
    /// A standby of an old image, or of an old incarnation, takes the place of its rank.
    OldStandbyUsed,
    /// A suspended job waits for its last images however long they take.
    GraceNotKept,
    /// A suspended job does not wait for its last images.
    LastImagesNotAwaited,
    /// A continued job does not find the last image of each rank.
    LastImagesNotFound,
    /// A rank that shares memory takes its image when it stands still itself.
    SharersNotAwaited,
    /// It goes on as soon as its own image is taken.
    SharersGoOnAlone,
    /// In a new incarnation it goes on as soon as its own part of the memory is filled.
    SharersComeBackAlone,
    /// One that shares its first memory does not ask whether others take an image already.
    JoinsBetween,
    /// Which one-sided request was served, and in which call of the program, is not recorded.
    ServiceNotMade,
    /// That no other was served until something left is not recorded.
    QuietNotMade,
    /// A replay serves one-sided requests a call too late.
    ServedTooLate,
    /// The reply to a one-sided request leaves before its service is stable.
    ReplyNotGated,
    /// The restart handshake claims a reply that has not come.
    ReplyClaimed,
    /// A rank that asks for an exclusive lock of a window gets it while another rank holds one.
    ExclusiveLockShared,
    /// That another thread of a rank goes on is not recorded.
    TurnNotMade,
    /// That no other thread went on until something left is not recorded.
    StayNotMade,
    /// The threads of a rank are not told apart.
    ThreadsNotToldApart,
    /// Messages do not name the generation of their communicator or window.
    GenerationNotNamed,
    /// A program gets the buffer of a send back while the receiver may be reading it.
    SingleCopyNotWithdrawn,
}

impl Mutant {
    /// A bug of waves of images.
    fn of_waves(self) -> bool {
        matches!(
            self,
            Self::ChannelNotClosed
                | Self::ChannelStateForgotten
                | Self::LateMessageTaken
                | Self::MarkersNotAwaited
                | Self::IncompleteWave
                | Self::OldWaveRemoved
                | Self::GivenUpIncarnationBegins
        ) || self.of_sharers()
    }

    /// A bug of images of ranks that share memory.
    fn of_sharers(self) -> bool {
        matches!(
            self,
            Self::SharersNotAwaited
                | Self::SharersGoOnAlone
                | Self::SharersComeBackAlone
                | Self::JoinsBetween
        )
    }

    /// A bug of one-sided communication: the program that shows it.
    fn of_windows(self) -> Option<Program> {
        match self {
            Self::ServiceNotMade | Self::ReplyNotGated | Self::ReplyClaimed => {
                Some(Program::Tickets)
            }
            Self::QuietNotMade | Self::ServedTooLate => Some(Program::Mailboxes),
            Self::ExclusiveLockShared => Some(Program::Locks),
            Self::GenerationNotNamed => Some(Program::Objects),
            _ => None,
        }
    }

    /// A bug of clusters.
    fn of_clusters(self) -> bool {
        matches!(
            self,
            Self::BetweenNotLogged
                | Self::DeterminantInsideNotMade
                | Self::LogCutAtIncompleteWave
                | Self::OthersRolledBack
                | Self::ClearToSendNotGated
                | Self::MarkerWaitsForProgram
        )
    }

    /// A bug of jobs that are suspended and continued.
    #[must_use]
    pub fn of_suspensions(self) -> bool {
        matches!(self, Self::GraceNotKept | Self::LastImagesNotAwaited | Self::LastImagesNotFound)
    }

    /// The only program in which it is a bug, if there is one.
    #[must_use]
    pub fn program(self) -> Option<Program> {
        let outside = [Self::IntentNotMade, Self::EffectNotGated, Self::OthersNotCommitted];
        match self {
            _ if outside.contains(&self) => Some(Program::Outside),
            _ if self.of_sharers() => Some(Program::SharedMemory),
            Self::SingleCopyNotWithdrawn => Some(Program::Gossip),
            Self::TurnNotMade | Self::StayNotMade | Self::ThreadsNotToldApart => {
                Some(Program::Threads)
            }
            _ => self.of_windows(),
        }
    }

    /// All of them.
    #[must_use]
    pub fn all() -> &'static [Self] {
        <Self as clap::ValueEnum>::value_variants()
    }

    /// The protocols in which it is a bug.
    #[must_use]
    pub fn variants(self) -> Vec<Variant> {
        match self {
            Self::PiggybackForgotten
            | Self::KnowledgeNotReset
            | Self::PeersNotAsked
            | Self::SettledTooFar => {
                Variant::ALL.into_iter().filter(|c| c.causal(true).is_some()).collect()
            }
            Self::FactoringLosesEvent => {
                vec![
                    Variant::Vcausal,
                    Variant::VcausalAlone,
                    Variant::Manetho,
                    Variant::ManethoAlone,
                ]
            }
            Self::WitnessForgotten | Self::OthersNotCommitted | Self::OnePeerNotAsked => {
                vec![Variant::Vcausal, Variant::Manetho, Variant::Logon]
            }
            Self::StableTooFar => {
                vec![Variant::Vcausal, Variant::Manetho, Variant::Logon, Variant::Optimistic]
            }
            Self::PeerLoggerToldTooFar => vec![
                Variant::LogonShared,
                Variant::VcausalBroadcast,
                Variant::OptimisticShared,
                Variant::OptimisticBroadcast,
            ],
            Self::PromiseNotKept | Self::AnsweredBeforeDurable => vec![
                Variant::PessimisticApart,
                Variant::LogonShared,
                Variant::LogonCarried,
                Variant::VcausalBroadcast,
            ],
            Self::MemoryTellsUnwritten
            | Self::MemoryCutsTooFar
            | Self::MemoryForgetsOrder
            | Self::MatchAckNotKept => vec![Variant::ChannelMemory],
            Self::OrphanNotDetected
            | Self::OrphanMessageTaken
            | Self::RolledBackTooShort
            | Self::RolledBackTooFar
            | Self::LossNotSent => {
                vec![
                    Variant::Optimistic,
                    Variant::OptimisticStandard,
                    Variant::HierarchicalOptimistic,
                ]
            }
            Self::OrphanReturnsAlone => {
                vec![Variant::HierarchicalOptimistic, Variant::HierarchicalStandard]
            }
            Self::ChannelNotClosed => vec![Variant::Blocking],
            Self::ChannelStateForgotten => vec![Variant::Nonblocking],
            mutant if mutant.of_waves() => vec![Variant::Blocking, Variant::Nonblocking],
            Self::ClearToSendNotGated => {
                vec![Variant::Hierarchical, Variant::HierarchicalNonblocking]
            }
            Self::MarkerWaitsForProgram => vec![Variant::Hierarchical],
            mutant if mutant.of_clusters() => Variant::HIERARCHICAL.to_vec(),
            _ => vec![Variant::Pessimistic],
        }
    }
}
