//! Collectives between the two groups of an intercommunicator (MPI-4.1, 6.2.2).
//!
//! Data goes straight to the other group, after a reduction within its own group where the call
//! asks for one. The plan tells both groups apart: steps within the own group are written before or
//! after [`Plan::turn_to`].

use super::bcast::bcast as bcast_within;
use super::data::{Blocks, Operands, PerRank, Piece, Spread};
use super::gather::scatter;
use super::plan::Plan;
use super::reduce::reduce;
use super::schedule::Carrier;
use super::steps::Steps;
use crate::group::Group;
use crate::usermem::UserPtr;
use std::rc::Rc;

/// The part of this rank in a rooted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// It is the root (`MPI_ROOT`).
    Me,
    /// It is in the root's group but not the root (`MPI_PROC_NULL`).
    Bystander,
    /// The root is this rank of the other group.
    Remote(usize),
}

/// The two groups as this rank sees them.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// Its own group.
    pub local: &'a Group,
    /// Its rank there.
    pub me: u32,
    /// The other group.
    pub remote: &'a Group,
}

impl<'a> Sides<'a> {
    fn far<C: Carrier>(&self, p: &mut Plan<'a, C>) {
        p.turn_to(self.remote, self.me);
    }

    fn near<C: Carrier>(&self, p: &mut Plan<'a, C>) {
        p.turn_to(self.local, self.me);
    }
}

/// No rank leaves before all ranks of the other group came.
pub fn barrier<'a, C: Carrier>(p: &mut Plan<'a, C>, sides: Sides<'a>) {
    sides.far(p);
    let nothing = || Piece::bytes(UserPtr::BOTTOM, 0);
    for i in 0..p.size {
        p.recv(nothing(), i, 0);
        p.send(nothing(), i, 0);
    }
}

/// `data` of the root goes to the other group.
pub fn bcast<'a, C: Carrier>(p: &mut Plan<'a, C>, sides: Sides<'a>, data: &Piece, root: Root) {
    if data.is_empty() {
        return;
    }
    match root {
        Root::Me => {
            sides.far(p);
            p.send(data.clone(), 0, 0);
        }
        Root::Bystander => {}
        Root::Remote(root) => {
            if sides.me == 0 {
                sides.far(p);
                p.recv(data.clone(), root, 0);
                p.fence();
            }
            sides.near(p);
            bcast_within(p, data, 0);
        }
    }
}

/// The blocks of the other group come to the root.
pub fn gather<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: &Piece,
    recv: &Blocks,
    root: Root,
) {
    sides.far(p);
    match root {
        Root::Me => {
            for i in (0..p.size).filter(|&i| recv.bytes(i) > 0) {
                p.recv(recv.piece(i), i, 0);
            }
        }
        Root::Bystander => {}
        Root::Remote(root) if !send.is_empty() => p.send(send.clone(), root, 0),
        Root::Remote(_) => {}
    }
}

/// The blocks of the root go to the other group.
pub fn scatter_out<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: &Blocks,
    recv: &Piece,
    root: Root,
) {
    sides.far(p);
    match root {
        Root::Me => {
            for i in (0..p.size).filter(|&i| send.bytes(i) > 0) {
                p.send(send.piece(i), i, 0);
            }
        }
        Root::Bystander => {}
        Root::Remote(root) if !recv.is_empty() => p.recv(recv.clone(), root, 0),
        Root::Remote(_) => {}
    }
}

/// The block of every rank goes to all ranks of the other group.
pub fn allgather<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: &Piece,
    recv: &Blocks,
) {
    sides.far(p);
    for i in (0..p.size).filter(|&i| recv.bytes(i) > 0) {
        p.recv(recv.piece(i), i, 0);
    }
    for i in (0..p.size).filter(|_| !send.is_empty()) {
        p.send(send.clone(), i, 0);
    }
}

/// Block `j` of rank `i` becomes block `i` of rank `j` of the other group.
pub fn alltoall<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: &Blocks,
    recv: &Blocks,
) {
    sides.far(p);
    for i in (0..p.size).filter(|&i| recv.bytes(i) > 0) {
        p.recv(recv.piece(i), i, 0);
    }
    for i in (0..p.size).filter(|&i| send.bytes(i) > 0) {
        p.send(send.piece(i), i, 0);
    }
}

/// The reduction over the other group comes to the root.
pub fn reduce_out<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: UserPtr,
    recv: UserPtr,
    what: Operands<'_>,
    root: Root,
) {
    if what.is_empty() {
        return;
    }
    match root {
        Root::Me => {
            sides.far(p);
            p.recv(what.all(recv), 0, 1);
        }
        Root::Bystander => {}
        Root::Remote(root) => {
            let result = reduced_here(p, sides, send, what);
            if sides.me == 0 {
                sides.far(p);
                p.send(what.all(result), root, 1);
            }
        }
    }
}

/// The reduction over the own group, at its rank 0.
fn reduced_here<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: UserPtr,
    what: Operands<'_>,
) -> UserPtr {
    sides.near(p);
    let result = if sides.me == 0 { p.elements(what, what.count) } else { UserPtr::BOTTOM };
    reduce(p, Some(send), result, what, 0);
    p.fence();
    result
}

/// The reduction over the other group comes to all ranks.
pub fn allreduce<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: UserPtr,
    recv: UserPtr,
    what: Operands<'_>,
) {
    if what.is_empty() {
        return;
    }
    let result = reduced_here(p, sides, send, what);
    if sides.me == 0 {
        sides.far(p);
        p.recv(what.all(recv), 0, 1);
        p.send(what.all(result), 0, 1);
        p.fence();
    }
    sides.near(p);
    bcast_within(p, &what.all(recv), 0);
}

/// The reduction over the other group is spread over this one.
pub fn reduce_scatter<'a, C: Carrier>(
    p: &mut Plan<'a, C>,
    sides: Sides<'a>,
    send: UserPtr,
    recv: UserPtr,
    counts: &Rc<[usize]>,
    what: Operands<'_>,
) {
    if what.is_empty() {
        return;
    }
    let result = reduced_here(p, sides, send, what);
    let mut theirs = UserPtr::BOTTOM;
    if sides.me == 0 {
        theirs = p.elements(what, what.count);
        sides.far(p);
        p.recv(what.all(theirs), 0, 1);
        p.send(what.all(result), 0, 1);
        p.fence();
    }
    sides.near(p);
    let mut next = 0;
    let starts: Rc<[i64]> = counts
        .iter()
        .map(|&count| {
            next += count as i64;
            next - count as i64
        })
        .collect();
    let own = counts[sides.me as usize];
    let uniform = counts.iter().all(|&count| count == own);
    let spread = Spread::Varied {
        counts: Rc::clone(counts),
        displacements: starts,
        datatype: what.datatype.clone(),
    };
    scatter(p, &Blocks { base: theirs, spread }, Some(&what.part(recv, 0, own)), 0, uniform);
}
