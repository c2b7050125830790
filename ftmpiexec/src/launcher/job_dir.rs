//! The job's directory: where the servers keep events and images.
//!
//! Guarantees: private to its owner; one that we made up is removed unless the job was given up;
//! one that the user named stays, with what is in it.

use crate::cli::Plan;
use crate::output::Printer;
use anyhow::{Context, bail};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory.
#[derive(Debug)]
pub struct JobDir {
    path: PathBuf,
    temporary: bool,
}

impl JobDir {
    /// Makes it and says where it is.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub fn create(plan: &Plan, printer: &Printer) -> anyhow::Result<Self> {
        let (path, temporary) = match &plan.job_dir {
            Some(path) => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(path)
                    .with_context(|| format!("--job-dir {} cannot be made", path.display()))?;
                (path.clone(), false)
            }
            None => {
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
        if let Err(e) = tempfile::tempfile_in(&path) {
            bail!(
                "the job directory {} cannot be written: {e}; choose another with --job-dir",
                path.display()
            );
        }
        let images = plan.ckpt_interval.is_some();
        printer.say(format!(
            "job directory {} ({}; {})",
            path.display(),
            if images {
                "about twice the memory of all ranks, compressed"
            } else {
                "events only: some MB"
            },
            if temporary { "removed after success" } else { "kept" }
        ));
        Ok(Self { path, temporary })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path, if it is ours to remove.
    pub fn temporary(&self) -> Option<PathBuf> {
        self.temporary.then(|| self.path.clone())
    }

    /// The job is over.
    pub fn finish(self, keep: bool, printer: &Printer) {
        if !self.temporary {
            return;
        }
        if keep {
            printer.say(format!("events and images are kept in {}", self.path.display()));
        } else if let Err(e) = std::fs::remove_dir_all(&self.path) {
            printer.say(format!("{} cannot be removed: {e}", self.path.display()));
        }
    }
}
