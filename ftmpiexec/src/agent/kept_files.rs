//! Files that images rest on: the agent holds them, so that they stay while an image needs them.
//!
//! Guarantees: a file that is kept is the one that the rank had open, whatever happens to its names
//! and whichever file gets its inode number afterwards. A descriptor with `O_PATH` is no open file:
//! it holds no lock and breaks no lease. A file is given up when no offered image rests on it. The
//! agent's own descriptors are never used up: beyond a bound files are not kept, and the agent says
//! so once. If a file system has no room left, files without a name are given up. A file server
//! that does not answer holds nobody back but a thread of its own ([`super::file_looks`]).
//!
//! A file that its path does not lead to any more is also saved in the job's directory
//! ([`super::saved_files`]): a small one within a second, all others when the agent ends and the
//! job may go on.

use super::Agent;
use super::directory::RankKey;
use super::file_looks::{FileLook, Found, Looker, Subject};
use super::saved_files::{Needs, SavedFiles};
use crate::tuning::{KEPT_FILES_SHARE, SAVED_FILES_LIMIT};
use ftmpi_wire::control::{FileKey, ToRank};
use ftmpi_wire::{ImageNo, Rank};
use rustix::fs::{AtFlags, StatxFlags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// A file, and the images that rest on it.
#[derive(Debug)]
struct Kept {
    file: Arc<OwnedFd>,
    needs: BTreeSet<Need>,
    /// The path that led to the file when it was first kept.
    path: Arc<PathBuf>,
    is_saved: bool,
}

impl Kept {
    fn new(file: OwnedFd, needs: BTreeSet<Need>, is_saved: bool) -> Self {
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let path = path.unwrap_or_default().into();
        Self { file: Arc::new(file), needs, path, is_saved }
    }
}

/// Device and inode number of an open file, without asking a file server.
fn name_of(file: &OwnedFd) -> Option<(u64, u64)> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    // (A filter may refuse `statx`.)
    if let Ok(about) = rustix::fs::statx(file, "", flags, StatxFlags::INO) {
        let device = rustix::fs::makedev(about.stx_dev_major, about.stx_dev_minor);
        return Some((device, about.stx_ino));
    }
    rustix::fs::fstat(file).ok().map(|about| (about.st_dev, about.st_ino))
}

/// Who needs a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Need {
    pub rank: Rank,
    pub image: ImageNo,
    /// A replay that begins from this image or an earlier one opens the file; otherwise the image
    /// itself rests on it.
    pub replay: bool,
}

/// The files that this agent keeps.
#[derive(Debug)]
pub struct KeptFiles {
    /// By [`FileKey::digest`].
    files: BTreeMap<u64, Kept>,
    /// Where files are saved for a later launcher, if this host has the job's directory.
    saved: Option<Arc<SavedFiles>>,
    /// Needs of saved files, as they were last noted there.
    noted: Arc<Needs>,
    /// Saved files that no image needs any more.
    outdated: Vec<u64>,
    looker: Looker,
    most: usize,
    /// The user knows that there were too many.
    told_too_many: bool,
    /// The user knows that files were given up.
    told_no_room: bool,
}

/// What became of a file that an image rests on.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Kept,
    /// The bound is reached for the first time.
    TooMany,
    /// Not kept, and nobody need be told.
    Dropped,
}

