//! Deliberate bugs, to test the checker: each must be caught by some seed.

use crate::choice::Choice;
use crate::invariants::dependencies::Frame;
use crate::programs::Program;
use ftmpi_core::engine::INTENT;
use ftmpi_protocols::protocol::{
    Answer, ArrivalVerdict, Command, Counts, Decision, Hooks, Marker, NAMED, Pin, Protocol,
    Readiness, SendVerdict, Service,
};
use ftmpi_protocols::shipper::{Cursor, VOID};
use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

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
    /// What a rank had stored beside its logger is not in its log when its next life asks.
    RingForgotten,
    /// Logs become durable without what is stored beside them at that instant.
    RoundWithoutRings,
    /// The logger acknowledges before it writes.
    AcknowledgedBeforeWritten,
    /// The logger calls durable what is not even written.
    AcknowledgedBeforeDurable,
    /// An image counts before the events that it depends on are durable.
    ImageBeforeDurable,
    /// One of several loggers, of which a loss of power must take nothing, acknowledges what is written.
    PromiseNotKept,
    /// Such a logger gives a new life its log before all of it is durable.
    AnsweredBeforeDurable,
    /// Payloads are not logged.
    PayloadNotLogged,
    /// Peers are told to forget one message too many.
    LogCutTooEarly,
    /// A message that came twice is taken twice.
    DuplicateAccepted,
    /// The restart handshake claims one message too many.
    WrongMessageDropped,
    /// The restart handshake does not tell the holes.
    HoleForgotten,
    /// Frames of an earlier life of their sender are taken.
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
    /// Determinants are made only of what comes from other clusters (right for programs whose sends
    /// do not depend on the order of receptions, and for no others).
    DeterminantInsideNotMade,
    /// What only older images needed is forgotten when an image is durable, though its wave is not
    /// complete.
    LogCutAtIncompleteWave,
    /// Clusters in which nothing failed are rolled back with the one that failed.
    OthersRolledBack,
    /// The answer to an announcement of a mate leaves before the match that it reveals is stable.
    ClearToSendNotGated,
    /// A marker leaves only with the next step of the program, for which a rank that stands still waits
    /// in vain.
    MarkerWaitsForProgram,
    /// The images of the last complete wave are removed for those of an incomplete one.
    OldWaveRemoved,
    /// A rank leaves when its program is over, though peers may need its log.
    LeavesEarly,
    /// Some piggybacks are not sent.
    PiggybackForgotten,
    /// What a peer was known to have is believed of its next life as well.
    KnowledgeNotReset,
    /// A new life does not ask its peers for its events.
    PeersNotAsked,
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
    /// The stable clocks that the logger tells are believed to be one higher.
    StableTooFar,
    /// One of several loggers tells the others, or the hosts, one more than it has written.
    FellowToldTooFar,
    /// Who depends on what was lost does not roll back.
    OrphanNotDetected,
    /// What a state sent that is to be rolled back is taken by those who know it.
    OrphanMessageTaken,
    /// A new life repeats the first event of its log that depends on what was lost.
    RolledBackTooShort,
    /// A new life does not repeat the last event of its log that it could.
    RolledBackTooFar,
    /// What was lost is not told to those with whom a channel begins.
    LossNotTold,
    /// An orphan goes back to a wave, and its mates do not.
    OrphanReturnsAlone,
    /// A life that was given up before its process began begins all the same.
    GivenUpLifeBegins,
    /// Something that must not be done twice is done without an intent.
    IntentNotMade,
    /// It is done before its intent, and what led to it, is stable.
    EffectNotGated,
    /// It is done when the rank's own events are stable, whatever it depends on of others.
    OthersNotCommitted,
    /// A logger that begins again does not see that a log is damaged.
    DamageNotSeen,
    /// A rank that will never be served waits as for a logger that is away.
    RefusalTakenForTrouble,
    /// A host counts as dead, and its ranks live on.
    RanksOutliveTheirHost,
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
    /// In a new life it goes on as soon as its own part of the memory is filled.
    SharersComeBackAlone,
    /// One that shares its first memory does not ask whether others take an image already.
    JoinsBetween,
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
                | Self::GivenUpLifeBegins
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
            _ => None,
        }
    }

    /// All of them.
    #[must_use]
    pub fn all() -> &'static [Self] {
        <Self as clap::ValueEnum>::value_variants()
    }

    /// The protocols in which it is a bug.
    #[must_use]
    pub fn choices(self) -> Vec<Choice> {
        match self {
            Self::PiggybackForgotten
            | Self::KnowledgeNotReset
            | Self::PeersNotAsked
            | Self::SettledTooFar => {
                Choice::ALL.into_iter().filter(|c| c.causal(true).is_some()).collect()
            }
            Self::WitnessForgotten | Self::OthersNotCommitted => {
                vec![Choice::Vcausal, Choice::Manetho, Choice::Logon]
            }
            Self::StableTooFar => {
                vec![Choice::Vcausal, Choice::Manetho, Choice::Logon, Choice::Optimistic]
            }
            Self::FellowToldTooFar => vec![
                Choice::LogonShared,
                Choice::VcausalBroadcast,
                Choice::OptimisticShared,
                Choice::OptimisticBroadcast,
            ],
            Self::PromiseNotKept | Self::AnsweredBeforeDurable => vec![
                Choice::PessimisticApart,
                Choice::LogonShared,
                Choice::LogonCarried,
                Choice::VcausalBroadcast,
            ],
            Self::MemoryTellsUnwritten
            | Self::MemoryCutsTooFar
            | Self::MemoryForgetsOrder
            | Self::MatchAckNotKept => vec![Choice::ChannelMemory],
            Self::OrphanNotDetected
            | Self::OrphanMessageTaken
            | Self::RolledBackTooShort
            | Self::RolledBackTooFar
            | Self::LossNotTold => {
                vec![Choice::Optimistic, Choice::OptimisticStandard, Choice::HierarchicalOptimistic]
            }
            Self::OrphanReturnsAlone => {
                vec![Choice::HierarchicalOptimistic, Choice::HierarchicalStandard]
            }
            Self::ChannelNotClosed => vec![Choice::Blocking],
            Self::ChannelStateForgotten => vec![Choice::Nonblocking],
            mutant if mutant.of_waves() => vec![Choice::Blocking, Choice::Nonblocking],
            Self::ClearToSendNotGated => {
                vec![Choice::Hierarchical, Choice::HierarchicalNonblocking]
            }
            Self::MarkerWaitsForProgram => vec![Choice::Hierarchical],
            mutant if mutant.of_clusters() => Choice::HIERARCHICAL.to_vec(),
            _ => vec![Choice::Pessimistic],
        }
    }
}

