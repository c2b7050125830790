//! Between fences: puts, gets, accumulates of all kinds, with data in the request and apart from
//! it. Nothing there depends on timing, the bits of sums of real numbers neither.

use super::{M, Memory, REAL, Rank, WORD, Words};
use crate::programs::mix;
use ftmpi_core::info::Info;
use ftmpi_core::mpi::{Assert, CommId};
use ftmpi_core::op::Predefined;

/// Words that each origin puts.
const BLOCK: usize = 8;
/// So many that they do not go with their request.
const APART: usize = 1030;

/// Places in a rank's part: sums of integers and of real numbers, values of its owner, values that
/// one neighbour puts, and a block of each origin.
const SUM: usize = 0;
const REALS: usize = 1;
const OWN: usize = 3;
const LARGE: usize = 5;
const BLOCKS: usize = LARGE + APART;

fn block(from: usize, to: usize, k: usize) -> Vec<u64> {
    (0..BLOCK).map(|i| mix((from * 8 + to) as u64, (k * BLOCK + i) as u64)).collect()
}

/// A window that may be locked, and so is served at any time, or one that cannot.
fn window(rank: &mut Rank<'_>, lockable: bool) -> Memory {
    let words = BLOCKS + rank.size * BLOCK;
    if lockable {
        return rank.allocate(words);
    }
    let memory = rank.call(|mpi| {
        let mut info = Info::default();
        info.set(b"no_locks", b"true")?;
        let info = mpi.infos.insert(info)?;
        let (window, base) = mpi.win_allocate(8 * words as i64, 8, Some(info), CommId::WORLD)?;
        mpi.infos.free(info)?;
        Ok(Memory { window, base })
    });
    (0..words).for_each(|word| memory.store(word, 0));
    rank.barrier();
    memory
}

fn fence(rank: &mut Rank<'_>, memory: Memory) {
    rank.call(|mpi| mpi.win_fence(memory.window, Assert::default()));
}

/// An epoch in which all store, and one in which all look.
fn round(rank: &mut Rank<'_>, memory: Memory, k: usize) {
    let (me, size) = (rank.me, rank.size);
    let right = (me + 1) % size;
    let mut data: Vec<Words> = Vec::new();
    for to in 0..size {
        let mut words = Words::new(&block(me, to, k));
        rank.put(memory, to, BLOCKS + me * BLOCK, &mut words);
        data.push(words);
        let mut one = Words::new(&[(me + 1) as u64]);
        rank.accumulate(memory, to, SUM, &mut one, (Predefined::Sum, WORD));
        data.push(one);
        // Of very different sizes: another order, another sum.
        let values = [1e16 / (me + 1) as f64, 1.0 / (k + me + 2) as f64];
        let mut reals = Words::new(&values.map(f64::to_bits));
        rank.accumulate(memory, to, REALS, &mut reals, (Predefined::Sum, REAL));
        data.push(reals);
    }
    if k % 3 == 1 {
        let large: Vec<u64> = (0..APART).map(|i| mix(k as u64, (me * APART + i) as u64)).collect();
        let mut words = Words::new(&large);
        rank.put(memory, right, LARGE, &mut words);
        data.push(words);
    }
    memory.store(OWN, rank.digest);
    fence(rank, memory);
    drop(data);
    for from in 0..size {
        let at = BLOCKS + from * BLOCK;
        let found: Vec<u64> = (at..at + BLOCK).map(|word| memory.load(word)).collect();
        assert_eq!(found, block(from, me, k), "what rank {from} put in round {k}");
    }
    let sum = (k + 1) * size * (size + 1) / 2;
    assert_eq!(memory.load(SUM), sum as u64, "the sum after round {k}");
    rank.sees(mix(memory.load(REALS), memory.load(REALS + 1)));
    rank.sees((0..APART).fold(0, |digest, i| mix(digest, memory.load(LARGE + i))));
    // Nobody stores where others look.
    let mut found: Vec<Words> = (0..size).map(|_| Words::room(1)).collect();
    for (from, words) in found.iter_mut().enumerate() {
        rank.get(memory, from, OWN, words);
    }
    let mut blocks = Words::room(size * BLOCK);
    rank.get(memory, right, BLOCKS, &mut blocks);
    let (mut data, mut before) = (Words::new(&[mix(me as u64, k as u64)]), Words::room(1));
    rank.fetch(memory, right, OWN + 1, (&mut data, &mut before), Predefined::Bxor);
    fence(rank, memory);
    let expected: Vec<u64> = (0..size).flat_map(|from| block(from, right, k)).collect();
    assert_eq!(blocks.0[..], expected, "what all put to rank {right} in round {k}");
    found.iter().for_each(|words| rank.sees(words.0[0]));
    rank.sees(before.0[0]);
}

pub(in crate::programs) fn fences(mpi: &mut M) -> u64 {
    let mut rank = Rank::new(mpi);
    for part in 0..2 {
        // Later windows take the place of earlier ones.
        let both = [window(&mut rank, part == 0), window(&mut rank, part == 1)];
        both.into_iter().for_each(|memory| fence(&mut rank, memory));
        for k in 0..4 {
            round(&mut rank, both[k % 2], k / 2);
            rank.talk();
        }
        both.into_iter().for_each(|memory| rank.free(memory));
    }
    rank.ends(&[]);
    rank.digest
}
