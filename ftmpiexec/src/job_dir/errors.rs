//! Why a job's directory cannot be used.

use ftmpi_servers::private_directory::NotSafe;
use std::io;
use std::path::PathBuf;

/// See the module's description.
#[derive(Debug, thiserror::Error)]
pub enum JobDirError {
    /// The directory of `--job-dir` cannot be made.
    #[error("--job-dir {0} cannot be made: {1}; name another directory")]
    NotMade(PathBuf, io::Error),
    /// No temporary directory can be made.
    #[error(
        "no job directory can be made in {place}: {error}, nor in {elsewhere}; name another with \
         --job-dir"
    )]
    NoTemporary {
        /// The working directory.
        place: PathBuf,
        /// The error of the system.
        error: io::Error,
        /// The directory for temporary files.
        elsewhere: PathBuf,
    },
    /// The directory cannot be read or changed.
    #[error("the job directory {0} cannot be used: {1}; name another with --job-dir")]
    Unusable(PathBuf, io::Error),
    /// Other users could change the files of a new job.
    #[error("--job-dir: {0}; name a new directory")]
    NotSafe(NotSafe),
    /// Other users could change the files of a job that is to be continued.
    #[error("--restart: {0}; continue the job as its user, in a directory of that user alone")]
    NotSafeToContinue(NotSafe),
    /// The name of the job's subdirectory belongs to something else.
    #[error(
        "--job-dir: {0} is no directory, and ftmpi did not put it there; remove it, or name a new \
         directory"
    )]
    NameTaken(PathBuf),
    /// No file can be made in the directory.
    #[error("the job directory {0} cannot be written: {1}; choose another with --job-dir")]
    NotWritable(PathBuf, io::Error),
    /// The directory has files that no job made.
    #[error(
        "--job-dir {directory} is not empty and holds no job (there is {entry}); name a new or an \
         empty directory"
    )]
    NotOurs {
        /// The directory.
        directory: PathBuf,
        /// One of the files.
        entry: String,
    },
    /// Another launcher uses the directory.
    #[error("the job in {directory} is alive: {owner} uses its directory; end that one first")]
    Alive {
        /// The directory.
        directory: PathBuf,
        /// The other launcher.
        owner: String,
    },
    /// The job in the directory has ended.
    #[error(
        "the job in {directory} has ended with exit code {code}; choose another directory or \
         remove it"
    )]
    Ended {
        /// The directory.
        directory: PathBuf,
        /// The exit code of the job.
        code: i32,
    },
    /// The job in the directory has ended, so it cannot be continued.
    #[error(
        "the job in {directory} has ended with exit code {code}: there is nothing to go on with; \
         start a new job in another directory"
    )]
    NothingToContinue {
        /// The directory.
        directory: PathBuf,
        /// The exit code of the job.
        code: i32,
    },
    /// The job in the directory can still be continued.
    #[error(
        "{0} holds a job that has not ended: go on with it (ftmpiexec --restart {0}), or remove the \
         directory, or name another"
    )]
    NotEnded(PathBuf),
    /// The plan cannot be stored.
    #[error(
        "the plan of the job cannot be stored in {0}: {1}; make room there or choose another place \
         with --job-dir"
    )]
    PlanNotStored(PathBuf, String),
    /// The images are encrypted, and the key is gone.
    #[error(
        "the images of this job are encrypted, and their key {0} is not there; name it with \
         --image-key"
    )]
    NoImageKey(PathBuf),
    /// The key of encrypted images cannot be read or made.
    #[error("the key of encrypted images {0}: {1}")]
    ImageKey(PathBuf, String),
    /// The progress cannot be read or made.
    #[error("the job's progress in {0}: {1}")]
    Progress(PathBuf, io::Error),
    /// The directory cannot be removed at the end.
    #[error("{0} cannot be removed: {1}; remove it by hand")]
    NotRemoved(PathBuf, io::Error),
}
