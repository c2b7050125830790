//! What every rank runs: rounds of work, each with an agreement at its end. After a round that
//! failed anywhere those who are left go on among themselves, as ULFM's users do.

use super::link::{GoLink, Stop};
use super::{Shared, draw};
use ftmpi_core::datatype::{Builtin, TypeId};
use ftmpi_core::engine::Engine;
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::{Buffer, Collective, CommId, Incoming, Mpi, Outgoing, Peer, SendKind, Tag};
use ftmpi_core::op::{OpId, Predefined};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::group_news::GroupName;
use ftmpi_wire::{Incarnation, Rank};

type M = Mpi<GoLink>;

const ROUNDS: usize = 6;
const INT: TypeId = TypeId::builtin(Builtin::Int);

fn at(values: &mut [i32]) -> UserPtr {
    // SAFETY: each caller keeps its values until the call, or its request, is over.
    unsafe { UserPtr::new(values.as_mut_ptr().cast()) }
}

fn members(m: &mut M, comm: CommId) -> Result<Vec<Rank>> {
    let group = m.comm_group(comm)?;
    let ranks = m.groups.get(group)?.to_vec();
    m.groups.free(group)?;
    Ok(ranks)
}

fn allreduce(values: &mut [i32]) -> Collective<'static> {
    Collective::Allreduce {
        send: Buffer::InPlace,
        recv: Buffer::At(at(values)),
        count: values.len() as i64,
        datatype: INT,
        op: OpId::predefined(Predefined::Sum),
    }
}

/// One round of work on a communicator.
fn work(m: &mut M, comm: CommId, kind: u64, length: usize) -> Result<()> {
    let (me, n) = (m.comm_rank(comm)? as i32, m.comm_size(comm)? as i32);
    let mut values = vec![me + 1; length];
    let all = n * (n + 1) / 2;
    let (next, before) = (((me + 1) % n) as u32, ((me + n - 1) % n) as u32);
    match kind {
        0 => m.collective(comm, Collective::Barrier)?,
        1 => {
            m.collective(comm, allreduce(&mut values))?;
            assert!(values.iter().all(|value| *value == all), "a sum is wrong");
        }
        2 => {
            let mut request = m.icollective(comm, allreduce(&mut values))?;
            m.wait(&mut request)?;
            assert!(values.iter().all(|value| *value == all), "a later sum is wrong");
        }
        3 => {
            let root = (length % n as usize) as u32;
            let (buffer, count) = (at(&mut values), length as i64);
            let root_rank = Peer::Rank(root);
            m.collective(
                comm,
                Collective::Bcast { buffer, count, datatype: INT, root: root_rank },
            )?;
            assert!(values.iter().all(|value| *value == root as i32 + 1), "a broadcast is wrong");
        }
        4 => {
            let mut came = vec![0; length];
            let (count, datatype, tag) = (length as i64, INT, 3);
            let (to, from) = (Peer::Rank(next), Peer::Rank(before));
            let send = Outgoing { buffer: at(&mut values), count, datatype, to, tag };
            let recv = Incoming { buffer: at(&mut came), count, datatype, from, tag: Tag::Is(tag) };
            m.sendrecv(send, recv, comm)?;
            assert!(came.iter().all(|value| *value == before as i32 + 1), "a ring is wrong");
        }
        5 => {
            // Rank 0 hears all others, whoever comes first; each waits until it was heard.
            let count = length as i64;
            if me == 0 {
                let mut sum = 1;
                for _ in 1..n {
                    m.recv(at(&mut values), count, INT, Peer::Any, Tag::Is(4), comm)?;
                    sum += values[0];
                }
                assert_eq!(sum, all, "messages of any source");
            } else {
                let kind = SendKind::Synchronous;
                m.send(kind, at(&mut values), count, INT, Peer::Rank(0), 4, comm)?;
            }
        }
        6 => {
            let new = m.comm_split(comm, Some(me % 2), me)?;
            if let Some(new) = new {
                m.comm_free(new)?;
            }
        }
        _ => {
            let mut came = vec![0; length];
            let (count, mut requests) = (length as i64, Vec::new());
            let (from, to) = (Peer::Rank(before), Peer::Rank(next));
            requests.push(m.irecv(at(&mut came), count, INT, from, Tag::Is(7), comm)?);
            requests.push(m.isend(SendKind::Standard, at(&mut values), count, INT, to, 7, comm)?);
            let answer = m.waitall(&mut requests, |_, _| {});
            if answer.is_err() {
                // What is open belongs to the memory of this call.
                m.comm_revoke(comm)?;
                while m.waitall(&mut requests, |_, _| {}).is_err() {}
            }
            answer?;
            assert!(came.iter().all(|value| *value == before as i32 + 1), "a ring of requests");
        }
    }
    Ok(())
}

