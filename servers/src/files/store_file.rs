//! [`Files`] makes changes, [`StoreFile`] is an open file, [`Watch`] sees each change.

use crate::private_directory::create_private;
use crate::tuning::files::REWRITE_BYTES;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// One change that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// A new file.
    Create(&'a Path),
    /// Bytes into a file.
    Write {
        /// The file.
        path: &'a Path,
        /// The offset.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The length of a file is set.
    Cut {
        /// The file.
        path: &'a Path,
        /// The new length.
        bytes: u64,
    },
    /// The bytes of a file become durable.
    Sync(&'a Path),
    /// A file gets another name, perhaps that of an existing file.
    Rename {
        /// The old name.
        from: &'a Path,
        /// The new name.
        to: &'a Path,
    },
    /// A name is removed.
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

/// A disk that is slow.
#[derive(Debug)]
struct SlowDisk(Duration);

impl Watch for SlowDisk {
    fn before(&self, op: Op<'_>) -> io::Result<()> {
        if matches!(op, Op::Write { .. } | Op::Sync(_)) {
            std::thread::sleep(self.0);
        }
        Ok(())
    }
}

/// Makes changes.
#[derive(Debug, Clone, Default)]
pub struct Files {
    watch: Option<Arc<dyn Watch>>,
    pub(super) volatile: bool,
}

/// An open file.
#[derive(Debug)]
pub struct StoreFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) files: Files,
    reached: Mutex<Reached>,
}

/// How much of a file that only grows is on the disk.
#[derive(Debug, Default)]
struct Reached {
    /// This many first bytes are on the disk.
    sure: u64,
    /// A sync failed when the file had this many bytes. Those after `sure` may be lost, and no
    /// later sync reports it.
    lost: u64,
}

impl Files {
    /// Shows each change to a watcher.
    #[must_use]
    pub fn watched(watch: Arc<dyn Watch>) -> Self {
        Self { watch: Some(watch), volatile: false }
    }

    /// Each write and each sync takes so much longer (fault injection).
    #[must_use]
    pub fn slowed_by(time: Duration) -> Self {
        if time.is_zero() { Self::default() } else { Self::watched(Arc::new(SlowDisk(time))) }
    }

    /// For files that need not survive a loss of power: nothing is synced.
    #[must_use]
    pub fn volatile() -> Self {
        Self { watch: None, volatile: true }
    }

    pub(super) fn change<T>(
        &self,
        op: Op<'_>,
        change: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(watch) = &self.watch else { return change() };
        watch.before(op)?;
        let done = change()?;
        watch.after(op);
        Ok(done)
    }

    /// Makes a file that only its owner may read.
    ///
    /// # Errors
    /// The file is there already, or cannot be made.
    pub fn create(&self, path: &Path) -> io::Result<StoreFile> {
        let file = self.change(Op::Create(path), || create_private(path))?;
        Ok(StoreFile::new(file, path, self))
    }

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(&self, path: &Path) -> io::Result<StoreFile> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(StoreFile::new(file, path, self))
    }

    /// Gives a file another name. A file that had that name is gone.
    ///
    /// # Errors
    /// Nothing was changed.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Op::Rename { from, to }, || std::fs::rename(from, to))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The file is not there, or stays.
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

    /// Replaces a file durably: at any moment the old one or the new one is there, never a part.
    /// `scratch` is a name in the same directory.
    ///
    /// # Errors
    /// The old file stays; after a failed sync of the directory perhaps the new one.
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

    /// Writes all bytes.
    ///
    /// # Errors
    /// The disk is full, or fails. A part may be written.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let op = Op::Write { path: &self.path, offset, bytes };
        self.files.change(op, || self.file.write_all_at(bytes, offset))
    }

    /// Sets the length.
    ///
    /// # Errors
    /// The file has its old length.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.files.change(Op::Cut { path: &self.path, bytes }, || self.file.set_len(bytes))
    }

    /// Makes what was written durable. After an error the file must be given up or written again:
    /// the system reports a loss once, and then takes the lost bytes for written.
    ///
    /// # Errors
    /// Nobody knows what is durable.
    pub fn sync(&self) -> io::Result<()> {
        if self.files.volatile {
            return Ok(());
        }
        self.files.change(Op::Sync(&self.path), || self.file.sync_data())
    }

    /// Makes the first `end` bytes of a file durable that only grows. Bytes that an earlier sync
    /// may have lost are written once more. Nobody may change these bytes meanwhile.
    ///
    /// # Errors
    /// Nobody knows what is durable. To be tried again.
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

    /// A sync may have failed, here or in an earlier process: of the first `lost` bytes, those
    /// after `sure` may not be on the disk.
    pub fn doubt(&self, sure: u64, lost: u64) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Reached { sure, lost };
    }

    /// Whether the next [`StoreFile::sync_first`] writes bytes once more.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        reached.lost > reached.sure
    }

    fn write_again(&self, mut from: u64, end: u64) -> io::Result<()> {
        let mut part = Vec::new();
        while from < end {
            part.resize(REWRITE_BYTES.min(end - from) as usize, 0);
            self.file.read_exact_at(&mut part, from)?;
            self.write_all_at(&part, from)?;
            from += part.len() as u64;
        }
        Ok(())
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.file.try_clone()?, &self.path, &self.files))
    }

    /// The file, for reading.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