/// The protocol under test, with a bug if one is wanted.
#[must_use]
pub fn protocol(inner: Box<dyn Protocol>, me: Rank, mutant: Option<Mutant>) -> Box<dyn Protocol> {
    match mutant {
        None => inner,
        Some(mutant) => {
            let (sent, lives) = (BTreeMap::new(), Vec::new());
            Box::new(Mutated {
                inner,
                me,
                mutant,
                matched: None,
                sent,
                logged: 0,
                lives,
                late: VecDeque::new(),
                step: false,
                intended: false,
            })
        }
    }
}

struct Mutated {
    inner: Box<dyn Protocol>,
    me: Rank,
    /// The lives of all ranks when the present one began.
    lives: Vec<Incarnation>,
    mutant: Mutant,
    /// The last match, if nothing happened since.
    matched: Option<(Rank, Ssn)>,
    /// The greatest number of a message to each rank.
    sent: BTreeMap<Rank, Ssn>,
    /// Batches for the logger so far.
    logged: u64,
    /// Markers that wait for a step of the program, and whether there was one.
    late: VecDeque<Command>,
    step: bool,
    /// An intent was the last answer.
    intended: bool,
}

impl Mutated {
    /// A log as a life reads it that does not find out rightly how far it may repeat it.
    fn misread(&self, recorded: &mut [Determinant]) {
        let (life, me) = (Incarnation(0), self.me);
        match self.mutant {
            Mutant::RolledBackTooShort => {
                for record in recorded {
                    if let Determinant::Depends { place, .. } = record {
                        *place = EventNo(0);
                    }
                }
            }
            Mutant::RolledBackTooFar => {
                let mut ranks = (0..).map(Rank).zip(&self.lives);
                let died = ranks.find(|&(rank, &life)| rank != me && life > Incarnation(0));
                if let (Some((rank, _)), Some(last)) = (died, recorded.last_mut()) {
                    *last = Determinant::Depends { rank, life, place: EventNo(1 << 39) };
                }
            }
            _ => {}
        }
    }
}

