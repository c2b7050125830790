//! What the [`invariants`](crate::invariants) hear about the ranks: what their protocols do
//! ([`crate::observed`]), what leaves and arrives, what images contain.

use super::{Setup, World};
use crate::invariants::dependencies::{Dependencies, Frame, Truth};
use crate::invariants::{consistent_cut, greatest_state, log_cuts, only_orphans, stable_images};
use crate::invariants::{
    cut_noticed::CutNoticed, drained_hosts::DrainedHosts, failed_clusters::FailedClusters,
    last_images::LastImages, old_incarnations::OldIncarnations, one_incarnation::OneIncarnation,
    one_process::OneProcess, placement::Placement, refused::Refused, sends_wait::SendsWait,
    suspension_ends::SuspensionEnds, whole_waves::WholeWaves,
};
use ftmpi_protocols::optimistic::history::Interval;
use ftmpi_protocols::received::Received;
use ftmpi_wire::header::Kind;
use ftmpi_wire::{Determinant, EventNo, Header, ImageNo, Incarnation, Rank, Ssn, control, header};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What has gone over the channels of a rank, in the course that its present state has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Traffic {
    sent: BTreeMap<usize, Received>,
    landed: BTreeMap<usize, Received>,
    /// The peers for whom only the piggyback of a message has begun to leave.
    decided: BTreeSet<usize>,
    /// The place in its log of the last event.
    last_event: EventNo,
}

/// What the invariants remember.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) dependencies: Dependencies,
    pub(super) old_incarnations: OldIncarnations,
    pub(super) sends_wait: SendsWait,
    pub(super) whole_waves: WholeWaves,
    pub(super) failed_clusters: FailedClusters,
    pub(super) drained_hosts: DrainedHosts,
    pub(super) one_incarnation: OneIncarnation,
    pub(super) refused: Refused,
    /// A disk has damaged an image.
    pub(super) image_damaged: bool,
    pub(super) one_process: OneProcess,
    pub(super) cut_noticed: CutNoticed,
    pub(super) placement: Placement,
    pub(super) suspension_ends: SuspensionEnds,
    pub(super) last_images: LastImages,
    traffic: BTreeMap<usize, Traffic>,
    /// What is sent before the next message, from which rank to which.
    piggybacks: BTreeMap<(usize, usize), Rc<Truth>>,
    /// Incarnations that were rolled back.
    pub(super) rolled_back: u64,
}

impl Seen {
    /// For a job.
    pub(super) fn of(setup: &Setup) -> Self {
        let placement = Placement::new(setup.places.clone());
        Self { placement, ..Self::default() }
    }
}

impl World {
    /// An incarnation begins from an image in which this had happened, or from the start.
    pub(super) fn seen_to_begin(&mut self, rank: usize, image: Option<(Truth, Traffic)>) {
        let (truth, traffic) = image.unzip();
        self.seen.dependencies.begins(rank, truth);
        self.seen.traffic.insert(rank, traffic.unwrap_or_default());
        self.seen.old_incarnations.begins(rank);
        self.seen.sends_wait.begins(rank);
        self.seen.piggybacks.retain(|&(from, _), _| from != rank);
    }

    /// What an image that is taken now contains.
    pub(super) fn seen_in_image(&mut self, rank: usize) -> (Rc<Truth>, Traffic) {
        let traffic = self.seen.traffic.entry(rank).or_default().clone();
        if self.setup.variant.has_logger() && !self.has_memories() {
            let written = self.is_written(rank);
            stable_images::taken(rank, traffic.last_event, written);
        }
        (self.truth_of(rank), traffic)
    }

    /// So much of the events of this rank is, or was, in its logger's file.
    pub(super) fn is_written(&mut self, rank: usize) -> EventNo {
        let written = self.logger.written(Rank(rank as u32)).max(self.in_ring(rank));
        self.seen.sends_wait.is_written(rank, written)
    }

    /// The traffic of the oldest image that is offered; none: the start of the program is.
    fn oldest_offered(&self, rank: usize) -> Option<&Traffic> {
        let process = &self.processes[rank];
        // Without any that it knows, and without the start, a rank begins from one that was
        // committed as it died.
        let left = process.start_given_up.then_some(ImageNo(0));
        let oldest = self.dispatch.machine.oldest(Rank(rank as u32)).or(left)?;
        let images = &process.images;
        // (It may have been found damaged.)
        let mut offered = images.iter().filter(|image| image.committed && image.number >= oldest);
        offered.next().map(|image| &image.traffic)
    }

