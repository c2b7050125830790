//! Communicators: made, split, merged, freed.

use super::super::{
    Collective, CommId, Errhandler, ErrhandlerId, Language, Peer, SendKind, SplitType, Tag,
};
use super::{INT, Rank0, WORLD, address_of, at, me, run};
use crate::error::ErrorClass;
use crate::group::{Comparison, Group, GroupId};
use crate::op::{OpId, Predefined};
use crate::topology::TopologyKind;
use ftmpi_wire::Rank;

/// Sum of `value` over a communicator: proves that it works.
fn sum(mpi: &mut Rank0, comm: CommId, value: i32) -> i32 {
    let (mut a, mut b) = ([value], [0]);
    let op = OpId::predefined(Predefined::Sum);
    let what =
        Collective::Allreduce { send: at(&mut a), recv: at(&mut b), count: 1, datatype: INT, op };
    mpi.collective(comm, what).unwrap();
    b[0]
}

#[test]
fn split_orders_by_key_and_contexts_are_apart() {
    run(6, |mpi| {
        let (i, n) = me(mpi);
        let color = (i != 5).then_some((i % 2) as i32);
        let half = mpi.comm_split(WORLD, color, -(i as i32)).unwrap();
        assert_eq!(half.is_none(), i == 5);
        let copy = mpi.comm_dup(WORLD).unwrap();
        assert_eq!(mpi.comm_compare(WORLD, copy).unwrap(), Comparison::Congruent);
        assert_eq!(sum(mpi, copy, 1), n as i32);
        let Some(half) = half else { return };
        let members: Vec<usize> = (0..5).rev().filter(|k| k % 2 == i % 2).collect();
        assert_eq!(mpi.comm_size(half).unwrap() as usize, members.len());
        assert_eq!(members[mpi.comm_rank(half).unwrap() as usize], i);
        assert_eq!(sum(mpi, half, i as i32), members.iter().sum::<usize>() as i32);
        // The same tag on two communicators: each message finds its own.
        let next = (mpi.comm_rank(half).unwrap() + 1) % mpi.comm_size(half).unwrap();
        let mut values = [i as i32, 100 + i as i32];
        let mut got = [0, 0];
        let p = address_of(&mut values);
        let to = Peer::Rank(next);
        let std = SendKind::Standard;
        let mut a =
            mpi.irecv(address_of(&mut got[..1]), 1, INT, Peer::Any, Tag::Any, half).unwrap();
        let mut b =
            mpi.irecv(address_of(&mut got[1..]), 1, INT, Peer::Any, Tag::Any, WORLD).unwrap();
        let there = Peer::Rank(members[next as usize] as u32);
        mpi.send(std, p.offset(4), 1, INT, there, 3, WORLD).unwrap();
        mpi.send(std, p, 1, INT, to, 3, half).unwrap();
        mpi.wait(&mut a).unwrap();
        mpi.wait(&mut b).unwrap();
        assert_eq!(got[0] + 100, got[1]);
        mpi.comm_free(half).unwrap();
        assert_eq!(mpi.comm_rank(half).unwrap_err().class, ErrorClass::Comm);
    });
}

#[test]
fn contexts_are_used_again() {
    run(3, |mpi| {
        for round in 0..3000 {
            let copy = mpi.comm_dup(WORLD).unwrap();
            if round % 500 == 0 {
                assert_eq!(sum(mpi, copy, 1), 3);
            }
            mpi.comm_free(copy).unwrap();
        }
        assert_eq!(mpi.comm_free(WORLD).unwrap_err().class, ErrorClass::Comm);
    });
}

