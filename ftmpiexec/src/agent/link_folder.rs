//! The folder of links to libraries that an agent holds ([`super::kept_programs`]).
//!
//! Guarantees: the folder goes with its agent. An agent that is killed cannot remove its folder;
//! the next agent of this user on the host does. The name tells whose folder it is: number and
//! start of the agent's process, and the namespace that the number is of.

use super::processes::{own, started_at};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "ftmpi-libraries-";

/// The inode of this process's namespace of process numbers: other containers have other ones.
fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

/// A new folder of this process.
///
/// # Errors
/// The folder cannot be made.
pub fn make() -> io::Result<TempDir> {
    let (own, namespace) = (own(), namespace());
    let name = format!("{PREFIX}{namespace}-{}-{}-", own.pid, own.started);
    tempfile::Builder::new().prefix(&name).tempdir()
}

/// Removes the folders of agents that are dead.
pub fn remove_left_over() {
    remove_left_over_in(&std::env::temp_dir());
}

fn remove_left_over_in(place: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = || {
            // Not what a link leads to.
            entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == user)
        };
        if name.to_str().is_some_and(is_of_the_dead) && is_ours() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether this is the name of a folder whose agent has ended.
fn is_of_the_dead(name: &str) -> bool {
    let mut numbers = name.strip_prefix(PREFIX).into_iter().flat_map(|rest| rest.split('-'));
    let mut number = || numbers.next()?.parse::<u64>().ok();
    let (Some(space), Some(pid), Some(started)) = (number(), number(), number()) else {
        return false;
    };
    space == namespace() && u32::try_from(pid).is_ok_and(|pid| started_at(pid) != Some(started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_dead_agents_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: String| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("libx.so"), "x").unwrap();
            path
        };
        let (own, space) = (own(), namespace());
        let living = folder(format!("{PREFIX}{space}-{}-{}-abc", own.pid, own.started));
        let reused = folder(format!("{PREFIX}{space}-{}-{}-abc", own.pid, own.started + 1));
        let dead = folder(format!("{PREFIX}{space}-{}-1-abc", u32::MAX));
        let elsewhere = folder(format!("{PREFIX}{}-{}-1-abc", space + 1, u32::MAX));
        let other = folder(format!("{PREFIX}mine"));
        remove_left_over_in(place.path());
        let stays = [living, reused, dead, elsewhere, other].map(|path| path.exists());
        assert_eq!(stays, [true, false, false, true, true]);
        let made = make().unwrap();
        assert!(!is_of_the_dead(made.path().file_name().unwrap().to_str().unwrap()));
    }
}
