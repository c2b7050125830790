//! The programs of this job as they were at first, and what they load: a rank that begins anew is
//! the same program, also if somebody has compiled it anew meanwhile.
//!
//! Guarantees: an incarnation executes the file that the first one executed on this host, or is not
//! started. If another file was put in its place, the one that was held is executed. Libraries that
//! were replaced come from a folder of links to what is held. In `MPI_Init` the list of everything
//! that is loaded is compared with the list of the first incarnation, wherever that one ran: a rank
//! that would be another program does not come into the job.

use super::Agent;
use super::directory::RankKey;
use crate::agent_protocol::Report;
use crate::program;
use crate::tuning::PLUGINS_MAX;
use ftmpi_wire::control::{FileKey, LoadedObject};
use ftmpi_wire::{Incarnation, Rank};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, StatxFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The folder of links to plug-ins, by their whole paths.
const BY_PATH: &str = "by-path";

/// What tells two states of a file apart.
type Facts = (u64, u64, i64, i64, u64);

fn facts(stat: &Stat) -> Facts {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

/// A file, held since the first incarnation that used it.
#[derive(Debug)]
struct Held {
    /// With `O_PATH`.
    file: OwnedFd,
    facts: Facts,
    /// Build-id or digest.
    id: Vec<u8>,
    /// [`FileKey::digest`]
    digest: u64,
}

impl Held {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let facts = facts(&rustix::fs::fstat(&file)?);
        let id = program::contents_id(&by_number(&file))?;
        let digest = key_of(&file)?.digest();
        Ok(Self { file, facts, id, digest })
    }
}

fn key_of(file: &OwnedFd) -> io::Result<FileKey> {
    let wanted = StatxFlags::BTIME | StatxFlags::INO;
    let about = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted)?;
    let told = about.stx_mask & StatxFlags::BTIME.bits() != 0;
    let birth = (about.stx_btime.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(u64::from(about.stx_btime.tv_nsec));
    Ok(FileKey {
        device: rustix::fs::makedev(about.stx_dev_major, about.stx_dev_minor),
        inode: about.stx_ino,
        birth: if told { birth } else { 0 },
    })
}

/// The path of an open file. The kernel resolves it in this process, and in one that was just
/// forked.
fn by_number(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What is at the path of a file now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The same file, or the same contents.
    Same,
    /// Something else or nothing; the file that is held is what it was.
    Replaced(PathBuf),
    /// Other contents, also of the file that is held.
    Overwritten,
}

/// What the list of a rank's objects says.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is known of an earlier incarnation.
    First,
    /// The same program.
    Same,
    /// Another program, or another library on the same host.
    Other { path: PathBuf, is_program: bool },
    /// The first incarnation ran on another host, with another library.
    OtherLibraryElsewhere(PathBuf),
}

/// Why a rank cannot begin as the program that it was.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is another program than the one that this job was started with, which is not there any \
     more: put it back, or start the job anew", .0.display()
)]
pub struct OtherProgram(pub PathBuf);

/// The file that a rank executes.
#[derive(Debug)]
pub struct Executable {
    /// As the command line names it.
    pub path: PathBuf,
    /// What is executed: the same, or the file that is held.
    pub execute: PathBuf,
}

/// The programs of a job and what they load.
#[derive(Debug, Default)]
pub struct KeptPrograms {
    held: BTreeMap<PathBuf, Held>,
    /// The program of each part of the command line.
    parts: BTreeMap<u32, PathBuf>,
    /// What each rank had loaded in its first incarnation on this host. (A rank that is alone in
    /// its job may run several programs.)
    loaded: BTreeMap<Rank, Vec<(Incarnation, Vec<LoadedObject>)>>,
    /// Libraries that each rank has loaded after `MPI_Init` on this host.
    plugins: BTreeMap<Rank, BTreeSet<PathBuf>>,
    /// Incarnations that would have been another program.
    refused: BTreeSet<RankKey>,
    /// Files of which the user knows that they were replaced.
    told: BTreeSet<PathBuf>,
    /// The folder of links to libraries that are held.
    links: Option<tempfile::TempDir>,
}

/// The programs, shared with the thread that starts processes.
#[derive(Debug, Clone, Default)]
pub struct SharedPrograms(Arc<Mutex<KeptPrograms>>);

