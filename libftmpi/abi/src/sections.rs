//! Array sections with gaps as buffers of calls that go on after they returned: what
//! `libmpifort.so.12` asks for behind the functions of the standard.

use crate::calls::{Job, enter, on_comm, on_file, on_requests, on_win};
use crate::handle::{Comm, Datatype, Win};
use crate::handle_ids::File;
use crate::memory::{BufMut, In, Out};
use ftmpi_core::bail;
use ftmpi_core::datatype::Section;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::Request;
use std::ffi::{CStr, c_char, c_int};

/// The object of the call that has the buffer; its error handler gets errors about it. The numbers
/// are shared with `libftmpi/fortran/src/descriptor.rs`.
const ON_COMM: c_int = 0;
const ON_WIN: c_int = 1;

/// The name of a call, for the texts of errors.
///
/// # Safety
/// `name` is a constant text of our Fortran library.
unsafe fn named(name: *const c_char) -> &'static str {
    // SAFETY: the caller's promise; the library stays for the length of the process.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("an MPI call")
}

/// The type of which one value is `count` values of `datatype` in an array section. The section is
/// given by the bytes of an element, and extent and distance in bytes of each dimension. `whole`:
/// no value may lie across a gap. The program's handles are not touched; the caller frees the type.
///
/// # Safety
/// `call` is a constant text of our Fortran library.
// Parameters: a C function between two libraries; each value of a struct would be named twice.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn ftmpi_fortran_section(
    call: *const c_char,
    kind: c_int,
    object: c_int,
    element: u64,
    dimensions: In<[i64; 2]>,
    rank: c_int,
    count: i64,
    datatype: Datatype,
    whole: c_int,
    made: Out<Datatype>,
) -> c_int {
    let _guard = enter(&"");
    // SAFETY: the caller's promise.
    let call = unsafe { named(call) };
    let compose = |job: &mut Job| -> Result<()> {
        let dimensions: Vec<(u64, i64)> = dimensions
            .slice(usize::try_from(rank).unwrap_or(0))?
            .iter()
            .map(|&[extent, stride]| (extent as u64, stride))
            .collect();
        let Ok(count) = u64::try_from(count) else {
            bail!(Count, "count is {count}, must not be negative");
        };
        let section = Section { element, dimensions: &dimensions };
        let id = datatype.id()?;
        let composed = job.types.committed(id)?.over_section(count, section, whole != 0)?;
        made.put(Datatype::store(job, composed)?)
    };
    match kind {
        ON_COMM => on_comm(call, Comm(object as u32), |job, _| compose(job)),
        ON_WIN => on_win(call, Win(object as u32), |job, _| compose(job)),
        _ => on_file(call, File(usize::try_from(object).unwrap_or(0)), |job, _| compose(job)),
    }
}

/// The partitions of a request are equal parts of one value of this type at `buffer`. The buffer is
/// an array section, passed to `MPI_Psend_init` or `MPI_Precv_init`.
///
/// # Safety
/// `call` is a constant text of our Fortran library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftmpi_fortran_partitions(
    call: *const c_char,
    request: c_int,
    buffer: BufMut,
    datatype: Datatype,
) -> c_int {
    let _guard = enter(&"");
    // SAFETY: the caller's promise.
    let call = unsafe { named(call) };
    on_requests(call, |job| {
        job.partitions_of(Request(request as u32), crate::decode::at(buffer), datatype.id()?)
    })
}
