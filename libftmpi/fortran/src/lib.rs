//! The Fortran face: libmpifort.so.12, subroutines over the C functions of libmpi.so.12.
//!
//! # Where a subroutine comes from
//!
//! Most subroutines are generated. Their parameters are in `include/mpi.table`, one line for each
//! function; the generator is `tools/codegen/src/fortran`, which `build.rs` at the top calls. The
//! binding of `MPI_Waitall` is such a function: `subroutine.rs` there says how each kind of
//! parameter is passed. The modules below hold what is written by hand, and what generated
//! functions call. A function that is mentioned in these sources is not generated.
//!
//! | module | what |
//! | --- | --- |
//! | `subroutines` | generated: `mpif.h` and `use mpi` (MPI-4.1, 19.1.3 and 19.1.4) |
//! | `descriptors` | generated: `use mpi_f08` with choice buffers (MPI-4.1, 19.1.2) |
//! | `marshal`, `special`, `text` | truth values and indices; special addresses; texts |
//! | `descriptor` | array descriptors: sections with gaps |
//! | `attributes`, `callbacks` | attributes; functions of the program |
//! | `environment`, `spawn`, `legacy`, `f08` | functions that no rule covers |
//! | `ulfm` | going on without ranks that have died |
//! | `partner` | private functions of our `libmpi.so.12` |
//!
//! # Guarantees
//!
//! A Fortran program finds every subroutine that it names, under the symbols that gfortran makes.
//! It may be compiled with our modules, with `mpif.h`, or with those of another MPI of the MPICH
//! family. Handles are the same integers in both languages, statuses the same five integers. What
//! differs (special addresses, truth values, indices, texts, callbacks, attributes) is translated
//! here and nowhere else. There is no state but the callbacks' own: an image of the process
//! contains all of it.

mod attributes;
mod callbacks;
mod descriptor;
mod environment;
mod f08;
mod legacy;
mod marshal;
mod partner;
mod spawn;
mod special;
mod text;
mod ulfm;

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
        Logicals, UNWRITTEN, cartdim, counted_from_one, from_one, logical, set, store_translated,
    };
    use crate::special;
    use crate::text::Text;

    include!(concat!(env!("OUT_DIR"), "/subroutines.rs"));
}
