//! Collective access to files (MPI-4.1, 14.4) in two phases: carries out the plans of
//! `file::together`.
//!
//! Guarantees: every process takes part to the end of the exchange, also after a failure on the
//! way; then all processes get the failure. Data travel in ordinary collective schedules. What
//! nodes do to the file is done once in all their incarnations. A replay repeats both, like
//! everything else.

use super::file_access::Staged;
use super::{CommId, Mpi};
use crate::bail;
use crate::collective::{Blocks, Call, Spread};
use crate::datatype::{Builtin, Datatype};
use crate::engine::Link;
use crate::error::{ErrorClass, Result};
use crate::file::together::{
    Course, Hints, OFFER, Offer, Plan, ascend, describe, described, merged,
};
use crate::file::view::Run;
use crate::ids::FileId;
use crate::tuning::IO_READ_THROUGH_BYTES;
use crate::usermem::UserPtr;
use std::rc::Rc;

fn begins(counts: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let begin = |count: &usize| {
        sum += count;
        sum - count
    };
    counts.iter().map(begin).collect()
}

fn blocks(base: UserPtr, counts: &[usize]) -> Blocks {
    let displacements: Rc<[i64]> = begins(counts).into_iter().map(|at| at as i64).collect();
    let datatype = Datatype::builtin(Builtin::Byte).clone();
    Blocks { base, spread: Spread::Varied { counts: counts.into(), displacements, datatype } }
}