impl Protocol for Mutated {
    fn hooks(&self) -> Hooks {
        let mut hooks = self.inner.hooks();
        hooks.log_payload &= self.mutant != Mutant::PayloadNotLogged;
        hooks
    }
    fn logs_payload(&self, peer: Rank) -> bool {
        self.mutant != Mutant::BetweenNotLogged && self.inner.logs_payload(peer)
    }
    fn shares_waves(&self, peer: Rank) -> bool {
        self.inner.shares_waves(peer)
    }
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        self.step = true;
        let verdict = self.inner.on_send(to, ssn);
        // What leaves right after a match, to its sender and with its number, acknowledges it, if
        // the number is not the next one of a message.
        let sent = self.sent.entry(to).or_insert(Ssn(0));
        let acknowledges = self.matched.take() == Some((to, ssn)) && ssn <= *sent;
        *sent = ssn.max(*sent);
        match self.mutant {
            Mutant::SendNotGated => SendVerdict::Go,
            Mutant::SyncAckNotGated | Mutant::ClearToSendNotGated if acknowledges => {
                SendVerdict::Go
            }
            _ => verdict,
        }
    }
    fn pin(&mut self, post: u64) -> Pin {
        match (self.inner.pin(post), self.mutant) {
            (_, Mutant::ReplayInArrivalOrder) => Pin::Free,
            (Pin::Held, Mutant::NothingHeld) => Pin::Free,
            (Pin::Held, Mutant::CancelledMatches) if post & NAMED != 0 => Pin::Free,
            (pin, _) => pin,
        }
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.matched = Some((source, ssn));
        let mate = self.inner.shares_waves(source);
        let made = match self.mutant {
            Mutant::DeterminantNotMade => false,
            Mutant::DeterminantInsideNotMade => !mate,
            _ => true,
        };
        if made {
            self.inner.on_match(post, source, ssn);
        }
    }
    fn decide(&mut self) -> Decision {
        self.inner.decide()
    }
    fn on_negative(&mut self) {
        if self.mutant != Mutant::FailsLost {
            self.inner.on_negative();
        }
    }
    fn on_answer(&mut self, answer: Answer) {
        self.intended = matches!(answer, Answer::Value(value) if value >> 62 == INTENT >> 62);
        let made = match self.mutant {
            Mutant::OutcomeNotMade => false,
            Mutant::IntentNotMade => !self.intended,
            _ => true,
        };
        if made {
            self.inner.on_answer(answer);
        }
    }
    fn replaying(&self) -> bool {
        self.inner.replaying()
    }
    fn repeating(&self) -> bool {
        self.mutant != Mutant::ImageDuringReplay && self.inner.repeating()
    }
    fn gate(&self) -> EventNo {
        self.inner.gate()
    }
    fn last_event(&self) -> EventNo {
        let last = self.inner.last_event();
        let gated = self.mutant != Mutant::EffectNotGated || !self.intended;
        if self.mutant == Mutant::ImageBeforeStable || !gated {
            last.min(self.inner.stable())
        } else {
            last
        }
    }
    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.inner.on_stable(written, durable);
    }
    fn stable(&self) -> EventNo {
        self.inner.stable()
    }
    fn flush(&mut self) {
        self.inner.flush();
    }
    fn settle(&mut self) {
        self.inner.settle();
    }
    fn commit(&mut self) {
        if self.mutant == Mutant::OthersNotCommitted {
            return self.inner.settle();
        }
        self.inner.commit();
    }
    fn on_logger_back(&mut self) {
        if self.mutant != Mutant::LoggerLossForgotten {
            self.inner.on_logger_back();
        }
    }
    fn on_restart(&mut self, last: EventNo, mut recorded: Vec<Determinant>) {
        self.misread(&mut recorded);
        self.inner.on_restart(last, recorded);
    }
    fn on_oldest_image(&mut self, events: EventNo) {
        let early = u64::from(self.mutant == Mutant::SettledTooFar);
        self.inner.on_oldest_image(EventNo(events.0 + early));
    }
    fn has_piggyback(&self, to: Rank) -> bool {
        self.inner.has_piggyback(to)
    }
    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.inner.piggyback(to, out);
        if self.mutant == Mutant::PiggybackForgotten && !out.is_empty() {
            self.logged += 1;
            if self.logged.is_multiple_of(4) {
                out.clear();
            }
        }
    }
    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        self.inner.on_piggyback(from, piggyback);
    }
    fn on_arrival(&mut self, from: Rank, ssn: Ssn) -> ArrivalVerdict {
        match self.inner.on_arrival(from, ssn) {
            ArrivalVerdict::Orphan if self.mutant == Mutant::OrphanMessageTaken => {
                crate::world::with(|world| {
                    world.accepted(self.me.index(), from, Frame::Numbered(ssn))
                });
                ArrivalVerdict::Accept
            }
            verdict => verdict,
        }
    }
    fn refuses(&self, from: Rank) -> bool {
        self.mutant != Mutant::OrphanMessageTaken && self.inner.refuses(from)
    }
    fn recorded(&self) -> u64 {
        self.inner.recorded()
    }
    fn gathering(&self) -> bool {
        self.mutant != Mutant::PeersNotAsked && self.inner.gathering()
    }
    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        let far = u64::from(self.mutant == Mutant::StableTooFar);
        let clocks: Vec<_> = clocks.iter().map(|&(r, n)| (r, EventNo(n.0 + far))).collect();
        self.inner.on_stable_clocks(&clocks);
    }
    fn on_new_life(&mut self, last: EventNo, lives: &[Incarnation]) {
        self.lives = lives.to_vec();
        self.inner.on_new_life(last, lives);
    }
    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.inner.on_peer_restart(peer, incarnation);
    }
    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        if self.mutant == Mutant::LossNotTold {
            self.inner.resume(peer, &mut Vec::new());
            return out.push(0);
        }
        self.inner.resume(peer, out);
    }
    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        if self.mutant == Mutant::KnowledgeNotReset {
            // As if it still knew all that is known here.
            let mut all = Vec::new();
            self.inner.resume(peer, &mut all);
            all[0] = 1;
            return self.inner.on_joined(peer, &all);
        }
        self.inner.on_joined(peer, said);
    }
    fn on_parted(&mut self, peer: Rank) {
        self.inner.on_parted(peer);
    }
    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.inner.on_frame(from, payload);
    }
    fn is_awaited(&self) -> bool {
        self.inner.is_awaited()
    }
    fn counts(&self) -> Counts {
        self.inner.counts()
    }
    fn determinants(&self) -> u64 {
        self.inner.determinants()
    }
    fn next_service(&self) -> Service {
        self.inner.next_service()
    }
    fn service_repeated(&mut self) {
        self.inner.service_repeated();
    }
    fn on_image_due(&mut self, image: ImageNo) {
        self.inner.on_image_due(image);
    }
    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        match (self.inner.image_ready(image, peers), self.mutant) {
            (Readiness::NotYet, Mutant::MarkersNotAwaited) => Readiness::Now,
            (readiness, _) => readiness,
        }
    }
    fn stands_still(&self) -> bool {
        self.inner.stands_still()
    }
    fn on_image_over(&mut self, image: ImageNo) {
        self.inner.on_image_over(image);
    }
    fn on_return(&mut self, image: ImageNo) {
        self.late.clear();
        self.inner.on_return(image);
    }
    fn greeting(&self) -> Option<Marker> {
        self.inner.greeting()
    }
    fn next_command(&mut self) -> Option<Command> {
        if std::mem::take(&mut self.step)
            && let Some(marker) = self.late.pop_front()
        {
            self.step = !self.late.is_empty();
            return Some(marker);
        }
        let mut command = self.inner.next_command();
        if self.mutant == Mutant::MarkerWaitsForProgram
            && let Some(marker @ Command::Mark(_)) = command
        {
            self.late.push_back(marker);
            return self.next_command();
        }
        let skipped = matches!(
            (&command, self.mutant),
            (Some(Command::HoldSends), Mutant::ChannelNotClosed)
                | (Some(Command::KeepSent), Mutant::ChannelStateForgotten)
                | (Some(Command::HoldFrom(_)), Mutant::LateMessageTaken)
                | (Some(Command::RollBack(_)), Mutant::OrphanNotDetected)
        );
        if skipped {
            return self.next_command();
        }
        if self.mutant == Mutant::WitnessForgotten
            && let Some(Command::Log { records, .. }) = &mut command
        {
            let mut cursor = Cursor::default();
            for record in records {
                let foreign = cursor.foreign > 0;
                cursor.pass(record);
                if foreign {
                    *record = VOID;
                }
            }
        }
        if self.mutant == Mutant::DeterminantNotSent
            && let Some(Command::Log { .. }) = command
        {
            self.logged += 1;
            if self.logged.is_multiple_of(8) {
                return self.next_command();
            }
        }
        command
    }
}
