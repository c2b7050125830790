//! Processes that join the running job, and questions to the launcher.
//!
//! Guarantees: an answer goes to the question of its number. An incarnation that begins from an
//! image asks again what was open in it. Channels to the processes of a world
//! that has ended are given up, with their memory and descriptors.

use super::World;
use crate::direct_start;
use ftmpi_core::engine::Sink;
use ftmpi_wire::control::{self, FromRank};
use ftmpi_wire::new_processes::{self, JobAnswer, JobQuestion};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;

/// Questions to the launcher that are open, and answers that nobody has taken.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// How many were asked in each lane.
    asked: BTreeMap<u32, u32>,
    /// Those that were asked and not answered.
    open: Vec<(u64, JobQuestion)>,
    answers: Vec<(u64, JobAnswer)>,
}

/// Bytes of a question that fit into one datagram, with some room for its envelope.
const QUESTION_BYTES_MAX: usize = control::DATAGRAM_BYTES_MAX - 1024;

impl World {
    /// The world of this process: its first process, its size, and the process that spawned it.
    #[must_use]
    pub fn own_world(&self) -> Option<new_processes::World> {
        let worlds = &self.job.as_ref()?.worlds;
        worlds.iter().find(|world| world.has(self.me)).copied()
    }

    /// Whether processes have joined the job since it began.
    #[must_use]
    pub fn has_several_worlds(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.worlds.len() > 1)
    }

    pub(super) fn may_ask(&self) -> Result<(), String> {
        let Some(job) = &self.job else {
            return Err("this process was not started by ftmpiexec, which could start others and \
                        join them; start it with ftmpiexec -n 1"
                .into());
        };
        if direct_start::has_joined() {
            return Err("the launcher of these ranks is not ftmpiexec, which could start others \
                        and join them; start them with ftmpiexec"
                .into());
        }
        if !new_processes::are_possible(job.traits) {
            return Err(new_processes::impossible(&job.protocol.name));
        }
        Ok(())
    }

    pub(super) fn may_join_by_socket(&self) -> Result<(), String> {
        self.may_ask()?;
        match &self.job {
            Some(job) if new_processes::are_repeated(job.traits) => {
                Err(new_processes::no_sockets(&job.protocol.name))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn ask(&mut self, lane: u32, question: JobQuestion) -> Result<u64, String> {
        let count = self.questions.asked.get(&lane).copied().unwrap_or(0);
        let number = new_processes::question_number(lane, count);
        let message = FromRank::Ask { number, question: question.clone() };
        let bytes = control::encode(&message).len();
        if bytes > QUESTION_BYTES_MAX {
            return Err(format!(
                "commands and hints have {bytes} bytes, more than the {QUESTION_BYTES_MAX} that \
                 the launcher takes at a time; pass long arguments in a file"
            ));
        }
        self.questions.asked.insert(lane, count.wrapping_add(1));
        self.questions.open.push((number, question));
        self.agent.send(&message);
        Ok(number)
    }

    /// After a restore. The launcher has forgotten what an earlier incarnation had asked, and it
    /// has not answered what the image has as open.
    pub(super) fn ask_again(&mut self) {
        for (number, question) in &self.questions.open {
            let (number, question) = (*number, question.clone());
            self.agent.send(&FromRank::Ask { number, question });
        }
    }

    pub(super) fn answered(&mut self, number: u64, answer: JobAnswer) {
        let open = self.questions.open.len();
        self.questions.open.retain(|(known, _)| *known != number);
        if self.questions.open.len() < open {
            self.questions.answers.push((number, answer));
        }
    }

    pub(super) fn answer_to(&mut self, number: u64) -> Option<JobAnswer> {
        let answers = &mut self.questions.answers;
        let place = answers.iter().position(|(known, _)| *known == number)?;
        Some(answers.swap_remove(place).1)
    }

    /// Processes have joined the job, on these hosts.
    pub(super) fn grow<S: Sink>(
        &mut self,
        sink: &mut S,
        world: new_processes::World,
        hosts: &[u32],
    ) {
        let Some(job) = &mut self.job else { return };
        if job.worlds.contains(&world) {
            return;
        }
        job.worlds.push(world);
        job.host_of.extend(hosts);
        job.node_of.extend(hosts);
        job.size = job.host_of.len() as u32;
        job.incarnations.resize(job.host_of.len(), Incarnation(0));
        self.peers.grow(hosts.len());
        sink.grown(hosts);
    }

    /// All processes of a world have ended.
    pub(super) fn world_over<S: Sink>(&mut self, sink: &mut S, world: new_processes::World) {
        if let Some(job) = &mut self.job {
            job.gone.retain(|gone| !world.has(*gone));
            job.gone.extend(world.processes().map(Rank));
        }
        for process in world.processes().map(Rank) {
            self.take_all_of(sink, process);
            self.peers.ask_no_more(process);
            sink.left(process);
            self.lose(sink, process);
        }
    }
}
