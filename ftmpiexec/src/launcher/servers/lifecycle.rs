//! What happens when a server comes up, writes a line, or ends.

use super::{Server, Servers, notices};
use crate::inject::ServerKind;
use crate::launcher::Launcher;
use crate::launcher::events::LauncherEvent;
use crate::tuning::{
    SERVER_FAILURES_MAX, SERVER_GOOD_RUN, SERVER_IN_USE_PATIENCE, SERVER_RESTART_PAUSE,
    SERVER_RESTART_PAUSE_MAX, SERVER_STATE_LIMIT,
};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_transport::auth;
use ftmpi_wire::hello::Purpose;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The line of a server whose directory another server has not left yet.
const IN_USE: &str = "is in use by another server";
/// The system's text for a port that another process has.
const PORT_IN_USE: &str = "Address already in use";

/// The next start of a server that ended.
#[derive(Debug)]
pub(super) enum NextStart {
    /// The server died. It starts again after a pause.
    After(Duration),
    /// An earlier server has not left yet. This is not reported.
    Quietly(Duration),
    /// The host of the server may be gone: it cannot be started there. It is tried again after a
    /// pause, as long as the patience lasts.
    Away(Duration),
    /// There is no next start, for this reason.
    Never(String),
}

impl Servers {
    /// A server wrote this line, or (`None`) has come up. The result is the line for the user now.
    fn stderr_lines(&mut self, index: usize, launch: u64, text: Option<String>) -> Vec<String> {
        let server = &mut self.servers[index];
        if server.launch != launch {
            return Vec::new();
        }
        text.into_iter().for_each(|text| server.stderr.push(text));
        if !server.up {
            return Vec::new();
        }
        let lines = server.stderr.take();
        let name = self.title(index);
        lines.into_iter().map(|text| format!("{name}: {text}")).collect()
    }

    /// Records the end of a server. `None`: an earlier start of it ended.
    fn ended(&mut self, index: usize, launch: u64, why: &str) -> Option<NextStart> {
        let name = self.title(index);
        let server = &mut self.servers[index];
        if server.launch != launch {
            return None;
        }
        server.starting = None;
        let never_up = !server.up && server.address.is_none();
        if std::mem::take(&mut server.up) {
            server.in_use_since = None;
        }
        // A server of an earlier launcher may be about to end. If it was a server of this launcher,
        // only the connection to it may be gone: it runs and serves until its host notices.
        let in_use = why.contains(IN_USE) || (!never_up && why.contains(PORT_IN_USE));
        if in_use {
            let since = *server.in_use_since.get_or_insert_with(Instant::now);
            if since.elapsed() < SERVER_IN_USE_PATIENCE {
                return Some(NextStart::Quietly(SERVER_RESTART_PAUSE));
            }
        }
        let good_run = server.started.elapsed() > SERVER_GOOD_RUN;
        server.failures = if good_run { 0 } else { server.failures + 1 };
        if never_up {
            return Some(NextStart::Never(notices::server_not_started(&name, why)));
        }
        // Nobody can tell a host that is gone from a server that fails there: both have the
        // patience of all servers.
        if (server.host.is_some() || server.down) && server.failures > 1 {
            let pause = SERVER_RESTART_PAUSE * server.failures;
            return Some(NextStart::Away(pause.min(SERVER_RESTART_PAUSE_MAX)));
        }
        if server.failures > SERVER_FAILURES_MAX {
            return Some(NextStart::Never(notices::server_not_kept(&name, why)));
        }
        Some(NextStart::After(SERVER_RESTART_PAUSE * server.failures))
    }

    /// The name of a server in messages.
    pub(super) fn title(&self, index: usize) -> String {
        let Server { kind, number, host, .. } = &self.servers[index];
        let several = self.servers.iter().filter(|server| server.kind == *kind).count() > 1;
        let number = if several { format!(" {number}") } else { String::new() };
        match host {
            Some(host) => format!("the {}{number} on {host}", kind.name()),
            None => format!("the {}{number}", kind.name()),
        }
    }

    /// Whether this start of a server is the present one.
    fn is_launch(&self, index: usize, launch: u64) -> bool {
        self.servers[index].launch == launch
    }

