//! The job's directory: where the servers keep events and images, and what a later launcher needs
//! to go on with the job.
//!
//! Guarantees: nobody but its owner can change what is in the directory; a directory that exists
//! keeps its mode ([`location`]). One launcher at a time uses it; the lock ends with the launcher's
//! process. A directory that the launcher made up is removed unless the job was
//! given up. A directory that the user named stays with its contents. A new job is refused a
//! directory that holds another job or files of somebody else, and changes nothing in it.
//!
//! | name | contents |
//! | --- | --- |
//! | `plan` | what the job is ([`plan_file`]) |
//! | `progress` | how far the job has come outside of its processes ([`progress`]) |
//! | `continuations` | how often it was continued without a newer image ([`continuations`]) |
//! | `input` | what was read of standard input |
//! | `image-key` | the key of encrypted images, unless the user keeps it elsewhere |
//! | `lock` | locked while a launcher uses the directory |
//! | `control` | socket of that launcher ([`crate::launcher`]) |
//! | `kept-files` | files that images rest on (the agent's `saved_files`) |
//! | `event-logger-N`, `channel-memory-N`, `checkpoint-server-N` | the servers' own |

pub mod continuations;
mod errors;
mod location;
pub mod plan_file;
pub mod progress;

use crate::tuning::LOCK_PATIENCE;
pub use errors::JobDirError;
use ftmpi_servers::private_directory::{Standing, make, open_own, open_own_empty};
use ftmpi_transport::auth::JobKey;
use location::{Entry, entry_of, names};
use plan_file::{EarlierRun, Saved};
use progress::Progress;
use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the key of encrypted images.
pub const IMAGE_KEY: &str = "image-key";
/// Name of the folder of files that images rest on.
pub const KEPT_FILES: &str = "kept-files";

/// A job's directory that this launcher has locked.
#[derive(Debug)]
pub struct JobDir {
    path: PathBuf,
    temporary: bool,
    /// Nothing of the job was stored before: the job is a new one.
    fresh: bool,
    /// The system unlocks it when the process ends, however it ends.
    _lock: File,
}

impl JobDir {
    /// Makes the directory of a new job (at `path`, or a temporary one), or opens the one of a job
    /// that is continued.
    ///
    /// # Errors
    /// See [`JobDirError`].
    pub fn take(continued: Option<&EarlierRun>, path: Option<&Path>) -> Result<Self, JobDirError> {
        match (continued, path) {
            (Some(earlier), _) => Self::reopen(&earlier.directory),
            (None, Some(path)) => Self::named(path),
            (None, None) => Self::made_up(),
        }
    }

