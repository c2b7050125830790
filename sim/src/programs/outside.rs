//! Every rank receives from any rank and then does something to the world outside. It writes what
//! it has heard so far, makes and deletes a file of its own, or tries to make a file that all want.
//! In most rounds one rank alone chooses. It sends a message to the next rank, which expects that
//! message and writes its contents at once: so the deed depends on variants of another rank only.
//! After a failure the world outside shows nothing that a lost state did, and no errors that never
//! were. Of the ranks that want the same file exactly one gets it.

use super::{E, irecv, isend, mix, recv, tell_all, word};
use crate::link::SimLink;
use crate::world::with;
use ftmpi_core::engine::{Effect, Link, SendMode, Source, Tag};

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

fn hear(e: &mut E, digest: u64) -> u64 {
    let mut into = [0; 16];
    let request = irecv(e, &mut into, Source::Any, Tag::Is(0));
    let done = e.wait(request);
    mix(digest, mix(done.source.index() as u64, word(&into, 1)))
}

pub(super) fn outside(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let rounds = 24 / size as u64 + 2;
    let (mut digest, mut count, mut won) = (me as u64, 0u64, Vec::new());
    for round in 0..rounds {
        // In most rounds one alone chooses.
        let (alone, chooser) = (round % 4 != 0 && size > 1, round as usize % size);
        let mut sends = Vec::new();
        for to in (0..size).filter(|&to| to != me && (!alone || to == chooser)) {
            let data = [round.to_le_bytes(), digest.to_le_bytes()].concat();
            if let Some(request) = isend(e, &data, to, 0, SendMode::Standard) {
                sends.push((request, data));
            }
        }
        if alone {
            let next = (chooser + 1) % size;
            if me == chooser {
                digest = (1..size).fold(digest, |digest, _| hear(e, digest));
                let said = digest.to_le_bytes();
                let request = isend(e, &said, next, 1, SendMode::Standard);
                request.map(|request| e.wait(request));
            } else if me == next {
                let heard = word(&recv(e, 8, chooser, 1), 0);
                let key = (me as u64) << 32 | 1 << 31 | round;
                let written = e.effect_repeatable(|link| {
                    let answer = with(|world| world.write_outside(key, heard));
                    link.point("heard");
                    answer
                });
                assert_eq!(written, Some(heard >> 2), "what was answered then");
            }
        } else {
            for _ in 1..size {
                digest = hear(e, digest);
                count += 1;
                let (key, value) = ((me as u64) << 32 | count, digest);
                let written =
                    e.effect_repeatable(|_| with(|world| world.write_outside(key, value)));
                assert_eq!(written, Some(value >> 2), "what was answered then");
                if digest >> 13 & 1 == 0 {
                    assert_eq!(once(e, key, false), 0, "rank {me} makes its file {count}");
                    assert_eq!(once(e, key, true), 0, "rank {me} deletes its file {count}");
                }
            }
            won.push(1 - once(e, 1 << 60 | round, false));
        }
        for (request, _data) in sends {
            e.wait(request);
        }
    }
    let mut wins = vec![0; won.len()];
    for words in tell_all(e, size, &won) {
        wins.iter_mut().zip(words).for_each(|(sum, won)| *sum += won);
    }
    // (Without stable storage no rank knows afterwards.)
    let judged = with(|world| world.judges_outside());
    assert!(
        !judged || wins.iter().all(|&wins| wins == 1),
        "of those who want a file one makes it: {wins:?}"
    );
    digest
}