impl SharedPrograms {
    /// Takes them for a moment.
    pub fn lock(&self) -> MutexGuard<'_, KeptPrograms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptPrograms {
    /// The program of a part of the command line that was executed before.
    pub fn known(&self, part: u32) -> Option<&Path> {
        self.parts.get(&part).map(PathBuf::as_path)
    }

    /// Holds a program, for the first incarnation. A file that cannot be read is not held.
    pub fn begin(&mut self, part: u32, path: &Path) {
        if self.hold(path) {
            self.parts.insert(part, path.to_owned());
        }
    }

    fn hold(&mut self, path: &Path) -> bool {
        if !self.held.contains_key(path)
            && let Ok(held) = Held::open(path)
        {
            self.held.insert(path.to_owned(), held);
        }
        self.held.contains_key(path)
    }

    fn state(&self, path: &Path) -> State {
        let Some(held) = self.held.get(path) else { return State::Same };
        let is_same = |path: &Path| program::contents_id(path).is_ok_and(|id| id == held.id);
        let now = rustix::fs::stat(path).ok();
        if now.is_some_and(|now| facts(&now) == held.facts) || is_same(path) {
            State::Same
        } else if is_same(&by_number(&held.file)) {
            State::Replaced(by_number(&held.file))
        } else {
            State::Overwritten
        }
    }

    /// A copy of the descriptor of a file that is held ([`FileKey::digest`]).
    pub fn get(&self, digest: u64) -> Option<OwnedFd> {
        let held = self.held.values().find(|held| held.digest == digest)?;
        held.file.try_clone().ok()
    }

    /// What to execute for a program that was executed before.
    ///
    /// # Errors
    /// The program is gone.
    pub fn executable(&self, path: &Path) -> Result<Executable, OtherProgram> {
        let path = path.to_owned();
        match self.state(&path) {
            State::Same => Ok(Executable { execute: path.clone(), path }),
            // (A script is given its own name, which must lead to it.)
            State::Replaced(held) if !program::is_script(&held) => {
                Ok(Executable { path, execute: held })
            }
            _ => Err(OtherProgram(path)),
        }
    }

    /// Libraries of a rank that were replaced, and links to what is held of them.
    pub fn replaced_libraries(&mut self, rank: Rank) -> Vec<(PathBuf, PathBuf)> {
        let lists = self.loaded.get(&rank).into_iter().flatten();
        let paths: BTreeSet<PathBuf> =
            lists.flat_map(|(_, list)| list.iter().skip(1).map(path_of)).collect();
        let mut replaced = Vec::new();
        for path in paths {
            if let State::Replaced(_) = self.state(&path)
                && let Ok(link) = self.link(&path)
            {
                replaced.push((path, link));
            }
        }
        replaced
    }

    /// Notes a library that a rank has loaded after `MPI_Init`. `false`: another one was at this
    /// path in an earlier incarnation.
    pub fn add_plugin(&mut self, rank: Rank, path: &Path) -> bool {
        let is_known = self.plugins.get(&rank).is_some_and(|known| known.contains(path));
        if is_known {
            return self.state(path) == State::Same;
        }
        let loaded_at_start = self.held.contains_key(path) || self.holds_file_of(path);
        let has_room = self.plugins.values().map(BTreeSet::len).sum::<usize>() < PLUGINS_MAX;
        if !loaded_at_start && has_room && self.hold(path) {
            self.plugins.entry(rank).or_default().insert(path.to_owned());
        } else if self.is_plugin(path) {
            // Another rank of this host has loaded it, too.
            self.plugins.entry(rank).or_default().insert(path.to_owned());
            return self.state(path) == State::Same;
        }
        true
    }

    /// Whether a file of this path is held.
    pub fn holds(&self, path: &Path) -> bool {
        self.held.contains_key(path)
    }

    /// Whether a rank of this host has loaded a library of this path after `MPI_Init`.
    pub fn is_plugin(&self, path: &Path) -> bool {
        self.plugins.values().any(|known| known.contains(path))
    }

