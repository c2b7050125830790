//! The C face of libmpi.so.12: every MPI function with the binary interface of MPICH.
//!
//! Guarantees: this crate decodes and encodes, nothing more; raw handles and integers of the interface
//! never reach the core. Every name that MPICH exports exists; what has no body yet comes from
//! `include/mpi.table` by the build script and answers `MPI_ERR_UNSUPPORTED_OPERATION` through the
//! error handler.
//!
//! The exported functions are safe Rust on purpose: pointers arrive as the types of [`memory`], which
//! hold the only dereferences.

// Names and meaning of exported functions are the MPI standard's: it documents them.
#![allow(missing_docs)]

mod attributes;
mod calls;
mod collectives;
mod communicators;
mod completion;
mod constants;
mod datatypes;
mod decode;
mod environment;
mod errors;
mod extensions;
mod fortran;
mod groups;
mod handle;
mod info;
mod memory;
mod operations;
mod point_to_point;
mod status;
mod topologies;
mod type_constructors;
mod type_queries;

pub use calls::unsupported;
use std::ffi::c_int;

/// The library's own allocator, straight on `mmap`: the runtime's signal handler may interrupt the
/// program's `malloc` and must still be able to allocate.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Functions of the standard without a body here.
mod stubs {
    use super::c_int;
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}
