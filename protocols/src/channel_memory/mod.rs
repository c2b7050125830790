//! `channel-memory` (MPICH-V1; mpich-v-2006 §3.2): every rank has a channel memory, a stable
//! server.
//!
//! The memory stores payload and order of everything that is sent to its rank, and the outcomes of
//! the rank's tests, probes and clocks. A send is a put into the receiver's memory. What a rank
//! receives comes in one stream out of its own memory.
//!
//! Guarantees: everything that a rank was given is stored, in the order in which it was given. A
//! restart therefore needs nothing from other ranks, however many of them died.
//!
//! The order of the stream decides every match: each posted receive takes the first message that
//! fits and that no earlier receive took. The interleaving of the two sequences in time does not
//! matter. Posting order and stream order are two master lists, and two master lists have one
//! stable matching. A later receive or message stands last in every list and changes no earlier
//! match. So no match is recorded, only answers of calls: tests, probes, clocks, cancels, services.
//! Answers are stored before anything leaves, as under [`crate::pessimistic`], whose machine this
//! is.
//!
//! Messages of a rank to itself take the same way: otherwise their place among the others would
//! depend on timing. Acknowledgements of synchronous sends have no number of their own. The rank
//! repeats them until the memory has acknowledged them; a repeated one does no harm.

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
