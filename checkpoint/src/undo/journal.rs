//! The journal of one file.

use super::record::{
    self, Author, BEGIN_AT, BOOT_AT, END_AT, FORMAT, FileChange, HEAD, RECORD, RESERVED_LEN_AT,
    Record, UNDONE,
};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A number of this boot of the system; 0: not known. It is read each time. The memory of a process
/// is in its image, and may be restored on another host, or after a loss of power.
fn boot() -> u64 {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

/// In the place of a boot's number: systems of several hosts have written.
const SEVERAL: u64 = u64::MAX;

/// The file name of a path.
fn name_of(path: &Path) -> io::Result<&str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the name of the file is no text"))
}

/// The path of a file's journal, in the same directory.
///
/// # Errors
/// The name of the file is not text.
pub fn journal_of(path: &Path) -> io::Result<PathBuf> {
    Ok(path.with_file_name(format!(".{}.ftmpi-undo", name_of(path)?)))
}

/// An open journal, locked against all other processes.
#[derive(Debug)]
pub struct Journal {
    file: File,
    data: PathBuf,
    begin: u64,
    end: u64,
    /// The length that the file will have when everything in the journal is done. Writes of others
    /// may be under way, or not be visible here yet.
    reserved_len: u64,
    /// The boot of the system that wrote last; 0: not known.
    boot: u64,
    /// The beginning of the names of deleted files.
    hidden: String,
}

/// The name of an unfinished copy of a file that is being copied to its `hidden` name.
pub(super) fn partial_copy_name(hidden: &str) -> String {
    format!("{hidden}.part")
}

/// Opens and locks a file that only this user can have written. `None`: there is none, or no
/// process of this user can have written it.
fn open_locked(path: &Path, create: bool) -> io::Result<Option<File>> {
    // SAFETY: asks for a number.
    #[allow(unsafe_code)]
    let me = unsafe { libc::geteuid() };
    let mut options = OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    options.read(true).write(true).create(create).mode(0o600).custom_flags(flags);
    loop {
        let file = match options.open(path) {
            Ok(file) => file,
            Err(e) if !create && is_not_ours(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        while let Err(e) = file.lock() {
            if e.kind() != ErrorKind::Interrupted {
                // Where nothing can be locked, the file was made and not written.
                let empty = !create && file.metadata()?.len() == 0;
                return if empty { Ok(None) } else { Err(e) };
            }
        }
        let about = file.metadata()?;
        // Another process may have removed the file meanwhile.
        if about.nlink() == 0 {
            continue;
        }
        let ours = about.is_file() && about.uid() == me;
        if !create {
            // A tool that copies files under other names may have made a copy of this one.
            return Ok(ours.then_some(file));
        }
        if !ours || about.nlink() != 1 {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "its name is not ours alone"));
        }
        return Ok(Some(file));
    }
}

/// Whether a file that cannot be opened cannot have been written by this user either. Other errors
/// say nothing about the file: ignoring it could leave a file in a later state.
fn is_not_ours(e: &io::Error) -> bool {
    let not_ours = [
        libc::ENOENT,
        libc::ENOTDIR,
        libc::ELOOP,
        libc::EACCES,
        libc::EPERM,
        libc::EISDIR,
        libc::ENXIO,
        libc::ENODEV,
        libc::ENAMETOOLONG,
    ];
    e.raw_os_error().is_some_and(|number| not_ours.contains(&number))
}

impl Journal {
    /// Opens and locks the journal of a file. `None`: this job has none, and none is to be made.
    /// The journal of another job is replaced by a new one.
    ///
    /// # Errors
    /// The journal cannot be made, or is damaged.
    pub fn open(data: &Path, job: u64, create: bool) -> io::Result<Option<Self>> {
        Self::open_or_recover(data, job, create, false)
    }

    /// Opens a journal as [`Journal::open`] does, before any later incarnation writes to it. A loss
    /// of power may have taken a part of it.
    fn open_for_rollback(data: &Path, job: u64) -> io::Result<Option<Self>> {
        Self::open_or_recover(data, job, false, true)
    }

