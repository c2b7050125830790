//! Generators of what exists once per MPI function.
//!
//! | module | reads | writes | for |
//! | --- | --- | --- | --- |
//! | [`c_stubs`] | `include/mpi.table` | C functions without a body | `libftmpi/abi` |
//! | [`fortran`] | `include/mpi.table` | Fortran bindings | `libftmpi/fortran` |
//! | [`standard`] | both tables | the standard ABI | `libftmpi/standard` |
//! | `headers` (a crate) | tables, preambles | `mpi.h`, modules | `include/generated` |
//!
//! `build.rs` at the top calls this crate when a library is built; its results are in `OUT_DIR`.
//! The headers are tracked, because only their generator needs cbindgen. Nothing here depends on a
//! crate of the library.

pub mod c_stubs;
pub mod error;
pub mod fortran;
pub mod rust_types;
pub mod sources;
pub mod standard;
pub mod table;
