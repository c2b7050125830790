//! Objects that are made again: what was sent on an earlier one is nothing to a later one. And
//! requests that end without their message.

use super::{INT, WORLD, address_of, me, recv, run, send};
use crate::arguments::{Peer, SendKind};
use crate::info::Info;
use crate::mpi::{Assert, OneSided, OriginBuffer, Request, Tag, TargetBuffer};
use crate::usermem::UserPtr;

/// So few ids that each communicator soon has the id of an earlier one.
const PAIRS: u32 = 4;

#[test]
fn a_message_of_a_freed_communicator_is_not_received_on_a_later_one() {
    run(2, |mpi| {
        mpi.narrow_contexts(PAIRS, 1 << 8);
        let (i, _) = me(mpi);
        for round in 0..40 {
            let comm = mpi.comm_dup(WORLD).unwrap();
            let mut word = [round];
            let at = address_of(&mut word);
            if i == 0 {
                // The second one is never received.
                for _ in 0..2 {
                    mpi.send(SendKind::Standard, at, 1, INT, Peer::Rank(1), 7, comm).unwrap();
                }
            } else {
                let mut got = [-1];
                let into = address_of(&mut got);
                let status = mpi.recv(into, 1, INT, Peer::Any, Tag::Any, comm).unwrap();
                assert_eq!((got, status.tag), ([round], Tag::Is(7)));
            }
            mpi.comm_free(comm).unwrap();
        }
    });
}

#[test]
fn windows_are_made_and_freed_more_often_than_there_are_ids() {
    run(3, |mpi| {
        mpi.narrow_contexts(PAIRS, 1 << 8);
        let (i, n) = me(mpi);
        for round in 0..30 {
            let color = if round % 2 == 0 { 0 } else { i32::from(i == 0) };
            let comm = mpi.comm_split(WORLD, Some(color), i as i32).unwrap().unwrap();
            let rank = mpi.comm_rank(comm).unwrap();
            let size = mpi.comm_size(comm).unwrap();
            let mut mine = [100 * round + i as i32];
            let window = mpi.win_create(address_of(&mut mine), 4, 4, None, comm).unwrap();
            let to = Peer::Rank((rank + 1) % size);
            let mut got = [-1];
            let origin = OriginBuffer { at: address_of(&mut got), count: 1, datatype: INT };
            let target = TargetBuffer { rank: to, disp: 0, count: 1, datatype: INT };
            mpi.win_lock(window, to, false, Assert::default()).unwrap();
            mpi.one_sided(window, target, OneSided::Get { origin }).unwrap();
            mpi.win_unlock(window, to).unwrap();
            mpi.win_free(window).unwrap();
            mpi.comm_free(comm).unwrap();
            let next = if round % 2 == 0 { (i + 1) % n } else { [0, 2, 1][i] };
            assert_eq!(got, [100 * round + next as i32], "round {round}");
        }
    });
}

/// Nothing depends on the hint without a logging protocol.
#[test]
fn a_window_with_the_hint_no_locks_can_be_locked() {
    run(2, |mpi| {
        let mut hints = Info::default();
        hints.set(b"no_locks", b"true").unwrap();
        let hints = mpi.infos.insert(hints).unwrap();
        let window = mpi.win_create(UserPtr::BOTTOM, 0, 1, Some(hints), WORLD).unwrap();
        mpi.win_lock_all(window, Assert::default()).unwrap();
        mpi.win_unlock_all(window).unwrap();
        let told = mpi.win_get_info(window).unwrap();
        assert_eq!(mpi.infos.get(told).unwrap().get(b"no_locks").unwrap(), Some(&b"true"[..]));
        mpi.win_free(window).unwrap();
    });
}

#[test]
fn the_wait_for_a_cancelled_synchronous_send_returns() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        let mut word = [5];
        let at = address_of(&mut word);
        let kind = SendKind::Synchronous;
        let own = Peer::Rank(i as u32);
        let mut request = mpi.isend(kind, at, 1, INT, own, 1, WORLD).unwrap();
        mpi.cancel(request).unwrap();
        assert!(mpi.wait(&mut request).unwrap().cancelled);
        assert_eq!(mpi.iprobe(own, Tag::Is(1), WORLD).unwrap(), None, "nobody receives it");
        // To the other rank, which has no receive for it.
        let other = Peer::Rank(1 - i as u32);
        let mut request = mpi.isend(kind, at, 1, INT, other, 2, WORLD).unwrap();
        mpi.cancel(request).unwrap();
        mpi.cancel(request).unwrap();
        assert!(mpi.wait(&mut request).unwrap().cancelled);
        // What comes behind is there, and the message is not.
        send(mpi, &mut [7], 1 - i, 2);
        let mut got = [0];
        recv(mpi, &mut got, other, Tag::Is(2));
        assert_eq!(got, [7]);
    });
}

/// Messages that come whole, and such as are announced first.
#[test]
fn a_cancelled_synchronous_send_is_received_or_not() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        for (words, of) in [(1, 10), (1 << 18, 20)] {
            let other = Peer::Rank(1 - i as u32);
            let mut data = vec![5; words];
            if i == 0 {
                let at = address_of(&mut data);
                let mut sent = |tag| {
                    mpi.isend(SendKind::Synchronous, at, words as i64, INT, other, tag, WORLD)
                };
                let (mut probed, mut forgotten) = (sent(of).unwrap(), sent(of).unwrap());
                recv(mpi, &mut [0], other, Tag::Is(9));
                mpi.cancel(forgotten).unwrap();
                mpi.cancel(probed).unwrap();
                assert!(mpi.wait(&mut forgotten).unwrap().cancelled);
                send(mpi, &mut [0], 1, 2);
                assert!(!mpi.wait(&mut probed).unwrap().cancelled, "a probe has matched it");
            } else {
                let (mut message, _) = mpi.mprobe(other, Tag::Is(of), WORLD).unwrap();
                send(mpi, &mut [0], 0, 9);
                recv(mpi, &mut [0], other, Tag::Is(2));
                assert_eq!(mpi.iprobe(other, Tag::Is(of), WORLD).unwrap(), None);
                let at = address_of(&mut data);
                let mut request = mpi.imrecv(at, words as i64, INT, &mut message).unwrap();
                mpi.wait(&mut request).unwrap();
            }
        }
    });
}

#[test]
fn a_request_that_is_null_or_not_started_has_the_empty_status() {
    run(1, |mpi| {
        let mut null = Request::NULL;
        let mut room = [0];
        let at = address_of(&mut room);
        let mut idle = mpi.recv_init(at, 1, INT, Peer::Any, Tag::Any, WORLD).unwrap();
        for request in [&mut null, &mut idle] {
            assert!(mpi.wait(request).unwrap().no_operation);
            assert!(mpi.test(request).unwrap().unwrap().no_operation);
            assert!(mpi.request_get_status(*request).unwrap().unwrap().no_operation);
        }
        mpi.request_free(&mut idle).unwrap();
        // An operation leaves MPI_ERROR alone.
        let mut sent = mpi.isend(SendKind::Standard, at, 1, INT, Peer::Rank(0), 0, WORLD).unwrap();
        assert!(!mpi.wait(&mut sent).unwrap().no_operation);
        recv(mpi, &mut room, Peer::Rank(0), Tag::Any);
    });
}