    fn kind(&self, index: usize) -> ServerKind {
        self.servers[index].kind
    }
}

impl Launcher {
    /// Tells event loggers of each other, where they exchange which events are stored.
    pub(in crate::launcher) fn introduce_loggers(&self) {
        if self.plan.protocol.setting("stable-vector") != Some("loggers") {
            return;
        }
        let loggers = self.servers.event_loggers();
        for (index, &logger) in loggers.iter().enumerate() {
            let mut addresses = loggers.clone();
            addresses.remove(index);
            let key = self.key.clone();
            // A logger that is just dying hears it when it is up again.
            tokio::spawn(async move {
                let purpose = Purpose::PeerLoggers { addresses };
                let _ = auth::connect(logger, &key, &purpose, SERVER_STATE_LIMIT).await;
            });
        }
    }

    /// A server listens.
    pub(in crate::launcher) fn server_up(&mut self, index: usize, launch: u64, at: SocketAddr) {
        match self.servers.set_up(index, launch, at) {
            Ok(Some(ServerKind::CheckpointScheduler)) => self.scheduler_listens(at),
            Ok(_) => {}
            Err(e) => return self.cannot_go_on(e.to_string()),
        }
        if self.servers.servers[index].launch == launch
            && self.servers.servers[index].pulse.begin(Instant::now())
        {
            self.notify_dispatcher(Input::ServerBack { server: index as u32 });
        }
        self.on_server_line(index, launch, None);
        // A new start says so if it cannot store either.
        self.server_storage(index, launch, None);
        self.carry_out();
        self.send_servers();
    }

    /// A server wrote this line, or (`None`) begins to serve.
    pub(in crate::launcher) fn on_server_line(
        &mut self,
        index: usize,
        launch: u64,
        text: Option<String>,
    ) {
        for line in self.servers.stderr_lines(index, launch, text) {
            self.printer.notice(line);
        }
    }

    /// A server cannot store what ranks send, and why; or (`None`) it can.
    pub(in crate::launcher) fn server_storage(
        &mut self,
        index: usize,
        launch: u64,
        trouble: Option<String>,
    ) {
        if !self.servers.is_launch(index, launch) {
            return;
        }
        let server = index as u32;
        self.notify_dispatcher(match trouble {
            Some(why) => Input::StorageTrouble { server, name: self.servers.title(index), why },
            None => Input::StorageBack { server },
        });
    }

    /// The logs of a server take more of the disk than they leave: images make them shorter.
    pub(in crate::launcher) fn logs_need_room(&mut self, index: usize, launch: u64, why: &str) {
        if !self.servers.is_launch(index, launch) {
            return;
        }
        if !std::mem::replace(&mut self.servers.told_of_logs, true) {
            let name = self.servers.title(index);
            let images = self.plan.ckpt_interval.is_some();
            self.printer.notice(notices::logs_need_room(&name, why, images));
        }
        self.notify_dispatcher(Input::ImagesWanted);
    }

    /// A server has ended.
    pub(in crate::launcher) fn server_ended(&mut self, index: usize, launch: u64, why: &str) {
        let Some(next) = self.servers.ended(index, launch, why) else { return };
        let scheduler = self.servers.kind(index) == ServerKind::CheckpointScheduler;
        if scheduler {
            self.scheduler_is_gone();
        }
        let pause = match next {
            NextStart::Quietly(pause) => pause,
            NextStart::After(pause) => {
                let name = self.servers.title(index);
                self.tell_of_server(notices::server_died(&name, why));
                self.recorder.server_failed();
                pause
            }
            NextStart::Away(pause) => {
                let name = self.servers.title(index);
                if self.servers.servers[index].pulse.set_away() {
                    let (server, why) = (index as u32, why.to_owned());
                    self.notify_dispatcher(Input::ServerAway { server, name, why });
                }
                pause
            }
            NextStart::Never(text) if scheduler && self.run.servers_up => {
                return self.printer.notice(notices::without_scheduler(&text));
            }
            NextStart::Never(text) => return self.cannot_go_on_now(text),
        };
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ = events.send(LauncherEvent::RestartServer { index });
        });
    }
}
