//! All ranks draw tickets of counters that each rank has: by fetch-and-op or compare-and-swap, with
//! and without requests. One lock covers the whole time, or each draw has its own. Each ticket is
//! drawn once, and there is none between that nobody has.

use super::{M, Memory, Rank, WORD, Words, op, peer, target};
use ftmpi_core::mpi::Assert;
use ftmpi_core::mpi::OneSided;
use ftmpi_core::op::Predefined;

/// Counted by fetch-and-op, and by compare-and-swap; and how much in all.
const TICKETS: usize = 0;
const SWAPPED: usize = 1;
const TOTAL: usize = 2;
const WORDS: usize = 3;

const ROUNDS: u64 = 14;

/// Draws a ticket.
fn draw(rank: &mut Rank<'_>, memory: Memory, to: usize, k: u64) -> u64 {
    let (mut one, mut ticket) = (Words::new(&[1]), Words::room(1));
    if k % 3 != 2 {
        rank.fetch(memory, to, TICKETS, (&mut one, &mut ticket), Predefined::Sum);
        rank.call(|mpi| mpi.win_flush(memory.window, Some(peer(to))));
        return ticket.0[0];
    }
    let (origin, result) = (one.buffer(WORD), ticket.buffer(WORD));
    let what = OneSided::GetAccumulate { origin, result, op: op(Predefined::Sum) };
    let place = target(to, TICKETS, 1, WORD);
    let mut request = rank.call(|mpi| mpi.one_sided_request(memory.window, place, what));
    if k.is_multiple_of(2) {
        rank.call(|mpi| mpi.wait(&mut request));
    } else {
        while rank.call(|mpi| mpi.test(&mut request)).is_none() {
            rank.sees(7);
        }
    }
    ticket.0[0]
}

/// Counts by compare-and-swap; answers with what was there when it succeeded.
fn swap(rank: &mut Rank<'_>, memory: Memory, to: usize) -> u64 {
    let mut expected = 0;
    loop {
        let (mut compare, mut value) = (Words::new(&[expected]), Words::new(&[expected + 1]));
        let mut before = Words::room(1);
        let what = OneSided::CompareAndSwap {
            origin: value.user_ptr(),
            compare: compare.user_ptr(),
            result: before.buffer(WORD),
        };
        let place = target(to, SWAPPED, 1, WORD);
        rank.call(|mpi| mpi.one_sided(memory.window, place, what));
        rank.call(|mpi| mpi.win_flush(memory.window, Some(peer(to))));
        let found = before.0[0];
        rank.sees(found);
        if found == expected {
            return found;
        }
        assert!(found >= expected, "a counter never falls: {found} after {expected}");
        expected = found;
    }
}

pub(in crate::programs) fn tickets(mpi: &mut M) -> u64 {
    let mut rank = Rank::new(mpi);
    let (me, size) = (rank.me, rank.size);
    let memory = rank.allocate(WORDS);
    let mut seen = Vec::new();
    let mut last = vec![0; size];
    for k in 0..ROUNDS {
        // Of one part of the rounds all are under one lock.
        let to = (rank.digest >> 20) as usize % size;
        if k == 0 {
            rank.call(|mpi| mpi.win_lock_all(memory.window, Assert::default()));
        } else if k >= ROUNDS / 2 {
            rank.call(|mpi| mpi.win_lock(memory.window, peer(to), false, Assert::default()));
        }
        let ticket = draw(&mut rank, memory, to, k);
        assert!(ticket >= last[to], "ticket {ticket} of rank {to} after {}", last[to]);
        last[to] = ticket + 1;
        rank.sees(ticket);
        seen.extend([(to * 2) as u64, ticket]);
        if rank.digest.is_multiple_of(3) {
            let swapped = swap(&mut rank, memory, to);
            seen.extend([(to * 2 + 1) as u64, swapped]);
        }
        let mut weight = Words::new(&[k + 1]);
        rank.accumulate(memory, to, TOTAL, &mut weight, (Predefined::Sum, WORD));
        if k + 1 == ROUNDS / 2 {
            rank.call(|mpi| mpi.win_unlock_all(memory.window));
        } else if k >= ROUNDS / 2 {
            rank.call(|mpi| mpi.win_unlock(memory.window, peer(to)));
        }
        if k % 4 == 3 {
            rank.talk();
        }
    }
    rank.barrier();
    // Everybody has given his locks back.
    rank.call(|mpi| mpi.win_lock(memory.window, peer(me), true, Assert::default()));
    let found = [TICKETS, SWAPPED, TOTAL].map(|word| memory.load(word));
    rank.call(|mpi| mpi.win_unlock(memory.window, peer(me)));
    seen.extend(found);
    let all = rank.ends(&seen);
    judge(&all);
    rank.free(memory);
    rank.digest
}

/// What all have seen.
fn judge(all: &[Vec<u64>]) {
    let mut drawn = vec![Vec::new(); 2 * all.len()];
    let mut total = 0;
    for seen in all {
        let (tickets, found) = seen.split_at(seen.len() - WORDS);
        tickets.chunks_exact(2).for_each(|ticket| drawn[ticket[0] as usize].push(ticket[1]));
        total += found[TOTAL];
    }
    for (counter, drawn) in drawn.iter_mut().enumerate() {
        drawn.sort_unstable();
        let whole: Vec<u64> = (0..drawn.len() as u64).collect();
        assert_eq!(*drawn, whole, "each ticket of counter {counter} is drawn once");
        let seen = &all[counter / 2];
        let end = seen[seen.len() - WORDS + counter % 2];
        assert_eq!(end, drawn.len() as u64, "counter {counter} at the end");
    }
    let expected = all.len() as u64 * ROUNDS * (ROUNDS + 1) / 2;
    assert_eq!(total, expected, "nothing that was added is lost, or added twice");
}
