//! The programs of this job as they were at first, and what they load: a rank that begins anew is
//! the same program, also if somebody has compiled it anew meanwhile.
//!
//! Guarantees: an incarnation executes the file that the first one executed on this host, or is not
//! started. If another file was put in its place, the one that was held is executed. Libraries that
//! were replaced come from a folder of links to what is held. In `MPI_Init` the list of everything
//! that is loaded is compared with the list of the first incarnation, wherever that one ran: a rank
//! that would be another program does not come into the job.
//!
//! Each part of the command line, and each call of `MPI_Comm_spawn`, has the file that was there
//! when its first process began: a program that is compiled between two calls is new in the second.
//!
//! Threads that wait for a file server hold no lock: the agent itself never waits here.

use super::directory::RankKey;
use super::held::{Held, Opened, State, name_at};
use crate::tuning::{FILE_VERSIONS_MAX, PLUGINS_MAX};
use ftmpi_wire::control::LoadedObject;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The folder of links to plug-ins, by their whole paths.
const BY_PATH: &str = "by-path";

/// What the list of a rank's objects says.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is known of an earlier incarnation.
    First,
    /// The same program.
    Same,
    /// Another program, or another library on the same host.
    Other { path: PathBuf, is_program: bool },
    /// The first incarnation ran on another host, with another library.
    OtherLibraryElsewhere(PathBuf),
}

/// What a rank had loaded in its first incarnation on this host.
#[derive(Debug)]
struct Loaded {
    incarnation: Incarnation,
    objects: Vec<LoadedObject>,
    /// The libraries among them.
    libraries: Vec<Arc<Held>>,
}

/// The programs of a job and what they load.
#[derive(Debug, Default)]
struct Kept {
    /// All files, by their paths: a path may have led to several.
    held: BTreeMap<PathBuf, Vec<Arc<Held>>>,
    /// The program of each part of the command line, and of each spawn.
    parts: BTreeMap<u32, Arc<Held>>,
    /// (A rank that is alone in its job may run several programs.)
    loaded: BTreeMap<Rank, Vec<Loaded>>,
    /// Libraries that each rank has loaded after `MPI_Init` on this host.
    plugins: BTreeMap<Rank, BTreeMap<PathBuf, Arc<Held>>>,
    /// Incarnations that would have been another program.
    refused: BTreeSet<RankKey>,
    /// Files of which the user knows that they were replaced.
    told: BTreeSet<PathBuf>,
}

impl Kept {
    /// The file that was once at this path.
    fn find(&self, path: &Path, is_it: impl Fn(&Held) -> bool) -> Option<Arc<Held>> {
        self.held.get(path)?.iter().find(|held| is_it(held)).cloned()
    }

    /// Compares what is loaded with the first incarnation on this host, or else `elsewhere`.
    /// Whether the list is to be noted.
    fn judge(
        &mut self,
        (rank, incarnation): RankKey,
        elsewhere: Option<&[LoadedObject]>,
        objects: &[LoadedObject],
        may_be_several: bool,
    ) -> (Verdict, bool) {
        let known = self.loaded.get(&rank).map_or(&[][..], Vec::as_slice);
        let same_program =
            |list: &&Loaded| list.objects.first().map(path_of) == objects.first().map(path_of);
        let first = known.iter().find(same_program).or(known.first().filter(|_| !may_be_several));
        let is_second = known.iter().any(|list| list.incarnation == incarnation);
        let is_first_here = known.is_empty();
        let mut verdict =
            if elsewhere.is_none() && is_first_here { Verdict::First } else { Verdict::Same };
        if let Some(first) = first.filter(|_| !is_second) {
            return match difference(&first.objects, objects) {
                Some((is_program, path)) => (Verdict::Other { path, is_program }, false),
                None => (Verdict::Same, false),
            };
        }
        if let Some(elsewhere) = elsewhere.filter(|_| is_first_here) {
            match difference(elsewhere, objects) {
                Some((true, path)) => return (Verdict::Other { path, is_program: true }, false),
                Some((false, path)) if self.told.insert(path.clone()) => {
                    verdict = Verdict::OtherLibraryElsewhere(path);
                }
                _ => {}
            }
        }
        (verdict, true)
    }
}

