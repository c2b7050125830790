//! Reading and writing files (MPI-4.1, 14.4).

use crate::calls::{enter, on_file};
use crate::decode::{self, Number, StatusOut};
use crate::handle::Datatype;
use crate::handle_ids::File;
use crate::memory::{Buf, Out};
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{FileBuffer, Pointer, Request};
use ftmpi_entry::entry;
use std::ffi::c_int;

fn data(at: Buf, count: impl Number, datatype: Datatype) -> Result<FileBuffer> {
    Ok(FileBuffer { at: decode::at(at), count: count.n(), datatype: datatype.id()? })
}

/// Blocking calls, for `int` and for `MPI_Count`.
macro_rules! blocking {
    ($(fn $name:ident, fn $large:ident, $how:ident, $write:literal, $pointer:expr $(, $offset:ident)?;)*) => { $(
        blocking!(@one $name, c_int, $how, $write, $pointer $(, $offset)?);
        blocking!(@one $large, i64, $how, $write, $pointer $(, $offset)?);
    )* };
    (@one $name:ident, $count:ty, $how:ident, $write:literal, $pointer:expr $(, $offset:ident)?) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            file: File, $($offset: i64,)? at: Buf, count: $count, datatype: Datatype,
            status: StatusOut,
        ) -> c_int {
            on_file(stringify!($name), file, |job, id| {
                let make: fn(i64) -> Pointer = $pointer;
                let pointer = make([$($offset,)? 0][0]);
                let done = job.$how(id, $write, pointer, data(at, count, datatype)?)?;
                status.put(&done);
                Ok(())
            })
        }
    };
}

/// Non-blocking calls, in the same forms.
macro_rules! immediate {
    ($(fn $name:ident, fn $large:ident, $write:literal, $pointer:expr $(, $offset:ident)?;)*) => { $(
        immediate!(@one $name, c_int, $write, $pointer $(, $offset)?);
        immediate!(@one $large, i64, $write, $pointer $(, $offset)?);
    )* };
    (@one $name:ident, $count:ty, $write:literal, $pointer:expr $(, $offset:ident)?) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            file: File, $($offset: i64,)? at: Buf, count: $count, datatype: Datatype,
            request: Out<Request>,
        ) -> c_int {
            on_file(stringify!($name), file, |job, id| {
                let make: fn(i64) -> Pointer = $pointer;
                let pointer = make([$($offset,)? 0][0]);
                request.put(job.file_iaccess(id, $write, pointer, data(at, count, datatype)?)?)
            })
        }
    };
}

/// Split collectives, in the same forms.
macro_rules! split {
    ($(fn $begin:ident, fn $large:ident, fn $end:ident, $kind:literal, $write:literal, $pointer:expr
       $(, $offset:ident)?;)*) => { $(
        split!(@one $begin, c_int, $kind, $write, $pointer $(, $offset)?);
        split!(@one $large, i64, $kind, $write, $pointer $(, $offset)?);

        #[entry(guard = enter)]
        pub extern "C" fn $end(file: File, _at: Buf, status: StatusOut) -> c_int {
            on_file(stringify!($end), file, |job, id| {
                status.put(&job.file_end(id, $kind)?);
                Ok(())
            })
        }
    )* };
    (@one $name:ident, $count:ty, $kind:literal, $write:literal, $pointer:expr $(, $offset:ident)?) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            file: File, $($offset: i64,)? at: Buf, count: $count, datatype: Datatype,
        ) -> c_int {
            on_file(stringify!($name), file, |job, id| {
                let make: fn(i64) -> Pointer = $pointer;
                let pointer = make([$($offset,)? 0][0]);
                job.file_begin(id, $kind, $write, pointer, data(at, count, datatype)?)
            })
        }
    };
}

blocking! {
    fn MPI_File_read, fn MPI_File_read_c, file_access, false, |_| Pointer::Individual;
    fn MPI_File_read_at, fn MPI_File_read_at_c, file_access, false, Pointer::At, offset;
    fn MPI_File_read_all, fn MPI_File_read_all_c, file_access_all, false, |_| Pointer::Individual;
    fn MPI_File_read_at_all, fn MPI_File_read_at_all_c, file_access_all, false, Pointer::At, offset;
    fn MPI_File_read_shared, fn MPI_File_read_shared_c, file_access, false, |_| Pointer::Shared;
    fn MPI_File_read_ordered, fn MPI_File_read_ordered_c, file_access, false, |_| Pointer::Ordered;
    fn MPI_File_write, fn MPI_File_write_c, file_access, true, |_| Pointer::Individual;
    fn MPI_File_write_at, fn MPI_File_write_at_c, file_access, true, Pointer::At, offset;
    fn MPI_File_write_all, fn MPI_File_write_all_c, file_access_all, true, |_| Pointer::Individual;
    fn MPI_File_write_at_all, fn MPI_File_write_at_all_c, file_access_all, true, Pointer::At, offset;
    fn MPI_File_write_shared, fn MPI_File_write_shared_c, file_access, true, |_| Pointer::Shared;
    fn MPI_File_write_ordered, fn MPI_File_write_ordered_c, file_access, true, |_| Pointer::Ordered;
}

immediate! {
    fn MPI_File_iread, fn MPI_File_iread_c, false, |_| Pointer::Individual;
    fn MPI_File_iread_at, fn MPI_File_iread_at_c, false, Pointer::At, offset;
    fn MPI_File_iread_all, fn MPI_File_iread_all_c, false, |_| Pointer::Individual;
    fn MPI_File_iread_at_all, fn MPI_File_iread_at_all_c, false, Pointer::At, offset;
    fn MPI_File_iread_shared, fn MPI_File_iread_shared_c, false, |_| Pointer::Shared;
    fn MPI_File_iwrite, fn MPI_File_iwrite_c, true, |_| Pointer::Individual;
    fn MPI_File_iwrite_at, fn MPI_File_iwrite_at_c, true, Pointer::At, offset;
    fn MPI_File_iwrite_all, fn MPI_File_iwrite_all_c, true, |_| Pointer::Individual;
    fn MPI_File_iwrite_at_all, fn MPI_File_iwrite_at_all_c, true, Pointer::At, offset;
    fn MPI_File_iwrite_shared, fn MPI_File_iwrite_shared_c, true, |_| Pointer::Shared;
}

split! {
    fn MPI_File_read_all_begin, fn MPI_File_read_all_begin_c, fn MPI_File_read_all_end, "MPI_File_read_all", false, |_| Pointer::Individual;
    fn MPI_File_read_at_all_begin, fn MPI_File_read_at_all_begin_c, fn MPI_File_read_at_all_end, "MPI_File_read_at_all", false, Pointer::At, offset;
    fn MPI_File_read_ordered_begin, fn MPI_File_read_ordered_begin_c, fn MPI_File_read_ordered_end, "MPI_File_read_ordered", false, |_| Pointer::Ordered;
    fn MPI_File_write_all_begin, fn MPI_File_write_all_begin_c, fn MPI_File_write_all_end, "MPI_File_write_all", true, |_| Pointer::Individual;
    fn MPI_File_write_at_all_begin, fn MPI_File_write_at_all_begin_c, fn MPI_File_write_at_all_end, "MPI_File_write_at_all", true, Pointer::At, offset;
    fn MPI_File_write_ordered_begin, fn MPI_File_write_ordered_begin_c, fn MPI_File_write_ordered_end, "MPI_File_write_ordered", true, |_| Pointer::Ordered;
}
