//! The state that is left is the greatest consistent one. Every event that a new incarnation does
//! not repeat depends on a lost event (Ropars and Morin 2007; o2p-2009).

use super::broken;
use super::dependencies::{Dependencies, Truth};
use ftmpi_wire::{Determinant, EventNo};

/// A new incarnation repeats its log, the records behind `base`, up to the place `after`; its image
/// depended on `truth`. What the incarnation then depends on.
pub fn repeats(
    rank: usize,
    (base, log): (EventNo, Vec<Determinant>),
    after: EventNo,
    mut truth: Truth,
    known: &Dependencies,
) -> Truth {
    let mut valid: Vec<EventNo> = Vec::new();
    for (record, place) in log.iter().zip(base.0 + 1..) {
        match *record {
            Determinant::Begins { after, .. } => valid.retain(|place| *place <= after),
            _ => valid.push(EventNo(place)),
        }
    }
    for place in valid {
        let Some(of_event) = known.of_event(rank, place) else { continue };
        if place <= after {
            super::dependencies::add(&mut truth, of_event);
        } else if known.lost(of_event).is_none() {
            let how = format!(
                "rank {rank} goes on after event {after}, but event {place} depends on nothing that is \
                 lost"
            );
            broken("greatest-state", &how);
        } else {
            break;
        }
    }
    truth
}
