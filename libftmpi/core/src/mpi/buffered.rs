//! `MPI_Bsend` and the buffer that the program attaches.
//!
//! Guarantees: a buffered send completes at once, or fails with `MPI_ERR_BUFFER` when what is under
//! way would not fit the attached buffer. The payload is kept in memory of ours; of the program's
//! buffer only the size counts.

use super::Mpi;
use crate::bail;
use crate::collective::{Piece, lend};
use crate::engine::{Link, ReqId, SendData, SendMode};
use crate::error::Result;
use crate::usermem::{Scratch, UserPtr};
use ftmpi_wire::Rank;

/// `MPI_BSEND_OVERHEAD`: what every message takes besides its payload.
pub const BSEND_OVERHEAD: usize = 96;

struct Pending {
    request: ReqId,
    copy: Scratch,
    bytes: usize,
}

/// The attached buffer and what is under way in it.
#[derive(Default)]
pub(super) struct BsendBuffer {
    attached: Option<(UserPtr, usize)>,
    pending: Vec<Pending>,
    used: usize,
}

impl<L: Link> Mpi<L> {
    /// `MPI_Buffer_attach`
    pub fn buffer_attach(&mut self, buffer: UserPtr, bytes: i64) -> Result<()> {
        if bytes < 0 {
            bail!(Arg, "the size of the buffer is {bytes}, must not be negative");
        }
        if self.bsend.attached.is_some() {
            bail!(Buffer, "a buffer is attached already: detach it first");
        }
        self.bsend.attached = Some((buffer, bytes as usize));
        Ok(())
    }

    /// `MPI_Buffer_detach`: waits for everything in it. A null address if none is attached.
    pub fn buffer_detach(&mut self) -> Result<(UserPtr, i64)> {
        self.flush_buffered();
        let (buffer, bytes) = self.bsend.attached.take().unwrap_or((UserPtr::BOTTOM, 0));
        Ok((buffer, bytes as i64))
    }

    /// Waits for all buffered sends (`MPI_Finalize` does, too).
    pub fn flush_buffered(&mut self) {
        while let Some(pending) = self.bsend.pending.pop() {
            self.engine.wait(pending.request);
            self.pool.give_back(pending.copy);
        }
        self.bsend.used = 0;
    }

    fn reap_buffered(&mut self) {
        let mut i = 0;
        while i < self.bsend.pending.len() {
            if self.engine.is_done(self.bsend.pending[i].request) {
                let pending = self.bsend.pending.swap_remove(i);
                self.engine.finish(pending.request);
                self.bsend.used -= pending.bytes;
                self.pool.give_back(pending.copy);
            } else {
                i += 1;
            }
        }
    }

    pub(super) fn send_buffered(
        &mut self,
        data: &SendData,
        to: Rank,
        context: u16,
        tag: i32,
    ) -> Result<()> {
        let piece = match data {
            SendData::Bytes { ptr, len } => Piece::bytes(*ptr, *len),
            SendData::Typed { ptr, count, datatype } => {
                Piece::typed(*ptr, *count as usize, datatype)
            }
        };
        let bytes = piece.len() + BSEND_OVERHEAD;
        let room = self.bsend.attached.map_or(0, |(_, size)| size);
        self.reap_buffered();
        if self.bsend.used + bytes > room {
            self.engine.progress();
            self.reap_buffered();
        }
        if self.bsend.used + bytes > room {
            bail!(
                Buffer,
                "a buffered send needs {bytes} bytes (MPI_BSEND_OVERHEAD included), but {} of the \
                 {room} bytes attached are free: attach a larger buffer",
                room - self.bsend.used.min(room)
            );
        }
        let mut copy = self.pool.take(piece.len());
        let packed = Piece::bytes(lend(&mut copy), piece.len());
        let _ = piece.copy_to(&packed);
        match self.engine.isend(packed.to_send(), to, context, tag, SendMode::Standard) {
            None => self.pool.give_back(copy),
            Some(request) => {
                self.bsend.used += bytes;
                self.bsend.pending.push(Pending { request, copy, bytes });
            }
        }
        Ok(())
    }
}