    fn open_or_recover(
        data: &Path,
        job: u64,
        create: bool,
        recover: bool,
    ) -> io::Result<Option<Self>> {
        let path = journal_of(data)?;
        let hidden = format!(".{}.ftmpi-gone-", name_of(data)?);
        let Some(file) = open_locked(&path, create)? else { return Ok(None) };
        let mut head = [0u8; HEAD as usize];
        let begun = file.read_exact_at(&mut head, 0).is_ok() && head[..8] == FORMAT;
        let long = |at: u64| u64::from_le_bytes(std::array::from_fn(|i| head[at as usize + i]));
        let length = file.metadata()?.len();
        if !begun
            && length > 0
            // A journal that was made directly before a loss of power.
            && head != [0; HEAD as usize]
            && !(length < HEAD && FORMAT.starts_with(&head[..8.min(length as usize)]))
        {
            // A file of somebody else is never touched.
            let taken =
                || io::Error::new(ErrorKind::AlreadyExists, "its name is taken by another file");
            return if create { Err(taken()) } else { Ok(None) };
        }
        let (begin, end) = if begun { (long(BEGIN_AT), long(END_AT)) } else { (HEAD, HEAD) };
        let reserved_len = if begun { long(RESERVED_LEN_AT) } else { 0 };
        let wrote = if begun { long(BOOT_AT) } else { 0 };
        let data = data.to_owned();
        let mut journal = Self { file, data, begin, end, reserved_len, boot: wrote, hidden };
        let sound = HEAD <= begin && begin <= end && (!begun || end <= length);
        if begun && long(8) == job {
            if recover && HEAD <= begin && journal.other_boot() {
                journal.find_end(length)?;
                return Ok(Some(journal));
            }
            return if sound { Ok(Some(journal)) } else { Err(journal.damaged()) };
        }
        if !create {
            return Ok(None);
        }
        if begun && sound {
            // The files that the other job deleted go. If the journal cannot be read, they stay
            // under their other names.
            let _ = journal.forget_all();
        }
        // Bytes after the end must not look like a record.
        journal.file.set_len(0)?;
        (journal.begin, journal.end, journal.reserved_len, journal.boot) = (HEAD, HEAD, 0, boot());
        head = [0; HEAD as usize];
        head[..8].copy_from_slice(&FORMAT);
        head[8..16].copy_from_slice(&job.to_le_bytes());
        head[16..24].copy_from_slice(&HEAD.to_le_bytes());
        head[24..32].copy_from_slice(&HEAD.to_le_bytes());
        head[40..].copy_from_slice(&boot().to_le_bytes());
        journal.file.write_all_at(&head, 0)?;
        Ok(Some(journal))
    }

    fn damaged(&self) -> io::Error {
        let name = self.data.file_name().unwrap_or_default().display();
        let text = format!(
            "its journal (.{name}.ftmpi-undo, in the same directory) is damaged; put a copy of the file from before the job in \
             its place, remove the journal, and start the job again"
        );
        io::Error::new(ErrorKind::InvalidData, text)
    }

    /// Whether another boot of the system (or several systems) wrote the journal, so that a loss of
    /// power may have taken a part of it. Journals are not synced: that would cost more than the
    /// files they guard.
    fn other_boot(&self) -> bool {
        self.boot != 0 && boot() != 0 && self.boot != boot()
    }

