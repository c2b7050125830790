//! Questions of ranks to the launcher: new processes, ports and names.
//!
//! Guarantees: every question gets one answer. Everything that has an entry for each rank gets one
//! for each new process before the process starts. Where all ranks return together, no question is
//! answered while a wave is under way: what ports and names are when it begins is what its images
//! know of them. Where ranks are repeated, a question has the same answer each time.

use super::{Launcher, notices};
use crate::agent_protocol::{Growth, Program, ToAgent};
use crate::os_text::OsText;
use crate::tuning::CONNECT_LIMIT;
use ftmpi_protocols::dispatcher::{Asker, EndReason, Input, Origin, Wanted};
use ftmpi_servers::client::ImageStore;
use ftmpi_wire::new_processes::{self, JobAnswer, JobQuestion, Refusal, SpawnPart, World};
use ftmpi_wire::{ImageNo, Rank};
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;

/// Programs that were asked for, and how many processes of each.
pub(super) type Asked = (Asker, Vec<(Program, u32)>);

/// Tells a program, with its arguments and surroundings, from others of this job.
pub(super) fn number_of(program: &Program) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    format!("{program:?}").hash(&mut hasher);
    hasher.finish()
}

impl Launcher {
    /// A rank asks something.
    pub(super) fn rank_asks(&mut self, asker: Asker, question: JobQuestion) -> Option<Input> {
        if self.dispatcher.location(asker.rank).1 != asker.incarnation {
            // Its next incarnation asks again.
            return None;
        }
        if self.dispatcher.holds_questions() {
            self.held_questions.push_back((asker, question));
            return None;
        }
        let key = (asker.rank, asker.number);
        match self.ports.answer_again(key, &question) {
            Some(Ok(answer)) => {
                self.answer_rank(asker, answer);
                return None;
            }
            Some(Err(text)) => return Some(Input::GiveUp { code: 1, text }),
            None => {}
        }
        if matches!(question, JobQuestion::OpenPort | JobQuestion::Publish { .. }) {
            self.store.has_ports();
            self.save_what_logs_know();
        }
        if let Some(answer) = self.ports.answer(asker.rank, &question) {
            let met = match (&question, &answer) {
                (JobQuestion::Meet { process }, _) => Some(*process),
                (_, JobAnswer::Owner(owner, _)) => Some(*owner),
                _ => None,
            };
            if let Some(other) = met {
                // Before the rank hears of the other one: the end of either matters from then on.
                let ranks = [asker.rank, other];
                self.dispatcher.handle(self.now(), Input::Meet { ranks });
            }
            if self.repeats_questions() {
                self.ports.keep(key, question, &answer);
            }
            self.answer_rank(asker, answer);
            return None;
        }
        let JobQuestion::Spawn { parts } = &question else { return None };
        let wanted = parts.iter().map(|part| self.wanted(asker.rank, part));
        match wanted.collect::<Result<Vec<_>, _>>() {
            Ok(wanted) => {
                let (wanted, programs): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
                let counts = parts.iter().map(|part| part.count);
                self.asked_for.retain(|(known, _)| {
                    known.rank != asker.rank || known.incarnation == asker.incarnation
                });
                self.asked_for.push((asker, programs.into_iter().zip(counts).collect()));
                Some(Input::Spawn { asker, wanted })
            }
            Err(why) => {
                let answer = JobAnswer::Refused { refusal: Refusal::Spawn, why };
                if self.repeats_questions() {
                    self.ports.keep(key, question, &answer);
                }
                self.answer_rank(asker, answer);
                None
            }
        }
    }

    fn repeats_questions(&self) -> bool {
        new_processes::are_repeated(self.plan.traits)
    }

    /// `--restart` must know of processes and ports that ranks would repeat.
    fn save_what_logs_know(&mut self) {
        if self.repeats_questions() {
            let saved = self.store.save_changes();
            self.report_unsaved(saved);
        }
    }

    /// Handles questions that had to wait. A rank that has died meanwhile asks again.
    pub(super) fn answer_held(&mut self) {
        while !self.dispatcher.holds_questions()
            && let Some((asker, question)) = self.held_questions.pop_front()
        {
            if let Some(input) = self.rank_asks(asker, question) {
                self.dispatcher.handle(self.now(), input);
                self.carry_out();
            }
        }
    }

    /// A rank takes an image, in a wave or alone: it knows of these ports and names.
    pub(super) fn image_begins(&mut self, rank: Rank, wave: ImageNo) {
        if self.repeats_questions() {
            return self.ports.image_ordered(rank, wave);
        }
        let first = self.plan.traits.all_return() && self.ports.remember(wave);
        if first && (self.has_grown() || self.store.had_ports()) {
            let saved = self.store.save_changes();
            self.report_unsaved(saved);
        }
    }

    /// All ranks return to this wave, and ask again what they had asked since.
    pub(super) fn questions_return(&mut self, wave: Option<ImageNo>) {
        if self.plan.traits.all_return() {
            self.ports.return_to(wave.unwrap_or_default());
            self.asked_for.clear();
        }
    }

    /// Whether the rank is of a later world.
    pub(super) fn has_joined(&self, rank: Rank) -> bool {
        self.job.view.worlds.first().is_some_and(|first| !first.has(rank))
    }

    fn has_grown(&self) -> bool {
        self.job.view.worlds.len() > 1
    }

    /// The indices of hosts of the job.
    pub(super) fn known_hosts(&self, names: &[String]) -> Result<Vec<u32>, String> {
        let number = |name: &String| {
            let found = self.plan.machines.iter().position(|machine| machine.name == *name);
            found.map(|number| number as u32).ok_or_else(|| {
                let names: Vec<&str> =
                    self.plan.machines.iter().map(|machine| machine.name.as_str()).collect();
                format!("'{name}' is no host of this job, which has {}", names.join(", "))
            })
        };
        names.iter().map(number).collect()
    }

