//! Files: opening, closing, views, pointers, and what hangs on them (MPI-3.1, 13.2 to 13.4).
//!
//! Requests to the file system go through `file_effects`, so that each happens once in all
//! incarnations of a rank. Data that a replay reads are compared with what the first incarnation
//! read (`file_access`).

use super::file_effects::{FAILED, FileName};
use super::{Collective, CommId, Errhandler, ErrhandlerId, Mpi};
use crate::bail;
use crate::datatype::TypeId;
use crate::engine::Link;
use crate::error::{ErrorClass, Result};
use crate::file::disk::{Disk, Open};
use crate::file::represent::{Custom, NAME_MAX};
use crate::file::view::{Representation, View};
use crate::file::{File, Mode};
use crate::group::GroupId;
use crate::ids::FileId;
use crate::info::{Info, InfoId};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// From where `MPI_File_seek` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whence {
    /// The begin of the view.
    Begin,
    /// Where the pointer is.
    Current,
    /// The end of the file.
    End,
}

/// A path without the name of a file system before it, as ROMIO takes it from open and delete, in
/// capital letters, too. The operating system reaches the file in each case.
fn without_file_system(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    let known =
        ["ufs:", "nfs:", "unix:", "xfs:", "testfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:"];
    let rest = known.into_iter().find_map(|kind| {
        let (start, rest) = bytes.split_at_checked(kind.len())?;
        start.eq_ignore_ascii_case(kind.as_bytes()).then_some(rest)
    });
    Path::new(OsStr::from_bytes(rest.unwrap_or(bytes)))
}

impl<L: Link> Mpi<L> {
    pub(super) fn file(&self, id: FileId) -> Result<&File> {
        self.files.get(id)
    }

    pub(super) fn file_mut(&mut self, id: FileId) -> Result<&mut File> {
        self.files.get_mut(id)
    }

    /// One rank's result, at all members; the error of that rank if there was one.
    pub(super) fn result_of_first(&mut self, comm: CommId, own: Result<u64>) -> Result<u64> {
        let mut word = match &own {
            Ok(number) => *number & !FAILED,
            Err(error) => FAILED | error.class.number() as u64,
        }
        .to_le_bytes();
        let scope = self.scope(comm)?;
        self.broadcast(&scope, 0, &mut word)?;
        let answer = u64::from_le_bytes(word);
        match own {
            Err(error) => Err(error),
            Ok(_) if answer & FAILED != 0 => {
                let class = ErrorClass::from_number((answer & 0xffff) as i32);
                Err(class.unwrap_or(ErrorClass::Io).because("the first process of the file failed"))
            }
            Ok(_) => Ok(answer),
        }
    }