impl KeptFiles {
    /// Keeps as many as the limit on descriptors allows.
    pub fn new() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self::with_most(limit.unwrap_or(u64::MAX).min(1 << 20) as usize / KEPT_FILES_SHARE)
    }

    fn with_most(most: usize) -> Self {
        Self {
            files: BTreeMap::new(),
            saved: None,
            noted: Arc::default(),
            outdated: Vec::new(),
            looker: Looker::default(),
            most,
            told_too_many: false,
            told_no_room: false,
        }
    }

    /// The job goes on: takes over what earlier agents have saved.
    pub fn begin(&mut self, saved: Option<SavedFiles>) {
        for (number, file, needs) in saved.iter().flat_map(SavedFiles::load) {
            self.files.entry(number).or_insert_with(|| Kept::new(file, needs, true));
        }
        self.saved = saved.map(Arc::new);
    }

    /// Has a thread look at the files, unless it still does. Says whether files were given up for
    /// the first time. Called every second.
    pub fn look(&mut self) -> bool {
        let found = self.looker.found();
        let gave_up = found.is_some_and(|found| self.take(found));
        let nothing = self.files.is_empty() && self.outdated.is_empty();
        if !nothing && !self.looker.is_busy() {
            let look = self.next_look(false);
            self.looker.begin(look);
        }
        gave_up
    }

    /// Saves all files that their paths do not lead to any more: the agent ends. If a file server
    /// does not answer, nothing is saved.
    pub fn save_all(&mut self) {
        if let Ok(found) = self.looker.wait(SAVED_FILES_LIMIT) {
            if let Some(found) = found {
                self.take(found);
            }
            let found = self.next_look(true).run();
            self.take(found);
        }
    }

    /// What is looked at next. `last`: large files are saved, too.
    fn next_look(&mut self, last: bool) -> FileLook {
        let outdated = std::mem::take(&mut self.outdated);
        for number in &outdated {
            // It may be needed again by now.
            if let Some(kept) = self.files.get_mut(number) {
                kept.is_saved = false;
            }
        }
        let subject = |(number, kept): (&u64, &Kept)| {
            let (file, path, needs) = (kept.file.clone(), kept.path.clone(), kept.needs.clone());
            (*number, Subject { file, path, needs, is_saved: kept.is_saved })
        };
        FileLook {
            files: self.files.iter().map(subject).collect(),
            saved: self.saved.clone(),
            noted: self.noted.clone(),
            outdated,
            last,
        }
    }

    /// Takes what a look has found. Says whether files were given up for the first time.
    fn take(&mut self, found: Found) -> bool {
        for number in found.saved {
            match self.files.get_mut(&number) {
                Some(kept) => kept.is_saved = true,
                None => self.outdated.push(number),
            }
        }
        if let Some(noted) = found.noted {
            self.noted = Arc::new(noted);
        }
        for number in &found.without_room {
            self.files.remove(number);
        }
        !found.without_room.is_empty() && !std::mem::replace(&mut self.told_no_room, true)
    }

    fn keep(&mut self, need: Need, key: FileKey, file: OwnedFd) -> Outcome {
        if name_of(&file) != Some((key.device, key.inode)) {
            return Outcome::Dropped;
        }
        let key = key.digest();
        if let Some(kept) = self.files.get_mut(&key) {
            kept.needs.insert(need);
            return Outcome::Kept;
        }
        if need.replay && self.files.len() >= self.most / 2 {
            // What images rest on comes first.
            return Outcome::Dropped;
        }
        if self.files.len() >= self.most {
            let told = std::mem::replace(&mut self.told_too_many, true);
            return if told { Outcome::Dropped } else { Outcome::TooMany };
        }
        self.files.insert(key, Kept::new(file, BTreeSet::from([need]), false));
        Outcome::Kept
    }

    /// A copy of the descriptor, if the file is kept.
    fn get(&self, key: u64) -> Option<OwnedFd> {
        self.files.get(&key)?.file.try_clone().ok()
    }

    fn retain(&mut self, needed: impl Fn(Need) -> bool) {
        self.files.retain(|number, kept| {
            kept.needs.retain(|need| needed(*need));
            if kept.needs.is_empty() && kept.is_saved {
                self.outdated.push(*number);
            }
            !kept.needs.is_empty()
        });
    }

    /// Images of a rank before this one are not offered any more.
    pub fn forget_before(&mut self, rank: Rank, oldest: ImageNo) {
        self.retain(|need| need.rank != rank || need.image >= oldest);
    }

    /// This image of a rank will never be offered.
    pub fn forget_image(&mut self, rank: Rank, image: ImageNo) {
        self.retain(|need| need != Need { rank, image, replay: false });
    }
}

impl Agent {
    /// This agent ends, and the job may go on. Nobody writes any more when `ranks_are_gone`.
    pub(super) fn save_kept_files(&mut self, ranks_are_gone: bool) {
        match (ranks_are_gone, &self.kept_files.saved) {
            (true, _) => self.kept_files.save_all(),
            (false, Some(saved)) => saved.begin_the_last(),
            (false, None) => {}
        }
    }

