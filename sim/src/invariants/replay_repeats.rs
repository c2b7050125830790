//! A receive that was recorded takes the same message again, no matter what else has arrived by
//! then (mpich-v-2006 §2: the same sequence of receptions).

use super::broken;
use ftmpi_protocols::determinant_sender::Cursor;
use ftmpi_wire::{Determinant, Rank, Ssn};
use std::collections::BTreeMap;

/// What is recorded of one incarnation, in the memory of its rank.
#[derive(Debug, Default)]
pub struct ReplayRepeats {
    recorded: BTreeMap<u64, (Rank, Ssn)>,
}

impl ReplayRepeats {
    /// An incarnation has received its log. Copies of events of others in it are not its own.
    pub fn receives_log(&mut self, log: &[Determinant]) {
        self.recorded.clear();
        let mut cursor = Cursor::default();
        for record in log {
            let foreign = cursor.foreign > 0;
            cursor.pass(record);
            if let Determinant::Match { post: post @ 1.., source, ssn, .. } = *record
                && !foreign
            {
                self.recorded.insert(post, (source, ssn));
            }
        }
    }

    /// A receive takes a message; 0: one from a named source, of which nothing needs to be
    /// recorded.
    pub fn takes(&mut self, rank: usize, post: u64, source: Rank, ssn: Ssn) {
        if let Some((was, number)) = self.recorded.remove(&post)
            && (was, number) != (source, ssn)
        {
            let how = format!(
                "receive {post} of rank {rank} took message {number} of rank {was}, and now takes {ssn} \
                 of rank {source}"
            );
            broken("replay-repeats", &how);
        }
    }
}
