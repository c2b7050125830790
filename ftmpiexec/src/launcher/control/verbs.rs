//! What users ask of a running job (`ftmpi-ctl`), and the answers that take time.
//!
//! Guarantees: a request that cannot be fulfilled is refused at once, with the reason and what to
//! type instead. A request that takes time is answered when it is done. If the job ends before, the
//! connection closes without a last line.

use crate::cli::{Starter, parse_list};
use crate::launcher::events::ImageAnswers;
use crate::launcher::settings::place_of_new_host;
use crate::launcher::{Launcher, notices};
use crate::locality::is_here_within;
use crate::machine::Machine;
use crate::tuning::RESOLVE_LIMIT;
use ftmpi_protocols::dispatcher::{Input, Migration, MoveState};
use ftmpi_wire::Rank;
use ftmpi_wire::job_control::{Answer, Verb};
use ftmpi_wire::job_status::Health;

/// What a user waits for.
#[derive(Debug)]
enum Awaited {
    /// This migration, by its number.
    Migration(usize),
    /// A drained host without ranks.
    Empty(u32),
    /// A host that joins.
    Host(u32),
    /// The end of the job.
    End,
}

/// The requests that are not answered yet.
#[derive(Debug, Default)]
pub struct Pending(Vec<(Awaited, ImageAnswers)>);

/// Sends one line of an answer.
pub fn say(answers: &ImageAnswers, answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        let _ = answers.send(line);
    }
}

impl Pending {
    /// The job has ended. `true`: somebody waited for that, and is told.
    pub fn job_ends(&mut self, text: &str) -> bool {
        let mut told = false;
        for (awaited, answers) in self.0.drain(..) {
            if matches!(awaited, Awaited::End) {
                say(&answers, &Answer::Done(text.to_owned()));
                told = true;
            }
        }
        told
    }
}

impl Launcher {
    /// A user asks for something.
    pub(in crate::launcher) fn asked(&mut self, verb: Verb, answers: ImageAnswers) {
        let asked = match verb {
            Verb::Status => {
                let status = Box::new(self.job_status());
                say(&answers, &Answer::Status(status));
                Ok(Some("that is all".to_owned()))
            }
            Verb::Images => return self.images_asked(answers),
            Verb::Migrate { rank, to } => self.migrate_asked(rank, &to, &answers),
            Verb::Drain { host } => self.drain_asked(&host, &answers),
            Verb::Undrain { host } => self.undrain_asked(&host),
            Verb::Add { host } => self.add_asked(&host, &answers),
            Verb::Health { host, health, why } => self.health_asked(&host, health, why),
            Verb::End => self.end_asked(&answers),
            Verb::EndJoined { number, code } => self.end_joined_asked(number, code),
            // These have a connection of their own (`serve`).
            Verb::Join(_) => Err("this is no question".to_owned()),
        };
        match asked {
            Ok(Some(text)) => say(&answers, &Answer::Done(text)),
            Ok(None) => self.answer_pending(),
            Err(why) => say(&answers, &Answer::Refused(why)),
        }
    }

    /// Answers the requests that are done by now.
    pub(in crate::launcher) fn answer_pending(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.0.retain(|(awaited, answers)| {
            let answer = self.answer_of(awaited);
            if let Some(answer) = &answer {
                say(answers, answer);
            }
            answer.is_none() && !answers.is_closed()
        });
        self.pending = pending;
    }

    fn answer_of(&self, awaited: &Awaited) -> Option<Answer> {
        match awaited {
            Awaited::End => None,
            Awaited::Host(host) if self.agents.get(*host).is_up() => {
                let name = self.agents.name(*host);
                Some(Answer::Done(format!("{name} has joined the job and takes ranks")))
            }
            Awaited::Host(host) if self.dispatcher.is_given_up(*host) => {
                let name = self.agents.name(*host);
                Some(Answer::Refused(format!(
                    "{name} cannot join: its agent does not start (the job's own output says why; \
                     ftmpiexec --doctor -hosts {name} checks the host)"
                )))
            }
            Awaited::Host(_) => None,
            Awaited::Migration(number) => {
                let migration = &self.dispatcher.migrations()[*number];
                if migration.is_active() {
                    return None;
                }
                let text = notices::migration(&self.migration(migration));
                match migration.state {
                    MoveState::Failed(_) => Some(Answer::Refused(text)),
                    _ => Some(Answer::Done(text)),
                }
            }
            Awaited::Empty(host) => self.answer_of_drain(*host),
        }
    }

