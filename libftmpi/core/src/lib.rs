//! MPI semantics without I/O: matching, requests, datatypes, communicators, collectives.

pub mod datatype;
pub mod error;
pub mod slab;
pub mod usermem;
