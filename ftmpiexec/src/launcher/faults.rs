//! Carries out the faults that the user asked for (`--inject`).

use super::notices::network as sentences;
use super::{Launcher, notices};
use crate::agent_protocol::ToAgent;
use crate::cli::Plan;
use crate::inject::{Due, Fault, FaultClock};
use ftmpi_wire::Rank;
use ftmpi_wire::control::InjectPoint;
use std::collections::HashSet;
use std::time::Instant;

/// The faults, and which of them have been carried out.
#[derive(Debug)]
pub struct Injection {
    faults: Vec<Fault>,
    clock: FaultClock,
    /// Points that have killed their rank: (index of the fault, rank).
    fired: HashSet<(usize, Rank)>,
    /// Timed faults count from the moment when every rank's process runs.
    running_since: Option<Instant>,
}

impl Injection {
    /// No rank runs.
    pub fn new(plan: &Plan) -> Self {
        Self {
            faults: plan.faults.clone(),
            clock: FaultClock::new(&plan.faults, plan.placement.len() as u32, &plan.machines),
            fired: HashSet::new(),
            running_since: None,
        }
    }

    /// Whether some rank has not had a process yet, as far as is known here.
    pub fn waits(&self) -> bool {
        self.running_since.is_none()
    }

    /// Every rank has had a process.
    pub fn all_ranks_run(&mut self) {
        self.running_since.get_or_insert_with(Instant::now);
    }

    /// What is due now. `host_of`: where a rank runs.
    pub fn take_due(&mut self, host_of: impl Fn(Rank) -> u32) -> Vec<Due> {
        let since = self.running_since.map(|since| since.elapsed());
        since.map_or_else(Vec::new, |since| self.clock.take_due(since, host_of))
    }

    /// Points at which a rank kills itself: each until it has killed the rank, unless it is to do
    /// so again and again.
    pub fn points_for(&self, rank: Rank) -> Vec<InjectPoint> {
        self.points(rank)
            .filter(|(index, _, again)| *again || !self.fired.contains(&(*index, rank)))
            .map(|(_, point, _)| point)
            .collect()
    }

    /// (index of the fault, point, again)
    fn points(&self, rank: Rank) -> impl Iterator<Item = (usize, InjectPoint, bool)> {
        self.faults.iter().enumerate().filter_map(move |(index, fault)| match fault {
            Fault::KillAtPoint { rank: whom, point, nth, again }
                if whom.is_none_or(|whom| whom == rank) =>
            {
                let point = InjectPoint { point: point.clone(), nth: *nth, fault: index as u32 };
                Some((index, point, *again))
            }
            _ => None,
        })
    }

    /// A process has ended; `fault` is what it left behind if it killed itself at a point.
    pub fn process_ended(&mut self, rank: Rank, fault: Option<u32>) {
        self.clock.process_ended(rank);
        self.fired.extend(fault.map(|fault| (fault as usize, rank)));
    }
}

impl Launcher {
    /// Does what is due.
    pub(super) fn inject(&mut self, due: Due) {
        match due {
            Due::Rank(rank) => {
                let (host, incarnation) = self.dispatcher.location(rank);
                self.recorder.killed(rank, incarnation, self.begin.elapsed());
                self.agents.send(host, ToAgent::Kill { rank, signal: libc::SIGKILL });
            }
            Due::Stop(rank, stop) => {
                let (host, _) = self.dispatcher.location(rank);
                self.printer.notice(notices::injected_stop(rank, stop));
                let signal = if stop { libc::SIGSTOP } else { libc::SIGCONT };
                self.agents.send(host, ToAgent::Kill { rank, signal });
            }
            Due::Server(kind, number) => {
                self.printer.notice(notices::killing_server(kind.name(), number));
                self.servers.kill(kind, number);
            }
            Due::Agent(name) => self.kill_agent(&name),
            Due::Cut([a, b], cut) => {
                let names = [a, b].map(|host| self.agents.name(host).to_owned());
                self.printer.notice(sentences::injected_cut(&names, cut));
                self.agents.send(a, ToAgent::CutOff { host: b, cut });
                self.agents.send(b, ToAgent::CutOff { host: a, cut });
            }
            Due::Host(name, down) => {
                self.printer.notice(sentences::injected_host(&name, down));
                if let Some(host) = self.host_named(&name) {
                    self.agents.get_mut(host).down = down;
                    self.servers.set_host_down(&name, down);
                    if down {
                        self.kill_agent(&name);
                    }
                }
            }
        }
    }

    fn host_named(&self, name: &str) -> Option<u32> {
        let host = self.plan.machines.iter().position(|machine| machine.name == name);
        host.map(|host| host as u32)
    }

    fn kill_agent(&mut self, name: &str) {
        let Some(host) = self.host_named(name) else { return };
        let Some(process) = self.agents.process(host) else { return };
        if !self.agents.get(host).down {
            self.printer.notice(notices::killing_agent(name));
        }
        if self.agents.is_remote(host) {
            self.agents.send(host, ToAgent::KillYourself);
        } else if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
