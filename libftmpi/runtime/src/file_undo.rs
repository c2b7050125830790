//! The program's files under a protocol that takes all ranks back to a wave: what a deed destroys is
//! written down before it is done (`ftmpi_checkpoint::undo`), so that the files return with the ranks.
//!
//! Guarantees: a file whose journal cannot be kept is named to the user, and used all the same; files that
//! are no regular ones (terminals, pipes, devices) are left alone; other protocols pay one look at a
//! pointer.

use crate::posix_files::{Posix, refused};
use crate::world::World;
use ftmpi_checkpoint::undo::{self, Author, Journals};
use ftmpi_core::engine::Link;
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_core::file::disk::{Disk, Doing, Handle, Open};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::ImageNo;
use ftmpi_wire::control::{FromRank, JobView};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// The journals of this rank, and which files they are of.
#[derive(Debug)]
pub(crate) struct FileUndo {
    journals: Journals,
    job: u64,
    /// Where this life began.
    wave: u64,
    /// The whole paths of open files.
    open: HashMap<u32, PathBuf>,
    /// Those whose path is no text, of which the user has been told.
    told: HashSet<PathBuf>,
    /// The first wave that was committed: with it alone ranks may still return to the beginning.
    first: Option<ImageNo>,
}

impl FileUndo {
    /// For a life that begins from an image, or from the beginning; `before`: what the life whose image
    /// it was had.
    pub(crate) fn of(
        job: &JobView,
        author: Author,
        before: Option<Box<FileUndo>>,
    ) -> Option<Box<FileUndo>> {
        if job.files == 0 {
            return None;
        }
        let mut file_undo = before.unwrap_or_else(|| {
            let journals = Journals::new(job.files, author);
            let (open, told) = (HashMap::new(), HashSet::new());
            Box::new(FileUndo { journals, job: job.files, wave: 0, open, told, first: None })
        });
        file_undo.journals.begin_incarnation(author);
        file_undo.wave = author.wave;
        Some(file_undo)
    }

    /// An image of this rank was taken.
    pub(crate) fn image(&mut self, image: ImageNo) {
        self.journals.image(image.0);
    }

    /// A wave was committed, and nobody returns further than to `oldest`; but to the beginning as long as
    /// there is one wave.
    pub(crate) fn committed(&mut self, image: ImageNo, oldest: ImageNo) -> io::Result<()> {
        if *self.first.get_or_insert(image) == oldest && image == oldest {
            return Ok(());
        }
        self.journals.committed(oldest.0)
    }
}

/// The path that the kernel would use, if the file is or could be a regular one.
fn whole(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(found) => found.is_file().then_some(found),
        // A link to what is not there yet.
        Err(_) if path.symlink_metadata().is_ok() => None,
        Err(_) => {
            let parent = path.parent()?;
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        }
    }
}

impl World {
    /// Writes a deed down. Before the first one the launcher is told of the file; launcher and agents
    /// know files by text, so one whose path is none has no journal.
    fn note(&mut self, path: &Path, note: impl FnOnce(&mut Journals, &Posix) -> io::Result<()>) {
        self.tell_of(path);
        let Some(file_undo) = &mut self.file_undo else { return };
        let noted = match path.to_str() {
            None if !file_undo.told.insert(path.to_owned()) => return,
            Some(_) => note(&mut file_undo.journals, &self.disk),
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "its path is not UTF-8")),
        };
        if let Err(e) = noted {
            // Once: from now on the file is not ours to file_undo.
            file_undo.open.retain(|_, open| open != path);
            let problem = Some(format!("its journal cannot be kept: {e}"));
            // (What is no text is told in quotation marks, escaped: no file that is guarded is called so.)
            let path = path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned);
            self.notify_agent(FromRank::WillChangeFile { path, problem });
        }
    }

    /// Before the first deed the launcher is told of the file.
    fn tell_of(&mut self, path: &Path) {
        let Some(path) = path.to_str() else { return };
        if self
            .file_undo
            .as_ref()
            .is_some_and(|file_undo| !file_undo.journals.has_file(path.as_ref()))
        {
            self.notify_agent(FromRank::WillChangeFile { path: path.to_owned(), problem: None });
        }
    }

    /// A life has begun: files that were open in its image return, if nobody was told of them.
    pub(crate) fn files_return(&mut self) {
        let open: Vec<PathBuf> =
            self.file_undo.iter().flat_map(|file_undo| file_undo.open.values().cloned()).collect();
        for path in open {
            if let Err(e) = self.take_back(&path) {
                crate::world::fatal("a file cannot return with this rank", &e);
            }
        }
    }

    /// A file that was changed after the wave and of which nobody was told (its rank's host died with
    /// the message) returns when it is opened.
    fn take_back(&mut self, path: &Path) -> Result<()> {
        let file_undo = self.file_undo.as_ref().filter(|_| self.incarnation.0 > 0);
        let Some(file_undo) = file_undo.filter(|_| path.to_str().is_some()) else { return Ok(()) };
        let is_over = |rank: u32, life: u32| {
            self.incarnation_of(rank as usize).is_some_and(|now| life < now.0)
        };
        undo::roll_back(path, file_undo.job, file_undo.wave, &is_over).map(|_| ()).map_err(|e| {
            ErrorClass::Io.because(format!(
                "'{}' cannot be taken back to what it was at wave {}: {e}",
                path.display(),
                file_undo.wave
            ))
        })
    }

    fn path_of(&self, file: Handle) -> Option<PathBuf> {
        self.file_undo.as_ref()?.open.get(&file.0).cloned()
    }

    fn is_open(&mut self, file: Handle, path: Option<PathBuf>, writes: bool) {
        let Some(path) = path.filter(|path| path.is_file()) else { return };
        let Some(file_undo) = &mut self.file_undo else { return };
        file_undo.open.insert(file.0, path.clone());
        if writes {
            // Now, so that it is told before any image in which the file is open.
            self.note(&path, |journals, _| journals.opened(&path));
        }
    }
}

