//! Allgather with equal and with different blocks (MPI-4.1, 6.7).
//!
//! Short: Bruck's algorithm (Bruck, Ho, Kipnis, Upfal, Weathersby 1997) on packed blocks, in
//! ⌈log₂ n⌉ rounds for any number of ranks. Long: around the ring, straight between the programs'
//! buffers. Oversubscribed ranks: straight from each to all, since in each further round all ranks
//! wait for a processor in turn.

use super::data::{PerRank, Piece};
use super::steps::Steps;
use crate::tuning::{ALLGATHER_SHORT_BYTES, DIRECT_BYTES};

/// The block of every rank goes to all ranks. `send` is `None` if the block is in place.
pub fn allgather<S: Steps>(p: &mut S, send: Option<&Piece>, recv: &impl PerRank) {
    let n = p.size();
    let (total, largest) = if recv.is_uniform() {
        (n * recv.bytes(0), recv.bytes(0))
    } else {
        let sizes = (0..n).map(|i| recv.bytes(i));
        sizes.fold((0, 0), |(sum, max), bytes| (sum + bytes, max.max(bytes)))
    };
    if total == 0 {
        return;
    }
    if n > 2 && largest <= DIRECT_BYTES && p.prefers_direct() {
        direct(p, send, recv);
    } else if total <= ALLGATHER_SHORT_BYTES && n > 2 {
        bruck(p, send, recv);
    } else {
        ring(p, send, recv);
    }
}

fn direct<S: Steps>(p: &mut S, send: Option<&Piece>, recv: &impl PerRank) {
    let (n, me) = (p.size(), p.me());
    let mine = send.cloned().unwrap_or_else(|| recv.piece(me));
    for distance in 1..n {
        let (to, from) = ((me + distance) % n, (me + n - distance) % n);
        if recv.bytes(from) > 0 {
            p.recv(recv.piece(from), from, 0);
        }
        if recv.bytes(me) > 0 {
            p.send(mine.clone(), to, 0);
        }
    }
    if send.is_some() {
        p.copy(mine, recv.piece(me));
    }
}

fn bruck<S: Steps>(p: &mut S, send: Option<&Piece>, recv: &impl PerRank) {
    let n = p.size();
    let me = p.me();
    // Blocks me, me + 1, … in this order; where the i-th of them begins.
    let starts = (!recv.is_uniform()).then(|| {
        let ends = (0..n).scan(0, |end, i| {
            *end += recv.bytes((me + i) % n);
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect::<Vec<usize>>()
    });
    let start = |i: usize| starts.as_ref().map_or_else(|| i * recv.bytes(0), |starts| starts[i]);
    let stage = p.scratch(start(n));
    let part = |from: usize, to: usize| {
        Piece::bytes(stage.offset(start(from) as i64), start(to) - start(from))
    };
    match send {
        Some(send) => p.copy(send.clone(), part(0, 1)),
        None => p.copy(recv.piece(me), part(0, 1)),
    }
    let mut have = 1;
    let mut round = 0;
    while have < n {
        let more = have.min(n - have);
        p.recv(part(have, have + more), (me + have) % n, round);
        p.send(part(0, more), (me + n - have) % n, round);
        p.fence();
        have += more;
        round += 1;
    }
    if let (Some(own_to_last), Some(first_to_own)) = (recv.run(me, n), recv.run(0, me)) {
        p.copy(part(0, n - me), own_to_last);
        p.copy(part(n - me, n), first_to_own);
        return;
    }
    for i in 0..n {
        if i > 0 || send.is_some() {
            p.copy(part(i, i + 1), recv.piece((me + i) % n));
        }
    }
}

fn ring<S: Steps>(p: &mut S, send: Option<&Piece>, recv: &impl PerRank) {
    let n = p.size();
    let me = p.me();
    if let Some(send) = send {
        p.copy(send.clone(), recv.piece(me));
    }
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    for round in 0..n - 1 {
        let (out, into) = ((me + n - round) % n, (me + 2 * n - round - 1) % n);
        if recv.bytes(into) > 0 {
            p.recv(recv.piece(into), left, round);
        }
        if recv.bytes(out) > 0 {
            p.send(recv.piece(out), right, round);
        }
        p.fence();
    }
}
