//! `MPI_Reduce` (MPI-4.1, 6.9.1): a binomial tree, in which every partial result covers consecutive
//! ranks and is combined in their order. If the operation does not commute, the tree is rooted at
//! rank 0 and the result forwarded.

use super::data::Operands;
use super::steps::Steps;
use crate::usermem::UserPtr;

/// Result at `root` in `recv`. `send` is `None` at a root whose operand is in place.
pub fn reduce<S: Steps>(
    p: &mut S,
    send: Option<UserPtr>,
    recv: UserPtr,
    what: Operands<'_>,
    root: usize,
) {
    if what.is_empty() {
        return;
    }
    let mine = send.unwrap_or(recv);
    if what.op.commutes() || root == 0 {
        return tree(p, mine, recv, what, root);
    }
    if p.me() == 0 {
        let result = p.elements(what, what.count);
        tree(p, mine, result, what, 0);
        p.fence();
        p.send(what.all(result), root, 1);
    } else {
        tree(p, mine, recv, what, 0);
        if p.me() == root {
            p.fence();
            p.recv(what.all(recv), 0, 1);
        }
    }
}

/// The tree below `root`; the result lies in `result` there.
fn tree<S: Steps>(p: &mut S, mine: UserPtr, result: UserPtr, what: Operands<'_>, root: usize) {
    let n = p.size();
    let place = (p.me() + n - root) % n;
    // Two buffers in turn: the operand so far lies in the other one.
    let (mut spare, mut turn) = ([None; 2], 0);
    let (mut acc, mut mask) = (mine, 1);
    while mask < n && place & mask == 0 {
        if place + mask < n {
            let last = mask * 2 >= n;
            let into = if place == 0 && last && acc != result {
                result
            } else {
                turn ^= 1;
                *spare[turn].get_or_insert_with(|| p.elements(what, what.count))
            };
            p.recv(what.all(into), (place + mask + root) % n, 0);
            p.fence();
            p.reduce(what, what.count, acc, into);
            acc = into;
        }
        mask *= 2;
    }
    if place != 0 {
        p.send(what.all(acc), (place - mask + root) % n, 0);
    } else if acc != result {
        p.copy(what.all(acc), what.all(result));
    }
}
