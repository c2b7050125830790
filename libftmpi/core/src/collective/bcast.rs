//! Barrier and broadcast.
//!
//! Barrier: dissemination (Hensgen, Finkel, Manber: "Two Algorithms for Barrier Synchronization",
//! 1988); where the ranks share too few processors, to one of them and back. Broadcast: binomial tree; long messages are scattered along the tree and collected around
//! a ring (van de Geijn; Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication
//! Operations in MPICH", 2005). Where the ranks share too few processors a ring is the worst that can be
//! done: each of its steps waits for a rank that must first get a processor. There messages up to 64 KiB go
//! from the root to each rank, those below 2 MiB take the tree, and what a channel can hold goes in pieces
//! that need no rendezvous. (Of longer ones
//! the tree, too, waits again and again, for room in its channels.)

use super::data::Piece;
use super::plan::Plan;
use super::schedule::Carrier;
use crate::usermem::UserPtr;

/// From this many bytes on a broadcast is scattered and collected.
const LONG_BYTES: usize = 128 << 10;
/// The same in a crowd: not before a message fills a channel many times.
const LONG_BYTES_CROWDED: usize = 2 << 20;
/// With fewer ranks the tree is no worse.
const LONG_RANKS: usize = 8;

/// In a crowd messages are cut into pieces of so many bytes, which are sent without asking the receiver.
const PIECE_BYTES: usize = 64 << 10;
/// Only up to so many bytes, which a channel takes in without its receiver.
const PIECES_BYTES: usize = 256 << 10;

/// For so many ranks two rounds are enough, and two messages of each.
pub const SMALL_CROWD: usize = 4;

/// In a small crowd up to so many bytes go from the root to each rank.
const FROM_ROOT_BYTES: usize = PIECE_BYTES;

/// Whether a small crowd is served by the root alone. In a tree everybody waits for ranks above that must first get a
/// processor, each in its turn; so the first turn of every rank ends its part.
#[must_use]
pub const fn from_root(len: usize) -> bool {
    len <= FROM_ROOT_BYTES
}

/// Nobody leaves before everybody came.
pub fn barrier<C: Carrier>(p: &mut Plan<'_, C>) {
    let nothing = || Piece::bytes(UserPtr::BOTTOM, 0);
    if p.size > SMALL_CROWD && p.is_small_crowd() {
        if p.me > 0 {
            p.send(nothing(), 0, 0);
            p.recv(nothing(), 0, 1);
        } else {
            (1..p.size).for_each(|from| p.recv(nothing(), from, 0));
            p.fence();
            (1..p.size).for_each(|to| p.send(nothing(), to, 1));
        }
        return;
    }
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
    let (len, crowded) = (data.len(), p.is_crowded());
    let long = if crowded { LONG_BYTES_CROWDED } else { LONG_BYTES };
    if p.is_small_crowd() && from_root(len) {
        if p.me == root {
            (1..p.size).for_each(|place| p.send(data.clone(), (root + place) % p.size, 0));
        } else {
            p.recv(data.clone(), root, 0);
        }
    } else if crowded && len > PIECE_BYTES && len <= PIECES_BYTES {
        tree_of_pieces(p, data, root);
    } else if len >= long && p.size >= LONG_RANKS {
        scatter_and_collect(p, data, root);
    } else {
        tree(p, data, root);
    }
}

fn tree<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    along_the_tree(p, root, 1, |_| data.clone());
}

/// While one piece is passed on, the next one comes.
fn tree_of_pieces<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    let len = data.len();
    let base = packed(p, data, root);
    along_the_tree(p, root, len.div_ceil(PIECE_BYTES), |number| {
        let start = number * PIECE_BYTES;
        Piece::bytes(base.offset(start as i64), PIECE_BYTES.min(len - start))
    });
    unpack(p, base, data, root);
}

/// So many pieces go from `root` to everybody, in their order.
fn along_the_tree<C: Carrier>(
    p: &mut Plan<'_, C>,
    root: usize,
    pieces: usize,
    piece: impl Fn(usize) -> Piece,
) {
    let n = p.size;
    let place = (p.me + n - root) % n;
    // The lowest bit of the place tells who is above, the bits below it who is below.
    let mut mask = 1;
    while mask < n && place & mask == 0 {
        mask *= 2;
    }
    let above = (place > 0).then(|| (place - mask + root) % n);
    if let Some(above) = above {
        p.recv(piece(0), above, 0);
    }
    for number in 0..pieces {
        if let Some(above) = above {
            p.fence();
            if number + 1 < pieces {
                p.recv(piece(number + 1), above, number + 1);
            }
        }
        let mut below = mask / 2;
        while below > 0 {
            if place + below < n {
                p.send(piece(number), (place + below + root) % n, number);
            }
            below /= 2;
        }
    }
}

/// Where the data lies as plain bytes: where it is, or in memory of ours, filled at the root.
fn packed<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) -> UserPtr {
    if data.datatype.is_none() {
        return data.at;
    }
    let len = data.len();
    let packed = p.scratch(len);
    if p.me == root {
        p.copy(data.clone(), Piece::bytes(packed, len));
    }
    packed
}

/// The other way round, at all others, when everything is there.
fn unpack<C: Carrier>(p: &mut Plan<'_, C>, from: UserPtr, data: &Piece, root: usize) {
    if data.datatype.is_some() && p.me != root {
        p.fence();
        p.copy(Piece::bytes(from, data.len()), data.clone());
    }
}

fn scatter_and_collect<C: Carrier>(p: &mut Plan<'_, C>, data: &Piece, root: usize) {
    let n = p.size;
    let len = data.len();
    let place = (p.me + n - root) % n;
    let base = packed(p, data, root);
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
    unpack(p, base, data, root);
}
