//! `ftmpi-checkpoint-server`: see `ftmpi_servers::image_store`.

use clap::Parser;
use ftmpi_servers::image_store::{CheckpointServerArgs, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(CheckpointServerArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line(
                "ftmpi-checkpoint-server",
                format!("{error:#}"),
            );
            ExitCode::FAILURE
        }
    }
}
