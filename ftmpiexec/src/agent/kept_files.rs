//! Files that images rest on: the agent holds them, so that they stay while an image needs them.
//!
//! Guarantees: a file that is kept is the one that the rank had open, whatever happens to its names
//! and whichever file gets its inode number afterwards. A descriptor with `O_PATH` is no open file:
//! it holds no lock and breaks no lease. A file is given up when no offered image rests on it. The
//! agent's own descriptors are never used up: beyond a bound files are not kept, and the agent says
//! so once. If a file system has no room left, files without a name are given up.
//!
//! A file that its path does not lead to any more is also saved in the job's directory
//! ([`super::saved_files`]): a small one within a second, all others when the agent ends and the
//! job may go on.

use super::Agent;
use super::directory::RankKey;
use super::saved_files::{Needs, SavedFiles};
use crate::tuning::{KEPT_FILES_SHARE, KEPT_ROOM_BYTES, KEPT_ROOM_SHARE, SAVED_AT_ONCE_BYTES};
use ftmpi_wire::control::{FileKey, ToRank};
use ftmpi_wire::{ImageNo, Rank};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

/// A file, and the images that rest on it.
#[derive(Debug)]
struct Kept {
    file: OwnedFd,
    needs: BTreeSet<Need>,
    /// The path that led to the file when it was first kept.
    path: PathBuf,
    is_saved: bool,
}

impl Kept {
    fn new(file: OwnedFd, needs: BTreeSet<Need>, is_saved: bool) -> Self {
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { file, needs, path: path.unwrap_or_default(), is_saved }
    }

    /// Whether a job that is continued finds the file by its path.
    fn is_at_its_path(&self) -> bool {
        let (there, kept) = (rustix::fs::stat(&self.path), rustix::fs::fstat(&self.file));
        there.is_ok_and(|there| {
            kept.is_ok_and(|kept| (there.st_dev, there.st_ino) == (kept.st_dev, kept.st_ino))
        })
    }

    /// Bytes that a copy takes.
    fn bytes(&self) -> u64 {
        rustix::fs::fstat(&self.file).map_or(0, |stat| stat.st_size as u64)
    }
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
    saved: Option<SavedFiles>,
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
        let files = BTreeMap::new();
        Self { files, saved: None, most, told_too_many: false, told_no_room: false }
    }

    /// The job goes on: takes over what earlier agents have saved.
    pub fn begin(&mut self, saved: Option<SavedFiles>) {
        for (number, file, needs) in saved.iter().flat_map(SavedFiles::load) {
            self.files.entry(number).or_insert_with(|| Kept::new(file, needs, true));
        }
        self.saved = saved;
    }

    /// Saves files that their paths do not lead to any more. `last`: the agent ends, and also large
    /// files are saved.
    pub fn save(&mut self, last: bool) {
        let Some(saved) = &self.saved else { return };
        let (since, mut left, mut changed) = (Instant::now(), SAVED_AT_ONCE_BYTES, last);
        for (number, kept) in self.files.iter_mut().filter(|(_, kept)| !kept.is_saved) {
            let bytes = kept.bytes();
            if !last && bytes > left || kept.is_at_its_path() {
                continue;
            }
            left = left.saturating_sub(bytes);
            kept.is_saved = saved.save(*number, &kept.file, since).is_ok();
            changed |= kept.is_saved;
        }
        let listed = self.files.iter().filter(|(_, kept)| kept.is_saved);
        let needs: Needs = listed.map(|(number, kept)| (*number, kept.needs.clone())).collect();
        if changed && !needs.is_empty() {
            // Without the list nothing is found again, as if nothing had been saved.
            let _ = saved.note(&needs);
        }
    }

    fn keep(&mut self, need: Need, key: FileKey, file: OwnedFd) -> Outcome {
        let is_it = rustix::fs::fstat(&file)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (key.device, key.inode));
        if !is_it {
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
            if kept.needs.is_empty()
                && kept.is_saved
                && let Some(saved) = &self.saved
            {
                saved.forget(*number);
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

    /// Gives up files without a name where their file system has no room left; says whether there
    /// were any, for the first time.
    fn make_room(&mut self) -> bool {
        let mut gave_up = false;
        self.files.retain(|_, kept| {
            let nameless = rustix::fs::fstat(&kept.file).is_ok_and(|stat| stat.st_nlink == 0);
            let keep = !nameless || has_room(&kept.file);
            gave_up |= !keep;
            keep
        });
        gave_up && !std::mem::replace(&mut self.told_no_room, true)
    }
}

/// Whether the file system of a file has some room left.
fn has_room(file: &OwnedFd) -> bool {
    leaves_room(file, 0)
}

/// Whether the file system of a file has some room left when it has taken so many bytes more.
pub fn leaves_room(file: impl AsFd, more: u64) -> bool {
    let Ok(about) = rustix::fs::fstatvfs(file) else { return true };
    let blocks = more.div_ceil(about.f_frsize.max(1));
    let Some(free) = about.f_bavail.checked_sub(blocks) else { return about.f_blocks == 0 };
    // (A file system without blocks tells nothing.)
    about.f_blocks == 0
        || free >= about.f_blocks / KEPT_ROOM_SHARE
        || free.saturating_mul(about.f_frsize) >= KEPT_ROOM_BYTES
}

impl Agent {
    /// This agent ends, and the job may go on. Nobody writes any more when `ranks_are_gone`.
    pub(super) fn save_kept_files(&mut self, ranks_are_gone: bool) {
        match (ranks_are_gone, &mut self.kept_files.saved) {
            (true, _) => self.kept_files.save(true),
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
        let kept = self.kept_files.get(file).or_else(|| self.kept_programs.lock().get(file));
        let passed = Vec::from_iter(kept);
        if let Some(process) = self.ranks.get(rank, incarnation) {
            process.send(&ToRank::KeptFile { file }, passed, false);
        }
    }

    /// Removed files must not take the room that the program needs.
    pub(super) fn make_room_for_program(&mut self) {
        self.kept_files.save(false);
        if self.kept_files.make_room() {
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
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::Path;

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
        kept.save(false);
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
        kept.save(true);
        drop(kept);
        let mut kept = begin();
        assert!(kept.get(small).is_some() && kept.get(key.digest()).is_some());
        kept.forget_before(Rank(3), ImageNo(5));
        assert!(kept.get(small).is_none());
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