    /// Whether a host is empty, or why it is not; `None`: ranks are leaving it.
    fn answer_of_drain(&self, host: u32) -> Option<Answer> {
        let name = self.agents.name(host);
        let (all, here) = (self.dispatcher.migrations(), self.dispatcher.living_on(host));
        if !self.dispatcher.is_drained(host) {
            return Some(Answer::Refused(format!("{name} takes ranks again, as was asked since")));
        }
        let leaves = |one: &Migration| one.from == host || here.contains(&one.rank);
        if all.iter().any(|one| one.is_active() && leaves(one)) {
            return None;
        }
        if here.is_empty() {
            let done = format!("no rank is left on {name}, and none begins there");
            return Some(Answer::Done(done));
        }
        let why = |rank: &Rank| {
            let last = all.iter().rev().find(|one| one.rank == *rank);
            match last.filter(|one| matches!(one.state, MoveState::Failed(_))) {
                Some(failed) => notices::migration(&self.migration(failed)),
                None => format!("rank {rank} is still on {name}"),
            }
        };
        let stay: Vec<String> = here.iter().map(why).collect();
        Some(Answer::Refused(stay.join("; ")))
    }

    fn known_host(&self, name: &str) -> Result<u32, String> {
        let names: Vec<&str> =
            self.plan.machines.iter().map(|machine| machine.name.as_str()).collect();
        let found = names.iter().position(|known| *known == name);
        found.map(|number| number as u32).ok_or_else(|| notices::no_such_host(name, &names))
    }

    fn wait_for(
        &mut self,
        awaited: Awaited,
        answers: &ImageAnswers,
    ) -> Result<Option<String>, String> {
        self.pending.0.push((awaited, answers.clone()));
        Ok(None)
    }

    fn migrate_asked(
        &mut self,
        rank: u32,
        to: &str,
        answers: &ImageAnswers,
    ) -> Result<Option<String>, String> {
        let size = self.plan.placement.len();
        if rank as usize >= size {
            return Err(notices::no_such_rank(rank, size));
        }
        let (rank, to) = (Rank(rank), Some(self.known_host(to)?));
        self.must_have_begun()?;
        self.dispatcher.may_migrate(rank, to).map_err(|refusal| notices::refusal(&refusal))?;
        let number = self.dispatcher.migrations().len();
        self.notify_dispatcher(Input::Migrate { rank, to });
        self.wait_for(Awaited::Migration(number), answers)
    }

    pub(in crate::launcher) fn must_have_begun(&self) -> Result<(), String> {
        match self.run.started {
            true => Ok(()),
            false => Err("the job has not begun; ask again when its ranks run".to_owned()),
        }
    }

    fn drain_asked(
        &mut self,
        name: &str,
        answers: &ImageAnswers,
    ) -> Result<Option<String>, String> {
        let host = self.known_host(name)?;
        self.must_have_begun()?;
        self.dispatcher.may_drain(host).map_err(|refusal| notices::refusal(&refusal))?;
        self.observed.health[host as usize].0 = Health::Drain;
        self.notify_dispatcher(Input::Drain { host });
        self.wait_for(Awaited::Empty(host), answers)
    }

    fn undrain_asked(&mut self, name: &str) -> Result<Option<String>, String> {
        let host = self.known_host(name)?;
        self.observed.health[host as usize] = (Health::Good, None);
        self.notify_dispatcher(Input::Undrain { host });
        Ok(Some(format!("{name} takes ranks")))
    }

