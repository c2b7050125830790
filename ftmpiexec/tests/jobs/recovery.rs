//! Deaths of ranks, agents and servers.

use super::{err, expect, have_servers, out, run, sorted_lines};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What only a protocol that logs messages does.
pub(super) const LOGGING: &str = "--protocol pessimistic";

pub fn abort(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none RANK abort");
    expect(&output, 42, "rank 1");
    assert!(err(&output).contains("something is wrong"));
}

pub fn without_protection_a_death_is_the_end(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none --inject kill:rank=1,at=200ms RANK long");
    expect(&output, 137, "rank 1");
    assert!(err(&output).contains("--protocol pessimistic"));
    assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
}

pub fn a_killed_rank_comes_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        &format!(
            "-n 3 {LOGGING} --ckpt off --inject kill:rank=1,at=300ms --report r.json RANK long"
        ),
    );
    expect(&output, 0, "restarting it from its beginning");
    assert_eq!(
        sorted_lines(&output),
        ["0 ok incarnation 0", "1 ok incarnation 1", "2 ok incarnation 0"]
    );
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("r.json")).unwrap()).unwrap();
    assert_eq!(report["failures"][0]["rank"], 1);
    assert_eq!(report["failures"][0]["recovery"], "restart");
    assert!(report["failures"][0]["restore_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(report["pids"][1].as_array().unwrap().len(), 2);
    assert_eq!(report["pids"][0].as_array().unwrap().len(), 1);
    assert_eq!(report["exit_code"], 0);
}

pub fn all_killed_come_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output =
        run(directory, &format!("-n 4 {LOGGING} --inject kill:rank=all,at=300ms RANK long"));
    expect(&output, 0, "");
    assert_eq!(
        sorted_lines(&output),
        ["0 ok incarnation 1", "1 ok incarnation 1", "2 ok incarnation 1", "3 ok incarnation 1"]
    );
}

pub fn a_killed_agent_comes_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        "-launcher fork -hosts a,b -ppn 2 -n 4 --inject kill:agent=b,at=300ms RANK long",
    );
    expect(&output, 0, "host b");
    assert_eq!(
        sorted_lines(&output),
        ["0 ok incarnation 0", "1 ok incarnation 0", "2 ok incarnation 1", "3 ok incarnation 1"]
    );
}

pub fn killed_servers_come_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        "-n 2 --inject kill:server=event-logger,at=200ms --inject kill:server=checkpoint-server,at=200ms RANK long",
    );
    expect(&output, 0, "the event-logger died");
    assert!(err(&output).contains("the checkpoint-server died"));
}

pub fn output_of_a_later_incarnation_is_printed_once(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        &format!("-n 2 {LOGGING} --ckpt off --inject kill:rank=1,at=300ms RANK count"),
    );
    expect(&output, 0, "");
    let lines: Vec<String> =
        out(&output).lines().filter(|l| l.starts_with("1 ")).map(str::to_owned).collect();
    let wanted: Vec<String> = (0..100).map(|n| format!("1 {n}")).collect();
    assert_eq!(lines, wanted);
}

pub fn the_same_crash_again_and_again(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(directory, "-n 2 RANK crash");
    // There is no image, so nothing is left from which the job could go on.
    expect(&output, 134, "3 times at the same place");
    assert!(!err(&output).contains("--restart"), "{}", err(&output));
}

/// Every rank begins again under waves without images, and under no choice of its own.
pub fn without_images_nothing_is_logged_and_all_begin_again(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output =
        run(directory, "-n 3 --ckpt off --inject kill:rank=1,at=300ms --report r.json RANK long");
    expect(&output, 0, "all ranks return to the beginning");
    assert!(err(&output).contains("--protocol auto: coordinated, because there are no images"));
    assert_eq!(
        sorted_lines(&output),
        ["0 ok incarnation 1", "1 ok incarnation 1", "2 ok incarnation 1"]
    );
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("r.json")).unwrap()).unwrap();
    assert_eq!(report["protocol"], "coordinated");
    assert_eq!(report["protocol_asked"], "auto");
    assert_eq!(report["failures"][0]["recovery"], "rollback");
}

/// Programs that know nothing of MPI lose nothing of each other: one that is killed begins again
/// alone.
pub fn a_killed_program_without_mpi_begins_again_alone(directory: &Path) {
    if !have_servers() {
        return;
    }
    let script = directory.join("slow.sh");
    fs::write(&script, "#!/bin/sh\necho $PMI_RANK >>begun\nsleep 1\necho $PMI_RANK done\n")
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = run(directory, "-n 3 --inject kill:rank=1,at=300ms ./slow.sh");
    expect(&output, 0, "rank 1");
    assert!(err(&output).contains("restarting it from its beginning"), "{}", err(&output));
    assert_eq!(sorted_lines(&output), ["0 done", "1 done", "2 done"]);
    let begun = fs::read_to_string(directory.join("begun")).unwrap();
    let mut begun: Vec<&str> = begun.lines().collect();
    begun.sort_unstable();
    assert_eq!(begun, ["0", "1", "1", "2"]);
}
