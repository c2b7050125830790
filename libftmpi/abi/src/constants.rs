//! Integers of the MPICH ABI as `mpi.h` compiles them into applications.
//!
//! Guarantees: every value equals the one in the public headers of MPICH 3.1 and later (the ABI
//! that Intel MPI, MVAPICH and Cray share). A C test compiles both headers and compares. Handles
//! are in [`crate::handle`], error classes in `ftmpi_core::error`.

use std::ffi::{c_int, c_void};

pub const MPI_SUCCESS: c_int = 0;

pub const MPI_PROC_NULL: c_int = -1;
pub const MPI_ANY_SOURCE: c_int = -2;
pub const MPI_ROOT: c_int = -3;
pub const MPI_ANY_TAG: c_int = -1;
pub const MPI_UNDEFINED: c_int = -32766;
/// The largest tag that `MPI_TAG_UB` promises.
pub const TAG_UB: c_int = i32::MAX;

pub const MPI_MAX_PROCESSOR_NAME: usize = 128;
/// Bytes of the name of a port, zero byte included.
pub const MPI_MAX_PORT_NAME: usize = 256;
pub const MPI_MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MPI_MAX_ERROR_STRING: usize = 512;
pub const MPI_MAX_OBJECT_NAME: usize = 128;
pub const MPI_MAX_INFO_KEY: usize = 255;
/// Largest number that may be an error code of a predefined class.
pub const MPI_ERR_LASTCODE: c_int = 0x3fff_ffff;

pub const MPI_IDENT: c_int = 0;
pub const MPI_CONGRUENT: c_int = 1;
pub const MPI_SIMILAR: c_int = 2;
pub const MPI_UNEQUAL: c_int = 3;

pub const MPI_GRAPH: c_int = 1;
pub const MPI_CART: c_int = 2;
pub const MPI_DIST_GRAPH: c_int = 3;

pub const MPI_THREAD_SINGLE: c_int = 0;
pub const MPI_THREAD_FUNNELED: c_int = 1;
pub const MPI_THREAD_SERIALIZED: c_int = 2;
pub const MPI_THREAD_MULTIPLE: c_int = 3;

pub const MPI_MODE_CREATE: c_int = 1;
pub const MPI_MODE_RDONLY: c_int = 2;
pub const MPI_MODE_WRONLY: c_int = 4;
pub const MPI_MODE_RDWR: c_int = 8;
pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 16;
pub const MPI_MODE_UNIQUE_OPEN: c_int = 32;
pub const MPI_MODE_EXCL: c_int = 64;
pub const MPI_MODE_APPEND: c_int = 128;
pub const MPI_MODE_SEQUENTIAL: c_int = 256;
pub const MPI_SEEK_SET: c_int = 600;
pub const MPI_SEEK_CUR: c_int = 602;
pub const MPI_SEEK_END: c_int = 604;
pub const MPI_DISPLACEMENT_CURRENT: i64 = -54278278;

pub const MPI_LOCK_EXCLUSIVE: c_int = 234;
pub const MPI_LOCK_SHARED: c_int = 235;
pub const MPI_MODE_NOCHECK: c_int = 1024;
pub const MPI_MODE_NOPRECEDE: c_int = 8192;
pub const MPI_MODE_NOSUCCEED: c_int = 16384;

pub const MPI_COMM_TYPE_SHARED: c_int = 1;
pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 2;
pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 3;
pub const MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 4;

pub const MPI_TYPECLASS_REAL: c_int = 1;
pub const MPI_TYPECLASS_INTEGER: c_int = 2;
pub const MPI_TYPECLASS_COMPLEX: c_int = 3;

pub const MPI_ORDER_C: c_int = 56;
pub const MPI_ORDER_FORTRAN: c_int = 57;
pub const MPI_DISTRIBUTE_BLOCK: c_int = 121;
pub const MPI_DISTRIBUTE_CYCLIC: c_int = 122;
pub const MPI_DISTRIBUTE_NONE: c_int = 123;
pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = -49767;

/// `MPI_IN_PLACE`, `(void *) -1`.
#[inline(always)]
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer as usize == usize::MAX
}

/// What `libmpi_abi.so.1` adds to a small number that is a constant here and none there.
const NONE_THERE: c_int = c_int::MIN + 0x10_0000;

/// The number that the program gave, for the text of an error, if this is what came of it.
pub fn given(value: c_int) -> c_int {
    let number = value.wrapping_sub(NONE_THERE);
    if (-0xffff..=0xffff).contains(&number) { number } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_what_programs_gave() {
        assert_eq!(
            [3, -2, 4096, c_int::MIN, c_int::MAX].map(given),
            [3, -2, 4096, c_int::MIN, c_int::MAX]
        );
        assert_eq!([3, -2].map(|value| given(NONE_THERE + value)), [3, -2]);
    }
}