/// The programs, shared by the agent and its threads.
#[derive(Debug, Clone, Default)]
pub struct SharedPrograms {
    kept: Arc<Mutex<Kept>>,
    /// The folder of links to libraries that are held.
    links: Arc<Mutex<Option<tempfile::TempDir>>>,
}

/// What never waits.
impl SharedPrograms {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program of a part of the command line that was executed before.
    pub fn known(&self, part: u32) -> Option<Arc<Held>> {
        self.lock().parts.get(&part).cloned()
    }

    /// A copy of the descriptor of a file that is held ([`FileKey::digest`]).
    ///
    /// [`FileKey::digest`]: ftmpi_wire::control::FileKey::digest
    pub fn get(&self, digest: u64) -> Option<OwnedFd> {
        let kept = self.lock();
        kept.held.values().flatten().find(|held| held.digest == digest)?.descriptor()
    }

    /// Whether a file of this path is held.
    pub fn holds(&self, path: &Path) -> bool {
        self.lock().held.contains_key(path)
    }

    /// Whether a rank of this host has loaded a library of this path after `MPI_Init`.
    pub fn is_plugin(&self, path: &Path) -> bool {
        self.lock().plugins.values().any(|known| known.contains_key(path))
    }

    /// An incarnation would be another program.
    pub fn refuse(&self, key: RankKey) {
        self.lock().refused.insert(key);
    }

    /// Whether an incarnation would have been another program.
    pub fn is_refused(&self, key: RankKey) -> bool {
        self.lock().refused.contains(&key)
    }

    /// Whether the user need be told that a file was replaced.
    pub fn must_tell(&self, path: &Path) -> bool {
        self.lock().told.insert(path.to_owned())
    }
}

/// What may wait for a file server. The agent's own thread calls nothing of it.
impl SharedPrograms {
    /// Holds a program, for the first incarnation. A file that cannot be read is not held.
    pub fn begin(&self, part: u32, path: &Path) {
        if let Some(held) = self.hold(path) {
            self.lock().parts.insert(part, held);
        }
    }

    /// Holds the file that is at this path now.
    fn hold(&self, path: &Path) -> Option<Arc<Held>> {
        let opened = Opened::at(path).ok()?;
        let facts = opened.facts;
        let known = self.lock().find(path, |held| held.facts == facts);
        if known.is_some() {
            return known;
        }
        let held = Arc::new(opened.hold(path).ok()?);
        let mut kept = self.lock();
        let versions = kept.held.entry(path.to_owned()).or_default();
        // Another thread may have been quicker.
        if let Some(known) = versions.iter().find(|known| known.facts == facts) {
            return Some(known.clone());
        }
        // (Each takes a descriptor of the agent.)
        if versions.len() >= FILE_VERSIONS_MAX {
            return None;
        }
        versions.push(held.clone());
        Some(held)
    }

    /// Holds a library that a rank has loaded. It may be another file than that of other ranks: it
    /// may have been replaced since.
    fn hold_loaded(&self, object: &LoadedObject) -> Option<Arc<Held>> {
        let path = path_of(object);
        let is_it = |held: &Held| held.id == object.id;
        let known = self.lock().find(&path, is_it);
        known.or_else(|| self.hold(&path).filter(|held| is_it(held)))
    }

    /// Compares what a rank has loaded with the first incarnation on this host, or else
    /// `elsewhere`.
    pub fn judge(
        &self,
        key: RankKey,
        elsewhere: Option<&[LoadedObject]>,
        objects: &[LoadedObject],
        may_be_several: bool,
    ) -> Verdict {
        let (verdict, is_new) = self.lock().judge(key, elsewhere, objects, may_be_several);
        if is_new {
            let libraries = objects.iter().skip(1).filter_map(|object| self.hold_loaded(object));
            let (incarnation, libraries) = (key.1, libraries.collect());
            let loaded = Loaded { incarnation, objects: objects.to_vec(), libraries };
            self.lock().loaded.entry(key.0).or_default().push(loaded);
        }
        verdict
    }

