//! The journals that one process writes, and what it remembers of them.

use super::journal::{Journal, partial_copy_name};
use super::record::{Author, BYTES_MAX, FileChange};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Ranges of a file, sorted and disjoint.
#[derive(Debug, Default, Clone)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The parts of a range that are not there yet.
    fn missing(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let (mut at, mut missing) = (from, Vec::new());
        for &(begin, end) in &self.0 {
            if end <= at {
                continue;
            }
            if begin >= to {
                break;
            }
            if begin > at {
                missing.push((at, begin));
            }
            at = at.max(end);
        }
        if at < to {
            missing.push((at, to));
        }
        missing
    }

    fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let first = self.0.partition_point(|&(_, end)| end < from);
        let last = self.0.partition_point(|&(begin, _)| begin <= to);
        let (mut begin, mut end) = (from, to);
        for &(other, until) in &self.0[first..last] {
            begin = begin.min(other);
            end = end.max(until);
        }
        self.0.splice(first..last, [(begin, end)]);
    }
}

/// What a process has saved of one file since its last image.
#[derive(Debug, Default, Clone)]
struct SavedRanges {
    author: Option<Author>,
    /// The ranges that are saved.
    ranges: Ranges,
}

/// Why a file was not deleted.
#[derive(Debug)]
pub enum Deletion {
    /// The file system refuses.
    Refused(io::Error),
    /// The deletion could not be written down.
    NoJournal(io::Error),
}

/// The journals that a process writes.
#[derive(Debug)]
pub struct Journals {
    job: u64,
    author: Author,
    oldest: u64,
    files: HashMap<PathBuf, SavedRanges>,
}

impl Journals {
    /// The journals of an incarnation that began from the image `author.wave`.
    #[must_use]
    pub fn new(job: u64, author: Author) -> Self {
        Self { job, author, oldest: 0, files: HashMap::new() }
    }

    /// The process continues as another incarnation.
    pub fn begin_incarnation(&mut self, author: Author) {
        self.author = author;
    }

    /// An image was taken: later changes belong to the time after it.
    pub fn image(&mut self, image: u64) {
        self.author.wave = image;
    }

    /// Ranks return no further than this wave any more. Earlier changes are forgotten.
    ///
    /// # Errors
    /// The file system fails, or a journal is damaged.
    pub fn committed(&mut self, oldest: u64) -> io::Result<()> {
        if oldest <= self.oldest {
            return Ok(());
        }
        self.oldest = oldest;
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        let mut outcome = Ok(());
        for path in paths {
            let gone = || -> io::Result<bool> {
                let Some(mut journal) = Journal::open(&path, self.job, false)? else {
                    return Ok(true);
                };
                let empty = journal.forget_before(oldest)?;
                if empty { journal.remove().map(|()| true) } else { Ok(false) }
            };
            match gone() {
                Ok(true) => drop(self.files.remove(&path)),
                Ok(false) => {}
                Err(e) => outcome = outcome.and(Err(e)),
            }
        }
        outcome
    }

