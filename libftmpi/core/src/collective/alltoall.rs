//! All-to-all with equal blocks, different blocks, different types (MPI-4.1, 6.8).
//!
//! Short equal blocks: Bruck's algorithm (Bruck et al. 1997), ⌈log₂ n⌉ rounds on packed blocks.
//! Oversubscribed ranks do not use it, because they wait for a processor in each round. Others:
//! directly, in windows, each rank beginning with its neighbour so that no receiver is flooded.

use super::data::{PerRank, Piece};
use super::steps::Steps;
use crate::tuning::{ALLTOALL_SHORT_BYTES, ALLTOALL_SHORT_RANKS, ALLTOALL_WINDOW};
use crate::usermem::UserPtr;

/// Block `j` of rank `i` becomes block `i` of rank `j`. `send` is `None` if the blocks are in
/// place.
pub fn alltoall<S: Steps, B: PerRank>(p: &mut S, send: Option<&B>, recv: &B) {
    let n = p.size();
    let uniform = recv.is_uniform() && send.is_none_or(PerRank::is_uniform);
    if uniform
        && n >= ALLTOALL_SHORT_RANKS
        && recv.bytes(0) <= ALLTOALL_SHORT_BYTES
        && !p.prefers_direct()
    {
        return bruck(p, send, recv);
    }
    let staged = if send.is_none() { stage(p, recv) } else { Vec::new() };
    let out = |i: usize| send.map_or_else(|| staged[i].clone(), |send| send.piece(i));
    if send.is_some() {
        p.copy(out(p.me()), recv.piece(p.me()));
    }
    for distance in 1..n {
        let (to, from) = ((p.me() + distance) % n, (p.me() + n - distance) % n);
        if recv.bytes(from) > 0 {
            p.recv(recv.piece(from), from, 0);
        }
        let data = out(to);
        if !data.is_empty() {
            p.send(data, to, 0);
        }
        if distance % ALLTOALL_WINDOW == 0 {
            p.fence();
        }
    }
}

/// Packs what is in place into scratch memory, so that it can be overwritten.
fn stage<S: Steps, B: PerRank>(p: &mut S, blocks: &B) -> Vec<Piece> {
    let total = (0..p.size()).map(|i| blocks.bytes(i)).sum();
    let mut at = p.scratch(total);
    let mut staged = Vec::with_capacity(p.size());
    for i in 0..p.size() {
        let len = blocks.bytes(i);
        let piece = Piece::bytes(at, len);
        if i != p.me() && len > 0 {
            p.copy(blocks.piece(i), piece.clone());
        }
        staged.push(piece);
        at = at.offset(len as i64);
    }
    staged
}

fn bruck<S: Steps, B: PerRank>(p: &mut S, send: Option<&B>, recv: &B) {
    let n = p.size();
    let me = p.me();
    let block = recv.bytes(0);
    if block == 0 {
        return;
    }
    let stage = p.scratch(block * n);
    let part = |i: usize| Piece::bytes(stage.offset((block * i) as i64), block);
    let source = send.unwrap_or(recv);
    // Place i holds the block for rank me + i.
    for i in 0..n {
        p.copy(source.piece((me + i) % n), part(i));
    }
    let half = n.div_ceil(2);
    let (out, into) = (p.scratch(block * half), p.scratch(block * half));
    let at = |base: UserPtr, k: usize| Piece::bytes(base.offset((block * k) as i64), block);
    let mut bit = 1;
    let mut round = 0;
    while bit < n {
        let moving: Vec<usize> = (0..n).filter(|i| i & bit != 0).collect();
        for (k, &i) in moving.iter().enumerate() {
            p.copy(part(i), at(out, k));
        }
        p.recv(Piece::bytes(into, block * moving.len()), (me + n - bit) % n, round);
        p.send(Piece::bytes(out, block * moving.len()), (me + bit) % n, round);
        p.fence();
        for (k, &i) in moving.iter().enumerate() {
            p.copy(at(into, k), part(i));
        }
        bit *= 2;
        round += 1;
    }
    // Place i holds the block that rank me - i sent to us.
    for i in 0..n {
        p.copy(part(i), recv.piece((me + n - i) % n));
    }
}
