//! Files: opening, closing, views, pointers, queries (MPI-4.1, 14.2 and 14.3).

use crate::calls::{enter, job, not_running, on_file, on_job, raise_on_file};
use crate::constants::{
    MPI_DISPLACEMENT_CURRENT, MPI_MODE_APPEND, MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE,
    MPI_MODE_EXCL, MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_SEQUENTIAL, MPI_MODE_UNIQUE_OPEN,
    MPI_MODE_WRONLY, MPI_SEEK_CUR, MPI_SEEK_END, MPI_SEEK_SET, MPI_SUCCESS,
};
use crate::error_codes;
use crate::handle::{Comm, Datatype, Errhandler, Group, Info};
use crate::handle_ids::File;
use crate::memory::{Out, OutText, Text};
use ftmpi_core::bail;
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_core::file::Mode;
use ftmpi_core::file::represent::NAME_MAX;
use ftmpi_core::mpi::{Language, Whence};
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MPI_MAX_DATAREP_STRING: usize = NAME_MAX;

#[entry]
pub extern "C" fn MPI_File_c2f(file: File) -> c_int {
    file.0 as c_int
}

#[entry]
pub extern "C" fn MPI_File_f2c(file: c_int) -> File {
    File(usize::try_from(file).unwrap_or(0))
}

#[entry]
pub extern "C" fn MPI_File_toint(file: File) -> c_int {
    file.0 as c_int
}

#[entry]
pub extern "C" fn MPI_File_fromint(file: c_int) -> File {
    File(usize::try_from(file).unwrap_or(0))
}

fn mode(amode: c_int) -> Result<Mode> {
    let has = |bit: c_int| amode & bit != 0;
    let known = MPI_MODE_RDONLY
        | MPI_MODE_RDWR
        | MPI_MODE_WRONLY
        | MPI_MODE_CREATE
        | MPI_MODE_EXCL
        | MPI_MODE_DELETE_ON_CLOSE
        | MPI_MODE_UNIQUE_OPEN
        | MPI_MODE_SEQUENTIAL
        | MPI_MODE_APPEND;
    let ways = [MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR];
    if ways.iter().filter(|&&way| has(way)).count() != 1 || amode & !known != 0 {
        bail!(
            Amode,
            "amode is {amode}, must have exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and \
             MPI_MODE_RDWR"
        );
    }
    Ok(Mode {
        read: !has(MPI_MODE_WRONLY),
        write: !has(MPI_MODE_RDONLY),
        create: has(MPI_MODE_CREATE),
        exclusive: has(MPI_MODE_EXCL),
        delete_on_close: has(MPI_MODE_DELETE_ON_CLOSE),
        unique: has(MPI_MODE_UNIQUE_OPEN),
        sequential: has(MPI_MODE_SEQUENTIAL),
        append: has(MPI_MODE_APPEND),
    })
}

