//! MPI semantics without I/O: matching, requests, datatypes, communicators, collectives.

pub mod attribute;
pub mod collective;
pub mod comm;
pub mod datatype;
pub mod engine;
pub mod error;
pub mod file;
pub mod group;
pub mod info;
pub mod mpi;
pub mod op;
pub mod request;
pub mod slab;
pub mod text;
pub mod topology;
pub mod usermem;
pub mod window;
