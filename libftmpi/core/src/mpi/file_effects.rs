//! Requests to the file system, each carried out once in all incarnations of a rank.
//!
//! Guarantees: every answer of the file system is an outcome. A replayed rank gets the same answer
//! again. The answer to an open is the identity of the file, and a replay opens that file. It does
//! not repeat what changed a file, because others may have changed the file since.
//! There are four kinds:
//!
//! * `seen`: looks, changes nothing (sizes, data that are read). If the answer is lost, a later
//!   incarnation looks again; no other process knows of the first time.
//! * `read_recorded`: looks, and its data are answers too, seven bytes each, until
//!   [`FILE_RECORDED_BYTES_MAX`] bytes came since the last image. It makes a program repeatable
//!   that reads data which is soon overwritten or deleted (a file of parameters, data that ranks
//!   hand over). More bytes would cost the event logger more than they are worth. The data come
//!   before the answer with their number. A log that ends between them has no read, and the file is
//!   read again.
//! * `done`: may be repeated; it writes the same bytes to the same place, or sets a size. It
//!   happens when all that led to it is stable, so that a later incarnation that repeats it does
//!   exactly the same.
//! * `deleted`, `created`: deleting, and creating what must not exist. A repetition would fail, and
//!   report an error that never was. Therefore an intent with a mark is made stable first
//!   (`engine::output_commit`). The mark is the *identity* of a file, not its path: another process
//!   may have put another file there. A deletion took place if the file with the identity is not
//!   there any more. A file that must not exist is made without a name; its identity is the mark.
//!   Then the file gets its name, which the system does or refuses as a whole. If the path leads to
//!   that file, this rank made it. If the path leads to another file, another process was first:
//!   two processes that use such a file as a lock never both get it. Some file systems have no
//!   files without a name (NFS, FAT). There the mark only says that nothing was at the path, and a
//!   file that is there afterwards is taken for this rank's.

use super::Mpi;
use crate::bail;
use crate::engine::{Decision, Effect, Link};
use crate::error::{ErrorClass, MpiError, Result};
use crate::file::Recorded;
use crate::file::disk::{Disk, Handle, IDENTITIES, Open, Refusal};
use crate::ids::FileId;
use crate::tuning::FILE_RECORDED_BYTES_MAX;
use crate::usermem::UserPtr;
use std::path::Path;

/// Set in a recorded outcome that is the class of an error.
pub(super) const FAILED: u64 = 1 << 63;

/// Bits below the [`Refusal`] in such an outcome: those of the class.
const REFUSAL: u32 = 16;

/// Marks of a path that is to be made, on a file system that cannot tell files apart.
const FREE: u64 = 1;
const TAKEN: u64 = 0;

/// Answers with these eight bits above are seven bytes that were read.
const DATA: u64 = 0x10 << 56;

/// Bytes in such an answer.
const EACH: usize = 7;

/// What was read.
pub(super) struct Read {
    /// Bytes.
    pub done: u64,
    /// Read in this incarnation, from the file.
    pub here: bool,
    /// The bytes are recorded: if not from the file, they are from there.
    pub whole: bool,
}

/// An answer as a number, which can be recorded. The error itself is kept for the incarnation that
/// it happens in.
fn recorded(answer: Result<u64>, error: &mut Option<MpiError>) -> u64 {
    match answer {
        Ok(number) => number & (IDENTITIES - 1),
        Err(happened) => {
            let class = happened.class.number() as u64;
            let refusal = happened.refusal.map_or(0, Refusal::bits);
            *error = Some(happened);
            FAILED | refusal << REFUSAL | class
        }
    }
}

fn result_of(answer: u64, error: Option<MpiError>, path: &Path) -> Result<u64> {
    if answer & FAILED == 0 {
        return Ok(answer);
    }
    Err(error.unwrap_or_else(|| {
        let class = (answer & ((1 << REFUSAL) - 1)) as i32;
        let class = ErrorClass::from_number(class).unwrap_or(ErrorClass::Io);
        match Refusal::from_bits(answer >> REFUSAL & ((1 << Refusal::BITS) - 1)) {
            Some(refusal) => refusal.of(class, path),
            None => {
                let path = path.display();
                class.because(format!("'{path}' was refused before this process was restarted"))
            }
        }
    }))
}

