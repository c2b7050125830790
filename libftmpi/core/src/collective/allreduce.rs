//! `MPI_Allreduce` (MPI-4.1, 6.9.6).
//!
//! Recursive doubling. For long vectors and commutative operations: Rabenseifner's algorithm,
//! recursive halving and then recursive doubling (Thakur, Rabenseifner, Gropp: "Optimization of
//! Collective Communication Operations in MPICH", 2005). Of oversubscribed ranks one combines short
//! vectors for all.
//!
//! Guarantees: all ranks get the same bits. Either every element is computed in one place, or every
//! rank combines the same operands in the same order. If one rank combines for all, it keeps the
//! order of recursive doubling.

use super::data::{Operands, Piece};
use super::steps::Steps;
use crate::tuning::{ALLREDUCE_AT_ONE_BYTES, ALLREDUCE_LONG_BYTES};
use crate::usermem::UserPtr;

/// Whether one of `n` oversubscribed ranks combines vectors of `len` bytes for all.
const fn is_combined_at_one(n: usize, len: usize) -> bool {
    n > 2 && n * len <= ALLREDUCE_AT_ONE_BYTES
}

/// Result everywhere in `recv`. `send` is `None` if the operand is in place.
pub fn allreduce<S: Steps>(p: &mut S, send: Option<UserPtr>, recv: UserPtr, what: Operands<'_>) {
    if what.is_empty() {
        return;
    }
    let fold = Fold::new(p.me(), p.size());
    if p.size() > 1
        && what.len() >= ALLREDUCE_LONG_BYTES
        && what.op.commutes()
        && what.count >= fold.power
    {
        return halve_and_double(p, &fold, send, recv, what);
    }
    if is_combined_at_one(p.size(), what.len()) && p.prefers_direct() {
        return combine_at_one(p, send.unwrap_or(recv), recv, what);
    }
    if let Some(send) = send {
        p.copy(what.all(send), what.all(recv));
    }
    if p.size() > 1 {
        doubling(p, &fold, recv, what);
    }
}

/// Rank 0 gets all operands and gives the result to all.
fn combine_at_one<S: Steps>(p: &mut S, mine: UserPtr, recv: UserPtr, what: Operands<'_>) {
    if p.me() > 0 {
        p.send(what.all(mine), 0, 0);
        return p.recv(what.all(recv), 0, 1);
    }
    if mine != recv {
        p.copy(what.all(mine), what.all(recv));
    }
    let (others, stride) = p.operands(what, p.size() - 1);
    let at = |rank: usize| match rank {
        0 => recv,
        _ => others.offset((rank as i64 - 1) * stride),
    };
    for from in 1..p.size() {
        p.recv(what.all(at(from)), from, 0);
    }
    p.fence();
    for (left, right) in as_by_doubling(p.size()) {
        p.reduce(what, what.count, at(left), at(right));
    }
    let result = at(last_by_doubling(p.size()));
    for to in 1..p.size() {
        p.send(what.all(result), to, 1);
    }
    if result != recv {
        p.copy(what.all(result), what.all(recv));
    }
}

/// The pairs of operands in the order in which recursive doubling between `n` ranks combines them.
/// The first is combined into the place of the second, which stands for both from then on.
pub fn as_by_doubling(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let fold = Fold::new(0, n);
    let (power, extra) = (fold.power, fold.extra);
    let pairs = (0..extra).map(|pair| (2 * pair, 2 * pair + 1));
    let rounds = (0..power.ilog2()).flat_map(move |round| {
        let half = 1 << round;
        // The combined operand of a block of ranks lies at its last rank.
        let ends = (2 * half - 1..power).step_by(2 * half);
        ends.map(move |end| (end - half, end))
    });
    pairs.chain(rounds.map(move |(left, right)| (fold.real(left), fold.real(right))))
}

/// Where the result lies after [`as_by_doubling`].
pub const fn last_by_doubling(n: usize) -> usize {
    n - 1
}

