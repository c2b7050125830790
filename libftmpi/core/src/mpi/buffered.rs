//! `MPI_Bsend` and the buffers that the program attaches: to the process, to a communicator or to a
//! session (MPI-4.1, 3.6).
//!
//! Guarantees: a buffered send completes at once. It fails with `MPI_ERR_BUFFER` if the attached
//! buffer has no room left by the messages under way. The payload is kept in memory of the library;
//! of the program's buffer only the size counts. The buffer of a communicator has precedence over
//! that of its session, and the latter over the one of the process.

use super::{CommId, Mpi, Request};
use crate::bail;
use crate::bsend::{BsendBuffer, BufferOwner, Pending};
use crate::collective::{Piece, address_of};
use crate::engine::{Link, SendData, SendMode};
use crate::error::Result;
use crate::request::{Active, Slot};
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

/// `MPI_BSEND_OVERHEAD`: what every message takes in addition to its payload.
pub const BSEND_OVERHEAD: usize = 96;

impl<L: Link> Mpi<L> {
    /// `MPI_Buffer_attach`, also for communicators and sessions. `bytes` is `None` for
    /// `MPI_BUFFER_AUTOMATIC`.
    pub fn buffer_attach(
        &mut self,
        owner: BufferOwner,
        at: UserPtr,
        bytes: Option<i64>,
    ) -> Result<()> {
        self.buffer_owner(owner)?;
        let size = match bytes {
            Some(bytes) if bytes < 0 => {
                bail!(Arg, "the size of the buffer is {bytes}, must not be negative")
            }
            Some(bytes) => Some(bytes as usize),
            None => None,
        };
        if self.bsend.buffers.contains_key(&owner) {
            bail!(Buffer, "a buffer is attached already: detach it first");
        }
        let buffer = BsendBuffer { at, size, pending: Vec::new(), used: 0 };
        self.bsend.buffers.insert(owner, buffer);
        Ok(())
    }

    /// `MPI_Buffer_detach`, also for communicators and sessions: waits for everything in the
    /// buffer. Returns its address, `None` if none is attached, and its size, `None` for
    /// `MPI_BUFFER_AUTOMATIC`.
    pub fn buffer_detach(&mut self, owner: BufferOwner) -> Result<Option<(UserPtr, Option<i64>)>> {
        self.buffer_owner(owner)?;
        self.flush_buffer(owner);
        let buffer = self.bsend.buffers.remove(&owner);
        Ok(buffer.map(|buffer| (buffer.at, buffer.size.map(|size| size as i64))))
    }

    /// `MPI_Buffer_flush`, also for communicators and sessions: waits for everything in the buffer.
    pub fn buffer_flush(&mut self, owner: BufferOwner) -> Result<()> {
        self.buffer_owner(owner)?;
        self.flush_buffer(owner);
        Ok(())
    }

    /// `MPI_Buffer_iflush`, also for communicators and sessions.
    pub fn buffer_iflush(&mut self, owner: BufferOwner) -> Result<Request> {
        self.buffer_owner(owner)?;
        let comm = match owner {
            BufferOwner::Comm(comm) => comm,
            _ => CommId::WORLD,
        };
        self.new_request(Slot::once(comm, Active::Flush(owner, self.bsend.sent)))
    }

    /// Whether there is what the buffer belongs to.
    fn buffer_owner(&self, owner: BufferOwner) -> Result<()> {
        match owner {
            BufferOwner::Process => Ok(()),
            BufferOwner::Comm(comm) => self.comm(comm).map(|_| ()),
            BufferOwner::Session(session) => self.session(session).map(|_| ()),
        }
    }

    /// Waits for all buffered sends (`MPI_Finalize` does, too).
    pub fn flush_buffered(&mut self) {
        let owners: Vec<BufferOwner> = self.bsend.buffers.keys().copied().collect();
        owners.into_iter().for_each(|owner| self.flush_buffer(owner));
    }

