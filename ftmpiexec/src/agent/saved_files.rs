//! Files that images rest on, over the death of an agent: they lie in the job's directory, and the
//! agent of a continued job finds them again.
//!
//! Guarantees: a file is saved under the number that images know it by ([`FileKey::digest`]), as a
//! second name of the same file where that can be made, else as a copy with the same time of the
//! last write. A file that is found here is whole. Saving never takes the room that the program
//! needs. An agent that ends keeps the directory locked until it has saved everything; its
//! successor waits for that.
//!
//! [`FileKey::digest`]: ftmpi_wire::control::FileKey::digest

use super::file_looks::leaves_room;
use super::kept_files::Need;
use crate::job_dir::KEPT_FILES;
use crate::tuning::{LOCK_PATIENCE, SAVED_FILES_LIMIT};
use ftmpi_servers::private_directory::{create_private, make, open_own};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Which images need a file, by its number.
pub type Needs = BTreeMap<u64, BTreeSet<Need>>;

/// The folder of such files.
#[derive(Debug)]
pub struct SavedFiles {
    folder: PathBuf,
    host: u32,
    /// Held while this agent ends.
    lock: OnceLock<File>,
}

impl SavedFiles {
    /// The folder in a job's directory; `None` if the directory is not on this host.
    pub fn of(job_directory: &Path, host: u32) -> Option<Self> {
        let folder = job_directory.join(KEPT_FILES);
        job_directory.is_dir().then_some(Self { folder, host, lock: OnceLock::new() })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:016x}"))
    }

    /// All files that earlier agents have saved, and the images that need them.
    pub fn load(&self) -> Vec<(u64, OwnedFd, BTreeSet<Need>)> {
        self.wait_for_predecessor();
        let mut needs = Needs::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.path().extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = fs::read(entry.path()).unwrap_or_default();
            let list: Vec<(u64, BTreeSet<Need>)> =
                serde_json::from_slice(&text).unwrap_or_default();
            for (number, more) in list {
                needs.entry(number).or_default().extend(more);
            }
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |number| rustix::fs::open(self.path(number), flags, Mode::empty()).ok();
        let found = needs
            .into_iter()
            .filter_map(|(number, needs)| open(number).map(|file| (number, file, needs)));
        found.collect()
    }

    /// The agent of a launcher that was killed may still be saving.
    fn wait_for_predecessor(&self) {
        let Ok(lock) = File::open(self.lock_file()) else { return };
        let since = Instant::now();
        while matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
            && since.elapsed() < LOCK_PATIENCE
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(format!("lock-{}", self.host))
    }

    /// This agent ends, and what follows is the last that it saves.
    pub fn begin_the_last(&self) {
        let locked = make(&self.folder).and_then(|_| open_own(&self.lock_file()));
        if let Some(lock) = locked.ok().filter(|lock| lock.try_lock().is_ok()) {
            let _ = self.lock.set(lock);
        }
    }

    /// Saves a file, unless that would take too long or too much room.
    ///
    /// # Errors
    /// The file cannot be saved.
    pub fn save(&self, number: u64, file: &OwnedFd, since: Instant) -> io::Result<()> {
        make(&self.folder)?;
        let target = self.path(number);
        let part = target.with_extension("part");
        let _ = fs::remove_file(&part);
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        let linked = rustix::fs::linkat(CWD, &source, CWD, &part, AtFlags::SYMLINK_FOLLOW);
        if linked.is_err() {
            let copied = copy(&source, &part, since);
            if copied.is_err() {
                let _ = fs::remove_file(&part);
            }
            copied?;
        }
        fs::rename(part, target)
    }

    /// Notes which images need the files that are saved.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note(&self, needs: &Needs) -> io::Result<()> {
        let part = self.folder.join(format!("host-{}.part", self.host));
        let list: Vec<_> = needs.iter().collect();
        let _ = fs::remove_file(&part);
        create_private(&part)?.write_all(&serde_json::to_vec(&list)?)?;
        fs::rename(&part, part.with_extension("json"))
    }

    /// No image needs the file any more.
    pub fn forget(&self, number: u64) {
        let _ = fs::remove_file(self.path(number));
    }
}

