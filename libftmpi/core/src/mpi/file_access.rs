//! Reading and writing files (MPI-3.1, 13.4), with the three kinds of pointers.
//!
//! Every form does its work in the call: non-blocking ones return a request that is complete, the
//! begin of a split collective does all of it. Blocking and split collective ones may be done by all
//! together (`file_together`); non-blocking ones are not, since they must not wait for others.
//!
//! Guarantees: a replay does not write again (others may have written there since), and what it reads
//! is compared with what its first life read: if the file has changed, it ends with a clear error
//! instead of computing with other data.

use super::{Mpi, Request, Status};
use crate::bail;
use crate::datatype::TypeId;
use crate::engine::{Decision, Link};
use crate::error::Result;
use crate::file::disk::{Disk, Handle};
use crate::file::represent;
use crate::file::view::{Representation, Run};
use crate::file::{FileId, Split};
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
        // Also one whose arguments are wrong tells the others, who wait for it.
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
        let view = &self.file(id)?.view;
        let runs = view.runs(view.bytes_before(access.position)?, access.bytes)?;
        let representation = view.representation.clone();
        let (in_file, scaled) = (view.in_file(access.bytes), view.scale);
        let Access { write, buffer, .. } = access;
        let datatype = self.types.committed(buffer.datatype)?.clone();
        let count = buffer.count as u64;
        let (mut turned, mut function) = (1, None);
        match &representation {
            Representation::Native | Representation::Internal => {}
            Representation::External32 => turned = represent::unit(&datatype)?,
            Representation::Custom(custom) => {
                function = if write { custom.write } else { custom.read };
                let resized = scaled.is_some_and(|(memory, file)| memory != file);
                if function.is_none() && resized {
                    bail!(
                        Conversion,
                        "representation '{}' has values of another size than memory, and no function \
                         that converts them",
                        custom.name
                    );
                }
            }
        }
        let plain = turned == 1 && function.is_none();
        let mut packed = None;
        let at = match datatype.block(count).filter(|_| plain) {
            Some((disp, _)) => buffer.at.offset(disp),
            None => {
                let mut data =
                    vec![0; if write && function.is_none() { 0 } else { in_file as usize }];
                if let (true, Some(function), Representation::Custom(custom)) =
                    (write, function, &representation)
                {
                    let what =
                        self.conversion(id, access, UserPtr::own_mut(&mut data), access.bytes)?;
                    custom.convert_all(function, what, scaled.map_or(1, |(_, file)| file))?;
                } else if write {
                    data = datatype.packed(buffer.at, count);
                    represent::turn(&mut data, turned);
                }
                let at = UserPtr::own_mut(&mut data);
                packed = Some(data);
                at
            }
        };
        Ok(Staged { access, runs, at, packed, representation })
    }

    /// What a conversion function is told for so many bytes of memory.
    fn conversion(
        &self,
        id: FileId,
        access: Access,
        file: UserPtr,
        bytes: u64,
    ) -> Result<represent::Conversion> {
        let memory = self.file(id)?.view.scale.map_or(1, |(memory, _)| memory);
        let FileBuffer { at: user, datatype, .. } = access.buffer;
        Ok(represent::Conversion { user, datatype, count: bytes / memory, file, position: 0 })
    }

    /// Reads or writes, this process alone; returns the bytes of the file.
    fn transfer(&mut self, id: FileId, staged: &mut Staged) -> Result<u64> {
        if !staged.access.write {
            return self.read_once(id, &staged.runs, staged.at);
        }
        self.write_once(id, &staged.runs, staged.at)
    }

    /// Writes, unless a life before this one has done so.
    pub(super) fn write_once(&mut self, id: FileId, runs: &[Run], at: UserPtr) -> Result<u64> {
        let file = self.file(id)?;
        let (handle, atomic) = (file.handle, file.atomic);
        self.once(|disk| {
            let Some(file) = handle else { bail!(NoSuchFile, "the file has been deleted") };
            alone(disk, file, runs, atomic, false, |disk| write_runs(disk, file, runs, at))
        })
    }

    /// Brings what was read to the program, moves the pointer; `done` are bytes of the file.
    fn land(&mut self, id: FileId, staged: Staged, done: u64) -> Result<Status> {
        let Staged { access, packed, representation, .. } = staged;
        let Access { buffer, position, .. } = access;
        let view = &self.file(id)?.view;
        let (bytes, unit, scaled) = (view.in_memory(done), view.etype.size(), view.scale);
        if let (Some(mut data), false) = (packed, access.write) {
            data.truncate(done as usize);
            match &representation {
                Representation::Custom(custom) if custom.read.is_some() => {
                    let what = self.conversion(id, access, UserPtr::own_mut(&mut data), bytes)?;
                    if let Some(function) = custom.read {
                        custom.convert_all(function, what, scaled.map_or(1, |(_, file)| file))?;
                    }
                }
                representation => {
                    let datatype = self.types.committed(buffer.datatype)?.clone();
                    if let Representation::External32 = representation {
                        represent::turn(&mut data, represent::unit(&datatype)?);
                    }
                    datatype.unpack(buffer.at, buffer.count as u64, 0, &data);
                }
            }
        }
        if access.moves {
            self.file_mut(id)?.position = position + (bytes / unit) as i64;
        }
        Ok(Status { bytes, ..Status::EMPTY })
    }

    /// Reads; in a replay, what was read before.
    pub(super) fn read_once(&mut self, id: FileId, runs: &[Run], at: UserPtr) -> Result<u64> {
        let file = self.file(id)?;
        let (handle, atomic) = (file.handle, file.atomic);
        let mut here = None;
        let done = self.once(|disk| {
            let Some(file) = handle else { bail!(NoSuchFile, "the file has been deleted") };
            let done =
                alone(disk, file, runs, atomic, true, |disk| read_runs(disk, file, runs, at))?;
            here = Some(done);
            Ok(done)
        })?;
        if !self.engine.replays() {
            return Ok(done);
        }
        if here.is_none() {
            let mut left = done;
            let mut again = runs.to_vec();
            again.retain_mut(|run| {
                run.1 = (run.1 as u64).min(left) as usize;
                left -= run.1 as u64;
                run.1 > 0
            });
            let disk = self.disk()?;
            here = handle.and_then(|file| read_runs(disk, file, &again, at).ok());
        }
        let mut data = Vec::new();
        at.append_to(here.unwrap_or(0) as usize, &mut data);
        let seen = digest(&data);
        let same = match self.engine.decide() {
            Decision::Positive(then) => then == seen,
            Decision::Live => {
                self.engine.answered(seen);
                true
            }
            Decision::Negative => false,
        };
        if !same || here != Some(done) {
            let path = self.file(id)?.path.clone();
            let me = self.engine.me();
            self.engine.link.give_up(format!(
                "rank {me} cannot be recovered: it read '{path}' before it died, and the file has other \
                 data there now; do not write where a job also reads, or take images more often"
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