    /// The traffic of its newest durable image. (It may be of a wave that is given up at this
    /// moment.)
    fn newest_durable(&self, rank: usize) -> Option<&Traffic> {
        let mut images = self.processes[rank].images.iter().rev();
        images.find(|image| image.committed).map(|image| &image.traffic)
    }

    /// A first part of a frame leaves. It, or the message that a piggyback belongs to, goes before
    /// any marker that comes now, and so belongs to the cut.
    pub(super) fn frame_begins(&mut self, from: usize, to: usize, header: &Header) {
        let traffic = self.seen.traffic.entry(from).or_default();
        match header.kind {
            Kind::Piggyback => {
                traffic.decided.insert(to);
            }
            Kind::Eager | Kind::RequestToSend => {
                traffic.sent.entry(to).or_default().insert(header.ssn);
            }
            _ => {}
        }
    }

    pub(super) fn seen_to_leave(
        &mut self,
        from: usize,
        to: usize,
        header: &Header,
        payload: &[u8],
    ) {
        let said = || control::decode::<header::Received>(payload).ok();
        match header.kind {
            Kind::Eager | Kind::RequestToSend => {
                if self.setup.variant.sends_wait() {
                    self.is_written(from);
                    self.seen.sends_wait.leaves(from, Rank(to as u32), header.ssn);
                }
                let traffic = self.seen.traffic.entry(from).or_default();
                traffic.sent.entry(to).or_default().insert(header.ssn);
                traffic.decided.remove(&to);
            }
            Kind::Resume if self.are_mates(from, to) => {
                let Some(said) = said() else { return };
                let traffic = self.seen.traffic.entry(to).or_default();
                let sent = traffic.sent.entry(from).or_default();
                if traffic.decided.contains(&from)
                    && let Some(next) = Received::from_wire(&said).first_beyond(sent)
                {
                    // It is not sent again.
                    sent.insert(next);
                    traffic.decided.remove(&from);
                }
                consistent_cut::received(from, to, &said, sent);
            }
            Kind::LogCut => {
                let Some(said) = said() else { return };
                let oldest = self.oldest_offered(from).and_then(|t| t.landed.get(&to));
                log_cuts::messages(from, to, &said, oldest.unwrap_or(&Received::default()));
            }
            Kind::ImageHas => {
                let Some(said) = said() else { return };
                let newest = self.newest_durable(from).and_then(|t| t.landed.get(&to));
                log_cuts::in_images(from, to, &said, newest.unwrap_or(&Received::default()));
            }
            Kind::Piggyback => {
                self.seen.traffic.entry(from).or_default().decided.insert(to);
            }
            Kind::SyncAck | Kind::ClearToSend => {
                let reveals = header.kind == Kind::SyncAck || self.are_mates(from, to);
                if reveals && self.setup.variant.sends_wait() {
                    self.is_written(from);
                    self.seen.sends_wait.answers(from, Rank(to as u32), header.ssn);
                }
                self.seen.traffic.entry(from).or_default().decided.remove(&to);
            }
            _ => {}
        }
    }

    fn are_mates(&self, a: usize, b: usize) -> bool {
        self.in_waves() && self.cluster_of(a) == self.cluster_of(b)
    }

    /// A frame of this incarnation of a peer is taken, with the first of its bytes.
    pub fn lands(&mut self, rank: usize, from: Rank, incarnation: Incarnation, header: &Header) {
        if self.has_memories() {
            return;
        }
        self.seen.old_incarnations.takes(rank, from, incarnation);
        if matches!(header.kind, Kind::Eager | Kind::RequestToSend) {
            let traffic = self.seen.traffic.entry(rank).or_default();
            traffic.landed.entry(from.index()).or_default().insert(header.ssn);
        }
    }

    /// The logger is about to forget the events of a rank below this one.
    pub(super) fn forgets_events(&mut self, rank: Rank, below: EventNo) {
        if self.has_memories() {
            return;
        }
        let oldest = self.oldest_offered(rank.index()).map_or(EventNo(0), |t| t.last_event);
        log_cuts::events(rank, below, oldest);
    }

    // What protocols say ([`crate::watched`]).

