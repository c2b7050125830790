//! `ftmpi-checkpoint-scheduler`: see `ftmpi_servers::scheduler`.

use clap::Parser;
use ftmpi_servers::scheduler::{CheckpointSchedulerArgs, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(CheckpointSchedulerArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line(
                "ftmpi-checkpoint-scheduler",
                format!("{error:#}"),
            );
            ExitCode::FAILURE
        }
    }
}
