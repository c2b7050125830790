//! `MPI_Barrier` (MPI-4.1, 6.3): dissemination (Hensgen, Finkel, Manber: "Two Algorithms for
//! Barrier Synchronization", 1988). Oversubscribed ranks send to one of them and wait for its
//! answer.

use super::data::Piece;
use super::steps::Steps;
use crate::tuning::TWO_ROUNDS_RANKS;
use crate::usermem::UserPtr;

/// No rank leaves before all ranks came.
pub fn barrier<S: Steps>(p: &mut S) {
    let nothing = || Piece::bytes(UserPtr::BOTTOM, 0);
    if p.size() > TWO_ROUNDS_RANKS && p.prefers_direct() {
        if p.me() > 0 {
            p.send(nothing(), 0, 0);
            p.recv(nothing(), 0, 1);
        } else {
            (1..p.size()).for_each(|from| p.recv(nothing(), from, 0));
            p.fence();
            (1..p.size()).for_each(|to| p.send(nothing(), to, 1));
        }
        return;
    }
    let mut distance = 1;
    let mut round = 0;
    while distance < p.size() {
        p.recv(nothing(), (p.me() + p.size() - distance) % p.size(), round);
        p.send(nothing(), (p.me() + distance) % p.size(), round);
        p.fence();
        distance *= 2;
        round += 1;
    }
}
