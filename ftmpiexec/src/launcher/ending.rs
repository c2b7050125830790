//! The end of a run: the last output, the report, what is kept and what is removed.
//!
//! Guarantees: what was printed is recorded before the directory is given up. So a continued job
//! begins from no image that is ahead of its output. What a return would need (journals of files,
//! images in the object store) is removed last. By then no later launcher can continue the job, and
//! that is on the disk. A launcher that is killed at any point of its end leaves a job that can be
//! continued as a whole, or a job that is marked as ended.

use super::events::LauncherEvent;
use super::signals::Signals;
use super::stopping::Outcome;
use super::{Launcher, control, notices};
use crate::agent_protocol::{FromAgent, ToAgent};
use crate::history::Subject;
use crate::inject::ServerKind;
use crate::report::file;
use crate::tuning::{ANSWER_FLUSH, FAREWELL, FAREWELL_SAVING, SIGNAL_CODE_BASE};
use ftmpi_wire::Rank;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::sync::mpsc;

/// Signals by which programs die of their own faults.
const FAULTS_OF_PROGRAMS: [i32; 7] = [
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
];

/// The queue of events.
type Inbox = mpsc::UnboundedReceiver<LauncherEvent>;

impl Launcher {
    /// Ends agents and servers, writes the report, removes what is temporary. The result is the
    /// exit code.
    pub(super) async fn finish(
        mut self,
        mut inbox: Inbox,
        mut signals: Signals,
    ) -> anyhow::Result<i32> {
        let Outcome { mut code, text, keep } = self.run.take_outcome();
        let keep = keep && !self.would_begin_again(code);
        let wall = self.now();
        let over = self.is_over_for_good(code, keep);
        let mut interrupted = None;
        if over {
            if code == 0 {
                // A launcher that is killed while nobody reads leaves a job that can be continued
                // for the rest. All ranks have ended; their agents are still needed.
                interrupted = self.print_the_rest(&mut inbox, &mut signals).await;
            }
            // From here on neither a failing report nor an impatient user changes that.
            self.store.has_ended(code);
            let files = self.store.returning_files();
            if !files.is_empty() {
                self.agents.broadcast(&ToAgent::ForgetFiles(files.to_vec()));
            }
        }
        if let Some(signal) = self.end_agents(keep, &mut inbox, &mut signals).await {
            code = 128 + signal;
        }
        if interrupted.is_none() {
            interrupted = self.print_the_rest(&mut inbox, &mut signals).await;
        }
        if let Some(signal) = interrupted {
            code = 128 + signal;
        }
        self.end_servers(keep, over).await;
        self.answer_users(keep, code, text.as_deref()).await;
        if let Some(text) = text {
            self.history.event(wall, Subject::Notice, None, &text);
            self.printer.notice(text);
        }
        if code == 0 {
            self.report_missing_mpi();
        }
        if self.plan.print_exit_codes {
            self.printer.line(self.exit_codes_of_hosts());
        }
        self.print_summary(wall, code);
        code = self.write_files(wall, code);
        self.store.sync();
        self.leave_directory(keep).await;
        if interrupted.is_some() {
            // Perhaps nobody reads.
            self.printer.finish_soon();
            return Ok(code);
        }
        let kept = self.printer.finish();
        Ok(if kept || code != 0 { code } else { 1 })
    }

    /// Whether a job without a directory of the user's died of a fault of the program before its
    /// first image. To go on with it would be to run the program again, so nothing is left behind.
    fn would_begin_again(&self, code: i32) -> bool {
        let temporary = self.store.temporary().is_some() && self.plan.continued.is_none();
        let fault = FAULTS_OF_PROGRAMS.contains(&(code - SIGNAL_CODE_BASE));
        temporary && fault && self.recorder.images() == 0
    }

    /// Whether no later launcher can go on with the job. Only then may what a return would need be
    /// removed.
    fn is_over_for_good(&self, code: i32, keep: bool) -> bool {
        let removed = self.store.directory().is_none() || self.store.temporary().is_some();
        !keep && (code == 0 || removed || !self.has_begun())
    }

