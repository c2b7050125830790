//! Going on without ranks: receives that a death interrupts, revocations that come early, worlds of
//! spawned processes, shrinks that overlap.

use super::super::{Collective, CommId, ErrhandlerId, Peer, Request, SendKind, Status, Tag};
use super::{INT, Rank0, WORLD, address_of, at, me, recv, run, send};
use crate::error::ErrorClass;
use crate::op::{OpId, Predefined};
use ftmpi_wire::Rank;

/// The last rank dies; the others run `program`.
fn without_the_last(n: usize, program: impl Fn(&mut Rank0, usize) + Send + Sync + 'static) {
    run(n, move |mpi| {
        mpi.engine.set_goes_on(true, Vec::new());
        let (i, n) = me(mpi);
        if i == n - 1 {
            mpi.engine.link.dies();
        } else {
            program(mpi, i);
        }
    });
}

/// A receive from any source whose wait the death has ended.
fn interrupted(mpi: &mut Rank0, values: &mut [i32], tag: i32) -> Request {
    let (into, tag) = (address_of(values), Tag::Is(tag));
    let mut request = mpi.irecv(into, 1, INT, Peer::Any, tag, WORLD).unwrap();
    let answer = mpi.wait(&mut request);
    assert_eq!(answer.unwrap_err().class, ErrorClass::ProcFailedPending);
    request
}

fn barrier(mpi: &mut Rank0, comm: CommId) -> Option<ErrorClass> {
    mpi.collective(comm, Collective::Barrier).err().map(|error| error.class)
}

fn sum(mpi: &mut Rank0, comm: CommId) -> i32 {
    let mut value = [1];
    let op = OpId::predefined(Predefined::Sum);
    let (send, recv) = (super::Buffer::InPlace, at(&mut value));
    let what = Collective::Allreduce { send, recv, count: 1, datatype: INT, op };
    mpi.collective(comm, what).unwrap();
    value[0]
}

#[test]
fn an_interrupted_receive_that_is_freed_takes_its_message_and_no_other() {
    without_the_last(3, |mpi, i| {
        if i == 1 {
            recv(mpi, &mut [0], Peer::Rank(0), Tag::Is(9));
            send(mpi, &mut [11], 0, 1);
            send(mpi, &mut [77], 0, 7);
            return;
        }
        let (mut first, mut second) = ([-1], [-1]);
        let mut request = interrupted(mpi, &mut first, 1);
        mpi.request_free(&mut request).unwrap();
        let into = address_of(&mut second);
        let mut other = mpi.irecv(into, 1, INT, Peer::Rank(1), Tag::Is(7), WORLD).unwrap();
        send(mpi, &mut [0], 1, 9);
        let status = mpi.wait(&mut other).unwrap();
        assert_eq!((first, second, status.tag), ([11], [77], Tag::Is(7)));
    });
}

#[test]
fn an_interrupted_receive_can_be_cancelled() {
    without_the_last(2, |mpi, _| {
        let mut value = [-1];
        let mut request = interrupted(mpi, &mut value, 1);
        mpi.cancel(request).unwrap();
        let status: Status = mpi.wait(&mut request).unwrap();
        assert!(status.cancelled && status.error.is_none(), "{status:?}");
        assert_eq!(request, Request::NULL);
        // Nothing is left that could take a later message.
        send(mpi, &mut [5], 0, 1);
        mpi.engine.acknowledge(0, 1);
        let mut got = [0];
        recv(mpi, &mut got, Peer::Any, Tag::Is(1));
        assert_eq!((value, got), ([-1], [5]));
    });
}

