//! The living rank: joins the job, drives the core over the transport, takes images, ends.
//!
//! | module | what |
//! | --- | --- |
//! | `job`, `calls` | MPI in this process; begin and end of every call, signal |
//! | `call_trace` | records of calls for `--trace` |
//! | `init`, `finalize`, `abort`, `ending` | how a rank begins and ends |
//! | `direct_start` | ranks that another launcher started (PMI-1, PMI-2, PMIx) |
//! | [`world`] | the engine's link: channels, news, waiting, files |
//! | [`control`] | datagrams with the agent |
//! | [`logger`] | frames with the event logger |
//! | [`sleep`] | spin and sleep |
//! | `settings` | what tools may change |
//! | `threads`, `attention` | several threads in the library; flags of the signal handler |
//! | `thread_order` | calls whose order is recorded |
//! | `image`, [`boot`] | images, by the boot library |
//! | `posix_files` | the program's files |
//! | `file_undo` | their journals, where they return to a wave with the ranks |
//! | `shared_memory` | memory of `MPI_Win_allocate_shared` |
//! | [`status`] | the page shared with the agent |
//!
//! One thread touches all this: the program's, inside a call, or the signal handler on it while it
//! is outside (`docs/internals/threads-and-signals.md`).

mod abort;
mod attention;
pub mod boot;
mod call_trace;
mod calls;
pub mod control;
mod direct_start;
mod ending;
mod file_undo;
mod finalize;
mod image;
mod init;
mod job;
mod loaded;
pub mod logger;
mod posix_files;
mod settings;
mod shared_memory;
pub mod sleep;
pub mod status;
mod thread_order;
mod threads;
mod touch;
mod tuning;
pub mod world;

pub use abort::{abort, abort_on};
pub use calls::{enter, leave, let_threads_in, outside};
pub use finalize::{finalize, finalize_at_exit, reopen};
/// What an interface shows of the job.
pub use ftmpi_wire::control::{Events, JobView};
pub use init::{Threads, init};
pub use job::{Job, get};
pub use settings::Tunable;
pub use world::World;
