//! Reads and writes under locks. What is written under an exclusive lock depends on what was read
//! under it. So all writes to the memory of a rank form one chain from its first value to its last.
//! A reader under a shared lock sees one whole value of the chain, and never an earlier one than
//! before.

use super::{M, Memory, Rank, WORD, Words, peer};
use crate::programs::mix;
use ftmpi_core::mpi::Assert;
use ftmpi_core::op::Predefined;
use std::collections::BTreeMap;

/// A value, written in two pieces that must agree, and what fills a message that is announced
/// first.
const VALUE: usize = 0;
const FILLING: usize = 12;
const WRITES: usize = VALUE + 2 + FILLING;
const WORDS: usize = WRITES + 1;

const ROUNDS: u64 = 12;

/// Reads the value; both pieces of it.
fn read(rank: &mut Rank<'_>, memory: Memory, of: usize) -> u64 {
    let mut both = Words::room(2 + FILLING);
    if of == rank.me {
        (0..both.0.len()).for_each(|word| both.0[word] = memory.load(VALUE + word));
    } else {
        rank.get(memory, of, VALUE, &mut both);
        rank.call(|mpi| mpi.win_flush(memory.window, Some(peer(of))));
    }
    let value = both.0[0];
    let whole = both.0[1..].iter().all(|word| *word == value);
    assert!(whole, "rank {} reads a value of rank {of} that is half written", rank.me);
    value
}

fn write(rank: &mut Rank<'_>, memory: Memory, to: usize, value: u64) -> [Words; 3] {
    let (mut first, mut rest) = (Words::new(&[value]), Words::new(&[value; 1 + FILLING]));
    let mut one = Words::new(&[1]);
    if to == rank.me {
        (0..2 + FILLING).for_each(|word| memory.store(VALUE + word, value));
        memory.store(WRITES, memory.load(WRITES) + 1);
    } else {
        rank.put(memory, to, VALUE, &mut first);
        rank.put(memory, to, VALUE + 1, &mut rest);
        rank.accumulate(memory, to, WRITES, &mut one, (Predefined::Sum, WORD));
    }
    [first, rest, one]
}

pub(in crate::programs) fn locks(mpi: &mut M) -> u64 {
    let mut rank = Rank::new(mpi);
    let (me, size) = (rank.me, rank.size);
    let memory = rank.allocate(WORDS);
    // The owner, what was read, and what was written then: 0 for nothing.
    let mut seen = Vec::new();
    for k in 0..ROUNDS {
        let of = (rank.digest >> 20) as usize % size;
        let writes = !rank.digest.is_multiple_of(3);
        rank.call(|mpi| mpi.win_lock(memory.window, peer(of), writes, Assert::default()));
        let found = read(&mut rank, memory, of);
        let written = match writes {
            true => mix(found, (me as u64) << 32 | (k + 1)),
            false => 0,
        };
        let data = writes.then(|| write(&mut rank, memory, of, written));
        rank.call(|mpi| mpi.win_unlock(memory.window, peer(of)));
        drop(data);
        rank.sees(mix(found, of as u64));
        seen.extend([of as u64, found, written]);
        if k % 4 == 3 {
            rank.talk();
        }
    }
    rank.barrier();
    rank.call(|mpi| mpi.win_lock(memory.window, peer(me), false, Assert::default()));
    seen.extend([memory.load(VALUE), memory.load(WRITES)]);
    rank.call(|mpi| mpi.win_unlock(memory.window, peer(me)));
    let all = rank.ends(&seen);
    judge(&all);
    rank.free(memory);
    rank.digest
}

fn judge(all: &[Vec<u64>]) {
    let steps = |seen: &[u64]| -> Vec<[u64; 3]> {
        let (steps, _) = seen.split_at(seen.len() - 2);
        steps.as_chunks::<3>().0.to_vec()
    };
    for (of, seen) in all.iter().enumerate() {
        let (value, count) = (seen[seen.len() - 2], seen[seen.len() - 1]);
        let all_steps = || all.iter().flat_map(|seen| steps(seen));
        let writes = || all_steps().filter(|step| step[0] == of as u64 && step[2] != 0);
        let mut next = BTreeMap::new();
        for [_, found, written] in writes() {
            let other = next.insert(found, written);
            assert_eq!(other, None, "two wrote to rank {of} after they had read {found:x} alone");
        }
        assert_eq!(count, next.len() as u64, "all that was written to rank {of} was counted");
        let chain: Vec<u64> =
            std::iter::successors(Some(0), |value| next.get(value).copied()).collect();
        assert_eq!(chain.len(), next.len() + 1, "the writes to rank {of} form one chain");
        assert_eq!(chain.last(), Some(&value), "the last value of rank {of}");
        let place: BTreeMap<u64, usize> =
            chain.iter().enumerate().map(|(place, value)| (*value, place)).collect();
        for (reader, seen) in all.iter().enumerate() {
            let mut last = 0;
            for [_, found, written] in steps(seen).into_iter().filter(|step| step[0] == of as u64) {
                let Some(&at) = place.get(&found) else {
                    panic!("rank {reader} read of rank {of} what nobody wrote")
                };
                assert!(at >= last, "rank {reader} reads of rank {of} what was there before");
                last = at + usize::from(written != 0);
            }
        }
    }
}
