//! What is kept of a session of the program (MPI-4.1, 11.3). The calls are in `mpi::sessions`.

use crate::ids::ErrhandlerId;
use crate::info::Info;

/// One session of the program.
pub(crate) struct Session {
    /// The error handler.
    pub(crate) errhandler: ErrhandlerId,
    /// Hints given by the program.
    pub(crate) info: Info,
}
