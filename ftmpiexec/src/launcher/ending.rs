//! The end of a run: last words, the report, what is kept and what goes.
//!
//! Guarantees: what was printed is written down before the directory is let go, so that a continued job
//! begins from no image that is ahead of its output; what a return would need (journals of files, images in
//! the object store) goes only when nobody can go on with the job, and that is on the disk: a launcher that is
//! killed at any point of its end leaves a job that can be continued as a whole, or one that says that it has ended.

use super::signals::Signals;
use super::{FAREWELL, Launcher, LauncherEvent, Printed, control};
use crate::agent_protocol::{FromAgent, ToAgent};
use crate::inject::ServerKind;
use crate::job_dir::progress::Progress;
use ftmpi_wire::Rank;
use tokio::sync::mpsc;

impl Launcher {
    /// Ends agents and servers, writes the report, removes what is temporary.
    pub(super) async fn finish(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<LauncherEvent>,
        mut signals: Signals,
    ) -> anyhow::Result<i32> {
        let (mut code, text, keep) = self.outcome.take().unwrap_or((1, None, false));
        let wall = self.now();
        let over = self.is_over_for_good(code, keep);
        let mut interrupted = None;
        if over {
            if code == 0 {
                // A launcher that is killed while nobody reads leaves a job that can be continued for the rest.
                // (All ranks have ended; agents are needed once more.)
                interrupted = self.print_the_rest(&mut inbox, &mut signals).await;
            }
            // Whatever becomes of the report, or of a user's patience, from here on.
            if let Some(progress) = &mut self.progress {
                progress.has_ended(code);
                if let Some(file) = progress.take_unsynced() {
                    let _ = file.sync_data();
                }
            }
            if !self.saved.files.is_empty() {
                self.to_all(&ToAgent::ForgetFiles(self.saved.files.clone()));
            }
        }
        self.to_all(&ToAgent::Stop { keep });
        for agent in self.agents.iter_mut().filter(|agent| !agent.is_up()) {
            // It would call in vain: nobody listens any more.
            agent.kill_hard();
            agent.talks = false;
        }
        let deadline = tokio::time::sleep(FAREWELL);
        tokio::pin!(deadline);
        while self.agents.iter().any(|agent| agent.child_runs || agent.talks) {
            tokio::select! {
                Some(event) = inbox.recv() => self.on_late_event(event),
                () = &mut deadline => break,
                signal = signals.next() => {
                    if self.asks_for_last_images(signal) {
                        // Too late for that: the job has ended, and does so in order.
                        self.suspending = true;
                        continue;
                    }
                    code = 128 + signal;
                    break;
                }
            }
        }
        for agent in &mut self.agents {
            agent.kill_hard();
        }
        if interrupted.is_none() {
            interrupted = self.print_the_rest(&mut inbox, &mut signals).await;
        }
        if let Some(signal) = interrupted {
            code = 128 + signal;
        }
        if self.plan.report.is_some() {
            for state in self.servers.states(ServerKind::ChannelMemory, &self.key).await {
                self.recorder.add_memory_status(&state);
            }
            for state in self.servers.states(ServerKind::EventLogger, &self.key).await {
                self.recorder.add_logger_status(&state);
            }
        }
        self.servers.stop(keep).await;
        if over && let Some(why) = self.servers.forget_object_tiers().await {
            self.printer.notice(format!("images of the job are left in the object store: {why}"));
        }
        if let Some(text) = text {
            self.printer.notice(text);
        }
        if let Some(file) = &self.plan.report {
            let report = self.recorder.report(&self.dispatcher, wall, code);
            let text = serde_json::to_string_pretty(&report)?;
            if let Err(e) = std::fs::write(file, text + "\n") {
                self.printer
                    .notice(format!("the report {} cannot be written: {e}", file.display()));
                code = if code == 0 { 1 } else { code };
            }
        }
        if let Some(file) = self.progress.as_mut().and_then(Progress::take_unsynced) {
            let _ = file.sync_data();
        }
        if let Some(directory) = self.job_dir.take() {
            control::close(directory.path());
            if directory.temporary().is_some() && !keep {
                self.servers.remove_remote_directories(directory.path()).await;
            }
            if keep || self.has_begun() {
                directory.finish(keep, &self.printer);
            } else {
                directory.discard(&self.printer);
            }
        }
        if interrupted.is_some() {
            // Nobody reads, perhaps.
            self.printer.finish_soon();
            return Ok(code);
        }
        let kept = self.printer.finish();
        Ok(if kept || code != 0 { code } else { 1 })
    }

    /// Whether nobody can go on with the job after this end: only then what a return would need may go.
    fn is_over_for_good(&self, code: i32, keep: bool) -> bool {
        let goes = self.job_dir.as_ref().is_none_or(|directory| directory.temporary().is_some());
        !keep && (code == 0 || goes || !self.has_begun())
    }

    /// Waits until all text that came has been printed, and writes down that it was: a continued job begins
    /// from no image that is ahead of that. A signal ends the wait.
    async fn print_the_rest(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<LauncherEvent>,
        signals: &mut Signals,
    ) -> Option<i32> {
        let mut done = self.printer.print_all();
        let (all, signal) = loop {
            tokio::select! {
                all = &mut done => break (all.unwrap_or(false), None),
                Some(event) = inbox.recv() => self.on_late_event(event),
                signal = signals.next() => {
                    if self.asks_for_last_images(signal) {
                        self.suspending = true;
                        continue;
                    }
                    break (false, Some(signal));
                }
            }
        };
        while let Ok(event) = inbox.try_recv() {
            self.on_late_event(event);
        }
        if let Some(progress) = self.progress.as_mut().filter(|_| all) {
            for (rank, streams) in self.printed.iter().enumerate() {
                for (stream, bytes) in streams.iter().enumerate() {
                    progress.printed(Rank(rank as u32), stream as u8, *bytes);
                }
            }
        }
        signal
    }

    /// Something happened after the end of the job.
    fn on_late_event(&mut self, event: LauncherEvent) {
        let is_launch = |host: u32, launch| self.agents[host as usize].is_launch(launch);
        match event {
            LauncherEvent::Agent { host, launch, message } if is_launch(host, launch) => {
                match *message {
                    // The last words of the ranks.
                    FromAgent::Output { rank, stream, offset, bytes } => {
                        self.output(host, rank, stream, offset, bytes);
                    }
                    FromAgent::Notice(line) => self.printer.notice(line),
                    // It would take this launcher for dead.
                    FromAgent::Heartbeat => self.to_agent(host, ToAgent::Heard),
                    _ => {}
                }
            }
            LauncherEvent::Printed { host, launch, bytes, upto, read } => {
                self.printed(host, launch, bytes, upto, read);
            }
            LauncherEvent::AgentGone { host, launch, .. } if is_launch(host, launch) => {
                self.agents[host as usize].talks = false;
            }
            LauncherEvent::AgentEnded { host, launch, .. } if is_launch(host, launch) => {
                self.agents[host as usize].child_runs = false;
            }
            _ => {}
        }
    }

    /// Text of a rank was printed; `read`: somebody reads it.
    pub(super) fn printed(
        &mut self,
        host: u32,
        launch: u64,
        bytes: u32,
        upto: Printed,
        read: bool,
    ) {
        if self.agents[host as usize].is_launch(launch) {
            self.to_agent(host, ToAgent::OutputPrinted(bytes));
        }
        if let Some(progress) = self.progress.as_mut().filter(|_| read) {
            progress.printed(upto.rank, upto.stream, upto.bytes);
        }
    }
}