fn disk_of<L: Link>(link: &mut L) -> Result<&mut dyn Disk> {
    match link.disk() {
        Some(disk) => Ok(disk),
        None => bail!(UnsupportedOperation, "there is no file system here"),
    }
}

/// The file that an error names.
#[derive(Clone, Copy)]
pub(super) enum FileName<'a> {
    Path(&'a Path),
    Open(FileId),
}

struct Deletion<'a> {
    path: &'a Path,
    error: Option<MpiError>,
}

impl<L: Link> Effect<L> for Deletion<'_> {
    fn look(&mut self, link: &mut L) -> u64 {
        link.disk().map_or(0, |disk| disk.identity(self.path))
    }

    fn act(&mut self, link: &mut L) -> u64 {
        let answer = disk_of(link).and_then(|disk| disk.delete(self.path));
        recorded(answer.map(|()| 0), &mut self.error)
    }

    fn judge(&mut self, link: &mut L, mark: u64) -> Option<u64> {
        let now = self.look(link);
        (mark != 0 && now != mark).then_some(0)
    }
}

struct Creation<'a> {
    path: &'a Path,
    how: Open,
    /// A file without a name, made by this incarnation or by the one whose image it began from. In
    /// the latter case it is another file.
    unnamed: Option<Handle>,
    made: Option<Handle>,
    error: Option<MpiError>,
}

impl Creation<'_> {
    fn make(&mut self, disk: &mut dyn Disk) -> Result<u64> {
        let Some(unnamed) = self.unnamed.take() else {
            let made = disk.open(self.path, self.how)?;
            self.made = Some(made);
            return Ok(disk.keep(made));
        };
        if let Err(error) = disk.name(unnamed, self.path) {
            disk.close(unnamed);
            return Err(error);
        }
        self.made = Some(unnamed);
        Ok(disk.keep(unnamed))
    }
}

impl<L: Link> Effect<L> for Creation<'_> {
    fn look(&mut self, link: &mut L) -> u64 {
        let Some(disk) = link.disk() else { return TAKEN };
        if let Some(old) = self.unnamed.take() {
            disk.close(old);
        }
        if disk.identity(self.path) != 0 {
            return TAKEN;
        }
        match disk.unnamed(self.path, self.how) {
            Some((unnamed, identity)) => {
                self.unnamed = Some(unnamed);
                identity
            }
            None => FREE,
        }
    }

    fn act(&mut self, link: &mut L) -> u64 {
        let answer = disk_of(link).and_then(|disk| self.make(disk));
        recorded(answer, &mut self.error)
    }

    fn judge(&mut self, link: &mut L, mark: u64) -> Option<u64> {
        let now = link.disk().map_or(0, |disk| disk.identity(self.path));
        let ours = match mark {
            TAKEN => false,
            FREE => now != 0,
            made => now == made,
        };
        ours.then_some(now)
    }
}

impl<L: Link> Mpi<L> {
    pub(super) fn disk(&mut self) -> Result<&mut dyn Disk> {
        disk_of(&mut self.engine.link)
    }

    fn outcome(&self, answer: u64, error: Option<MpiError>, file: FileName<'_>) -> Result<u64> {
        match file {
            FileName::Path(path) => result_of(answer, error, path),
            FileName::Open(id) => {
                result_of(answer, error, self.file(id).map_or(Path::new(""), |file| &file.path))
            }
        }
    }

    fn other_course(&mut self) -> ! {
        self.engine.link.give_up(
            "a replay came to a file where its first life tested something: the program depends on what \
             MPI does not see"
                .into(),
        )
    }

    /// Looks at the file system; a replay gets what was seen.
    pub(super) fn seen(
        &mut self,
        file: FileName<'_>,
        what: impl FnOnce(&mut dyn Disk) -> Result<u64>,
    ) -> Result<u64> {
        match self.engine.decide_polled() {
            Decision::Positive(answer) => self.outcome(answer, None, file),
            Decision::Negative => self.other_course(),
            Decision::Live => {
                let mut error = None;
                let answer = recorded(self.disk().and_then(what), &mut error);
                self.engine.answered(answer);
                self.outcome(answer, error, file)
            }
        }
    }

