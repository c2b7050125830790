//! Reductions to one rank and to all.
//!
//! To one: a binomial tree, in which every partial result covers consecutive ranks and is combined
//! in their order; if the operation does not commute, the tree is rooted at rank 0 and the result
//! forwarded. To all: recursive doubling, or, for long vectors and commutative operations,
//! Rabenseifner's algorithm (recursive halving, then recursive doubling; see Thakur, Rabenseifner,
//! Gropp 2005). All ranks get the same bits: either every element is computed in one place, or
//! everybody combines the same operands in the same order. Where the ranks share too few processors one of
//! them does all the work on short vectors, in that order too: the bits are the same.

use super::data::{Elements, Piece};
use super::plan::Plan;
use super::schedule::Carrier;
use crate::op::Op;
use crate::usermem::UserPtr;

/// From this many bytes on, a vector is cut in pieces.
const LONG_BYTES: usize = 16 << 10;

/// In a crowd one rank combines everything, if that is so many bytes at the most.
const AT_ONE_BYTES: usize = 64 << 10;

/// Whether in a crowd of `n` ranks vectors of `len` bytes are combined by one of them.
pub const fn at_one(n: usize, len: usize) -> bool {
    n > 2 && n * len <= AT_ONE_BYTES
}

/// Result at `root` in `recv`. `send` is `None` at a root whose operand is in place.
pub fn reduce<C: Carrier>(
    p: &mut Plan<'_, C>,
    send: Option<UserPtr>,
    recv: UserPtr,
    el: &Elements,
    op: &Op,
    root: usize,
) {
    if el.is_empty() {
        return;
    }
    let mine = send.unwrap_or(recv);
    if op.commutes() || root == 0 {
        return tree(p, mine, recv, el, op, root);
    }
    if p.me == 0 {
        let result = p.elements(el, el.count);
        tree(p, mine, result, el, op, 0);
        p.fence();
        p.send(el.all(result), root, 1);
    } else {
        tree(p, mine, recv, el, op, 0);
        if p.me == root {
            p.fence();
            p.recv(el.all(recv), 0, 1);
        }
    }
}

/// The tree below `root`; the result lies in `result` there.
fn tree<C: Carrier>(
    p: &mut Plan<'_, C>,
    mine: UserPtr,
    result: UserPtr,
    el: &Elements,
    op: &Op,
    root: usize,
) {
    let n = p.size;
    let place = (p.me + n - root) % n;
    let mut acc = mine;
    let mut free: Vec<UserPtr> = Vec::new();
    let mut mask = 1;
    while mask < n && place & mask == 0 {
        if place + mask < n {
            let last = mask * 2 >= n;
            let into = if place == 0 && last && acc != result {
                result
            } else {
                free.pop().unwrap_or_else(|| p.elements(el, el.count))
            };
            p.recv(el.all(into), (place + mask + root) % n, 0);
            p.fence();
            p.reduce(op, &el.datatype, el.count, acc, into);
            if acc != mine {
                free.push(acc);
            }
            acc = into;
        }
        mask *= 2;
    }
    if place != 0 {
        p.send(el.all(acc), (place - mask + root) % n, 0);
    } else if acc != result {
        p.copy(el.all(acc), el.all(result));
    }
}

/// Result everywhere in `recv`. `send` is `None` if the operand is in place.
pub fn allreduce<C: Carrier>(
    p: &mut Plan<'_, C>,
    send: Option<UserPtr>,
    recv: UserPtr,
    el: &Elements,
    op: &Op,
) {
    if el.is_empty() {
        return;
    }
    let fold = Fold::new(p.me, p.size);
    if p.size > 1 && el.len() >= LONG_BYTES && op.commutes() && el.count >= fold.power {
        return halve_and_double(p, &fold, send, recv, el, op);
    }
    if at_one(p.size, el.len()) && p.is_small_crowd() {
        return combine_at_one(p, send.unwrap_or(recv), recv, el, op);
    }
    if let Some(send) = send {
        p.copy(el.all(send), el.all(recv));
    }
    if p.size > 1 {
        doubling(p, &fold, recv, el, op);
    }
}

