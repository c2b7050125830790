//! `ftmpi-event-logger`: see `ftmpi_servers::event_logger`.

use ftmpi_options::{own_stack, terminal};
use ftmpi_servers::event_logger::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    match run(terminal::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line("ftmpi-event-logger", format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
