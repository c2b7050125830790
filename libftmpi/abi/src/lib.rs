//! The C face of libmpi.so.12: every MPI function with the binary interface of MPICH.
//!
//! Guarantees: this crate decodes and encodes, nothing more; raw handles and integers of the
//! interface never reach the core. Every name that MPICH exports exists; what has no body yet comes
//! from `include/mpi.table` by the build script and answers `MPI_ERR_UNSUPPORTED_OPERATION` through
//! the error handler.
//!
//! The exported functions are safe Rust on purpose: pointers arrive as the types of [`memory`],
//! which hold the only dereferences.

// Names and meaning of exported functions are the MPI standard's: it documents them.
#![allow(missing_docs)]

mod abi_queries;
mod allocator;
mod attributes;
mod buffers;
mod calls;
mod collectives;
mod communicators;
mod completion;
mod constants;
mod cxx;
mod datatypes;
mod decode;
mod environment;
mod error_codes;
mod errors;
mod extensions;
mod file_access;
mod files;
mod fortran;
mod generalized;
mod groups;
mod handle;
mod handle_ids;
mod info;
mod memory;
mod one_sided;
mod operations;
mod partitioned;
mod point_to_point;
mod predefined_attributes;
mod processes;
mod representations;
mod sections;
mod sessions;
mod status;
mod tool_categories;
mod tool_counters;
mod tool_events;
mod tool_settings;
mod tools;
mod topologies;
mod type_constructors;
mod type_queries;
mod ulfm;
mod windows;

pub use calls::unsupported;
use std::ffi::c_int;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// Functions of the standard without a body here: none, until a new one enters the table.
mod stubs {
    #[allow(unused_imports, reason = "where there are none")]
    use super::c_int;
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}
