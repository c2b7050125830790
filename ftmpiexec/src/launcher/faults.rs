//! Carries out the faults that the user asked for.

use super::Launcher;
use crate::inject::Due;
use crate::orders::ToAgent;

impl Launcher {
    pub(super) fn inject(&mut self, due: Due) {
        match due {
            Due::Rank(rank) => {
                let (host, incarnation) = self.dispatcher.location(rank);
                self.recorder.killed(rank, incarnation, self.begin.elapsed());
                self.to_agent(host, ToAgent::Kill { rank, signal: libc::SIGKILL });
            }
            Due::Server(kind) => {
                self.printer.say(format!("killing the {} (--inject)", kind.name()));
                self.servers.kill(kind);
            }
            Due::Agent(name) => {
                let host = self.plan.machines.iter().position(|machine| machine.name == name);
                let Some(host) = host.map(|host| host as u32) else { return };
                let Some(process) = self.agent_pid(host) else { return };
                self.printer.say(format!("killing the agent of {name} (--inject)"));
                if super::agents::is_remote(&self.plan, &name) {
                    self.to_agent(host, ToAgent::KillYourself);
                } else if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
        }
    }
}