/// Recursive doubling of whole vectors; the operand lies in `recv`.
fn doubling<S: Steps>(p: &mut S, fold: &Fold, recv: UserPtr, what: Operands<'_>) {
    let tmp = p.elements(what, what.count);
    let (mut acc, mut other) = (recv, tmp);
    // The ranks above the largest power of two join their neighbours.
    let number = match fold.role {
        Role::Gives(to) => {
            p.send(what.all(acc), to, 0);
            p.fence();
            return p.recv(what.all(recv), to, 1);
        }
        Role::Takes(from, number) => {
            p.recv(what.all(other), from, 0);
            p.fence();
            p.reduce(what, what.count, other, acc);
            number
        }
        Role::Plain(number) => number,
    };
    let mut mask = 1;
    while mask < fold.power {
        let partner = number ^ mask;
        p.recv(what.all(other), fold.real(partner), mask);
        p.send(what.all(acc), fold.real(partner), mask);
        p.fence();
        if partner < number {
            p.reduce(what, what.count, other, acc);
        } else {
            p.reduce(what, what.count, acc, other);
            std::mem::swap(&mut acc, &mut other);
        }
        mask *= 2;
    }
    if let Role::Takes(from, _) = fold.role {
        p.send(what.all(acc), from, 1);
    }
    if acc != recv {
        p.copy(what.all(acc), what.all(recv));
    }
}

/// Rabenseifner's algorithm. An operand that is not in place is not copied. What the first partner
/// sends goes to its place in the result, and the operand is combined into it there.
fn halve_and_double<S: Steps>(
    p: &mut S,
    fold: &Fold,
    send: Option<UserPtr>,
    acc: UserPtr,
    what: Operands<'_>,
) {
    let mut operand = send.filter(|&send| send != acc);
    let number = match fold.role {
        Role::Gives(to) => {
            p.send(what.all(operand.unwrap_or(acc)), to, 0);
            p.fence();
            return p.recv(what.all(acc), to, 1);
        }
        Role::Takes(from, number) => {
            let exchange = Exchange { partner: from, step: 0, out: None };
            combine(p, operand.take(), acc, what, (0, what.count), exchange);
            number
        }
        Role::Plain(number) => number,
    };
    let start = |segment: usize| segment * what.count / fold.power;
    let part = |base: UserPtr, (from, to): (usize, usize)| {
        what.part(base, start(from), start(to) - start(from))
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
        let out = Some(part(operand.unwrap_or(acc), give));
        let exchange = Exchange { partner, step: 2 * distance, out };
        let range = (start(keep.0), start(keep.1) - start(keep.0));
        combine(p, operand.take(), acc, what, range, exchange);
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
    if let Role::Takes(from, _) = fold.role {
        p.send(what.all(acc), from, 1);
    }
}

/// The exchange of one step with one partner.
struct Exchange {
    partner: usize,
    step: usize,
    /// What the partner gets.
    out: Option<Piece>,
}

/// Receives the partner's `count` elements from `first` on, sends what the partner gets, and leaves
/// both operands combined in `acc`. Our operand lies in `operand`, or in `acc` itself.
fn combine<S: Steps>(
    p: &mut S,
    operand: Option<UserPtr>,
    acc: UserPtr,
    what: Operands<'_>,
    (first, count): (usize, usize),
    exchange: Exchange,
) {
    let (into, input) = match operand {
        Some(operand) => (what.part(acc, first, count), what.at(operand, first)),
        None => {
            let tmp = p.elements(what, count);
            (what.part(tmp, 0, count), tmp)
        }
    };
    p.recv(into, exchange.partner, exchange.step);
    if let Some(out) = exchange.out {
        p.send(out, exchange.partner, exchange.step);
    }
    p.fence();
    p.reduce(what, count, input, what.at(acc, first));
}

/// Reduction of the number of ranks to a power of two. Of the first `2 * extra` ranks, the even
/// ones give their data to the odd ones.
struct Fold {
    power: usize,
    extra: usize,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    /// Gives its data to this rank and waits for the result.
    Gives(usize),
    /// Takes the data of this rank; has this number among the power of two.
    Takes(usize, usize),
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
            Role::Gives(me + 1)
        } else {
            Role::Takes(me - 1, me / 2)
        };
        Self { power, extra, role }
    }

    fn real(&self, number: usize) -> usize {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }
}
