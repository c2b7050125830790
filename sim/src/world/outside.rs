//! What is outside of all ranks: files, which no image contains and no failure takes back.
//!
//! Invariants: a rank writes the same to a place in all of its incarnations, so nothing is written
//! from a state that may be lost. The programs check the rest.

use super::{Setup, World};
use ftmpi_protocols::event_log::Promise;
use std::collections::BTreeMap;

/// Files.
#[derive(Debug, Default)]
pub struct Outside {
    /// What was written where.
    written: BTreeMap<u64, u64>,
    /// Which file a name leads to.
    names: BTreeMap<u64, u64>,
    /// The last file that was made.
    last: u64,
}

impl World {
    /// Is there stable storage, so that something can be said? Waves return to states before what
    /// was done, and where events live in the memory of others only, nothing is ever known to be
    /// stable. Loggers that promise no more than that events are written may lose with their power
    /// what led to something here.
    #[must_use]
    pub fn judges_outside(&self) -> bool {
        let Setup { variant, outages, promise, .. } = &self.setup;
        let survives = *outages == 0 || *promise == Promise::Durable;
        !variant.is_coordinated() && (variant.has_logger() || variant.has_memories()) && survives
    }

    /// A rank writes; answers with something that depends on it.
    pub fn write_outside(&mut self, place: u64, value: u64) -> u64 {
        let before = *self.outside.written.entry(place).or_insert(value);
        assert!(
            before == value || !self.judges_outside(),
            "rank {} wrote at {place:#x} from a state that was lost",
            place >> 32
        );
        value >> 2
    }

    /// A file without a name.
    pub fn new_file(&mut self) -> u64 {
        self.outside.last += 1;
        self.outside.last
    }

    /// The file with this name; 0: none.
    #[must_use]
    pub fn file(&self, name: u64) -> u64 {
        self.outside.names.get(&name).copied().unwrap_or(0)
    }

    /// Gives a file a name; false if it is taken.
    pub fn give_name(&mut self, file: u64, name: u64) -> bool {
        if self.judges_outside() && self.outside.names.contains_key(&name) {
            return false;
        }
        self.outside.names.insert(name, file);
        true
    }

    /// Takes a name away; false if there is none.
    pub fn delete(&mut self, name: u64) -> bool {
        self.outside.names.remove(&name).is_some() || !self.judges_outside()
    }
}
