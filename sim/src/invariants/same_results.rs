//! A run with failures ends with the results of a run without. No message was lost, taken twice or
//! taken out of order (mpich-v-2006 §2, piecewise deterministic execution).
//!
//! Of programs whose results do not depend on timing. The others check what they see themselves:
//! each side the order of what the other says.

use crate::fault::Fault;

/// Compares what the programs of all ranks returned.
///
/// # Errors
/// They differ.
pub fn compare(results: &[u64], without_failures: &[u64]) -> Result<(), Fault> {
    match results == without_failures {
        true => Ok(()),
        false => Err(Fault::ResultsDiffer),
    }
}
