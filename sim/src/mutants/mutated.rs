//! A protocol with a bug: what goes in and out of the right one is changed on the way.

use super::Mutant;
use crate::invariants::dependencies::Frame;
use ftmpi_core::engine::INTENT;
use ftmpi_protocols::causal::encoding::{Reader, put, put_event, take_runs};
use ftmpi_protocols::causal::store::Event;
use ftmpi_protocols::determinant_sender::{Cursor, VOID};
use ftmpi_protocols::protocol::*;
use ftmpi_protocols::received::is_reply;
use ftmpi_wire::{DecodeError, Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

/// Kinds of frames of causal logging.
const ASK: u8 = 1;
const ANSWER: u8 = 2;

/// The protocol under test, with a bug if one is wanted.
#[must_use]
pub fn protocol(
    inner: Box<dyn Protocol>,
    me: Rank,
    ranks: usize,
    mutant: Option<Mutant>,
) -> Box<dyn Protocol> {
    match mutant {
        None => inner,
        Some(mutant) => {
            let (sent, incarnations) = (BTreeMap::new(), Vec::new());
            Box::new(Mutated {
                inner,
                me,
                mutant,
                matched: None,
                sent,
                logged: 0,
                incarnations,
                ranks,
                late: VecDeque::new(),
                step: false,
                intended: false,
            })
        }
    }
}

/// The same piggyback of vcausal or Manetho, and the last event of its first run that has several
/// is not in it.
fn without_an_event(piggyback: &[u8], ranks: usize) -> Option<Vec<u8>> {
    // (No clocks are carried before the runs.)
    let (&[0], runs) = piggyback.split_at_checked(1)? else { return None };
    let mut events: BTreeMap<Rank, Vec<(EventNo, Event)>> = BTreeMap::new();
    take_runs::<DecodeError>(&mut Reader(runs), ranks, |creator, number, event| {
        events.entry(creator).or_default().push((number, event));
        Ok(())
    })
    .ok()?;
    let several = events.values_mut().find(|run| run.len() > 1)?;
    several.pop();
    let mut out = vec![0];
    for (creator, run) in events {
        put(&mut out, u64::from(creator.0));
        put(&mut out, run[0].0.0);
        put(&mut out, run.len() as u64);
        // (What vcausal does not need is not in its events.)
        run.iter().for_each(|(_, event)| put_event(&mut out, event, true));
    }
    Some(out)
}

struct Mutated {
    inner: Box<dyn Protocol>,
    me: Rank,
    /// The incarnations of all ranks when the present one began.
    incarnations: Vec<Incarnation>,
    ranks: usize,
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
    /// A log as an incarnation reads it that does not find out rightly how far it may repeat it.
    fn misread(&self, recorded: &mut [Determinant]) {
        let (incarnation, me) = (Incarnation(0), self.me);
        match self.mutant {
            Mutant::RolledBackTooShort => {
                for record in recorded {
                    if let Determinant::Depends { place, .. } = record {
                        *place = EventNo(0);
                    }
                }
            }
            Mutant::RolledBackTooFar => {
                let mut ranks = (0..).map(Rank).zip(&self.incarnations);
                let died =
                    ranks.find(|&(rank, &incarnation)| rank != me && incarnation > Incarnation(0));
                if let (Some((rank, _)), Some(last)) = (died, recorded.last_mut()) {
                    *last = Determinant::Depends { rank, incarnation, place: EventNo(1 << 39) };
                }
            }
            _ => {}
        }
    }

    /// A question to the one peer that is not asked, and the answer that it has nothing.
    fn question_kept(&self, command: Option<&Command>) -> Option<(Rank, Vec<u8>)> {
        let next = (self.me.index() + 1) % self.ranks;
        let Some(Command::SendFirst { to, payload }) = command else { return None };
        let (&ASK, question) = payload.split_first()? else { return None };
        if self.mutant != Mutant::OnePeerNotAsked || to.index() != next {
            return None;
        }
        let mut answer = vec![ANSWER];
        put(&mut answer, Reader(question).number().ok()?);
        Some((*to, answer))
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
    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.incarnations = incarnations.to_vec();
        self.inner.on_new_incarnation(last, incarnations);
    }
    fn on_newcomers(&mut self, count: usize) {
        self.inner.on_newcomers(count);
    }
    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.inner.on_peer_restart(peer, incarnation);
    }
    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        if self.mutant == Mutant::LossNotSent {
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
    fn counts(&self) -> Counts {
        self.inner.counts()
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
        if let Some((peer, answer)) = self.question_kept(command.as_ref()) {
            self.inner.on_frame(peer, &answer);
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

impl Logging for Mutated {
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        self.step = true;
        let verdict = self.inner.on_send(to, ssn);
        // A frame that leaves right after a match, to its sender and with its number, acknowledges
        // the match. The exception is a frame whose number is the next one of a message.
        let sent = self.sent.entry(to).or_insert(Ssn(0));
        let acknowledges = self.matched.take() == Some((to, ssn)) && ssn <= *sent;
        *sent = ssn.max(*sent);
        match self.mutant {
            Mutant::SendNotGated => SendVerdict::Go,
            Mutant::SyncAckNotGated | Mutant::ClearToSendNotGated if acknowledges => {
                SendVerdict::Go
            }
            Mutant::ReplyNotGated if is_reply(ssn) => SendVerdict::Go,
            _ => verdict,
        }
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
    fn gathering(&self) -> bool {
        self.mutant != Mutant::PeersNotAsked && self.inner.gathering()
    }
    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        let far = u64::from(self.mutant == Mutant::StableTooFar);
        let clocks: Vec<_> = clocks.iter().map(|&(r, n)| (r, EventNo(n.0 + far))).collect();
        self.inner.on_stable_clocks(&clocks);
    }
    fn is_awaited(&self) -> bool {
        self.inner.is_awaited()
    }
    fn determinants(&self) -> u64 {
        self.inner.determinants()
    }
}

impl Determinants for Mutated {
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
        let cluster_peer = self.inner.shares_waves(source);
        let made = match self.mutant {
            Mutant::DeterminantNotMade => false,
            Mutant::DeterminantInsideNotMade => !cluster_peer,
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
            Mutant::ServiceNotMade => !matches!(answer, Answer::Served(_, Some(_))),
            Mutant::QuietNotMade => !matches!(answer, Answer::Served(_, None)),
            Mutant::TurnNotMade => !matches!(answer, Answer::Turn(..)),
            Mutant::StayNotMade => !matches!(answer, Answer::Stayed(_)),
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
    fn recorded(&self) -> u64 {
        self.inner.recorded()
    }
    fn next_service(&self) -> Service {
        match (self.inner.next_service(), self.mutant) {
            (Service::Recorded(call, message), Mutant::ServedTooLate) => {
                Service::Recorded(call + 1, message)
            }
            (service, _) => service,
        }
    }
    fn service_repeated(&mut self) {
        self.inner.service_repeated();
    }
    fn orders_threads(&self) -> bool {
        self.inner.orders_threads()
    }
    fn next_turn(&self) -> NextTurn {
        self.inner.next_turn()
    }
    fn on_step(&mut self, step: u64) {
        self.inner.on_step(step);
    }
}

impl Piggybacking for Mutated {
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
        if self.mutant == Mutant::FactoringLosesEvent && !out.is_empty() {
            *out = without_an_event(out, self.ranks).unwrap_or_else(|| out.clone());
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
}

impl Waves for Mutated {
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
}