/// Copies a file, with its time of the last write.
fn copy(source: &str, target: &Path, since: Instant) -> io::Result<()> {
    let mut from = File::open(source)?;
    let about = from.metadata()?;
    let mut to = create_private(target)?;
    if rustix::fs::ioctl_ficlone(&to, &from).is_err() {
        let mut left = about.len();
        if !leaves_room(&to, left) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        while left > 0 && since.elapsed() < SAVED_FILES_LIMIT {
            // In pieces, so that a slow disk is noticed.
            let copied = io::copy(&mut io::Read::take(&mut from, PIECE_BYTES), &mut to)?;
            if copied == 0 {
                break;
            }
            left = left.saturating_sub(copied);
        }
        if left > 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    let mut times = FileTimes::new();
    if let Ok(modified) = about.modified() {
        times = times.set_modified(modified);
    }
    to.set_permissions(about.permissions())?;
    to.set_times(times)
}

/// Bytes that are copied between two looks at the clock.
const PIECE_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{ImageNo, Rank};
    use std::os::unix::fs::MetadataExt;

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    fn contents(file: &OwnedFd) -> String {
        fs::read_to_string(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
    }

    #[test]
    fn a_later_agent_finds_removed_and_renamed_files() {
        let job = tempfile::tempdir().unwrap();
        let need = Need { rank: Rank(1), image: ImageNo(3), replay: false };
        let saved = SavedFiles::of(job.path(), 0).unwrap();
        assert!(saved.load().is_empty());
        assert!(!job.path().join(KEPT_FILES).exists(), "nothing is made before it is needed");
        let now = Instant::now();
        let path = |name: &str| job.path().join(name);
        let mut needs = Needs::new();
        for (number, name) in [(1, "removed"), (2, "renamed")] {
            fs::write(path(name), name).unwrap();
            let file = open(&path(name));
            let written = fs::metadata(path(name)).unwrap().modified().unwrap();
            if number == 1 {
                fs::remove_file(path(name)).unwrap();
            } else {
                fs::rename(path(name), path("other")).unwrap();
            }
            saved.save(number, &file, now).unwrap();
            let about = fs::metadata(saved.path(number)).unwrap();
            assert_eq!(about.modified().unwrap(), written);
            assert_eq!(about.nlink(), number, "{name}: a copy, or a second name");
            needs.insert(number, BTreeSet::from([need]));
        }
        // Not listed: it was being saved when the agent died.
        fs::write(saved.path(9), "half").unwrap();
        saved.begin_the_last();
        saved.note(&needs).unwrap();
        drop(saved);
        let later = SavedFiles::of(job.path(), 0).unwrap();
        let found = later.load();
        let texts: Vec<_> = found
            .iter()
            .map(|(number, file, needs)| (*number, contents(file), needs.len()))
            .collect();
        assert_eq!(texts, [(1, "removed".to_owned(), 1), (2, "renamed".to_owned(), 1)]);
        later.forget(1);
        assert_eq!(later.load().len(), 1);
    }

    #[test]
    fn a_file_that_takes_too_long_is_not_saved() {
        let job = tempfile::tempdir().unwrap();
        let saved = SavedFiles::of(job.path(), 0).unwrap();
        let path = job.path().join("removed");
        fs::write(&path, "text").unwrap();
        let file = open(&path);
        fs::remove_file(&path).unwrap();
        let Some(long_ago) = Instant::now().checked_sub(2 * SAVED_FILES_LIMIT) else { return };
        let result = saved.save(1, &file, long_ago);
        // A file system that shares blocks between files needs no time.
        if result.is_err() {
            let names = fs::read_dir(job.path().join(KEPT_FILES)).unwrap().count();
            assert_eq!(names, 0, "nothing half is left");
        }
    }
}
