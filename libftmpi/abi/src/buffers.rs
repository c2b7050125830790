//! Buffers for `MPI_Bsend`: of the process, of a communicator, of a session (MPI-4.1, 3.6).

use crate::calls::{Job, enter, on_comm, on_job};
use crate::decode::{self, Number, fit};
use crate::handle::{Comm, Session};
use crate::memory::{BufMut, Out};
use crate::sessions::on_session;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{BufferOwner, Request};
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};

/// `MPI_BUFFER_AUTOMATIC`, `(void *) -2`.
const AUTOMATIC: usize = usize::MAX - 1;

fn attach(job: &mut Job, owner: BufferOwner, buffer: BufMut, size: impl Number) -> Result<()> {
    let size = if buffer as usize == AUTOMATIC { None } else { Some(size.n()) };
    job.buffer_attach(owner, decode::at(buffer), size)
}

fn detach<N: Number>(
    job: &mut Job,
    owner: BufferOwner,
    buffer: Out<*mut c_void>,
    size: Out<N>,
) -> Result<()> {
    let (address, bytes) = match job.buffer_detach(owner)? {
        Some((at, Some(bytes))) => (at.as_ptr(), bytes),
        Some((_, None)) => (std::ptr::without_provenance_mut(AUTOMATIC), 0),
        None => (std::ptr::null_mut(), 0),
    };
    buffer.put(address)?;
    size.put(fit(bytes)?)
}

macro_rules! process {
    ($(fn $attach:ident, fn $detach:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $attach(buffer: BufMut, size: $count) -> c_int {
            on_job(stringify!($attach), |job| attach(job, BufferOwner::Process, buffer, size))
        }

        #[entry(guard = enter)]
        pub extern "C" fn $detach(buffer: Out<*mut c_void>, size: Out<$count>) -> c_int {
            on_job(stringify!($detach), |job| detach(job, BufferOwner::Process, buffer, size))
        }
    )* };
}

process! {
    fn MPI_Buffer_attach, fn MPI_Buffer_detach, c_int;
    fn MPI_Buffer_attach_c, fn MPI_Buffer_detach_c, i64;
}

/// The buffer of an object: of a communicator or a session.
macro_rules! object {
    ($($on:ident, $owner:ident: $handle:ty, fn $attach:ident, fn $detach:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $attach(object: $handle, buffer: BufMut, size: $count) -> c_int {
            $on(stringify!($attach), object, |job, id| {
                attach(job, BufferOwner::$owner(id), buffer, size)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $detach(
            object: $handle, buffer: Out<*mut c_void>, size: Out<$count>,
        ) -> c_int {
            $on(stringify!($detach), object, |job, id| {
                detach(job, BufferOwner::$owner(id), buffer, size)
            })
        }
    )* };
}

object! {
    on_comm, Comm: Comm, fn MPI_Comm_attach_buffer, fn MPI_Comm_detach_buffer, c_int;
    on_comm, Comm: Comm, fn MPI_Comm_attach_buffer_c, fn MPI_Comm_detach_buffer_c, i64;
    on_session, Session: Session, fn MPI_Session_attach_buffer, fn MPI_Session_detach_buffer, c_int;
    on_session, Session: Session, fn MPI_Session_attach_buffer_c, fn MPI_Session_detach_buffer_c, i64;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Buffer_flush() -> c_int {
    on_job("MPI_Buffer_flush", |job| job.buffer_flush(BufferOwner::Process))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Buffer_iflush(request: Out<Request>) -> c_int {
    on_job("MPI_Buffer_iflush", |job| request.put(job.buffer_iflush(BufferOwner::Process)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_flush_buffer(comm: Comm) -> c_int {
    on_comm("MPI_Comm_flush_buffer", comm, |job, comm| job.buffer_flush(BufferOwner::Comm(comm)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_iflush_buffer(comm: Comm, request: Out<Request>) -> c_int {
    on_comm("MPI_Comm_iflush_buffer", comm, |job, comm| {
        request.put(job.buffer_iflush(BufferOwner::Comm(comm))?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_flush_buffer(session: Session) -> c_int {
    on_session("MPI_Session_flush_buffer", session, |job, session| {
        job.buffer_flush(BufferOwner::Session(session))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_iflush_buffer(session: Session, request: Out<Request>) -> c_int {
    on_session("MPI_Session_iflush_buffer", session, |job, session| {
        request.put(job.buffer_iflush(BufferOwner::Session(session))?)
    })
}
