//! Collectives through the facade: blocking, overlapping, persistent, short and long.

use super::super::{Buffer, Collective, Peer, Request, Tag};
use super::{DOUBLE, INT, Rank0, WORLD, address_of, at, counts, me, run, send};
use crate::error::ErrorClass;
use crate::op::{OpId, Predefined};

const SUM: OpId = OpId::predefined(Predefined::Sum);

fn bcast(v: &mut [i32], root: usize) -> Collective<'static> {
    let count = v.len() as i64;
    Collective::Bcast { buffer: address_of(v), count, datatype: INT, root: Peer::Rank(root as u32) }
}

#[test]
fn short_and_long_in_all_sizes() {
    for n in [1, 2, 3, 5, 8, 9] {
        run(n, move |mpi| {
            let (i, n) = me(mpi);
            for len in [0, 1, 7, 500, 600, 5000, 50_000] {
                let root = len % n;
                let mut v: Vec<i32> =
                    (0..len as i32).map(|k| if i == root { k } else { -1 }).collect();
                let what = bcast(&mut v, root);
                mpi.collective(WORLD, what).unwrap();
                assert_eq!(v, (0..len as i32).collect::<Vec<_>>());
                // In place at every other rank.
                let mut a: Vec<f64> = (0..len).map(|k| (k * (i + 1)) as f64).collect();
                let mut b = a.clone();
                let send = if i % 2 == 0 { at(&mut a) } else { Buffer::InPlace };
                let (recv, count) = (at(&mut b), len as i64);
                let what = Collective::Allreduce { send, recv, count, datatype: DOUBLE, op: SUM };
                mpi.collective(WORLD, what).unwrap();
                let total = n * (n + 1) / 2;
                assert_eq!(b, (0..len).map(|k| (k * total) as f64).collect::<Vec<_>>());
            }
            mpi.collective(WORLD, Collective::Barrier).unwrap();
        });
    }
}

fn gather_all(mpi: &mut Rank0, root: usize) -> Vec<i32> {
    let (i, n) = me(mpi);
    let (mut mine, mut all) = ([i as i32, 10 * i as i32], vec![-1; 2 * n]);
    let what = Collective::Gather {
        send: at(&mut mine),
        send_count: 2,
        send_type: INT,
        recv: at(&mut all),
        recv_count: 2,
        recv_type: INT,
        root: Peer::Rank(root as u32),
    };
    mpi.collective(WORLD, what).unwrap();
    all
}

#[test]
fn every_call_once() {
    run(4, |mpi| {
        let (i, n) = me(mpi);
        let all = gather_all(mpi, 2);
        if i == 2 {
            assert_eq!(all, [0, 0, 1, 10, 2, 20, 3, 30]);
        }
        // Different lengths with gaps.
        let lens: Vec<i32> = (0..n as i32).collect();
        let places = [0, 1, 3, 6];
        let mut mine = vec![i as i32; i];
        let mut into = vec![-1; 9];
        let what = Collective::Allgatherv {
            send: at(&mut mine),
            send_count: i as i64,
            send_type: INT,
            recv: at(&mut into),
            recv_counts: counts(&lens),
            recv_displs: counts(&places),
            recv_type: INT,
        };
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(into, [-1, 1, -1, 2, 2, -1, 3, 3, 3]);
        // Scatter with the root in place.
        let mut whole: Vec<i32> = (0..4).collect();
        let mut part = [-1];
        let what = Collective::Scatter {
            send: at(&mut whole),
            send_count: 1,
            send_type: INT,
            recv: if i == 0 { Buffer::InPlace } else { at(&mut part) },
            recv_count: 1,
            recv_type: INT,
            root: Peer::Rank(0),
        };
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(part[0], if i == 0 { -1 } else { i as i32 });
        // Transposition in place.
        let mut row: Vec<i32> = (0..4).map(|j| (4 * i + j) as i32).collect();
        let what = Collective::Alltoall {
            send: Buffer::InPlace,
            send_count: 0,
            send_type: INT,
            recv: at(&mut row),
            recv_count: 1,
            recv_type: INT,
        };
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(row, (0..4).map(|j| (4 * j + i) as i32).collect::<Vec<_>>());
        // Displacements in bytes, different types.
        let (mut out, mut into) = ([i as i32; 4], [-1; 4]);
        let (ones, bytes, types) = ([1; 4], [12, 8, 4, 0], [INT; 4]);
        let what = Collective::Alltoallw {
            send: at(&mut out),
            send_counts: counts(&ones),
            send_displs: counts(&bytes),
            send_types: &types,
            recv: at(&mut into),
            recv_counts: counts(&ones),
            recv_displs: counts(&bytes),
            recv_types: &types,
        };
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(into, [3, 2, 1, 0]);
        let (mut a, mut b) = ([i as i32 + 1; 4], [0; 4]);
        let (send, recv) = (at(&mut a), at(&mut b));
        let (count, datatype, op) = (1, INT, SUM);
        mpi.collective(WORLD, Collective::Scan { send, recv, count, datatype, op }).unwrap();
        assert_eq!(b[0], [1, 3, 6, 10][i]);
        b[0] = -5;
        mpi.collective(WORLD, Collective::Exscan { send, recv, count, datatype, op }).unwrap();
        assert_eq!(b[0], [-5, 1, 3, 6][i]);
        let root = Peer::Rank(3);
        mpi.collective(WORLD, Collective::Reduce { send, recv, count: 4, datatype, op, root })
            .unwrap();
        if i == 3 {
            assert_eq!(b, [10; 4]);
        }
        let what = Collective::ReduceScatterBlock { send, recv, recv_count: 1, datatype, op };
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(b[0], 10);
        let lens = [0, 3, 1, 0];
        let what =
            Collective::ReduceScatter { send, recv, recv_counts: counts(&lens), datatype, op };
        b = [0; 4];
        mpi.collective(WORLD, what).unwrap();
        assert_eq!(b.iter().sum::<i32>(), 10 * lens[i]);
        mpi.reduce_local(
            Buffer::At(address_of(&mut a)),
            Buffer::At(address_of(&mut b)),
            0,
            INT,
            SUM,
        )
        .unwrap();
    });
}