    /// `MPI_File_open`
    pub fn file_open(
        &mut self,
        comm: CommId,
        path: &Path,
        mode: Mode,
        amode: i32,
        info: Option<InfoId>,
    ) -> Result<FileId> {
        if !mode.read && !mode.write {
            bail!(Amode, "the access mode says neither RDONLY nor WRONLY nor RDWR");
        }
        if !mode.write && (mode.create || mode.exclusive) {
            bail!(Amode, "CREATE and EXCL cannot go with RDONLY");
        }
        if mode.read && mode.write && mode.sequential {
            bail!(Amode, "SEQUENTIAL cannot go with RDWR");
        }
        if self.comm(comm)?.members.remote.is_some() {
            bail!(Comm, "a file cannot be opened on an intercommunicator");
        }
        let info = match info {
            Some(info) => self.infos.get(info)?.clone(),
            None => Info::default(),
        };
        // The names of file systems that other implementations want mean nothing here.
        let path = without_file_system(path);
        let comm = self.duplicate(comm)?;
        let members = self.members(comm)?;
        let first = members.me == 0;
        let how = Open { read: mode.read, write: mode.write, create: false, exclusive: false };
        let mut answer = Ok(None);
        if first {
            let how = Open { create: mode.create, exclusive: mode.exclusive, ..how };
            answer = self.opened(path, how);
        }
        let own = match &answer {
            Ok(_) => Ok(0),
            Err(error) => Err(error.clone()),
        };
        let begun = self.result_of_first(comm, own);
        if begun.is_ok() && !first {
            answer = self.opened(path, how);
        }
        // All processes have the file open, or none has.
        let failed = u8::from(begun.is_err() || answer.is_err());
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &[failed])?;
        if let (Some(rank), Ok(handle)) = (all.iter().position(|&failed| failed != 0), &answer) {
            if let (Some(handle), Ok(disk)) = (*handle, self.disk()) {
                disk.close(handle);
            }
            self.comm_free(comm)?;
            begun?;
            bail!(Io, "process {rank} of the communicator could not open '{}'", path.display());
        }
        let handle = match answer {
            Ok(handle) => handle,
            Err(error) => {
                self.comm_free(comm)?;
                return Err(error);
            }
        };
        let shared = self.win_counter(comm)?;
        let errhandler = self.files.default_errhandler.unwrap_or(ErrhandlerId::RETURN);
        self.retain_errhandler(errhandler)?;
        let id = self.files.insert(File {
            comm,
            members,
            path: path.to_owned(),
            mode,
            amode,
            handle,
            view: View::default(),
            position: 0,
            shared,
            atomic: false,
            info,
            errhandler,
            split: None,
        })?;
        if mode.append {
            let end = self.end_of_view(id)?;
            self.file_mut(id)?.position = end;
            self.set_shared(id, end)?;
        }
        Ok(id)
    }

    /// `MPI_File_close`
    pub fn file_close(&mut self, id: FileId) -> Result<()> {
        let file = self.file(id)?;
        if let Some(split) = file.split {
            bail!(Other, "the file is closed before {}_end", split.kind);
        }
        let (comm, shared) = (file.comm, file.shared);
        self.free_counter(shared)?;
        let Some(file) = self.files.remove(id) else { return Ok(()) };
        if let (Some(handle), Ok(disk)) = (file.handle, self.disk()) {
            disk.close(handle);
        }
        self.release_errhandler(file.errhandler);
        let mut answer = Ok(());
        if file.mode.delete_on_close {
            self.collective(comm, Collective::Barrier)?;
            if file.members.me == 0 {
                answer = self.deleted(&file.path);
            }
            self.collective(comm, Collective::Barrier)?;
        }
        self.comm_free(comm)?;
        answer
    }

    /// `MPI_File_delete`
    pub fn file_delete(&mut self, path: &Path) -> Result<()> {
        self.deleted(without_file_system(path))
    }

    /// Something that the first process does for all.
    fn by_first(
        &mut self,
        id: FileId,
        mut what: impl FnMut(&mut dyn Disk, crate::file::disk::Handle) -> Result<u64>,
    ) -> Result<u64> {
        let file = self.file(id)?;
        let (comm, first, handle) = (file.comm, file.members.me == 0, file.handle);
        self.collective(comm, Collective::Barrier)?;
        let mut own = Ok(0);
        if first {
            own = self.done(FileName::Open(id), |disk| match handle {
                Some(handle) => what(disk, handle),
                None => bail!(NoSuchFile, "the file has been deleted"),
            });
        }
        self.result_of_first(comm, own)
    }

    fn must_be_writable(&self, id: FileId) -> Result<()> {
        if !self.file(id)?.mode.write {
            bail!(ReadOnly, "the file was opened with MPI_MODE_RDONLY");
        }
        Ok(())
    }

    fn file_size_argument(size: i64) -> Result<u64> {
        match u64::try_from(size) {
            Ok(size) => Ok(size),
            Err(_) => bail!(Arg, "size is {size}, must not be negative"),
        }
    }

    /// `MPI_File_set_size`
    pub fn file_set_size(&mut self, id: FileId, size: i64) -> Result<()> {
        self.must_be_writable(id)?;
        let size = Self::file_size_argument(size)?;
        self.by_first(id, |disk, file| disk.set_size(file, size).map(|()| 0)).map(|_| ())
    }

    /// `MPI_File_preallocate`
    pub fn file_preallocate(&mut self, id: FileId, size: i64) -> Result<()> {
        self.must_be_writable(id)?;
        let size = Self::file_size_argument(size)?;
        self.by_first(id, |disk, file| disk.preallocate(file, size).map(|()| 0)).map(|_| ())
    }

    /// `MPI_File_get_size`
    pub fn file_get_size(&mut self, id: FileId) -> Result<u64> {
        let handle = self.file(id)?.handle;
        self.seen(FileName::Open(id), |disk| match handle {
            Some(handle) => disk.size(handle),
            None => bail!(NoSuchFile, "the file has been deleted"),
        })
    }

    /// `MPI_File_sync`
    pub fn file_sync(&mut self, id: FileId) -> Result<()> {
        let file = self.file(id)?;
        let (comm, handle) = (file.comm, file.handle);
        let answer = match handle {
            Some(handle) => self.disk()?.sync(handle),
            None => Ok(()),
        };
        self.collective(comm, Collective::Barrier)?;
        answer
    }

    /// `MPI_File_set_view`; `disp` is `None` for `MPI_DISPLACEMENT_CURRENT`.
    pub fn file_set_view(
        &mut self,
        id: FileId,
        disp: Option<i64>,
        etype: TypeId,
        filetype: TypeId,
        representation: &OsStr,
        info: Option<InfoId>,
    ) -> Result<()> {
        let file = self.file(id)?;
        let comm = file.comm;
        if file.mode.sequential {
            self.collective(comm, Collective::Barrier)?;
        }
        let view = self.wanted_view(id, disp, etype, filetype, representation);
        let outcome = match (&view, info) {
            (Err(error), _) => Err(error.clone()),
            (Ok(_), Some(info)) => self.infos.get(info).map(|_| ()),
            (Ok(_), None) => Ok(()),
        };
        // The call is collective: no process waits for one that cannot have this view.
        self.agree_on(comm, " could not set its view: MPI_File_set_view there", outcome)?;
        let view = view?;
        if let Some(info) = info {
            self.file_set_info(id, info)?;
        }
        let file = self.file_mut(id)?;
        file.view = view;
        file.position = 0;
        self.set_shared(id, 0)
    }

    /// All processes have come: the shared pointer, which may count, is where they left it.
    fn wanted_view(
        &mut self,
        id: FileId,
        disp: Option<i64>,
        etype: TypeId,
        filetype: TypeId,
        representation: &OsStr,
    ) -> Result<View> {
        let file = self.file(id)?;
        let reads_only = !file.mode.write;
        let disp = match disp {
            Some(disp) => disp,
            None if file.mode.sequential => {
                let position = self.counter(file.shared)?;
                self.file(id)?.view.byte_offset(position)?
            }
            None => bail!(Arg, "MPI_DISPLACEMENT_CURRENT is for files in MPI_MODE_SEQUENTIAL only"),
        };
        let etype = self.types.committed(etype)?.clone();
        let filetype = self.types.committed(filetype)?.clone();
        let representation = self.representation(representation)?;
        let mut view = View { disp, etype, filetype, representation, in_file: None };
        view.represent()?;
        view.check(reads_only)?;
        Ok(view)
    }

    fn representation(&self, name: &OsStr) -> Result<Representation> {
        if let Some(known) = Representation::predefined(name) {
            return Ok(known);
        }
        match self.files.representations.iter().find(|custom| custom.name == name) {
            Some(custom) => Ok(Representation::Custom(custom.clone())),
            None => bail!(
                UnsupportedDatarep,
                "there is no data representation '{}': use native, internal, external32 or one of \
                 MPI_Register_datarep",
                name.display()
            ),
        }
    }

    /// `MPI_Register_datarep`
    pub fn register_representation(&mut self, custom: Custom) -> Result<()> {
        if custom.name.is_empty() || custom.name.len() >= NAME_MAX {
            bail!(
                Arg,
                "the name of a data representation has {} bytes, must have 1 to {}",
                custom.name.len(),
                NAME_MAX - 1
            );
        }
        if self.representation(&custom.name).is_ok() {
            bail!(DupDatarep, "there is a data representation '{}' already", custom.name.display());
        }
        self.files.representations.push(Rc::new(custom));
        Ok(())
    }

    /// `MPI_File_get_view`: types that the program frees if they are derived.
    pub fn file_get_view(&mut self, id: FileId) -> Result<(i64, TypeId, TypeId, OsString)> {
        let view = self.file(id)?.view.clone();
        let etype = self.types.insert(view.etype)?;
        let filetype = self.types.insert(view.filetype)?;
        Ok((view.disp, etype, filetype, view.representation.name().to_owned()))
    }

    /// The position of the end of the file.
    fn end_of_view(&mut self, id: FileId) -> Result<i64> {
        let size = self.file_get_size(id)?;
        let view = &self.file(id)?.view;
        Ok((view.seen_before(size).div_ceil(view.etype_in_file().size())) as i64)
    }

    fn sought(&mut self, id: FileId, offset: i64, whence: Whence, current: i64) -> Result<i64> {
        let from = match whence {
            Whence::Begin => 0,
            Whence::Current => current,
            Whence::End => self.end_of_view(id)?,
        };
        match from.checked_add(offset).filter(|&position| position >= 0) {
            Some(position) => Ok(position),
            None => bail!(Arg, "offset {offset} leads before the begin of the view"),
        }
    }

    fn must_be_random(&self, id: FileId) -> Result<()> {
        if self.file(id)?.mode.sequential {
            bail!(UnsupportedOperation, "the file was opened with MPI_MODE_SEQUENTIAL");
        }
        Ok(())
    }

    /// `MPI_File_seek`
    pub fn file_seek(&mut self, id: FileId, offset: i64, whence: Whence) -> Result<()> {
        self.must_be_random(id)?;
        let current = self.file(id)?.position;
        let position = self.sought(id, offset, whence, current)?;
        self.file_mut(id)?.position = position;
        Ok(())
    }

    /// `MPI_File_get_position`
    pub fn file_get_position(&self, id: FileId) -> Result<i64> {
        self.must_be_random(id)?;
        Ok(self.file(id)?.position)
    }

    /// `MPI_File_get_byte_offset`
    pub fn file_get_byte_offset(&self, id: FileId, offset: i64) -> Result<i64> {
        self.must_be_random(id)?;
        self.file(id)?.view.byte_offset(offset)
    }

    /// Sets the shared pointer. All processes call it, and no process looks at the pointer before
    /// all are back.
    fn set_shared(&mut self, id: FileId, position: i64) -> Result<()> {
        let file = self.file(id)?;
        let (comm, shared) = (file.comm, file.shared);
        self.set_counter(shared, position)?;
        self.collective(comm, Collective::Barrier)
    }

    /// `MPI_File_seek_shared`
    pub fn file_seek_shared(&mut self, id: FileId, offset: i64, whence: Whence) -> Result<()> {
        self.must_be_random(id)?;
        let file = self.file(id)?;
        let (comm, shared) = (file.comm, file.shared);
        // Accesses of other processes before they come here count. All processes look at the
        // pointer before any goes on.
        self.collective(comm, Collective::Barrier)?;
        let position =
            self.counter(shared).and_then(|current| self.sought(id, offset, whence, current));
        let outcome = position.as_ref().map(|_| ()).map_err(Clone::clone);
        self.agree_on(comm, " could not seek: MPI_File_seek_shared there", outcome)?;
        self.set_shared(id, position?)
    }

    /// `MPI_File_get_position_shared`
    pub fn file_get_position_shared(&mut self, id: FileId) -> Result<i64> {
        let shared = self.file(id)?.shared;
        self.counter(shared)
    }

    /// `MPI_File_set_atomicity`
    pub fn file_set_atomicity(&mut self, id: FileId, atomic: bool) -> Result<()> {
        let comm = self.file(id)?.comm;
        self.file_mut(id)?.atomic = atomic;
        self.collective(comm, Collective::Barrier)
    }

    /// `MPI_File_get_atomicity`
    pub fn file_get_atomicity(&self, id: FileId) -> Result<bool> {
        Ok(self.file(id)?.atomic)
    }

    /// `MPI_File_get_amode`
    pub fn file_get_amode(&self, id: FileId) -> Result<i32> {
        Ok(self.file(id)?.amode)
    }

    /// `MPI_File_get_group`
    pub fn file_get_group(&mut self, id: FileId) -> Result<GroupId> {
        let comm = self.file(id)?.comm;
        self.comm_group(comm)
    }

    /// `MPI_File_get_type_extent`
    pub fn file_get_type_extent(&self, id: FileId, datatype: TypeId) -> Result<i64> {
        let representation = &self.file(id)?.view.representation;
        let sizes = &mut |builtin| representation.size_of(builtin);
        Ok(self.types.get(datatype)?.in_file(sizes)?.extent())
    }

    /// `MPI_File_set_info`: hints are added to those given before; `file::together` says which
    /// hints have an effect.
    pub fn file_set_info(&mut self, id: FileId, info: InfoId) -> Result<()> {
        let info = self.infos.get(info)?.clone();
        let file = self.file_mut(id)?;
        for (key, value) in info.iter() {
            file.info.set(key, value)?;
        }
        Ok(())
    }

    /// `MPI_File_get_info`: a new object, which the program frees.
    pub fn file_get_info(&mut self, id: FileId) -> Result<InfoId> {
        let info = self.file(id)?.info.clone();
        self.infos.insert(info)
    }

    /// `MPI_File_set_errhandler`; of no file: the handler of files opened later, too.
    pub fn file_set_errhandler(&mut self, id: Option<FileId>, new: ErrhandlerId) -> Result<()> {
        if let Some(id) = id {
            self.file(id)?;
        }
        self.retain_errhandler(new)?;
        let old = match id {
            Some(id) => Some(std::mem::replace(&mut self.file_mut(id)?.errhandler, new)),
            None => self.files.default_errhandler.replace(new),
        };
        if let Some(old) = old {
            self.release_errhandler(old);
        }
        Ok(())
    }

    /// `MPI_File_get_errhandler`; the program frees what it gets.
    pub fn file_get_errhandler(&mut self, id: Option<FileId>) -> Result<ErrhandlerId> {
        let handler = match id {
            Some(id) => self.file(id)?.errhandler,
            None => self.files.default_errhandler.unwrap_or(ErrhandlerId::RETURN),
        };
        self.retain_errhandler(handler)?;
        Ok(handler)
    }

    /// The error handler of this file.
    #[must_use]
    pub fn file_errhandler_of(&self, id: Option<FileId>) -> Errhandler {
        let own = id.and_then(|id| self.file(id).ok()).map(|file| file.errhandler);
        let handler = own.or(self.files.default_errhandler).unwrap_or(ErrhandlerId::RETURN);
        self.errhandler(handler)
    }
}
