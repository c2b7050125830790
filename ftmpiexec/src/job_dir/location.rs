//! Where the files of a new job lie, if the directory that the user names exists.
//!
//! Guarantees: the mode of the directory stays. Others can neither change nor replace the files of
//! the job. A directory with files that no job made is refused, and nothing is changed in it.
//!
//! | the directory | the files of the job |
//! | --- | --- |
//! | this user's, and private | in the directory |
//! | has a job, its key or its folders | in the directory, if only this user can write there |
//! | open to others | in a private directory below |
//! | of another user, or open to everybody without being *sticky* | refused |

use super::continuations;
use super::errors::JobDirError;
use super::{IMAGE_KEY, KEPT_FILES};
use ftmpi_servers::job_state::{PLAN, SUBDIRECTORY};
use ftmpi_servers::private_directory::{PROBE, Standing, make};
use std::path::{Path, PathBuf};

/// What a name in a job's directory belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// The state of a job.
    Job,
    /// A file of ours that does not make the directory the directory of a job, or a file that the
    /// file system makes.
    Harmless,
    /// Anything else.
    Foreign,
}

pub(super) fn entry_of(name: &str) -> Entry {
    let servers = ["event-logger-", "checkpoint-server-", "channel-memory-"];
    // `plan.part` is a plan that was being written.
    let files =
        ["plan", "plan.part", "progress", "input", "control", continuations::NAME, KEPT_FILES];
    if files.contains(&name) || servers.iter().any(|server| name.starts_with(server)) {
        Entry::Job
    } else if ["lock", IMAGE_KEY, SUBDIRECTORY, "lost+found", ".snapshot"].contains(&name)
        || [".nfs", PROBE].iter().any(|begin| name.starts_with(begin))
    {
        Entry::Harmless
    } else {
        Entry::Foreign
    }
}

pub(super) fn names(path: &Path) -> Result<Vec<String>, JobDirError> {
    let entries = std::fs::read_dir(path).map_err(|e| JobDirError::Unusable(path.to_owned(), e))?;
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    Ok(entries.filter_map(Result::ok).map(name).collect())
}

/// The directory for the files of a new job, within a directory that exists.
///
/// # Errors
/// The directory has files of somebody else, or others could change the files of the job.
pub(super) fn in_existing(path: &Path) -> Result<PathBuf, JobDirError> {
    let standing = Standing::of(path).map_err(JobDirError::NotSafe)?;
    let names = names(path)?;
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let foreign = names.iter().find(|name| entry_of(name) == Entry::Foreign);
    if let Some(entry) = foreign.filter(|_| !has(PLAN)) {
        return Err(JobDirError::NotOurs { directory: path.to_owned(), entry: entry.clone() });
    }
    if has(IMAGE_KEY) || names.iter().any(|name| entry_of(name) == Entry::Job) {
        standing.must_be_ours_alone().map_err(JobDirError::NotSafe)?;
        return Ok(path.to_owned());
    }
    if standing.is_private() && !has(SUBDIRECTORY) {
        return Ok(path.to_owned());
    }
    standing.must_keep_a_directory_of_ours().map_err(JobDirError::NotSafe)?;
    let below = path.join(SUBDIRECTORY);
    let made = make(&below);
    // A symbolic link that somebody put there, for example.
    if std::fs::symlink_metadata(&below).is_ok_and(|about| !about.is_dir()) {
        return Err(JobDirError::NameTaken(below));
    }
    made.map_err(|e| JobDirError::NotMade(below.clone(), e))?;
    let standing = Standing::of(&below).and_then(|standing| standing.must_be_ours_alone());
    standing.map_err(JobDirError::NotSafe)?;
    Ok(below)
}
