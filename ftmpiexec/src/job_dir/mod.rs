//! The job's directory: where the servers keep events and images, and what a later launcher needs to
//! go on with the job.
//!
//! Guarantees: private to its owner; used by one launcher at a time (a lock that ends with its
//! process); one that we made up is removed unless the job was given up; one that the user named
//! stays, with what is in it, and is never taken for a new job while it holds another that has not
//! ended.
//!
//! | name | what |
//! | --- | --- |
//! | `plan` | what the job is ([`plan_file`]) |
//! | `progress` | how far it has come outside of its processes ([`progress`]) |
//! | `input` | what was read of standard input |
//! | `image-key` | what images are encrypted with, unless the user keeps it elsewhere |
//! | `lock` | locked while a launcher uses the directory |
//! | `control` | socket of that launcher ([`crate::launcher`]) |
//! | `event-logger-N`, `channel-memory-N`, `checkpoint-server-N` | the servers' own |

pub mod plan_file;
pub mod progress;

use crate::cli::Plan;
use crate::output::Printer;
use anyhow::{Context, bail};
use ftmpi_transport::auth::JobKey;
use plan_file::Saved;
use progress::Progress;
use std::fs::{DirBuilder, DirEntry, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the key of encrypted images.
pub const IMAGE_KEY: &str = "image-key";
/// The launcher before us may just be dying.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// The directory.
#[derive(Debug)]
pub struct JobDir {
    path: PathBuf,
    temporary: bool,
    /// Nothing of the job was saved yet: it is a new one.
    fresh: bool,
    /// Locked; the system unlocks it when the process ends, however it ends.
    _lock: File,
}

impl JobDir {
    /// Makes it, or opens the one that is to be continued.
    ///
    /// # Errors
    /// It cannot be made or written, is in use, or holds another job.
    pub fn take(plan: &Plan) -> anyhow::Result<Self> {
        let (path, temporary) = match (&plan.continued, &plan.job_dir) {
            (Some(past), _) => (past.directory.clone(), false),
            (None, Some(path)) => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(path)
                    .with_context(|| format!("--job-dir {} cannot be made", path.display()))?;
                (path.clone(), false)
            }
            (None, None) => {
                let here = std::env::current_dir().context("the working directory")?;
                let made = tempfile::Builder::new()
                    .prefix("ftmpi-job-")
                    .tempdir_in(&here)
                    .with_context(|| {
                        format!(
                            "no job directory can be made in {}; name another with --job-dir",
                            here.display()
                        )
                    })?
                    .keep();
                (made, true)
            }
        };
        let path = path.canonicalize().with_context(|| format!("{}", path.display()))?;
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&path, private)
            .with_context(|| format!("{} cannot be made private", path.display()))?;
        let lock = lock(&path)?;
        let fresh = plan.continued.is_none();
        if !fresh {
            // The launcher that we waited for may have come to the end.
            Progress::must_not_have_ended(&path)?;
        }
        if fresh && !temporary {
            make_room(&path)?;
        }
        if let Err(e) = tempfile::tempfile_in(&path) {
            bail!(
                "the job directory {} cannot be written: {e}; choose another with --job-dir",
                path.display()
            );
        }
        Ok(Self { path, temporary, fresh, _lock: lock })
    }

    /// Tells the user where it is, and what it will take.
    pub fn announce(&self, plan: &Plan, printer: &Printer) {
        printer.notice(format!(
            "job directory {} ({}; {})",
            self.path.display(),
            if plan.ckpt_interval.is_some() {
                "two to four times the memory of all ranks, compressed"
            } else {
                "events only: some MB"
            },
            if self.temporary { "removed after success" } else { "kept" }
        ));
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path, if it is ours to remove.
    pub fn temporary(&self) -> Option<PathBuf> {
        self.temporary.then(|| self.path.clone())
    }

    /// Stores what the job is.
    ///
    /// # Errors
    /// It cannot be stored.
    pub fn save(&self, saved: &Saved) -> anyhow::Result<()> {
        saved.write(&self.path).with_context(|| {
            format!(
                "the plan of the job cannot be stored in {}; make room there or choose another \
                 place with --job-dir",
                self.path.display()
            )
        })
    }

    /// What images are encrypted with: in `file`, or in the directory; made for a new job.
    ///
    /// # Errors
    /// It cannot be read or made, or the images of an earlier launcher are encrypted with one that is gone.
    pub fn image_key(&self, file: Option<&Path>) -> anyhow::Result<JobKey> {
        let path = file.map_or_else(|| self.path.join(IMAGE_KEY), Path::to_owned);
        if path.exists() {
            return Ok(JobKey::read_file(&path)?);
        }
        if !self.fresh {
            bail!(
                "the images of this job are encrypted, and their key {} is not there; name it with \
                 --image-key",
                path.display()
            );
        }
        let key = JobKey::generate();
        key.write_file(&path)?;
        Ok(key)
    }

    /// How far the job has come; of a new job nothing.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn progress(&self, ranks: usize) -> anyhow::Result<Progress> {
        let progress = if self.fresh {
            Progress::create(&self.path, ranks)
        } else {
            Progress::open(&self.path, ranks)
        };
        progress.with_context(|| format!("the job's progress in {}", self.path.display()))
    }

    /// The file that keeps standard input.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn input(&self) -> std::io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(self.fresh)
            .mode(0o600)
            .open(self.path.join("input"))
    }

    /// Nothing has begun: the directory is as it was before, if the job is a new one.
    pub fn discard(self, printer: &Printer) {
        if !self.fresh {
            return;
        }
        let removed = if self.temporary {
            std::fs::remove_dir_all(&self.path).map_err(anyhow::Error::from)
        } else {
            ours(&self.path).and_then(remove)
        };
        if let Err(e) = removed {
            printer.notice(format!("{} cannot be cleared: {e:#}", self.path.display()));
        }
    }

    /// The job is over.
    pub fn finish(self, keep: bool, printer: &Printer) {
        if keep {
            printer.notice(format!(
                "events and images are kept; to go on: ftmpiexec --restart {}",
                self.path.display()
            ));
        } else if self.temporary
            && let Err(e) = std::fs::remove_dir_all(&self.path)
        {
            printer.notice(format!("{} cannot be removed: {e}", self.path.display()));
        }
    }
}

