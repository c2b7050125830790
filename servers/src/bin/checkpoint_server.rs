//! `ftmpi-checkpoint-server`: see `ftmpi_servers::image_store`.

use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::image_store::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    match run(terminal::parse()) {
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