    fn reopen(directory: &Path) -> Result<Self, JobDirError> {
        let path = canonical(directory)?;
        let standing = Standing::of(&path).and_then(|standing| standing.must_be_ours_alone());
        standing.map_err(JobDirError::NotSafeToContinue)?;
        let lock = lock(&path)?;
        // The launcher whose lock was waited for may have come to the end.
        Progress::must_not_have_ended(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: false, fresh: false, _lock: lock })
    }

    fn named(directory: &Path) -> Result<Self, JobDirError> {
        let new = make(directory).map_err(|e| JobDirError::NotMade(directory.to_owned(), e))?;
        let path = canonical(directory)?;
        let path = if new { path } else { location::in_existing(&path)? };
        let lock = lock(&path)?;
        check_empty(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: false, fresh: true, _lock: lock })
    }

    fn made_up() -> Result<Self, JobDirError> {
        let path = make_temporary()?;
        let path = canonical(&path)?;
        // The umask may have taken more away.
        std::fs::set_permissions(&path, Permissions::from_mode(0o700))
            .map_err(|e| JobDirError::Unusable(path.clone(), e))?;
        let lock = lock(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: true, fresh: true, _lock: lock })
    }

    /// A line for the user: where the directory is, and how much it will hold.
    pub fn describe(&self, takes_images: bool) -> String {
        format!(
            "job directory {}: it {}, and is {}",
            self.path.display(),
            if takes_images {
                "takes two to four times the memory of all ranks, compressed"
            } else {
                "holds events only, some MB"
            },
            if self.temporary { "removed after success" } else { "kept" }
        )
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the directory, if it is ours to remove.
    pub fn temporary(&self) -> Option<PathBuf> {
        self.temporary.then(|| self.path.clone())
    }

    /// Stores what the job is.
    ///
    /// # Errors
    /// [`JobDirError::PlanNotStored`]
    pub fn save(&self, saved: &Saved) -> Result<(), JobDirError> {
        Self::save_in(&self.path, saved)
    }

    /// Stores what the job in this directory is.
    ///
    /// # Errors
    /// [`JobDirError::PlanNotStored`]
    pub fn save_in(path: &Path, saved: &Saved) -> Result<(), JobDirError> {
        let stored = saved.write(path);
        stored.map_err(|e| JobDirError::PlanNotStored(path.to_owned(), format!("{e:#}")))
    }

    /// The key of encrypted images: in `file`, or in the directory. A new job gets a new key.
    ///
    /// # Errors
    /// The key cannot be read or made, or the key of an earlier launcher's images is gone.
    pub fn image_key(&self, file: Option<&Path>) -> Result<JobKey, JobDirError> {
        let path = file.map_or_else(|| self.path.join(IMAGE_KEY), Path::to_owned);
        if path.exists() {
            return JobKey::read_file(&path)
                .map_err(|e| JobDirError::ImageKey(path, e.to_string()));
        }
        if !self.fresh {
            return Err(JobDirError::NoImageKey(path));
        }
        let key = JobKey::generate();
        key.write_file(&path).map_err(|e| JobDirError::ImageKey(path, e.to_string()))?;
        Ok(key)
    }

    /// How far the job has come.
    ///
    /// # Errors
    /// The file cannot be made or opened.
    pub fn progress(&self, ranks: usize) -> Result<Progress, JobDirError> {
        let progress = match self.fresh {
            true => Progress::create(&self.path, ranks),
            false => Progress::open(&self.path, ranks),
        };
        progress.map_err(|e| JobDirError::Progress(self.path.clone(), e))
    }

    /// The file that keeps standard input.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn input(&self) -> io::Result<File> {
        let path = self.path.join("input");
        if self.fresh { open_own_empty(&path) } else { open_own(&path) }
    }

    /// Nothing has begun: the directory of a new job becomes as it was before.
    ///
    /// # Errors
    /// [`JobDirError::NotRemoved`]
    pub fn discard(self) -> Result<(), JobDirError> {
        if !self.fresh {
            return Ok(());
        }
        if self.temporary {
            return remove_tree(&self.path);
        }
        for name in job_files(&self.path)? {
            let path = self.path.join(name);
            if path.is_dir() {
                remove_tree(&path)?;
            } else {
                std::fs::remove_file(&path).map_err(|e| JobDirError::NotRemoved(path, e))?;
            }
        }
        Ok(())
    }

    /// The job is over. The result is the line for the user, if there is one.
    ///
    /// # Errors
    /// [`JobDirError::NotRemoved`]
    pub fn finish(self, keep: bool) -> Result<Option<String>, JobDirError> {
        if keep {
            let directory = self.path.display();
            return Ok(Some(format!(
                "events and images are kept; to go on: ftmpiexec --restart {directory}"
            )));
        }
        let kept_files = self.path.join(KEPT_FILES);
        remove_tree(if self.temporary { &self.path } else { &kept_files })?;
        Ok(None)
    }
}

/// A new directory below the working directory, or below `TMPDIR` where that cannot be written.
fn make_temporary() -> Result<PathBuf, JobDirError> {
    let below = |place: &Path| {
        let private = Permissions::from_mode(0o700);
        tempfile::Builder::new().prefix("ftmpi-job-").permissions(private).tempdir_in(place)
    };
    let here = std::env::current_dir();
    match here.as_ref().map_or_else(|e| Err(io::Error::from(e.kind())), |here| below(here)) {
        Ok(made) => Ok(made.keep()),
        Err(error) => {
            let elsewhere = std::env::temp_dir();
            let place = here.unwrap_or_else(|_| PathBuf::from("."));
            let made = below(&elsewhere);
            Ok(made.map_err(|_| JobDirError::NoTemporary { place, error, elsewhere })?.keep())
        }
    }
}

