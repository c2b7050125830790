//! What the three ways to choose a piggyback have in common (event-logger-2005 §III-B). None of
//! them sends a peer an event twice. Each remembers for every peer the last event of every creator
//! that the peer is known to have.

use super::encoding::Reader;
use super::store::{Conflict, Event, Store};
use ftmpi_wire::{DecodeError, EventNo, Rank};
use std::fmt;

/// What is wrong with bytes of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// They mean nothing.
    Malformed(DecodeError),
    /// They contain another history than is known here.
    Conflict(Conflict),
}

impl From<DecodeError> for Trouble {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl From<Conflict> for Trouble {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Conflict(Conflict { creator, number }) => {
                write!(f, "event {number} of rank {creator} has two histories")
            }
        }
    }
}

/// Chooses what travels with a message. An event is always chosen if it is not known to be stable
/// and the peer is not known to have it. The techniques differ in which knowledge of the peer they
/// see.
pub trait Technique: fmt::Debug {
    /// Appends what `to` is not known to have, and knows from now on that it has it. The number of
    /// events.
    ///
    /// `complete`: the peer has all its own events, and its events, told by anybody, prove that it
    /// knows what happened before them. A peer that is being recovered also receives its own
    /// events. Else it would learn of events without their past, and pass them on.
    fn build(&mut self, store: &Store, to: Rank, complete: bool, out: &mut Vec<u8>) -> u64;

    /// Takes what `from` has built for us.
    ///
    /// # Errors
    /// Malformed bytes, or a contradiction to what is known.
    fn merge(&mut self, store: &mut Store, from: Rank, bytes: Reader) -> Result<(), Trouble>;

    /// An event was added that no peer sent: an own one, or one from the log.
    fn added(&mut self, _creator: Rank, _number: EventNo) {}

    /// The peer has this and, as far as is known, nothing else: a channel begins.
    fn begins(&mut self, peer: Rank, clocks: &[(Rank, EventNo)]);
}

/// What one peer is known to have.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// The last event of every creator.
    pub known: Box<[EventNo]>,
}

/// Peers that were spoken with.
#[derive(Debug)]
pub struct Neighbours(Vec<Option<Neighbour>>);

impl Neighbours {
    /// None yet, in a job of this size.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(vec![None; size])
    }

    /// One of them.
    #[inline]
    pub fn get(&mut self, peer: Rank) -> &mut Neighbour {
        let size = self.0.len();
        self.0[peer.index()]
            .get_or_insert_with(|| Neighbour { known: vec![EventNo(0); size].into_boxed_slice() })
    }

    /// See [`Technique::begins`].
    pub fn begins(&mut self, peer: Rank, clocks: &[(Rank, EventNo)]) {
        let neighbour = self.get(peer);
        neighbour.known.fill(EventNo(0));
        for &(creator, number) in clocks {
            neighbour.known[creator.index()] = number;
        }
    }
}

impl Neighbour {
    /// It has this event.
    #[inline]
    pub fn has(&mut self, creator: Rank, number: EventNo) {
        let known = &mut self.known[creator.index()];
        *known = number.max(*known);
    }

    /// Appends all that it lacks in the format of runs.
    pub fn put_missing(
        &mut self,
        store: &Store,
        own: Option<Rank>,
        edges: bool,
        out: &mut Vec<u8>,
    ) -> u64 {
        let mut count = 0;
        for &creator in store.active() {
            let last = store.last(creator);
            let known = &mut self.known[creator.index()];
            if *known < last && own != Some(creator) {
                count += super::encoding::put_run(out, store, creator, *known, edges);
                *known = last;
            }
        }
        count
    }

    /// Adds an event that the peer sent.
    ///
    /// # Errors
    /// It contradicts what is known.
    pub fn learn(
        &mut self,
        store: &mut Store,
        creator: Rank,
        number: EventNo,
        event: Event,
    ) -> Result<bool, Conflict> {
        self.has(creator, number);
        store.add(creator, number, event)
    }
}
