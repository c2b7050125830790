//! Barrier and broadcast.
//!
//! Barrier: dissemination (Hensgen, Finkel, Manber: "Two Algorithms for Barrier Synchronization",
//! 1988). Broadcast: binomial tree; long messages are scattered along the tree and collected around
//! a ring (van de Geijn; Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication
//! Operations in MPICH", 2005).

use super::data::Piece;
use super::plan::Plan;
use super::schedule::Carrier;
use crate::usermem::UserPtr;

/// From this many bytes on a broadcast is scattered and collected.
const LONG_BYTES: usize = 128 << 10;
/// With fewer ranks the tree is no worse.
const LONG_RANKS: usize = 8;

/// Nobody leaves before everybody came.
pub fn barrier<C: Carrier>(p: &mut Plan<'_, C>) {
    let nothing = || Piece::bytes(UserPtr::BOTTOM, 0);
    let mut distance = 1;
    let mut round = 0;
    while distance < p.size {
        p.recv(nothing(), (p.me + p.size - distance) % p.size, round);
        p.send(nothing(), (p.me + distance) % p.size, round);
        p.fence();
        distance *= 2;
        round += 1;
    }
}

/// `data` of `root` goes to everybody.
pub fn bcast<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    if p.size < 2 || data.is_empty() {
        return;
    }
    if data.len() >= LONG_BYTES && p.size >= LONG_RANKS {
        scatter_and_collect(p, data, root);
    } else {
        tree(p, data, root);
    }
}

fn tree<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    let n = p.size;
    let place = (p.me + n - root) % n;
    let mut mask = 1;
    while mask < n {
        if place & mask != 0 {
            p.recv(data.clone(), (place - mask + root) % n, 0);
            p.fence();
            break;
        }
        mask *= 2;
    }
    mask /= 2;
    while mask > 0 {
        if place + mask < n {
            p.send(data.clone(), (place + mask + root) % n, 0);
        }
        mask /= 2;
    }
}

fn scatter_and_collect<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    let n = p.size;
    let len = data.len();
    let place = (p.me + n - root) % n;
    let base = if data.datatype.is_none() {
        data.at
    } else {
        let packed = p.scratch(len);
        if place == 0 {
            p.copy(data.clone(), Piece::bytes(packed, len));
        }
        packed
    };
    let chunk = len.div_ceil(n);
    let start = |i: usize| (chunk * i).min(len);
    let part = |from: usize, to: usize| {
        Piece::bytes(base.offset(start(from) as i64), start(to) - start(from))
    };
    // Scatter: the holder of chunks `place..place + mask` gives the upper half away.
    let mut mask = 1;
    while mask < n {
        if place & mask != 0 {
            p.recv(part(place, (place + mask).min(n)), (place - mask + root) % n, 0);
            p.fence();
            break;
        }
        mask *= 2;
    }
    mask /= 2;
    while mask > 0 {
        if place + mask < n {
            let to = place + mask;
            p.send(part(to, (to + mask).min(n)), (to + root) % n, 0);
        }
        mask /= 2;
    }
    // Collect around the ring.
    let (left, right) = ((p.me + n - 1) % n, (p.me + 1) % n);
    for round in 0..n - 1 {
        let (out, into) = ((place + n - round) % n, (place + 2 * n - round - 1) % n);
        p.recv(part(into, into + 1), left, 1 + round);
        p.send(part(out, out + 1), right, 1 + round);
        p.fence();
    }
    if data.datatype.is_some() && place != 0 {
        p.copy(Piece::bytes(base, len), data.clone());
    }
}
