//! Libraries that ranks load after `MPI_Init`: plug-ins.
//!
//! Guarantees: a plug-in that was there before the job began is held from the second on in which a
//! rank has loaded it. A rank that begins anew from the start of its program gets the file that is
//! held, if another one is at the path by then (`libftmpi_loads.so`). A rank that has another
//! plug-in at such a path all the same does not stay in the job.
//!
//! Libraries that are younger than the job may be the program's own: one that compiles functions
//! and loads them makes such files anew by itself.

use super::Agent;
use super::directory::RankKey;
use crate::agent_protocol::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds between two looks at a rank that loads nothing, at most.
const PAUSE_MAX: u32 = 32;

/// When to look at each rank again.
#[derive(Debug)]
pub struct Plugins {
    /// When this agent began, in seconds since 1970.
    begun: i64,
    ranks: BTreeMap<RankKey, Look>,
}

#[derive(Debug, Default)]
struct Look {
    /// Seconds until the next look, and the pause after it.
    left: u32,
    pause: u32,
    /// What was found so far.
    known: BTreeSet<PathBuf>,
}

impl Default for Plugins {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { begun: i64::try_from(now.as_secs()).unwrap_or(i64::MAX), ranks: BTreeMap::new() }
    }
}

impl Plugins {
    /// Whether it is time to look at this rank. A second has passed.
    fn is_due(&mut self, key: RankKey) -> bool {
        let look = self.ranks.entry(key).or_default();
        look.left = look.left.saturating_sub(1);
        look.left == 0
    }

    /// Takes the libraries of a rank, and gives the new ones.
    fn new_ones(&mut self, key: RankKey, found: BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let look = self.ranks.entry(key).or_default();
        let new: Vec<PathBuf> = found.difference(&look.known).cloned().collect();
        look.pause = if new.is_empty() { (look.pause * 2).clamp(1, PAUSE_MAX) } else { 1 };
        look.left = look.pause;
        look.known = found;
        new
    }

    /// Whether the file is older than the job.
    fn is_older(&self, path: &Path) -> bool {
        std::fs::metadata(path)
            .is_ok_and(|about| about.mtime() < self.begun && about.ctime() < self.begun)
    }
}

/// The kernel shows so that a file is not at its path any more.
const DELETED: &str = " (deleted)";

/// The files that a process has mapped as code.
fn mapped_code(pid: u32) -> BTreeSet<PathBuf> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.split(|&byte| byte == b'\n').filter_map(code_of_line).collect()
}

/// `7f…-7f… r-xp 00001000 08:01 1234    /path`
fn code_of_line(line: &[u8]) -> Option<PathBuf> {
    let line = std::str::from_utf8(line).ok()?;
    let at = line.find('/')?;
    let rights = line.split(' ').nth(1)?;
    let path = &line[at..];
    let is_file = !path.starts_with("/dev/") && !path.contains('\\');
    (rights.contains('x') && is_file).then(|| Path::new(path).to_owned())
}

impl Agent {
    /// Looks for libraries that ranks have loaded since the last look. Called every second.
    pub(super) fn look_for_plugins(&mut self) {
        let running: Vec<(RankKey, u32)> = self
            .ranks
            .running()
            .filter(|process| process.is_connected())
            .filter_map(|process| Some(((process.rank, process.incarnation), process.pid()?)))
            .collect();
        self.plugins.ranks.retain(|key, _| running.iter().any(|(running, _)| running == key));
        for (key, pid) in running {
            if !self.plugins.is_due(key) {
                continue;
            }
            for path in self.plugins.new_ones(key, mapped_code(pid)) {
                self.take_plugin(key, &path);
            }
        }
    }

    /// A rank has loaded a library since the last look.
    fn take_plugin(&mut self, key: RankKey, path: &Path) {
        let old = path.to_str().and_then(|path| path.strip_suffix(DELETED)).map(Path::new);
        let mut programs = self.kept_programs.lock();
        if let Some(path) = old {
            // Another file is there by now, and this one was not held.
            let is_replaced = !programs.holds(path) && path.exists();
            if is_replaced && programs.must_tell(path) {
                let host = self.host_name();
                drop(programs);
                self.link.notice(format!(
                    "{} on {host} was replaced just after a rank had loaded it: a rank that begins \
                     anew from its start would load the new file; put the first one back",
                    path.display()
                ));
            }
            return;
        }
        let counts = programs.is_plugin(path) || self.plugins.is_older(path);
        if counts && !programs.add_plugin(key.0, path) {
            drop(programs);
            self.refuse_plugin(key, path);
        }
    }

    fn refuse_plugin(&mut self, key: RankKey, path: &Path) {
        let why = format!(
            "{} is another library than in the first incarnation of this rank: somebody has \
             replaced it; put the first one back, or start the job anew",
            path.display()
        );
        self.kept_programs.lock().refuse(key);
        self.link.report(key.0, key.1, Report::CannotStart { code: 1, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Incarnation, Rank};

    #[test]
    fn code_of_files_is_found_in_maps() {
        let found = |line: &str| code_of_line(line.as_bytes());
        let line = "7f00-7f10 r-xp 00001000 08:01 77      /opt/a b/plug.so";
        assert_eq!(found(line), Some("/opt/a b/plug.so".into()));
        for other in [
            "7f00-7f10 r--p 00001000 08:01 77      /opt/plug.so",
            "7f00-7f10 r-xp 00000000 00:00 0       [vdso]",
            "7f00-7f10 rwxp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        assert!(mapped_code(std::process::id()).contains(&std::env::current_exe().unwrap()));
    }

    #[test]
    fn what_is_new_is_told_once_and_looks_grow_rare() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plug.so");
        std::fs::write(&path, "first").unwrap();
        let key = (Rank(0), Incarnation(0));
        assert!(!Plugins { begun: 0, ranks: BTreeMap::new() }.is_older(&path));
        let mut plugins = Plugins { begun: i64::MAX, ranks: BTreeMap::new() };
        assert!(plugins.is_older(&path));
        assert!(plugins.is_due(key));
        assert_eq!(plugins.new_ones(key, BTreeSet::from([path.clone()])), [path.as_path()]);
        // After what is new, soon again; then ever more rarely.
        assert!(plugins.is_due(key));
        assert!(plugins.new_ones(key, BTreeSet::from([path.clone()])).is_empty());
        assert!(!plugins.is_due(key) && plugins.is_due(key));
    }
}
