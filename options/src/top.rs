//! The options of `ftmpi-top`.

use crate::values::{path, time};
use clap::{Parser, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// Watches a running job: its ranks by host, images, logs, waves, servers and faults.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-top", version)]
pub struct TopArgs {
    /// Job that is watched
    ///
    /// The directory of the job, HOST:DIRECTORY for a job whose launcher runs on another host, or
    /// the process number of the launcher. Default: the only job of yours that runs on this host.
    #[arg(value_name = "JOB", value_hint = ValueHint::DirPath)]
    pub job: Option<String>,
    /// Write the state as JSON, one line for each look
    ///
    /// The fields are those of ftmpi-ctl status --json.
    #[arg(long)]
    pub json: bool,
    /// Write lines, also on a terminal
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// Look once, and end
    #[arg(long)]
    pub once: bool,
    /// Time between two looks
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1s")]
    pub interval: Duration,
    /// Command that is used instead of ssh
    ///
    /// It is called with a host name and a command line. Default: ssh -o BatchMode=yes -o
    /// ConnectTimeout=15 -x.
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub rsh: Option<String>,
    /// Path of ftmpi-top on the other host
    ///
    /// Default: the same path as here.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, value_parser = path)]
    pub remote_path: Option<PathBuf>,
    /// End with the job: what ftmpiexec --ui starts.
    #[arg(long, hide = true)]
    pub until_end: bool,
    /// Write answers, and read requests: what another ftmpi-top starts here.
    #[arg(long, hide = true)]
    pub serve: bool,
}
