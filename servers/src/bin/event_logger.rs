//! `ftmpi-event-logger`: see `ftmpi_servers::event_logger`.

use clap::Parser;
use ftmpi_servers::event_logger::{EventLoggerArgs, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(EventLoggerArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line("ftmpi-event-logger", format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
