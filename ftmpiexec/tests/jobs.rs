//! Whole jobs with a rank that speaks only the control protocol. This executable is both the test
//! and the rank (it is a rank when `FTMPI_RANK` is set).
//!
//! The tests need nothing but `ftmpiexec`. Tests that need servers are skipped if the folder of
//! this program has none.

#[path = "jobs/channels.rs"]
mod channels;
#[path = "jobs/metrics.rs"]
mod metrics;
#[path = "jobs/rank.rs"]
mod rank;
#[path = "jobs/recovery.rs"]
mod recovery;
#[path = "jobs/starting.rs"]
mod starting;
#[path = "jobs/stopping.rs"]
mod stopping;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Name and body; the body gets a directory of its own.
type Test = (&'static str, fn(&Path));

fn main() {
    if std::env::var_os("FTMPI_RANK").is_some() {
        rank::run();
        return;
    }
    let tests: &[Test] = &[
        ("programs_without_mpi", starting::programs_without_mpi),
        ("exit_codes", starting::exit_codes),
        ("a_small_stack_is_for_the_ranks_only", starting::a_small_stack_is_for_the_ranks_only),
        ("bad_programs", starting::bad_programs),
        ("bad_options", starting::bad_options),
        ("ranks_are_bound", starting::ranks_are_bound),
        ("input_goes_to_rank_0", starting::input_goes_to_rank_0),
        ("mpmd_and_environment", starting::mpmd_and_environment),
        ("output_to_files", starting::output_to_files),
        ("an_unreachable_host", starting::an_unreachable_host),
        ("barriers_and_channels", channels::barriers_and_channels),
        ("channels_over_sockets_between_hosts", channels::channels_over_sockets_between_hosts),
        ("a_rank_runs_one_program", channels::a_rank_runs_one_program),
        ("a_rank_starts_a_job", channels::a_rank_starts_a_job),
        ("strangers_at_the_ports", channels::strangers_at_the_ports),
        ("abort", recovery::abort),
        ("without_protection_a_death_is_the_end", recovery::without_protection_a_death_is_the_end),
        ("a_killed_rank_comes_back", recovery::a_killed_rank_comes_back),
        ("all_killed_come_back", recovery::all_killed_come_back),
        ("a_killed_agent_comes_back", recovery::a_killed_agent_comes_back),
        ("killed_servers_come_back", recovery::killed_servers_come_back),
        (
            "output_of_a_later_incarnation_is_printed_once",
            recovery::output_of_a_later_incarnation_is_printed_once,
        ),
        ("the_same_crash_again_and_again", recovery::the_same_crash_again_and_again),
        (
            "without_images_nothing_is_logged_and_all_begin_again",
            recovery::without_images_nothing_is_logged_and_all_begin_again,
        ),
        (
            "a_killed_program_without_mpi_begins_again_alone",
            recovery::a_killed_program_without_mpi_begins_again_alone,
        ),
        (
            "metrics_show_how_the_state_of_a_rank_changes",
            metrics::metrics_show_how_the_state_of_a_rank_changes,
        ),
        (
            "callers_of_metrics_cost_the_page_and_not_the_job",
            metrics::callers_of_metrics_cost_the_page_and_not_the_job,
        ),
        ("signals_leave_nothing", stopping::signals_leave_nothing),
        ("a_dying_launcher_leaves_nothing", stopping::a_dying_launcher_leaves_nothing),
        ("ctrl_c_lets_a_job_go_on_later", stopping::ctrl_c_lets_a_job_go_on_later),
        ("output_that_cannot_be_written_is_told", stopping::output_that_cannot_be_written_is_told),
        (
            "job_directories_are_refused_by_their_state",
            stopping::job_directories_are_refused_by_their_state,
        ),
    ];
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in tests {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory for the test");
        let begin = Instant::now();
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(directory.path())));
        let left = left_behind(directory.path());
        let ok = result.is_ok() && left.is_empty();
        println!(
            "test {name} ... {} ({:.1} s)",
            if ok { "ok" } else { "FAILED" },
            begin.elapsed().as_secs_f64()
        );
        if !left.is_empty() {
            println!("  left behind: {left:?}");
        }
        failed += u32::from(!ok);
    }
    assert_eq!(failed, 0, "{failed} tests failed");
}

/// Job directories and processes that should be gone.
fn left_behind(directory: &Path) -> Vec<String> {
    let mut left: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ftmpi-job-"))
        .collect();
    let marker = directory.display().to_string();
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let alive = processes_in(&marker);
        if alive.is_empty() {
            return left;
        }
        if Instant::now() > deadline {
            left.extend(alive);
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes whose working directory is this one.
fn processes_in(directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| {
            fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|cwd| cwd.to_string_lossy().starts_with(directory))
        })
        .map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            format!("{}: {}", entry.file_name().to_string_lossy(), line.replace('\0', " "))
        })
        .collect()
}

fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_ftmpiexec").into()
}

fn have_servers() -> bool {
    let directory = binary().parent().map(Path::to_path_buf).unwrap_or_default();
    let all = ["ftmpi-event-logger", "ftmpi-checkpoint-server"];
    let there = all.iter().all(|name| directory.join(name).is_file());
    if !there {
        println!("  skipped: the servers are not built: run cargo build -p ftmpi-servers");
    }
    there
}

fn own() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

fn command(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(binary());
    command
        .args(line.split_whitespace().map(|word| word.replace("RANK", &own())))
        .current_dir(directory)
        .env("FTMPI_LIB_DIR", directory)
        .stdin(Stdio::null());
    command
}

fn run(directory: &Path, line: &str) -> Output {
    let begin = Instant::now();
    let output = command(directory, line).output().expect("ftmpiexec starts");
    assert!(begin.elapsed() < Duration::from_secs(60), "took {:?}", begin.elapsed());
    output
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sorted_lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<String> = out(output).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[track_caller]
fn expect(output: &Output, code: i32, in_stderr: &str) {
    let text = err(output);
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {text}", out(output));
    assert!(text.contains(in_stderr), "`{in_stderr}` is not in:\n{text}");
}

fn script(directory: &Path, name: &str, text: &str) {
    let file = directory.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}
