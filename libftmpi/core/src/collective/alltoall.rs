//! All-to-all with equal blocks, different blocks, different types.
//!
//! Short equal blocks: Bruck's algorithm (Bruck et al. 1997), ⌈log₂ n⌉ rounds on packed blocks; not where
//! ranks share too few processors, and wait for one in each round.
//! Others: directly, in windows, each rank beginning with its neighbour so that no receiver is
//! flooded.

use super::data::{Blocks, Piece};
use super::plan::Plan;
use super::schedule::Carrier;

/// Blocks up to this many bytes go through intermediaries.
pub const SHORT_BYTES: usize = 256;
/// With fewer ranks that saves nothing.
pub const SHORT_RANKS: usize = 8;
/// Exchanges under way at once.
const WINDOW: usize = 32;

/// Block `j` of rank `i` becomes block `i` of rank `j`. `send` is `None` if the blocks are in place.
pub fn alltoall<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Blocks>, recv: &Blocks) {
    let n = p.size;
    let uniform = recv.is_uniform() && send.is_none_or(Blocks::is_uniform);
    if uniform && n >= SHORT_RANKS && recv.bytes(0) <= SHORT_BYTES && !p.is_small_crowd() {
        return bruck(p, send, recv);
    }
    let staged: Vec<Piece> = match send {
        Some(send) => (0..n).map(|i| send.piece(i)).collect(),
        None => stage(p, recv),
    };
    if send.is_some() {
        p.copy(staged[p.me].clone(), recv.piece(p.me));
    }
    for distance in 1..n {
        let (to, from) = ((p.me + distance) % n, (p.me + n - distance) % n);
        if recv.bytes(from) > 0 {
            p.recv(recv.piece(from), from, 0);
        }
        if !staged[to].is_empty() {
            p.send(staged[to].clone(), to, 0);
        }
        if distance % WINDOW == 0 {
            p.fence();
        }
    }
}

/// Packs what is in place into memory of ours, so that it can be overwritten.
fn stage<C: Carrier>(p: &mut Plan<'_, C>, blocks: &Blocks) -> Vec<Piece> {
    let total = (0..p.size).map(|i| blocks.bytes(i)).sum();
    let mut at = p.scratch(total);
    let mut staged = Vec::with_capacity(p.size);
    for i in 0..p.size {
        let len = blocks.bytes(i);
        let piece = Piece::bytes(at, len);
        if i != p.me && len > 0 {
            p.copy(blocks.piece(i), piece.clone());
        }
        staged.push(piece);
        at = at.offset(len as i64);
    }
    staged
}

fn bruck<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Blocks>, recv: &Blocks) {
    let n = p.size;
    let me = p.me;
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
    let at = |base: crate::usermem::UserPtr, k: usize| {
        Piece::bytes(base.offset((block * k) as i64), block)
    };
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
