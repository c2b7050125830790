//! The job's directory: where the servers keep events and images, and what a later launcher needs
//! to go on with the job.
//!
//! Guarantees: the directory is private to its owner. One launcher at a time uses it; the lock ends
//! with the launcher's process. A directory that the launcher made up is removed unless the job was
//! given up. A directory that the user named stays with its contents. A new job is refused a
//! directory that holds another job or files of somebody else, and changes nothing in it.
//!
//! | name | contents |
//! | --- | --- |
//! | `plan` | what the job is ([`plan_file`]) |
//! | `progress` | how far the job has come outside of its processes ([`progress`]) |
//! | `input` | what was read of standard input |
//! | `image-key` | the key of encrypted images, unless the user keeps it elsewhere |
//! | `lock` | locked while a launcher uses the directory |
//! | `control` | socket of that launcher ([`crate::launcher`]) |
//! | `event-logger-N`, `channel-memory-N`, `checkpoint-server-N` | the servers' own |

mod errors;
pub mod plan_file;
pub mod progress;

use crate::cli::Plan;
use crate::tuning::LOCK_PATIENCE;
pub use errors::JobDirError;
use ftmpi_transport::auth::JobKey;
use plan_file::Saved;
use progress::Progress;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the key of encrypted images.
pub const IMAGE_KEY: &str = "image-key";

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
    /// Makes the directory of a new job, or opens the one of a job that is continued.
    ///
    /// # Errors
    /// See [`JobDirError`].
    pub fn take(plan: &Plan) -> Result<Self, JobDirError> {
        match (&plan.continued, &plan.job_dir) {
            (Some(earlier), _) => Self::reopen(&earlier.directory),
            (None, Some(path)) => Self::named(path),
            (None, None) => Self::made_up(),
        }
    }

    fn reopen(directory: &Path) -> Result<Self, JobDirError> {
        let path = canonical(directory)?;
        make_private(&path)?;
        let lock = lock(&path)?;
        // The launcher whose lock was waited for may have come to the end.
        Progress::must_not_have_ended(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: false, fresh: false, _lock: lock })
    }

    fn named(directory: &Path) -> Result<Self, JobDirError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|e| JobDirError::NotMade(directory.to_owned(), e))?;
        let path = canonical(directory)?;
        check_ours(&path)?;
        make_private(&path)?;
        let lock = lock(&path)?;
        check_empty(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: false, fresh: true, _lock: lock })
    }

    fn made_up() -> Result<Self, JobDirError> {
        let here =
            std::env::current_dir().map_err(|e| JobDirError::NoTemporary(PathBuf::from("."), e))?;
        let made = tempfile::Builder::new().prefix("ftmpi-job-").tempdir_in(&here);
        let path = made.map_err(|e| JobDirError::NoTemporary(here, e))?.keep();
        let path = canonical(&path)?;
        // The umask decides about a new directory; others must not reach the job.
        make_private(&path)?;
        let lock = lock(&path)?;
        check_writable(&path)?;
        Ok(Self { path, temporary: true, fresh: true, _lock: lock })
    }

    /// A line for the user: where the directory is, and how much it will hold.
    pub fn describe(&self, plan: &Plan) -> String {
        format!(
            "job directory {}: it {}, and is {}",
            self.path.display(),
            if plan.ckpt_interval.is_some() {
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
        let stored = saved.write(&self.path);
        stored.map_err(|e| JobDirError::PlanNotStored(self.path.clone(), format!("{e:#}")))
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
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(self.fresh)
            .mode(0o600)
            .open(self.path.join("input"))
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
        if self.temporary {
            remove_tree(&self.path)?;
        }
        Ok(None)
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

fn make_private(path: &Path) -> Result<(), JobDirError> {
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, private).map_err(|e| JobDirError::Unusable(path.to_owned(), e))
}

fn check_writable(path: &Path) -> Result<(), JobDirError> {
    let probe = tempfile::tempfile_in(path);
    probe.map(drop).map_err(|e| JobDirError::NotWritable(path.to_owned(), e))
}

/// Locks the directory; waits a moment for a launcher that is just ending.
fn lock(path: &Path) -> Result<File, JobDirError> {
    let file = path.join("lock");
    let unusable = |e| JobDirError::Unusable(path.to_owned(), e);
    let mut lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&file)
        .map_err(unusable)?;
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

/// What a name in a job's directory belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// The state of a job.
    Job,
    /// A file of ours that does not make the directory the directory of a job, or a file that the
    /// file system makes.
    Harmless,
    /// Anything else.
    Foreign,
}

fn entry_of(name: &str) -> Entry {
    let servers = ["event-logger-", "checkpoint-server-", "channel-memory-"];
    // `plan.part` is a plan that was being written.
    if ["plan", "plan.part", "progress", "input", "control"].contains(&name)
        || servers.iter().any(|server| name.starts_with(server))
    {
        Entry::Job
    } else if ["lock", IMAGE_KEY, "lost+found", ".snapshot"].contains(&name)
        || name.starts_with(".nfs")
    {
        Entry::Harmless
    } else {
        Entry::Foreign
    }
}

fn names(path: &Path) -> Result<Vec<String>, JobDirError> {
    let entries = std::fs::read_dir(path).map_err(|e| JobDirError::Unusable(path.to_owned(), e))?;
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    Ok(entries.filter_map(Result::ok).map(name).collect())
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

/// Refuses a directory with files of somebody else.
fn check_ours(path: &Path) -> Result<(), JobDirError> {
    let names = names(path)?;
    if names.iter().any(|name| name == "plan") {
        return Ok(());
    }
    match names.into_iter().find(|name| entry_of(name) == Entry::Foreign) {
        Some(entry) => Err(JobDirError::NotOurs { directory: path.to_owned(), entry }),
        None => Ok(()),
    }
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
        std::fs::write(folder.path().join("plan"), "").unwrap();
        let alive = refused(folder.path());
        assert!(alive.contains("is alive: ftmpiexec, process"), "{alive}");
        drop(directory);
        let open = refused(folder.path());
        assert!(open.contains("holds a job that has not ended"), "{open}");
        progress.has_ended(3);
        let ended = refused(folder.path());
        let wanted = "has ended with exit code 3; choose another directory or remove it";
        assert!(ended.contains(wanted), "{ended}");
        let again = JobDir::reopen(folder.path()).unwrap_err().to_string();
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
