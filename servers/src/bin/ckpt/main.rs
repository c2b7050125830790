//! `ftmpi-ckpt`: looks at the images and events in a job's directory.
//!
//! Everything but `prune` and `request` only reads. Images are looked at in place: those of checkpoint
//! servers on other hosts are seen only if the directory is shared.

mod diff;
mod job;
mod list;
mod progress;
mod prune;
mod request;
mod show;
mod verify;

use clap::{Parser, Subcommand};
use progress::bar;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lists, shows, verifies, compares, requests and removes the images of a job.
#[derive(Debug, Parser)]
#[command(name = "ftmpi-ckpt", version)]
struct Arguments {
    /// Write JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Key of encrypted images [default: `image-key` in the job's directory]
    #[arg(long, global = true, value_name = "FILE")]
    image_key: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What there is of each rank: images with number, life, size, age; events
    List {
        /// The job's directory
        directory: PathBuf,
    },
    /// What is in an image: program, threads, files, mappings
    Show {
        /// The job's directory
        directory: PathBuf,
        /// Of this rank
        #[arg(long, default_value_t = 0)]
        rank: u32,
        /// This one [default: the newest]
        #[arg(long)]
        image: Option<u64>,
        /// Every mapping, not only the largest
        #[arg(long)]
        all: bool,
    },
    /// Reads every byte and checks it; exit code 1 if something is damaged
    Verify {
        /// The job's directory
        directory: PathBuf,
    },
    /// Compares the memory of two images of a rank
    Diff {
        /// The job's directory
        directory: PathBuf,
        /// Of this rank
        #[arg(long, default_value_t = 0)]
        rank: u32,
        /// The two numbers [default: the two newest]
        #[arg(num_args = 0..=2)]
        images: Vec<u64>,
    },
    /// Removes damaged and unfinished images, and all but the newest of each rank; not while the job
    /// runs
    Prune {
        /// The job's directory
        directory: PathBuf,
        /// Images of each rank that stay
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
        keep: u32,
        /// Say what would be removed, remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Asks the launcher of a running job for an image of every rank now, and waits for them
    Request {
        /// The job's directory
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    let Arguments { json, image_key, command } = Arguments::parse();
    let key = image_key.as_deref();
    if !matches!(command, Command::Prune { .. } | Command::Request { .. }) {
        // `ftmpi-ckpt list … | head` ends in silence, as other tools do.
        sigpipe::reset();
    }
    let outcome = match command {
        Command::List { directory } => list::list(&directory, json),
        Command::Show { directory, rank, image, all } => {
            show::show(&directory, key, (rank, image), all, json)
        }
        Command::Verify { directory } => verify::verify(&directory, key, json),
        Command::Diff { directory, rank, images } => {
            diff::diff(&directory, key, rank, &images, json)
        }
        Command::Prune { directory, keep, dry_run } => {
            prune::prune(&directory, keep as usize, dry_run, json)
        }
        Command::Request { directory } => request::request(&directory, json),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ftmpi-ckpt: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// `1.5 GB`
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
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
