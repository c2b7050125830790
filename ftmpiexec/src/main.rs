//! `ftmpiexec`: starts, watches and restarts the ranks of a job; with `--agent` (which it starts
//! itself) the agent of one host.

mod agent;
mod cli;
mod doctor;
mod inject;
mod job_dir;
mod launcher;
mod orders;
mod output;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    if arguments.get(1).is_some_and(|first| first == "--agent") {
        return match agent::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain("agent: ", &error),
        };
    }
    let code = cli::parse(arguments).and_then(|line| {
        if line.cli.doctor {
            return Ok(doctor::run(&line.cli, &line.parts));
        }
        let plan = cli::Plan::of(&line)?;
        launcher::run(plan)
    });
    match code {
        // Threads that wait for standard input must not hold the process back.
        Ok(code) => std::process::exit(code),
        Err(error) => complain("", &error),
    }
}

fn complain(who: &str, error: &anyhow::Error) -> ExitCode {
    eprintln!("ftmpiexec: {who}{error:#}");
    ExitCode::from(2)
}
