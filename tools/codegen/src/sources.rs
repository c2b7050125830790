//! Which MPI functions the sources of a library define or mention.

use std::collections::BTreeSet;
use std::path::Path;

/// Names of the functions that have a body in the Rust sources below `dir` (`fn MPI_…`).
pub fn implemented(dir: &Path) -> std::io::Result<BTreeSet<String>> {
    names_after(dir, "fn ")
}

/// Names of functions (`MPI_Xyz`) that the code below `dir` mentions, comments apart.
pub fn mentioned(dir: &Path) -> std::io::Result<BTreeSet<String>> {
    names_after(dir, "")
}

fn names_after(dir: &Path, before: &str) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            names.extend(names_in(&std::fs::read_to_string(&path)?, before));
        }
    }
    Ok(names)
}

/// Names of functions that stand behind `before` in a source text, comments apart.
pub fn names_in(text: &str, before: &str) -> BTreeSet<String> {
    let start = format!("{before}MPI_");
    let mut names = BTreeSet::new();
    for code in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
        for (at, _) in code.match_indices(&start) {
            let name = &code[at + before.len()..];
            let end =
                name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            // Constants are in capitals throughout.
            if name[..end].contains(|c: char| c.is_ascii_lowercase()) {
                names.insert(name[..end].to_owned());
            }
        }
    }
    names
}
