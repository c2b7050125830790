//! The Fortran face: libmpifort.so.12, subroutines over the C functions of libmpi.so.12.
//!
//! Guarantees that a Fortran program, compiled with our modules or `mpif.h` or with those of another MPI of
//! the MPICH family, finds every subroutine it names, under the symbols that gfortran makes. Handles are
//! the same integers in both languages, statuses the same five integers; what differs (special addresses,
//! truth values, indices, texts, callbacks, attributes) is translated here and nowhere else.
//!
//! Most functions are generated from `include/mpi.table` by `include/fortran.rs`. There is no state but the
//! callbacks' own and no second core: an image of the process contains all of it.

mod attributes;
mod callbacks;
mod descriptor;
mod environment;
mod f08;
mod legacy;
mod marshal;
mod spawn;
mod special;
mod text;

/// The C functions; `mpi` by their ordinary symbols, `pmpi` by the profiling ones.
#[allow(missing_docs)]
mod c {
    include!(concat!(env!("OUT_DIR"), "/declarations.rs"));
}

/// Procedures of the module `mpi_f08` whose choice buffers are array descriptors.
#[allow(missing_docs, clippy::missing_safety_doc)]
mod descriptors {
    use core::ffi::{c_int, c_void};

    use crate::descriptor::{self, Copied, Parts, Typed};
    use crate::subroutines::*;

    include!(concat!(env!("OUT_DIR"), "/descriptors.rs"));
}

/// The subroutines that follow from the kinds of their parameters.
#[allow(non_snake_case)]
mod subroutines {
    use core::ffi::{c_int, c_void};

    use crate::c::mpi;
    use crate::marshal::{
        Logicals, UNTOLD, cartdim, counted_from_one, from_one, logical, set, told,
    };
    use crate::special;
    use crate::text::Text;

    include!(concat!(env!("OUT_DIR"), "/subroutines.rs"));
}
