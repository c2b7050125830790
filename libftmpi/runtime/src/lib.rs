//! The living rank: joins the job, drives the core over the transport, takes images, ends.
//!
//! | module | what |
//! | --- | --- |
//! | [`life`] | init, calls, signal, finalize, exit |
//! | [`world`] | the engine's link: channels, news, waiting |
//! | [`control`] | datagrams with the agent |
//! | [`logger`] | frames with the event logger |
//! | [`sleep`] | spin and sleep |
//! | [`image`], [`boot`] | images, by the boot library |
//! | [`posix_files`] | the program's files |
//! | [`file_undo`] | the same where they return to a wave with the ranks |
//! | [`shared_memory`] | memory of `MPI_Win_allocate_shared` |
//! | [`status`] | the page shared with the agent |
//!
//! One thread touches all this: the program's, inside a call, or the signal handler on it while it
//! is outside (ARCHITECTURE.md, "No helper thread").

pub mod boot;
pub mod control;
mod file_undo;
mod image;
pub mod life;
pub mod logger;
mod posix_files;
mod shared_memory;
pub mod sleep;
pub mod status;
mod threads;
pub mod world;

/// What a front shows of the job.
pub use ftmpi_wire::control::{Events, JobView};
pub use life::{
    Job, Threads, abort, enter, finalize, finalize_at_exit, get, init, leave, let_threads_in,
    outside, reopen,
};
pub use world::World;
