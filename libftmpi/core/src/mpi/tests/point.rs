//! Point-to-point communication and completion.

use super::super::Incoming;
use super::super::{BufferOwner, Message, Peer, Request, SendKind, Status, Tag, TestAny};
use super::{INT, Rank0, WORLD, address_of, me, outgoing, recv, run, send};
use crate::datatype::Datatype;
use crate::error::ErrorClass;

fn isend(mpi: &mut Rank0, kind: SendKind, v: &mut [i32], to: usize, tag: i32) -> Request {
    let (count, to) = (v.len() as i64, Peer::Rank(to as u32));
    mpi.isend(kind, address_of(v), count, INT, to, tag, WORLD).unwrap()
}

fn irecv(mpi: &mut Rank0, v: &mut [i32], from: Peer, tag: Tag) -> Request {
    let count = v.len() as i64;
    mpi.irecv(address_of(v), count, INT, from, tag, WORLD).unwrap()
}

#[test]
fn a_token_goes_round_in_all_modes_and_sizes() {
    for size in [0, 1, 100, 5000] {
        run(4, move |mpi| {
            let (i, n) = me(mpi);
            let (left, right) = ((i + n - 1) % n, (i + 1) % n);
            let kinds = [SendKind::Standard, SendKind::Synchronous, SendKind::Ready];
            for (tag, kind) in kinds.into_iter().enumerate() {
                let mut out = vec![i as i32; size];
                let mut into = vec![-1; size];
                let mut r = irecv(mpi, &mut into, Peer::Rank(left as u32), Tag::Is(tag as i32));
                if kind == SendKind::Ready {
                    // Ready sends need the receive to be posted.
                    mpi.collective(WORLD, super::super::Collective::Barrier).unwrap();
                }
                let mut s = isend(mpi, kind, &mut out, right, tag as i32);
                let status = mpi.wait(&mut r).unwrap();
                mpi.wait(&mut s).unwrap();
                assert_eq!((r, s), (Request::NULL, Request::NULL));
                assert_eq!(status.source, Peer::Rank(left as u32));
                assert_eq!(status.tag, Tag::Is(tag as i32));
                assert_eq!(mpi.get_count(&status, INT).unwrap(), Some(size as i64));
                assert_eq!(into, vec![left as i32; size]);
            }
        });
    }
}

#[test]
fn wildcards_probes_and_order() {
    run(3, |mpi| {
        let (i, n) = me(mpi);
        if i > 0 {
            for k in 0..20 {
                send(mpi, &mut [i as i32, k], 0, k);
            }
            return;
        }
        let mut next = vec![0; n];
        for k in 0..40 {
            let status = match k % 4 {
                0 => mpi.probe(Peer::Any, Tag::Any, WORLD).unwrap(),
                1 => loop {
                    if let Some(seen) = mpi.iprobe(Peer::Any, Tag::Any, WORLD).unwrap() {
                        break seen;
                    }
                },
                _ => Status::EMPTY,
            };
            let mut v = [0, 0];
            let got = if k % 4 == 2 {
                let (mut message, seen) = mpi.mprobe(Peer::Any, Tag::Any, WORLD).unwrap();
                let got = mpi.mrecv(address_of(&mut v), 2, INT, &mut message).unwrap();
                assert_eq!(message, Message::NULL);
                assert_eq!(seen, got);
                got
            } else if k % 4 == 3 {
                let (mut message, _) = loop {
                    if let Some(found) = mpi.improbe(Peer::Any, Tag::Any, WORLD).unwrap() {
                        break found;
                    }
                };
                let mut r = mpi.imrecv(address_of(&mut v), 2, INT, &mut message).unwrap();
                mpi.wait(&mut r).unwrap()
            } else {
                let got = recv(mpi, &mut v, status.source, status.tag);
                assert_eq!(got, status);
                got
            };
            assert_eq!(got.source, Peer::Rank(v[0] as u32));
            assert_eq!(v[1], next[v[0] as usize], "messages of one rank overtook each other");
            next[v[0] as usize] += 1;
        }
    });
}

#[test]
fn truncation_is_an_error_of_the_receiver_only() {
    run(2, |mpi| {
        for len in [10, 2000] {
            if me(mpi).0 == 0 {
                send(mpi, &mut vec![7; len], 1, 0);
                continue;
            }
            let mut v = [0; 4];
            let answer = mpi.recv(address_of(&mut v), 3, INT, Peer::Any, Tag::Any, WORLD);
            let error = answer.unwrap_err();
            assert_eq!(error.class, ErrorClass::Truncate);
            let sizes = format!("is {} bytes long, the receive buffer 12:", 4 * len);
            assert!(error.text.contains(&sizes), "{}", error.text);
            assert_eq!(mpi.last_status().source, Peer::Rank(0));
            assert_eq!(v, [7, 7, 7, 0]);
        }
    });
}