    /// Stops the agents and waits until they have killed their ranks. The result is the signal that
    /// ended the wait.
    async fn end_agents(
        &mut self,
        keep: bool,
        inbox: &mut Inbox,
        signals: &mut Signals,
    ) -> Option<i32> {
        self.agents.broadcast(&ToAgent::Stop { keep });
        for agent in self.agents.all_mut().iter_mut().filter(|agent| !agent.is_up()) {
            // The agent would call in vain: the launcher listens no more.
            agent.kill_hard();
            agent.connected = false;
        }
        let mut ended_by = None;
        let deadline = tokio::time::sleep(if keep { FAREWELL_SAVING } else { FAREWELL });
        tokio::pin!(deadline);
        while self.agents.all().iter().any(|agent| agent.child_runs || agent.connected) {
            tokio::select! {
                Some(event) = inbox.recv() => self.on_late_event(event),
                () = &mut deadline => break,
                signal = signals.next() => {
                    if self.ends_wait(signal) {
                        ended_by = Some(signal);
                        break;
                    }
                }
            }
        }
        for agent in self.agents.all_mut() {
            agent.kill_hard();
        }
        ended_by
    }

    /// Reads the last figures of the servers and stops them. `over`: the job's images in the object
    /// store are removed.
    async fn end_servers(&mut self, keep: bool, over: bool) {
        if self.plan.report.is_some() {
            for state in self.servers.states(ServerKind::ChannelMemory, &self.key).await {
                self.recorder.add_memory_status(&state);
            }
            for state in self.servers.states(ServerKind::EventLogger, &self.key).await {
                self.recorder.add_logger_status(&state);
            }
        }
        self.servers.stop(keep).await;
        if over && let Some(why) = self.servers.remove_objects().await {
            self.printer.notice(notices::objects_left(&why));
        }
    }

    /// Tells users who wait for the end of the job that it has come.
    async fn answer_users(&mut self, keep: bool, code: i32, why: Option<&str>) {
        let directory = self.store.directory().filter(|_| keep);
        let text = match directory {
            Some(directory) => notices::stopped_to_go_on(directory.path()),
            None => "the job has ended".to_owned(),
        };
        if self.pending.job_ends(&text) {
            tokio::time::sleep(ANSWER_FLUSH).await;
        }
        self.joins.job_ends(code, why).await;
    }

    /// The exit codes of all ranks by their hosts, as Hydra prints them. Ranks that the launcher
    /// has ended count as killed; those that never began have none.
    fn exit_codes_of_hosts(&self) -> String {
        let mut codes: Vec<Vec<String>> = vec![Vec::new(); self.agents.all().len()];
        for rank in (0..self.plan.placement.len() as u32).map(Rank) {
            let (host, _) = self.dispatcher.location(rank);
            let runs = self.agents.get(host).processes.contains_key(&rank);
            let killed = runs.then_some(128 + libc::SIGKILL);
            let code = self.exit_codes.get(&rank).copied().filter(|_| !runs).or(killed);
            codes[host as usize].push(code.map_or_else(|| "-".to_owned(), |code| code.to_string()));
        }
        let mut text = "Exit codes:".to_owned();
        for (host, codes) in codes.iter().enumerate().filter(|(_, codes)| !codes.is_empty()) {
            let _ = write!(text, " [{}] {}", self.agents.name(host as u32), codes.join(","));
        }
        text
    }

    /// Tells the user that several copies of a program ran without MPI.
    fn report_missing_mpi(&self) {
        let copies = self.plan.placement.len();
        if copies > 1 && self.in_mpi.is_empty() && self.recorder.all_have_started() {
            let program = self.plan.programs.first().and_then(|part| part.command.first());
            let program = program.map_or_else(|| "the program".to_owned(), ToString::to_string);
            self.printer.notice(notices::no_mpi(copies, &program));
        }
    }