    /// Hosts and program of a part.
    fn wanted(&self, by: Rank, part: &SpawnPart) -> Result<(Wanted, Program), String> {
        let hosts = self.known_hosts(&part.hosts)?;
        let program = self.program(by, part);
        Ok((Wanted { count: part.count, hosts, program: number_of(&program) }, program))
    }

    /// The program of a part. What the part does not say is as in the process that asks.
    fn program(&self, by: Rank, part: &SpawnPart) -> Program {
        let text = |bytes: &Vec<u8>| OsText::from(OsStr::from_bytes(bytes));
        let parent = &self.job.programs[self.job.program_of[by.index()] as usize];
        let directory = part.directory.as_ref().map_or_else(
            || parent.directory.clone(),
            |directory| parent.directory.join(OsStr::from_bytes(directory)),
        );
        let mut environment = parent.environment.clone();
        for (name, value) in &part.environment {
            let name = text(name);
            environment.retain(|(known, _)| *known != name);
            environment.push((name, text(value)));
        }
        let path = environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or_else(OsString::new, |(_, value)| value.to_os());
        let mut search = OsString::new();
        for place in [part.path.as_deref().map(OsStr::from_bytes), Some(&path)] {
            if let Some(place) = place.filter(|place| !place.is_empty()) {
                search.push(place);
                search.push(":");
            }
        }
        // Last, the working directory.
        search.push(".");
        let search = Some(OsText::from(search.as_os_str()));
        Program { command: part.command.iter().map(text).collect(), environment, directory, search }
    }

    /// The dispatcher has found hosts: everybody learns of the new processes.
    pub(super) fn grow(&mut self, origin: Origin, world: World, hosts: Vec<u32>) {
        let asked = match origin {
            Origin::Rank(asker) => {
                let known = self.asked_for.iter().position(|(known, _)| *known == asker);
                known.map(|place| self.asked_for.swap_remove(place).1)
            }
            Origin::User(number) => self.joins.begins(number, world),
        };
        let Some(asked) = asked else { return };
        let first_program = self.job.programs.len() as u32;
        let counts = (first_program..).zip(&asked);
        let program_of: Vec<u32> =
            counts.flat_map(|(number, (_, count))| (0..*count).map(move |_| number)).collect();
        let mut on_host = vec![0u32; self.plan.machines.len()];
        let number = |host: &u32| {
            let next = &mut on_host[*host as usize];
            *next += 1;
            *next - 1
        };
        let local_rank_of = hosts.iter().map(number).collect();
        let programs: Vec<Program> = asked.into_iter().map(|(program, _)| program).collect();
        let growth = Growth { world, hosts, local_rank_of, program_of, programs };
        self.job.grow(&growth);
        self.plan.placement.extend(&growth.hosts);
        self.plan.program_of.extend(&growth.program_of);
        self.plan.programs.extend(growth.programs.iter().cloned());
        let size = self.plan.placement.len();
        self.recorder.ranks_added(size, self.plan.traits.all_return());
        self.history.ranks_added(size);
        self.observed.ranks_added(size, self.now());
        self.output.ranks_added(size);
        self.store.world_begins(world);
        self.save_what_logs_know();
        self.servers.ranks_added(size);
        self.send_servers();
        for number in &growth.program_of {
            self.mpir.add(self.plan.programs[*number as usize].path());
        }
        self.agents.broadcast(&ToAgent::Grow(Box::new(growth)));
    }

    /// New processes are there, or will not be.
    pub(super) fn spawn_over(&mut self, asker: Asker, outcome: Result<Rank, String>) {
        self.asked_for.retain(|(known, _)| *known != asker);
        let answer = match outcome {
            Ok(first) => JobAnswer::Spawned(first),
            Err(why) => JobAnswer::Refused { refusal: Refusal::Spawn, why },
        };
        self.answer_rank(asker, answer);
    }

    /// All processes of a world have ended.
    pub(super) fn world_over(&mut self, world: World) {
        self.ports.world_over(world);
        self.job.view.gone.retain(|gone| !world.has(*gone));
        self.job.view.gone.extend(world.processes().map(Rank));
        self.agents.broadcast(&ToAgent::WorldOver(world));
    }

    /// Images of a world that has ended serve no more. What stays for lack of a connection costs
    /// room on the disk.
    pub(super) fn forget_images(&self, world: World) {
        let (_, stores) = self.servers.own_addresses();
        for rank in world.processes().map(Rank) {
            let Some(address) = stores.get(rank.index()).copied() else { continue };
            let (key, (_, incarnation)) = (self.key.clone(), self.dispatcher.location(rank));
            tokio::spawn(async move {
                if let Ok(mut store) = ImageStore::connect(address, &key, CONNECT_LIMIT).await {
                    let _ = store.return_to(rank, incarnation, ImageNo(0)).await;
                }
            });
        }
    }

    /// The sentence about the end of the job.
    pub(super) fn end_text(&self, reason: EndReason) -> String {
        match reason {
            EndReason::RankLost { rank, host, ending, .. } if self.has_grown() => {
                notices::lost_among_new(rank, &host, ending)
            }
            EndReason::Suspended(images) if self.has_grown() => {
                let text = notices::end_reason(EndReason::Suspended(images));
                notices::interrupted_with_new(&text)
            }
            reason => notices::end_reason(reason),
        }
    }

    fn answer_rank(&self, Asker { rank, incarnation, number }: Asker, answer: JobAnswer) {
        let (host, _) = self.dispatcher.location(rank);
        self.agents.send(host, ToAgent::Answer { rank, incarnation, number, answer });
    }
}
