//! The program's files, with journals where the files return to a wave with the ranks.
//!
//! Guarantees: a file whose journal cannot be kept is named to the user, and used all the same.
//! Files that are no regular ones (terminals, pipes, devices) are left alone. Other protocols pay
//! one look at a pointer.

use super::World;
use crate::control::close;
use crate::ending::die;
use crate::posix_files::{Posix, refused};
use ftmpi_checkpoint::undo::{self, Journals};
use ftmpi_core::engine::Link;
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_core::file::disk::{Disk, Doing, Handle, Open};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::control::{FileKey, FromRank, ToRank};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
    /// Writes a change down. Before the first change the launcher learns of the file. Launcher and
    /// agents know files by text, so a file whose path is no text has no journal.
    fn record(
        &mut self,
        path: &Path,
        record: impl FnOnce(&mut Journals, &Posix) -> io::Result<()>,
    ) {
        self.report_file(path);
        let Some(file_undo) = &mut self.file_undo else { return };
        let recorded = match path.to_str() {
            None if !file_undo.named.insert(path.to_owned()) => return,
            Some(_) => record(&mut file_undo.journals, &self.disk),
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "its path is not UTF-8")),
        };
        if let Err(e) = recorded {
            // Once: from now on the file has no journal.
            file_undo.open.retain(|_, open| open != path);
            let problem = Some(format!("its journal cannot be kept: {e}"));
            // (A path that is no text is reported in quotation marks, escaped: no file with a
            // journal is called so.)
            let path = path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned);
            self.notify_agent(FromRank::WillChangeFile { path, problem });
        }
    }

    /// Before the first change the launcher learns of the file.
    fn report_file(&mut self, path: &Path) {
        let Some(path) = path.to_str() else { return };
        if self
            .file_undo
            .as_ref()
            .is_some_and(|file_undo| !file_undo.journals.has_file(path.as_ref()))
        {
            self.notify_agent(FromRank::WillChangeFile { path: path.to_owned(), problem: None });
        }
    }

    /// An incarnation has begun: files that were open in its image return, if the launcher does not
    /// know of them.
    pub(crate) fn files_return(&mut self) {
        let open: Vec<PathBuf> =
            self.file_undo.iter().flat_map(|file_undo| file_undo.open.values().cloned()).collect();
        for path in open {
            if let Err(e) = self.take_back(&path) {
                crate::ending::fatal("a file cannot return with this rank", &e);
            }
        }
    }

    /// The launcher may not know of a file that was changed after the wave, because the rank's host
    /// died with the message. Such a file returns when it is opened.
    fn take_back(&mut self, path: &Path) -> Result<()> {
        let file_undo = self.file_undo.as_ref().filter(|_| self.incarnation.0 > 0);
        let Some(file_undo) = file_undo.filter(|_| path.to_str().is_some()) else { return Ok(()) };
        let is_over = |rank: u32, incarnation: u32| {
            self.incarnation_of(rank as usize).is_some_and(|now| incarnation < now.0)
        };
        undo::roll_back(path, file_undo.job, file_undo.wave, &is_over).map(|_| ()).map_err(|e| {
            ErrorClass::Io.because(format!(
                "'{}' cannot be taken back to what it was at wave {}: {e}",
                path.display(),
                file_undo.wave
            ))
        })
    }

    /// Has the agent keep an open file, if a replay may open it again.
    fn keep_for_replay(&mut self, file: Handle, key: FileKey) {
        let replays = self.job.as_ref().is_some_and(|job| job.traits.replays() && job.images);
        let (Some(open), Some(control)) = (self.disk.file(file), self.agent.control()) else {
            return;
        };
        if !replays {
            return;
        }
        let path = format!("/proc/self/fd/{}", open.as_raw_fd());
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_PATH);
        if let Ok(kept) = options.open(path) {
            let message = FromRank::KeepFile { image: self.image_taken, file: key, replay: true };
            control.send(&message, Some(kept.as_raw_fd()));
        }
    }

    /// A file that the agent has kept.
    fn kept_file(&mut self, identity: u64) -> Option<i32> {
        let (control, news_of) = self.agent.question();
        let control = control?;
        control.send(&FromRank::NeedFile { file: identity }, None);
        loop {
            match control.receive(true) {
                Some((ToRank::KeptFile { file }, passed)) if file == identity => {
                    return passed.first().copied();
                }
                Some((ToRank::Die { code }, _)) => die(code),
                Some(news) => news_of.push_back(news),
                None => {}
            }
        }
    }

    fn path_of(&self, file: Handle) -> Option<PathBuf> {
        self.file_undo.as_ref()?.open.get(&file.0).cloned()
    }

    fn is_open(&mut self, file: Handle, path: Option<PathBuf>, writes: bool) {
        let Some(path) = path.filter(|path| path.is_file()) else { return };
        let Some(file_undo) = &mut self.file_undo else { return };
        file_undo.open.insert(file.0, path.clone());
        if writes {
            // Now, so that the launcher learns of it before any image in which the file is open.
            self.record(&path, |journals, _| journals.opened(&path));
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
                self.record(whole, |journals, _| journals.creates(whole));
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

    fn keep(&mut self, file: Handle) -> u64 {
        let Some(key) = self.disk.key(file) else { return 0 };
        self.keep_for_replay(file, key);
        key.digest()
    }

    fn open_again(&mut self, path: &Path, how: Open, identity: u64) -> Result<Handle> {
        let here = Disk::open(self, path, how);
        let is_it = here.as_ref().is_ok_and(|file| self.disk.keep(*file) == identity);
        if is_it || identity == 0 {
            return here;
        }
        let Some(kept) = self.kept_file(identity) else { return here };
        if let Ok(file) = here {
            Disk::close(self, file);
        }
        let file = self.disk.open_kept(path, how, kept);
        close(kept);
        file
    }

    fn name(&mut self, file: Handle, path: &Path) -> Result<()> {
        let whole = self.file_undo.as_ref().and_then(|_| whole(path));
        if let Some(whole) = &whole {
            self.take_back(whole)?;
        }
        if let Some(whole) = whole.as_ref().filter(|whole| !whole.exists()) {
            self.record(whole, |journals, _| journals.creates(whole));
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
        self.record(&whole, |journals, _| match journals.delete(&whole, open) {
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
            self.record(&path, |journals, disk| match disk.file(file) {
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
            self.record(&path, |journals, disk| match disk.file(file) {
                Some(open) => journals.resizes(&path, open, bytes),
                None => Ok(()),
            });
        }
        self.disk.set_size(file, bytes)
    }

    fn preallocate(&mut self, file: Handle, bytes: u64) -> Result<()> {
        let grows = self.disk.size(file).is_ok_and(|size| size < bytes);
        if let Some(path) = self.path_of(file).filter(|_| grows) {
            self.record(&path, |journals, disk| match disk.file(file) {
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