    /// An image of a rank rests on this file. The rank may have died meanwhile.
    pub(super) fn keep_file(&mut self, need: Need, key: FileKey, file: OwnedFd) {
        if self.kept_files.keep(need, key, file) == Outcome::TooMany {
            let host = self.host_name();
            let most = self.kept_files.most;
            self.link.notice(format!(
                "{host}: images rest on more than {most} open files, and not all are kept: a rank \
                 that has removed such a file cannot return to its image (raise 'ulimit -n')"
            ));
        }
    }

    /// A new process asks for a file that its image rests on.
    pub(super) fn need_file(&mut self, (rank, incarnation): RankKey, file: u64) {
        let kept = self.kept_files.get(file).or_else(|| self.kept_programs.get(file));
        let passed = Vec::from_iter(kept);
        if let Some(process) = self.ranks.get(rank, incarnation) {
            process.send(&ToRank::KeptFile { file }, passed, false);
        }
    }

    /// Removed files must not take the room that the program needs.
    pub(super) fn make_room_for_program(&mut self) {
        if self.kept_files.look() {
            let host = self.host_name();
            self.link.notice(format!(
                "{host}: the file system is nearly full, and files that the program has removed \
                 are not kept any more: a rank that had one open may not return to its image"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::SAVED_AT_ONCE_BYTES;
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    fn open(path: &Path) -> (FileKey, OwnedFd) {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        (FileKey { device: stat.st_dev, inode: stat.st_ino, birth: 0 }, file)
    }

    fn need(rank: u32, image: u64) -> Need {
        Need { rank: Rank(rank), image: ImageNo(image), replay: false }
    }

    #[test]
    fn a_replay_needs_its_files_also_if_an_image_failed() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptFiles::with_most(4);
        let keep = |kept: &mut KeptFiles, name: &str, need| {
            let path = folder.path().join(name);
            fs::write(&path, name).unwrap();
            let (key, file) = open(&path);
            (kept.keep(need, key, file), key.digest())
        };
        let (_, image) = keep(&mut kept, "image", need(3, 2));
        let replay = Need { replay: true, ..need(3, 2) };
        let (_, opened) = keep(&mut kept, "opened", replay);
        assert_eq!(keep(&mut kept, "more", replay).0, Outcome::Dropped, "room for images is left");
        kept.forget_image(Rank(3), ImageNo(2));
        assert!(kept.get(image).is_none() && kept.get(opened).is_some());
        kept.forget_before(Rank(3), ImageNo(3));
        assert!(kept.get(opened).is_none());
    }

    #[test]
    fn a_file_is_kept_until_no_image_rests_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, "first").unwrap();
        let mut kept = KeptFiles::with_most(2);
        for image in 1..=2 {
            let (key, file) = open(&path);
            assert_eq!(kept.keep(need(3, image), key, file), Outcome::Kept);
        }
        let (key, _) = open(&path);
        fs::remove_file(&path).unwrap();
        let others: Vec<_> = (0..50)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                File::create(&path).unwrap().write_all(b"other").unwrap();
                open(&path).0
            })
            .collect();
        assert!(!others.contains(&key), "the inode number is not given again");
        let contents = |kept: &KeptFiles| {
            let file = kept.get(key.digest())?;
            let number = std::os::fd::AsRawFd::as_raw_fd(&file);
            Some(fs::read_to_string(format!("/proc/self/fd/{number}")).unwrap())
        };
        kept.forget_before(Rank(3), ImageNo(2));
        assert_eq!(contents(&kept).as_deref(), Some("first"));
        kept.forget_image(Rank(2), ImageNo(2));
        assert_eq!(contents(&kept).as_deref(), Some("first"));
        kept.forget_before(Rank(3), ImageNo(3));
        assert_eq!(contents(&kept), None);
    }

    /// A whole look.
    fn look(kept: &mut KeptFiles) {
        kept.look();
        let found = kept.looker.wait(Duration::from_secs(600)).unwrap();
        kept.take(found.unwrap());
    }

    #[test]
    fn a_file_that_does_not_answer_holds_nobody_else_back() {
        let job = tempfile::tempdir().unwrap();
        let mut kept = KeptFiles::with_most(8);
        kept.begin(SavedFiles::of(job.path(), 0));
        // A copy of it begins when somebody writes.
        let silent = job.path().join("silent");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &silent, kind, mode, 0).unwrap();
        let (key, file) = open(&silent);
        let writer = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(kept.keep(need(1, 1), key, file), Outcome::Kept);
        fs::remove_file(&silent).unwrap();
        kept.look();
        let path = job.path().join("other");
        fs::write(&path, "other").unwrap();
        let (other, file) = open(&path);
        assert_eq!(kept.keep(need(2, 1), other, file), Outcome::Kept);
        kept.look();
        assert!(kept.looker.is_busy() && kept.get(other.digest()).is_some());
        kept.forget_before(Rank(2), ImageNo(2));
        assert!(kept.get(other.digest()).is_none());
        // The file answers. What it says is kept for a later agent.
        drop(File::options().write(true).open(writer).unwrap());
        let found = kept.looker.wait(Duration::from_secs(600)).unwrap().unwrap();
        assert_eq!(found.saved, [key.digest()]);
        kept.take(found);
        kept.forget_before(Rank(1), ImageNo(2));
        assert_eq!(kept.outdated, [key.digest()]);
    }

    #[test]
    fn a_file_that_is_needed_again_is_saved_again() {
        let job = tempfile::tempdir().unwrap();
        let path = job.path().join("removed");
        fs::write(&path, "text").unwrap();
        let (key, file) = open(&path);
        let again = file.try_clone().unwrap();
        fs::remove_file(&path).unwrap();
        let mut kept = KeptFiles::with_most(8);
        kept.begin(SavedFiles::of(job.path(), 0));
        kept.keep(need(1, 1), key, file);
        look(&mut kept);
        kept.forget_before(Rank(1), ImageNo(2));
        kept.keep(need(1, 2), key, again);
        look(&mut kept);
        let mut later = KeptFiles::with_most(8);
        later.begin(SavedFiles::of(job.path(), 0));
        assert!(later.get(key.digest()).is_some());
        assert_eq!(later.files[&key.digest()].needs, BTreeSet::from([need(1, 2)]));
    }

    #[test]
    fn a_removed_file_outlives_its_agent_until_no_image_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path();
        let begin = || {
            let mut kept = KeptFiles::with_most(8);
            kept.begin(SavedFiles::of(job, 2));
            kept
        };
        let mut kept = begin();
        let mut keep = |name: &str, bytes: u64| {
            let path = job.join(name);
            File::create(&path).unwrap().set_len(bytes).unwrap();
            let (key, file) = open(&path);
            kept.keep(need(3, 4), key, file);
            key.digest()
        };
        let stays = keep("stays", 1);
        let (small, large) = (keep("small", 1), keep("large", SAVED_AT_ONCE_BYTES + 1));
        for name in ["small", "large"] {
            fs::remove_file(job.join(name)).unwrap();
        }
        look(&mut kept);
        // The agent is killed.
        drop(kept);
        let mut kept = begin();
        assert!(kept.get(small).is_some() && kept.get(large).is_none());
        assert!(kept.get(stays).is_none(), "its path leads to it");
        let path = job.join("large");
        File::create(&path).unwrap().set_len(SAVED_AT_ONCE_BYTES + 1).unwrap();
        let (key, file) = open(&path);
        kept.keep(need(3, 4), key, file);
        fs::remove_file(&path).unwrap();
        kept.save_all();
        drop(kept);
        let mut kept = begin();
        assert!(kept.get(small).is_some() && kept.get(key.digest()).is_some());
        kept.forget_before(Rank(3), ImageNo(5));
        assert!(kept.get(small).is_none());
        look(&mut kept);
        drop(kept);
        assert!(begin().files.is_empty(), "nothing is left on the disk");
    }

    #[test]
    fn beyond_the_bound_files_are_not_kept_and_the_user_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptFiles::with_most(1);
        let mut keep = |name: &str, wrong: bool| {
            let path = folder.path().join(name);
            fs::write(&path, name).unwrap();
            let (mut key, file) = open(&path);
            key.inode += u64::from(wrong);
            kept.keep(need(0, 1), key, file)
        };
        assert_eq!(keep("liar", true), Outcome::Dropped);
        assert_eq!(keep("a", false), Outcome::Kept);
        assert_eq!(keep("b", false), Outcome::TooMany);
        assert_eq!(keep("c", false), Outcome::Dropped);
        assert_eq!(keep("a", false), Outcome::Kept, "it is kept already");
    }
}
