//! `ftmpi-ckpt list`: the state of a job.

use ftmpi_servers::job_state::{LOCK, PLAN, PROGRESS, ProgressHeader};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;

fn list(directory: &Path, json: bool) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftmpi-ckpt"));
    command.arg("list").arg(directory).args(json.then_some("--json"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn ended(directory: &Path, exit_code: Option<i32>) {
    let header = ProgressHeader { ranks: 2, input_ended: false, exit_code };
    std::fs::write(directory.join(PROGRESS), header.encode()).unwrap();
}

#[test]
fn list_says_whether_the_job_runs_has_ended_or_can_be_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    File::create(path.join(PLAN)).unwrap();
    ended(path, None);
    let restart = format!("ftmpiexec --restart {}", path.display());
    let text = list(path, false);
    assert!(text.lines().next().unwrap().ends_with(&restart), "{text}");
    let json: serde_json::Value = serde_json::from_str(&list(path, true)).unwrap();
    assert_eq!(json["state"]["state"], "interrupted");
    assert_eq!(json["state"]["continue"], restart.as_str());

    std::fs::write(path.join(LOCK), "ftmpiexec, process 7 on a,\n").unwrap();
    let lock = OpenOptions::new().read(true).write(true).open(path.join(LOCK)).unwrap();
    lock.try_lock().unwrap();
    let text = list(path, false);
    assert!(text.contains("runs (ftmpiexec, process 7 on a)"), "{text}");
    assert!(text.contains("ftmpi-ckpt request"), "{text}");
    drop(lock);

    ended(path, Some(3));
    let text = list(path, false);
    assert!(text.contains("has ended with exit code 3"), "{text}");
    assert!(!text.contains("--restart"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&list(path, true)).unwrap();
    assert_eq!(json["state"]["exit_code"], 3);
}
