//! Programs whose results are the same in every run.

use super::{E, irecv, isend, mix, payload, recv, send};
use ftmpi_core::engine::{SendMode, Source, Tag};
use ftmpi_wire::Rank;

const SIZES: [usize; 7] = [0, 1, 8, 40, 48, 49, 300];

pub(super) fn ring(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    let mut digest = me as u64;
    for k in 0..60 {
        let len = SIZES[k % SIZES.len()];
        let mut data = payload(me, next, k, len.max(8));
        data[..8].copy_from_slice(&digest.to_le_bytes());
        if me.is_multiple_of(2) || size == 1 {
            send(e, &data, next, k as i32);
        }
        let got = recv(e, 400, before, k as i32);
        assert_eq!(got[8..], payload(before, me, k, len.max(8))[8..], "the payload of message {k}");
        digest = mix(digest, u64::from_le_bytes(got[..8].try_into().expect("8 bytes")));
        if me % 2 == 1 {
            send(e, &data, next, k as i32);
        }
    }
    digest
}

pub(super) fn exchange(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let mut digest = me as u64;
    for k in 0..25 {
        let mut buffers: Vec<Vec<u8>> = vec![vec![0; 400]; size];
        let receives: Vec<_> = (0..size)
            .map(|from| {
                let rank = Source::Rank(Rank(from as u32));
                irecv(e, &mut buffers[from], rank, Tag::Any)
            })
            .collect();
        let data: Vec<_> =
            (0..size).map(|to| payload(me, to, k, SIZES[(k + to + me) % SIZES.len()])).collect();
        let sends: Vec<_> = (0..size)
            .filter_map(|to| {
                let mode =
                    if (k + to) % 5 == 0 { SendMode::Synchronous } else { SendMode::Standard };
                isend(e, &data[to], to, k as i32, mode)
            })
            .collect();
        for (from, request) in receives.into_iter().enumerate() {
            let done = e.wait(request);
            let expected = payload(from, me, k, SIZES[(k + me + from) % SIZES.len()]);
            assert_eq!((done.source.index(), done.tag), (from, k as i32), "in order from {from}");
            assert_eq!(buffers[from][..done.bytes as usize], expected, "payload {k} from {from}");
            digest = mix(digest, done.bytes + from as u64);
        }
        for request in sends {
            e.wait(request);
        }
    }
    digest
}

/// The first rank receives from any source. Each other rank sends synchronously after the rank
/// before it heard that its message was matched. So there is only one order, though no receive
/// names it.
pub(super) fn relay(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let mut digest = 0;
    let rounds = 40 / size;
    if me == 0 {
        // Something on the way back as well.
        for to in (1..size).flat_map(|to| std::iter::repeat_n(to, rounds)) {
            send(e, &[], to, 3);
        }
    }
    for k in 0..rounds {
        if me == 0 {
            for expected in 1..size {
                let mut into = [0; 300];
                let request = irecv(e, &mut into, Source::Any, Tag::Is(1));
                let done = e.wait(request);
                assert_eq!(done.source.index(), expected, "its message was matched first");
                digest = mix(digest, done.bytes + k as u64);
            }
            continue;
        }
        let before = if me == 1 { size - 1 } else { me - 1 };
        if before != me && (k > 0 || me > 1) {
            recv(e, 0, before, 2);
        }
        let data = payload(me, 0, k, SIZES[(k + me) % SIZES.len()]);
        if let Some(request) = isend(e, &data, 0, 1, SendMode::Synchronous) {
            e.wait(request);
        }
        let next = if me + 1 == size { 1 } else { me + 1 };
        if next != me && (k + 1 < rounds || next != 1) {
            send(e, &[], next, 2);
        }
    }
    if me > 0 {
        for _ in 0..rounds {
            recv(e, 0, 0, 3);
        }
    }
    digest
}
