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
use super::events::AgentEvent;
use super::kept_programs::SharedPrograms;
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
    ranks: BTreeMap<RankKey, Pause>,
    /// A thread looks.
    busy: bool,
}

#[derive(Debug, Default)]
struct Pause {
    /// Seconds until the next look, and the pause after it.
    left: u32,
    pause: u32,
    /// What was found so far.
    known: BTreeSet<PathBuf>,
}

/// What a look has found at a rank.
#[derive(Debug)]
pub struct Found {
    /// All libraries.
    libraries: BTreeSet<PathBuf>,
    /// Files that were replaced just after they had been loaded.
    replaced: Vec<PathBuf>,
    /// Files that are other ones than in an earlier incarnation.
    others: Vec<PathBuf>,
}

impl Default for Plugins {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        Self { begun, ranks: BTreeMap::new(), busy: false }
    }
}

impl Plugins {
    /// Whether it is time to look at this rank. A second has passed.
    fn is_due(&mut self, key: RankKey) -> bool {
        let look = self.ranks.entry(key).or_default();
        look.left = look.left.saturating_sub(1);
        look.left == 0
    }

    /// What is known of a rank.
    fn known(&self, key: RankKey) -> BTreeSet<PathBuf> {
        self.ranks.get(&key).map(|look| look.known.clone()).unwrap_or_default()
    }

    /// Takes the libraries of a rank.
    fn take(&mut self, key: RankKey, found: BTreeSet<PathBuf>) {
        let Some(look) = self.ranks.get_mut(&key) else { return };
        let is_new = found.difference(&look.known).next().is_some();
        look.pause = if is_new { 1 } else { (look.pause * 2).clamp(1, PAUSE_MAX) };
        look.left = look.pause;
        look.known = found;
    }
}

/// A look at the libraries of a rank, by a thread: a file server may not answer.
#[derive(Debug)]
struct Look {
    key: RankKey,
    pid: u32,
    known: BTreeSet<PathBuf>,
    begun: i64,
}

impl Look {
    fn run(&self, programs: &SharedPrograms) -> Found {
        let libraries = mapped_code(self.pid);
        let (mut replaced, mut others) = (Vec::new(), Vec::new());
        for path in libraries.difference(&self.known) {
            let old = path.to_str().and_then(|path| path.strip_suffix(DELETED)).map(Path::new);
            if let Some(path) = old {
                // Another file is there by now, and this one was not held.
                if !programs.holds(path) && path.exists() {
                    replaced.push(path.to_owned());
                }
                continue;
            }
            let counts = programs.is_plugin(path) || self.is_older(path);
            if counts && !programs.add_plugin(self.key, path) {
                others.push(path.clone());
            }
        }
        Found { libraries, replaced, others }
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
    /// Has a thread look for libraries that ranks have loaded since the last look, unless it still
    /// looks. Called every second.
    pub(super) fn look_for_plugins(&mut self) {
        if self.plugins.busy {
            return;
        }
        let running: Vec<(RankKey, u32)> = self
            .ranks
            .running()
            .filter(|process| process.is_connected())
            .filter_map(|process| Some(((process.rank, process.incarnation), process.pid()?)))
            .collect();
        let plugins = &mut self.plugins;
        plugins.ranks.retain(|key, _| running.iter().any(|(running, _)| running == key));
        let begun = plugins.begun;
        let due = running.into_iter().filter(|(key, _)| plugins.is_due(*key));
        let due: Vec<(RankKey, u32)> = due.collect();
        let look = |(key, pid)| Look { key, pid, known: plugins.known(key), begun };
        let looks: Vec<Look> = due.into_iter().map(look).collect();
        if looks.is_empty() {
            return;
        }
        let (programs, events) = (self.kept_programs.clone(), self.events.clone());
        let run = move || {
            let found = looks.iter().map(|look| (look.key, look.run(&programs))).collect();
            let _ = events.send(AgentEvent::PluginsFound(found));
        };
        // (Without a thread nothing is looked at; the next second brings the next attempt.)
        self.plugins.busy = std::thread::Builder::new().name("plugins".into()).spawn(run).is_ok();
    }

    /// The thread has looked.
    pub(super) fn plugins_found(&mut self, found: Vec<(RankKey, Found)>) {
        self.plugins.busy = false;
        for (key, Found { libraries, replaced, others }) in found {
            self.plugins.take(key, libraries);
            for path in replaced.iter().filter(|path| self.kept_programs.must_tell(path)) {
                let host = self.host_name();
                self.link.notice(format!(
                    "{} on {host} was replaced just after a rank had loaded it: a rank that begins \
                     anew from its start would load the new file; put the first one back",
                    path.display()
                ));
            }
            for path in others {
                self.refuse_plugin(key, &path);
            }
        }
    }

    fn refuse_plugin(&self, key: RankKey, path: &Path) {
        let why = format!(
            "{} is another library than in the first incarnation of this rank: somebody has \
             replaced it; put the first one back, or start the job anew",
            path.display()
        );
        self.kept_programs.refuse(key);
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
    fn looks_grow_rare_until_something_is_new() {
        let key = (Rank(0), Incarnation(0));
        let mut plugins = Plugins { begun: 0, ranks: BTreeMap::new(), busy: false };
        let path = PathBuf::from("/plug.so");
        assert!(plugins.is_due(key));
        plugins.take(key, BTreeSet::from([path.clone()]));
        assert_eq!(plugins.known(key), BTreeSet::from([path.clone()]));
        // After what is new, soon again; then ever more rarely.
        assert!(plugins.is_due(key));
        plugins.take(key, BTreeSet::from([path]));
        assert!(!plugins.is_due(key) && plugins.is_due(key));
    }

    #[test]
    fn only_what_is_older_than_the_job_is_held() {
        let programs = SharedPrograms::default();
        let (key, pid) = ((Rank(0), Incarnation(0)), std::process::id());
        let look = |begun| Look { key, pid, known: BTreeSet::new(), begun };
        let own = std::env::current_exe().unwrap();
        let found = look(0).run(&programs);
        assert!(found.libraries.contains(&own) && !programs.holds(&own));
        let found = look(i64::MAX).run(&programs);
        assert!(found.others.is_empty() && programs.is_plugin(&own));
        let known = found.libraries;
        assert!(Look { known, ..look(i64::MAX) }.run(&programs).others.is_empty());
    }
}
