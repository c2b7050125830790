//! Partitioned communication and sessions (MPI-4.1, chapters 4 and 11), and the checks on request.

use super::super::{Collective, ErrhandlerId, Request, SendKind};
use super::*;
use crate::error::ErrorClass;

#[test]
fn parts_arrive_in_every_number() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        for (parts, others, each) in [(6i64, 6i64, 5i64), (6, 3, 700), (3, 12, 1000), (1, 4, 9000)]
        {
            let n = (parts * each) as usize;
            let mut values = vec![-1; n];
            let at = address_of(&mut values);
            for round in 0..3 {
                if i == 0 {
                    values.iter_mut().enumerate().for_each(|(k, v)| *v = k as i32 + round);
                    let to = Peer::Rank(1);
                    let mut q = mpi.psend_init(ints(at, parts, each), to, 3, WORLD).unwrap();
                    mpi.start(q).unwrap();
                    assert_eq!(mpi.test(&mut q).unwrap(), None, "nothing is ready");
                    for part in (0..parts).rev() {
                        mpi.pready(q, part, part).unwrap();
                    }
                    assert_eq!(mpi.pready(q, 0, 0).unwrap_err().class, ErrorClass::Arg);
                    mpi.wait(&mut q).unwrap();
                    mpi.request_free(&mut q).unwrap();
                } else {
                    let from = Peer::Rank(0);
                    let count = parts * each / others;
                    let mut q =
                        mpi.precv_init(ints(at, others, count), from, Tag::Is(3), WORLD).unwrap();
                    mpi.start(q).unwrap();
                    while !mpi.parrived(q, others - 1).unwrap() {}
                    let last = values[n - 1];
                    assert_eq!(last, n as i32 - 1 + round);
                    let status = mpi.wait(&mut q).unwrap();
                    assert_eq!(status.bytes, 4 * n as u64);
                    assert!(values.iter().enumerate().all(|(k, v)| *v == k as i32 + round));
                    mpi.request_free(&mut q).unwrap();
                }
            }
        }
    });
}

#[test]
fn a_partitioned_message_of_another_length_is_an_error() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        let mut values = vec![7; 40];
        let at = address_of(&mut values);
        if i == 0 {
            let mut q = mpi.psend_init(ints(at, 4, 10), Peer::Rank(1), 0, WORLD).unwrap();
            mpi.start(q).unwrap();
            mpi.pready(q, 0, 3).unwrap();
            mpi.wait(&mut q).unwrap();
        } else {
            values.fill(0);
            let mut q = mpi.precv_init(ints(at, 2, 10), Peer::Rank(0), Tag::Is(0), WORLD).unwrap();
            mpi.start(q).unwrap();
            let answer = mpi.wait(&mut q);
            assert_eq!(answer.unwrap_err().class, ErrorClass::Truncate);
            assert!(values[..20].iter().all(|v| *v == 7) && values[20..].iter().all(|v| *v == 0));
        }
    });
}

#[test]
fn communicators_come_from_groups_alone() {
    run(5, |mpi| {
        let (i, n) = me(mpi);
        let session = mpi.session_init(None, ErrhandlerId::RETURN).unwrap();
        let world = mpi.group_from_process_set(session, b"MPI://world").unwrap();
        assert_eq!(mpi.groups.get(world).unwrap().len() as usize, n);
        assert!(mpi.group_from_process_set(session, b"mpi://else").is_err());
        let low = i < 2;
        let ranks = if low { 0..2 } else { 2..n as i64 };
        let others = if low { 2..n as i64 } else { 0..2 };
        let half = mpi.groups.get(world).unwrap().incl(ranks).unwrap();
        let other = mpi.groups.get(world).unwrap().incl(others).unwrap();
        let (half, other) = (mpi.groups.insert(half).unwrap(), mpi.groups.insert(other).unwrap());
        let handler = ErrhandlerId::RETURN;
        let comm = mpi.comm_create_from_group(half, b"x", None, handler).unwrap().unwrap();
        assert_eq!(mpi.comm_size(comm).unwrap(), if low { 2 } else { n as u32 - 2 });
        let inter = mpi
            .intercomm_create_from_groups(half, 0, other, 0, b"y", None, handler)
            .unwrap()
            .unwrap();
        assert_eq!(mpi.comm_remote_size(inter).unwrap(), if low { n as u32 - 2 } else { 2 });
        mpi.collective(inter, Collective::Barrier).unwrap();
        mpi.session_finalize(session).unwrap();
        assert!(mpi.session_finalize(session).is_err());
    });
}

#[test]
fn calls_that_differ_are_found() {
    run(3, |mpi| {
        let (i, _) = me(mpi);
        mpi.set_checks(true);
        let mut values = [1, 2, 3, 4];
        let at = address_of(&mut values);
        let bcast = |count: i64, root: u32| Collective::Bcast {
            buffer: at,
            count,
            datatype: INT,
            root: Peer::Rank(root),
        };
        mpi.collective(WORLD, bcast(4, 1)).unwrap();
        let error = mpi.collective(WORLD, bcast(4, u32::from(i == 2))).unwrap_err();
        assert_eq!(error.class, ErrorClass::Root);
        let error = mpi.collective(WORLD, bcast(if i == 1 { 3 } else { 4 }, 0)).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let floats =
            |datatype| Collective::Bcast { buffer: at, count: 4, datatype, root: Peer::Rank(0) };
        let float = TypeId::builtin(Builtin::Float);
        let error = mpi.collective(WORLD, floats(if i == 1 { float } else { INT })).unwrap_err();
        assert_eq!(error.class, ErrorClass::Type);
        assert!(error.text.contains("MPI_FLOAT") && error.text.contains("MPI_INT"));
        let bytes = TypeId::builtin(Builtin::Byte);
        let bytes =
            Collective::Bcast { buffer: at, count: 16, datatype: bytes, root: Peer::Rank(0) };
        mpi.collective(WORLD, if i == 1 { bytes } else { floats(INT) }).unwrap();
        let what = if i == 0 { Collective::Barrier } else { bcast(4, 0) };
        let error = mpi.collective(WORLD, what).unwrap_err();
        assert!(error.text.contains("MPI_Barrier") && error.text.contains("MPI_Bcast"));
        mpi.collective(WORLD, Collective::Barrier).unwrap();
        let says =
            |mpi: &mut Rank0, what: &str| mpi.left_open().iter().any(|text| text.contains(what));
        assert!(!says(mpi, "request"));
        let open = mpi.irecv(at, 1, INT, Peer::Any, Tag::Any, WORLD).unwrap();
        assert_ne!(open, Request::NULL);
        assert!(says(mpi, "1 request that was started and not completed"));
        let mut open = open;
        mpi.cancel(open).unwrap();
        mpi.wait(&mut open).unwrap();
        mpi.send(SendKind::Standard, at, 1, INT, Peer::Rank(i as u32), 0, WORLD).unwrap();
        assert!(says(mpi, "came and"));
        mpi.recv(at, 1, INT, Peer::Any, Tag::Any, WORLD).unwrap();
    });
}
