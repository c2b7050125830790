//! Every orphan rolls back: when the job ends, nobody depends on an event that is lost (o2p-2009).

use super::dependencies::Dependencies;

/// Somebody who depends on what is lost, in words.
pub fn find(known: &Dependencies) -> Option<String> {
    let (rank, on) = known.orphan()?;
    Some(format!("invariant no-orphan-left is broken: rank {rank} depends on what is lost: {on:?}"))
}