    /// Notes a library that a rank has loaded after `MPI_Init`. `false`: another one was at this
    /// path in an earlier incarnation.
    pub fn add_plugin(&self, (rank, incarnation): RankKey, path: &Path) -> bool {
        let known = self.lock().plugins.get(&rank).and_then(|known| known.get(path)).cloned();
        if let Some(known) = known {
            return known.state() == State::Same;
        }
        let name = name_at(path);
        let (of_others, at_start, has_room) = {
            let kept = self.lock();
            let of_others = kept.plugins.values().find_map(|known| known.get(path)).cloned();
            let mut held = kept.held.values().flatten();
            // Held for what was loaded at the start, maybe under another path.
            let at_start = kept.held.contains_key(path)
                || held.any(|held| Some((held.facts.0, held.facts.1)) == name);
            let count: usize = kept.plugins.values().map(BTreeMap::len).sum();
            (of_others, at_start, count < PLUGINS_MAX)
        };
        let note = |held: Arc<Held>| {
            let mut kept = self.lock();
            kept.plugins.entry(rank).or_default().insert(path.to_owned(), held);
        };
        match of_others {
            // An earlier incarnation may have loaded it without being seen: like the others.
            Some(held) if incarnation > Incarnation(0) => {
                let is_same = held.state() == State::Same;
                note(held);
                return is_same;
            }
            None if at_start || !has_room => {}
            _ => {
                if let Some(held) = self.hold(path) {
                    note(held);
                }
            }
        }
        true
    }

    /// Libraries of a rank that were replaced, and links to what is held of them.
    pub fn replaced_libraries(&self, rank: Rank) -> Vec<(PathBuf, PathBuf)> {
        let libraries: BTreeMap<PathBuf, Arc<Held>> = {
            let kept = self.lock();
            let lists = kept.loaded.get(&rank).into_iter().flatten();
            let all = lists.flat_map(|list| &list.libraries);
            all.map(|held| (held.path.clone(), held.clone())).collect()
        };
        let is_replaced = |held: &Arc<Held>| matches!(held.state(), State::Replaced(_));
        let replaced = libraries.into_values().filter(is_replaced);
        replaced
            .filter_map(|held| Some((held.path.clone(), self.link(rank, &held).ok()?)))
            .collect()
    }

    /// The folder in which `libftmpi_loads.so` finds the plug-ins of a rank that were replaced, and
    /// their paths.
    pub fn replaced_plugins(&self, rank: Rank) -> Option<(PathBuf, Vec<PathBuf>)> {
        let plugins = self.lock().plugins.get(&rank)?.clone();
        let is_replaced = |held: &&Arc<Held>| matches!(held.state(), State::Replaced(_));
        let replaced = plugins.values().filter(is_replaced);
        let linked: Vec<PathBuf> = replaced
            .filter(|held| self.link_by_path(rank, held).is_ok())
            .map(|held| held.path.clone())
            .collect();
        let folder = self.links_of(rank).ok()?.join(BY_PATH);
        (!linked.is_empty()).then_some((folder, linked))
    }

    /// A link to a library that is held, under the library's whole path.
    fn link_by_path(&self, rank: Rank, held: &Held) -> io::Result<()> {
        let relative = held.path.strip_prefix("/").map_err(io::Error::other)?;
        let link = self.links_of(rank)?.join(BY_PATH).join(relative);
        if let Some(folder) = link.parent() {
            std::fs::create_dir_all(folder)?;
        }
        symlink(held, &link)
    }

    /// A link to a library that is held, under the library's name.
    fn link(&self, rank: Rank, held: &Held) -> io::Result<PathBuf> {
        let Some(name) = held.path.file_name() else {
            return Err(io::Error::other("a library without a name"));
        };
        let link = self.links_of(rank)?.join(name);
        symlink(held, &link)?;
        Ok(link)
    }

