//! Objects of every kind that are made, used and freed in every step: communicators, windows,
//! files, persistent requests, sessions. Their numbers are given again soon. In a replay all that
//! was sent on later objects is there at once, and each object must take its own.
//!
//! Each word that is sent names the step that its object belongs to.

use super::{M, OriginBuffer, Rank, WORD, Words, op, peer, target};
use crate::invariants::own_objects;
use crate::mutants::Mutant;
use crate::programs::mix;
use ftmpi_core::file::Mode;
use ftmpi_core::mpi::{
    Assert, CommId, ErrhandlerId, FileBuffer, OneSided, Peer, Pointer, SendKind, Tag,
};
use ftmpi_core::op::Predefined;
use ftmpi_core::usermem::UserPtr;
use std::path::Path;

const STEPS: u64 = 10;
/// Pairs of context ids in each half.
const PAIRS: u32 = 5;
/// Generations that messages tell apart: all that the steps can begin.
const GENERATIONS: u64 = 1 << 8;

/// A communicator of one step: its ranks are those of one color.
struct Step {
    number: u64,
    comm: CommId,
    color: i32,
    me: usize,
    size: usize,
}

impl Step {
    /// What member `of` of the communicator sends.
    fn word(&self, of: usize) -> u64 {
        self.number << 8 | of as u64
    }

    fn next(&self) -> usize {
        (self.me + 1) % self.size
    }

    fn before(&self) -> usize {
        (self.me + self.size - 1) % self.size
    }
}

/// Takes a word with an object of this step; the result: which member sent it.
fn takes(rank: &mut Rank<'_>, kind: &str, step: &Step, word: u64) -> usize {
    own_objects::takes(rank.me, kind, word >> 8, step.number);
    rank.sees(word);
    (word & 0xff) as usize
}

pub(in crate::programs) fn objects(mpi: &mut M) -> u64 {
    let told = mpi.engine.link.has_mutant(Mutant::GenerationNotNamed);
    mpi.narrow_contexts(PAIRS, if told { 1 } else { GENERATIONS });
    let mut rank = Rank::new(mpi);
    for number in 1..=STEPS {
        // All ranks, halves, pairs, in turn: the members of a window change while its id stays.
        let color = match number % 4 {
            0 => 0,
            1 => rank.me as i32 % 2,
            2 => rank.me as i32 / 2,
            _ => i32::from(rank.me > 0),
        };
        let key = rank.me as i32;
        let comm = rank.call(|mpi| mpi.comm_split(CommId::WORLD, Some(color), key));
        let comm = comm.expect("everybody has a color");
        let (me, size) = rank.call(|mpi| Ok((mpi.comm_rank(comm)?, mpi.comm_size(comm)?)));
        let step = Step { number, comm, color, me: me as usize, size: size as usize };
        match number % 3 {
            0 => window(&mut rank, &step),
            1 => exposed(&mut rank, &step),
            _ => file(&mut rank, &step),
        }
        messages(&mut rank, &step);
        persistent(&mut rank, &step);
        if number % 4 == 3 {
            session(&mut rank, &step);
        }
        if number % 2 == 0 {
            duplicate(&mut rank, &step);
        }
        rank.call(|mpi| mpi.comm_free(comm));
        if number % 5 == 4 {
            rank.talk();
        }
    }
    rank.ends(&[]);
    rank.digest
}

fn one(word: &mut Words) -> OriginBuffer {
    word.buffer(WORD)
}

