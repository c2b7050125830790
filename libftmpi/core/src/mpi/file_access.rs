//! Reading and writing files (MPI-3.1, 13.4), with the three kinds of pointers.
//!
//! Every form does its work in the call. Non-blocking forms return a request that is complete; the
//! begin of a split collective does all of it. Blocking and split collective ones may be done by
//! all together (`file_together`); non-blocking ones are not, since they must not wait for others.
//!
//! Guarantees: a replay does not write again, because others may have written there since. What it
//! reads is what its first incarnation read. The first bytes after an image are recorded
//! themselves, as far as `file_effects` allows. Of the other bytes a digest is recorded. If the
//! file has changed, the replay ends with a clear error instead of computing with other data.

use super::file_effects::{FileName, Read};
use super::{Mpi, Request, Status};
use crate::bail;
use crate::datatype::{Datatype, TypeId};
use crate::engine::{Decision, Link};
use crate::error::Result;
use crate::file::Split;
use crate::file::disk::{Disk, Handle};
use crate::file::represent::{self, Custom};
use crate::file::view::{Representation, Run};
use crate::ids::FileId;
use crate::request::{Active, Slot};
use crate::usermem::UserPtr;

/// Where an access begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    /// At this position.
    At(i64),
    /// Where this process' pointer is.
    Individual,
    /// Where the shared pointer is.
    Shared,
    /// At the shared pointer, all processes in the order of their ranks.
    Ordered,
}

/// A buffer of the program.
#[derive(Debug, Clone, Copy)]
pub struct FileBuffer {
    /// Its address.
    pub at: UserPtr,
    /// Values.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
}

/// A digest of data that were read; not for secrets.
fn digest(runs: &[u8]) -> u64 {
    let (words, rest) = runs.as_chunks::<8>();
    let mix = |h: u64, word: u64| {
        let mixed = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    };
    let h = words.iter().fold(runs.len() as u64, |h, word| mix(h, u64::from_le_bytes(*word)));
    rest.iter().fold(h, |h, &byte| mix(h, u64::from(byte)))
}

fn read_runs(disk: &mut dyn Disk, file: Handle, runs: &[Run], into: UserPtr) -> Result<u64> {
    let mut done = 0;
    for &(at, len) in runs {
        let came = disk.read(file, at, into.offset(done as i64), len)?;
        done += came as u64;
        if came < len {
            break;
        }
    }
    Ok(done)
}

fn write_runs(disk: &mut dyn Disk, file: Handle, runs: &[Run], from: UserPtr) -> Result<u64> {
    let mut done = 0;
    for &(at, len) in runs {
        disk.write(file, at, from.offset(done), len)?;
        done += len as i64;
    }
    Ok(done as u64)
}

/// Does something with the range of an atomic access locked.
fn alone(
    disk: &mut dyn Disk,
    file: Handle,
    runs: &[Run],
    atomic: bool,
    shared: bool,
    what: impl FnOnce(&mut dyn Disk) -> Result<u64>,
) -> Result<u64> {
    let (Some(first), Some(last), true) = (runs.first(), runs.last(), atomic) else {
        return what(disk);
    };
    let (from, to) = (first.0, last.0 + last.1 as u64);
    disk.lock(file, from, to, shared)?;
    let answer = what(disk);
    disk.unlock(file, from, to);
    answer
}

/// An access whose arguments are checked.
#[derive(Debug, Clone, Copy)]
struct Access {
    write: bool,
    /// Whether the individual pointer moves.
    moves: bool,
    /// Where it begins, in elementary types.
    position: i64,
    /// Bytes in memory.
    bytes: u64,
    buffer: FileBuffer,
}

/// An access with its data as they are in the file.
pub(super) struct Staged {
    access: Access,
    /// Where in the file.
    pub runs: Vec<Run>,
    /// The data: the program's buffer itself, or a packed copy.
    pub at: UserPtr,
    packed: Option<Vec<u8>>,
    representation: Representation,
    course: Course,
}

/// The conversion of values to or from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// They are the same.
    Plain,
    /// By the rules of `external32`.
    External,
    /// By this function of the program.
    Calls(usize),
}

