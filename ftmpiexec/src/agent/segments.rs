//! Memory that ranks of this host share (`MPI_Win_allocate_shared`).
//!
//! Guarantees: all ranks that ask for one name get the same memory, and no other rank does. A rank
//! that returned to an earlier state never gets memory of the later state. All ranks of its cluster
//! have new incarnations then, and the creator's incarnation is part of the key. Nothing is left in
//! the file system. The agent drops the memory when the first rank that has it leaves it.

use super::Agent;
use super::directory::RankKey;
use super::page::sealed_memfd;
use crate::agent_protocol::Report;
use crate::tuning::OPEN_SEGMENTS_MAX;
use ftmpi_wire::control::{SegmentName, ToRank};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

/// A name, and the incarnation of the rank that gave it.
pub(super) type Key = (SegmentName, Incarnation);

/// Memory that not all ranks have yet.
#[derive(Debug)]
struct Segment {
    memory: OwnedFd,
    bytes: u64,
    /// So many ranks have not asked for it.
    left: u32,
}

/// A rank asks for shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The memory's name.
    pub name: SegmentName,
    /// Its length.
    pub bytes: u64,
    /// How many ranks will ask for it.
    pub takers: u32,
}

/// The shared memory of this host.
#[derive(Debug, Default)]
pub struct Segments(BTreeMap<Key, Segment>);

impl Segments {
    /// A rank has a new incarnation: names that its earlier incarnations gave are over.
    pub fn forget(&mut self, creator: Rank, before: Incarnation) {
        self.0.retain(|(name, incarnation), _| name.creator != creator || *incarnation >= before);
    }

    /// A rank that has the memory leaves it: no rank asks for it any more. (A rank that never asked
    /// had left it at the image from which it came back.)
    pub fn over(&mut self, key: Key) {
        self.0.remove(&key);
    }

    /// The memory of this name, made at the first request.
    pub(super) fn take(&mut self, key: Key, bytes: u64, takers: u32) -> io::Result<OwnedFd> {
        if !self.0.contains_key(&key) {
            if self.0.len() >= OPEN_SEGMENTS_MAX {
                return Err(io::Error::other(format!(
                    "{OPEN_SEGMENTS_MAX} others wait to be joined"
                )));
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
    pub(super) fn stop_sharing(&mut self, name: SegmentName) {
        let creator = self.directory.borrow().incarnation(name.creator);
        if let Some(creator) = creator {
            self.segments.over((name, creator));
        }
    }

    /// A rank asks for memory that it shares with others.
    pub(super) fn share(&mut self, (rank, incarnation): RankKey, request: Request) {
        let Request { name, bytes, takers } = request;
        let creator = {
            let directory = self.directory.borrow();
            let here = directory.host_of.get(name.creator.index()) == Some(&self.host);
            directory.incarnation(name.creator).filter(|_| here)
        };
        let answer = match creator {
            Some(creator) => self.segments.take((name, creator), bytes, takers),
            None => {
                let text = format!("rank {} is on another host now", name.creator);
                Err(io::Error::other(text))
            }
        };
        let (why, passed) = match answer {
            Ok(memory) => (None, vec![memory]),
            Err(e) => (Some(e.to_string()), Vec::new()),
        };
        if let Some(process) = self.ranks.get(rank, incarnation) {
            process.send(&ToRank::Segment { name, why }, passed, false);
        }
        if name.serial.is_none() {
            // From now on the ranks of a host must stay together.
            self.link.report(rank, incarnation, Report::SharesMemory);
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
    fn one_name_is_one_memory_until_all_have_it_or_its_incarnation_is_over() {
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
    fn an_impossible_length_is_refused() {
        let mut segments = Segments::default();
        assert!(segments.take(name(1), u64::MAX, 2).is_err(), "more than a file can have");
    }
}