#[test]
fn a_revocation_that_comes_before_its_communicator_holds() {
    run(2, |mpi| {
        mpi.engine.set_goes_on(true, Vec::new());
        let (i, _) = me(mpi);
        let (copy, mut request) = mpi.comm_idup(WORLD).unwrap();
        if i == 0 {
            mpi.wait(&mut request).unwrap();
            mpi.comm_revoke(copy).unwrap();
            // It comes after the revocation.
            return send(mpi, &mut [1], 1, 3);
        }
        recv(mpi, &mut [0], Peer::Rank(0), Tag::Is(3));
        assert!(!mpi.engine.alert(), "the communicator does not exist here yet");
        mpi.wait(&mut request).unwrap();
        let into = address_of(&mut [0]);
        let answer = mpi.recv(into, 1, INT, Peer::Rank(0), Tag::Is(4), copy);
        assert_eq!(answer.unwrap_err().class, ErrorClass::Revoked);
        let (std, to) = (SendKind::Standard, Peer::Rank(0));
        let answer = mpi.send(std, into, 1, INT, to, 4, copy);
        assert_eq!(answer.unwrap_err().class, ErrorClass::Revoked);
        assert_eq!(barrier(mpi, copy), Some(ErrorClass::Revoked));
    });
}

#[test]
fn the_world_of_spawned_processes_hears_of_its_dead() {
    run(3, |mpi| {
        mpi.engine.set_goes_on(true, Vec::new());
        match me(mpi).0 {
            0 => return,
            2 => return mpi.engine.link.dies(),
            _ => mpi.set_world(1, 2),
        }
        assert_eq!(barrier(mpi, WORLD), Some(ErrorClass::ProcFailed));
        assert_eq!(mpi.engine.context_error(1), Some(ErrorClass::ProcFailed), "for any member");
    });
}

#[test]
fn no_text_of_a_session_makes_the_world_forget_its_members() {
    without_the_last(3, |mpi, i| {
        let session = mpi.session_init(None, ErrhandlerId::RETURN).unwrap();
        let alone = mpi.group_from_process_set(session, b"mpi://SELF").unwrap();
        for number in 0..300 {
            let tag = format!("solver-{number}");
            let comm =
                mpi.comm_create_from_group(alone, tag.as_bytes(), None, ErrhandlerId::RETURN);
            mpi.comm_free(comm.unwrap().unwrap()).unwrap();
        }
        assert_eq!(barrier(mpi, WORLD), Some(ErrorClass::ProcFailed), "rank {i}");
        // Also where this rank has nothing to do with the dead one.
        assert_eq!(mpi.engine.context_error(1), Some(ErrorClass::ProcFailed));
    });
}

#[test]
fn groups_are_made_after_a_death_under_any_tag() {
    without_the_last(3, |mpi, _| {
        assert_eq!(barrier(mpi, WORLD), Some(ErrorClass::ProcFailed));
        let world = mpi.comm_group(WORLD).unwrap();
        let left = mpi.groups.get(world).unwrap().excl([2]).unwrap();
        let left = mpi.groups.insert_of(left, None).unwrap();
        for tag in [145, 482, 1157, 1351, 1519] {
            let comm = mpi.comm_create_group(WORLD, left, tag).unwrap().unwrap();
            assert_eq!(sum(mpi, comm), 2);
            mpi.comm_free(comm).unwrap();
        }
    });
}

#[test]
fn two_shrinks_at_a_time_make_two_communicators() {
    without_the_last(3, |mpi, _| {
        assert_eq!(barrier(mpi, WORLD), Some(ErrorClass::ProcFailed));
        let (first, a) = mpi.comm_ishrink(WORLD).unwrap();
        let (second, b) = mpi.comm_ishrink(WORLD).unwrap();
        for mut request in [a, b] {
            mpi.wait(&mut request).unwrap();
        }
        let contexts = [first, second].map(|comm| mpi.context_of(comm).unwrap());
        assert_ne!(contexts[0], contexts[1]);
        assert_eq!([first, second].map(|comm| sum(mpi, comm)), [2, 2]);
    });
}

#[test]
fn the_wait_for_a_process_that_nobody_has_ends() {
    run(2, |mpi| {
        assert!(mpi.engine.wait_for_news_at_most(Rank(1), 0.0), "it is known");
        assert!(!mpi.engine.wait_for_news_at_most(Rank(7), 0.05));
    });
}
