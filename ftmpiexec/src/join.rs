//! `ftmpiexec --join`: starts processes in a running job, and stands for them until they end.
//!
//! Guarantees: what the processes print comes out here, in order and once. The exit code is that of
//! the processes. A first signal asks the launcher of the job to end them; a second one ends this
//! command alone, and they go on. The same holds if this command is killed.

use crate::NAME;
use crate::cli::{self, CommandLine};
use crate::launcher::signals::Signals;
use crate::os_text::OsText;
use crate::text::ranks;
use crate::tuning::JOIN_SILENCE;
use anyhow::{Context, bail};
use ftmpi_options::os_text;
use ftmpi_servers::job_control;
use ftmpi_wire::Rank;
use ftmpi_wire::job_control::{Answer, JoinPart, JoinRequest, Verb, bytes_of_text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::UnixStream;

/// Options (by field) that say something of processes that join a job. All others are for a job of
/// its own.
const POSSIBLE: &[&str] = &[
    "ranks",
    "command",
    "configfile",
    "wdir",
    "env",
    "envlist",
    "envnone",
    "envall",
    "genv",
    "genvlist",
    "genvnone",
    "genvall",
    "hosts",
    "join",
    "verbose",
    "oversubscribe",
    "allow_run_as_root",
];
/// How long the launcher may take to say whether processes can be ended.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Runs the command; the result is its exit code.
///
/// # Errors
/// The job cannot be asked, or the command line makes no sense.
pub fn run(line: &CommandLine, job: &str) -> anyhow::Result<i32> {
    let other = line.given().into_iter().find(|field| {
        // Groups of options have the names of their types.
        let is_option = field.starts_with(|c: char| c.is_ascii_lowercase());
        is_option && !POSSIBLE.contains(field) && !line.gave_by_variable(field)
    });
    if let Some(other) = other {
        bail!("--{} is for a job of its own; drop it", other.replace('_', "-"));
    }
    let request = request_of(line)?;
    let directory = match job {
        "latest" if !Path::new(job).is_dir() => job_control::latest(),
        _ => job_control::find(Some(job)),
    };
    let directory = directory.map_err(|e| of_ftmpiexec(&e))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(stand_for(directory, request, line.cli.output.verbose))
}

/// Errors of the socket speak of `ftmpi-ctl`.
fn of_ftmpiexec(error: &job_control::ControlError) -> anyhow::Error {
    match error {
        job_control::ControlError::NoJob => anyhow::anyhow!(
            "no job of yours runs on this host; start it first, and call --join on the host of its \
             ftmpiexec"
        ),
        error => anyhow::anyhow!(
            "{}",
            error.to_string().replace("call ftmpi-ctl", "call ftmpiexec --join")
        ),
    }
}

fn request_of(line: &CommandLine) -> anyhow::Result<JoinRequest> {
    let text = |text: &OsText| text.as_text().to_owned();
    let programs = cli::programs(&line.cli, &line.parts)?;
    let parts = programs.iter().zip(&line.parts).map(|(program, part)| JoinPart {
        count: part.ranks.unwrap_or(1),
        command: program.command.iter().map(text).collect(),
        environment: program.environment.iter().map(|(n, value)| (text(n), text(value))).collect(),
        directory: os_text::of_path(&program.directory),
    });
    let hosts = match &line.cli.placement.hosts {
        Some(list) => cli::parse_list(list)
            .context("--hosts")?
            .into_iter()
            .map(|machine| machine.name)
            .collect(),
        None => Vec::new(),
    };
    Ok(JoinRequest { parts: parts.collect(), hosts })
}

/// The state of the command.
struct Command {
    directory: PathBuf,
    lines: Lines<BufReader<UnixStream>>,
    signals: Signals,
    /// The number that the launcher gave.
    number: Option<u64>,
    joined: bool,
    verbose: bool,
    /// The first signal, once it came.
    signal: Option<i32>,
}

async fn stand_for(directory: PathBuf, request: JoinRequest, verbose: bool) -> anyhow::Result<i32> {
    let size: u32 = request.parts.iter().map(|part| part.count).sum();
    let signals = Signals::new()?;
    let socket = job_control::request(&directory, Verb::Join(Box::new(request)))
        .map_err(|e| of_ftmpiexec(&e))?;
    socket.set_nonblocking(true)?;
    let lines = BufReader::new(UnixStream::from_std(socket)?).lines();
    let (number, joined, signal) = (None, false, None);
    let mut command = Command { directory, lines, signals, number, joined, verbose, signal };
    let silence = tokio::time::sleep(JOIN_SILENCE);
    tokio::pin!(silence);
    loop {
        tokio::select! {
            line = command.lines.next_line() => {
                let Some(line) = line.context("the connection to the job")? else {
                    bail!("the launcher of the job has gone, and the processes with it");
                };
                let answer = serde_json::from_str(&line)
                    .context("the launcher of the job is of another version of ftmpi")?;
                if let Some(code) = command.hears(answer, size)? {
                    return Ok(code);
                }
            }
            signal = command.signals.next() => {
                if let Some(code) = command.interrupted(signal).await {
                    return Ok(code);
                }
            }
            () = &mut silence, if !command.joined => {
                command.joined = true;
                tell("the processes have not begun yet: the job waits for its next wave of images, for \
                      a host, or for all of them to call MPI_Init");
            }
        }
    }
}

fn tell(text: &str) {
    eprintln!("{NAME}: {text}");
}

impl Command {
    /// Takes a line of the launcher; the exit code, if that was the last one.
    fn hears(&mut self, answer: Answer, size: u32) -> anyhow::Result<Option<i32>> {
        match answer {
            Answer::Joining { number } => self.number = Some(number),
            Answer::Joined { first } => {
                self.joined = true;
                if self.verbose {
                    let all: Vec<Rank> = (first..first + size).map(Rank).collect();
                    tell(&format!("the processes are {} of the job", ranks(&all)));
                }
            }
            Answer::Output { error, text } => return Ok(self.print(error, &bytes_of_text(&text))),
            Answer::Ended { code, why } => {
                if let Some(why) = why {
                    tell(&why);
                }
                return Ok(Some(code));
            }
            Answer::Refused(why) => bail!(why),
            Answer::Line(line) => tell(&line),
            _ => bail!("the launcher of the job is of another version of ftmpi"),
        }
        Ok(None)
    }

    /// Prints text of a process. A code: nobody reads it any more.
    fn print(&self, error: bool, bytes: &[u8]) -> Option<i32> {
        let written = match error {
            true => std::io::stderr().lock().write_all(bytes),
            false => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        let Err(e) = written else { return None };
        if e.kind() != std::io::ErrorKind::BrokenPipe {
            tell(&format!("output of the processes cannot be written: {e}"));
        }
        let code = match e.kind() {
            std::io::ErrorKind::BrokenPipe => 128 + libc::SIGPIPE,
            _ => 1,
        };
        // They end as a program does that writes into a closed pipe, if they can end alone.
        let _ = self.end(code);
        Some(code)
    }

    /// A signal: the processes are to end. A code: this command ends, and they go on.
    async fn interrupted(&mut self, signal: i32) -> Option<i32> {
        let code = 128 + signal;
        if self.signal.replace(signal).is_some() {
            return Some(code);
        }
        match self.end(code) {
            Ok(()) => None,
            Err(why) => {
                tell(&format!("{why}; another signal ends this command alone"));
                None
            }
        }
    }

    /// Asks the launcher to end the processes.
    fn end(&self, code: i32) -> Result<(), String> {
        let Some(number) = self.number else { return Err("the processes are not there".into()) };
        let verb = Verb::EndJoined { number, code };
        let answers = job_control::ask(&self.directory, verb, Some(END_LIMIT));
        for answer in answers.map_err(|e| e.to_string())? {
            match answer.map_err(|e| e.to_string())? {
                Answer::Refused(why) => return Err(why),
                Answer::Done(_) => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }
}
