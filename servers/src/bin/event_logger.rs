//! `ftmpi-event-logger`: see `ftmpi_servers::event_logger`.

use ftmpi_options::terminal;
use ftmpi_servers::event_logger::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(terminal::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ftmpi_servers::server_process::log_line("ftmpi-event-logger", format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
