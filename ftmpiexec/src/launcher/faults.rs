//! Carries out the faults that the user asked for.

use super::Launcher;
use crate::agent_protocol::ToAgent;
use crate::inject::{Due, Fault, REPLAY_POINTS};
use ftmpi_protocols::dispatcher::Ending;
use ftmpi_wire::control::InjectPoint;
use ftmpi_wire::status::Phase;
use ftmpi_wire::{Incarnation, Rank};

impl Launcher {
    /// Points at which a rank kills itself: until it has, unless it is to do so again and again.
    pub(super) fn points_for(&self, rank: Rank) -> Vec<InjectPoint> {
        self.points(rank)
            .filter(|(index, _, again)| *again || !self.fired.contains(&(*index, rank)))
            .map(|(_, point, _)| point)
            .collect()
    }

    /// (index of the fault, point, again)
    fn points(&self, rank: Rank) -> impl Iterator<Item = (usize, InjectPoint, bool)> {
        self.plan.faults.iter().enumerate().filter_map(move |(index, fault)| match fault {
            Fault::KillAtPoint { rank: whom, point, nth, again }
                if whom.is_none_or(|whom| whom == rank) =>
            {
                Some((index, InjectPoint { point: point.clone(), nth: *nth }, *again))
            }
            _ => None,
        })
    }

    /// A rank that dies by SIGKILL though nobody here sent it has come to one of its points. Which
    /// one, only the phase tells: the point of replays lies in replays.
    pub(super) fn look_whether_a_point_fired(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        ending: Ending,
    ) {
        if ending != Ending::Signal(libc::SIGKILL) || self.recorder.was_killed(rank, incarnation) {
            return;
        }
        // A life that begins again is replayed before it says that it does.
        let phase = self.recorder.phase(rank);
        let replaying = incarnation > Incarnation(0)
            && (phase == Phase::Replaying as u64 || phase == Phase::Starting as u64);
        let fired: Vec<usize> = self
            .points(rank)
            .filter(|(_, point, _)| REPLAY_POINTS.contains(&point.point.as_str()) == replaying)
            .map(|(index, _, _)| index)
            .collect();
        self.fired.extend(fired.into_iter().map(|index| (index, rank)));
    }

    pub(super) fn inject(&mut self, due: Due) {
        match due {
            Due::Rank(rank) => {
                let (host, incarnation) = self.dispatcher.location(rank);
                self.recorder.killed(rank, incarnation, self.begin.elapsed());
                self.to_agent(host, ToAgent::Kill { rank, signal: libc::SIGKILL });
            }
            Due::Server(kind, number) => {
                let which = number.map_or_else(String::new, |number| format!(" number {number}"));
                self.printer.notice(format!("killing the {}{which} (--inject)", kind.name()));
                self.servers.kill(kind, number);
            }
            Due::Agent(name) => {
                let host = self.plan.machines.iter().position(|machine| machine.name == name);
                let Some(host) = host.map(|host| host as u32) else { return };
                let Some(process) = self.agent_pid(host) else { return };
                self.printer.notice(format!("killing the agent of {name} (--inject)"));
                if self.plan.is_remote(&name) {
                    self.to_agent(host, ToAgent::KillYourself);
                } else if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
        }
    }
}
