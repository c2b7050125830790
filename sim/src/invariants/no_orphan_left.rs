//! Every orphan rolls back: when all programs are over, and the news have had the time to arrive, nobody
//! depends on an event that is lost (o2p-2009).

use super::dependencies::Dependencies;

/// So many events of the simulation may pass until everybody has heard of what was lost.
pub const EVENTS_MAX: u64 = 20_000;

/// Somebody who depends on what is lost, in words.
pub fn find(known: &Dependencies) -> Option<String> {
    let (rank, on) = known.orphan()?;
    Some(format!("invariant no-orphan-left is broken: rank {rank} depends on what is lost: {on:?}"))
}