    /// The folder of links of a rank: ranks may have other files of the same path.
    fn links_of(&self, rank: Rank) -> io::Result<PathBuf> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.is_none() {
            *links = Some(super::link_folder::make()?);
        }
        let folder = links.as_ref().ok_or_else(|| io::Error::other("no folder"))?;
        let folder = folder.path().join(rank.to_string());
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

fn symlink(held: &Held, link: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(held.target(), link) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn object(path: &str, id: u8) -> LoadedObject {
        LoadedObject { path: path.as_bytes().to_vec(), id: vec![id; 20] }
    }

    /// Puts another file in the place of this one.
    fn replace(path: &Path, text: &str) {
        let other = path.with_extension("other");
        fs::write(&other, text).unwrap();
        fs::rename(&other, path).unwrap();
    }

    /// The path of a part's program, and what would be executed.
    fn executable(programs: &SharedPrograms, part: u32) -> (PathBuf, String) {
        let found = programs.known(part).unwrap().executable().unwrap();
        (found.path, fs::read_to_string(found.execute).unwrap())
    }

    #[test]
    fn a_replaced_program_is_executed_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let programs = SharedPrograms::default();
        fs::write(&path, "first").unwrap();
        programs.begin(0, &path);
        let direct = |part| programs.known(part).unwrap().executable().unwrap().execute == path;
        assert!(direct(0) && programs.known(1).is_none());
        replace(&path, "other");
        assert_eq!(executable(&programs, 0), (path.clone(), "first".into()));
        fs::remove_file(&path).unwrap();
        assert_eq!(executable(&programs, 0), (path.clone(), "first".into()));
        // The same contents are the same program, wherever they came from.
        fs::write(&path, "first").unwrap();
        assert!(direct(0));
    }

