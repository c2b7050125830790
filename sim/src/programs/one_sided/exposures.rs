//! Post, start, complete, wait: each rank lets its neighbours in and accesses theirs. What they
//! store has its place; in what order they draw numbers depends on timing, and each number is drawn
//! once.

use super::{M, Rank, Words, peer};
use crate::programs::mix;
use ftmpi_core::mpi::{CommId, SendKind, Tag};
use ftmpi_core::op::Predefined;
use std::collections::BTreeSet;

/// Numbers that were drawn; the last one who drew; blocks of the neighbours.
const DRAWN: usize = 0;
const LAST: usize = 1;
const BLOCKS: usize = 2;
const BLOCK: usize = 7;

const ROUNDS: usize = 10;

pub(in crate::programs) fn exposures(mpi: &mut M) -> u64 {
    let mut rank = Rank::new(mpi);
    let (me, size) = (rank.me, rank.size);
    let memory = rank.allocate(BLOCKS + size * BLOCK);
    let neighbours: BTreeSet<usize> = [(me + 1) % size, (me + size - 1) % size].into();
    let neighbours: Vec<usize> = neighbours.into_iter().filter(|other| *other != me).collect();
    let group = rank.call(|mpi| {
        let world = mpi.win_get_group(memory.window)?;
        let group = mpi.groups.get(world)?.incl(neighbours.iter().map(|&other| other as i64))?;
        mpi.groups.free(world)?;
        mpi.groups.insert(group)
    });
    let mut drawn = Vec::new();
    for k in 0..ROUNDS {
        rank.call(|mpi| mpi.win_post(memory.window, group));
        rank.call(|mpi| mpi.win_start(memory.window, group));
        let mut kept = Vec::new();
        for &to in &neighbours {
            let mut data = Words::new(&[mix(rank.digest, to as u64); BLOCK]);
            rank.put(memory, to, BLOCKS + me * BLOCK, &mut data);
            let (mut one, mut number) = (Words::new(&[1]), Words::room(1));
            rank.fetch(memory, to, DRAWN, (&mut one, &mut number), Predefined::Sum);
            let (mut name, mut before) = (Words::new(&[me as u64 + 1]), Words::room(1));
            rank.fetch(memory, to, LAST, (&mut name, &mut before), Predefined::Replace);
            kept.push((to, data, one, number, name, before));
        }
        rank.call(|mpi| mpi.win_complete(memory.window));
        if (k + me) % 2 == 0 {
            rank.call(|mpi| mpi.win_wait(memory.window));
        } else {
            // The number of vain looks becomes part of what it sends.
            while !rank.call(|mpi| mpi.win_test(memory.window)) {
                rank.sees(7);
            }
        }
        let all = ((k + 1) * neighbours.len()) as u64;
        assert_eq!(memory.load(DRAWN), all, "all neighbours drew a number in round {k}");
        rank.sees(memory.load(LAST));
        for &from in &neighbours {
            let at = BLOCKS + from * BLOCK;
            let block: Vec<u64> = (at..at + BLOCK).map(|word| memory.load(word)).collect();
            assert!(block.iter().all(|word| *word == block[0]), "a block comes whole: {block:?}");
            rank.sees(block[0]);
        }
        for (to, _, _, number, _, before) in kept {
            let (number, before) = (number.0[0], before.0[0]);
            let first = (k * neighbours.len()) as u64;
            assert!((first..first + neighbours.len() as u64).contains(&number), "of this round");
            drawn.push(mix(to as u64, number));
            rank.sees(mix(number, before));
            tell_number(&mut rank, to, number);
        }
        let mut numbers: Vec<u64> =
            neighbours.iter().map(|&from| hear_number(&mut rank, from)).collect();
        numbers.sort_unstable();
        let expected: Vec<u64> = (all - neighbours.len() as u64..all).collect();
        assert_eq!(numbers, expected, "each number is drawn once in round {k}");
        if k % 3 == 2 {
            rank.talk();
        }
    }
    rank.ends(&drawn);
    rank.call(|mpi| mpi.groups.free(group));
    rank.free(memory);
    rank.digest
}

/// The owner of the numbers hears which one was drawn.
fn tell_number(rank: &mut Rank<'_>, to: usize, number: u64) {
    let mut word = Words::new(&[number]);
    let (at, kind) = (word.user_ptr(), SendKind::Standard);
    rank.call(|mpi| mpi.send(kind, at, 1, super::WORD, peer(to), 1, CommId::WORLD));
}

fn hear_number(rank: &mut Rank<'_>, from: usize) -> u64 {
    let mut word = Words::room(1);
    let at = word.user_ptr();
    rank.call(|mpi| mpi.recv(at, 1, super::WORD, peer(from), Tag::Is(1), CommId::WORLD));
    word.0[0]
}