impl Disk for World {
    fn open(&mut self, path: &Path, how: Open) -> Result<Handle> {
        if self.file_undo.is_none() {
            return self.disk.open(path, how);
        }
        let whole = whole(path);
        if let Some(whole) = &whole {
            self.take_back(whole)?;
            if how.create && !whole.exists() {
                self.note(whole, |journals, _| journals.creates(whole));
            }
        }
        let file = self.disk.open(path, how)?;
        self.is_open(file, whole, how.write);
        Ok(file)
    }

    fn close(&mut self, file: Handle) {
        if let Some(file_undo) = &mut self.file_undo {
            file_undo.open.remove(&file.0);
        }
        self.disk.close(file);
    }

    fn identity(&mut self, path: &Path) -> u64 {
        self.disk.identity(path)
    }

    fn unnamed(&mut self, path: &Path, how: Open) -> Option<(Handle, u64)> {
        self.disk.unnamed(path, how)
    }

    fn name(&mut self, file: Handle, path: &Path) -> Result<()> {
        let whole = self.file_undo.as_ref().and_then(|_| whole(path));
        if let Some(whole) = &whole {
            self.take_back(whole)?;
        }
        if let Some(whole) = whole.as_ref().filter(|whole| !whole.exists()) {
            self.note(whole, |journals, _| journals.creates(whole));
        }
        self.disk.name(file, path)?;
        self.is_open(file, whole, true);
        Ok(())
    }

    fn delete(&mut self, path: &Path) -> Result<()> {
        let plain = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
        let Some(whole) = self.file_undo.as_ref().filter(|_| plain).and_then(|_| whole(path))
        else {
            return self.disk.delete(path);
        };
        self.take_back(&whole)?;
        let open =
            self.file_undo.iter().any(|file_undo| file_undo.open.values().any(|one| *one == whole));
        let (mut failed, mut for_good) = (None, whole.to_str().is_none());
        self.note(&whole, |journals, _| match journals.delete(&whole, open) {
            Err(undo::Deletion::Refused(e)) => {
                failed = Some(e);
                Ok(())
            }
            Err(undo::Deletion::NoJournal(e)) => {
                for_good = true;
                Err(e)
            }
            Ok(()) => Ok(()),
        });
        match failed {
            Some(e) => Err(refused(Doing::Deleted, path, &e)),
            None if for_good => self.disk.delete(path),
            None => Ok(()),
        }
    }

    fn read(&mut self, file: Handle, at: u64, into: UserPtr, len: usize) -> Result<usize> {
        self.disk.read(file, at, into, len)
    }

    fn write(&mut self, file: Handle, at: u64, from: UserPtr, len: usize) -> Result<()> {
        if let Some(path) = self.path_of(file) {
            self.note(&path, |journals, disk| match disk.file(file) {
                Some(open) => journals.writes(&path, open, at, len as u64),
                None => Ok(()),
            });
        }
        self.disk.write(file, at, from, len)
    }

    fn size(&mut self, file: Handle) -> Result<u64> {
        self.disk.size(file)
    }

    fn set_size(&mut self, file: Handle, bytes: u64) -> Result<()> {
        if let Some(path) = self.path_of(file) {
            self.note(&path, |journals, disk| match disk.file(file) {
                Some(open) => journals.resizes(&path, open, bytes),
                None => Ok(()),
            });
        }
        self.disk.set_size(file, bytes)
    }

    fn preallocate(&mut self, file: Handle, bytes: u64) -> Result<()> {
        let grows = self.disk.size(file).is_ok_and(|size| size < bytes);
        if let Some(path) = self.path_of(file).filter(|_| grows) {
            self.note(&path, |journals, disk| match disk.file(file) {
                Some(open) => journals.resizes(&path, open, bytes),
                None => Ok(()),
            });
        }
        self.disk.preallocate(file, bytes)
    }

    fn sync(&mut self, file: Handle) -> Result<()> {
        self.disk.sync(file)
    }

    fn lock(&mut self, file: Handle, from: u64, to: u64, shared: bool) -> Result<()> {
        self.disk.lock(file, from, to, shared)
    }

    fn unlock(&mut self, file: Handle, from: u64, to: u64) {
        self.disk.unlock(file, from, to);
    }
}