    /// Whether something about a file is remembered.
    #[must_use]
    pub fn has_file(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    fn saved(&mut self, path: &Path) -> &mut SavedRanges {
        let saved = self.files.entry(path.to_owned()).or_default();
        if saved.author != Some(self.author) {
            *saved = SavedRanges { author: Some(self.author), ranges: Ranges::default() };
        }
        saved
    }

    /// `len` bytes are about to be written at `at`, perhaps beyond the end of the file.
    ///
    /// # Errors
    /// The file system fails.
    pub fn writes(&mut self, path: &Path, file: &File, at: u64, len: u64) -> io::Result<()> {
        let (job, author) = (self.job, self.author);
        let saved = self.saved(path);
        let until = at.saturating_add(len);
        let missing = saved.ranges.missing(at, until);
        if missing.is_empty() {
            return Ok(());
        }
        let Some(mut journal) = Journal::open(path, job, true)? else { return Ok(()) };
        let Some(size) = size_of(path, file)? else { return Ok(()) };
        for (from, to) in missing {
            save(&mut journal, author, path, from, to.min(size))?;
            // Between the end of the file and the end of what others are about to write there was
            // nothing.
            let (mut at, end) = (from.max(size), to.min(journal.reserved_len()));
            while at < end {
                let old = vec![0; (end - at).min(BYTES_MAX as u64) as usize];
                let next = at + old.len() as u64;
                journal.append(author, &FileChange::Overwritten { at, old })?;
                at = next;
            }
        }
        journal.extends(author, size, until)?;
        saved.ranges.add(at, until);
        Ok(())
    }

    /// A file was opened for writing. It may be another file than the one that had this path
    /// before. What another rank made in its later time stays for this rank, even if this rank
    /// writes nothing: a change of no bytes says so.
    ///
    /// # Errors
    /// The file system fails.
    pub fn opened(&mut self, path: &Path) -> io::Result<()> {
        let (job, author) = (self.job, self.author);
        self.saved(path).ranges = Ranges::default();
        match Journal::open(path, job, false)? {
            Some(mut journal) => {
                journal.append(author, &FileChange::Overwritten { at: 0, old: Vec::new() })
            }
            None => Ok(()),
        }
    }

    /// The file is about to get this length.
    ///
    /// # Errors
    /// The file system fails.
    pub fn resizes(&mut self, path: &Path, file: &File, length: u64) -> io::Result<()> {
        let (job, author) = (self.job, self.author);
        let saved = self.saved(path);
        let Some(mut journal) = Journal::open(path, job, true)? else { return Ok(()) };
        let Some(size) = size_of(path, file)? else { return Ok(()) };
        if length > size {
            journal.extends(author, size, length)?;
        } else if length < size {
            save(&mut journal, author, path, length, size)?;
            journal.append(author, &FileChange::Shrunk { from: size })?;
            journal.set_reserved_len(length)?;
            // The file may grow again.
            saved.ranges = Ranges::default();
        }
        Ok(())
    }

    /// The file is about to be made, and is not there yet.
    ///
    /// # Errors
    /// The file system fails.
    pub fn creates(&mut self, path: &Path) -> io::Result<()> {
        let (job, author) = (self.job, self.author);
        self.saved(path);
        if let Some(mut journal) = Journal::open(path, job, true)? {
            journal.append(author, &FileChange::Created)?;
            journal.set_reserved_len(0)?;
        }
        Ok(())
    }

    /// Deletes a file: gives it another name. If this process has it `open` and uses it further,
    /// the other name gets a copy. An image holds the contents of an open file only if the file has
    /// no name.
    ///
    /// # Errors
    /// The file is still there.
    pub fn delete(&mut self, path: &Path, open: bool) -> Result<(), Deletion> {
        let (job, author) = (self.job, self.author);
        let saved = self.saved(path);
        saved.ranges = Ranges::default();
        let journal = Journal::open(path, job, true).map_err(Deletion::NoJournal)?;
        let Some(mut journal) = journal else { return Ok(()) };
        let hidden = journal.name_for_deleted(author);
        let change = FileChange::Deleted { hidden: hidden.clone() };
        journal.append(author, &change).map_err(Deletion::NoJournal)?;
        journal.set_reserved_len(0).map_err(Deletion::NoJournal)?;
        if open {
            // Only a complete copy has the name that a rollback uses.
            let part = path.with_file_name(partial_copy_name(&hidden));
            let hidden = path.with_file_name(hidden);
            if let Err(e) = fs::copy(path, &part).and_then(|_| fs::rename(&part, hidden)) {
                let _ = fs::remove_file(&part);
                return Err(Deletion::NoJournal(e));
            }
            fs::remove_file(path).map_err(Deletion::Refused)
        } else {
            fs::rename(path, path.with_file_name(hidden)).map_err(Deletion::Refused)
        }
    }
}

/// The length of an open file. `None`: its path belongs to another file by now, or to none, so
/// nobody will see this file again.
fn size_of(path: &Path, file: &File) -> io::Result<Option<u64>> {
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => Ok(Some(open.len())),
        Ok(_) => Ok(None),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Saves a range of a file.
fn save(journal: &mut Journal, author: Author, path: &Path, from: u64, to: u64) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let file = File::open(path)?;
    let mut at = from;
    while at < to {
        let mut old = vec![0; (to - at).min(BYTES_MAX as u64) as usize];
        let mut read = 0;
        while read < old.len() {
            match file.read_at(&mut old[read..], at + read as u64) {
                Ok(0) => break,
                Ok(some) => read += some,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if read == 0 {
            break;
        }
        old.truncate(read);
        journal.append(author, &FileChange::Overwritten { at, old })?;
        at += read as u64;
    }
    Ok(())
}