    fn flush_buffer(&mut self, owner: BufferOwner) {
        let Some(buffer) = self.bsend.buffers.get_mut(&owner) else { return };
        let pending = std::mem::take(&mut buffer.pending);
        buffer.used = 0;
        for pending in pending {
            self.engine.wait(pending.request);
            self.pool.give_back(pending.copy);
        }
    }

    /// Whether the sends of a buffer up to this number are out.
    pub(super) fn is_flushed(&self, owner: BufferOwner, until: u64) -> bool {
        self.bsend.buffers.get(&owner).is_none_or(|buffer| {
            let mut waiting = buffer.pending.iter().filter(|pending| pending.number <= until);
            waiting.all(|pending| self.engine.is_done(pending.request))
        })
    }

    /// Ends the sends of a buffer that are out.
    pub(super) fn reap(&mut self, owner: BufferOwner) {
        let Some(buffer) = self.bsend.buffers.get_mut(&owner) else { return };
        let mut i = 0;
        while i < buffer.pending.len() {
            if self.engine.is_done(buffer.pending[i].request) {
                let pending = buffer.pending.swap_remove(i);
                self.engine.finish(pending.request);
                buffer.used -= pending.bytes;
                self.pool.give_back(pending.copy);
            } else {
                i += 1;
            }
        }
    }

    /// The buffer that a send on this communicator uses.
    fn buffer_of(&self, comm: CommId) -> BufferOwner {
        let attached = |owner: &BufferOwner| self.bsend.buffers.contains_key(owner);
        let own = Some(BufferOwner::Comm(comm)).filter(attached);
        let session = || {
            let session = self.comm(comm).ok()?.session?;
            Some(BufferOwner::Session(session)).filter(attached)
        };
        own.or_else(session).unwrap_or(BufferOwner::Process)
    }

    pub(super) fn send_buffered(
        &mut self,
        data: &SendData,
        to: Rank,
        context: u32,
        tag: i32,
        comm: CommId,
    ) -> Result<()> {
        let piece = match data {
            SendData::Bytes { ptr, len } => Piece::bytes(*ptr, *len),
            SendData::Owned(bytes) => Piece::bytes(UserPtr::own(bytes), bytes.len()),
            SendData::Typed { ptr, count, datatype } => {
                Piece::typed(*ptr, *count as usize, datatype)
            }
        };
        let bytes = piece.len() + BSEND_OVERHEAD;
        let owner = self.buffer_of(comm);
        self.reap(owner);
        if self.free_in(owner) < bytes {
            self.engine.progress();
            self.reap(owner);
        }
        let free = self.free_in(owner);
        if free < bytes {
            let room = self.bsend.buffers.get(&owner).and_then(|buffer| buffer.size).unwrap_or(0);
            bail!(
                Buffer,
                "a buffered send needs {bytes} bytes (MPI_BSEND_OVERHEAD included), but {free} of the \
                 {room} bytes attached are free: attach a larger buffer"
            );
        }
        let mut copy = self.pool.take(piece.len());
        let packed = Piece::bytes(address_of(&mut copy), piece.len());
        let _ = piece.copy_to(&packed);
        self.bsend.sent += 1;
        let number = self.bsend.sent;
        match self.engine.isend(packed.to_send(), to, context, tag, SendMode::Standard) {
            None => self.pool.give_back(copy),
            // A log has the payload. Whether the message is still under way depends on timing: an
            // error that depends on it could be missing in a replay.
            Some(request) if self.engine.logs_to(to) => {
                self.engine.let_go(request, to);
                self.pool.give_back(copy);
            }
            Some(request) => {
                if let Some(buffer) = self.bsend.buffers.get_mut(&owner) {
                    buffer.used += bytes;
                    buffer.pending.push(Pending { number, request, copy, bytes });
                }
            }
        }
        Ok(())
    }

    /// Bytes that are free in a buffer.
    fn free_in(&self, owner: BufferOwner) -> usize {
        match self.bsend.buffers.get(&owner) {
            None => 0,
            Some(BsendBuffer { size: None, .. }) => usize::MAX,
            Some(BsendBuffer { size: Some(size), used, .. }) => size.saturating_sub(*used),
        }
    }
}
