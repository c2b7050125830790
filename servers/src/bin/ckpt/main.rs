//! `ftmpi-ckpt`: looks at the images and events in a job's directory.
//!
//! All commands but `prune` and `request` only read. Images are read in place: images of checkpoint
//! servers on other hosts are seen only if the directory is shared.

mod diff;
mod job;
mod list;
mod progress;
mod prune;
mod request;
mod show;
mod verify;

use ftmpi_options::ckpt::{CkptArgs, CkptCommand as Command, JobDirectory};
use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::job_state::directory_of_job;
use ftmpi_servers::text::size;
use progress::bar;
use std::process::ExitCode;

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    let CkptArgs { json, image_key, command } = terminal::parse();
    let key = image_key.as_deref();
    if !matches!(command, Command::Prune { .. } | Command::Request { .. }) {
        // `ftmpi-ckpt list … | head` ends in silence, as other tools do.
        sigpipe::reset();
    }
    let at = |job: JobDirectory| directory_of_job(&job.directory);
    let outcome = match command {
        Command::List { job } => list::list(&at(job), json),
        Command::Show { job, rank, image, all } => {
            show::show(&at(job), key, (rank, image), all, json)
        }
        Command::Verify { job } => verify::verify(&at(job), key, json),
        Command::Diff { job, rank, images } => diff::diff(&at(job), key, rank, &images, json),
        Command::Prune { job, keep, dry_run } => {
            prune::prune(&at(job), keep as usize, dry_run, json)
        }
        Command::Request { job } => request::request(&at(job), json),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => terminal::refuse("ftmpi-ckpt", &format!("{error:#}")),
    }
}

/// `3 min` since a time in milliseconds since 1970.
fn age(taken_ms: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_millis() as u64);
    let seconds = now.saturating_sub(taken_ms) / 1000;
    match seconds {
        _ if taken_ms == 0 => "?".into(),
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
