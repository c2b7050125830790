//! `channel-memory` (MPICH-V1; mpich-v-2006 §4.1): every rank has a home memory, a stable server
//! that stores payload and order of all that is sent to it, and the outcomes of its tests, probes
//! and clocks. A send is a put into the receiver's memory; what a rank receives comes in one stream
//! out of its own.
//!
//! Guarantees: what a rank was given is stored, in the order in which it was given; so a restart
//! needs nothing from other ranks, whatever number of them died. The order of the stream decides
//! every match: each posted receive takes the first message in the stream that fits and that no
//! earlier receive took, however the two sequences were interleaved in time. (Posting order and
//! stream order are two master lists, for which there is one stable matching; a receive or a
//! message that comes later stands last in every list, so it changes no match that was made.) Hence
//! no match is recorded, only what a call answered: tests, probes, clocks, cancels, services. Those
//! are stored before anything leaves, as under [`crate::pessimistic`], whose machine this is.
//!
//! Messages to itself take the same way, or their place among the others would depend on timing.
//! Acknowledgements of synchronous sends bear no number of their own: the rank repeats them until
//! the memory has said that it has them; what is told twice does no harm.

mod server;
#[cfg(test)]
mod tests;

pub use server::{Fate, Memory, Record, Say, Summary};

use crate::pessimistic::Pessimistic;
use crate::protocol::Hooks;

/// The rank's side. `all`: every reception becomes a determinant, though none is needed.
#[must_use]
pub fn protocol(all: bool, clock: bool) -> Pessimistic {
    Pessimistic::with_hooks(Hooks {
        log_payload: true,
        all_matches: all,
        outcomes: true,
        clock,
        sends: true,
        logger: true,
        memory: true,
        ..Hooks::default()
    })
}
