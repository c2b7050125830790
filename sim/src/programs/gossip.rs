//! Everybody receives from any, itself included, in ways that depend on what it received before,
//! and tells everybody its state with every message. At the end every rank sends all its states to
//! all ranks. A rank that heard a state that is not among the final ones heard it from a state that
//! has been lost.

use super::{CONTEXT, E, irecv, isend, mix, tell_all, word};
use ftmpi_core::engine::{Decision, RecvData, ReqId, SendMode, Source, Tag};
use ftmpi_core::usermem::UserPtr;

const MOST: usize = 240;

struct Mind {
    digest: u64,
    /// The digest after each message.
    states: Vec<u64>,
    /// Which states it has heard from which rank.
    heard: Vec<(usize, u64, u64)>,
    next: Vec<u64>,
}

impl Mind {
    fn hear(&mut self, from: usize, data: &[u8]) {
        let (number, position, digest) = (word(data, 0), word(data, 1), word(data, 2));
        assert_eq!(number, self.next[from], "messages of rank {from} in order, once each");
        assert!(data[24..].iter().all(|&b| b == number as u8), "its payload is whole");
        self.next[from] += 1;
        self.heard.push((from, position, digest));
        self.digest = mix(self.digest, mix(from as u64, digest ^ number));
        self.states.push(self.digest);
    }
}

struct Sent {
    request: ReqId,
    data: Vec<u8>,
    /// Neither synchronous nor to itself.
    local: bool,
}

pub(super) fn gossip(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let rounds = 36 / size as u64 + 2;
    let mut mind =
        Mind { digest: me as u64, states: Vec::new(), heard: Vec::new(), next: vec![0; size] };
    let mut sends: Vec<Sent> = Vec::new();
    for round in 0..rounds {
        for step in 0..size {
            // To every rank, the own one included, beginning with the next.
            let to = (me + 1 + step) % size;
            let mut data = round.to_le_bytes().to_vec();
            data.extend_from_slice(&(mind.states.len() as u64).to_le_bytes());
            data.extend_from_slice(&mind.digest.to_le_bytes());
            let size = [24, 30, 48, 49, MOST][(mind.digest >> 9) as usize % 5];
            data.resize(size, round as u8);
            let synchronous = mind.digest >> 17 & 3 == 0;
            let mode = if synchronous { SendMode::Synchronous } else { SendMode::Standard };
            if let Some(request) = isend(e, &data, to, round as i32, mode) {
                sends.push(Sent { request, data, local: !synchronous && to != me });
            }
        }
        let mut left = size;
        while left > 0 {
            left -= take(e, &mut mind, left);
            if mind.digest >> 23 & 3 == 0 {
                take_back(e, &mut sends);
            }
        }
    }
    for sent in sends {
        e.wait(sent.request);
    }
    let mut words = vec![me as u64];
    words.extend_from_slice(&mind.states);
    let all = tell_all(e, size, &words);
    for (from, position, digest) in mind.heard {
        let last = all[from][position as usize];
        assert_eq!(digest, last, "rank {me} heard a state of rank {from} that is lost");
    }
    mind.digest
}

/// Ends all sends that need not wait for their receivers, and uses their buffers for something
/// else.
fn take_back(e: &mut E, sends: &mut Vec<Sent>) {
    for mut sent in sends.extract_if(.., |sent| sent.local) {
        e.cancel(sent.request);
        assert!(e.is_done(sent.request), "what was to be cancelled is not waited for");
        e.wait(sent.request);
        sent.data.fill(0xff);
    }
}

/// Receives one or more messages; how depends on the state of mind.
fn take(e: &mut E, mind: &mut Mind, left: usize) -> usize {
    let mut into = [0; MOST];
    match mind.digest % 6 {
        0 => {
            let request = irecv(e, &mut into, Source::Any, Tag::Any);
            let done = e.wait(request);
            mind.hear(done.source.index(), &into[..done.bytes as usize]);
            1
        }
        1 => {
            let seen = loop {
                if let Some(seen) = e.iprobe(Source::Any, CONTEXT, Tag::Any) {
                    break seen;
                }
                mind.digest = mix(mind.digest, 3);
            };
            let request = irecv(e, &mut into, Source::Rank(seen.source), Tag::Is(seen.tag));
            let done = e.wait(request);
            mind.hear(done.source.index(), &into[..done.bytes as usize]);
            1
        }
        2 => {
            let seen = e.mprobe(Source::Any, CONTEXT, Tag::Any);
            let (_, message) = seen.expect("all dead ranks come back");
            let data = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: into.len() };
            let request = e.imrecv(message, data);
            let done = e.wait(request);
            mind.hear(done.source.index(), &into[..done.bytes as usize]);
            1
        }
        3 => {
            let request = irecv(e, &mut into, Source::Any, Tag::Any);
            for _ in 0..mind.digest >> 20 & 3 {
                e.block();
            }
            e.cancel(request);
            let done = e.wait(request);
            if done.cancelled {
                mind.digest = mix(mind.digest, 5);
                return 0;
            }
            mind.hear(done.source.index(), &into[..done.bytes as usize]);
            1
        }
        4 => {
            let request = irecv(e, &mut into, Source::Any, Tag::Any);
            tested(e, mind, request);
            let done = e.wait(request);
            mind.hear(done.source.index(), &into[..done.bytes as usize]);
            1
        }
        _ => any_of_several(e, mind, left.min(3)),
    }
}

/// As `MPI_Test` until it succeeds; how often it failed changes the mind.
fn tested(e: &mut E, mind: &mut Mind, request: ReqId) {
    loop {
        e.poll_once();
        match e.decide() {
            Decision::Positive(_) => return,
            Decision::Live if e.is_done(request) => return e.answered(1),
            Decision::Live => e.answered_negative(),
            Decision::Negative => {}
        }
        mind.digest = mix(mind.digest, 7);
    }
}

/// As `MPI_Waitany` until all are complete.
fn any_of_several(e: &mut E, mind: &mut Mind, count: usize) -> usize {
    let mut posted: Vec<_> = (0..count)
        .map(|_| {
            let mut into = Box::new([0; MOST]);
            (irecv(e, &mut into[..], Source::Any, Tag::Any), into)
        })
        .collect();
    let mut heard = Vec::new();
    while !posted.is_empty() {
        let at = loop {
            match e.decide() {
                Decision::Positive(at) => break at as usize,
                Decision::Negative => unreachable!("no answer is negative here"),
                Decision::Live => {
                    if let Some(at) = posted.iter().position(|(r, _)| e.is_done(*r)) {
                        e.answered(at as u64);
                        break at;
                    }
                }
            }
            e.block();
        };
        let (request, into) = posted.remove(at);
        let done = e.wait(request);
        mind.digest = mix(mind.digest, at as u64);
        heard.push((done.source.index(), into[..done.bytes as usize].to_vec()));
    }
    // They were posted in one order and may complete in another.
    heard.sort_by_key(|(from, data)| (*from, word(data, 0)));
    for (from, data) in heard {
        mind.hear(from, &data);
    }
    count
}
