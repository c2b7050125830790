//! What really depends on what, watched from outside of the ranks: what the invariants of
//! optimistic logging are judged by.
//!
//! Every frame brings along, unseen by the ranks, the full set of events that its sender's state
//! depends on; nothing is ever cleared from it. An event is lost when a later incarnation of its
//! rank reads a log that ends before the event.

use ftmpi_protocols::optimistic::history::Interval;
use ftmpi_wire::header::Kind;
use ftmpi_wire::{Determinant, EventNo, Header, Incarnation, Ssn};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The last event of each incarnation of each rank that something depends on.
pub type Truth = BTreeMap<(usize, Incarnation), EventNo>;

/// A frame by which its receiver comes to depend on something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A message, its announcement, or an answer to it.
    Numbered(Ssn),
    /// What goes before one.
    Piggyback,
}

impl Frame {
    fn of(header: &Header) -> Self {
        match header.kind {
            Kind::Piggyback => Self::Piggyback,
            _ => Self::Numbered(header.ssn),
        }
    }
}

/// Frames in their order, and what each brought along.
type Held = VecDeque<(Frame, Rc<Truth>)>;

/// What is true of all ranks.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// Of the present incarnation of each rank.
    of: BTreeMap<usize, Truth>,
    /// Of the frame that each rank took last.
    coming: BTreeMap<usize, Rc<Truth>>,
    /// Of frames that wait at this rank, from that one, behind a marker.
    held: BTreeMap<(usize, usize), Held>,
    /// The dependencies of each event when it was made, by the event's place in the log of its
    /// rank. If a place was used again after a loss, the latest event counts.
    events: BTreeMap<(usize, EventNo), Truth>,
    /// The ends of the logs that later incarnations received: which incarnation, and the last
    /// place.
    ends: BTreeMap<usize, Vec<(Incarnation, EventNo)>>,
    /// The log that the present incarnation received: the place before it, and its records.
    logs: BTreeMap<usize, (EventNo, Vec<Determinant>)>,
}

/// Adds what `from` depends on.
pub fn add(to: &mut Truth, from: &Truth) {
    for (&incarnation, &place) in from {
        let known = to.entry(incarnation).or_default();
        *known = place.max(*known);
    }
}

impl Dependencies {
    fn is_lost(&self, (rank, incarnation): (usize, Incarnation), place: EventNo) -> bool {
        let ends = self.ends.get(&rank).into_iter().flatten();
        ends.into_iter().any(|&(later, end)| later > incarnation && place > end)
    }

    /// Something lost among these.
    #[must_use]
    pub fn lost(&self, truth: &Truth) -> Option<(usize, Incarnation, EventNo)> {
        let mut lost =
            truth.iter().filter(|&(&incarnation, &place)| self.is_lost(incarnation, place));
        lost.next().map(|(&(rank, incarnation), &place)| (rank, incarnation, place))
    }

    /// What the present state of this rank depends on.
    #[must_use]
    pub fn of(&self, rank: usize) -> Truth {
        self.of.get(&rank).cloned().unwrap_or_default()
    }

    /// What an event depended on when it was made.
    #[must_use]
    pub fn of_event(&self, rank: usize, place: EventNo) -> Option<&Truth> {
        self.events.get(&(rank, place))
    }

    /// A rank that depends on what is lost, and what that is.
    #[must_use]
    pub fn orphan(&self) -> Option<(usize, (usize, Incarnation, EventNo))> {
        self.of.iter().find_map(|(&rank, truth)| Some((rank, self.lost(truth)?)))
    }

    /// The rank has made an event.
    pub fn made(&mut self, rank: usize, interval: Interval) {
        let truth = self.of.entry(rank).or_default();
        truth.insert((rank, interval.incarnation), interval.place);
        let truth = truth.clone();
        self.events.insert((rank, interval.place), truth);
    }

    /// The rank takes a frame that brought this along.
    pub fn takes(&mut self, rank: usize, truth: &Rc<Truth>) {
        self.coming.insert(rank, truth.clone());
    }

    /// The frame that it took last has to wait behind others.
    pub fn holds(&mut self, rank: usize, from: usize, header: &Header) {
        if let Some(coming) = self.coming.get(&rank) {
            let held = self.held.entry((rank, from)).or_default();
            held.push_back((Frame::of(header), coming.clone()));
        }
    }

    /// The rest of such a frame has come.
    pub fn holds_all(&mut self, rank: usize, from: usize) {
        if let Some(coming) = self.coming.get(&rank)
            && let Some((_, truth)) = self.held.get_mut(&(rank, from)).and_then(Held::back_mut)
        {
            *truth = coming.clone();
        }
    }

    /// It has accepted this frame, the one that it took last or one that waited; what is lost of
    /// what that depends on.
    pub fn accepts(
        &mut self,
        rank: usize,
        from: usize,
        frame: Frame,
    ) -> Option<(usize, Incarnation, EventNo)> {
        let held = self.held.entry((rank, from)).or_default();
        // They are taken in their order; of those before it this rank accepts nothing any more.
        let coming = match held.iter().position(|(waits, _)| *waits == frame) {
            Some(at) => held.drain(..=at).next_back()?.1,
            None => self.coming.get(&rank).cloned()?,
        };
        add(self.of.entry(rank).or_default(), &coming);
        self.lost(&coming)
    }

    /// An incarnation begins from an image whose state depended on this, or from the start.
    pub fn begins(&mut self, rank: usize, image: Option<Truth>) {
        self.of.insert(rank, image.unwrap_or_default());
        self.coming.remove(&rank);
        self.held.retain(|(of, _), _| *of != rank);
        self.logs.remove(&rank);
    }

    /// A new incarnation has received its log, behind this place.
    pub fn receives_log(
        &mut self,
        rank: usize,
        incarnation: Incarnation,
        base: EventNo,
        log: Vec<Determinant>,
    ) {
        let end = EventNo(base.0 + log.len() as u64);
        self.ends.entry(rank).or_default().push((incarnation, end));
        self.logs.insert(rank, (base, log));
        // What was behind is lost; others will be made in its places.
        self.events.retain(|&(of, place), _| of != rank || place <= end);
    }

    /// The log that the present incarnation received, once.
    pub fn take_log(&mut self, rank: usize) -> Option<(EventNo, Vec<Determinant>)> {
        self.logs.remove(&rank)
    }

    /// What the present state of this rank depends on is known.
    pub fn set(&mut self, rank: usize, truth: Truth) {
        self.of.insert(rank, truth);
    }
}