    /// Writes the files of `--report` and `--trace`. The result is the exit code.
    fn write_files(&self, wall: Duration, code: i32) -> i32 {
        let mut written = self.write_trace(wall);
        if let Some(path) = &self.plan.report {
            let ended = (wall, code);
            let report = self.recorder.whole(
                &self.plan,
                &self.dispatcher,
                (&self.history, &self.calls),
                ended,
            );
            if let Err(e) = file::write(path, &report) {
                self.printer.notice(notices::report_unwritten(path, &e));
                written = false;
            }
        }
        if code == 0 && !written { 1 } else { code }
    }

    /// Keeps or removes the job's directory.
    async fn leave_directory(&mut self, keep: bool) {
        let begun = self.has_begun();
        let Some(directory) = self.store.take_directory() else { return };
        control::close(directory.path());
        if directory.temporary().is_some() && !keep {
            self.servers.remove_remote_directories(directory.path()).await;
        }
        let left = match keep || begun {
            true => directory.finish(keep),
            false => directory.discard().map(|()| None),
        };
        match left {
            Ok(Some(line)) if self.file_gone => self.printer.notice(format!(
                "{line}, which fails in the same way unless the file is put back that is gone"
            )),
            Ok(Some(line)) => self.printer.notice(line),
            Ok(None) => {}
            Err(e) => self.printer.notice(e.to_string()),
        }
    }

    /// Whether a signal that comes while the job ends cuts that short. A signal that asks for last
    /// images comes too late for images: the job ends in order.
    fn ends_wait(&mut self, signal: i32) -> bool {
        if !self.terminations.is_new(signal, self.now()) {
            return false;
        }
        if signal != libc::SIGINT && self.asks_for_last_images(signal) {
            self.run.suspending = true;
            return false;
        }
        true
    }

    /// Waits until all text that came has been printed, and records that. A signal ends the wait;
    /// the result is that signal.
    async fn print_the_rest(&mut self, inbox: &mut Inbox, signals: &mut Signals) -> Option<i32> {
        let mut done = self.printer.print_all();
        let (all, signal) = loop {
            tokio::select! {
                all = &mut done => break (all.unwrap_or(false), None),
                Some(event) = inbox.recv() => self.on_late_event(event),
                signal = signals.next() => {
                    if self.ends_wait(signal) {
                        break (false, Some(signal));
                    }
                }
            }
        };
        while let Ok(event) = inbox.try_recv() {
            self.on_late_event(event);
        }
        if all {
            for (rank, stream, bytes) in self.output.all() {
                self.store.printed(rank, stream, bytes);
            }
        }
        signal
    }

    /// Handles an event after the end of the job.
    fn on_late_event(&mut self, event: LauncherEvent) {
        match event {
            LauncherEvent::Agent { host, launch, message }
                if self.agents.is_launch(host, launch) =>
            {
                match *message {
                    // The last output of the ranks.
                    FromAgent::Output { rank, stream, offset, bytes } => {
                        self.print_output(host, (rank, stream), offset, bytes);
                    }
                    FromAgent::Notice(line) => self.printer.notice(line),
                    FromAgent::Terminate => {}
                    // Without an answer the agent would take this launcher for dead.
                    FromAgent::Heartbeat { answered } => {
                        let (number, _) = self.network.heartbeat(host, answered);
                        self.agents.heartbeat(host, number);
                    }
                    _ => {}
                }
            }
            LauncherEvent::Printed { host, launch, bytes, upto, delivery } => {
                self.printed((host, launch), bytes, upto, delivery);
            }
            LauncherEvent::AgentGone { host, launch, .. }
                if self.agents.is_launch(host, launch) =>
            {
                self.agents.get_mut(host).connected = false;
            }
            LauncherEvent::AgentEnded { host, launch, .. }
                if self.agents.is_launch(host, launch) =>
            {
                self.agents.get_mut(host).child_runs = false;
            }
            _ => {}
        }
    }
}
