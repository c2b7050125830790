//! `ftmpiexec`: starts, watches and restarts the ranks of a job; with `--agent` (which it starts
//! itself) the agent of one host.

mod agent;
mod agent_protocol;
mod binding;
mod cli;
mod doctor;
mod inject;
mod job_dir;
mod launcher;
mod nested;
mod output;
mod report;
mod restore_facts;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A program must see its arguments as they were given, and they travel as text.
    let arguments: Result<Vec<String>, _> =
        std::env::args_os().map(std::ffi::OsString::into_string).collect();
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(strange) => {
            eprintln!("ftmpiexec: the argument {strange:?} is not UTF-8");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = nested::leave_the_rank(&arguments) {
        return complain("", &error);
    }
    if arguments.get(1).is_some_and(|first| first == "--agent") {
        return match agent::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain("agent: ", &error),
        };
    }
    if arguments.get(1).is_some_and(|first| first == restore_facts::OPTION) {
        println!("{}", restore_facts::RestoreFacts::of_this_host().to_json());
        return ExitCode::SUCCESS;
    }
    let line = cli::parse(arguments);
    let code = match line.cli.doctor {
        true => Ok(doctor::run(&line.cli, &line.parts)),
        false => cli::Plan::of(&line).and_then(launcher::run),
    };
    match code {
        // Threads that wait for standard input must not hold the process back.
        Ok(code) => std::process::exit(told(code)),
        Err(error) => complain("", &error),
    }
}

/// A program may end with any number, of which the system tells the lowest byte: an error stays one.
fn told(code: i32) -> i32 {
    if code != 0 && code & 0xff == 0 { 1 } else { code }
}

fn complain(who: &str, error: &anyhow::Error) -> ExitCode {
    eprintln!("ftmpiexec: {who}{error:#}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_is_never_told_as_success() {
        assert_eq!([0, 7, 256, -256, 259].map(super::told), [0, 7, 1, 1, 259]);
    }
}