impl Course {
    fn of(representation: &Representation, datatype: &Datatype, write: bool) -> Result<Self> {
        Ok(match representation {
            Representation::Native | Representation::Internal => Self::Plain,
            Representation::External32 => match datatype.base() {
                // Nothing to turn around.
                Some(base) if Datatype::builtin(base).size() == 1 => Self::Plain,
                _ => Self::External,
            },
            Representation::Custom(custom) => {
                match if write { custom.write } else { custom.read } {
                    Some(function) => Self::Calls(function),
                    None if datatype.is_same_in_file(&mut |builtin| custom.size(builtin))? => {
                        Self::Plain
                    }
                    None => bail!(
                        Conversion,
                        "representation '{}' has values of another size than memory, and no function that \
                     converts them",
                        custom.name.display()
                    ),
                }
            }
        })
    }
}

/// Calls the program's function for all values of which `bytes` are in the file.
fn convert(
    custom: &Custom,
    function: usize,
    datatype: &Datatype,
    buffer: FileBuffer,
    file: UserPtr,
    bytes: u64,
) -> Result<()> {
    let sizes = &mut |builtin| custom.size(builtin);
    let (count, _) = represent::whole_values(datatype, buffer.count as u64, bytes, sizes)?;
    let FileBuffer { at: user, datatype: number, .. } = buffer;
    let what = represent::Conversion { user, datatype: number, count, file, position: 0 };
    custom.convert_all(function, what, datatype)
}

impl<L: Link> Mpi<L> {
    /// Reads or writes; the status says how much.
    pub fn file_access(
        &mut self,
        id: FileId,
        write: bool,
        pointer: Pointer,
        buffer: FileBuffer,
    ) -> Result<Status> {
        let access = self.access(id, write, pointer, buffer)?;
        let mut staged = self.stage(id, access)?;
        let done = self.transfer(id, &mut staged)?;
        self.land(id, staged, done)
    }

    /// Reads or writes with all processes of the file; the status says how much.
    pub fn file_access_all(
        &mut self,
        id: FileId,
        write: bool,
        pointer: Pointer,
        buffer: FileBuffer,
    ) -> Result<Status> {
        self.file(id)?;
        let staged = match self.access(id, write, pointer, buffer) {
            Ok(access) => self.stage(id, access),
            Err(error) => Err(error),
        };
        // A process with wrong arguments takes part, too: the others wait for it.
        let plan = self.plan_together(id, write, staged.as_ref().ok())?;
        let mut staged = staged?;
        let done = match plan {
            None => self.transfer(id, &mut staged)?,
            Some(plan) if write => self.write_together(id, &plan, &staged)?,
            Some(plan) => self.read_together(id, &plan, &mut staged)?,
        };
        self.land(id, staged, done)
    }

    /// Checks the arguments.
    fn access(
        &mut self,
        id: FileId,
        write: bool,
        pointer: Pointer,
        buffer: FileBuffer,
    ) -> Result<Access> {
        let file = self.file(id)?;
        if write && !file.mode.write {
            bail!(ReadOnly, "the file was opened with MPI_MODE_RDONLY");
        }
        if !write && !file.mode.read {
            bail!(Access, "the file was opened with MPI_MODE_WRONLY");
        }
        let explicit = matches!(pointer, Pointer::At(_) | Pointer::Individual);
        if file.mode.sequential && explicit {
            bail!(
                UnsupportedOperation,
                "the file was opened with MPI_MODE_SEQUENTIAL: only the shared pointer can be used"
            );
        }
        let piece = self.piece(buffer.at, buffer.count, buffer.datatype)?;
        let bytes = piece.len() as u64;
        let unit = file.view.etype.size();
        if !bytes.is_multiple_of(unit) {
            bail!(Io, "{bytes} bytes are no whole number of etypes of {unit} bytes");
        }
        let etypes = (bytes / unit) as i64;
        let position = match pointer {
            Pointer::At(offset) => offset,
            Pointer::Individual => file.position,
            Pointer::Shared => {
                let shared = file.shared;
                self.add_to_counter(shared, etypes)?
            }
            Pointer::Ordered => self.ordered(id, etypes)?,
        };
        let moves = pointer == Pointer::Individual;
        Ok(Access { write, moves, position, bytes, buffer })
    }

