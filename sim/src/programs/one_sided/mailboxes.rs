//! Each rank has a box for every other rank in its own memory, and looks into it again and again.
//! Which box it finds full first depends on the call that served the put. No rank sends a message.
//! A rank that has taken a letter says so by a put into the memory of its sender, with the state of
//! its course.

use super::{M, Memory, Rank, WORD, Words, peer};
use crate::programs::mix;
use ftmpi_core::mpi::Assert;
use ftmpi_core::op::Predefined;

/// A box: number and digest of the sender's state, filling; and the number of the letter, which
/// comes last.
const FILLING: usize = 6;
const NUMBER: usize = 2 + FILLING;
const BOX: usize = NUMBER + 1;
/// What a receiver answers: its state, and the number of the letter that it took.
const ANSWER: usize = 3;
/// Of each other rank.
const EACH: usize = BOX + ANSWER;

/// Puts some words, and then, when they are there, the number that announces them.
fn announce(rank: &mut Rank<'_>, memory: Memory, to: usize, disp: usize, words: &[u64]) {
    let (number, before) = words.split_last().expect("a number comes last");
    let mut data = Words::new(before);
    rank.put(memory, to, disp, &mut data);
    // Operations of one origin are carried out in order only where they accumulate.
    rank.call(|mpi| mpi.win_flush(memory.window, Some(peer(to))));
    let mut number = Words::new(&[*number]);
    let how = (Predefined::Replace, WORD);
    rank.accumulate(memory, to, disp + before.len(), &mut number, how);
    rank.call(|mpi| mpi.win_flush(memory.window, Some(peer(to))));
}

fn send(rank: &mut Rank<'_>, memory: Memory, to: usize, number: u64) {
    let [state, digest] = rank.says();
    let mut words = vec![state, digest];
    words.extend([mix(digest, number); FILLING]);
    words.push(number);
    let disp = rank.me * EACH;
    announce(rank, memory, to, disp, &words);
}

/// Takes what is there of a rank: a letter, which is answered, or the answer to one's own.
fn take(
    rank: &mut Rank<'_>,
    memory: Memory,
    from: usize,
    (taken, sent): (&mut u64, &mut u64),
    letters: u64,
) -> bool {
    let at = from * EACH;
    let mut any = false;
    if memory.load(at + NUMBER) > *taken {
        *taken += 1;
        assert_eq!(memory.load(at + NUMBER), *taken, "letters of rank {from} come one by one");
        let [state, digest] = [memory.load(at), memory.load(at + 1)];
        for word in 2..NUMBER {
            let filling = memory.load(at + word);
            assert_eq!(filling, mix(digest, *taken), "letter {taken} of rank {from} is whole");
        }
        rank.hears(from, [state, digest]);
        let [state, digest] = rank.says();
        let disp = rank.me * EACH + BOX;
        announce(rank, memory, from, disp, &[state, digest, *taken]);
        any = true;
    }
    if memory.load(at + BOX + 2) == *sent && *sent < letters + 1 && *sent > 0 {
        let answer = [memory.load(at + BOX), memory.load(at + BOX + 1)];
        rank.hears(from, answer);
        *sent += 1;
        if *sent <= letters {
            send(rank, memory, from, *sent);
        }
        any = true;
    }
    any
}

pub(in crate::programs) fn mailboxes(mpi: &mut M) -> u64 {
    let mut rank = Rank::new(mpi);
    let (me, size) = (rank.me, rank.size);
    let letters = 16 / size as u64 + 2;
    let memory = rank.allocate(size * EACH);
    rank.call(|mpi| mpi.win_lock_all(memory.window, Assert::default()));
    // Letters taken of each, and the one that was sent last to each, or one more than all.
    let mut states = vec![(0u64, 1u64); size];
    for to in (0..size).filter(|to| *to != me) {
        send(&mut rank, memory, to, 1);
    }
    let over = |(taken, sent): &(u64, u64)| *taken == letters && *sent == letters + 1;
    let mut looks = 0u64;
    while !(0..size).all(|of| of == me || over(&states[of])) {
        rank.call(|mpi| mpi.win_sync(memory.window));
        looks += 1;
        for from in (0..size).filter(|from| *from != me) {
            let (taken, sent) = &mut states[from];
            if take(&mut rank, memory, from, (taken, sent), letters) {
                // The number of vain looks is sent along.
                rank.sees(looks);
            }
        }
    }
    rank.call(|mpi| mpi.win_unlock_all(memory.window));
    rank.ends(&[]);
    rank.free(memory);
    rank.digest
}
