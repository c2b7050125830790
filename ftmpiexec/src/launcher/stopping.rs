//! Users who end a job, or let it go on later: signals to the launcher, and `--timeout`.

use super::Launcher;
use ftmpi_protocols::dispatcher::Input;

/// The exit code of a job that has used up its time, as of timeout(1).
const OUT_OF_TIME: i32 = 124;

impl Launcher {
    /// A signal came.
    pub(super) fn interrupt(&mut self, signal: i32) {
        if self.begun && self.asks_for_last_images(signal) {
            self.suspending = true;
            return self.notify_dispatcher(Input::Suspend { grace: self.plan.grace });
        }
        self.interrupted = true;
        self.notify_dispatcher(Input::Stop { code: 128 + signal, text: String::new() });
    }

    /// Something that the job needs is not to be had. What it has stored is kept, if it has begun.
    pub(super) fn cannot_go_on(&mut self, text: String) {
        let code = 1;
        self.notify_dispatcher(if self.has_begun() {
            Input::GiveUp { code, text }
        } else {
            Input::Stop { code, text }
        });
    }

    pub(super) fn asks_for_last_images(&self, signal: i32) -> bool {
        let asks = match signal {
            libc::SIGUSR1 => true,
            libc::SIGTERM => self.plan.grace_at_sigterm,
            _ => false,
        };
        asks && self.plan.ckpt_interval.is_some() && !self.suspending
    }

    /// Whether the job has run for as long as it may: it ends, in the way that SIGTERM would end it.
    pub(super) fn look_at_the_time_limit(&mut self) {
        if self.plan.timeout.is_zero() || self.now() < self.plan.timeout || self.interrupted {
            return;
        }
        if self.begun && self.asks_for_last_images(libc::SIGTERM) {
            self.printer.notice("the time of --timeout is over: last images are taken".to_owned());
            self.suspending = true;
            return self.notify_dispatcher(Input::Suspend { grace: self.plan.grace });
        }
        if !self.suspending {
            self.interrupted = true;
            let text =
                format!("the job has run for {:?}, the time of --timeout", self.plan.timeout);
            self.notify_dispatcher(Input::Stop { code: OUT_OF_TIME, text });
        }
    }
}
