//! `ftmpi-checkpoint-scheduler`: see `ftmpi_servers::scheduler`.

use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::scheduler::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    match run(terminal::parse()) {
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
