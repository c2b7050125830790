//! The options of `ftmpi-ckpt`.

use crate::values::{U32_MAX, number};
use clap::{Args, Parser, Subcommand, ValueHint};
use std::path::PathBuf;

/// Lists, shows, verifies, compares, requests and removes the images of a job.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-ckpt", version, disable_help_subcommand = true)]
pub struct CkptArgs {
    /// Write JSON instead of text
    #[arg(long, global = true, help_heading = "Options for all commands")]
    pub json: bool,
    /// File with the key of encrypted images
    ///
    /// Default: image-key in the job directory.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Options for all commands")]
    pub image_key: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: CkptCommand,
}

/// The directory that each command looks at.
#[derive(Debug, Clone, Args)]
pub struct JobDirectory {
    /// The directory of --job-dir, or of one server
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum CkptCommand {
    /// Tells whether the job runs, has ended or can be continued, and lists its images and events.
    List {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
    },
    /// Shows what an image holds: program, threads, open files, mappings.
    Show {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
        /// Rank whose image is shown
        #[arg(long, value_name = "RANK", default_value_t = 0, value_parser = number::<u32>(0, U32_MAX, 2))]
        rank: u32,
        /// Number of the image
        ///
        /// Default: the newest image.
        #[arg(long, value_name = "N", value_parser = number::<u64>(0, u64::MAX, 3))]
        image: Option<u64>,
        /// Show every mapping, not only the largest
        #[arg(long)]
        all: bool,
    },
    /// Reads and checks every byte of every image; exit code 1 if an image is damaged.
    Verify {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
    },
    /// Compares the memory of two images of a rank.
    Diff {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
        /// Rank whose images are compared
        #[arg(long, value_name = "RANK", default_value_t = 0, value_parser = number::<u32>(0, U32_MAX, 2))]
        rank: u32,
        /// Numbers of the two images
        ///
        /// Default: the two newest images.
        #[arg(num_args = 0..=2, value_name = "IMAGE", value_parser = number::<u64>(0, u64::MAX, 3))]
        images: Vec<u64>,
    },
    /// Removes unfinished images, damaged ones, and all but the newest images of each rank. Older
    /// files that the newest images need stay. Works only while the job does not run.
    Prune {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
        /// Images of each rank that stay and can be restored
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32>(1, U32_MAX, 2))]
        keep: u32,
        /// Say what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Asks a running job for an image of every rank now, and waits for the images.
    Request {
        /// Where.
        #[command(flatten)]
        job: JobDirectory,
    },
}
