//! Prefix reductions and reductions whose result is spread.
//!
//! Scan and exclusive scan: recursive doubling, combining in the order of the ranks (works for
//! operations that do not commute). Reduce-scatter: pairwise exchange for long vectors of
//! commutative operations, or few ranks, else reduction to rank 0 and scatter.

use super::data::{Blocks, Elements, Spread, TypeRef};
use super::gather::scatter;
use super::plan::Plan;
use super::reduce::reduce;
use super::schedule::Carrier;
use crate::op::Op;
use crate::usermem::UserPtr;
use std::rc::Rc;

/// From this many bytes on, blocks are exchanged pairwise.
const LONG_BYTES: usize = 16 << 10;
/// And between so many ranks always: all their messages leave at once, and nobody waits twice.
pub const PAIRWISE_RANKS: usize = 8;

/// Reduction over the ranks up to this one (`inclusive`) or before it. At rank 0 an exclusive scan
/// leaves `recv` alone.
pub fn scan<C: Carrier>(
    p: &mut Plan<'_, C>,
    send: Option<UserPtr>,
    recv: UserPtr,
    el: &Elements,
    op: &Op,
    inclusive: bool,
) {
    if el.is_empty() {
        return;
    }
    let mine = send.unwrap_or(recv);
    if p.size < 2 {
        if inclusive && send.is_some() {
            p.copy(el.all(mine), el.all(recv));
        }
        return;
    }
    let mut partial = p.elements(el, el.count);
    let mut other = p.elements(el, el.count);
    p.copy(el.all(mine), el.all(partial));
    let mut begun = inclusive;
    if inclusive && send.is_some() {
        p.copy(el.all(mine), el.all(recv));
    }
    let mut mask = 1;
    while mask < p.size {
        let partner = p.me ^ mask;
        if partner < p.size {
            p.recv(el.all(other), partner, mask);
            p.send(el.all(partial), partner, mask);
            p.fence();
            if partner < p.me {
                p.reduce(op, &el.datatype, el.count, other, partial);
                if begun {
                    p.reduce(op, &el.datatype, el.count, other, recv);
                } else {
                    p.copy(el.all(other), el.all(recv));
                    begun = true;
                }
            } else {
                p.reduce(op, &el.datatype, el.count, partial, other);
                std::mem::swap(&mut partial, &mut other);
            }
        }
        mask *= 2;
    }
}

/// Element-wise reduction of which rank `i` gets the `i`-th block, of `counts[i]` elements, in
/// `recv`. `send` is `None` if the operand is in place.
pub fn reduce_scatter<C: Carrier>(
    p: &mut Plan<'_, C>,
    send: Option<UserPtr>,
    recv: UserPtr,
    datatype: &TypeRef,
    counts: &Rc<[usize]>,
    op: &Op,
) {
    let n = p.size;
    let starts: Rc<[i64]> = counts
        .iter()
        .scan(0, |next, &count| {
            let start = *next;
            *next += count as i64;
            Some(start)
        })
        .collect();
    let el = Elements { datatype: datatype.clone(), count: counts.iter().sum() };
    if el.is_empty() {
        return;
    }
    let mine = send.unwrap_or(recv);
    let own = counts[p.me];
    if !op.commutes() || n > PAIRWISE_RANKS && el.len() < LONG_BYTES {
        let whole = if p.me == 0 { p.elements(&el, el.count) } else { UserPtr::BOTTOM };
        reduce(p, Some(mine), whole, &el, op, 0);
        p.fence();
        let uniform = counts.iter().all(|&count| count == own);
        let spread = Spread::Varied {
            counts: Rc::clone(counts),
            displacements: starts,
            datatype: datatype.clone(),
        };
        let target = el.part(recv, 0, own);
        return scatter(p, &Blocks { base: whole, spread }, Some(&target), 0, uniform);
    }
    let acc = p.elements(&el, own);
    let incoming = p.elements(&el, own);
    p.copy(el.part(mine, starts[p.me] as usize, own), el.part(acc, 0, own));
    for distance in 1..n {
        let (to, from) = ((p.me + distance) % n, (p.me + n - distance) % n);
        if own > 0 {
            p.recv(el.part(incoming, 0, own), from, distance);
        }
        if counts[to] > 0 {
            p.send(el.part(mine, starts[to] as usize, counts[to]), to, distance);
        }
        p.fence();
        p.reduce(op, datatype, own, incoming, acc);
    }
    p.copy(el.part(acc, 0, own), el.part(recv, 0, own));
}
