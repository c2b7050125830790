//! A file that an agent holds, so that ranks get it again whatever somebody puts in its place.
//!
//! Guarantees: what is said of a file is found out when it is asked for. Everything here may take
//! as long as a file server is silent, so no lock is held meanwhile.

use crate::program;
use ftmpi_wire::control::FileKey;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, StatxFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What tells two states of a file apart.
type Facts = (u64, u64, i64, i64, u64);

fn facts(stat: &Stat) -> Facts {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

/// A file as it was when a first incarnation used it.
#[derive(Debug)]
pub struct Held {
    /// With `O_PATH`.
    file: OwnedFd,
    /// The path that led to it.
    pub path: PathBuf,
    pub(super) facts: Facts,
    /// Build-id or digest.
    pub id: Vec<u8>,
    /// [`FileKey::digest`]
    pub digest: u64,
}

/// A file that is open, and not yet looked into.
#[derive(Debug)]
pub struct Opened {
    file: OwnedFd,
    pub(super) facts: Facts,
}

impl Opened {
    /// Opens the file at this path.
    ///
    /// # Errors
    /// There is none.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let facts = facts(&rustix::fs::fstat(&file)?);
        Ok(Self { file, facts })
    }

    /// Holds the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn hold(self, path: &Path) -> io::Result<Held> {
        let Self { file, facts } = self;
        let id = program::contents_id(&by_number(&file))?;
        let digest = key_of(&file)?.digest();
        Ok(Held { file, path: path.to_owned(), facts, id, digest })
    }
}

fn key_of(file: &OwnedFd) -> io::Result<FileKey> {
    let wanted = StatxFlags::BTIME | StatxFlags::INO;
    let about = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted)?;
    let told = about.stx_mask & StatxFlags::BTIME.bits() != 0;
    let birth = (about.stx_btime.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(u64::from(about.stx_btime.tv_nsec));
    Ok(FileKey {
        device: rustix::fs::makedev(about.stx_dev_major, about.stx_dev_minor),
        inode: about.stx_ino,
        birth: if told { birth } else { 0 },
    })
}

/// The path of an open file. The kernel resolves it in this process, and in one that was just
/// forked.
fn by_number(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What is at the path of a file now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The same file, or the same contents.
    Same,
    /// Something else or nothing; the file that is held is what it was.
    Replaced(PathBuf),
    /// Other contents, also of the file that is held.
    Overwritten,
}

/// Why a rank cannot begin as the program that it was.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is another program than the one that this job was started with, which is not there any \
     more: put it back, or start the job anew", .0.display()
)]
pub struct OtherProgram(pub PathBuf);

/// The file that a rank executes.
#[derive(Debug)]
pub struct Executable {
    /// As the command line names it.
    pub path: PathBuf,
    /// What is executed: the same, or the file that is held.
    pub execute: PathBuf,
}

impl Held {
    /// What is at its path now.
    pub fn state(&self) -> State {
        let is_same = |path: &Path| program::contents_id(path).is_ok_and(|id| id == self.id);
        let now = rustix::fs::stat(&self.path).ok();
        if now.is_some_and(|now| facts(&now) == self.facts) || is_same(&self.path) {
            State::Same
        } else if is_same(&by_number(&self.file)) {
            State::Replaced(by_number(&self.file))
        } else {
            State::Overwritten
        }
    }

    /// What to execute for a program that was executed before.
    ///
    /// # Errors
    /// The program is gone.
    pub fn executable(&self) -> Result<Executable, OtherProgram> {
        let path = self.path.clone();
        match self.state() {
            State::Same => Ok(Executable { execute: path.clone(), path }),
            // (A script is given its own name, which must lead to it.)
            State::Replaced(held) if !program::is_script(&held) => {
                Ok(Executable { path, execute: held })
            }
            _ => Err(OtherProgram(path)),
        }
    }

    /// A copy of its descriptor.
    pub fn descriptor(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok()
    }

    /// How other processes reach it.
    pub fn target(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// Device and inode number of the file at this path.
pub fn name_at(path: &Path) -> Option<(u64, u64)> {
    rustix::fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino))
}
