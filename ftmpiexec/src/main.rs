//! `ftmpiexec`: starts, watches and restarts the ranks of a job. With `--agent` it is the agent of
//! one host, which the launcher starts.

mod actual_command;
mod advise;
mod agent;
mod agent_protocol;
mod binding;
mod call_spans;
mod cli;
mod cpu_baseline;
mod diagram;
mod doctor;
mod heartbeat;
mod history;
mod host_limits;
mod inject;
mod job_dir;
mod join;
mod launcher;
mod locality;
mod machine;
mod message_ends;
mod mpir;
mod nested;
mod no_process;
mod notices;
mod os_text;
mod output;
mod own_link;
mod page_process;
mod pages;
mod program;
mod report;
mod restore_facts;
mod sbatch;
mod shell;
mod text;
mod trace;
mod tuning;
mod ui;

use ftmpi_checkpoint::{inheritance, thread_creation};
use ftmpi_options::{own_stack, terminal};
use ftmpi_wire::direct_start::AGENT_OPTION;
use ftmpi_wire::foreign_launcher::ForeignLauncher;
use page_process::Page;
use std::path::Path;
use std::process::ExitCode;

/// What stands before every message.
const NAME: &str = "ftmpiexec";

fn main() -> ExitCode {
    inheritance::reset_signals();
    if let Err(e) = thread_creation::allow() {
        let text = format!(
            "this container forbids threads (clone3) and filters (seccomp: {e}): its filter of \
             system calls is older than its C library; update Docker to 20.10.10 or later, or start \
             the container with --security-opt seccomp=unconfined"
        );
        return terminal::refuse(NAME, &text);
    }
    if let Err(e) = std::thread::Builder::new().spawn(|| ()).map(std::thread::JoinHandle::join) {
        let text = format!("no thread can be created: {}", no_process::no_process(&e));
        return terminal::refuse(NAME, &text);
    }
    own_stack::run(program)
}

fn program() -> ExitCode {
    let mut arguments: Vec<String> =
        std::env::args_os().map(|argument| ftmpi_options::os_text::encode(&argument)).collect();
    if let Err(error) = nested::leave_the_rank() {
        return complain("", &error);
    }
    if arguments.get(1).is_some_and(|first| first == "--agent") {
        return match agent::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain("agent: ", &error),
        };
    }
    if arguments.get(1).is_some_and(|first| first == AGENT_OPTION) {
        return match agent::direct::run(arguments.get(2).map(String::as_str)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain("agent of ranks: ", &error),
        };
    }
    if let Some(page) = arguments.get(1).and_then(|first| Page::of_option(first)) {
        return match page_process::run(page) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&format!("{}: ", page.title()), &error),
        };
    }
    if arguments.get(1).is_some_and(|first| first == restore_facts::OPTION) {
        println!("{}", restore_facts::HostFacts::of_this_host().to_json());
        return ExitCode::SUCCESS;
    }
    if let Some(launcher) = ForeignLauncher::find(|name| std::env::var(name).ok()) {
        return terminal::refuse(NAME, &launcher.for_ftmpiexec());
    }
    if arguments.get(1).is_some_and(|first| first == ftmpi_options::sbatch::COMMAND) {
        return match sbatch::run(arguments[2..].to_vec()) {
            Ok(code) => code,
            Err(error) => complain("sbatch: ", &error),
        };
    }
    let is_below = arguments.get(1).is_some_and(|first| first == ui::BELOW);
    if is_below {
        arguments.remove(1);
    } else if arguments.iter().any(|word| word == "--ui")
        && cli::parse(arguments.clone()).cli.output.ui
    {
        return match ui::run(&arguments[1..]) {
            Ok(code) => std::process::exit(exit_code(code)),
            Err(error) => complain("", &error),
        };
    }
    // Every descriptor without close-on-exec is the caller's.
    let from_caller = inheritance::take_descriptors();
    let line = cli::parse(arguments);
    if line.cli.testing.doctor {
        std::process::exit(doctor::run(&line));
    }
    if let Some(report) = &line.cli.testing.advise {
        return without_job(advise::run(&line, report));
    }
    if let Some(trace) = &line.cli.output.diagram {
        return without_job(diagram::run(trace, line.cli.output.window));
    }
    if line.cli.fault_tolerance.recovery.as_deref() == Some(Path::new("show")) {
        print!("{}", cli::default_file());
        return ExitCode::SUCCESS;
    }
    if let Some(job) = &line.cli.batch.join {
        return ended(join::run(&line, job), "--join: ");
    }
    let plan = match cli::Plan::of(&line) {
        Ok(plan) => plan,
        Err(cli::PlanError::HasEnded { directory, code }) => {
            let error = cli::PlanError::HasEnded { directory, code };
            eprintln!("{NAME}: {error}");
            std::process::exit(exit_code(code));
        }
        Err(error) => return terminal::refuse(NAME, &error),
    };
    for note in plan.notes.iter().filter(|_| plan.verbose) {
        eprintln!("{NAME}: {note}");
    }
    ended(launcher::run(plan, from_caller), "")
}

/// The end of a job, or of processes that have joined one.
fn ended(done: anyhow::Result<i32>, who: &str) -> ExitCode {
    match done {
        // A thread that waits for standard input must not keep the process alive.
        Ok(code) => std::process::exit(exit_code(code)),
        Err(error) => complain(who, &error),
    }
}

/// The system passes on the lowest byte of an exit code only: an error must stay an error.
fn exit_code(code: i32) -> i32 {
    if code != 0 && code & 0xff == 0 { 1 } else { code }
}

/// The end of what runs no job.
fn without_job(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain("", &error),
    }
}

fn complain(who: &str, error: &anyhow::Error) -> ExitCode {
    terminal::refuse(NAME, &format!("{who}{error:#}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_never_becomes_success() {
        assert_eq!([0, 7, 256, -256, 259].map(super::exit_code), [0, 7, 1, 1, 259]);
    }
}