fn expected(error: &MpiError) -> bool {
    matches!(error.class, ErrorClass::ProcFailed | ErrorClass::Revoked | ErrorClass::InStatus)
}

/// The life of a rank.
pub(super) fn run(me: usize, seed: u64, world: &Shared, stop: Stop) {
    let size = world.borrow().size;
    let incarnations = vec![Incarnation(0); size];
    let link = GoLink::new(me, world, stop);
    let protocol = Box::new(ftmpi_protocols::none::None);
    let mut engine = Engine::new(link, Rank(me as u32), &incarnations, protocol);
    engine.set_goes_on(true, Vec::new());
    let mut m = Mpi::new(engine, vec![0; size], false);
    let mut rounds = seed ^ 0xabcd;
    let (mut comm, mut epoch, mut number, mut round) = (CommId::WORLD, 0, 0, 0);
    let all = members(&mut m, comm).expect("the world has members");
    world.borrow_mut().saw_epoch(epoch, all);
    let mut comms = vec![comm];
    while round < ROUNDS {
        let (kind, length) = (draw(&mut rounds) % 8, 1 + draw(&mut rounds) as usize % 40);
        let place = format!("epoch {epoch}, round {round} of kind {kind}");
        let does = |what: &str| {
            let text = format!("{place}: {what}");
            world.borrow_mut().seen.doing[me] = text;
        };
        does("works");
        let done = work(&mut m, comm, kind, length);
        does(&format!("agrees after {done:?}"));
        if let Err(error) = &done {
            assert!(expected(error), "round {round} of kind {kind}: {error:?}");
            // Others may wait for this rank in the round.
            m.comm_revoke(comm).expect("a revocation is not refused");
        }
        let mut flag = [i32::from(done.is_ok())];
        let agreed = m.comm_agree(comm, at(&mut flag));
        let outcome = (flag[0], agreed.is_ok());
        world.borrow_mut().saw_agreement((epoch, number), outcome);
        (number, round) = (number + 1, round + 1);
        if outcome != (1, true) {
            does("shrinks");
            comm = m.comm_shrink(comm).expect("a shrink is not refused");
            comms.push(comm);
            (epoch, number) = (epoch + 1, 0);
            let left = members(&mut m, comm).expect("those who are left");
            world.borrow_mut().saw_epoch(epoch, left);
        }
    }
    world.borrow_mut().seen.doing[me] = "drains".into();
    m.engine.drain();
    world.borrow_mut().is_over(me);
    while !world.borrow().is_quiet() {
        m.engine.block();
        stop.pause(super::link::Why::Rests);
    }
    for comm in comms {
        let all = members(&mut m, comm).expect("a communicator keeps its members");
        let context = m.context_of(comm).expect("a communicator keeps its context");
        let least = all.into_iter().min().unwrap_or(Rank(0));
        let told = world.borrow().seen.revoked.contains(&GroupName { context, least });
        let revoked = m.comm_is_revoked(comm).expect("the question is not refused");
        assert_eq!(revoked, told, "rank {me} has not heard of a revocation");
    }
}