    /// Whether the file at this path is held under another path.
    fn holds_file_of(&self, path: &Path) -> bool {
        let name = |facts: &Facts| (facts.0, facts.1);
        let now = rustix::fs::stat(path).map(|stat| facts(&stat));
        now.is_ok_and(|now| self.held.values().any(|held| name(&held.facts) == name(&now)))
    }

    /// The folder in which `libftmpi_loads.so` finds the plug-ins of a rank that were replaced, and
    /// their paths.
    pub fn replaced_plugins(&mut self, rank: Rank) -> Option<(PathBuf, Vec<PathBuf>)> {
        let paths = self.plugins.get(&rank)?.clone();
        let mut replaced = Vec::new();
        for path in paths {
            if let State::Replaced(_) = self.state(&path)
                && self.link_by_path(&path).is_ok()
            {
                replaced.push(path);
            }
        }
        let folder = self.links.as_ref()?.path().join(BY_PATH);
        (!replaced.is_empty()).then_some((folder, replaced))
    }

    /// A link to a library that is held, under the library's whole path.
    fn link_by_path(&mut self, path: &Path) -> io::Result<()> {
        let target = self.target(path);
        let relative = path.strip_prefix("/").map_err(io::Error::other)?;
        let link = self.links()?.join(BY_PATH).join(relative);
        if let Some(folder) = link.parent() {
            std::fs::create_dir_all(folder)?;
        }
        match std::os::unix::fs::symlink(target, link) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        }
    }

    /// The folder of links.
    fn links(&mut self) -> io::Result<&Path> {
        if self.links.is_none() {
            self.links = Some(super::link_folder::make()?);
        }
        self.links.as_ref().map(|folder| folder.path()).ok_or_else(|| io::Error::other("no folder"))
    }

    /// How other processes reach a file that is held.
    fn target(&self, path: &Path) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.held[path].file.as_raw_fd())
    }

    /// An incarnation would be another program.
    pub fn refuse(&mut self, key: RankKey) {
        self.refused.insert(key);
    }

    /// A link to a library that is held, under the library's name.
    fn link(&mut self, path: &Path) -> io::Result<PathBuf> {
        let target = self.target(path);
        let Some(name) = path.file_name() else {
            return Err(io::Error::other("a library without a name"));
        };
        let link = self.links()?.join(name);
        match std::os::unix::fs::symlink(target, &link) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(link),
        }
    }

    /// Compares what is loaded with the first incarnation on this host, or else `elsewhere`.
    fn judge(
        &mut self,
        (rank, incarnation): RankKey,
        elsewhere: Option<&[LoadedObject]>,
        objects: &[LoadedObject],
        may_be_several: bool,
    ) -> Verdict {
        let known = self.loaded.get(&rank).map_or(&[][..], Vec::as_slice);
        let same_program = |list: &&(Incarnation, Vec<LoadedObject>)| {
            list.1.first().map(path_of) == objects.first().map(path_of)
        };
        let first = known.iter().find(same_program).or(known.first().filter(|_| !may_be_several));
        let is_second = known.iter().any(|(other, _)| *other == incarnation);
        let mut verdict =
            if elsewhere.is_none() && known.is_empty() { Verdict::First } else { Verdict::Same };
        if let Some((_, first)) = first.filter(|_| !is_second) {
            return match difference(first, objects) {
                Some((is_program, path)) => Verdict::Other { path, is_program },
                None => Verdict::Same,
            };
        }
        if let Some(elsewhere) = elsewhere.filter(|_| known.is_empty()) {
            match difference(elsewhere, objects) {
                Some((true, path)) => return Verdict::Other { path, is_program: true },
                Some((false, path)) if self.must_tell(&path) => {
                    verdict = Verdict::OtherLibraryElsewhere(path);
                }
                _ => {}
            }
        }
        for object in objects.iter().skip(1) {
            self.hold(&path_of(object));
        }
        self.loaded.entry(rank).or_default().push((incarnation, objects.to_vec()));
        verdict
    }

    /// Whether the user need be told that a file was replaced.
    pub fn must_tell(&mut self, path: &Path) -> bool {
        self.told.insert(path.to_owned())
    }

    /// Whether an incarnation would have been another program.
    pub fn is_refused(&self, key: RankKey) -> bool {
        self.refused.contains(&key)
    }
}