/// Rank 0 gets all operands and gives the result to all.
fn combine_at_one<C: Carrier>(
    p: &mut Plan<'_, C>,
    mine: UserPtr,
    recv: UserPtr,
    el: &Elements,
    op: &Op,
) {
    if p.me > 0 {
        p.send(el.all(mine), 0, 0);
        return p.recv(el.all(recv), 0, 1);
    }
    if mine != recv {
        p.copy(el.all(mine), el.all(recv));
    }
    let others: Vec<UserPtr> = (1..p.size).map(|_| p.elements(el, el.count)).collect();
    for (i, &other) in others.iter().enumerate() {
        p.recv(el.all(other), i + 1, 0);
    }
    let at = |rank: usize| rank.checked_sub(1).map_or(recv, |i| others[i]);
    p.fence();
    for (left, right) in as_by_doubling(p.size) {
        p.reduce(op, &el.datatype, el.count, at(left), at(right));
    }
    let result = at(last_by_doubling(p.size));
    for to in 1..p.size {
        p.send(el.all(result), to, 1);
    }
    if result != recv {
        p.copy(el.all(result), el.all(recv));
    }
}

/// The pairs of operands in the order in which recursive doubling between `n` ranks combines them: the first is
/// combined into the place of the second, which stands for both from then on.
pub fn as_by_doubling(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let fold = Fold::new(0, n);
    let (power, extra) = (fold.power, fold.extra);
    let lent = (0..extra).map(|pair| (2 * pair, 2 * pair + 1));
    let rounds = (0..power.ilog2()).flat_map(move |round| {
        let half = 1 << round;
        // What a block of ranks has in common lies at its last one.
        let ends = (2 * half - 1..power).step_by(2 * half);
        ends.map(move |end| (end - half, end))
    });
    lent.chain(rounds.map(move |(left, right)| (fold.real(left), fold.real(right))))
}

/// Where the result lies after [`as_by_doubling`].
pub const fn last_by_doubling(n: usize) -> usize {
    n - 1
}

/// Recursive doubling of whole vectors; the operand lies in `recv`.
fn doubling<C: Carrier>(p: &mut Plan<'_, C>, fold: &Fold, recv: UserPtr, el: &Elements, op: &Op) {
    let tmp = p.elements(el, el.count);
    let (mut acc, mut other) = (recv, tmp);
    // The ranks above the largest power of two join their neighbours.
    let number = match fold.role {
        Role::Lends(to) => {
            p.send(el.all(acc), to, 0);
            p.fence();
            return p.recv(el.all(recv), to, 1);
        }
        Role::Borrows(from, number) => {
            p.recv(el.all(other), from, 0);
            p.fence();
            p.reduce(op, &el.datatype, el.count, other, acc);
            number
        }
        Role::Plain(number) => number,
    };
    let mut mask = 1;
    while mask < fold.power {
        let partner = number ^ mask;
        p.recv(el.all(other), fold.real(partner), mask);
        p.send(el.all(acc), fold.real(partner), mask);
        p.fence();
        if partner < number {
            p.reduce(op, &el.datatype, el.count, other, acc);
        } else {
            p.reduce(op, &el.datatype, el.count, acc, other);
            std::mem::swap(&mut acc, &mut other);
        }
        mask *= 2;
    }
    if let Role::Borrows(from, _) = fold.role {
        p.send(el.all(acc), from, 1);
    }
    if acc != recv {
        p.copy(el.all(acc), el.all(recv));
    }
}

