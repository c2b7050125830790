//! Programs of simulated ranks: blocking code over the engine that checks what it sees.
//!
//! Each returns a digest. Where no receive is a wildcard the digest must be the one of a run
//! without failures. Where a program has a variant, the rank that chose sends its partners its
//! order so far, and the whole order at the end. A partner that heard something else heard it from
//! a state that has been lost: an orphan.

use crate::link::SimLink;
use ftmpi_core::engine::{Engine, RecvData, ReqId, SendData, SendMode, Source, Tag};
use ftmpi_core::mpi::Mpi;
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::Rank;

mod cancelled;
mod fixed;
mod gossip;
mod one_sided;
mod outside;
mod server;
mod shared;
mod threads;

type E = Engine<SimLink>;

/// Context of the programs' messages.
const CONTEXT: u32 = 2;

/// Context of the messages at the end: none that a communicator gets.
const LAST_CONTEXT: u32 = 0xFFF0;

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Program {
    /// A ring of named receives, small and large payloads.
    Ring,
    /// Every rank with every rank, non-blocking, all sizes, synchronous sends among them.
    Exchange,
    /// One rank receives from any, and answers with its order so far.
    Wildcards,
    /// The same by probes that fail.
    Probes,
    /// The same by tests and variants among several requests.
    Tests,
    /// The same by matched probes.
    MatchedProbes,
    /// The same by receives of which several complete at once.
    Some,
    /// The same with receives that are cancelled in a race with their messages.
    Cancels,
    /// A wildcard posted before a named receive; receives that are cancelled; clocks.
    Mixed,
    /// Synchronous sends that are cancelled in a race with their receives.
    CancelledSends,
    /// Synchronous sends, each begun when the one before was matched: their order is known.
    Relay,
    /// Every rank chooses, in many ways, and reports its choices to every rank.
    Gossip,
    /// Everybody chooses, and does things to the world outside that no failure takes back.
    Outside,
    /// One rank receives from any, in several threads.
    Threads,
    /// All share memory: loads and stores that no protocol sees.
    SharedMemory,
    /// Puts, gets and accumulates between fences.
    Fences,
    /// The same between post, start, complete and wait.
    Exposures,
    /// Fetch-and-op and compare-and-swap: each ticket is drawn once.
    Tickets,
    /// Reads and writes under exclusive and shared locks.
    Locks,
    /// Everybody looks into its own memory while others put there.
    Mailboxes,
    /// Communicators, windows, files, persistent requests, sessions: made, used and freed in every
    /// step.
    Objects,
}

impl Program {
    /// All that run under every protocol.
    pub const ALL: [Self; 12] = [
        Self::Ring,
        Self::Exchange,
        Self::Wildcards,
        Self::Probes,
        Self::Tests,
        Self::MatchedProbes,
        Self::Some,
        Self::Cancels,
        Self::Mixed,
        Self::Relay,
        Self::Gossip,
        Self::Outside,
    ];

    /// Those whose ranks access each other's memory.
    pub const ONE_SIDED: [Self; 5] =
        [Self::Fences, Self::Exposures, Self::Tickets, Self::Locks, Self::Mailboxes];

    /// Whether the digests are the same in every run.
    #[must_use]
    pub fn is_deterministic(self) -> bool {
        matches!(
            self,
            Self::Ring | Self::Exchange | Self::Relay | Self::SharedMemory | Self::Fences
        )
    }

    /// Is it one of those that access each other's memory?
    #[must_use]
    pub fn is_one_sided(self) -> bool {
        Self::ONE_SIDED.contains(&self)
    }

    /// Does it run over all of MPI: [`Program::run_over_mpi`]?
    #[must_use]
    pub fn needs_mpi(self) -> bool {
        self.is_one_sided() || self == Self::Objects
    }

    /// Before a simulation of it.
    pub fn prepare(self) {
        if self.needs_mpi() {
            one_sided::prepare();
        }
    }

    /// Runs one that needs windows.
    ///
    /// # Panics
    /// It is none of these.
    pub fn run_over_mpi(self, mpi: &mut Mpi<SimLink>) -> u64 {
        match self {
            Self::Fences => one_sided::fences(mpi),
            Self::Exposures => one_sided::exposures(mpi),
            Self::Tickets => one_sided::tickets(mpi),
            Self::Locks => one_sided::locks(mpi),
            Self::Mailboxes => one_sided::mailboxes(mpi),
            Self::Objects => one_sided::objects(mpi),
            other => panic!("{other:?} runs over the engine alone"),
        }
    }

    /// Runs one of the others.
    ///
    /// # Panics
    /// It is none of them.
    pub fn run(self, e: &mut E, size: usize) -> u64 {
        match self {
            Self::Ring => fixed::ring(e, size),
            Self::Exchange => fixed::exchange(e, size),
            Self::Relay => fixed::relay(e, size),
            Self::Wildcards => server::server(e, size, server::receive_any),
            Self::Probes => server::server(e, size, server::receive_probed),
            Self::Tests => server::server(e, size, server::receive_tested),
            Self::MatchedProbes => server::server(e, size, server::receive_matched),
            Self::Some => server::some(e, size),
            Self::Cancels => server::cancels(e, size),
            Self::CancelledSends => cancelled::cancelled_sends(e, size),
            Self::Mixed => server::mixed(e, size),
            Self::Gossip => gossip::gossip(e, size),
            Self::Outside => outside::outside(e, size),
            Self::Threads => threads::threads(e, size),
            Self::SharedMemory => shared::shared_memory(e, size),
            Self::Fences
            | Self::Exposures
            | Self::Tickets
            | Self::Locks
            | Self::Mailboxes
            | Self::Objects => {
                panic!("{self:?} needs all of MPI")
            }
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

/// Every rank sends something to every rank at the end and receives it, by named receives in a
/// context of its own.
fn tell_all(e: &mut E, size: usize, words: &[u64]) -> Vec<Vec<u64>> {
    let me = e.me().index();
    let data: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let sends: Vec<_> = (0..size)
        .filter(|&to| to != me)
        .filter_map(|to| {
            let data = SendData::Bytes { ptr: UserPtr::own(&data), len: data.len() };
            e.isend(data, Rank(to as u32), LAST_CONTEXT, 0, SendMode::Standard)
        })
        .collect();
    let heard = (0..size)
        .map(|from| {
            if from == me {
                return words.to_vec();
            }
            let mut into = vec![0; 1 << 14];
            let data = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: into.len() };
            let source = Source::Rank(Rank(from as u32));
            let request = e.irecv(data, source, LAST_CONTEXT, Tag::Is(0));
            let done = e.wait(request);
            into.truncate(done.bytes as usize);
            into.chunks_exact(8).map(|w| word(w, 0)).collect()
        })
        .collect();
    for request in sends {
        e.wait(request);
    }
    heard
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("8 bytes"))
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
    let place = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len };
    let done = e.recv(place, Source::Rank(Rank(from as u32)), CONTEXT, Tag::Is(tag));
    assert_eq!((done.source.index(), done.tag, done.error), (from, tag, None), "the right message");
    into.truncate(done.bytes as usize);
    into
}

fn payload(from: usize, to: usize, k: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (from * 7 + to * 13 + k * 31 + i) as u8).collect()
}