#[test]
fn bad_arguments_are_refused() {
    run(1, |mpi| {
        let mut v = [0];
        let p = address_of(&mut v);
        let mut class = |count, to, tag| {
            mpi.send(SendKind::Standard, p, count, INT, to, tag, WORLD).unwrap_err().class
        };
        assert_eq!(class(-1, Peer::Rank(0), 0), ErrorClass::Count);
        assert_eq!(class(1, Peer::Rank(1), 0), ErrorClass::Rank);
        assert_eq!(class(1, Peer::Rank(-7i32 as u32), 0), ErrorClass::Rank);
        assert_eq!(class(1, Peer::Rank(0), -1), ErrorClass::Tag);
        assert_eq!(class(1, Peer::Any, 0), ErrorClass::Rank);
        let gone = super::super::CommId(17);
        let answer = mpi.send(SendKind::Standard, p, 1, INT, Peer::Rank(0), 0, gone);
        assert_eq!(answer.unwrap_err().class, ErrorClass::Comm);
        let raw =
            Datatype::contiguous(2, Datatype::builtin(crate::datatype::Builtin::Int)).unwrap();
        let raw = mpi.types.insert(raw).unwrap();
        let answer = mpi.send(SendKind::Standard, p, 1, raw, Peer::Rank(0), 0, WORLD);
        assert_eq!(answer.unwrap_err().class, ErrorClass::Type);
        assert_eq!(mpi.wait(&mut Request::at(3)).unwrap_err().class, ErrorClass::Request);
        let mut null = Request::NULL;
        assert_eq!(mpi.wait(&mut null).unwrap(), Status::NO_OPERATION);
        let nowhere = Peer::ProcNull;
        mpi.send(SendKind::Standard, p, 1, INT, nowhere, 0, WORLD).unwrap();
        let status = mpi.recv(p, 1, INT, nowhere, Tag::Any, WORLD).unwrap();
        assert_eq!(status, Status::PROC_NULL);
    });
}

#[test]
fn to_oneself_and_replacing() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        let mut v = [0; 3];
        let mut r = irecv(mpi, &mut v, Peer::Rank(i as u32), Tag::Is(5));
        send(mpi, &mut [1, 2, 3], i, 5);
        mpi.wait(&mut r).unwrap();
        assert_eq!(v, [1, 2, 3]);
        let mut big = vec![i as i32; 3000];
        let other = Peer::Rank(1 - i as u32);
        let p = address_of(&mut big);
        mpi.sendrecv_replace(outgoing(p, 3000, other, 1), (other, Tag::Is(1)), WORLD).unwrap();
        assert_eq!(big, vec![1 - i as i32; 3000]);
        let mut r =
            mpi.isendrecv_replace(outgoing(p, 3000, other, 2), (other, Tag::Is(2)), WORLD).unwrap();
        mpi.wait(&mut r).unwrap();
        assert_eq!(big, vec![i as i32; 3000]);
        let mut into = [0];
        let status = mpi
            .sendrecv(
                outgoing(p, 1, other, 3),
                Incoming {
                    buffer: address_of(&mut into),
                    count: 1,
                    datatype: INT,
                    from: other,
                    tag: Tag::Is(3),
                },
                WORLD,
            )
            .unwrap();
        assert_eq!((status.source, into[0]), (other, 1 - i as i32));
    });
}

#[test]
fn buffered_sends_are_accounted() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        if i == 1 {
            for k in 0..3 {
                let mut v = vec![0; 1000];
                recv(mpi, &mut v, Peer::Rank(0), Tag::Is(k));
                assert_eq!(v, vec![k; 1000]);
            }
            return;
        }
        let to = Peer::Rank(1);
        let mut v = vec![0; 1000];
        let answer = mpi.send(SendKind::Buffered, address_of(&mut v), 1000, INT, to, 0, WORLD);
        assert_eq!(answer.unwrap_err().class, ErrorClass::Buffer);
        let mut space = vec![0u8; 3 * 4096];
        let p = address_of(&mut space);
        let owner = BufferOwner::Process;
        mpi.buffer_attach(owner, p, Some(3 * 4096 + 288)).unwrap();
        assert!(mpi.buffer_attach(owner, p, Some(1)).is_err());
        for k in 0..3 {
            v.fill(k);
            mpi.send(SendKind::Buffered, address_of(&mut v), 1000, INT, to, k, WORLD).unwrap();
        }
        v.fill(-1);
        assert_eq!(mpi.buffer_detach(owner).unwrap(), Some((p, Some(3 * 4096 + 288))));
        assert_eq!(mpi.buffer_detach(owner).unwrap(), None);
    });
}

