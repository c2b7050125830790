//! `ftmpi-ctl`: looks at a running job, moves its ranks, empties hosts, ends it.
//!
//! It finds the launcher's socket (`ftmpi_servers::job_control`), asks, and prints the answer. Exit
//! code 1: the launcher refused, or a part was not done; the text says why. Exit code 2: the job
//! cannot be asked, or the command line makes no sense.

mod table;
mod text;

use ftmpi_options::ctl::{CtlArgs, CtlCommand, HealthChoice, normalized, rank_and_host};
use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::job_control::{self, ControlError, RunningJob};
use ftmpi_wire::job_control::{Answer, Verb};
use ftmpi_wire::job_status::{Health, JobStatus};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What stands before every message.
const NAME: &str = "ftmpi-ctl";
/// How long a launcher may take to tell the state of its job.
const STATUS_LIMIT: Duration = Duration::from_secs(10);
/// The same while jobs are listed: one launcher that is stopped must not keep the others away.
const LIST_LIMIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    let arguments = normalized(std::env::args_os().collect());
    let args: CtlArgs = terminal::parse_from(&arguments);
    // `ftmpi-ctl status | head` ends in silence, as other tools do.
    sigpipe::reset();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => terminal::refuse(NAME, &format!("{error:#}")),
    }
}

fn run(args: &CtlArgs) -> anyhow::Result<bool> {
    if args.command == CtlCommand::List {
        return list(args.json);
    }
    let directory = job_control::find(args.job.as_deref())?;
    let verb = match &args.command {
        CtlCommand::List | CtlCommand::Status | CtlCommand::Waits => {
            let status = status_of(&directory, STATUS_LIMIT)?;
            if args.json {
                println!("{}", serde_json::to_string_pretty(&status)?);
            } else if args.command == CtlCommand::Waits {
                print!("{}", text::waits(&status));
            } else {
                print!("{}", text::status(&status));
            }
            return Ok(true);
        }
        CtlCommand::Image => Verb::Images,
        CtlCommand::Migrate { words } => {
            let (rank, to) = rank_and_host(words)?;
            Verb::Migrate { rank, to }
        }
        CtlCommand::Drain { host } => Verb::Drain { host: host.clone() },
        CtlCommand::Undrain { host } => Verb::Undrain { host: host.clone() },
        CtlCommand::Add { host } => Verb::Add { host: host.clone() },
        CtlCommand::Health { host, health, why } => Verb::Health {
            host: host.clone(),
            health: match health {
                HealthChoice::Good => Health::Good,
                HealthChoice::Bad => Health::Bad,
                HealthChoice::Drain => Health::Drain,
            },
            why: why.clone(),
        },
        CtlCommand::End => Verb::End,
    };
    carry_out(&directory, verb, args.json)
}

fn status_of(directory: &Path, limit: Duration) -> Result<JobStatus, ControlError> {
    for answer in job_control::ask(directory, Verb::Status, Some(limit))? {
        if let Answer::Status(status) = answer? {
            return Ok(*status);
        }
    }
    Err(ControlError::OtherVersion(directory.display().to_string()))
}

/// Asks for something that is done, and prints what the launcher says about it.
fn carry_out(directory: &Path, verb: Verb, json: bool) -> anyhow::Result<bool> {
    let (mut all, mut good) = (Vec::new(), true);
    for answer in job_control::ask(directory, verb, None)? {
        let answer = answer?;
        good &= !matches!(answer, Answer::Refused(_) | Answer::NoImage { .. });
        if !json {
            match &answer {
                Answer::Image { rank, image, bytes } => {
                    println!("rank {rank}: image {image}, {}", ftmpi_servers::text::size(*bytes));
                }
                Answer::NoImage { rank, why } => println!("rank {rank}: no image ({why})"),
                Answer::Line(line) | Answer::Done(line) => println!("{line}"),
                Answer::Refused(why) => terminal::complain(NAME, why),
                // The others are for `ftmpiexec --join`.
                _ => {}
            }
        }
        all.push(answer);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&json!({ "done": good, "answers": all }))?);
    }
    Ok(good)
}

/// Lists the jobs that run here.
fn list(json: bool) -> anyhow::Result<bool> {
    let jobs = job_control::running_jobs();
    let statuses: Vec<(RunningJob, Result<JobStatus, ControlError>)> = jobs
        .into_iter()
        .map(|job| {
            let status = status_of(&job.directory, LIST_LIMIT);
            (job, status)
        })
        .collect();
    if json {
        let jobs: Vec<_> = statuses
            .iter()
            .map(|(job, status)| {
                json!({
                    "process": job.process,
                    "job": status.as_ref().ok().map(|status| &status.job),
                    "ranks": status.as_ref().ok().map(|status| status.ranks.len()),
                    "error": status.as_ref().err().map(ToString::to_string),
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "jobs": jobs }))?);
        return Ok(true);
    }
    print!("{}", text::list(&statuses));
    Ok(true)
}
