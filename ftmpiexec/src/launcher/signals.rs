//! Signals that the launcher acts upon. Ctrl-C and a hang-up that the caller ignores stay ignored,
//! as after `nohup` and in the background of a script.

use ftmpi_checkpoint::inheritance::is_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// See the module.
pub struct Signals {
    interrupt: Option<Signal>,
    terminate: Signal,
    hangup: Option<Signal>,
    user: Signal,
}

impl Signals {
    /// Listens to them from now on.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: unless_ignored(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// The next one's number.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            () = next_of(&mut self.interrupt) => libc::SIGINT,
            _ = self.terminate.recv() => libc::SIGTERM,
            () = next_of(&mut self.hangup) => libc::SIGHUP,
            _ = self.user.recv() => libc::SIGUSR1,
        }
    }
}

fn unless_ignored(kind: SignalKind) -> std::io::Result<Option<Signal>> {
    if is_ignored(kind.as_raw_value()) { Ok(None) } else { signal(kind).map(Some) }
}

async fn next_of(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
