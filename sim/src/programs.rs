//! Programs of simulated ranks: blocking code over the engine that checks what it sees.
//!
//! Each returns a digest. Where no receive is a wildcard the digest must be the one of a run without
//! failures. Where there is a choice, the rank that chose tells its partners its order so far, and at
//! the end all of it; a partner that was told something else was told it by a state that has been
//! lost: an orphan.

use crate::link::SimLink;
use ftmpi_core::engine::{Decision, Engine, RecvData, ReqId, SendData, SendMode, Source, Tag};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::Rank;

type E = Engine<SimLink>;

/// Context of the programs' messages.
const CONTEXT: u16 = 2;

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A ring of named receives, small and large payloads.
    Ring,
    /// Everybody with everybody, non-blocking, all sizes, synchronous sends among them.
    Exchange,
    /// One rank receives from any, and answers with its order so far.
    Wildcards,
    /// The same by probes that fail.
    Probes,
    /// The same by tests and choices among several requests.
    Tests,
    /// A wildcard posted before a named receive; receives that are cancelled; clocks.
    Mixed,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Ring, Self::Exchange, Self::Wildcards, Self::Probes, Self::Tests, Self::Mixed];

    /// Whether the digests are the same in every run.
    #[must_use]
    pub fn is_deterministic(self) -> bool {
        matches!(self, Self::Ring | Self::Exchange)
    }

    /// Runs it.
    pub fn run(self, e: &mut E, size: usize) -> u64 {
        match self {
            Self::Ring => ring(e, size),
            Self::Exchange => exchange(e, size),
            Self::Wildcards => server(e, size, receive_any),
            Self::Probes => server(e, size, receive_probed),
            Self::Tests => server(e, size, receive_tested),
            Self::Mixed => mixed(e, size),
        }
    }
}

