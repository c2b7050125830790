//! Programs whose ranks access each other's memory, through the very calls of MPI's one-sided
//! chapter.
//!
//! Under fences the results are the same in every run. In all other epochs many results are right,
//! and each program knows what makes one right. Tickets are drawn once each. Values that were read
//! and written under exclusive locks form one chain. A flag is never seen before what it announces.
//! Everything that a rank sees goes into its *course*, a hash chain; the rank sends its present
//! state to others. At the end every rank sends all its states to all ranks. A rank that heard a
//! state that is not among them heard it from a state that has been lost.
//! [`objects`] makes and frees all kinds of objects.

use super::tell_all;
use crate::link::SimLink;
use crate::programs::mix;
use crate::world::with;
use ftmpi_core::datatype::{Builtin, Datatype, TypeId};
use ftmpi_core::error::Result;
use ftmpi_core::ids::WinId;
use ftmpi_core::mpi::{Collective, CommId, Mpi, OneSided, OriginBuffer, Peer};
use ftmpi_core::mpi::{SendKind, Tag, TargetBuffer};
use ftmpi_core::op::{OpId, Predefined};
use ftmpi_core::usermem::UserPtr;

mod exposures;
mod fences;
mod locks;
mod mailboxes;
mod objects;
mod tickets;

pub(super) use exposures::exposures;
pub(super) use fences::fences;
pub(super) use locks::locks;
pub(super) use mailboxes::mailboxes;
pub(super) use objects::objects;
pub(super) use tickets::tickets;

type M = Mpi<SimLink>;

/// Numbers in windows.
const WORD: TypeId = TypeId::builtin(Builtin::Uint64T);
/// Numbers whose sums depend on the order.
const REAL: TypeId = TypeId::builtin(Builtin::Double);

/// Before a simulation: what is static must neither be made in a rank's memory nor go with it. The
/// predefined datatypes are counted by reference. Each incarnation that begins from an image gives
/// back what that image had.
pub(crate) fn prepare() {
    const LIVES: usize = 1 << 10;
    for &builtin in Builtin::ALL {
        for _ in 0..LIVES {
            std::mem::forget(Datatype::builtin(builtin).clone());
        }
    }
}

/// A rank with its course.
pub(super) struct Rank<'a> {
    mpi: &'a mut M,
    me: usize,
    size: usize,
    /// What it has seen so far.
    digest: u64,
    /// Each digest that it sent to others.
    states: Vec<u64>,
    /// The states that it heard from others: number and digest.
    heard: Vec<(usize, u64, u64)>,
}

/// Memory that others may access: where its own part is.
#[derive(Clone, Copy)]
struct Memory {
    window: WinId,
    base: UserPtr,
}

impl Memory {
    fn at(self, word: usize) -> UserPtr {
        self.base.offset(8 * word as i64)
    }

    fn load(self, word: usize) -> u64 {
        self.at(word).load()
    }

    fn store(self, word: usize, value: u64) {
        self.at(word).store(value);
    }
}

/// Numbers of the program that an operation reads or fills until it is complete.
struct Words(Box<[u64]>);

impl Words {
    fn new(words: &[u64]) -> Self {
        Self(words.into())
    }

    fn room(count: usize) -> Self {
        Self(vec![u64::MAX; count].into())
    }

    fn user_ptr(&mut self) -> UserPtr {
        // SAFETY: the boxes are kept until the operation is complete; numbers are plain memory.
        unsafe { UserPtr::new(self.0.as_mut_ptr().cast()) }
    }

    fn buffer(&mut self, datatype: TypeId) -> OriginBuffer {
        let count = self.0.len() as i64;
        OriginBuffer { at: self.user_ptr(), count, datatype }
    }
}

fn target(rank: usize, disp: usize, count: usize, datatype: TypeId) -> TargetBuffer {
    TargetBuffer { rank: peer(rank), disp: disp as i64, count: count as i64, datatype }
}

fn peer(rank: usize) -> Peer {
    Peer::Rank(rank as u32)
}

const fn op(op: Predefined) -> OpId {
    OpId::predefined(op)
}

impl<'a> Rank<'a> {
    fn new(mpi: &'a mut M) -> Self {
        let (me, size) = (mpi.engine.me().index(), mpi.engine.size() as usize);
        let (states, heard) = (Vec::new(), Vec::new());
        Self { mpi, me, size, digest: me as u64 + 1, states, heard }
    }

