//! Memory that ranks of this host share (`MPI_Win_allocate_shared`).
//!
//! Guarantees: all ranks that ask under one name get the same memory, and nobody else does; who returned to
//! an earlier state never meets memory of the later one (all of them have new lives then, and the creator's is
//! part of the key); nothing is left in the file system, and nothing is held any more when the first of those
//! who have it leaves it.

use super::Agent;
use super::page::sealed_memfd;
use crate::agent_protocol::Report;
use ftmpi_wire::control::{SegmentName, ToRank};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

/// Names that are open at a time, at the most: a rank that asks for more than any program has is wrong.
const OPEN_MAX: usize = 4096;

/// A name, and the life of whoever gave it.
type Key = (SegmentName, Incarnation);

/// One piece that not all have yet.
#[derive(Debug)]
struct Segment {
    memory: OwnedFd,
    bytes: u64,
    /// So many have not asked for it.
    left: u32,
}

/// Those of this host.
#[derive(Debug, Default)]
pub struct Segments(BTreeMap<Key, Segment>);

impl Segments {
    /// A rank has another life: what was named in earlier ones is over.
    pub fn forget(&mut self, creator: Rank, before: Incarnation) {
        self.0.retain(|(name, life), _| name.creator != creator || *life >= before);
    }

    /// Somebody who has it leaves it: nobody asks any more, also if one never did, which had left it when the
    /// image was taken from which it came back.
    pub fn over(&mut self, key: Key) {
        self.0.remove(&key);
    }

    fn take(&mut self, key: Key, bytes: u64, takers: u32) -> io::Result<OwnedFd> {
        if !self.0.contains_key(&key) {
            if self.0.len() >= OPEN_MAX {
                return Err(io::Error::other(format!("{OPEN_MAX} others wait to be joined")));
            }
            let memory = sealed_memfd("ftmpi-window", bytes)?;
            self.0.insert(key, Segment { memory, bytes, left: takers.max(1) });
        }
        let segment = self.0.get_mut(&key).expect("just made");
        if segment.bytes != bytes {
            return Err(io::Error::other("another rank gave it another length"));
        }
        let memory = segment.memory.try_clone()?;
        segment.left -= 1;
        if segment.left == 0 {
            self.0.remove(&key);
        }
        Ok(memory)
    }
}

impl Agent {
    /// A rank leaves memory that it shared.
    pub(super) fn shared_no_more(&mut self, name: SegmentName) {
        let life = self.directory.borrow().incarnations.get(name.creator.index()).copied();
        if let Some(life) = life {
            self.segments.over((name, life));
        }
    }

    /// A rank asks for memory that it shares with others.
    pub(super) fn share(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        name: SegmentName,
        bytes: u64,
        takers: u32,
    ) {
        let known = {
            let directory = self.directory.borrow();
            let creator = name.creator.index();
            let here = directory.host_of.get(creator) == Some(&self.host);
            directory.incarnations.get(creator).copied().filter(|_| here)
        };
        let answer = match known {
            Some(life) => self.segments.take((name, life), bytes, takers),
            None => {
                let text = format!("rank {} is on another host now", name.creator);
                Err(io::Error::other(text))
            }
        };
        let (why, passed) = match answer {
            Ok(memory) => (None, vec![memory]),
            Err(e) => (Some(e.to_string()), Vec::new()),
        };
        if let Some(life) = self.process(rank, incarnation) {
            life.send(&ToRank::Segment { name, why }, passed, false);
        }
        if name.serial.is_none() {
            // From now on the ranks of a host must stay together.
            self.report(rank, incarnation, Report::SharesMemory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(incarnation: u32) -> Key {
        (SegmentName { creator: Rank(3), serial: Some(0) }, Incarnation(incarnation))
    }

    #[test]
    fn one_name_is_one_memory_until_all_have_it_or_its_life_is_over() {
        let mut segments = Segments::default();
        let first = segments.take(name(1), 4096, 3).unwrap();
        let second = segments.take(name(1), 4096, 3).unwrap();
        rustix::io::pwrite(&first, b"hello", 7).unwrap();
        let mut found = [0; 5];
        rustix::io::pread(&second, &mut found, 7).unwrap();
        assert_eq!(&found, b"hello");
        assert!(segments.take(name(1), 8192, 3).is_err(), "another length");
        assert!(segments.take(name(1), 4096, 3).is_ok());
        assert!(segments.0.is_empty(), "all have it");
        segments.take(name(1), 4096, 3).unwrap();
        segments.take(name(2), 4096, 3).unwrap();
        segments.forget(Rank(3), Incarnation(2));
        assert_eq!(segments.0.keys().copied().collect::<Vec<_>>(), [name(2)]);
        segments.over(name(2));
        assert!(segments.0.is_empty());
    }

    #[test]
    fn what_is_absurd_is_refused() {
        let mut segments = Segments::default();
        assert!(segments.take(name(1), u64::MAX, 2).is_err(), "more than a file can have");
    }
}