    /// Finds the end of a journal after a loss of power, when head and records may come from
    /// different times. The records end where none can be read. Missing records count as not done,
    /// like everything that was not on the disk.
    fn find_end(&mut self, length: u64) -> io::Result<()> {
        let (told, mut at) = (self.end, self.begin);
        while at < length {
            match self.read(at) {
                Ok((_, next)) => at = next,
                // Other errors say nothing about the record.
                Err(e)
                    if !matches!(e.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
                {
                    return Err(e);
                }
                Err(_) if at >= told || self.is_torn(at, length)? => break,
                Err(e) => return Err(e),
            }
        }
        // Bytes after the end must not look like a record later. The head is written afterwards,
        // all at once.
        self.file.set_len(at.max(HEAD))?;
        (self.end, self.boot) = (at, boot());
        let words = [self.begin, self.end, self.reserved_len, self.boot];
        self.file.write_all_at(&words.map(u64::to_le_bytes).concat(), BEGIN_AT)
    }

    /// Whether a record that cannot be read lacks a part that never reached the disk. There are
    /// zeros then, or nothing.
    fn is_torn(&self, at: u64, length: u64) -> io::Result<bool> {
        const BLOCK: u64 = 512;
        let mut head = [0u8; RECORD];
        if at + RECORD as u64 > length {
            return Ok(true);
        }
        self.file.read_exact_at(&mut head, at)?;
        let next = at + (RECORD + record::length(&head).unwrap_or(0)) as u64;
        if head == [0; RECORD] || next > length {
            return Ok(true);
        }
        let mut place = at.next_multiple_of(BLOCK);
        while place < (next + BLOCK).min(length) {
            let mut block = vec![0; BLOCK.min(length - place) as usize];
            self.file.read_exact_at(&mut block, place)?;
            if block.iter().all(|byte| *byte == 0) {
                return Ok(true);
            }
            place += BLOCK;
        }
        Ok(false)
    }

    /// Writes a change down, before it is made.
    ///
    /// # Errors
    /// The file system fails.
    pub fn append(&mut self, author: Author, change: &FileChange) -> io::Result<()> {
        if self.boot != SEVERAL && self.boot != boot() {
            self.boot = if self.boot == 0 { boot() } else { SEVERAL };
            self.file.write_all_at(&self.boot.to_le_bytes(), BOOT_AT)?;
        }
        let record = record::encode(author, change);
        self.file.write_all_at(&record, self.end)?;
        self.set(END_AT, self.end + record.len() as u64)
    }

    /// The name that the file gets when it is deleted now.
    #[must_use]
    pub fn name_for_deleted(&self, author: Author) -> String {
        format!("{}{}-{}-{}", self.hidden, author.rank, author.incarnation, self.end)
    }

    fn set(&mut self, what: u64, value: u64) -> io::Result<()> {
        self.file.write_all_at(&value.to_le_bytes(), what)?;
        *match what {
            BEGIN_AT => &mut self.begin,
            END_AT => &mut self.end,
            _ => &mut self.reserved_len,
        } = value;
        Ok(())
    }

    /// The length that the file will have when everything in the journal is done.
    pub(super) fn reserved_len(&self) -> u64 {
        self.reserved_len
    }

    pub(super) fn set_reserved_len(&mut self, length: u64) -> io::Result<()> {
        self.set(RESERVED_LEN_AT, length)
    }

    /// The file has `size` bytes now and is about to reach `to`.
    pub(super) fn extends(&mut self, author: Author, size: u64, to: u64) -> io::Result<()> {
        let from = self.reserved_len.max(size);
        if to > from {
            // The order matters: a process that dies in between leaves no reserved length without a
            // record.
            self.append(author, &FileChange::Extended { from, to })?;
            self.set_reserved_len(to)?;
        }
        Ok(())
    }

    fn read(&self, at: u64) -> io::Result<(Record, u64)> {
        let mut head = [0u8; RECORD];
        self.file.read_exact_at(&mut head, at)?;
        let mut bytes = vec![0; record::length(&head)?];
        self.file.read_exact_at(&mut bytes, at + RECORD as u64)?;
        let next = at + (RECORD + bytes.len()) as u64;
        Ok((record::decode(&head, bytes, &self.hidden)?, next))
    }

    /// Forgets the first changes that no rollback can undo any more. `oldest` is the oldest wave to
    /// which ranks may return. Returns whether nothing is left.
    ///
    /// # Errors
    /// The file system fails, or the journal is damaged.
    pub fn forget_before(&mut self, oldest: u64) -> io::Result<bool> {
        let begin = self.begin;
        while self.begin < self.end {
            let (record, next) = self.read(self.begin)?;
            if !record.undone && record.author.wave >= oldest {
                break;
            }
            self.remove_hidden(&record)?;
            self.set(BEGIN_AT, next)?;
        }
        if self.begin > begin && self.begin < self.end {
            // SAFETY: concerns a descriptor of our own. Where it is not possible the space stays in
            // use.
            #[allow(unsafe_code)]
            unsafe {
                libc::fallocate(
                    self.file.as_raw_fd(),
                    libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                    HEAD as libc::off_t,
                    (self.begin - HEAD) as libc::off_t,
                )
            };
        }
        Ok(self.begin == self.end)
    }

    fn remove_hidden(&self, record: &Record) -> io::Result<()> {
        match &record.change {
            FileChange::Deleted { hidden } if !record.undone => {
                self.remove_partial_copy(hidden)?;
                absent_is_fine(fs::remove_file(self.data.with_file_name(hidden)))
            }
            _ => Ok(()),
        }
    }

    /// An unfinished copy does not count.
    fn remove_partial_copy(&self, hidden: &str) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.data.with_file_name(partial_copy_name(hidden))))
    }

    fn forget_all(&mut self) -> io::Result<()> {
        self.forget_before(u64::MAX).map(|_| ())
    }

    /// Removes the journal. All its changes must be forgotten.
    ///
    /// # Errors
    /// The file system fails.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(journal_of(&self.data)?)
    }

    /// Undoes the changes after a wave by incarnations that are over.
    fn roll_back(&mut self, wave: u64, is_over: &dyn Fn(u32, u32) -> bool) -> io::Result<u64> {
        let mut places = Vec::new();
        let mut at = self.begin;
        while at < self.end {
            let (record, next) = self.read(at)?;
            if !record.undone {
                places.push(at);
            }
            at = next;
        }
        // Changes that stay need the file as it is now (`Some`), up to this length.
        let (mut undone, mut kept_len) = (0, None);
        for at in places.into_iter().rev() {
            let (record, _) = self.read(at)?;
            let Author { rank, incarnation, wave: when } = record.author;
            if when < wave || !is_over(rank, incarnation) {
                kept_len = match record.change {
                    FileChange::Extended { to, .. } => kept_len.max(Some(to)),
                    FileChange::Overwritten { at, old } => {
                        kept_len.max(Some(at + old.len() as u64))
                    }
                    FileChange::Shrunk { .. } | FileChange::Created => kept_len.max(Some(0)),
                    // Before its deletion it was another file.
                    FileChange::Deleted { .. } => None,
                };
                continue;
            }
            self.undo(&record.change, kept_len)?;
            if matches!(record.change, FileChange::Created | FileChange::Deleted { .. }) {
                kept_len = None;
            }
            self.file.write_all_at(&[UNDONE], at)?;
            undone += 1;
        }
        if undone > 0 {
            self.set_reserved_len(0)?;
        }
        Ok(undone)
    }

    fn undo(&self, change: &FileChange, kept_len: Option<u64>) -> io::Result<()> {
        let data =
            || OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(&self.data);
        let reached = kept_len.unwrap_or(0);
        absent_is_fine(match change {
            FileChange::Overwritten { at, old } => {
                data().and_then(|file| file.write_all_at(old, *at))
            }
            FileChange::Extended { from, .. } => data().and_then(|file| {
                let length = (*from).max(reached);
                if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
            }),
            FileChange::Shrunk { from } => {
                data().and_then(|file| file.set_len((*from).max(reached)))
            }
            // Another rank has found the file, and will not make it again.
            FileChange::Created if kept_len.is_some() => Ok(()),
            FileChange::Created => fs::remove_file(&self.data),
            FileChange::Deleted { hidden } => {
                self.remove_partial_copy(hidden)?;
                fs::rename(self.data.with_file_name(hidden), &self.data)
            }
        })
    }
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Returns a file to a wave: undoes the later changes by incarnations that are over (`is_over(rank,
/// incarnation)`). Returns the number of undone changes.
///
/// # Errors
/// The file system fails, or the journal is damaged. The file is between both states then.
pub fn roll_back(
    data: &Path,
    job: u64,
    wave: u64,
    is_over: &dyn Fn(u32, u32) -> bool,
) -> io::Result<u64> {
    match Journal::open_for_rollback(data, job)? {
        Some(mut journal) => journal.roll_back(wave, is_over),
        None => Ok(0),
    }
}

/// Ends the journal of a file: the job is over. The files that the job deleted go.
///
/// # Errors
/// The file system fails, or the journal is damaged.
pub fn forget(data: &Path, job: u64) -> io::Result<()> {
    let Some(mut journal) = Journal::open_for_rollback(data, job)? else { return Ok(()) };
    journal.forget_all()?;
    journal.remove()
}