/// Calls without a file yet: their errors are raised on `MPI_FILE_NULL`.
pub fn on_no_file(
    call: &'static str,
    body: impl FnOnce(&mut crate::calls::Job) -> Result<()>,
) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match body(job) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on_file(call, File::NULL, error.class.number(), &error.text),
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_open(
    comm: Comm,
    name: Text,
    amode: c_int,
    info: Info,
    file: Out<File>,
) -> c_int {
    on_no_file("MPI_File_open", |job| {
        let path = Path::new(name.name("filename")?);
        file.put(File::NULL)?;
        let (comm, info) = (comm.id()?, info.optional_id()?);
        file.put(File::of(job.file_open(comm, path, mode(amode)?, amode, info)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_close(file: Out<File>) -> c_int {
    let handle = file.get().unwrap_or(File::NULL);
    on_file("MPI_File_close", handle, |job, id| {
        let answer = job.file_close(id);
        file.put(File::NULL)?;
        answer
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_delete(name: Text, _info: Info) -> c_int {
    on_no_file("MPI_File_delete", |job| job.file_delete(Path::new(name.name("filename")?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_set_size(file: File, size: i64) -> c_int {
    on_file("MPI_File_set_size", file, |job, id| job.file_set_size(id, size))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_preallocate(file: File, size: i64) -> c_int {
    on_file("MPI_File_preallocate", file, |job, id| job.file_preallocate(id, size))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_size(file: File, size: Out<i64>) -> c_int {
    on_file("MPI_File_get_size", file, |job, id| size.put(job.file_get_size(id)? as i64))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_sync(file: File) -> c_int {
    on_file("MPI_File_sync", file, |job, id| job.file_sync(id))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_set_view(
    file: File,
    disp: i64,
    etype: Datatype,
    filetype: Datatype,
    representation: Text,
    info: Info,
) -> c_int {
    on_file("MPI_File_set_view", file, |job, id| {
        let disp = (disp != MPI_DISPLACEMENT_CURRENT).then_some(disp);
        let (etype, filetype, info) = (etype.id()?, filetype.id()?, info.optional_id()?);
        job.file_set_view(id, disp, etype, filetype, representation.name("datarep")?, info)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_view(
    file: File,
    disp: Out<i64>,
    etype: Out<Datatype>,
    filetype: Out<Datatype>,
    representation: OutText<MPI_MAX_DATAREP_STRING>,
) -> c_int {
    on_file("MPI_File_get_view", file, |job, id| {
        let (begin, elementary, seen, name) = job.file_get_view(id)?;
        disp.put(begin)?;
        etype.put(Datatype::of(elementary))?;
        filetype.put(Datatype::of(seen))?;
        representation.put(name.as_bytes()).map(|_| ())
    })
}

fn whence(whence: c_int) -> Result<Whence> {
    Ok(match whence {
        MPI_SEEK_SET => Whence::Begin,
        MPI_SEEK_CUR => Whence::Current,
        MPI_SEEK_END => Whence::End,
        other => {
            bail!(Arg, "whence is {other}, must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END")
        }
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_seek(file: File, offset: i64, from: c_int) -> c_int {
    on_file("MPI_File_seek", file, |job, id| job.file_seek(id, offset, whence(from)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_seek_shared(file: File, offset: i64, from: c_int) -> c_int {
    on_file("MPI_File_seek_shared", file, |job, id| job.file_seek_shared(id, offset, whence(from)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_position(file: File, offset: Out<i64>) -> c_int {
    on_file("MPI_File_get_position", file, |job, id| offset.put(job.file_get_position(id)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_position_shared(file: File, offset: Out<i64>) -> c_int {
    on_file("MPI_File_get_position_shared", file, |job, id| {
        offset.put(job.file_get_position_shared(id)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_byte_offset(file: File, offset: i64, disp: Out<i64>) -> c_int {
    on_file("MPI_File_get_byte_offset", file, |job, id| {
        disp.put(job.file_get_byte_offset(id, offset)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_set_atomicity(file: File, flag: c_int) -> c_int {
    on_file("MPI_File_set_atomicity", file, |job, id| job.file_set_atomicity(id, flag != 0))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_atomicity(file: File, flag: Out<c_int>) -> c_int {
    on_file("MPI_File_get_atomicity", file, |job, id| {
        flag.put(c_int::from(job.file_get_atomicity(id)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_amode(file: File, amode: Out<c_int>) -> c_int {
    on_file("MPI_File_get_amode", file, |job, id| amode.put(job.file_get_amode(id)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_group(file: File, group: Out<Group>) -> c_int {
    on_file("MPI_File_get_group", file, |job, id| group.put(Group::of(job.file_get_group(id)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_type_extent(
    file: File,
    datatype: Datatype,
    extent: Out<isize>,
) -> c_int {
    on_file("MPI_File_get_type_extent", file, |job, id| {
        extent.put(job.file_get_type_extent(id, datatype.id()?)? as isize)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_type_extent_c(
    file: File,
    datatype: Datatype,
    extent: Out<i64>,
) -> c_int {
    on_file("MPI_File_get_type_extent_c", file, |job, id| {
        extent.put(job.file_get_type_extent(id, datatype.id()?)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_set_info(file: File, info: Info) -> c_int {
    on_file("MPI_File_set_info", file, |job, id| match info.optional_id()? {
        Some(info) => job.file_set_info(id, info),
        None => Ok(()),
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_info(file: File, info: Out<Info>) -> c_int {
    on_file("MPI_File_get_info", file, |job, id| info.put(Info::of(job.file_get_info(id)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_create_errhandler(
    function: *mut c_void,
    handler: Out<Errhandler>,
) -> c_int {
    on_job("MPI_File_create_errhandler", |job| {
        if function.is_null() {
            bail!(Arg, "the function of an error handler is a null pointer");
        }
        handler.put(Errhandler::of(job.errhandler_create(function as usize, Language::C)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_set_errhandler(file: File, handler: Errhandler) -> c_int {
    on_job("MPI_File_set_errhandler", |job| {
        job.file_set_errhandler(file.optional_id()?, handler.id()?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_get_errhandler(file: File, handler: Out<Errhandler>) -> c_int {
    on_job("MPI_File_get_errhandler", |job| {
        handler.put(Errhandler::of(job.file_get_errhandler(file.optional_id()?)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_File_call_errhandler(file: File, code: c_int) -> c_int {
    if job().is_none() {
        return not_running("MPI_File_call_errhandler");
    }
    if error_codes::class_of(code).is_none() {
        let text = format!("{code} is no error code");
        let class = ErrorClass::Arg.number();
        return raise_on_file("MPI_File_call_errhandler", file, class, &text);
    }
    raise_on_file("MPI_File_call_errhandler", file, code, &error_codes::text_of(code));
    MPI_SUCCESS
}