    #[test]
    fn each_spawn_keeps_the_program_that_was_there_when_it_began() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let programs = SharedPrograms::default();
        for (part, text) in (0..).zip(["first", "second", "third"]) {
            replace(&path, text);
            programs.begin(part, &path);
        }
        programs.begin(3, &path);
        for (part, text) in (0..).zip(["first", "second", "third", "third"]) {
            assert_eq!(executable(&programs, part), (path.clone(), text.into()));
        }
        assert_eq!(programs.lock().held[&path].len(), 3);
        let digests: Vec<u64> = (0..3).map(|part| programs.known(part).unwrap().digest).collect();
        assert!(digests.iter().all(|digest| programs.get(*digest).is_some()));
        // A file that is written over is another one, and the first one is gone.
        fs::write(&path, "fourth").unwrap();
        programs.begin(4, &path);
        assert_eq!(executable(&programs, 4).1, "fourth");
        assert_eq!(executable(&programs, 1).1, "second");
        assert!(programs.known(3).unwrap().executable().is_err());
    }

    #[test]
    fn versions_of_a_file_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let programs = SharedPrograms::default();
        let parts = FILE_VERSIONS_MAX as u32 + 1;
        for part in 0..parts {
            replace(&path, &part.to_string());
            programs.begin(part, &path);
        }
        // What is not held is executed as it is, and what is loaded is compared.
        assert!(programs.known(parts - 2).is_some() && programs.known(parts - 1).is_none());
    }

    #[test]
    fn a_program_that_was_overwritten_and_a_script_are_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let (path, script) = (folder.path().join("program"), folder.path().join("script"));
        let programs = SharedPrograms::default();
        fs::write(&path, "first").unwrap();
        fs::write(&script, "#!/bin/sh\n").unwrap();
        programs.begin(0, &path);
        programs.begin(1, &script);
        fs::write(&path, "other").unwrap();
        let refused = programs.known(0).unwrap().executable().unwrap_err().to_string();
        assert!(refused.contains("program is another program"), "{refused}");
        fs::remove_file(&script).unwrap();
        assert!(programs.known(1).unwrap().executable().is_err());
    }

    #[test]
    fn libraries_that_were_replaced_are_found_by_links() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libx.so");
        let programs = SharedPrograms::default();
        // Rank 2 begins when another library is there, as after a spawn.
        for (rank, text) in [(1, "first"), (2, "second")] {
            replace(&library, text);
            let id = crate::program::contents_id(&library).unwrap();
            let path = library.as_os_str().as_bytes().to_vec();
            let objects = [object("/p", 1), LoadedObject { path, id }];
            let key = (Rank(rank), Incarnation(0));
            assert_eq!(programs.judge(key, None, &objects, false), Verdict::First);
            assert_eq!(programs.replaced_libraries(Rank(rank)), []);
        }
        replace(&library, "third");
        for (rank, text) in [(1, "first"), (2, "second")] {
            let replaced = programs.replaced_libraries(Rank(rank));
            assert_eq!(replaced[0].0, library);
            assert_eq!(fs::read_to_string(&replaced[0].1).unwrap(), text);
            assert_eq!(replaced[0].1.file_name(), library.file_name());
        }
    }

    #[test]
    fn a_library_that_was_replaced_before_the_look_is_not_held_for_the_rank() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libx.so");
        fs::write(&library, "second").unwrap();
        let programs = SharedPrograms::default();
        let objects = [object("/p", 1), object(library.to_str().unwrap(), 9)];
        let key = (Rank(1), Incarnation(0));
        assert_eq!(programs.judge(key, None, &objects, false), Verdict::First);
        replace(&library, "third");
        assert_eq!(programs.replaced_libraries(Rank(1)), []);
    }

    #[test]
    fn a_plugin_that_was_replaced_is_found_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("plug.so");
        fs::write(&plugin, "first").unwrap();
        let programs = SharedPrograms::default();
        let first = |rank| (Rank(rank), Incarnation(0));
        assert!(programs.add_plugin(first(1), &plugin) && programs.add_plugin(first(2), &plugin));
        assert!(programs.add_plugin(first(1), &plugin));
        assert_eq!(programs.replaced_plugins(Rank(1)), None);
        replace(&plugin, "other");
        // A process that began later has the other one.
        assert!(programs.add_plugin(first(4), &plugin));
        let (links, replaced) = programs.replaced_plugins(Rank(1)).unwrap();
        assert_eq!(replaced, [plugin.as_path()]);
        let link = links.join(plugin.strip_prefix("/").unwrap());
        assert_eq!(fs::read_to_string(link).unwrap(), "first");
        // The rank has loaded the other one, and so has a rank whose first one nobody saw.
        assert!(!programs.add_plugin(first(1), &plugin));
        assert!(!programs.add_plugin((Rank(5), Incarnation(1)), &plugin));
        assert_eq!(programs.replaced_plugins(Rank(3)), None);
        assert_eq!(programs.replaced_plugins(Rank(4)), None);
    }

    #[test]
    fn another_program_is_refused_and_another_hosts_library_told() {
        let first = [object("/p", 1), object("/lib/liba.so", 2), object("/lib/libb.so", 3)];
        let judge = |programs: &SharedPrograms, incarnation, objects: &[LoadedObject], several| {
            programs.judge((Rank(0), Incarnation(incarnation)), None, objects, several)
        };
        let programs = SharedPrograms::default();
        assert_eq!(judge(&programs, 0, &first, false), Verdict::First);
        assert_eq!(judge(&programs, 1, &first, false), Verdict::Same);
        // What is loaded by a link, or not at all, is no other library.
        let linked = [object("/p", 1), object("/tmp/links/liba.so", 2), object("/c.so", 9)];
        assert_eq!(judge(&programs, 2, &linked, false), Verdict::Same);
        let other = [object("/p", 7)];
        let refused = Verdict::Other { path: "/p".into(), is_program: true };
        assert_eq!(judge(&programs, 3, &other, false), refused);
        let library = [object("/p", 1), object("/lib/libb.so", 8)];
        let refused = Verdict::Other { path: "/lib/libb.so".into(), is_program: false };
        assert_eq!(judge(&programs, 3, &library, false), refused);
        // On another host.
        let there = SharedPrograms::default();
        let key = (Rank(0), Incarnation(4));
        let told = Verdict::OtherLibraryElsewhere("/lib/libb.so".into());
        assert_eq!(there.judge(key, Some(&first), &library, false), told);
        let there = SharedPrograms::default();
        let refused = Verdict::Other { path: "/p".into(), is_program: true };
        assert_eq!(there.judge(key, Some(&first), &other, false), refused);
    }

    #[test]
    fn a_rank_that_is_alone_may_run_several_programs() {
        let programs = SharedPrograms::default();
        let [a, b] = [[object("/a", 1)], [object("/b", 2)]];
        let judge = |incarnation, objects: &[LoadedObject]| {
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
