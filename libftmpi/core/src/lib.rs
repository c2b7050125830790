//! MPI semantics without I/O: matching, requests, datatypes, communicators, collectives.

pub mod arguments;
pub mod attribute;
pub mod bsend;
pub mod collective;
pub mod comm;
pub mod datatype;
pub mod engine;
pub mod errhandler;
pub mod error;
pub mod file;
pub mod group;
pub mod ids;
pub mod info;
pub mod mpi;
pub mod op;
pub mod request;
pub(crate) mod session;
pub mod slab;
pub mod status;
pub mod text;
pub mod topology;
pub mod tuning;
pub mod usermem;
pub mod window;
