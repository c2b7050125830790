//! A server of several threads, whose order is the scheduler's: another one in every incarnation.
//!
//! The threads of rank 0 take the messages of all clients from the same queue, by waits, tests and
//! choices among several receives. Which thread takes a message, and when, is part of the order
//! that each client is told at once and at the end. A replay that lets threads go on in another
//! order tells something else.
//!
//! A thread is a state here, and each part of a call between two waits is one turn of it. The
//! library's lock lets one thread in at a time just so.

use super::server::{ROUNDS, client};
use super::{CONTEXT, E, irecv, mix, send};
use crate::world::with;
use ftmpi_core::engine::{Decision, ReqId, SendData, SendMode, Source, Tag};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::Rank;

/// Threads of the server; the first one is the one that began.
const THREADS: usize = 3;

type Posted = (ReqId, Box<[u8; 200]>);

/// Where a thread is.
enum Place {
    /// Between two calls.
    Outside,
    /// In a wait for its first receive.
    Waits,
    /// In a choice among its receives.
    Chooses,
    /// It knows that this receive is complete, and waits for it.
    Knows(usize),
    /// In a send of an answer.
    Sends { request: Option<ReqId>, _answer: Box<[u8; 16]> },
    /// It has received a message, and is to answer this client.
    Owes(usize, Box<[u8; 16]>),
}

struct Thread {
    place: Place,
    posted: Vec<Posted>,
    calls: u64,
    looks: u64,
}

/// What all threads share.
struct Shared {
    digest: u64,
    order: Vec<u64>,
    /// Receives that are still to be posted.
    left: usize,
}

impl Shared {
    /// The thread has a message: the answer to its sender.
    fn took(&mut self, thread: usize, value: u64, looks: u64) -> Box<[u8; 16]> {
        self.digest = mix(self.digest, value << 16 | looks << 8 | thread as u64);
        self.order.push(self.digest);
        let mut answer = Box::new([0; 16]);
        answer[..8].copy_from_slice(&(self.order.len() as u64).to_le_bytes());
        answer[8..].copy_from_slice(&self.digest.to_le_bytes());
        answer
    }
}

/// A step that follows another one of the same thread at once.
fn end_of_call(e: &mut E) {
    assert!(e.try_step(), "nobody can have come between");
}

impl Thread {
    fn is_done(&self, e: &E, at: usize) -> bool {
        self.posted.get(at).is_some_and(|(request, _)| e.is_done(*request))
    }

    /// Goes on as far as it can without waiting; whether it did anything.
    fn goes_on(&mut self, e: &mut E, shared: &mut Shared, me: usize) -> bool {
        match &mut self.place {
            Place::Outside => return self.calls(e, shared),
            Place::Waits => {
                if !self.is_done(e, 0) || !e.try_step() {
                    return false;
                }
                self.receives(e, shared, me, 0);
            }
            Place::Chooses => match e.decide_in_wait() {
                None => return false,
                Some(Decision::Positive(at)) => self.place = Place::Knows(at as usize),
                Some(_) => {
                    let done = (0..self.posted.len()).find(|&at| self.is_done(e, at));
                    let Some(at) = done.filter(|_| e.answer_step()) else { return false };
                    e.answered(at as u64);
                    self.place = Place::Knows(at);
                }
            },
            Place::Knows(at) => {
                let at = *at;
                if !self.is_done(e, at) || !e.try_step() {
                    return false;
                }
                self.receives(e, shared, me, at);
            }
            Place::Owes(to, answer) => {
                if !e.try_step() {
                    return false;
                }
                let data = SendData::Bytes { ptr: UserPtr::own(&answer[..]), len: answer.len() };
                let to = Rank(*to as u32);
                let sent = e.isend(data, to, CONTEXT, 2, SendMode::Standard);
                let answer = std::mem::replace(answer, Box::new([0; 16]));
                self.place = Place::Sends { request: sent, _answer: answer };
            }
            Place::Sends { request: sent, .. } => {
                if sent.is_some_and(|sent| !e.is_done(sent)) || !e.try_step() {
                    return false;
                }
                if let Some(sent) = *sent {
                    e.finish(sent);
                }
                self.place = Place::Outside;
            }
        }
        true
    }

    /// Makes the next call.
    fn calls(&mut self, e: &mut E, shared: &mut Shared) -> bool {
        let wants = 1 + (self.calls % 2) as usize;
        let posts = shared.left > 0 && self.posted.len() < wants;
        if (!posts && self.posted.is_empty()) || !e.try_step() {
            return false;
        }
        // What another thread did before this step counts.
        if shared.left > 0 && self.posted.len() < wants {
            shared.left -= 1;
            let mut into = Box::new([0; 200]);
            let request = irecv(e, &mut into[..], Source::Any, Tag::Is(1));
            self.posted.push((request, into));
            end_of_call(e);
            return true;
        }
        if self.posted.is_empty() {
            end_of_call(e);
            return true;
        }
        self.calls += 1;
        match self.calls % 3 {
            0 => self.place = Place::Waits,
            1 if self.posted.len() > 1 => self.place = Place::Chooses,
            _ => self.tests(e),
        }
        true
    }

    fn tests(&mut self, e: &mut E) {
        e.poll_once();
        let done = match e.decide_polled() {
            Decision::Positive(_) => true,
            Decision::Negative => false,
            Decision::Live if self.is_done(e, 0) => {
                e.answered(1);
                true
            }
            Decision::Live => {
                e.answered_negative();
                false
            }
        };
        if done {
            self.place = Place::Knows(0);
        } else {
            self.looks += 1;
            end_of_call(e);
        }
    }

    fn receives(&mut self, e: &mut E, shared: &mut Shared, me: usize, at: usize) {
        let (request, into) = self.posted.remove(at);
        let done = e.finish(request);
        let value = super::word(&into[..], 0);
        assert!(value < ROUNDS as u64, "the payload of a client");
        let from = done.source.index();
        let answer = shared.took(me, value << 8 | from as u64, std::mem::take(&mut self.looks));
        self.place = Place::Owes(from, answer);
    }

    fn is_over(&self, shared: &Shared) -> bool {
        shared.left == 0 && self.posted.is_empty() && matches!(self.place, Place::Outside)
    }
}

pub(super) fn threads(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    if me > 0 {
        return client(e, me);
    }
    e.order_threads();
    let mut shared = Shared { digest: 0, order: Vec::new(), left: ROUNDS * (size - 1) };
    let mut all: Vec<Thread> = (0..THREADS)
        .map(|n| Thread { place: Place::Outside, posted: Vec::new(), calls: n as u64, looks: 0 })
        .collect();
    while !all.iter().all(|thread| thread.is_over(&shared)) {
        let first = with(|world| world.below(THREADS as u64)) as usize;
        let mut went = false;
        for n in (first..THREADS).chain(0..first) {
            if e.link.goes_as(n as u32 + 1) && all[n].goes_on(e, &mut shared, n) {
                went = true;
                break;
            }
        }
        if !went {
            e.block();
        }
    }
    // The first thread ends the program alone.
    e.link.goes_as(1);
    e.step();
    let data: Vec<u8> = shared.order.iter().flat_map(|digest| digest.to_le_bytes()).collect();
    for to in 1..size {
        send(e, &data, to, 3);
    }
    shared.digest
}
