//! Users who end a job, or let it go on later: signals to the launcher, and `--timeout`.
//!
//! | signal | with `--job-dir` | without |
//! | --- | --- | --- |
//! | SIGINT | last images, exit code 75; a second one ends the job at once | ends the job, 130 |
//! | SIGTERM | as SIGINT | with `--grace` as SIGINT; else ends the job, 143 |
//! | SIGUSR1 | last images, exit code 75 | last images, exit code 75 |
//! | SIGHUP | ends the job, 129 | ends the job, 129 |
//!
//! Without images (`--ckpt off`) every signal ends the job. SIGTERM at all agents counts as one at
//! the launcher (`termination.rs`).

use super::Launcher;
use super::termination::Meaning;
use crate::notices::interruption;
use ftmpi_protocols::dispatcher::{Input, SUSPENDED};

/// The exit code of a job that has used up its time, as of timeout(1).
const OUT_OF_TIME: i32 = 124;

/// How a job ended.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub code: i32,
    /// The last line for the user.
    pub text: Option<String>,
    /// What the job has stored is kept: a later launcher can go on.
    pub keep: bool,
}

/// How far the run is.
#[derive(Debug, Default)]
pub struct RunState {
    /// All servers are up, and what an earlier run left is known.
    pub servers_up: bool,
    /// A rank was started.
    pub started: bool,
    /// It was said what a long start waits for.
    pub start_explained: bool,
    /// A signal or `--timeout` ends the job.
    pub interrupted: bool,
    /// Last images are being taken.
    pub suspending: bool,
    outcome: Option<Outcome>,
}

impl RunState {
    /// The dispatcher has ended the job.
    pub fn end(&mut self, code: i32, text: Option<String>, keep: bool) {
        self.outcome = Some(Outcome { code, text, keep });
    }

    /// Whether the job has ended.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// How the job ended.
    pub fn take_outcome(&mut self) -> Outcome {
        let default = Outcome { code: 1, text: None, keep: false };
        self.outcome.take().unwrap_or(default)
    }
}

impl Launcher {
    /// The agent of a host got SIGTERM.
    pub(super) fn agent_terminated(&mut self, host: u32) {
        let states = self.agents.all().iter().enumerate();
        let up: Vec<u32> =
            states.filter(|(_, state)| state.is_up()).map(|(host, _)| host as u32).collect();
        match self.terminations.at_agent(host, self.now(), &up) {
            Meaning::Job if self.run.suspending || self.run.interrupted => {}
            Meaning::Job => self.interrupt(libc::SIGTERM),
            Meaning::Host => {
                let name = self.agents.name(host);
                self.printer.notice(interruption::host_terminated(name));
            }
            Meaning::Known => {}
        }
    }

    /// A signal came.
    pub(super) fn interrupt(&mut self, signal: i32) {
        if !self.terminations.is_new(signal, self.now()) {
            return;
        }
        if self.run.servers_up && self.asks_for_last_images(signal) {
            self.printer.notice(interruption::suspending(signal));
            return self.suspend();
        }
        self.run.interrupted = true;
        let text = self.interruption(signal);
        self.notify_dispatcher(Input::Stop { code: 128 + signal, text });
    }

    /// The last line of a job that a signal ends.
    fn interruption(&self, signal: i32) -> String {
        let kept = self
            .store
            .directory()
            .filter(|directory| directory.temporary().is_none() && self.has_begun());
        interruption::interrupted(&interruption::Interruption {
            signal,
            after: self.now(),
            running: self.recorder.running(),
            ranks: self.plan.placement.len(),
            continued_from: kept.map(|directory| directory.path()),
        })
    }

    pub(super) fn suspend(&mut self) {
        self.run.suspending = true;
        self.notify_dispatcher(Input::Suspend { grace: self.plan.grace });
    }

    /// Whether there is anything in the job's directory from which a later launcher could go on.
    pub(super) fn has_begun(&self) -> bool {
        self.run.started || self.plan.continued.is_some()
    }

    /// Something that the job needs cannot be had. What the job has stored is kept, if it has
    /// begun.
    pub(super) fn cannot_go_on(&mut self, text: String) {
        let code = 1;
        self.give_up(code, text);
    }

    /// As [`Self::cannot_go_on`], where a later launcher may well go on: another host, or a server
    /// that works again, is all that is missing.
    pub(super) fn cannot_go_on_now(&mut self, text: String) {
        let code = if self.has_begun() { SUSPENDED } else { 1 };
        self.give_up(code, text);
    }

    fn give_up(&mut self, code: i32, text: String) {
        self.notify_dispatcher(if self.has_begun() {
            Input::GiveUp { code, text }
        } else {
            Input::Stop { code, text }
        });
    }

    /// Whether a signal asks for last images, so that the job can go on later.
    pub(super) fn asks_for_last_images(&self, signal: i32) -> bool {
        let asks = match signal {
            libc::SIGUSR1 => true,
            libc::SIGTERM => self.plan.grace_at_sigterm,
            // `--grace` alone is about batch systems, which send SIGTERM.
            libc::SIGINT => self.plan.job_dir.is_some(),
            _ => false,
        };
        asks && self.plan.ckpt_interval.is_some() && !self.run.suspending
    }

    /// Ends a job whose time is over, in the way in which SIGTERM would end it.
    pub(super) fn look_at_the_time_limit(&mut self) {
        let limit = self.plan.timeout;
        if limit.is_zero() || self.now() < limit || self.run.interrupted {
            return;
        }
        if self.run.servers_up && self.asks_for_last_images(libc::SIGTERM) {
            self.printer.notice(interruption::out_of_time_suspending());
            return self.suspend();
        }
        if !self.run.suspending {
            self.run.interrupted = true;
            let text = interruption::out_of_time(limit);
            self.notify_dispatcher(Input::Stop { code: OUT_OF_TIME, text });
        }
    }
}