#[test]
fn duplicates_without_a_wait() {
    run(4, |mpi| {
        let (i, _) = me(mpi);
        let half = mpi.comm_split(WORLD, Some((i % 2) as i32), 0).unwrap().unwrap();
        for round in 0..40 {
            // Even ranks may begin with the other duplicate. Rank 0 waits for a message that is
            // sent only after the duplicates of rank 1 were begun.
            let mut parents = [WORLD, half];
            if (round + i / 2) % 2 == 0 {
                parents.reverse();
            }
            let mut made: Vec<(CommId, _)> =
                parents.into_iter().map(|c| mpi.comm_idup(c).unwrap()).collect();
            made.push(mpi.comm_idup(WORLD).unwrap());
            if i == 0 {
                let mut v = [0];
                mpi.recv(address_of(&mut v), 1, INT, Peer::Rank(1), Tag::Is(2), WORLD).unwrap();
            } else if i == 1 {
                super::send(mpi, &mut [1], 0, 2);
            }
            let third = mpi.comm_dup(WORLD).unwrap();
            for (_, request) in made.iter_mut().rev() {
                mpi.wait(request).unwrap();
            }
            made.sort_by_key(|(comm, _)| mpi.comm_size(*comm).unwrap());
            for (comm, _) in made {
                let size = mpi.comm_size(comm).unwrap() as i32;
                assert_eq!(sum(mpi, comm, 1), size);
                mpi.comm_free(comm).unwrap();
            }
            assert_eq!(sum(mpi, third, i as i32), 6);
            mpi.comm_free(third).unwrap();
        }
    });
}

#[test]
fn groups_make_communicators() {
    run(5, |mpi| {
        let (i, _) = me(mpi);
        let group = mpi.groups.insert(Group::new(&[Rank(3), Rank(1), Rank(4)]).unwrap()).unwrap();
        let made = mpi.comm_create(WORLD, group).unwrap();
        assert_eq!(made.is_some(), [1, 3, 4].contains(&i));
        assert!(mpi.comm_create(WORLD, GroupId::EMPTY).unwrap().is_none());
        let other = if [1, 3, 4].contains(&i) {
            mpi.comm_create_group(WORLD, group, 11).unwrap()
        } else {
            None
        };
        if let (Some(made), Some(other)) = (made, other) {
            assert_eq!(sum(mpi, made, i as i32), 8);
            assert_eq!(sum(mpi, other, i as i32), 8);
            assert_eq!(mpi.comm_rank(made).unwrap(), [9, 1, 9, 0, 2][i]);
            assert_eq!(mpi.comm_compare(made, other).unwrap(), Comparison::Congruent);
            assert_eq!(mpi.comm_compare(made, WORLD).unwrap(), Comparison::Unequal);
            let its = mpi.comm_group(made).unwrap();
            assert_eq!(mpi.groups.get(its).unwrap().to_vec(), [Rank(3), Rank(1), Rank(4)]);
        }
        let host = mpi.comm_split_type(WORLD, Some(SplitType::Shared), 0).unwrap().unwrap();
        assert_eq!(mpi.comm_size(host).unwrap(), 5);
    });
}

#[test]
fn intercommunicators() {
    run(5, |mpi| {
        let (i, _) = me(mpi);
        let left = i < 2;
        let color = Some(i32::from(!left));
        let half = mpi.comm_split(WORLD, color, 0).unwrap().unwrap();
        let inter = mpi.intercomm_create(half, 0, WORLD, if left { 2 } else { 0 }, 99).unwrap();
        assert!(mpi.comm_test_inter(inter).unwrap() && !mpi.comm_test_inter(half).unwrap());
        assert_eq!(mpi.comm_remote_size(inter).unwrap(), if left { 3 } else { 2 });
        assert_eq!(mpi.comm_remote_size(half).unwrap_err().class, ErrorClass::Comm);
        // Ranks are those of the other group.
        if left {
            let mut v = [i as i32];
            let to = Peer::Rank(2);
            mpi.send(SendKind::Standard, address_of(&mut v), 1, INT, to, 0, inter).unwrap();
        } else if i == 4 {
            for k in 0..2 {
                let mut v = [-1];
                let from = Peer::Rank(k);
                let status = mpi.recv(address_of(&mut v), 1, INT, from, Tag::Any, inter).unwrap();
                assert_eq!((status.source, v[0]), (from, k as i32));
            }
        }
        // Every rank gets the sum over the other group.
        assert_eq!(sum(mpi, inter, i as i32), if left { 9 } else { 1 });
        mpi.collective(inter, Collective::Barrier).unwrap();
        let copy = mpi.comm_dup(inter).unwrap();
        assert_eq!(mpi.comm_compare(inter, copy).unwrap(), Comparison::Congruent);
        let merged = mpi.intercomm_merge(copy, left).unwrap();
        assert_eq!(mpi.comm_size(merged).unwrap(), 5);
        assert_eq!(mpi.comm_rank(merged).unwrap() as usize, if left { i + 3 } else { i - 2 });
        assert_eq!(sum(mpi, merged, i as i32), 10);
        let part = mpi.comm_split(inter, Some(i32::from(i % 2 == 1)), 0).unwrap().unwrap();
        assert_eq!(sum(mpi, part, i as i32), [6, 3, 0, 1, 0][i]);
    });
}

