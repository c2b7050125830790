//! Gather and scatter (MPI-4.1, 6.5 and 6.6).
//!
//! Short equal blocks go along a binomial tree, packed; everything else directly, since the root's
//! memory is the bottleneck then.

use super::data::{PerRank, Piece};
use super::steps::Steps;
use crate::tuning::{GATHER_TREE_BYTES, GATHER_TREE_RANKS};

/// The block of every rank goes to `root`. `send` is `None` at a root that has its block in place.
/// `uniform`: all blocks have one size (as for `MPI_Gather`).
pub fn gather<S: Steps>(
    p: &mut S,
    send: Option<&Piece>,
    recv: &impl PerRank,
    root: usize,
    uniform: bool,
) {
    let block = if p.me() == root { recv.bytes(root) } else { send.map_or(0, Piece::len) };
    if uniform && block <= GATHER_TREE_BYTES && p.size() >= GATHER_TREE_RANKS {
        return gather_tree(p, send, recv, root, block);
    }
    if p.me() != root {
        if let Some(send) = send.filter(|s| !s.is_empty()) {
            p.send(send.clone(), root, 0);
        }
        return;
    }
    for from in (0..p.size()).filter(|&i| i != root && recv.bytes(i) > 0) {
        p.recv(recv.piece(from), from, 0);
    }
    if let Some(send) = send {
        p.copy(send.clone(), recv.piece(root));
    }
}

fn gather_tree<S: Steps>(
    p: &mut S,
    send: Option<&Piece>,
    recv: &impl PerRank,
    root: usize,
    block: usize,
) {
    if block == 0 {
        return;
    }
    let n = p.size();
    let place = (p.me() + n - root) % n;
    // Blocks `place..place + subtree` come together here.
    let subtree = subtree(place, n);
    let stage = p.scratch(block * subtree);
    let part =
        |i: usize, count: usize| Piece::bytes(stage.offset((block * i) as i64), block * count);
    if let Some(send) = send {
        p.copy(send.clone(), part(0, 1));
    }
    let mut mask = 1;
    while mask < n && place & mask == 0 {
        let child = place + mask;
        if child < n {
            p.recv(part(mask, mask.min(n - child)), (child + root) % n, 0);
        }
        mask *= 2;
    }
    p.fence();
    if place != 0 {
        p.send(part(0, subtree), (place - mask + root) % n, 0);
        return;
    }
    for i in 0..n {
        if i > 0 || send.is_some() {
            p.copy(part(i, 1), recv.piece((i + root) % n));
        }
    }
}

/// How many places the binomial tree below `place` covers, itself included.
fn subtree(place: usize, n: usize) -> usize {
    if place == 0 { n } else { (1usize << place.trailing_zeros()).min(n - place) }
}

/// Every block of `root` goes to its rank. `recv` is `None` at a root that keeps its block.
pub fn scatter<S: Steps>(
    p: &mut S,
    send: &impl PerRank,
    recv: Option<&Piece>,
    root: usize,
    uniform: bool,
) {
    let block = if p.me() == root { send.bytes(root) } else { recv.map_or(0, Piece::len) };
    if uniform && block <= GATHER_TREE_BYTES && p.size() >= GATHER_TREE_RANKS {
        return scatter_tree(p, send, recv, root, block);
    }
    if p.me() != root {
        if let Some(recv) = recv.filter(|r| !r.is_empty()) {
            p.recv(recv.clone(), root, 0);
        }
        return;
    }
    for to in (0..p.size()).filter(|&i| i != root && send.bytes(i) > 0) {
        p.send(send.piece(to), to, 0);
    }
    if let Some(recv) = recv {
        p.copy(send.piece(root), recv.clone());
    }
}

fn scatter_tree<S: Steps>(
    p: &mut S,
    send: &impl PerRank,
    recv: Option<&Piece>,
    root: usize,
    block: usize,
) {
    if block == 0 {
        return;
    }
    let n = p.size();
    let place = (p.me() + n - root) % n;
    let subtree = subtree(place, n);
    let stage = p.scratch(block * subtree);
    let part =
        |i: usize, count: usize| Piece::bytes(stage.offset((block * i) as i64), block * count);
    let mut mask = 1;
    if place == 0 {
        for i in 0..n {
            if i > 0 || recv.is_some() {
                p.copy(send.piece((i + root) % n), part(i, 1));
            }
        }
        while mask < n {
            mask *= 2;
        }
    } else {
        mask = 1 << place.trailing_zeros();
        p.recv(part(0, subtree), (place - mask + root) % n, 0);
        p.fence();
    }
    mask /= 2;
    while mask > 0 {
        let child = place + mask;
        if child < n {
            p.send(part(mask, mask.min(n - child)), (child + root) % n, 0);
        }
        mask /= 2;
    }
    if let Some(recv) = recv {
        p.copy(part(0, 1), recv.clone());
    }
}
