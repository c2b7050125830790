//! Everybody hears from any and, after each message, does something to the world outside: writes what it has
//! heard so far, makes and deletes a file of its own, tries to be the first to make one that all want. A
//! failure must not leave there what a lost state did, must not show errors that never were, and of those who
//! want the same file one gets it.

use super::{E, irecv, isend, mix, tell_all, word};
use crate::link::SimLink;
use crate::world::with;
use ftmpi_core::engine::{Effect, SendMode, Source, Tag};

/// A file that only one may make, or delete.
struct File {
    name: u64,
    deletes: bool,
    /// What is made, before it has the name.
    made: u64,
}

impl Effect<SimLink> for File {
    fn look(&mut self, _: &mut SimLink) -> u64 {
        if self.deletes {
            return with(|world| world.file(self.name));
        }
        self.made = with(|world| world.new_file());
        self.made
    }

    fn act(&mut self, _: &mut SimLink) -> u64 {
        if self.deletes {
            return u64::from(!with(|world| world.delete(self.name)));
        }
        if self.made == 0 {
            self.made = with(|world| world.new_file());
        }
        u64::from(!with(|world| world.give_name(self.made, self.name)))
    }

    fn judge(&mut self, _: &mut SimLink, mark: u64) -> Option<u64> {
        let now = with(|world| world.file(self.name));
        let took_place = if self.deletes { mark != 0 && now != mark } else { now == mark };
        took_place.then_some(0)
    }
}

fn once(e: &mut E, name: u64, deletes: bool) -> u64 {
    e.effect_once(&mut File { name, deletes, made: 0 }).expect("nothing is tested here")
}

pub(super) fn outside(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let rounds = 16 / size as u64 + 2;
    let (mut digest, mut count, mut won) = (me as u64, 0u64, Vec::new());
    for round in 0..rounds {
        let mut sends = Vec::new();
        for to in (0..size).filter(|&to| to != me) {
            let data = [round.to_le_bytes(), digest.to_le_bytes()].concat();
            if let Some(request) = isend(e, &data, to, 0, SendMode::Standard) {
                sends.push((request, data));
            }
        }
        for _ in 1..size {
            let mut into = [0; 16];
            let request = irecv(e, &mut into, Source::Any, Tag::Any);
            let done = e.wait(request);
            digest = mix(digest, mix(done.source.index() as u64, word(&into, 1)));
            count += 1;
            let (key, value) = ((me as u64) << 32 | count, digest);
            let written = e.effect_repeatable(|_| with(|world| world.write_outside(key, value)));
            assert_eq!(written, Some(value >> 2), "what was answered then");
            if digest >> 13 & 1 == 0 {
                assert_eq!(once(e, key, false), 0, "rank {me} makes its file {count}");
                assert_eq!(once(e, key, true), 0, "rank {me} deletes its file {count}");
            }
        }
        won.push(1 - once(e, 1 << 60 | round, false));
        for (request, _data) in sends {
            e.wait(request);
        }
    }
    let mut wins = vec![0; won.len()];
    for words in tell_all(e, size, &won) {
        wins.iter_mut().zip(words).for_each(|(sum, won)| *sum += won);
    }
    // (Without stable storage nobody knows afterwards.)
    let judged = with(|world| world.judges_outside());
    assert!(
        !judged || wins.iter().all(|&wins| wins == 1),
        "of those who want a file one makes it: {wins:?}"
    );
    digest
}