    /// Reads to `at`, and records what was read if it is not much.
    pub(super) fn read_recorded(
        &mut self,
        file: FileId,
        at: UserPtr,
        what: impl FnOnce(&mut dyn Disk) -> Result<u64>,
    ) -> Result<Read> {
        let mut data: Vec<u8> = Vec::new();
        self.engine.step();
        loop {
            match self.engine.decide() {
                Decision::Positive(answer) if answer >> 56 == DATA >> 56 => {
                    data.extend_from_slice(&answer.to_le_bytes()[..EACH]);
                }
                Decision::Positive(answer) => {
                    let done = self.outcome(answer, None, FileName::Open(file))?;
                    // An incarnation that died on the way may have left others.
                    let bytes = (done as usize).next_multiple_of(EACH);
                    let whole = done > 0 && data.len() >= bytes;
                    if whole {
                        let begin = data.len() - bytes;
                        at.write(&data[begin..begin + done as usize]);
                    }
                    return Ok(Read { done, here: false, whole });
                }
                Decision::Negative => self.other_course(),
                Decision::Live => break,
            }
        }
        let mut error = None;
        let answer = recorded(self.disk().and_then(what), &mut error);
        let whole = answer & FAILED == 0 && self.engine.replays() && self.may_record(answer);
        if whole {
            data.clear();
            at.append_to(answer as usize, &mut data);
            for piece in data.chunks(EACH) {
                let mut word = [0; 8];
                word[..piece.len()].copy_from_slice(piece);
                self.engine.answered(DATA | u64::from_le_bytes(word));
            }
        }
        self.engine.answered(answer);
        Ok(Read { done: self.outcome(answer, error, FileName::Open(file))?, here: true, whole })
    }

    fn may_record(&mut self, bytes: u64) -> bool {
        let image = self.engine.newest_image();
        let so_far = &mut self.files.recorded;
        if so_far.image != image {
            *so_far = Recorded { image, bytes: 0 };
        }
        let fits = so_far.bytes + bytes <= FILE_RECORDED_BYTES_MAX;
        so_far.bytes += if fits { bytes } else { 0 };
        fits
    }

    /// Does something that may be repeated; a replay gets the answer.
    pub(super) fn done(
        &mut self,
        file: FileName<'_>,
        mut what: impl FnMut(&mut dyn Disk) -> Result<u64>,
    ) -> Result<u64> {
        let mut error = None;
        let act = |link: &mut L| recorded(disk_of(link).and_then(&mut what), &mut error);
        match self.engine.effect_repeatable(act) {
            Some(answer) => self.outcome(answer, error, file),
            None => self.other_course(),
        }
    }

    /// Deletes a file.
    pub(super) fn deleted(&mut self, path: &Path) -> Result<()> {
        let mut effect = Deletion { path, error: None };
        match self.engine.effect_once(&mut effect) {
            Some(answer) => result_of(answer, effect.error, path).map(|_| ()),
            None => self.other_course(),
        }
    }

    /// Opens a file, and makes it if that is wanted. `None` in a replay if it is not there any
    /// more.
    pub(super) fn opened(&mut self, path: &Path, how: Open) -> Result<Option<Handle>> {
        let (handle, identity) = if how.create && how.exclusive {
            let mut effect = Creation { path, how, unnamed: None, made: None, error: None };
            let answer = self.engine.effect_once(&mut effect);
            if let (Some(unnamed), Ok(disk)) = (effect.unnamed, self.disk()) {
                disk.close(unnamed);
            }
            let identity = match answer {
                Some(answer) => result_of(answer, effect.error, path)?,
                None => self.other_course(),
            };
            (effect.made, identity)
        } else {
            let mut handle = None;
            let open = |disk: &mut dyn Disk| {
                let opened = disk.open(path, how)?;
                handle = Some(opened);
                Ok(disk.keep(opened))
            };
            let identity = if how.create {
                self.done(FileName::Path(path), open)?
            } else {
                self.seen(FileName::Path(path), open)?
            };
            (handle, identity)
        };
        if handle.is_some() {
            return Ok(handle);
        }
        // A replay: the file is there, unless it has been deleted since and nobody has kept it.
        // Then nothing but reading will miss it.
        let plain = Open { create: false, exclusive: false, ..how };
        Ok(self.disk()?.open_again(path, plain, identity).ok())
    }
}