fn mix(digest: u64, value: u64) -> u64 {
    (digest ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

fn isend(e: &mut E, data: &[u8], to: usize, tag: i32, mode: SendMode) -> Option<ReqId> {
    // The callers keep the data until the request is complete.
    let ptr = UserPtr::own(data);
    e.isend(SendData::Bytes { ptr, len: data.len() }, Rank(to as u32), CONTEXT, tag, mode)
}

fn send(e: &mut E, data: &[u8], to: usize, tag: i32) {
    if let Some(request) = isend(e, data, to, tag, SendMode::Standard) {
        e.wait(request);
    }
}

fn irecv(e: &mut E, into: &mut [u8], from: Source, tag: Tag) -> ReqId {
    let len = into.len();
    e.irecv(RecvData::Bytes { ptr: UserPtr::own_mut(into), len }, from, CONTEXT, tag)
}

fn recv(e: &mut E, len: usize, from: usize, tag: i32) -> Vec<u8> {
    let mut into = vec![0; len];
    let request = irecv(e, &mut into, Source::Rank(Rank(from as u32)), Tag::Is(tag));
    let done = e.wait(request);
    assert_eq!((done.source.index(), done.tag, done.error), (from, tag, None), "the right message");
    into.truncate(done.bytes as usize);
    into
}

fn payload(from: usize, to: usize, k: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (from * 7 + to * 13 + k * 31 + i) as u8).collect()
}

const SIZES: [usize; 7] = [0, 1, 8, 40, 48, 49, 300];

fn ring(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    let mut digest = me as u64;
    for k in 0..60 {
        let len = SIZES[k % SIZES.len()];
        let mut data = payload(me, next, k, len.max(8));
        data[..8].copy_from_slice(&digest.to_le_bytes());
        if me % 2 == 0 || size == 1 {
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

fn exchange(e: &mut E, size: usize) -> u64 {
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

const ROUNDS: usize = 20;

/// How a server takes its next message: sender and number.
type Take = fn(&mut E, usize) -> (usize, u64);

fn receive_any(e: &mut E, _left: usize) -> (usize, u64) {
    let mut into = [0; 8];
    let request = irecv(e, &mut into, Source::Any, Tag::Is(1));
    let done = e.wait(request);
    (done.source.index(), u64::from_le_bytes(into))
}

fn receive_probed(e: &mut E, left: usize) -> (usize, u64) {
    let seen = if left % 3 == 0 {
        e.probe(Source::Any, CONTEXT, Tag::Is(1))
    } else {
        loop {
            if let Some(seen) = e.iprobe(Source::Any, CONTEXT, Tag::Is(1)) {
                break seen;
            }
        }
    };
    let got = recv(e, 8, seen.source.index(), seen.tag);
    (seen.source.index(), u64::from_le_bytes(got.try_into().expect("8 bytes")))
}

fn receive_tested(e: &mut E, left: usize) -> (usize, u64) {
    let mut into = [0; 8];
    let request = irecv(e, &mut into, Source::Any, Tag::Is(1));
    let mut looks = 0u64;
    while left % 2 == 0 {
        e.poll_once();
        match e.decide() {
            Decision::Negative => looks += 1,
            Decision::Positive(_) => break,
            Decision::Live => {
                if e.is_done(request) {
                    e.answered(1);
                    break;
                }
                e.answered_negative();
                looks += 1;
            }
        }
    }
    let done = e.wait(request);
    // How often it looked is part of what it tells.
    (done.source.index(), u64::from_le_bytes(into) | looks << 32)
}

fn server(e: &mut E, size: usize, take: Take) -> u64 {
    let me = e.me().index();
    if me > 0 {
        return client(e, me);
    }
    let mut order = Vec::new();
    let mut digest = 0;
    let mut next = vec![0u64; size];
    for left in (0..ROUNDS * (size - 1)).rev() {
        let (from, value) = take(e, left);
        assert_eq!(value & 0xFFFF_FFFF, next[from], "messages of rank {from} in order, once each");
        next[from] += 1;
        digest = mix(digest, mix(from as u64, value));
        order.push(digest);
        let mut answer = (order.len() as u64).to_le_bytes().to_vec();
        answer.extend_from_slice(&digest.to_le_bytes());
        send(e, &answer, from, 2);
    }
    let all: Vec<u8> = order.iter().flat_map(|d| d.to_le_bytes()).collect();
    for to in 1..size {
        send(e, &all, to, 3);
    }
    digest
}

fn client(e: &mut E, me: usize) -> u64 {
    let mut told = Vec::new();
    // Two requests under way, so that the server has a choice.
    send(e, &0u64.to_le_bytes(), 0, 1);
    for k in 0..ROUNDS as u64 {
        if k + 1 < ROUNDS as u64 {
            send(e, &(k + 1).to_le_bytes(), 0, 1);
        }
        let got = recv(e, 16, 0, 2);
        let word = |i: usize| u64::from_le_bytes(got[i..i + 8].try_into().expect("8 bytes"));
        told.push((word(0), word(8)));
    }
    let all = recv(e, 1 << 16, 0, 3);
    for (position, digest) in told {
        let at = (position as usize - 1) * 8;
        let final_digest = u64::from_le_bytes(all[at..at + 8].try_into().expect("8 bytes"));
        assert_eq!(digest, final_digest, "rank {me} was told an order that is not the final one");
    }
    me as u64
}

fn mixed(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    if me > 0 {
        for k in 0..ROUNDS as u64 {
            send(e, &k.to_le_bytes(), 0, if me == 1 { 5 } else { 6 });
            let got = recv(e, 16, 0, 2);
            assert_eq!(got.len(), 16);
        }
        let told = recv(e, 8, 0, 4);
        return u64::from_le_bytes(told.try_into().expect("8 bytes"));
    }
    let mut digest = 0;
    let mut clock = 0.0;
    let mut next = vec![0u64; size];
    for k in 0..ROUNDS as u64 {
        let mut never = [0; 8];
        let cancelled = irecv(e, &mut never, Source::Any, Tag::Is(99));
        let mut pending: Vec<_> = (1..size)
            .map(|_| {
                let mut into = Box::new([0u8; 8]);
                let request = irecv(e, &mut into[..], Source::Any, Tag::Any);
                (request, into)
            })
            .collect();
        while !pending.is_empty() {
            // Whichever is done first, as MPI_Waitany.
            let at = loop {
                match e.decide() {
                    Decision::Positive(at) => break at as usize,
                    Decision::Negative => unreachable!("nothing negative was told here"),
                    Decision::Live => {
                        if let Some(at) = pending.iter().position(|(r, _)| e.is_done(*r)) {
                            e.answered(at as u64);
                            break at;
                        }
                    }
                }
                e.block();
            };
            let (request, into) = pending.remove(at);
            let done = e.wait(request);
            let from = done.source.index();
            assert_eq!(u64::from_le_bytes(*into), next[from], "messages of rank {from} in order");
            next[from] += 1;
            let now = e.wtime();
            assert!(now >= clock, "the clock runs forward");
            clock = now;
            digest = mix(digest, mix(from as u64, at as u64 ^ now.to_bits()));
            let mut answer = digest.to_le_bytes().to_vec();
            answer.extend_from_slice(&k.to_le_bytes());
            send(e, &answer, from, 2);
        }
        e.cancel(cancelled);
        let done = e.wait(cancelled);
        assert!(done.cancelled, "nobody sends with tag 99");
    }
    for to in 1..size {
        send(e, &digest.to_le_bytes(), to, 4);
    }
    digest
}