    fn health_asked(
        &mut self,
        name: &str,
        health: Health,
        why: Option<String>,
    ) -> Result<Option<String>, String> {
        let host = self.known_host(name)?;
        self.must_have_begun()?;
        if health == Health::Drain {
            self.dispatcher.may_drain(host).map_err(|refusal| notices::refusal(&refusal))?;
        }
        self.set_health(host, health, why);
        let what = match (health, self.dispatcher.is_left(host)) {
            (Health::Good, false) => "takes ranks",
            (Health::Good, true) => "stays drained, because a user has drained it (undrain it)",
            (_, true) => "is being emptied, and takes no ranks",
            (_, false) => "keeps its ranks, which cannot leave it (the job's own output says why)",
        };
        Ok(Some(format!("{name} is {}: it {what}", health.name())))
    }

    /// Monitoring says something about a host.
    pub(in crate::launcher) fn set_health(
        &mut self,
        host: u32,
        health: Health,
        why: Option<String>,
    ) {
        self.observed.health[host as usize] = (health, why.clone());
        let why = why.unwrap_or_else(|| "monitoring says so".to_owned());
        self.notify_dispatcher(match health {
            Health::Good => Input::Health { host, bad: None },
            Health::Bad => Input::Health { host, bad: Some(why) },
            Health::Drain => Input::Drain { host },
        });
    }

    fn add_asked(&mut self, text: &str, answers: &ImageAnswers) -> Result<Option<String>, String> {
        let machines = parse_list(text).map_err(|e| e.to_string())?;
        let [machine] = &machines[..] else {
            return Err(format!("`{text}` is not one host; write for example node7 or node7:4"));
        };
        let name = machine.name.clone();
        if machine.slots == Some(0) {
            return Err(format!("{name}:0 would have no ranks; write for example {name}:4"));
        }
        if self.plan.machines.iter().any(|known| known.name == name) {
            return Err(format!("{name} is part of this job already; ftmpi-ctl status shows it"));
        }
        if !self.plan.traits.is_fault_tolerant() {
            return Err(notices::no_use_of_hosts(&self.plan.protocol.name));
        }
        self.must_have_begun()?;
        if self.plan.starter != Starter::Fork {
            match is_here_within(&name, RESOLVE_LIMIT) {
                Some(true) => {}
                Some(false) if self.plan.is_anything_remote() => self.plan.add_remote(&name),
                Some(false) => return Err(notices::job_on_one_machine(&name)),
                None => {
                    return Err(format!(
                        "nobody says within {} ms which host {name} is; write its address instead",
                        RESOLVE_LIMIT.as_millis()
                    ));
                }
            }
        }
        let host = self.add_host(machine.clone());
        self.wait_for(Awaited::Host(host), answers)
    }

    /// A host joins the running job.
    pub(in crate::launcher) fn add_host(&mut self, machine: Machine) -> u32 {
        let (name, host) = (machine.name.clone(), self.plan.machines.len() as u32);
        self.job.view.hosts.push(name.clone());
        self.recorder.host_added(name.clone());
        // Whoever goes on with the job must not need it before it has come once.
        self.store.add_machine(Machine { spare: true, ..machine.clone() });
        self.observed.health.push((Health::Good, None));
        self.network.add_host();
        let place = place_of_new_host(&machine, self.plan.ppn);
        self.plan.machines.push(machine);
        self.agents.add(name.clone(), self.plan.is_remote(&name), self.plan.target(&name));
        self.notify_dispatcher(Input::HostAdded { name, place });
        host
    }

    /// A host that was added has an agent: whoever goes on with the job counts on it.
    pub(in crate::launcher) fn host_joined(&mut self, name: &str) {
        let found = self.plan.machines.iter().position(|machine| machine.name == name);
        if let Some(host) = found {
            self.store.machine_joined(host, &self.plan.machines[host]);
        }
    }

    fn end_asked(&mut self, answers: &ImageAnswers) -> Result<Option<String>, String> {
        if self.plan.ckpt_interval.is_none() {
            return Err(notices::nothing_to_go_on_from(std::process::id()));
        }
        self.must_have_begun()?;
        if !self.run.suspending {
            self.printer.notice(notices::end_asked());
            say(answers, &Answer::Line(notices::last_images_asked(self.plan.grace)));
            self.pending.0.push((Awaited::End, answers.clone()));
            self.suspend();
            return Ok(None);
        }
        self.wait_for(Awaited::End, answers)
    }
}
