//! What really depends on what, watched from outside of the ranks: the judge of optimistic logging.
//!
//! Every frame brings along, unseen by the ranks, the full set of events that its sender's state
//! depends on; nothing is ever cleared from it. An event is lost when a later life of its rank was
//! told a log that ends before it. Then:
//! - only orphans are rolled back: who ends its life depends on an event that is lost;
//! - every orphan is rolled back: at the end nobody depends on one;
//! - the state is the greatest consistent one: what a new life does not repeat of its log depends on
//!   a lost event (Ropars and Morin 2007).

use super::World;
use ftmpi_protocols::optimistic::history::Interval;
use ftmpi_wire::{Determinant, EventNo, Incarnation};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The last event of each life of each rank that something depends on.
pub type Truth = BTreeMap<(usize, Incarnation), EventNo>;

/// What is true of all ranks.
#[derive(Debug, Default)]
pub(super) struct Truths {
    /// Of the present life of each rank.
    of: BTreeMap<usize, Truth>,
    /// Of the frame that each rank took last.
    coming: BTreeMap<usize, Rc<Truth>>,
    /// Of each event when it was made, by its place in the log of its rank: the latest, if a place was
    /// used again after a loss.
    events: BTreeMap<(usize, EventNo), Truth>,
    /// The ends of the logs that later lives were told: which life, and the last place.
    ends: BTreeMap<usize, Vec<(Incarnation, EventNo)>>,
    /// The log that the present life was told: the place before it, and its records.
    logs: BTreeMap<usize, (EventNo, Vec<Determinant>)>,
    /// Lives that were rolled back.
    pub rolled_back: u64,
}

fn add(to: &mut Truth, from: &Truth) {
    for (&life, &place) in from {
        let known = to.entry(life).or_default();
        *known = place.max(*known);
    }
}

impl Truths {
    fn is_lost(&self, (rank, life): (usize, Incarnation), place: EventNo) -> bool {
        let ends = self.ends.get(&rank).into_iter().flatten();
        ends.into_iter().any(|&(later, end)| later > life && place > end)
    }

    fn lost(&self, truth: &Truth) -> Option<(usize, Incarnation, EventNo)> {
        let mut lost = truth.iter().filter(|&(&life, &place)| self.is_lost(life, place));
        lost.next().map(|(&(rank, life), &place)| (rank, life, place))
    }
}

impl World {
    /// What travels with a frame of this rank.
    pub(super) fn truth_of(&self, rank: usize) -> Rc<Truth> {
        Rc::new(self.truths.of.get(&rank).cloned().unwrap_or_default())
    }

    /// The rank has made an event.
    pub fn made(&mut self, rank: usize, interval: Interval) {
        let truth = self.truths.of.entry(rank).or_default();
        truth.insert((rank, interval.life), interval.place);
        let truth = truth.clone();
        self.truths.events.insert((rank, interval.place), truth);
    }

    pub(super) fn takes(&mut self, rank: usize, truth: &Rc<Truth>) {
        if self.setup.choice.rolls_back() {
            self.truths.coming.insert(rank, truth.clone());
        }
    }

    /// The rank has accepted the frame that it took last.
    pub fn accepted(&mut self, rank: usize) {
        if let Some(coming) = self.truths.coming.get(&rank).cloned() {
            if let Some(lost) = self.truths.lost(&coming) {
                self.note(|| format!("rank {rank} accepts what depends on the lost {lost:?}"));
            }
            add(self.truths.of.entry(rank).or_default(), &coming);
        }
    }

    /// A life begins from an image whose state depended on this, or from the start.
    pub(super) fn truth_begins(&mut self, rank: usize, image: Option<Truth>) {
        self.truths.of.insert(rank, image.unwrap_or_default());
        self.truths.coming.remove(&rank);
        self.truths.logs.remove(&rank);
    }

    /// A new life was told its log, behind this place.
    pub fn log_was_told(&mut self, rank: usize, base: EventNo, records: Vec<Determinant>) {
        let life = self.lives[rank].incarnation;
        let end = EventNo(base.0 + records.len() as u64);
        self.truths.ends.entry(rank).or_default().push((life, end));
        self.truths.logs.insert(rank, (base, records));
        // What was behind is lost; others will be made in its places.
        self.truths.events.retain(|&(of, place), _| of != rank || place <= end);
    }

    /// The new life repeats its log up to this place.
    ///
    /// # Panics
    /// It could have repeated more.
    pub fn begins_after(&mut self, rank: usize, after: EventNo) {
        let Some((base, records)) = self.truths.logs.remove(&rank) else { return };
        let mut valid: Vec<EventNo> = Vec::new();
        for (record, place) in records.iter().zip(base.0 + 1..) {
            match *record {
                Determinant::Begins { after, .. } => valid.retain(|place| *place <= after),
                _ => valid.push(EventNo(place)),
            }
        }
        let mut truth = self.truths.of.get(&rank).cloned().unwrap_or_default();
        for place in valid {
            let Some(of_event) = self.truths.events.get(&(rank, place)) else { continue };
            if place <= after {
                add(&mut truth, of_event);
            } else {
                assert!(
                    self.truths.lost(of_event).is_some(),
                    "rank {rank} goes on after event {after}, but event {place} depends on nothing \
                     that is lost"
                );
                break;
            }
        }
        self.truths.of.insert(rank, truth);
        self.note(|| format!("rank {rank} goes on after event {after}"));
    }

    /// A rank ends its life as an orphan.
    ///
    /// # Panics
    /// It is none.
    pub fn rolls_back(&mut self, rank: usize, why: &str) {
        let truth = self.truths.of.get(&rank).cloned().unwrap_or_default();
        self.note(|| format!("rank {rank} rolls back: {why}"));
        assert!(
            self.truths.lost(&truth).is_some(),
            "rank {rank} is no orphan and rolls back: {why}; {truth:?}"
        );
        self.truths.rolled_back += 1;
    }

    /// A rank that depends on what is lost, and what that is.
    pub(super) fn orphan(&self) -> Option<(usize, (usize, Incarnation, EventNo))> {
        self.truths.of.iter().find_map(|(&rank, truth)| Some((rank, self.truths.lost(truth)?)))
    }
}
