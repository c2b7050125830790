//! What is tracked under `include/generated` is what the generator writes today.

use std::path::Path;
use std::process::Command;

#[test]
fn tracked_files_are_up_to_date() {
    let tracked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include/generated");
    let generator = Command::new(env!("CARGO_BIN_EXE_ftmpi-headers"))
        .arg("--check")
        .arg(tracked)
        .output()
        .expect("the generator starts");
    assert!(generator.status.success(), "{}", String::from_utf8_lossy(&generator.stderr));
}