impl<L: Link> Mpi<L> {
    /// The plan of all members of the file; `None`: each process on its own.
    pub(super) fn plan_together(
        &mut self,
        id: FileId,
        write: bool,
        staged: Option<&Staged>,
    ) -> Result<Option<Plan>> {
        let file = self.file(id)?;
        let (comm, atomic, hints) = (file.comm, file.atomic, Hints::of(&file.info));
        if file.members.local.len() < 2 {
            return Ok(None);
        }
        let runs: &[Run] = staged.map_or(&[], |staged| &staged.runs);
        let range = match (runs.first(), runs.last()) {
            (Some(first), Some(last)) => (first.0, last.0 + last.1 as u64),
            _ => (0, 0),
        };
        let bytes = runs.iter().map(|run| run.1 as u64).sum();
        let alone = atomic || staged.is_none() || !ascend(runs);
        let offer = Offer { range, bytes, runs: runs.len() as u64, alone, hints };
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &offer.encode())?;
        let offers: Vec<Offer> = all.as_chunks::<OFFER>().0.iter().map(Offer::decode).collect();
        Ok(Plan::of(&offers, write))
    }

    /// Sends `sent[i]` bytes of `data` to rank i, in order; returns what came, `due[i]` bytes from
    /// each.
    fn exchange_pieces(
        &mut self,
        comm: CommId,
        data: &mut [u8],
        sent: &[usize],
        due: &[usize],
    ) -> Result<Vec<u8>> {
        let mut came = vec![0; due.iter().sum()];
        let call = Call::Alltoall {
            send: Some(blocks(UserPtr::own_mut(data), sent)),
            recv: blocks(UserPtr::own_mut(&mut came), due),
        };
        let scope = self.scope(comm)?;
        self.run_within(&scope, &call)?;
        Ok(came)
    }

    /// Brings to each node what `fill` writes for it. Returns what this process got as a node, and
    /// how much from which process.
    fn bring_to_nodes(
        &mut self,
        comm: CommId,
        plan: &Plan,
        me: usize,
        mut fill: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(Vec<u8>, Vec<usize>)> {
        let size = self.comm(comm)?.members.local.len() as usize;
        let (mut data, mut sent, mut words) = (Vec::new(), vec![0; size], Vec::new());
        for node in 0..plan.nodes {
            let before = data.len();
            fill(node, &mut data);
            sent[plan.rank(node)] = data.len() - before;
            words.extend_from_slice(&((data.len() - before) as u64).to_le_bytes());
        }
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &words)?;
        let mut due = vec![0; size];
        if let Some(node) = plan.node(me) {
            for (rank, lengths) in all.chunks_exact(8 * plan.nodes).enumerate() {
                due[rank] = lengths
                    .as_chunks::<8>()
                    .0
                    .get(node)
                    .map_or(0, |word| u64::from_le_bytes(*word) as usize);
            }
        }
        let came = self.exchange_pieces(comm, &mut data, &sent, &due)?;
        Ok((came, due))
    }

    /// Reports to all processes whether it went well everywhere; `who` names what failed at another
    /// process.
    pub(super) fn agree_on(&mut self, comm: CommId, who: &str, own: Result<()>) -> Result<()> {
        let class = own.as_ref().err().map_or(0, |error| error.class.number());
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &class.to_le_bytes())?;
        own?;
        for (rank, class) in all.as_chunks::<4>().0.iter().enumerate() {
            if let Some(class) = ErrorClass::from_number(i32::from_le_bytes(*class))
                && class.number() != 0
            {
                return Err(class.because(format!("process {rank} of the file{who} failed")));
            }
        }
        Ok(())
    }

    /// Writes; returns the bytes of this process.
    pub(super) fn write_together(
        &mut self,
        id: FileId,
        plan: &Plan,
        staged: &Staged,
    ) -> Result<u64> {
        let file = self.file(id)?;
        let (comm, me) = (file.comm, file.members.me as usize);
        let course = Course::new(&staged.runs);
        let mut outcome = Ok(());
        for round in 0..plan.rounds() {
            let (came, due) = self.bring_to_nodes(comm, plan, me, |node, out| {
                let window = plan.window(node, round);
                let mut parts = course.within(window).peekable();
                if parts.peek().is_none() {
                    return;
                }
                describe(parts, out);
                for part in course.within(window) {
                    staged.at.offset(part.packed as i64).append_to(part.len, out);
                }
            })?;
            let Some(node) = plan.node(me) else { continue };
            if outcome.is_ok() && !came.is_empty() {
                outcome = self.write_window(id, plan.window(node, round), &came, &due);
            }
        }
        self.agree_on(comm, ", which accessed a part of it for the others,", outcome)?;
        Ok(staged.runs.iter().map(|run| run.1 as u64).sum())
    }

    /// Writes what came for a window, in runs as long as can be.
    fn write_window(
        &mut self,
        id: FileId,
        window: (u64, u64),
        came: &[u8],
        due: &[usize],
    ) -> Result<()> {
        let mut pieces: Vec<(Run, &[u8])> = Vec::new();
        for (&from, &len) in begins(due).iter().zip(due).filter(|(_, len)| **len > 0) {
            let (runs, bytes, mut data) = described(&came[from..from + len], window)?;
            if bytes != data.len() as u64 {
                bail!(Intern, "a piece of a file has {} bytes instead of {bytes}", data.len());
            }
            for run in runs {
                let (own, rest) = data.split_at(run.1);
                pieces.push((run, own));
                data = rest;
            }
        }
        pieces.sort_by_key(|(run, _)| run.0);
        let whole = merged(pieces.iter().map(|(run, _)| *run), 0);
        let mut buffer = vec![0; whole.iter().map(|run| run.1).sum()];
        let (mut index, mut base) = (0, 0);
        for (run, data) in pieces {
            while run.0 >= whole[index].0 + whole[index].1 as u64 {
                base += whole[index].1;
                index += 1;
            }
            let at = base + (run.0 - whole[index].0) as usize;
            buffer[at..at + run.1].copy_from_slice(data);
        }
        self.write_once(id, &whole, UserPtr::own(&buffer)).map(|_| ())
    }

    /// Reads; returns the bytes of this process, fewer than it asked for only at the end of the
    /// file.
    pub(super) fn read_together(
        &mut self,
        id: FileId,
        plan: &Plan,
        staged: &mut Staged,
    ) -> Result<u64> {
        let file = self.file(id)?;
        let (comm, me) = (file.comm, file.members.me as usize);
        let course = Course::new(&staged.runs);
        let mut end: u64 = staged.runs.iter().map(|run| run.1 as u64).sum();
        let mut outcome = Ok(());
        for round in 0..plan.rounds() {
            let mut wanted = vec![0; plan.nodes];
            let (came, due) = self.bring_to_nodes(comm, plan, me, |node, out| {
                let mut parts = course.within(plan.window(node, round)).peekable();
                if parts.peek().is_some() {
                    describe(parts.inspect(|part| wanted[node] += part.len), out);
                }
            })?;
            // Each answer begins with how much of it there is.
            let mut answers = (Vec::new(), vec![0; due.len()]);
            if let Some(node) = plan.node(me)
                && !came.is_empty()
            {
                match self.read_window(id, plan.window(node, round), &came, &due) {
                    Ok(read) => answers = read,
                    Err(error) => {
                        answers = Self::nothing(plan.window(node, round), &came, &due)?;
                        outcome = Err(error);
                    }
                }
            }
            let mut back = vec![0; due.len()];
            for (node, &len) in wanted.iter().enumerate().filter(|(_, len)| **len > 0) {
                back[plan.rank(node)] = len + 8;
            }
            let got = self.exchange_pieces(comm, &mut answers.0, &answers.1, &back)?;
            let places = begins(&back);
            for node in (0..plan.nodes).filter(|&node| wanted[node] > 0) {
                let answer = &got[places[plan.rank(node)]..][..back[plan.rank(node)]];
                let Some((head, mut data)) = answer.split_first_chunk::<8>() else { continue };
                let mut there = u64::from_le_bytes(*head);
                for part in course.within(plan.window(node, round)) {
                    let here = there.min(part.len as u64);
                    let (own, rest) = data.split_at(part.len);
                    staged.at.offset(part.packed as i64).write(&own[..here as usize]);
                    if here < part.len as u64 {
                        end = end.min(part.packed + here);
                    }
                    there -= here;
                    data = rest;
                }
            }
        }
        self.agree_on(comm, ", which accessed a part of it for the others,", outcome)?;
        Ok(end)
    }

    /// Reads what the processes want of a window; returns their answers, and how long each is.
    fn read_window(
        &mut self,
        id: FileId,
        window: (u64, u64),
        came: &[u8],
        due: &[usize],
    ) -> Result<(Vec<u8>, Vec<usize>)> {
        let mut asked: Vec<(Vec<Run>, u64)> = Vec::new();
        for (&from, &len) in begins(due).iter().zip(due) {
            asked.push(match len {
                0 => (Vec::new(), 0),
                _ => {
                    let (runs, bytes, _) = described(&came[from..from + len], window)?;
                    (runs, bytes)
                }
            });
        }
        let mut all: Vec<Run> = asked.iter().flat_map(|(runs, _)| runs.iter().copied()).collect();
        all.sort_by_key(|run| run.0);
        let whole = merged(all.into_iter(), IO_READ_THROUGH_BYTES);
        let mut buffer = vec![0; whole.iter().map(|run| run.1).sum()];
        let done = self.read_once(id, &whole, UserPtr::own_mut(&mut buffer))?;
        let places = begins(&whole.iter().map(|run| run.1).collect::<Vec<_>>());
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        for (runs, bytes) in asked {
            let head = out.len();
            if bytes > 0 {
                out.extend_from_slice(&[0; 8]);
            }
            let (mut index, mut there) = (0, 0u64);
            for run in runs {
                while run.0 >= whole[index].0 + whole[index].1 as u64 {
                    index += 1;
                }
                let at = places[index] + (run.0 - whole[index].0) as usize;
                out.extend_from_slice(&buffer[at..at + run.1]);
                there += done.saturating_sub(at as u64).min(run.1 as u64);
            }
            if bytes > 0 {
                out[head..head + 8].copy_from_slice(&there.to_le_bytes());
            }
            lengths.push(out.len() - head);
        }
        Ok((out, lengths))
    }

    /// The answers of a node that could not read.
    fn nothing(window: (u64, u64), came: &[u8], due: &[usize]) -> Result<(Vec<u8>, Vec<usize>)> {
        let mut lengths = Vec::new();
        for (&from, &len) in begins(due).iter().zip(due) {
            lengths.push(match len {
                0 => 0,
                _ => described(&came[from..from + len], window)?.1 as usize + 8,
            });
        }
        Ok((vec![0; lengths.iter().sum()], lengths))
    }
}
