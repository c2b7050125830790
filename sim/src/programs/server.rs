//! Programs in which one rank has variants and sends its choices to its clients: at once, and at
//! the end all of them. Both must agree.

use super::{CONTEXT, E, irecv, mix, recv, send, word};
use ftmpi_core::engine::{Decision, RecvData, ReqId, Source, Tag};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::Rank;

pub(super) const ROUNDS: usize = 20;

/// Payloads of the clients: a number, and filling up to a small or a large message.
fn request(k: u64) -> Vec<u8> {
    let mut data = k.to_le_bytes().to_vec();
    data.resize(if k % 5 == 3 { 200 } else { 8 }, k as u8);
    data
}

/// The number in it.
fn number(data: &[u8], bytes: u64) -> u64 {
    let k = word(data, 0);
    assert_eq!(data[..bytes as usize], request(k), "the payload of number {k}");
    k
}

/// How a server takes its next message: sender and number.
type Take = fn(&mut E, usize) -> (usize, u64);

pub(super) fn receive_any(e: &mut E, _left: usize) -> (usize, u64) {
    let mut into = [0; 200];
    let request = irecv(e, &mut into, Source::Any, Tag::Is(1));
    let done = e.wait(request);
    (done.source.index(), number(&into, done.bytes))
}

pub(super) fn receive_probed(e: &mut E, left: usize) -> (usize, u64) {
    let seen = if left.is_multiple_of(3) {
        e.probe(Source::Any, CONTEXT, Tag::Is(1)).expect("all dead ranks come back")
    } else {
        loop {
            if let Some(seen) = e.iprobe(Source::Any, CONTEXT, Tag::Is(1)) {
                break seen;
            }
        }
    };
    let got = recv(e, 200, seen.source.index(), seen.tag);
    (seen.source.index(), number(&got, seen.bytes))
}

pub(super) fn receive_matched(e: &mut E, left: usize) -> (usize, u64) {
    let (seen, message) = if left.is_multiple_of(3) {
        e.mprobe(Source::Any, CONTEXT, Tag::Any).expect("all dead ranks come back")
    } else {
        loop {
            if let Some(seen) = e.improbe(Source::Any, CONTEXT, Tag::Is(1)) {
                break seen;
            }
        }
    };
    if left.is_multiple_of(4) {
        // Time between the probe and the receive.
        e.block();
    }
    let mut into = [0; 200];
    let data = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: into.len() };
    let request = e.imrecv(message, data);
    let done = e.wait(request);
    assert_eq!((done.source, done.bytes), (seen.source, seen.bytes), "what the probe saw");
    (done.source.index(), number(&into, done.bytes))
}

pub(super) fn receive_tested(e: &mut E, left: usize) -> (usize, u64) {
    let mut into = [0; 200];
    let request = irecv(e, &mut into, Source::Any, Tag::Is(1));
    let mut looks = 0u64;
    if left.is_multiple_of(2) {
        loop {
            e.poll_once();
            match e.decide() {
                Decision::Positive(_) => break,
                Decision::Live if e.is_done(request) => {
                    e.answered(1);
                    break;
                }
                Decision::Live => e.answered_negative(),
                Decision::Negative => {}
            }
            looks += 1;
        }
    }
    let done = e.wait(request);
    // The number of looks is part of what it sends.
    (done.source.index(), number(&into, done.bytes) | looks << 32)
}

/// What a server has seen so far.
struct Order {
    digest: u64,
    order: Vec<u64>,
    next: Vec<u64>,
}

impl Order {
    fn new(size: usize) -> Self {
        Self { digest: 0, order: Vec::new(), next: vec![0; size] }
    }

    /// Takes a message, and answers its sender with the order so far.
    fn serve(&mut self, e: &mut E, from: usize, value: u64) {
        assert_eq!(value & 0xFFFF_FFFF, self.next[from], "messages of rank {from}, once each");
        self.next[from] += 1;
        self.digest = mix(self.digest, mix(from as u64, value));
        self.order.push(self.digest);
        let mut answer = (self.order.len() as u64).to_le_bytes().to_vec();
        answer.extend_from_slice(&self.digest.to_le_bytes());
        send(e, &answer, from, 2);
    }

    /// Tells all clients all of it.
    fn end(self, e: &mut E) -> u64 {
        let all: Vec<u8> = self.order.iter().flat_map(|d| d.to_le_bytes()).collect();
        for to in 1..self.next.len() {
            send(e, &all, to, 3);
        }
        self.digest
    }
}