/// A window under locks: reads what the next one stored, adds to it.
fn window(rank: &mut Rank<'_>, step: &Step) {
    let comm = step.comm;
    let (window, base) = rank.call(|mpi| mpi.win_allocate(16, 8, None, comm));
    base.store(step.word(step.me));
    base.offset(8).store(0u64);
    rank.call(|mpi| mpi.collective(comm, ftmpi_core::mpi::Collective::Barrier));
    let to = step.next();
    let (mut found, mut weight) = (Words::room(1), Words::new(&[step.number]));
    if to != step.me {
        rank.call(|mpi| mpi.win_lock(window, peer(to), false, Assert::default()));
        let what = OneSided::Get { origin: one(&mut found) };
        rank.call(|mpi| mpi.one_sided(window, target(to, 0, 1, WORD), what));
        let what = OneSided::Accumulate { origin: weight.buffer(WORD), op: op(Predefined::Sum) };
        rank.call(|mpi| mpi.one_sided(window, target(to, 1, 1, WORD), what));
        rank.call(|mpi| mpi.win_unlock(window, peer(to)));
        assert_eq!(takes(rank, "window", step, found.0[0]), to);
    }
    rank.call(|mpi| mpi.collective(comm, ftmpi_core::mpi::Collective::Barrier));
    rank.call(|mpi| mpi.win_lock(window, peer(step.me), false, Assert::default()));
    let sum: u64 = base.offset(8).load();
    rank.call(|mpi| mpi.win_unlock(window, peer(step.me)));
    if to != step.me {
        own_objects::takes(rank.me, "window", sum, step.number);
    }
    rank.call(|mpi| mpi.win_free(window));
}

/// A window between post, start, complete and wait: puts to the next one.
fn exposed(rank: &mut Rank<'_>, step: &Step) {
    let comm = step.comm;
    let (window, base) = rank.call(|mpi| mpi.win_allocate(8, 8, None, comm));
    base.store(0u64);
    let (to, from) = (step.next(), step.before());
    let mut group = |of: usize| {
        rank.call(|mpi| {
            let all = mpi.win_get_group(window)?;
            let group = mpi.groups.get(all)?.incl([of as i64])?;
            mpi.groups.free(all)?;
            mpi.groups.insert(group)
        })
    };
    let (origins, targets) = (group(from), group(to));
    rank.call(|mpi| mpi.win_post(window, origins));
    rank.call(|mpi| mpi.win_start(window, targets));
    let mut word = Words::new(&[step.word(step.me)]);
    let what = OneSided::Put { origin: one(&mut word) };
    rank.call(|mpi| mpi.one_sided(window, target(to, 0, 1, WORD), what));
    rank.call(|mpi| mpi.win_complete(window));
    rank.call(|mpi| mpi.win_wait(window));
    assert_eq!(takes(rank, "window", step, base.load()), from);
    rank.call(|mpi| mpi.groups.free(origins));
    rank.call(|mpi| mpi.groups.free(targets));
    rank.call(|mpi| mpi.win_free(window));
}

/// A file of one name, written at the shared pointer, and deleted when it is closed.
fn file(rank: &mut Rank<'_>, step: &Step) {
    let path = format!("file-{}", step.color);
    let mode = Mode {
        read: true,
        write: true,
        create: true,
        exclusive: false,
        delete_on_close: true,
        unique: false,
        sequential: false,
        append: false,
    };
    let comm = step.comm;
    let file = rank.call(|mpi| mpi.file_open(comm, Path::new(&path), mode, 0, None));
    let mut word = Words::new(&[step.word(step.me)]);
    let buffer = FileBuffer { at: word.user_ptr(), count: 1, datatype: WORD };
    rank.call(|mpi| mpi.file_access(file, true, Pointer::Shared, buffer));
    rank.call(|mpi| mpi.collective(comm, ftmpi_core::mpi::Collective::Barrier));
    let end = rank.call(|mpi| mpi.file_get_position_shared(file));
    own_objects::takes(rank.me, "the shared pointer of file", end as u64, 8 * step.size as u64);
    rank.call(|mpi| mpi.collective(comm, ftmpi_core::mpi::Collective::Barrier));
    rank.call(|mpi| mpi.file_close(file));
}

fn send(rank: &mut Rank<'_>, comm: CommId, to: usize, tag: i32, word: u64) {
    let mut word = Words::new(&[word]);
    let at = word.user_ptr();
    rank.call(|mpi| mpi.send(SendKind::Standard, at, 1, WORD, peer(to), tag, comm));
}