    /// The rank was asked for its last event, and this is the answer.
    pub fn says_last_event(&mut self, rank: usize, last: EventNo) {
        self.seen.traffic.entry(rank).or_default().last_event = last;
    }

    /// The rank asks whether a message may leave; its last event was this.
    pub fn asks_to_send(&mut self, rank: usize, to: Rank, ssn: Ssn, last: EventNo) {
        if self.setup.variant.sends_wait() {
            self.seen.sends_wait.asks(rank, to, ssn, last);
        }
    }

    /// The rank has recorded the match of a message as this event.
    pub fn records_match(&mut self, rank: usize, source: Rank, ssn: Ssn, event: EventNo) {
        if self.setup.variant.sends_wait() {
            self.seen.sends_wait.matches(rank, source, ssn, event);
        }
    }

    // What really depends on what.

    pub(super) fn truth_of(&self, rank: usize) -> Rc<Truth> {
        Rc::new(self.seen.dependencies.of(rank))
    }

    /// The rank has sent on what its next message to this peer depends.
    pub fn tells(&mut self, rank: usize, peer: Rank) {
        let truth = self.truth_of(rank);
        self.seen.piggybacks.insert((rank, peer.index()), truth);
    }

    /// What travels with a frame of this rank. A full channel may keep a message, with its
    /// piggyback, while its sender makes events that the message does not depend on.
    pub(super) fn truth_that_leaves(&mut self, rank: usize, to: usize, kind: Kind) -> Rc<Truth> {
        let truth = match kind {
            Kind::Piggyback => self.seen.piggybacks.get(&(rank, to)).cloned(),
            Kind::Protocol => None,
            _ => self.seen.piggybacks.remove(&(rank, to)),
        };
        truth.unwrap_or_else(|| self.truth_of(rank))
    }

    /// The rank has made an event.
    pub fn made(&mut self, rank: usize, interval: Interval) {
        self.seen.dependencies.made(rank, interval);
    }

    pub(super) fn takes(&mut self, rank: usize, truth: &Rc<Truth>) {
        if self.setup.variant.rolls_back() {
            self.seen.dependencies.takes(rank, truth);
        }
    }

    /// The frame that the rank took last has to wait behind a marker; `rest`: what came before of
    /// it waits.
    pub fn holds(&mut self, rank: usize, from: Rank, header: &Header, rest: bool) {
        match rest {
            false => self.seen.dependencies.holds(rank, from.index(), header),
            true => self.seen.dependencies.holds_all(rank, from.index()),
        }
    }

    /// The rank has accepted this frame.
    pub fn accepted(&mut self, rank: usize, from: Rank, frame: Frame) {
        if let Some(lost) = self.seen.dependencies.accepts(rank, from.index(), frame) {
            self.note(|| format!("rank {rank} accepts what depends on the lost {lost:?}"));
        }
    }

    /// A new incarnation has received its log, behind this place.
    pub fn log_was_received(&mut self, rank: usize, base: EventNo, log: Vec<Determinant>) {
        let incarnation = self.processes[rank].incarnation;
        self.seen.dependencies.receives_log(rank, incarnation, base, log);
    }

    /// The new incarnation repeats its log up to this place.
    pub fn begins_after(&mut self, rank: usize, after: EventNo) {
        let known = &mut self.seen.dependencies;
        let Some(log) = known.take_log(rank) else { return };
        let truth = greatest_state::repeats(rank, log, after, known.of(rank), known);
        known.set(rank, truth);
        self.note(|| format!("rank {rank} goes on after event {after}"));
    }

    /// A rank ends its incarnation as an orphan.
    pub fn rolls_back(&mut self, rank: usize, why: &str, before: Option<ImageNo>) {
        self.note(|| format!("rank {rank} rolls back: {why}"));
        self.processes[rank].too_lean = before;
        if before.is_some() {
            // Its last image rests on one that is lost or damaged.
            let who = if self.in_waves() { self.cluster_peers_of(rank) } else { vec![rank] };
            self.seen.last_images.are_damaged(&who);
            return self.seen.refused.lacks(self.setup.lean_images, self.seen.image_damaged);
        }
        let truth = self.seen.dependencies.of(rank);
        only_orphans::rolls_back(rank, why, &truth, &self.seen.dependencies);
        self.seen.rolled_back += 1;
    }
}