/// Removes a directory. One that is gone counts as removed: a host that shares the file system may
/// have removed it.
fn remove_tree(path: &Path) -> Result<(), JobDirError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(JobDirError::NotRemoved(path.to_owned(), e))
        }
        _ => Ok(()),
    }
}

fn canonical(path: &Path) -> Result<PathBuf, JobDirError> {
    path.canonicalize().map_err(|e| JobDirError::Unusable(path.to_owned(), e))
}

fn check_writable(path: &Path) -> Result<(), JobDirError> {
    let probe = tempfile::tempfile_in(path);
    probe.map(drop).map_err(|e| JobDirError::NotWritable(path.to_owned(), e))
}

/// Locks the directory; waits a moment for a launcher that is just ending.
fn lock(path: &Path) -> Result<File, JobDirError> {
    let file = path.join("lock");
    let unusable = |e| JobDirError::Unusable(path.to_owned(), e);
    let mut lock = open_own(&file).map_err(unusable)?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if since.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(TryLockError::WouldBlock) => {
                let owner = std::fs::read_to_string(&file).unwrap_or_default();
                let owner = owner.trim();
                let owner = if owner.is_empty() { "another launcher" } else { owner }.to_owned();
                return Err(JobDirError::Alive { directory: path.to_owned(), owner });
            }
            Err(TryLockError::Error(e)) => return Err(unusable(e)),
        }
    }
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    // Only for the text of `JobDirError::Alive`.
    let _ = lock.set_len(0);
    let _ = writeln!(lock, "ftmpiexec, process {} on {host},", std::process::id());
    Ok(lock)
}

/// The names of what a job has left in a directory. An empty directory of a server does not count:
/// it may have been made for the server, or be mounted there.
fn job_files(path: &Path) -> Result<Vec<String>, JobDirError> {
    let filled = |name: &String| {
        std::fs::read_dir(path.join(name)).map_or(true, |mut inside| inside.next().is_some())
    };
    let all = names(path)?.into_iter();
    Ok(all.filter(|name| entry_of(name) == Entry::Job).filter(filled).collect())
}