fn receive(rank: &mut Rank<'_>, comm: CommId, from: Peer, tag: i32) -> u64 {
    let mut word = Words::room(1);
    let at = word.user_ptr();
    rank.call(|mpi| mpi.recv(at, 1, WORD, from, Tag::Is(tag), comm));
    word.0[0]
}

/// Messages from any to the first one, which answers with the order; and one that nobody receives.
fn messages(rank: &mut Rank<'_>, step: &Step) {
    let (comm, kind) = (step.comm, "communicator");
    if step.me == 0 {
        let mut order = 0;
        for _ in 1..step.size {
            let word = receive(rank, comm, Peer::Any, 1);
            order = mix(order, takes(rank, kind, step, word) as u64);
        }
        for to in 1..step.size {
            send(rank, comm, to, 2, step.number << 8 | order & 0xff);
        }
    } else {
        send(rank, comm, 0, 1, step.word(step.me));
        let word = receive(rank, comm, peer(0), 2);
        takes(rank, kind, step, word);
        if step.number % 3 == 1 {
            // The communicator is freed before it comes: no later one may have it.
            send(rank, comm, 0, 1, step.word(step.me));
        }
    }
}

/// Persistent requests in a ring, started twice.
fn persistent(rank: &mut Rank<'_>, step: &Step) {
    let comm = step.comm;
    if step.size == 1 {
        return;
    }
    let (mut out, mut into) = (Words::new(&[step.word(step.me)]), Words::room(1));
    let (from, to): (UserPtr, UserPtr) = (out.user_ptr(), into.user_ptr());
    let (next, before) = (peer(step.next()), peer(step.before()));
    let kind = SendKind::Standard;
    let mut sends = rank.call(|mpi| mpi.send_init(kind, from, 1, WORD, next, 3, comm));
    let mut receives = rank.call(|mpi| mpi.recv_init(to, 1, WORD, before, Tag::Is(3), comm));
    for _ in 0..2 {
        rank.call(|mpi| mpi.startall(&[receives, sends]));
        rank.call(|mpi| mpi.wait(&mut receives));
        rank.call(|mpi| mpi.wait(&mut sends));
        assert_eq!(takes(rank, "persistent request", step, into.0[0]), step.before());
    }
    rank.call(|mpi| mpi.request_free(&mut sends));
    rank.call(|mpi| mpi.request_free(&mut receives));
}

/// A communicator that a session makes of all ranks.
fn session(rank: &mut Rank<'_>, step: &Step) {
    let session = rank.call(|mpi| mpi.session_init(None, ErrhandlerId::FATAL));
    let comm = rank.call(|mpi| {
        let group = mpi.group_from_process_set(session, b"mpi://WORLD")?;
        let comm = mpi.comm_create_from_group(group, b"objects", None, ErrhandlerId::FATAL)?;
        mpi.groups.free(group)?;
        Ok(comm.expect("all ranks are in it"))
    });
    let all = Step { number: step.number, comm, color: 0, me: rank.me, size: rank.size };
    send(rank, comm, all.next(), 4, all.word(rank.me));
    let word = receive(rank, comm, Peer::Any, 4);
    assert_eq!(takes(rank, "communicator of session", &all, word), all.before());
    rank.call(|mpi| mpi.comm_free(comm));
    rank.call(|mpi| mpi.session_finalize(session));
}

/// A duplicate, made while messages of its parent are under way.
fn duplicate(rank: &mut Rank<'_>, step: &Step) {
    let parent = step.comm;
    let (comm, mut made) = rank.call(|mpi| mpi.comm_idup(parent));
    send(rank, parent, step.next(), 5, step.word(step.me));
    rank.call(|mpi| mpi.wait(&mut made));
    send(rank, comm, step.next(), 5, step.word(step.me));
    for comm in [comm, parent] {
        let word = receive(rank, comm, Peer::Any, 5);
        assert_eq!(takes(rank, "communicator", step, word), step.before());
    }
    rank.call(|mpi| mpi.comm_free(comm));
}