/// By messages straight to all, with a schedule (longer, or more ranks), and in place: the same
/// sums.
#[test]
fn reductions_that_are_spread() {
    for n in [2, 3, 8, 9] {
        run(n, |mpi| {
            let (i, n) = me(mpi);
            for scale in [1, 700, 3000] {
                let lens: Vec<i32> = (0..n as i32).map(|j| (j + 1) % 3 * scale).collect();
                let total: i32 = lens.iter().sum();
                let first: i32 = lens[..i].iter().sum();
                let operand = |rank: i32| (0..total).map(move |k| k + 1000 * rank);
                let mut sums = vec![0; total as usize];
                for rank in 0..n as i32 {
                    sums.iter_mut().zip(operand(rank)).for_each(|(sum, x)| *sum += x);
                }
                let mine = &sums[first as usize..][..lens[i] as usize];
                let mut data: Vec<i32> = operand(i as i32).collect();
                let mut result = vec![-1; mine.len() + 1];
                let (datatype, op) = (INT, SUM);
                let recv_counts = counts(&lens);
                let (send, recv) = (at(&mut data), at(&mut result));
                let what = Collective::ReduceScatter { send, recv, recv_counts, datatype, op };
                mpi.collective(WORLD, what).unwrap();
                assert_eq!(result[..mine.len()], *mine);
                assert_eq!(result[mine.len()], -1);
                assert!(data.iter().copied().eq(operand(i as i32)), "what was sent changed");
                let (send, recv) = (Buffer::InPlace, at(&mut data));
                let what = Collective::ReduceScatter { send, recv, recv_counts, datatype, op };
                mpi.collective(WORLD, what).unwrap();
                assert_eq!(data[..mine.len()], *mine);
            }
        });
    }
}

#[test]
fn overlapping_operations_and_point_to_point() {
    run(5, |mpi| {
        let (i, n) = me(mpi);
        let mut sums: Vec<[i32; 1]> = (0..20).map(|k| [i as i32 * k]).collect();
        let mut casts: Vec<Vec<i32>> =
            (0..20).map(|k| vec![if i == k % n { k as i32 } else { -1 }; 400 * (k % 3)]).collect();
        let mut requests = vec![];
        for k in 0..20 {
            let recv = at(&mut sums[k]);
            let (send, count) = (Buffer::InPlace, 1);
            let what = Collective::Allreduce { send, recv, count, datatype: INT, op: SUM };
            requests.push(mpi.icollective(WORLD, what).unwrap());
            let what = bcast(&mut casts[k], k % n);
            requests.push(mpi.icollective(WORLD, what).unwrap());
            requests.push(mpi.icollective(WORLD, Collective::Barrier).unwrap());
        }
        // A rank that only receives lets the collectives go on.
        if i == 0 {
            for _ in 1..n {
                let mut v = [0];
                mpi.recv(address_of(&mut v), 1, INT, Peer::Any, Tag::Is(4), WORLD).unwrap();
            }
            mpi.waitall(&mut requests, |_, _| {}).unwrap();
        } else {
            if i % 2 == 0 {
                while !mpi.testall(&mut requests, |_, _| {}).unwrap() {}
            } else {
                while mpi.waitany(&mut requests).unwrap().is_some() {}
            }
            send(mpi, &mut [1], 0, 4);
        }
        for k in 0..20 {
            assert_eq!(sums[k], [10 * k as i32]);
            assert_eq!(casts[k], vec![k as i32; 400 * (k % 3)]);
        }
        assert_eq!(requests, vec![Request::NULL; 60]);
    });
}

