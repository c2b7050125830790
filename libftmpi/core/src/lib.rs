//! MPI semantics without I/O: matching, requests, datatypes, communicators, collectives.
//!
//! | module | what |
//! | --- | --- |
//! | [`ids`], [`status`], [`error`], [`tuning`], [`usermem`] | ground: every module may use it |
//! | [`datatype`], [`op`], [`group`], [`info`], [`attribute`], [`topology`] | objects of MPI |
//! | [`engine`] | carries messages |
//! | [`collective`], [`window`], [`file`], [`request`], [`comm`] | algorithms and tables |
//! | [`mpi`] | the facade: a method for each call |
//!
//! Guarantees: nothing here does input or output. The engine asks its `engine::Link` for it, files
//! ask `file::disk::Disk`. No other modules
//! import each other in a circle than `engine` with `collective`, `window`, `file` and `status`.

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
mod room;
pub(crate) mod session;
pub mod slab;
pub mod status;
pub mod text;
pub mod topology;
pub mod tuning;
pub mod usermem;
pub mod window;
