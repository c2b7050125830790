//! The state of a job, as its directory shows it: does the job run, has it ended, can it be
//! continued?
//!
//! A launcher holds the lock of the directory while it works on the job. The header of the file
//! `progress` says whether the job has ended and cannot be continued. The launcher writes that
//! header with [`ProgressHeader::encode`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Name of the file that a launcher locks.
pub const LOCK: &str = "lock";
/// Name of the file that tells how far a job has come.
pub const PROGRESS: &str = "progress";
/// Name of the file that holds the plan of a job.
pub const PLAN: &str = "plan";
/// Name of the directory that holds the files of a job, where the directory that the user named is
/// not private.
pub const SUBDIRECTORY: &str = "ftmpi-job";
/// Bytes of the header, and of each record, of the progress file.
pub const PROGRESS_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"FTMPIPRG";
const VERSION: u32 = 1;

/// The header of the progress file.
///
/// ```text
/// magic "FTMPIPRG" | version u32 | ranks u32 | input ended u32 | ended u32 | exit code i32 | zeros
/// | crc32c u32
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressHeader {
    /// Number of ranks.
    pub ranks: u32,
    /// Standard input is at its end.
    pub input_ended: bool,
    /// The exit code of a job that has ended and cannot be continued.
    pub exit_code: Option<i32>,
}

impl ProgressHeader {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; PROGRESS_BYTES] {
        let mut bytes = [0; PROGRESS_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.ranks.to_le_bytes());
        bytes[16..20].copy_from_slice(&u32::from(self.input_ended).to_le_bytes());
        bytes[20..24].copy_from_slice(&u32::from(self.exit_code.is_some()).to_le_bytes());
        bytes[24..28].copy_from_slice(&self.exit_code.unwrap_or(0).to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None`: these bytes are no such header, or are damaged.
    #[must_use]
    pub fn decode(bytes: &[u8; PROGRESS_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let sound =
            bytes[..8] == MAGIC && word(8) == VERSION && crc32c::crc32c(&bytes[..60]) == word(60);
        let exit_code = (word(20) != 0).then(|| word(24) as i32);
        sound.then(|| Self { ranks: word(12), input_ended: word(16) != 0, exit_code })
    }

    /// The header of the job in this directory, if it has a sound one.
    #[must_use]
    pub fn read(directory: &Path) -> Option<Self> {
        let mut bytes = [0; PROGRESS_BYTES];
        let file = File::open(directory.join(PROGRESS)).ok()?;
        file.read_exact_at(&mut bytes, 0).ok()?;
        Self::decode(&bytes)
    }
}

/// Where the files of a job lie, whose directory the user names: there, or in its
/// [`SUBDIRECTORY`].
#[must_use]
pub fn directory_of_job(named: &Path) -> PathBuf {
    let below = named.join(SUBDIRECTORY);
    let is_below = !named.join(PLAN).exists() && below.join(PLAN).exists();
    if is_below { below } else { named.to_owned() }
}

/// What becomes of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// A launcher works on the job. The text says which one.
    Running(String),
    /// The job has ended with this exit code and cannot be continued.
    Ended(i32),
    /// Nobody works on the job, and a launcher can continue it.
    Interrupted,
    /// The directory does not belong to a launcher: it is that of one server, or a copy of images.
    Unknown,
}

impl JobState {
    /// The state of the job in this directory.
    ///
    /// # Errors
    /// The lock of the directory cannot be read.
    pub fn of(directory: &Path) -> io::Result<Self> {
        if !directory.join(PLAN).exists() {
            return Ok(Self::Unknown);
        }
        if let JobLock::Held(by) = JobLock::try_take(directory)? {
            return Ok(Self::Running(by));
        }
        let header = ProgressHeader::read(directory);
        Ok(header.and_then(|header| header.exit_code).map_or(Self::Interrupted, Self::Ended))
    }
}

/// The lock of a job's directory.
#[derive(Debug)]
pub enum JobLock {
    /// This process has it, as long as the file is open. `None`: the directory has no lock.
    Taken(Option<File>),
    /// A launcher has it. The text says which one.
    Held(String),
}

impl JobLock {
    /// Takes the lock, unless a launcher has it. A launcher that starts meanwhile waits.
    ///
    /// # Errors
    /// The lock cannot be opened or taken.
    pub fn try_take(directory: &Path) -> io::Result<Self> {
        let path = directory.join(LOCK);
        let lock = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Taken(None)),
            Err(error) => return Err(error),
        };
        match lock.try_lock() {
            Ok(()) => Ok(Self::Taken(Some(lock))),
            Err(TryLockError::WouldBlock) => {
                let by = std::fs::read_to_string(&path).unwrap_or_default();
                Ok(Self::Held(by.trim().trim_end_matches(',').to_owned()))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_found_in_the_directory_that_the_user_named_or_below() {
        let folder = tempfile::tempdir().unwrap();
        let (named, below) = (folder.path(), folder.path().join(SUBDIRECTORY));
        assert_eq!(directory_of_job(named), named);
        std::fs::create_dir(&below).unwrap();
        assert_eq!(directory_of_job(named), named, "no job is there");
        std::fs::write(below.join(PLAN), "").unwrap();
        assert_eq!(directory_of_job(named), below);
        assert_eq!(directory_of_job(&below), below);
        std::fs::write(named.join(PLAN), "").unwrap();
        assert_eq!(directory_of_job(named), named);
    }

    #[test]
    fn a_header_is_read_back_and_a_damaged_one_is_none() {
        let header = ProgressHeader { ranks: 4, input_ended: true, exit_code: Some(-1) };
        let bytes = header.encode();
        assert_eq!(ProgressHeader::decode(&bytes), Some(header));
        for at in 0..PROGRESS_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 1;
            assert_eq!(ProgressHeader::decode(&damaged), None, "byte {at}");
        }
    }

    #[test]
    fn a_directory_shows_whether_its_job_runs_has_ended_or_can_be_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(JobState::of(path).unwrap(), JobState::Unknown);
        std::fs::write(path.join(PLAN), "").unwrap();
        assert_eq!(JobState::of(path).unwrap(), JobState::Interrupted);
        let mut header = ProgressHeader { ranks: 1, input_ended: false, exit_code: None };
        std::fs::write(path.join(PROGRESS), header.encode()).unwrap();
        std::fs::write(path.join(LOCK), "ftmpiexec, process 7 on a,\n").unwrap();
        assert_eq!(JobState::of(path).unwrap(), JobState::Interrupted);
        let lock = OpenOptions::new().read(true).write(true).open(path.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        let running = JobState::Running("ftmpiexec, process 7 on a".into());
        assert_eq!(JobState::of(path).unwrap(), running);
        drop(lock);
        header.exit_code = Some(3);
        std::fs::write(path.join(PROGRESS), header.encode()).unwrap();
        assert_eq!(JobState::of(path).unwrap(), JobState::Ended(3));
    }
}
