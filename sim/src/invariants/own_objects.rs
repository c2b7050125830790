//! What is sent on an object (a communicator, a window, a file, a persistent request, a
//! communicator of a session) is taken by that object and by no later one, though the numbers of
//! freed objects are given again (MPI-4.1, 7.1.1: communication in one context is not received in
//! another).
//!
//! The programs say it: what they send names the object that they mean.

use super::broken;

/// A rank takes with the `by`-th object of its program what was sent on the `of`-th.
pub fn takes(rank: usize, kind: &str, of: u64, by: u64) {
    if of != by {
        let how = format!("rank {rank} takes with {kind} {by} what was sent on {kind} {of}");
        broken("own-objects", &how);
    }
}
