//! Whether the servers are there: each is asked every second, also when nobody else needs it.
//!
//! Guarantees: a server that has not answered for as long as a lost host (`--detect`) is reported
//! to the dispatcher, which waits for it for the patience that every server has. Any answer is a
//! sign of life. A checkpoint scheduler is waited for by nobody: it is started again. A server
//! whose host answers, but where nobody listens any more, is started again: its host may have been
//! started again while the connection that started the server still seems to be open.

use super::{Server, Servers, StopMode, from_here};
use crate::inject::ServerKind;
use crate::launcher::Launcher;
use crate::launcher::events::{LauncherEvent, PingTrouble};
use crate::tuning::{SERVER_PING_LIMIT, SERVER_SILENCE_LIMIT_HERE, SERVER_SILENCE_MIN};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_transport::auth::{self, JobKey, Problem};
use ftmpi_wire::hello::Purpose;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The answers of one server.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// It is being asked.
    asked: bool,
    /// When it last answered, or came up.
    answered: Option<Instant>,
    /// The dispatcher knows that it is away.
    away: bool,
    why: String,
}

impl Pulse {
    /// The server has just come up. `true`: it was away.
    pub fn begin(&mut self, now: Instant) -> bool {
        let away = self.away;
        *self = Self { answered: Some(now), ..Self::default() };
        away
    }

    /// It is away: it could not be started again. `true`: that is new.
    pub fn set_away(&mut self) -> bool {
        !std::mem::replace(&mut self.away, true)
    }

    /// It was asked. `true`: it was away, and answers.
    fn pinged(&mut self, trouble: Option<&str>, now: Instant) -> bool {
        self.asked = false;
        match trouble {
            None => {
                self.answered = Some(now);
                std::mem::take(&mut self.away)
            }
            Some(why) => {
                why.clone_into(&mut self.why);
                false
            }
        }
    }

    /// Whether it is silent for longer than this, and nobody knows.
    fn falls_silent(&mut self, now: Instant, limit: Duration) -> bool {
        let silent = self.answered.is_some_and(|then| now.duration_since(then) >= limit);
        silent && self.set_away()
    }
}

impl Server {
    /// How long it may be silent, where hosts are lost after `detect`.
    fn silence_limit(&self, detect: Duration) -> Duration {
        let least = match self.host {
            Some(_) => SERVER_SILENCE_MIN,
            None => SERVER_SILENCE_LIMIT_HERE,
        };
        least.max(detect)
    }
}

impl Servers {
    /// Asks those servers that are up and have answered the last question.
    fn ping(&mut self, key: &JobKey, events: &mpsc::UnboundedSender<LauncherEvent>) {
        for (index, server) in self.servers.iter_mut().enumerate() {
            let Some(address) = server.address.filter(|_| server.up && !server.pulse.asked) else {
                continue;
            };
            server.pulse.asked = true;
            let (key, events, launch) = (key.clone(), events.clone(), server.launch);
            tokio::spawn(async move {
                let trouble = ping(from_here(address), &key).await;
                let _ = events.send(LauncherEvent::ServerPinged { index, launch, trouble });
            });
        }
    }

    /// Servers that have fallen silent: index, name, and why.
    fn silent(&mut self, now: Instant, detect: Duration) -> Vec<(u32, String, String)> {
        let mut silent = Vec::new();
        for index in 0..self.servers.len() {
            let server = &mut self.servers[index];
            let limit = server.silence_limit(detect);
            if !server.up || !server.pulse.falls_silent(now, limit) {
                continue;
            }
            if server.kind == ServerKind::CheckpointScheduler {
                if let Some(kill) = server.kill.take() {
                    let _ = kill.send(StopMode::Kill);
                }
            } else {
                let why = format!("silent for {} s ({})", limit.as_secs_f32(), server.pulse.why);
                silent.push((index as u32, self.title(index), why));
            }
        }
        silent
    }
}

/// Asks a server whether it is there.
async fn ping(address: SocketAddr, key: &JobKey) -> Option<PingTrouble> {
    match auth::connect(address, key, &Purpose::Ping, SERVER_PING_LIMIT).await {
        Ok(_) => None,
        Err(e) => match e.problem {
            Problem::Refused(_) | Problem::Hindered(_) | Problem::Stale => None,
            problem => {
                let refused = matches!(&problem, Problem::Io(e) if e.kind() == std::io::ErrorKind::ConnectionRefused);
                Some(PingTrouble { why: problem.to_string(), refused })
            }
        },
    }
}

impl Launcher {
    /// What is done every second: asks the servers, and reports those that are silent.
    pub(in crate::launcher) fn look_at_servers(&mut self) {
        if !self.run.servers_up {
            return;
        }
        self.servers.ping(&self.key, &self.events);
        if self.network.is_own_link_down() {
            return;
        }
        for (server, name, why) in self.servers.silent(Instant::now(), self.plan.times.detect()) {
            self.notify_dispatcher(Input::ServerAway { server, name, why });
        }
    }

    /// The launcher's own link works again: the silence of the servers was not theirs.
    pub(in crate::launcher) fn servers_are_heard(&mut self) {
        let now = Instant::now();
        for server in self.servers.servers.iter_mut().filter(|server| server.up) {
            server.pulse.answered = Some(now);
        }
    }

    /// A server was asked whether it is there.
    pub(in crate::launcher) fn server_pinged(
        &mut self,
        index: usize,
        launch: u64,
        trouble: Option<PingTrouble>,
    ) {
        let server = &mut self.servers.servers[index];
        if server.launch != launch {
            return;
        }
        let why = trouble.as_ref().map(|trouble| trouble.why.as_str());
        let back = server.pulse.pinged(why, Instant::now());
        let gone = server.pulse.away && trouble.is_some_and(|trouble| trouble.refused);
        if gone
            && server.host.is_some()
            && let Some(kill) = server.kill.take()
        {
            let _ = kill.send(StopMode::Kill);
        }
        if back {
            self.notify_dispatcher(Input::ServerBack { server: index as u32 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_reported_once_and_an_answer_ends_it() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut pulse = Pulse::default();
        assert!(!pulse.falls_silent(begin, second), "it has never been up");
        assert!(!pulse.begin(begin));
        pulse.asked = true;
        assert!(!pulse.pinged(None, begin + second * 5));
        assert!(!pulse.asked && !pulse.falls_silent(begin + second * 14, second * 10));
        assert!(!pulse.pinged(Some("no route to host"), begin + second * 12));
        assert!(pulse.falls_silent(begin + second * 15, second * 10));
        assert_eq!(pulse.why, "no route to host");
        assert!(!pulse.falls_silent(begin + second * 16, second * 10), "once");
        assert!(pulse.pinged(None, begin + second * 17), "it is back");
        assert!(!pulse.pinged(None, begin + second * 18));
        assert!(pulse.set_away() && pulse.begin(begin + second * 20), "started again");
    }
}
