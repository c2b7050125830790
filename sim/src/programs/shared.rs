//! Ranks that share memory take turns by a number in it, and store into each other's parts. At
//! every step a rank's own memory must fit the shared memory. An image of one rank that is a moment
//! older than another's shows at once.

use super::{E, mix, recv, send};
use crate::world::shared::CELLS;
use ftmpi_wire::Rank;

/// Whose turn it is: a number in the part of the first rank.
const TURN: usize = 0;
/// Turns that a rank had: in its part.
const DONE: usize = 1;
/// What the neighbour gave: from here on.
const GIFTS: usize = 2;

fn gift(k: usize, from: usize, i: usize) -> u64 {
    ((k + 1) * (from + 3) + i) as u64
}

/// Every rank hears from every rank.
fn barrier(e: &mut E, size: usize, tag: i32) {
    let me = e.me().index();
    for to in (0..size).filter(|to| *to != me) {
        send(e, &[], to, tag);
    }
    for from in (0..size).filter(|from| *from != me) {
        recv(e, 0, from, tag);
    }
    e.call_ends();
}

pub(super) fn shared_memory(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let ranks: Vec<Rank> = (0..size as u32).map(Rank).collect();
    let mine = me * CELLS;
    let mut expected = [0; CELLS];
    let mut digest = me as u64;
    // Some come later than others, perhaps when the first wave is under way.
    for _ in 0..me * 3 {
        e.attend();
        e.call_ends();
    }
    e.join_shared_memory(&ranks);
    barrier(e, size, 0);
    for k in 0..20 {
        let turn = (k * size + me) as u64;
        loop {
            let now = e.link.load(TURN);
            assert!(now <= turn, "somebody had turn {turn}, it is {now}");
            if now == turn {
                break;
            }
            // The agent's signal may come at any moment; here.
            e.attend();
            e.link.wait_for_memory();
        }
        assert_eq!(e.link.load(mine + DONE), k as u64, "turns had and counted");
        let given = if me == 0 { k } else { k + 1 };
        for (i, expected) in expected.iter_mut().enumerate().skip(GIFTS) {
            if given > 0 {
                *expected += gift(given - 1, left, i);
            }
            let found = e.link.load(mine + i);
            assert_eq!(found, *expected, "what rank {left} gave rank {me} until turn {turn}");
            let theirs = right * CELLS + i;
            let before = e.link.load(theirs);
            e.link.store(theirs, before + gift(k, me, i));
            digest = mix(digest, found);
        }
        e.link.store(mine + DONE, k as u64 + 1);
        if k % 4 == 1 {
            // In the middle of what belongs together.
            e.attend();
        }
        e.link.store(TURN, turn + 1);
        if k % 3 == 1 {
            send(e, &digest.to_le_bytes(), right, k as i32);
            let theirs = recv(e, 8, left, k as i32);
            digest = mix(digest, u64::from_le_bytes(theirs.try_into().expect("8 bytes")));
            e.call_ends();
        }
        if k == 6 {
            // Another piece of memory, for a while.
            e.join_shared_memory(&ranks);
            barrier(e, size, 1000);
            e.link.share_no_more();
        }
    }
    digest
}