fn lock(path: &Path) -> anyhow::Result<File> {
    let file = path.join("lock");
    let about = || format!("the lock {}", file.display());
    let mut lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&file)
        .with_context(about)?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if since.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(TryLockError::WouldBlock) => {
                let who = std::fs::read_to_string(&file).unwrap_or_default();
                bail!(
                    "the job in {} is alive: {} uses its directory; end that one first",
                    path.display(),
                    if who.trim().is_empty() { "another launcher" } else { who.trim() }
                );
            }
            Err(TryLockError::Error(e)) => return Err(e).with_context(about),
        }
    }
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    // Only for the message above.
    let _ = lock.set_len(0);
    let _ = writeln!(lock, "ftmpiexec, process {} on {host},", std::process::id());
    Ok(lock)
}

/// What a job has put into a directory.
fn ours(path: &Path) -> anyhow::Result<Vec<DirEntry>> {
    let ours = |name: &str| {
        ["plan", "progress", "input", "control"].contains(&name)
            || name.starts_with("event-logger-")
            || name.starts_with("checkpoint-server-")
            || name.starts_with("channel-memory-")
    };
    Ok(std::fs::read_dir(path)
        .with_context(|| format!("the job directory {}", path.display()))?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(ours))
        // A directory that was made for a server, or mounted there, and has nothing in it.
        .filter(|entry| {
            std::fs::read_dir(entry.path()).map_or(true, |mut in_it| in_it.next().is_some())
        })
        .collect())
}

fn remove(entries: Vec<DirEntry>) -> anyhow::Result<()> {
    for entry in entries {
        let path = entry.path();
        let removed = if path.is_dir() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        removed.with_context(|| format!("{} of an earlier job", path.display()))?;
    }
    Ok(())
}

/// A directory that the user named for a new job: what a job that ended for good left there goes; what
/// could still be continued is not touched.
fn make_room(path: &Path) -> anyhow::Result<()> {
    let entries = ours(path)?;
    if entries.is_empty() {
        return Ok(());
    }
    if Progress::ended(path).is_some() {
        return remove(entries);
    }
    bail!(
        "{} holds a job that has not ended: go on with it (ftmpiexec --restart {}), or remove the \
         directory, or name another",
        path.display(),
        path.display()
    )
}
