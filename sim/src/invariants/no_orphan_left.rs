//! Every orphan rolls back: when the job ends, nobody depends on an event that is lost (o2p-2009).

use super::dependencies::Dependencies;
use crate::fault::Fault;

/// A rank that depends on a lost event, if there is one.
pub fn find(known: &Dependencies) -> Option<Fault> {
    let (rank, on) = known.orphan()?;
    Some(Fault::Orphan { rank, on })
}
