//! `MPI_Scan` and `MPI_Exscan` (MPI-4.1, 6.11): recursive doubling, combining in the order of the
//! ranks. It works for operations that do not commute.

use super::data::Operands;
use super::steps::Steps;
use crate::usermem::UserPtr;

/// Reduction over the ranks up to this one (`inclusive`) or before it. At rank 0 an exclusive scan
/// leaves `recv` alone.
pub fn scan<S: Steps>(
    p: &mut S,
    send: Option<UserPtr>,
    recv: UserPtr,
    what: Operands<'_>,
    inclusive: bool,
) {
    if what.is_empty() {
        return;
    }
    let mine = send.unwrap_or(recv);
    if p.size() < 2 {
        if inclusive && send.is_some() {
            p.copy(what.all(mine), what.all(recv));
        }
        return;
    }
    let mut partial = p.elements(what, what.count);
    let mut other = p.elements(what, what.count);
    p.copy(what.all(mine), what.all(partial));
    let mut begun = inclusive;
    if inclusive && send.is_some() {
        p.copy(what.all(mine), what.all(recv));
    }
    let mut mask = 1;
    while mask < p.size() {
        let partner = p.me() ^ mask;
        if partner < p.size() {
            p.recv(what.all(other), partner, mask);
            p.send(what.all(partial), partner, mask);
            p.fence();
            if partner < p.me() {
                p.reduce(what, what.count, other, partial);
                if begun {
                    p.reduce(what, what.count, other, recv);
                } else {
                    p.copy(what.all(other), what.all(recv));
                    begun = true;
                }
            } else {
                p.reduce(what, what.count, partial, other);
                std::mem::swap(&mut partial, &mut other);
            }
        }
        mask *= 2;
    }
}