#[test]
fn probing_lets_collectives_go_on() {
    run(4, |mpi| {
        let (i, n) = me(mpi);
        for _ in 0..20 {
            let mut v = [1];
            let recv = at(&mut v);
            let what = Collective::Allreduce {
                send: Buffer::InPlace,
                recv,
                count: 1,
                datatype: INT,
                op: SUM,
            };
            let mut request = mpi.icollective(WORLD, what).unwrap();
            if i == 1 {
                // The others send only when the sum is there, for which this rank is needed.
                for _ in 1..n {
                    let seen = mpi.probe(Peer::Any, Tag::Is(6), WORLD).unwrap();
                    let mut w = [0];
                    mpi.recv(address_of(&mut w), 1, INT, seen.source, Tag::Is(6), WORLD).unwrap();
                }
                mpi.wait(&mut request).unwrap();
            } else {
                mpi.wait(&mut request).unwrap();
                send(mpi, &mut [1], 1, 6);
            }
            assert_eq!(v, [4]);
        }
    });
}

#[test]
fn persistent_collectives_start_again() {
    run(3, |mpi| {
        let (i, n) = me(mpi);
        let (mut a, mut b) = ([0; 3], [0; 3]);
        let (send, recv) = (at(&mut a), at(&mut b));
        let what = Collective::Allreduce { send, recv, count: 3, datatype: INT, op: SUM };
        let mut request = mpi.collective_init(WORLD, what).unwrap();
        let mut other = mpi.collective_init(WORLD, Collective::Barrier).unwrap();
        for round in 0..10 {
            a.copy_from_slice(&[round, i as i32, 1]);
            mpi.start(request).unwrap();
            mpi.start(other).unwrap();
            mpi.wait(&mut other).unwrap();
            mpi.wait(&mut request).unwrap();
            assert_eq!(b, [3 * round, 3, n as i32]);
        }
        mpi.request_free(&mut request).unwrap();
        mpi.request_free(&mut other).unwrap();
    });
}

#[test]
fn a_freed_collective_request_goes_on() {
    run(3, |mpi| {
        let mut v = vec![me(mpi).0 as i32; 3000];
        let what = bcast(&mut v, 0);
        let mut request = mpi.icollective(WORLD, what).unwrap();
        mpi.request_free(&mut request).unwrap();
        for _ in 0..3 {
            mpi.collective(WORLD, Collective::Barrier).unwrap();
        }
        while !mpi.engine.schedules_rest() {
            mpi.engine.block();
        }
        assert_eq!(v, vec![0; 3000]);
    });
}

#[test]
fn bad_arguments_of_collectives() {
    run(1, |mpi| {
        let mut v = [0];
        let buffer = address_of(&mut v);
        let mut class = |what| mpi.collective(WORLD, what).unwrap_err().class;
        let (datatype, root) = (INT, Peer::Rank(0));
        assert_eq!(
            class(Collective::Bcast { buffer, count: 1, datatype, root: Peer::Rank(1) }),
            ErrorClass::Root
        );
        assert_eq!(
            class(Collective::Bcast { buffer, count: -1, datatype, root }),
            ErrorClass::Count
        );
        let (send, recv) = (Buffer::At(buffer), Buffer::At(buffer));
        let op = OpId::predefined(Predefined::Band);
        let what = Collective::Allreduce { send, recv, count: 1, datatype: DOUBLE, op };
        assert_eq!(class(what), ErrorClass::Op);
        let op = OpId(1000);
        let what = Collective::Allreduce { send, recv, count: 1, datatype, op };
        assert_eq!(class(what), ErrorClass::Op);
        let what = Collective::NeighborAllgather {
            send,
            send_count: 1,
            send_type: INT,
            recv,
            recv_count: 1,
            recv_type: INT,
        };
        assert_eq!(class(what), ErrorClass::Topology);
    });
}
