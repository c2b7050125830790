//! `ftmpi-channel-memory`: see `ftmpi_servers::channel_memory`.

use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::channel_memory::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    match run(terminal::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line("ftmpi-channel-memory", format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
