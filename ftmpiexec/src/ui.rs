//! `ftmpiexec --ui`: the job on the whole terminal, as `ftmpi-top` shows it.
//!
//! Three processes: this one holds the terminal, the launcher runs below it with the same command
//! line, and `ftmpi-top` shows the launcher's job. What launcher and ranks print goes to a file
//! while the job is shown, and to the terminal as soon as the screen is free: when the job has
//! ended, or the user has left the screen.
//!
//! Guarantees: nothing that was printed is lost or changes its order. The screen ends with the job.
//! Signals for this process reach the launcher, and the launcher's exit code is that of this
//! process. The launcher ends with this process.

use anyhow::{Context, bail};
use ftmpi_servers::job_control;
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The first argument of the launcher below.
pub const BELOW: &str = "--below-ui";
/// Between two looks whether the job can be watched.
const LOOK: Duration = Duration::from_millis(50);
/// How long the screen may stay when the launcher has ended.
const SCREEN_LIMIT: Duration = Duration::from_secs(5);
/// Why there is no screen.
const NO_TERMINAL: &str = "--ui needs a terminal for standard input and output; \
    ftmpi-top or --dashboard show the job from elsewhere";

/// Runs the job of this command line, which has `--ui`, below a screen. The result is its exit
/// code.
///
/// # Errors
/// There is no terminal, or a process cannot be started.
pub fn run(arguments: &[String]) -> anyhow::Result<i32> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        bail!(NO_TERMINAL);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("starting the screen")?.block_on(show(arguments))
}

async fn show(arguments: &[String]) -> anyhow::Result<i32> {
    let own = std::env::current_exe().context("the path of this program")?;
    let (reader, writer) = std::io::pipe().context("a pipe for the job's output")?;
    let mut launcher = Command::new(&own);
    launcher.arg(BELOW).args(arguments.iter().map(|word| ftmpi_options::os_text::decode(word)));
    launcher.stdin(Stdio::null()).stdout(writer.try_clone().context("a pipe")?);
    if std::io::stderr().is_terminal() {
        launcher.stderr(writer);
    } else {
        drop(writer);
    }
    // SAFETY: a plain system call, which may be made between fork and exec.
    unsafe {
        launcher.pre_exec(|| {
            let signal = Some(rustix::process::Signal::TERM);
            Ok(rustix::process::set_parent_process_death_signal(signal)?)
        });
    }
    let mut signals = Signals::new().context("signals")?;
    let mut launcher = launcher.spawn().context("starting the launcher")?;
    let output = Output::new().context("a file for the job's output")?;
    let copier = output.clone();
    let copied = std::thread::spawn(move || copier.copy(reader));

    let process = launcher.id();
    let screen = tokio::select! {
        screen = start_screen(process) => screen,
        ended = signals.pass_on_until(&mut launcher) => return finish(ended?, &output, copied),
    };
    let ended = match screen {
        Err(error) => {
            output.say(&format!("ftmpiexec: there is no screen: {error:#}\n"));
            output.show();
            signals.pass_on_until(&mut launcher).await?
        }
        Ok(mut screen) => {
            let left = tokio::select! {
                left = screen.wait() => Some(left),
                ended = signals.pass_on_until(&mut launcher) => {
                    // The screen sees the end by itself.
                    if tokio::time::timeout(SCREEN_LIMIT, screen.wait()).await.is_err() {
                        let _ = screen.kill().await;
                    }
                    return finish(ended?, &output, copied);
                }
            };
            if left.is_some_and(|left| !left.is_ok_and(|status| status.success())) {
                output.say("ftmpiexec: the screen ended with an error; the job goes on\n");
            }
            output.show();
            signals.pass_on_until(&mut launcher).await?
        }
    };
    finish(ended, &output, copied)
}

/// Starts the screen as soon as the job can be watched.
async fn start_screen(process: Option<u32>) -> anyhow::Result<Child> {
    let own = std::env::current_exe().context("the path of this program")?;
    let process = process.context("the launcher has ended")?.to_string();
    while job_control::find(Some(&process)).is_err() {
        tokio::time::sleep(LOOK).await;
    }
    let top = own.with_file_name("ftmpi-top");
    let started = Command::new(&top).arg("--until-end").arg(process).spawn();
    started.with_context(|| format!("starting {}", top.display()))
}

/// The launcher has ended: prints the rest.
fn finish(ended: ExitStatus, output: &Output, copied: JoinHandle<()>) -> anyhow::Result<i32> {
    output.show();
    // The pipe ends when nobody has it any more: a process that has left its rank may keep it.
    let limit = Instant::now() + SCREEN_LIMIT;
    while !copied.is_finished() && Instant::now() < limit {
        std::thread::sleep(LOOK);
    }
    Ok(ended.code().or_else(|| ended.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

/// Signals that are the launcher's. That of Ctrl-C reaches the launcher by itself.
struct Signals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn pass_on_until(&mut self, launcher: &mut Child) -> anyhow::Result<ExitStatus> {
        use rustix::process::{Pid, Signal, kill_process};
        let process = launcher.id().and_then(|id| Pid::from_raw(id as i32));
        loop {
            let signal = tokio::select! {
                ended = launcher.wait() => return ended.context("waiting for the launcher"),
                _ = self.terminate.recv() => Signal::TERM,
                _ = self.hangup.recv() => Signal::HUP,
                _ = self.interrupt.recv() => continue,
            };
            if let Some(process) = process {
                let _ = kill_process(process, signal);
            }
        }
    }
}

/// What the job prints.
#[derive(Debug, Clone)]
struct Output(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    /// What is not shown yet; none: everything is shown at once.
    file: Option<File>,
}

impl Output {
    fn new() -> std::io::Result<Self> {
        let name = format!("ftmpiexec-ui-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        // The file lives as long as it is open.
        std::fs::remove_file(&path)?;
        Ok(Self(Arc::new(Mutex::new(Kept { file: Some(file) }))))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what comes, until nobody writes any more.
    fn copy(&self, mut from: impl Read) {
        let mut piece = vec![0; 1 << 16];
        loop {
            match from.read(&mut piece) {
                Ok(0) => return,
                Ok(read) => self.kept().take(&piece[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn say(&self, line: &str) {
        self.kept().take(line.as_bytes());
    }

    /// The screen is free: shows what was kept, and all that comes.
    fn show(&self) {
        self.kept().show();
    }
}

impl Kept {
    fn take(&mut self, bytes: &[u8]) {
        if let Some(file) = &mut self.file {
            let before = file.stream_position();
            if file.write_all(bytes).is_ok() {
                return;
            }
            // No room: better over the screen than not at all.
            if let Ok(before) = before {
                let _ = file.set_len(before);
            }
            self.show();
        }
        print(bytes);
    }

    fn show(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        let mut piece = vec![0; 1 << 16];
        let mut left = file.seek(SeekFrom::Start(0)).is_ok();
        while left {
            left = match file.read(&mut piece) {
                Ok(0) | Err(_) => false,
                Ok(read) => {
                    print(&piece[..read]);
                    true
                }
            };
        }
    }
}

/// Nothing can be done about a terminal that is gone.
fn print(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_until_the_screen_is_free() {
        let output = Output::new().unwrap();
        output.copy(&b"first\n"[..]);
        output.say("second\n");
        let mut text = String::new();
        {
            let mut kept = output.kept();
            let file = kept.file.as_mut().unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_string(&mut text).unwrap();
        }
        assert_eq!(text, "first\nsecond\n");
        output.show();
        assert!(output.kept().file.is_none());
    }
}