    /// This process' place when all access in the order of their ranks.
    fn ordered(&mut self, id: FileId, etypes: i64) -> Result<i64> {
        let file = self.file(id)?;
        let (comm, shared, me) = (file.comm, file.shared, file.members.me as usize);
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &etypes.to_le_bytes())?;
        let lengths: Vec<i64> =
            all.as_chunks::<8>().0.iter().map(|w| i64::from_le_bytes(*w)).collect();
        let mut begin = [0; 8];
        if me == 0 {
            begin = self.add_to_counter(shared, lengths.iter().sum())?.to_le_bytes();
        }
        let scope = self.scope(comm)?;
        self.broadcast(&scope, 0, &mut begin)?;
        Ok(i64::from_le_bytes(begin) + lengths[..me].iter().sum::<i64>())
    }

    /// Finds the places in the file, and makes the data ready.
    fn stage(&mut self, id: FileId, access: Access) -> Result<Staged> {
        let Access { write, buffer, .. } = access;
        let (datatype, count) =
            (self.types.committed(buffer.datatype)?.clone(), buffer.count as u64);
        let view = &self.file(id)?.view;
        let representation = view.representation.clone();
        let in_file = access.bytes / view.etype.size() * view.etype_in_file().size();
        let runs = view.runs(view.bytes_before(access.position)?, in_file)?;
        let course = Course::of(&representation, &datatype, write)?;
        if course != Course::Plain || view.in_file.is_some() {
            let each = datatype.size_in_file(&mut |builtin| representation.size_of(builtin))?;
            if each.checked_mul(count) != Some(in_file) {
                bail!(
                    Type,
                    "the values of the buffer have {each} bytes per element in representation '{}', \
                     and are not those of the etype",
                    representation.name().display()
                );
            }
        }
        let mut packed = None;
        let block = datatype.block(count).filter(|_| course == Course::Plain);
        let at = match block {
            Some((disp, _)) => buffer.at.offset(disp),
            None => {
                let mut data = match (write, course) {
                    (true, Course::Plain) => datatype.packed(buffer.at, count),
                    (true, Course::External) => {
                        datatype.to_external(count, &datatype.packed(buffer.at, count))?
                    }
                    _ => vec![0; in_file as usize],
                };
                if let (true, Course::Calls(function), Representation::Custom(custom)) =
                    (write, course, &representation)
                {
                    let file = UserPtr::own_mut(&mut data);
                    convert(custom, function, &datatype, buffer, file, in_file)?;
                }
                let at = UserPtr::own_mut(&mut data);
                packed = Some(data);
                at
            }
        };
        Ok(Staged { access, runs, at, packed, representation, course })
    }

    /// Reads or writes, this process alone; returns the bytes of the file.
    fn transfer(&mut self, id: FileId, staged: &mut Staged) -> Result<u64> {
        if !staged.access.write {
            return self.read_once(id, &staged.runs, staged.at);
        }
        self.write_once(id, &staged.runs, staged.at)
    }

    /// Writes, unless an earlier incarnation has written.
    pub(super) fn write_once(&mut self, id: FileId, runs: &[Run], at: UserPtr) -> Result<u64> {
        let file = self.file(id)?;
        let (handle, atomic) = (file.handle, file.atomic);
        self.done(FileName::Open(id), |disk| {
            let Some(file) = handle else { bail!(NoSuchFile, "the file has been deleted") };
            alone(disk, file, runs, atomic, false, |disk| write_runs(disk, file, runs, at))
        })
    }

    /// Brings what was read to the program, moves the pointer; `done` are bytes of the file.
    fn land(&mut self, id: FileId, staged: Staged, done: u64) -> Result<Status> {
        let Staged { access, packed, representation, course, .. } = staged;
        let Access { buffer, position, write, .. } = access;
        let (datatype, count) =
            (self.types.committed(buffer.datatype)?.clone(), buffer.count as u64);
        let mut bytes = done;
        if course != Course::Plain {
            let sizes = &mut |builtin| representation.size_of(builtin);
            bytes = represent::whole_values(&datatype, count, done, sizes)?.1;
        }
        if let (Some(mut data), false) = (packed, write) {
            data.truncate(done as usize);
            match (course, &representation) {
                (Course::Calls(function), Representation::Custom(custom)) => {
                    let file = UserPtr::own_mut(&mut data);
                    convert(custom, function, &datatype, buffer, file, done)?;
                }
                (Course::External, _) => {
                    let data = datatype.from_external_part(count, &data)?;
                    datatype.unpack(buffer.at, count, 0, &data);
                }
                _ => {
                    datatype.unpack(buffer.at, count, 0, &data);
                }
            }
        }
        if access.moves {
            let unit = self.file(id)?.view.etype.size();
            self.file_mut(id)?.position = position + (bytes / unit) as i64;
        }
        Ok(Status { bytes, ..Status::EMPTY })
    }

    /// Reads; in a replay, what was read before.
    pub(super) fn read_once(&mut self, id: FileId, runs: &[Run], at: UserPtr) -> Result<u64> {
        let file = self.file(id)?;
        let (handle, atomic) = (file.handle, file.atomic);
        let read = self.read_recorded(id, at, |disk| {
            let Some(file) = handle else { bail!(NoSuchFile, "the file has been deleted") };
            alone(disk, file, runs, atomic, true, |disk| read_runs(disk, file, runs, at))
        })?;
        let Read { done, here, whole } = read;
        if !self.engine.replays() || whole || done == 0 {
            return Ok(done);
        }
        let mut came = Some(done);
        if !here {
            let mut left = done;
            let mut again = runs.to_vec();
            again.retain_mut(|run| {
                run.1 = (run.1 as u64).min(left) as usize;
                left -= run.1 as u64;
                run.1 > 0
            });
            let disk = self.disk()?;
            came = handle.and_then(|file| read_runs(disk, file, &again, at).ok());
        }
        let mut data = Vec::new();
        at.append_to(came.unwrap_or(0) as usize, &mut data);
        let seen = digest(&data);
        let same = match self.engine.decide_polled() {
            Decision::Positive(then) => then == seen,
            Decision::Live => {
                self.engine.answered(seen);
                true
            }
            Decision::Negative => false,
        };
        if !same || came != Some(done) {
            let path = self.file(id)?.path.display().to_string();
            let me = self.engine.me();
            self.engine.link.give_up(format!(
                "rank {me} cannot be recovered: it read '{path}' before it died, and the file has other \
                 data there now; use --protocol coordinated, or do not write where a job also reads"
            ));
        }
        Ok(done)
    }

    /// The non-blocking forms.
    pub fn file_iaccess(
        &mut self,
        id: FileId,
        write: bool,
        pointer: Pointer,
        buffer: FileBuffer,
    ) -> Result<Request> {
        let status = self.file_access(id, write, pointer, buffer)?;
        let comm = self.file(id)?.comm;
        self.new_request(Slot::once(comm, Active::Known(status)))
    }

    /// `MPI_File_…_begin`; `kind` is the name without the ending.
    pub fn file_begin(
        &mut self,
        id: FileId,
        kind: &'static str,
        write: bool,
        pointer: Pointer,
        buffer: FileBuffer,
    ) -> Result<()> {
        if let Some(split) = self.file(id)?.split {
            bail!(Io, "{}_begin was called and has no {}_end yet", split.kind, split.kind);
        }
        let status = match pointer {
            Pointer::Ordered | Pointer::Shared => self.file_access(id, write, pointer, buffer)?,
            _ => self.file_access_all(id, write, pointer, buffer)?,
        };
        self.file_mut(id)?.split = Some(Split { kind, status });
        Ok(())
    }

    /// `MPI_File_…_end`
    pub fn file_end(&mut self, id: FileId, kind: &'static str) -> Result<Status> {
        let file = self.file_mut(id)?;
        match file.split {
            Some(split) if split.kind == kind => {
                file.split = None;
                Ok(split.status)
            }
            Some(split) => bail!(Io, "{kind}_end was called after {}_begin", split.kind),
            None => bail!(Io, "{kind}_end was called without {kind}_begin"),
        }
    }
}
