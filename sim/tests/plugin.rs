//! The example protocol, loaded from its library, keeps every invariant that `pessimistic` must keep,
//! and its deliberate bugs are caught as those of a built-in one are.

use ftmpi_sim::campaign::{check, setup};
use ftmpi_sim::choice::{Choice, replace_pessimistic};
use ftmpi_sim::mutants::Mutant;
use std::path::PathBuf;
use std::process::Command;

const SEEDS: u64 = 120;

/// Builds the library (which other tests of the workspace do not depend on) beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "ftmpi-example-protocol", "--manifest-path"]);
    build.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
    build.arg("--target-dir").arg(profile.parent().unwrap());
    if profile.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success());
    profile.join("libftmpi_example_protocol.so")
}

#[test]
fn a_protocol_of_a_library_keeps_the_invariants() {
    replace_pessimistic(&library()).unwrap();
    let choice = Some(Choice::Pessimistic);
    let (mut restored, mut replayed) = (0, 0);
    for seed in 1..=SEEDS {
        let outcome = check(&setup(seed, choice, None, false));
        let outcome = outcome.unwrap_or_else(|why| panic!("seed {seed} fails: {why}"));
        restored += outcome.restored;
        replayed += outcome.replayed;
    }
    assert!(restored > 50 && replayed > 1000, "{restored} lives from images, {replayed} events");
    let mutant = Some(Mutant::SendNotGated);
    let caught = |seed| check(&setup(seed, choice, mutant, false)).is_err();
    assert!((1..=10 * SEEDS).any(caught), "a send that does not wait is not noticed");
}
