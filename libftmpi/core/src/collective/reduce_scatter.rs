//! `MPI_Reduce_scatter`: the result of a reduction is spread over the ranks (MPI-4.1, 6.10).
//!
//! Pairwise exchange for long vectors of commutative operations, and for few ranks. Otherwise
//! reduction to rank 0, and scatter.

use super::data::{Blocks, Operands, Piece, Spread};
use super::gather::scatter;
use super::reduce::reduce;
use super::steps::Steps;
use crate::tuning::{PAIRWISE_RANKS, REDUCE_SCATTER_LONG_BYTES, SHORT_BYTES};
use crate::usermem::UserPtr;
use std::rc::Rc;

/// Element-wise reduction of which rank `i` gets the `i`-th block, of `counts[i]` elements, in
/// `recv`. `send` is `None` if the operand is in place. `what` has the elements of all blocks.
pub fn reduce_scatter<S: Steps>(
    p: &mut S,
    send: Option<UserPtr>,
    recv: UserPtr,
    counts: &Rc<[usize]>,
    what: Operands<'_>,
) {
    if what.is_empty() {
        return;
    }
    let starts: Rc<[i64]> = counts
        .iter()
        .scan(0, |next, &count| {
            let start = *next;
            *next += count as i64;
            Some(start)
        })
        .collect();
    let mine = send.unwrap_or(recv);
    let own = counts[p.me()];
    let short = p.size() > PAIRWISE_RANKS && what.len() < REDUCE_SCATTER_LONG_BYTES;
    if !what.op.commutes() || short {
        let whole = if p.me() == 0 { p.elements(what, what.count) } else { UserPtr::BOTTOM };
        reduce(p, Some(mine), whole, what, 0);
        p.fence();
        let uniform = counts.iter().all(|&count| count == own);
        let (counts, datatype) = (Rc::clone(counts), what.datatype.clone());
        let spread = Spread::Varied { counts, displacements: starts, datatype };
        let target = what.part(recv, 0, own);
        return scatter(p, &Blocks { base: whole, spread }, Some(&target), 0, uniform);
    }
    let block = |i: usize| what.part(mine, starts[i] as usize, counts[i]);
    pairwise(p, block, recv, send.is_none(), Operands { count: own, ..what });
}

/// Each block of the operand goes straight to the rank whose result it is part of. `what` has the
/// elements of this rank's block. Short messages between few ranks leave all at once; whether they
/// do may differ between ranks.
pub fn pairwise<S: Steps>(
    p: &mut S,
    block: impl Fn(usize) -> Piece,
    recv: UserPtr,
    in_place: bool,
    what: Operands<'_>,
) {
    let (me, n) = (p.me(), p.size());
    // What is in place may not have left yet when results are stored.
    let acc = if in_place { p.elements(what, what.count) } else { recv };
    let at_once = n <= PAIRWISE_RANKS && what.span(what.count).0 <= SHORT_BYTES;
    let places = if at_once { n.saturating_sub(1) } else { 1 };
    let (incoming, stride) = p.operands(what, places);
    let place = |distance: usize| match at_once {
        true => incoming.offset((distance as i64 - 1) * stride),
        false => incoming,
    };
    p.copy(block(me), what.all(acc));
    for distance in 1..n {
        let (to, from) = ((me + distance) % n, (me + n - distance) % n);
        if !what.is_empty() {
            p.recv(what.all(place(distance)), from, distance);
        }
        let out = block(to);
        if !out.is_empty() {
            p.send(out, to, distance);
        }
        if !at_once {
            p.fence();
            p.reduce(what, what.count, incoming, acc);
        }
    }
    if at_once {
        p.fence();
        for distance in 1..n {
            p.reduce(what, what.count, place(distance), acc);
        }
    }
    if in_place {
        p.copy(what.all(acc), what.all(recv));
    }
}