/// Rabenseifner's algorithm. An operand that is not in place is nowhere copied: what the first
/// partner sends goes to its place in the result, and the operand is combined into it there.
fn halve_and_double<C: Carrier>(
    p: &mut Plan<'_, C>,
    fold: &Fold,
    send: Option<UserPtr>,
    acc: UserPtr,
    el: &Elements,
    op: &Op,
) {
    let mut operand = send.filter(|&send| send != acc);
    let number = match fold.role {
        Role::Lends(to) => {
            p.send(el.all(operand.unwrap_or(acc)), to, 0);
            p.fence();
            return p.recv(el.all(acc), to, 1);
        }
        Role::Borrows(from, number) => {
            combine(p, operand.take(), acc, el, op, (0, el.count), from, 0, None);
            number
        }
        Role::Plain(number) => number,
    };
    let start = |segment: usize| segment * el.count / fold.power;
    let part = |base: UserPtr, (from, to): (usize, usize)| {
        el.part(base, start(from), start(to) - start(from))
    };
    let (mut low, mut high) = (0, fold.power);
    let mut distance = fold.power / 2;
    while distance > 0 {
        let partner = fold.real(number ^ distance);
        let middle = low + distance;
        let (keep, give) = if number & distance == 0 {
            ((low, middle), (middle, high))
        } else {
            ((middle, high), (low, middle))
        };
        let out = part(operand.unwrap_or(acc), give);
        let range = (start(keep.0), start(keep.1) - start(keep.0));
        combine(p, operand.take(), acc, el, op, range, partner, 2 * distance, Some(out));
        (low, high) = keep;
        distance /= 2;
    }
    let mut distance = 1;
    while distance < fold.power {
        let partner = fold.real(number ^ distance);
        let sibling =
            if number & distance == 0 { (high, high + distance) } else { (low - distance, low) };
        p.recv(part(acc, sibling), partner, 2 * distance + 1);
        p.send(part(acc, (low, high)), partner, 2 * distance + 1);
        p.fence();
        (low, high) = (low.min(sibling.0), high.max(sibling.1));
        distance *= 2;
    }
    if let Role::Borrows(from, _) = fold.role {
        p.send(el.all(acc), from, 1);
    }
}

/// Receives the partner's `count` elements from `first` on, sends `out`, and leaves both operands
/// combined in `acc`: ours lies in `operand`, or in `acc` itself.
#[allow(clippy::too_many_arguments)]
fn combine<C: Carrier>(
    p: &mut Plan<'_, C>,
    operand: Option<UserPtr>,
    acc: UserPtr,
    el: &Elements,
    op: &Op,
    (first, count): (usize, usize),
    partner: usize,
    step: usize,
    out: Option<Piece>,
) {
    let (into, input) = match operand {
        Some(operand) => (el.part(acc, first, count), el.at(operand, first)),
        None => {
            let tmp = p.elements(el, count);
            (el.part(tmp, 0, count), tmp)
        }
    };
    p.recv(into, partner, step);
    if let Some(out) = out {
        p.send(out, partner, step);
    }
    p.fence();
    p.reduce(op, &el.datatype, count, input, el.at(acc, first));
}

/// Reduction of the number of ranks to a power of two: of the first `2 * extra` ranks, the even
/// ones lend their data to the odd ones.
struct Fold {
    power: usize,
    extra: usize,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    /// Gives its data to this rank and waits for the result.
    Lends(usize),
    /// Takes the data of this rank; has this number among the power of two.
    Borrows(usize, usize),
    /// Has this number among the power of two.
    Plain(usize),
}

impl Fold {
    fn new(me: usize, n: usize) -> Self {
        let power = 1 << n.ilog2();
        let extra = n - power;
        let role = if me >= 2 * extra {
            Role::Plain(me - extra)
        } else if me.is_multiple_of(2) {
            Role::Lends(me + 1)
        } else {
            Role::Borrows(me - 1, me / 2)
        };
        Self { power, extra, role }
    }

    fn real(&self, number: usize) -> usize {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }
}