pub(super) fn server(e: &mut E, size: usize, take: Take) -> u64 {
    let me = e.me().index();
    if me > 0 {
        return client(e, me);
    }
    let mut order = Order::new(size);
    for left in (0..ROUNDS * (size - 1)).rev() {
        let (from, value) = take(e, left);
        order.serve(e, from, value);
    }
    order.end(e)
}

/// Receives of which several may complete at once, as `MPI_Waitsome` reports them.
pub(super) fn some(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    if me > 0 {
        return client(e, me);
    }
    let mut order = Order::new(size);
    let mut left = ROUNDS * (size - 1);
    let mut posted: Vec<(ReqId, Box<[u8; 200]>)> = Vec::new();
    while left > 0 {
        while posted.len() < left.min(3) {
            let mut into = Box::new([0; 200]);
            let request = irecv(e, &mut into[..], Source::Any, Tag::Is(1));
            posted.push((request, into));
        }
        let set = loop {
            match e.decide() {
                Decision::Positive(set) => break set,
                Decision::Negative => unreachable!("no answer is negative here"),
                Decision::Live => {
                    let done = |at: usize| u64::from(e.is_done(posted[at].0)) << at;
                    let set = (0..posted.len()).map(done).sum();
                    if set != 0 {
                        e.answered(set);
                        break set;
                    }
                }
            }
            e.block();
        };
        for at in (0..posted.len()).rev().filter(|at| set >> at & 1 == 1) {
            let (request, into) = posted.remove(at);
            let done = e.wait(request);
            left -= 1;
            // Several receives complete in any order: the numbers give the sender's order.
            let from = done.source.index();
            let value = number(&into[..], done.bytes);
            order.digest = mix(order.digest, value << 8 | set);
            let expected = order.next[from];
            order.serve(e, from, expected);
        }
    }
    order.end(e)
}

/// Receives that are cancelled in a race with their messages; named ones and wildcards.
pub(super) fn cancels(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    if me > 0 {
        return client(e, me);
    }
    let mut order = Order::new(size);
    for left in (0..ROUNDS * (size - 1)).rev() {
        // Somebody who has more to say.
        let from = (1..size).find(|&from| order.next[from] < ROUNDS as u64);
        let from = from.expect("not all are served");
        let (from, value) = loop {
            let source =
                if left.is_multiple_of(3) { Source::Any } else { Source::Rank(Rank(from as u32)) };
            let tag = if left.is_multiple_of(2) { Tag::Any } else { Tag::Is(1) };
            let mut into = [0; 200];
            let request = irecv(e, &mut into, source, tag);
            for _ in 0..left % 4 {
                e.block();
            }
            e.cancel(request);
            let done = e.wait(request);
            if !done.cancelled {
                break (done.source.index(), number(&into, done.bytes));
            }
            order.digest = mix(order.digest, 1);
            if order.digest.is_multiple_of(4) {
                break receive_any(e, left);
            }
        };
        order.serve(e, from, value);
    }
    order.end(e)
}

pub(super) fn client(e: &mut E, me: usize) -> u64 {
    let mut heard = Vec::new();
    // Two requests under way, so that the server has a variant.
    send(e, &request(0), 0, 1);
    for k in 0..ROUNDS as u64 {
        if k + 1 < ROUNDS as u64 {
            send(e, &request(k + 1), 0, 1);
        }
        let got = recv(e, 16, 0, 2);
        heard.push((word(&got, 0), word(&got, 1)));
    }
    let all = recv(e, 1 << 16, 0, 3);
    for (position, digest) in heard {
        let final_digest = word(&all, position as usize - 1);
        assert_eq!(digest, final_digest, "rank {me} heard an order that is not the final one");
    }
    me as u64
}

pub(super) fn mixed(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    if me > 0 {
        for k in 0..ROUNDS as u64 {
            send(e, &k.to_le_bytes(), 0, if me == 1 { 5 } else { 6 });
            let got = recv(e, 16, 0, 2);
            assert_eq!(got.len(), 16);
        }
        let answer = recv(e, 8, 0, 4);
        return u64::from_le_bytes(answer.try_into().expect("8 bytes"));
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
                    Decision::Negative => unreachable!("no answer is negative here"),
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