/// Refuses a directory that holds a job, ended or not.
fn check_empty(path: &Path) -> Result<(), JobDirError> {
    if job_files(path)?.is_empty() {
        return Ok(());
    }
    let directory = path.to_owned();
    Err(match Progress::ended(path) {
        Some(code) => JobDirError::Ended { directory, code },
        None => JobDirError::NotEnded(directory),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        JobDir::named(path).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(path.join("thesis.tex"), "").unwrap();
        let text = refused(&path);
        assert!(text.contains("is not empty and holds no job (there is thesis.tex)"), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!path.join("lock").exists());
    }

    #[test]
    fn a_directory_that_exists_keeps_its_mode_and_gets_a_private_one() {
        for (mode, below) in [(0o755, true), (0o1777, true), (0o2775, true), (0o700, false)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("given");
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let directory = JobDir::named(&path).unwrap();
            let expected = if below { path.join("ftmpi-job") } else { path.clone() };
            assert_eq!(directory.path(), expected.canonicalize().unwrap(), "{mode:o}");
            let mode_of = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode_of(&path), mode);
            assert_eq!(mode_of(directory.path()) & 0o777, 0o700);
            // The job is found again, and refused to another one.
            std::fs::write(directory.path().join("plan"), "").unwrap();
            drop(directory);
            assert!(refused(&path).contains("holds a job that has not ended"));
            let found = ftmpi_servers::job_state::directory_of_job(&path);
            assert_eq!(JobDir::reopen(&found).unwrap().path(), expected.canonicalize().unwrap());
            assert_eq!(mode_of(&path), mode);
        }
    }

    #[test]
    fn planted_links_are_refused_and_their_targets_stay() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let mut begin = 0;
        let mut planted = |name: &str, mode| {
            begin += 1;
            let path = folder.path().join(format!("d{begin}"));
            std::fs::create_dir(&path).unwrap();
            std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        for mode in [0o700, 0o1777] {
            let why = refused(&planted("ftmpi-job", mode));
            assert!(why.contains("ftmpi-job is no directory"), "{why}");
        }
        let why = refused(&planted("lock", 0o700));
        assert!(why.contains("lock is a symbolic link"), "{why}");
        // What lies in the open is not used.
        let directory = JobDir::named(&planted("lock", 0o1777)).unwrap();
        assert!(directory.path().ends_with("ftmpi-job"));
        let why = refused(&planted("lock", 0o777));
        assert!(why.contains("can be written by other users (mode 777)"), "{why}");
        // A link that came after the directory was taken.
        let directory = JobDir::named(&folder.path().join("new")).unwrap();
        for name in ["progress", "input"] {
            std::os::unix::fs::symlink(&victim, directory.path().join(name)).unwrap();
        }
        assert!(directory.progress(1).is_err() && directory.input().is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            // Only root can give a directory away.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o700, 0o755, 0o1777] {
            let path = folder.path().join(format!("of-another-{mode:o}"));
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            let why = refused(&path);
            assert!(why.contains("belongs to user 65534"), "{why}");
            std::fs::write(path.join("plan"), "").unwrap();
            let why = JobDir::reopen(&path).unwrap_err().to_string();
            assert!(why.contains("--restart") && why.contains("user 65534"), "{why}");
            assert_eq!(names(&path).unwrap(), ["plan"]);
        }
    }

    #[test]
    fn a_directory_that_the_launcher_makes_is_private_under_every_umask() {
        let directory = JobDir::made_up().unwrap();
        let mode = std::fs::metadata(directory.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::remove_dir_all(directory.path()).unwrap();
    }

    #[test]
    fn a_plan_that_was_being_written_does_not_make_a_directory_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let directory = JobDir::named(&path).unwrap();
        std::fs::write(path.join("plan.part"), "half").unwrap();
        directory.discard().unwrap();
        assert!(!path.join("plan.part").exists());
        JobDir::named(&path).unwrap();
    }

    #[test]
    fn a_new_job_gets_an_empty_directory_and_leaves_it_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let directory = JobDir::named(&path).unwrap();
        directory.progress(2).unwrap();
        directory.input().unwrap();
        directory.discard().unwrap();
        assert_eq!(job_files(&path).unwrap(), Vec::<String>::new());
        // What a file system makes, and a key that the user put there, do not hinder.
        std::fs::create_dir(path.join("lost+found")).unwrap();
        std::fs::create_dir(path.join("event-logger-0")).unwrap();
        std::fs::write(path.join(IMAGE_KEY), "").unwrap();
        JobDir::named(&path).unwrap();
    }

    #[test]
    fn the_directory_of_another_job_is_refused_by_its_state() {
        let folder = tempfile::tempdir().unwrap();
        let directory = JobDir::named(folder.path()).unwrap();
        let mut progress = directory.progress(1).unwrap();
        let home = directory.path().to_owned();
        std::fs::write(home.join("plan"), "").unwrap();
        let alive = refused(folder.path());
        assert!(alive.contains("is alive: ftmpiexec, process"), "{alive}");
        drop(directory);
        let open = refused(folder.path());
        assert!(open.contains("holds a job that has not ended"), "{open}");
        progress.has_ended(3);
        let ended = refused(folder.path());
        let wanted = "has ended with exit code 3; choose another directory or remove it";
        assert!(ended.contains(wanted), "{ended}");
        let again = JobDir::reopen(&home).unwrap_err().to_string();
        assert!(again.contains("nothing to go on with"), "{again}");
    }

    /// A server on another host that shares the file system had the directory removed there.
    #[test]
    fn a_directory_that_is_gone_at_the_end_is_no_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ftmpi-job-1");
        let taken = |path: &Path| JobDir { temporary: true, ..JobDir::named(path).unwrap() };
        let directory = taken(&path);
        std::fs::remove_dir_all(&path).unwrap();
        assert!(directory.finish(false).unwrap().is_none());
        let directory = taken(&path);
        std::fs::remove_dir_all(&path).unwrap();
        directory.discard().unwrap();
    }
}