    /// A call of MPI. Now and then the agent's signal comes during it, or after it.
    fn call<T>(&mut self, call: impl FnOnce(&mut M) -> Result<T>) -> T {
        let answer = call(self.mpi).expect("a right program");
        let engine = &mut self.mpi.engine;
        if with(|world| world.below(16)) == 0 {
            engine.attend();
        }
        if engine.link.tells_ends() {
            engine.call_ends();
        }
        if with(|world| world.below(16)) == 0 {
            engine.attend();
        }
        answer
    }

    fn allocate(&mut self, words: usize) -> Memory {
        let size = 8 * words as i64;
        let (window, base) = self.call(|mpi| mpi.win_allocate(size, 8, None, CommId::WORLD));
        let memory = Memory { window, base };
        (0..words).for_each(|word| memory.store(word, 0));
        self.barrier();
        memory
    }

    fn free(&mut self, memory: Memory) {
        self.call(|mpi| mpi.win_free(memory.window));
    }

    fn barrier(&mut self) {
        self.call(|mpi| mpi.collective(CommId::WORLD, Collective::Barrier));
    }

    fn put(&mut self, memory: Memory, to: usize, disp: usize, data: &mut Words) {
        let what = OneSided::Put { origin: data.buffer(WORD) };
        let place = target(to, disp, data.0.len(), WORD);
        self.call(|mpi| mpi.one_sided(memory.window, place, what));
    }

    fn get(&mut self, memory: Memory, from: usize, disp: usize, into: &mut Words) {
        let what = OneSided::Get { origin: into.buffer(WORD) };
        let place = target(from, disp, into.0.len(), WORD);
        self.call(|mpi| mpi.one_sided(memory.window, place, what));
    }

    fn accumulate(
        &mut self,
        memory: Memory,
        to: usize,
        disp: usize,
        data: &mut Words,
        how: (Predefined, TypeId),
    ) {
        let what = OneSided::Accumulate { origin: data.buffer(how.1), op: op(how.0) };
        let place = target(to, disp, data.0.len(), how.1);
        self.call(|mpi| mpi.one_sided(memory.window, place, what));
    }

    /// `MPI_Get_accumulate`; of one number it is `MPI_Fetch_and_op`.
    fn fetch(
        &mut self,
        memory: Memory,
        to: usize,
        disp: usize,
        (data, before): (&mut Words, &mut Words),
        how: Predefined,
    ) {
        let (origin, result) = (data.buffer(WORD), before.buffer(WORD));
        let what = OneSided::GetAccumulate { origin, result, op: op(how) };
        let place = target(to, disp, data.0.len(), WORD);
        self.call(|mpi| mpi.one_sided(memory.window, place, what));
    }

    /// What is seen becomes part of the course.
    fn sees(&mut self, value: u64) {
        self.digest = mix(self.digest, value);
    }

    /// The present state, to be sent: its number, and its digest.
    fn says(&mut self) -> [u64; 2] {
        self.states.push(self.digest);
        [self.states.len() as u64 - 1, self.digest]
    }

    /// Has received this.
    fn hears(&mut self, from: usize, [number, digest]: [u64; 2]) {
        self.heard.push((from, number, digest));
        self.sees(digest);
    }

    /// Sends its state to the next rank by a message, and receives that of the rank before.
    fn talk(&mut self) {
        let (next, before) = ((self.me + 1) % self.size, (self.me + self.size - 1) % self.size);
        let mut said = Words::new(&self.says());
        let mut heard = Words::room(2);
        let (said, into) = (said.user_ptr(), heard.user_ptr());
        let kind = SendKind::Standard;
        let mut sent =
            self.call(|mpi| mpi.isend(kind, said, 2, WORD, peer(next), 0, CommId::WORLD));
        self.call(|mpi| mpi.recv(into, 2, WORD, peer(before), Tag::Is(0), CommId::WORLD));
        self.call(|mpi| mpi.wait(&mut sent));
        self.hears(before, [heard.0[0], heard.0[1]]);
    }

    /// All ranks send all ranks the states that they have seen. What this rank heard before must be
    /// among the states of its sender. The result: what each rank has seen.
    fn ends(&mut self, seen: &[u64]) -> Vec<Vec<u64>> {
        let mut words = vec![self.states.len() as u64];
        words.extend(&self.states);
        words.extend(seen);
        assert!(words.len() < 1 << 11, "room for what is sent at the end");
        let size = self.size;
        let all = self.call(|mpi| Ok(tell_all(&mut mpi.engine, size, &words)));
        for &(from, number, digest) in &self.heard {
            let states = &all[from][1..=all[from][0] as usize];
            assert_eq!(
                states.get(number as usize),
                Some(&digest),
                "rank {} heard state {number} of rank {from} by a state that was lost",
                self.me
            );
        }
        all.into_iter().map(|mut words| words.split_off(words[0] as usize + 1)).collect()
    }
}