#[test]
fn persistent_requests_start_again() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        let other = Peer::Rank(1 - i as u32);
        let (mut out, mut into) = ([0, 0], [0, 0]);
        let kind = SendKind::Standard;
        let mut requests = [
            mpi.recv_init(address_of(&mut into), 2, INT, other, Tag::Any, WORLD).unwrap(),
            mpi.send_init(kind, address_of(&mut out), 2, INT, other, 9, WORLD).unwrap(),
            mpi.recv_init(address_of(&mut into), 2, INT, Peer::ProcNull, Tag::Any, WORLD).unwrap(),
        ];
        for round in 0..10 {
            assert_eq!(mpi.test(&mut requests[0]).unwrap(), Some(Status::NO_OPERATION));
            out.copy_from_slice(&[round, i as i32]);
            mpi.startall(&requests).unwrap();
            assert_eq!(mpi.start(requests[0]).unwrap_err().class, ErrorClass::Request);
            mpi.waitall(&mut requests, |_, status| assert_eq!(status.error, None)).unwrap();
            assert_eq!(into, [round, 1 - i as i32]);
        }
        for request in &mut requests {
            mpi.request_free(request).unwrap();
            assert_eq!(*request, Request::NULL);
        }
        let mut none = irecv(mpi, &mut into, other, Tag::Is(77));
        assert_eq!(mpi.start(none).unwrap_err().class, ErrorClass::Request);
        mpi.cancel(none).unwrap();
        assert!(mpi.wait(&mut none).unwrap().cancelled);
    });
}

#[test]
fn any_some_all_and_tests() {
    run(4, |mpi| {
        let (i, n) = me(mpi);
        if i > 0 {
            for round in 0..6 {
                send(mpi, &mut [i as i32, round], 0, round);
            }
            return;
        }
        for round in 0..6 {
            let mut buffers = vec![[0, 0]; n];
            let mut requests = vec![Request::NULL];
            for (k, buffer) in buffers.iter_mut().enumerate().skip(1) {
                let from = Peer::Rank(k as u32);
                requests.push(irecv(mpi, buffer, from, Tag::Is(round)));
            }
            let mut seen = vec![];
            while seen.len() < n - 1 {
                match round {
                    0 => seen.push(mpi.waitany(&mut requests).unwrap().unwrap().0),
                    1 => match mpi.testany(&mut requests).unwrap() {
                        TestAny::Done(k, _) => seen.push(k),
                        TestAny::Nothing => {}
                        TestAny::NoneActive => panic!("requests are left"),
                    },
                    2 => {
                        let n = mpi.waitsome(&mut requests, |_, k, _| seen.push(k)).unwrap();
                        assert!(n.unwrap() > 0);
                    }
                    3 => {
                        mpi.testsome(&mut requests, |_, k, _| seen.push(k)).unwrap().unwrap();
                    }
                    4 => {
                        let mut done = vec![];
                        if mpi.testall(&mut requests, |k, _| done.push(k)).unwrap() {
                            assert_eq!(done, [0, 1, 2, 3]);
                            seen.extend(1..n);
                        }
                    }
                    _ => {
                        while mpi.request_get_status(requests[2]).unwrap().is_none() {}
                        let again = mpi.request_get_status(requests[2]).unwrap().unwrap();
                        assert_eq!(again.source, Peer::Rank(2));
                        mpi.waitall(&mut requests, |_, _| {}).unwrap();
                        seen.extend(1..n);
                    }
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3]);
            assert_eq!(requests, vec![Request::NULL; n]);
            for (k, buffer) in buffers.iter().enumerate().skip(1) {
                assert_eq!(*buffer, [k as i32, round]);
            }
            assert_eq!(mpi.waitany(&mut requests).unwrap(), None);
            assert_eq!(mpi.testany(&mut requests).unwrap(), TestAny::NoneActive);
            assert_eq!(mpi.waitsome(&mut requests, |_, _, _| {}).unwrap(), None);
            assert!(mpi.testall(&mut requests, |_, _| {}).unwrap());
        }
    });
}

#[test]
fn derived_types_travel() {
    run(2, |mpi| {
        let (i, _) = me(mpi);
        let int = Datatype::builtin(crate::datatype::Builtin::Int);
        let column = Datatype::vector(40, 1, 10, int).unwrap();
        let column = mpi.types.insert(column).unwrap();
        mpi.types.get(column).unwrap().commit();
        let mut matrix: Vec<i32> = (0..400).collect();
        if i == 0 {
            let p = address_of(&mut matrix).offset(12);
            mpi.send(SendKind::Standard, p, 1, column, Peer::Rank(1), 0, WORLD).unwrap();
        } else {
            let mut v = vec![0; 40];
            let status = recv(mpi, &mut v, Peer::Any, Tag::Any);
            assert_eq!(v, (0..40).map(|r| 10 * r + 3).collect::<Vec<_>>());
            assert_eq!(mpi.get_count(&status, column).unwrap(), Some(1));
            assert_eq!(mpi.get_elements(&status, column).unwrap(), Some(40));
        }
    });
}