fn path_of(object: &LoadedObject) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&object.path))
}

fn name_of(object: &LoadedObject) -> &[u8] {
    object.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The first object that is another one now: whether it is the program itself, and its path.
fn difference(first: &[LoadedObject], now: &[LoadedObject]) -> Option<(bool, PathBuf)> {
    if let ([program, ..], [other, ..]) = (first, now)
        && program.id != other.id
    {
        return Some((true, path_of(other)));
    }
    let other = now.iter().skip(1).find(|object| {
        let known: Vec<_> =
            first.iter().skip(1).filter(|known| name_of(known) == name_of(object)).collect();
        !known.is_empty() && known.iter().all(|known| known.id != object.id)
    });
    other.map(|object| (false, path_of(object)))
}

impl Agent {
    /// A rank that begins from the start of its program tells what is loaded.
    pub(super) fn loaded(&mut self, key: RankKey, objects: Vec<LoadedObject>) {
        let (rank, incarnation) = key;
        let Some(process) = self.ranks.get(rank, incarnation) else { return };
        let elsewhere = process.start.loaded.clone();
        let may_be_several = self.job.as_ref().is_some_and(|job| job.view.size == 1);
        let verdict =
            self.kept_programs.lock().judge(key, elsewhere.as_deref(), &objects, may_be_several);
        let host = self.host_name();
        match verdict {
            Verdict::Other { path, is_program } => {
                let what = if is_program { "program" } else { "library" };
                let why = format!(
                    "{} is another {what} than in the first incarnation of this rank: somebody has \
                     replaced it, or it differs between hosts; put the first one back, or start \
                     the job anew",
                    path.display()
                );
                self.kept_programs.lock().refuse(key);
                self.link.report(rank, incarnation, Report::CannotStart { code: 1, why });
            }
            Verdict::OtherLibraryElsewhere(path) => self.link.notice(format!(
                "{} on {host} is another library than on the host where rank {rank} began: results \
                 may differ",
                path.display()
            )),
            Verdict::First => {
                self.link.report(rank, incarnation, Report::Loaded { objects });
            }
            Verdict::Same => {}
        }
    }

    /// Tells the user, once for each file, that a file was replaced.
    pub(super) fn tell_replaced(&mut self, path: &Path) {
        if self.kept_programs.lock().must_tell(path) {
            let host = self.host_name();
            self.link.notice(format!(
                "{} on {host} was replaced while the job runs: ranks that begin anew use the file \
                 that the job was started with",
                path.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn object(path: &str, id: u8) -> LoadedObject {
        LoadedObject { path: path.as_bytes().to_vec(), id: vec![id; 20] }
    }

    #[test]
    fn a_replaced_program_is_executed_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut programs = KeptPrograms::default();
        fs::write(&path, "first").unwrap();
        programs.begin(0, &path);
        assert_eq!(programs.known(0), Some(path.as_path()));
        assert_eq!(programs.executable(&path).unwrap().execute, path);
        let other = folder.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::rename(&other, &path).unwrap();
        let found = programs.executable(&path).unwrap();
        assert_eq!(
            (found.path.as_path(), fs::read_to_string(&found.execute).unwrap()),
            (path.as_path(), "first".into())
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(
            fs::read_to_string(programs.executable(&path).unwrap().execute).unwrap(),
            "first"
        );
        // The same contents are the same program, wherever they came from.
        fs::write(&path, "first").unwrap();
        assert_eq!(programs.executable(&path).unwrap().execute, path);
    }

    #[test]
    fn a_program_that_was_overwritten_and_a_script_are_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let (path, script) = (folder.path().join("program"), folder.path().join("script"));
        let mut programs = KeptPrograms::default();
        fs::write(&path, "first").unwrap();
        fs::write(&script, "#!/bin/sh\n").unwrap();
        programs.begin(0, &path);
        programs.begin(1, &script);
        fs::write(&path, "other").unwrap();
        let refused = programs.executable(&path).unwrap_err().to_string();
        assert!(refused.contains("program is another program"), "{refused}");
        fs::remove_file(&script).unwrap();
        assert!(programs.executable(&script).is_err());
    }

    #[test]
    fn libraries_that_were_replaced_are_found_by_links() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libx.so");
        fs::write(&library, "first").unwrap();
        let mut programs = KeptPrograms::default();
        let key = (Rank(1), Incarnation(0));
        let objects = [object("/p", 1), object(library.to_str().unwrap(), 2)];
        assert_eq!(programs.judge(key, None, &objects, false), Verdict::First);
        assert_eq!(programs.replaced_libraries(Rank(1)), []);
        let other = folder.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::rename(&other, &library).unwrap();
        let replaced = programs.replaced_libraries(Rank(1));
        assert_eq!(replaced[0].0, library);
        assert_eq!(fs::read_to_string(&replaced[0].1).unwrap(), "first");
        assert_eq!(replaced[0].1.file_name(), library.file_name());
    }

    #[test]
    fn a_plugin_that_was_replaced_is_found_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("plug.so");
        fs::write(&plugin, "first").unwrap();
        let mut programs = KeptPrograms::default();
        let (rank, other_rank) = (Rank(1), Rank(2));
        assert!(programs.add_plugin(rank, &plugin) && programs.add_plugin(other_rank, &plugin));
        assert!(programs.add_plugin(rank, &plugin));
        assert_eq!(programs.replaced_plugins(rank), None);
        let other = folder.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::rename(&other, &plugin).unwrap();
        let (links, replaced) = programs.replaced_plugins(rank).unwrap();
        assert_eq!(replaced, [plugin.as_path()]);
        let link = links.join(plugin.strip_prefix("/").unwrap());
        assert_eq!(fs::read_to_string(link).unwrap(), "first");
        // The rank has loaded the other one.
        assert!(!programs.add_plugin(rank, &plugin));
        assert_eq!(programs.replaced_plugins(Rank(3)), None);
    }

    #[test]
    fn another_program_is_refused_and_another_hosts_library_told() {
        let first = [object("/p", 1), object("/lib/liba.so", 2), object("/lib/libb.so", 3)];
        let judge =
            |programs: &mut KeptPrograms, incarnation, objects: &[LoadedObject], several| {
                programs.judge((Rank(0), Incarnation(incarnation)), None, objects, several)
            };
        let mut programs = KeptPrograms::default();
        assert_eq!(judge(&mut programs, 0, &first, false), Verdict::First);
        assert_eq!(judge(&mut programs, 1, &first, false), Verdict::Same);
        // What is loaded by a link, or not at all, is no other library.
        let linked = [object("/p", 1), object("/tmp/links/liba.so", 2), object("/c.so", 9)];
        assert_eq!(judge(&mut programs, 2, &linked, false), Verdict::Same);
        let other = [object("/p", 7)];
        let refused = Verdict::Other { path: "/p".into(), is_program: true };
        assert_eq!(judge(&mut programs, 3, &other, false), refused);
        let library = [object("/p", 1), object("/lib/libb.so", 8)];
        let refused = Verdict::Other { path: "/lib/libb.so".into(), is_program: false };
        assert_eq!(judge(&mut programs, 3, &library, false), refused);
        // On another host.
        let mut there = KeptPrograms::default();
        let key = (Rank(0), Incarnation(4));
        let told = Verdict::OtherLibraryElsewhere("/lib/libb.so".into());
        assert_eq!(there.judge(key, Some(&first), &library, false), told);
        let mut there = KeptPrograms::default();
        let refused = Verdict::Other { path: "/p".into(), is_program: true };
        assert_eq!(there.judge(key, Some(&first), &other, false), refused);
    }

    #[test]
    fn a_rank_that_is_alone_may_run_several_programs() {
        let mut programs = KeptPrograms::default();
        let [a, b] = [[object("/a", 1)], [object("/b", 2)]];
        let mut judge = |incarnation, objects: &[LoadedObject]| {
            programs.judge((Rank(0), Incarnation(incarnation)), None, objects, true)
        };
        assert_eq!(judge(0, &a), Verdict::First);
        assert_eq!(judge(1, &a), Verdict::Same);
        assert_eq!(judge(1, &b), Verdict::Same);
        assert_eq!(judge(2, &b), Verdict::Same);
        let refused = Verdict::Other { path: "/b".into(), is_program: true };
        assert_eq!(judge(3, &[object("/b", 5)]), refused);
    }
}