#[test]
fn grids_and_graphs() {
    run(7, |mpi| {
        let (i, _) = me(mpi);
        let grid = mpi.cart_create(WORLD, &[2, 3], &[false, true], false).unwrap();
        assert_eq!(grid.is_none(), i == 6);
        if let Some(grid) = grid {
            assert_eq!(mpi.topo_test(grid).unwrap(), Some(TopologyKind::Cart));
            let (_, _, coords) = mpi.cart_get(grid).unwrap();
            assert_eq!(coords, [i as i32 / 3, i as i32 % 3]);
            let (up, down) = mpi.cart_shift(grid, 0, 1).unwrap();
            let next_row = |i: usize| Peer::Rank(i as u32);
            assert_eq!(up, if i < 3 { Peer::ProcNull } else { next_row(i - 3) });
            assert_eq!(down, if i < 3 { next_row(i + 3) } else { Peer::ProcNull });
            let row = mpi.cart_sub(grid, &[false, true]).unwrap().unwrap();
            assert_eq!(sum(mpi, row, i as i32), if i < 3 { 3 } else { 12 });
            let copy = mpi.comm_dup(row).unwrap();
            assert_eq!(mpi.cartdim_get(copy).unwrap(), 1);
            // Neighbours: up, down, left, right.
            let (mut out, mut into) = ([i as i32; 4], [-1; 4]);
            let what = Collective::NeighborAlltoall {
                send: at(&mut out),
                send_count: 1,
                send_type: INT,
                recv: at(&mut into),
                recv_count: 1,
                recv_type: INT,
            };
            mpi.collective(grid, what).unwrap();
            let (r, c) = (i / 3, i % 3);
            let left = (3 * r + (c + 2) % 3) as i32;
            let right = (3 * r + (c + 1) % 3) as i32;
            let vertical = if r == 0 { [-1, i as i32 + 3] } else { [i as i32 - 3, -1] };
            assert_eq!(into, [vertical[0], vertical[1], left, right]);
        }
        // A ring, each edge named by another process.
        let next = (i as i32 + 1) % 7;
        let ring = mpi
            .dist_graph_create(WORLD, &[next], &[1], &[(next + 1) % 7], Some(&[i as i32]), false)
            .unwrap();
        let mine = mpi.dist_graph_neighbors(ring).unwrap();
        assert_eq!(mine.sources, [(i as i32 + 6) % 7]);
        assert_eq!(mine.destinations, [next]);
        assert_eq!(mine.source_weights, [(i as i32 + 5) % 7]);
        assert_eq!(mpi.dist_graph_neighbors_count(ring).unwrap(), (1, 1, true));
    });
}

#[test]
fn handlers_and_names_are_inherited_or_not() {
    run(2, |mpi| {
        let handler = mpi.errhandler_create(0x1234, Language::C).unwrap();
        mpi.comm_set_errhandler(WORLD, handler).unwrap();
        mpi.errhandler_free(handler).unwrap();
        mpi.comm_set_name(WORLD, b"all of us").unwrap();
        let copy = mpi.comm_dup(WORLD).unwrap();
        let user = Errhandler::User { function: 0x1234, language: Language::C };
        assert_eq!(mpi.errhandler_of(copy), user);
        assert_eq!(mpi.comm_get_name(WORLD).unwrap(), b"all of us");
        assert_eq!(mpi.comm_get_name(copy).unwrap(), b"");
        mpi.comm_set_errhandler(WORLD, ErrhandlerId::RETURN).unwrap();
        mpi.comm_free(copy).unwrap();
        assert!(mpi.comm_set_errhandler(WORLD, handler).is_err());
        assert_eq!(mpi.comm_get_errhandler(WORLD).unwrap(), ErrhandlerId::RETURN);
        assert_eq!(mpi.errhandler_of(CommId(99)), Errhandler::Return);
    });
}
