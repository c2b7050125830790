//! Broadcast (MPI-4.1, 6.4).
//!
//! Short messages take a binomial tree. Long messages are scattered along the tree and collected
//! around a ring (van de Geijn; Thakur, Rabenseifner, Gropp: "Optimization of Collective
//! Communication Operations in MPICH", 2005).
//!
//! Oversubscribed ranks take neither for long: each step of a ring waits for a rank that must first
//! get a processor. Up to [`DIRECT_BYTES`] the root sends to each rank. Up to
//! [`BCAST_PIECES_BYTES`] the message goes down the tree in pieces that need no rendezvous. From
//! [`BCAST_LONG_BYTES_OVERSUBSCRIBED`] on the message is scattered: in the tree it would wait again
//! and again for room in the channels.

use super::data::Piece;
use super::steps::Steps;
use crate::tuning::{
    BCAST_LONG_BYTES, BCAST_LONG_BYTES_OVERSUBSCRIBED, BCAST_LONG_RANKS, BCAST_PIECE_BYTES,
    BCAST_PIECES_BYTES, DIRECT_BYTES,
};
use crate::usermem::UserPtr;

/// `data` of `root` goes to all ranks.
pub fn bcast<S: Steps>(p: &mut S, data: &Piece, root: usize) {
    if p.size() < 2 || data.is_empty() {
        return;
    }
    let (len, oversubscribed) = (data.len(), p.is_oversubscribed());
    let long = if oversubscribed { BCAST_LONG_BYTES_OVERSUBSCRIBED } else { BCAST_LONG_BYTES };
    if p.prefers_direct() && len <= DIRECT_BYTES {
        if p.me() == root {
            (1..p.size()).for_each(|place| p.send(data.clone(), (root + place) % p.size(), 0));
        } else {
            p.recv(data.clone(), root, 0);
        }
    } else if oversubscribed && len > BCAST_PIECE_BYTES && len <= BCAST_PIECES_BYTES {
        tree_of_pieces(p, data, root);
    } else if len >= long && p.size() >= BCAST_LONG_RANKS {
        scatter_and_collect(p, data, root);
    } else {
        tree(p, data, root);
    }
}

fn tree<S: Steps>(p: &mut S, data: &Piece, root: usize) {
    along_the_tree(p, root, 1, |_| data.clone());
}

/// While one piece is passed on, the next one comes.
fn tree_of_pieces<S: Steps>(p: &mut S, data: &Piece, root: usize) {
    let len = data.len();
    let base = packed(p, data, root);
    along_the_tree(p, root, len.div_ceil(BCAST_PIECE_BYTES), |number| {
        let start = number * BCAST_PIECE_BYTES;
        Piece::bytes(base.offset(start as i64), BCAST_PIECE_BYTES.min(len - start))
    });
    unpack(p, base, data, root);
}

/// `pieces` pieces go from `root` to all ranks, in their order.
fn along_the_tree<S: Steps>(p: &mut S, root: usize, pieces: usize, piece: impl Fn(usize) -> Piece) {
    let n = p.size();
    let place = (p.me() + n - root) % n;
    // The lowest set bit of the place names the rank above; the bits below it name the ranks below.
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

/// Where the data lies as plain bytes: in the program's buffer, or in scratch memory that the root
/// fills.
fn packed<S: Steps>(p: &mut S, data: &Piece, root: usize) -> UserPtr {
    if data.datatype.is_none() {
        return data.at;
    }
    let len = data.len();
    let packed = p.scratch(len);
    if p.me() == root {
        p.copy(data.clone(), Piece::bytes(packed, len));
    }
    packed
}

/// Unpacks the data at all other ranks, when all pieces are there.
fn unpack<S: Steps>(p: &mut S, from: UserPtr, data: &Piece, root: usize) {
    if data.datatype.is_some() && p.me() != root {
        p.fence();
        p.copy(Piece::bytes(from, data.len()), data.clone());
    }
}

fn scatter_and_collect<S: Steps>(p: &mut S, data: &Piece, root: usize) {
    let n = p.size();
    let len = data.len();
    let place = (p.me() + n - root) % n;
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
    let (left, right) = ((p.me() + n - 1) % n, (p.me() + 1) % n);
    for round in 0..n - 1 {
        let (out, into) = ((place + n - round) % n, (place + 2 * n - round - 1) % n);
        p.recv(part(into, into + 1), left, 1 + round);
        p.send(part(out, out + 1), right, 1 + round);
        p.fence();
    }
    unpack(p, base, data, root);
}
