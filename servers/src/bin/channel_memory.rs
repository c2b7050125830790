//! `ftmpi-channel-memory`: see `ftmpi_servers::channel_memory`.

use clap::Parser;
use ftmpi_servers::channel_memory::{ChannelMemoryArgs, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(ChannelMemoryArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line("ftmpi-channel-memory", format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
