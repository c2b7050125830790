//! The few ways in which stable storage is changed: create, write, cut, sync, rename, remove, sync a
//! directory.
//!
//! Every change of what servers and launcher keep goes through [`Files`], so that a test can fail each
//! single one, or end the "process" or the "power" right before it ([`Watch`]). In production there is
//! no watcher and nothing but the system call.

mod append;
mod read_ahead;

pub use append::Appender;
pub use read_ahead::Source;

use crate::server_process::create_private;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// One change that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// A new file.
    Create(&'a Path),
    /// Bytes into a file.
    Write {
        /// Which.
        path: &'a Path,
        /// Where.
        offset: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// The length of a file is set.
    Cut {
        /// Which.
        path: &'a Path,
        /// To so many bytes.
        bytes: u64,
    },
    /// The bytes of a file become durable.
    Sync(&'a Path),
    /// A file gets another name, perhaps that of one that is there.
    Rename {
        /// From here.
        from: &'a Path,
        /// To there.
        to: &'a Path,
    },
    /// A name goes.
    Remove(&'a Path),
    /// The names in a directory become durable.
    SyncDir(&'a Path),
}

/// Looks at each change before it is made.
pub trait Watch: Debug + Send + Sync {
    /// # Errors
    /// The change is not made and fails with this.
    fn before(&self, op: Op<'_>) -> io::Result<()>;

    /// The change was made.
    fn after(&self, _op: Op<'_>) {}
}

/// Makes the changes.
#[derive(Debug, Clone, Default)]
pub struct Files {
    watch: Option<Arc<dyn Watch>>,
    volatile: bool,
}

/// An open file.
#[derive(Debug)]
pub struct StoreFile {
    file: File,
    path: PathBuf,
    files: Files,
    reached: Mutex<Reached>,
}

/// How much of a file that only grows is on the disk.
#[derive(Debug, Default)]
struct Reached {
    /// The first so many bytes are.
    sure: u64,
    /// A sync failed when there were so many: those behind `sure` may be lost, and no later sync tells.
    lost: u64,
}

/// Bytes that are written again at a time.
const AGAIN_BYTES: u64 = 1 << 20;

impl Files {
    /// With somebody who looks at each change.
    #[must_use]
    pub fn watched(watch: Arc<dyn Watch>) -> Self {
        Self { watch: Some(watch), volatile: false }
    }

    /// Of what need not survive a loss of power: nothing is synced.
    #[must_use]
    pub fn volatile() -> Self {
        Self { watch: None, volatile: true }
    }

    fn change<T>(&self, op: Op<'_>, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let Some(watch) = &self.watch else { return change() };
        watch.before(op)?;
        let done = change()?;
        watch.after(op);
        Ok(done)
    }

    /// A new file that only its owner may read.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn create(&self, path: &Path) -> io::Result<StoreFile> {
        let file = self.change(Op::Create(path), || create_private(path))?;
        Ok(StoreFile::new(file, path, self))
    }

    /// A file that is there, to be read and written.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self, path: &Path) -> io::Result<StoreFile> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(StoreFile::new(file, path, self))
    }

    /// Gives a file another name; what had that name is gone.
    ///
    /// # Errors
    /// Nothing was changed.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Op::Rename { from, to }, || std::fs::rename(from, to))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It is not there, or stays.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(Op::Remove(path), || std::fs::remove_file(path))
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// They may or may not be.
    pub fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if self.volatile {
            return Ok(());
        }
        self.change(Op::SyncDir(path), || File::open(path)?.sync_all())
    }

    /// Puts a whole file in the place of another, durably: whatever happens in between, the old one
    /// or the new one is there, never a part. `scratch` is a name in the same directory.
    ///
    /// # Errors
    /// The old one stands (after a failed sync of the directory perhaps the new one).
    pub fn replace(&self, path: &Path, scratch: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.remove(scratch) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let file = self.create(scratch)?;
        file.write_all_at(bytes, 0)?;
        file.sync()?;
        self.rename(scratch, path)?;
        match path.parent() {
            Some(parent) => self.sync_dir(parent),
            None => Ok(()),
        }
    }
}

impl StoreFile {
    fn new(file: File, path: &Path, files: &Files) -> Self {
        Self { file, path: path.to_owned(), files: files.clone(), reached: Mutex::default() }
    }

    /// Writes all of it or fails; then a part may have been written.
    ///
    /// # Errors
    /// The disk is full, or worse.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let op = Op::Write { path: &self.path, offset, bytes };
        self.files.change(op, || self.file.write_all_at(bytes, offset))
    }

    /// Cuts it.
    ///
    /// # Errors
    /// It has its old length.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.files.change(Op::Cut { path: &self.path, bytes }, || self.file.set_len(bytes))
    }

    /// Makes what was written durable. After an error the file is to be given up or written anew: the system
    /// tells of a loss once, and takes what it has lost for written from then on.
    ///
    /// # Errors
    /// Nobody knows what of it is.
    pub fn sync(&self) -> io::Result<()> {
        if self.files.volatile {
            return Ok(());
        }
        self.files.change(Op::Sync(&self.path), || self.file.sync_data())
    }

    /// Makes the first `end` bytes of a file that only grows durable, whatever has become of earlier syncs:
    /// what one of them may have lost is written once more. Nobody changes these bytes meanwhile.
    ///
    /// # Errors
    /// Nobody knows what of them is; to be tried again.
    pub fn sync_first(&self, end: u64) -> io::Result<()> {
        if self.files.volatile {
            return Ok(());
        }
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_again(reached.sure, reached.lost.min(end))?;
        if let Err(error) = self.sync() {
            reached.lost = self.file.metadata().map_or(u64::MAX, |about| about.len());
            return Err(error);
        }
        reached.sure = reached.sure.max(end);
        Ok(())
    }

    /// A sync may have failed, here or in a process before: of the first `lost` bytes those behind `sure` may
    /// not be on the disk.
    pub fn doubt(&self, sure: u64, lost: u64) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Reached { sure, lost };
    }

    /// Whether the next [`StoreFile::sync_first`] writes something once more.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        reached.lost > reached.sure
    }

    fn write_again(&self, mut from: u64, end: u64) -> io::Result<()> {
        let mut part = Vec::new();
        while from < end {
            part.resize(AGAIN_BYTES.min(end - from) as usize, 0);
            self.file.read_exact_at(&mut part, from)?;
            self.write_all_at(&part, from)?;
            from += part.len() as u64;
        }
        Ok(())
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.file.try_clone()?, &self.path, &self.files))
    }

    /// The file itself, for reading.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it was made.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
