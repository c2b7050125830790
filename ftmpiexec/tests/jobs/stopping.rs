//! Users who end a job, and what a job leaves.

use super::{command, err, expect, have_servers, left_behind, processes_in, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Waits until so many processes of this job have the text on their command line.
fn wait_for_ranks(directory: &Path, text: &str, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let marker = directory.display().to_string();
    while processes_in(&marker).iter().filter(|line| line.contains(text)).count() < count {
        assert!(Instant::now() < deadline, "the ranks do not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The launcher hears of them.
    std::thread::sleep(Duration::from_millis(300));
}

fn signal_to(child: &std::process::Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
}

/// Starts a job whose lines are collected.
fn spawn(directory: &Path, line: &str) -> std::process::Child {
    let mut command = command(directory, line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub fn signals_leave_nothing(directory: &Path) {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let protocol = if have_servers() { "pessimistic" } else { "none" };
        let child = spawn(directory, &format!("-n 3 --protocol {protocol} RANK wrapped"));
        wait_for_ranks(directory, "sleep 60", 3);
        signal_to(&child, signal);
        let output = child.wait_with_output().unwrap();
        let wanted = format!("interrupted by SIG{signal} after");
        expect(&output, code, &wanted);
        expect(&output, code, "3 of 3 ranks ran; with --job-dir DIR");
        assert_eq!(left_behind(directory), Vec::<String>::new());
    }
}

/// The disk of the job's results is full: one line tells, and later the job goes on.
pub fn output_that_cannot_be_written_is_told(directory: &Path) {
    let run_into_full_disk = |line: &str| {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = command(directory, line);
        command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
    };
    let wanted = "standard output of the ranks cannot be written: No space left on device";
    expect(&run_into_full_disk("-n 2 --protocol none RANK count"), 1, wanted);
    if have_servers() {
        let output = run_into_full_disk("-n 2 --protocol pessimistic --job-dir full RANK count");
        expect(&output, 75, wanted);
        expect(&output, 75, "to go on: ftmpiexec --restart");
        let output = run(directory, "--restart full");
        expect(&output, 0, "");
        let lines: Vec<_> = output.stdout.split(|byte| *byte == b'\n').collect();
        for text in ["0 0", "1 0", "0 99", "1 99"] {
            let count = lines.iter().filter(|line| **line == text.as_bytes()).count();
            assert_eq!(count, 1, "{text}: {lines:?}");
        }
    }
    assert_eq!(left_behind(directory), Vec::<String>::new());
}

pub fn ctrl_c_lets_a_job_go_on_later(directory: &Path) {
    if !have_servers() {
        return;
    }
    let child = spawn(directory, "-n 2 --job-dir job RANK wrapped");
    wait_for_ranks(directory, "sleep 60", 2);
    signal_to(&child, "INT");
    let output = child.wait_with_output().unwrap();
    expect(&output, 75, "Ctrl-C again ends it at once");
    expect(&output, 75, "to go on: ftmpiexec --restart");
    assert!(directory.join("job/plan").is_file());
    // Its ranks would give an image, and do not.
    let begin = Instant::now();
    let child = spawn(directory, "-n 2 --job-dir other RANK deaf");
    // Two ranks, and the launcher.
    wait_for_ranks(directory, "deaf", 3);
    signal_to(&child, "INT");
    std::thread::sleep(Duration::from_millis(700));
    signal_to(&child, "INT");
    let output = child.wait_with_output().unwrap();
    expect(&output, 130, "to go on from what is stored: ftmpiexec --restart");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

pub fn job_directories_are_refused_by_their_state(directory: &Path) {
    let refused = |line: &str, text: &str| {
        let output = run(directory, line);
        expect(&output, 2, text);
        assert_eq!(err(&output).lines().count(), 1, "one line: {}", err(&output));
    };
    fs::create_dir(directory.join("results")).unwrap();
    fs::write(directory.join("results/data"), "precious").unwrap();
    refused("-n 1 --job-dir results true", "is not empty and holds no job (there is data)");
    assert!(!directory.join("results/lock").exists(), "nothing was changed");
    if !have_servers() {
        return;
    }
    expect(&run(directory, "-n 1 --job-dir done true"), 0, "");
    refused("-n 1 --job-dir done true", "has ended with exit code 0; choose another directory");
    refused("--restart done", "has ended with exit code 0: there is nothing to go on with");
    let mut child = spawn(directory, "-n 1 --job-dir alive RANK wrapped");
    wait_for_ranks(directory, "sleep 60", 1);
    refused("-n 1 --job-dir alive true", "is alive: ftmpiexec, process");
    child.kill().unwrap();
    child.wait().unwrap();
    refused("-n 1 --job-dir alive true", "holds a job that has not ended: go on with it");
}

pub fn a_dying_launcher_leaves_nothing(directory: &Path) {
    let protocol = if have_servers() { "pessimistic" } else { "none" };
    let line = format!("-n 3 --protocol {protocol} RANK wrapped");
    let mut child = command(directory, &line).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !left_behind(directory).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
}
