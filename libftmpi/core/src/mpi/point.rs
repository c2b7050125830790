//! Point-to-point communication and probing.

use super::arguments::{Destination, Origin, recv_tag, send_tag};
use super::{CommId, Message, Mpi, Peer, Request, SendKind, Status};
use crate::bail;
use crate::collective::{Piece, address_of};
use crate::datatype::TypeId;
use crate::engine::{Completion, Link, Receipt, RecvData, ReqId, SendData, SendMode, Source, Tag};
use crate::error::{ErrorClass, Result};
use crate::request::{Active, Slot, Template};
use crate::usermem::{Scratch, UserPtr};
use ftmpi_wire::Rank;

/// How the engine is to send; buffered sends are copied before.
pub(super) fn mode(kind: SendKind) -> SendMode {
    match kind {
        SendKind::Standard | SendKind::Buffered => SendMode::Standard,
        SendKind::Synchronous => SendMode::Synchronous,
        SendKind::Ready => SendMode::Ready,
    }
}

/// In `MPI_Sendrecv`, messages up to this many bytes are sent before the receive is posted.
const SENT_FIRST: usize = 8 << 10;

impl<L: Link> Mpi<L> {
    /// `MPI_Send`, `MPI_Bsend`, `MPI_Ssend`, `MPI_Rsend`
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn send(
        &mut self,
        kind: SendKind,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        to: Peer,
        tag: i32,
        comm: CommId,
    ) -> Result<()> {
        let destination = self.destination(to, comm)?;
        let tag = send_tag(tag)?;
        let data = self.outgoing(buffer, count, datatype)?;
        let Destination::To(to, context) = destination else { return Ok(()) };
        if kind == SendKind::Buffered {
            return self.send_buffered(&data, to, context, tag, comm);
        }
        if let Some(request) = self.engine.isend(data, to, context, tag, mode(kind)) {
            let done = self.engine.wait(request);
            if let Some(error) = done.error {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// `MPI_Isend`, `MPI_Ibsend`, `MPI_Issend`, `MPI_Irsend`
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn isend(
        &mut self,
        kind: SendKind,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        to: Peer,
        tag: i32,
        comm: CommId,
    ) -> Result<Request> {
        let destination = self.destination(to, comm)?;
        let tag = send_tag(tag)?;
        let data = self.outgoing(buffer, count, datatype)?;
        let Destination::To(to, context) = destination else { return Ok(Request::DONE) };
        if kind == SendKind::Buffered {
            self.send_buffered(&data, to, context, tag, comm)?;
            return Ok(Request::DONE);
        }
        match self.engine.isend(data, to, context, tag, mode(kind)) {
            None => Ok(Request::DONE),
            Some(request) => self.new_request(Slot::once(comm, Active::Send(request))),
        }
    }

    /// `MPI_Send_init` and its forms.
    #[allow(clippy::too_many_arguments)]
    pub fn send_init(
        &mut self,
        kind: SendKind,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        to: Peer,
        tag: i32,
        comm: CommId,
    ) -> Result<Request> {
        let to = match self.destination(to, comm)? {
            Destination::To(to, context) => Some((to, context)),
            Destination::Nowhere => None,
        };
        let tag = send_tag(tag)?;
        let data = self.piece(buffer, count, datatype)?;
        self.new_request(Slot::persistent(comm, Template::Send { kind, data, to, tag }))
    }

    /// `MPI_Recv`
    #[inline]
    pub fn recv(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        from: Peer,
        tag: Tag,
        comm: CommId,
    ) -> Result<Status> {
        let origin = self.origin(from, comm)?;
        let tag = recv_tag(tag)?;
        let into = self.incoming(buffer, count, datatype)?;
        let Origin::From(source, context) = origin else { return Ok(Status::PROC_NULL) };
        let done = self.engine.recv(into, source, context, tag);
        self.received(&done, comm)
    }

    /// The answer of a blocking receive.
    #[inline]
    fn received(&mut self, done: &Completion, comm: CommId) -> Result<Status> {
        let status = Status::received(done, &self.comm(comm)?.members);
        match done.error {
            None => Ok(status),
            Some(error) => Err(self.failed(error, status, comm)),
        }
    }

    #[cold]
    pub(super) fn failed(
        &mut self,
        error: ErrorClass,
        status: Status,
        comm: CommId,
    ) -> crate::error::MpiError {
        self.last_status = status;
        self.blamed = comm;
        if let Some(words) = self.words.take()
            && error != ErrorClass::Truncate
        {
            return error.because(words);
        }
        if error == ErrorClass::Truncate {
            let source = match status.source {
                Peer::Rank(rank) => format!(" from rank {rank}"),
                _ => String::new(),
            };
            let tag = match status.tag {
                Tag::Is(tag) => format!(" with tag {tag}"),
                Tag::Any => String::new(),
            };
            let buffer = match (status.tag, status.bytes) {
                (Tag::Is(tag), fits) => match self.engine.take_length_of_too_long(tag, fits) {
                    Some(len) => format!("{len} bytes long, the receive buffer {fits}"),
                    None => format!("longer than the receive buffer of {fits} bytes"),
                },
                (Tag::Any, _) => "longer than the receive buffer".to_owned(),
            };
            return error.because(format!(
                "a message{source}{tag} is {buffer}: make the buffer larger, or probe before receiving"
            ));
        }
        error.into()
    }

    /// `MPI_Irecv`
    #[inline]
    pub fn irecv(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        from: Peer,
        tag: Tag,
        comm: CommId,
    ) -> Result<Request> {
        let origin = self.origin(from, comm)?;
        let tag = recv_tag(tag)?;
        let into = self.incoming(buffer, count, datatype)?;
        let active = match origin {
            Origin::Nowhere => Active::Known(Status::PROC_NULL),
            Origin::From(source, context) => {
                match self.engine.irecv_or_take(into, source, context, tag) {
                    Receipt::Came(done) => {
                        Active::Came(Status::received(&done, &self.comm(comm)?.members))
                    }
                    Receipt::Posted(request) => Active::Recv(request, self.members(comm)?),
                }
            }
        };
        self.new_request(Slot::once(comm, active))
    }

    /// `MPI_Recv_init`
    pub fn recv_init(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        from: Peer,
        tag: Tag,
        comm: CommId,
    ) -> Result<Request> {
        let from = match self.origin(from, comm)? {
            Origin::From(source, context) => Some((source, context)),
            Origin::Nowhere => None,
        };
        let tag = recv_tag(tag)?;
        let into = self.piece(buffer, count, datatype)?;
        let members = self.members(comm)?;
        self.new_request(Slot::persistent(comm, Template::Recv { into, from, tag, members }))
    }

    /// Starts both halves of an exchange, the receive first.
    fn exchange(
        &mut self,
        data: SendData,
        destination: &Destination,
        send_tag: i32,
        into: RecvData,
        origin: &Origin,
        recv_tag: Tag,
    ) -> (Option<ReqId>, Option<ReqId>) {
        let recv = match *origin {
            Origin::From(source, context) => {
                Some(self.engine.irecv(into, source, context, recv_tag))
            }
            Origin::Nowhere => None,
        };
        let send = match *destination {
            Destination::To(to, context) => {
                self.engine.isend(data, to, context, send_tag, SendMode::Standard)
            }
            Destination::Nowhere => None,
        };
        (send, recv)
    }

    fn finish_exchange(
        &mut self,
        send: Option<ReqId>,
        recv: Option<ReqId>,
        comm: CommId,
    ) -> Result<Status> {
        if let Some(send) = send {
            self.engine.wait(send);
        }
        match recv {
            None => Ok(Status::PROC_NULL),
            Some(recv) => {
                let done = self.engine.wait(recv);
                self.received(&done, comm)
            }
        }
    }

    /// `MPI_Sendrecv`
    #[allow(clippy::too_many_arguments)]
    pub fn sendrecv(
        &mut self,
        send_buffer: UserPtr,
        send_count: i64,
        send_type: TypeId,
        to: Peer,
        stag: i32,
        recv_buffer: UserPtr,
        recv_count: i64,
        recv_type: TypeId,
        from: Peer,
        rtag: Tag,
        comm: CommId,
    ) -> Result<Status> {
        let (destination, origin) = (self.destination(to, comm)?, self.origin(from, comm)?);
        let (stag, rtag) = (send_tag(stag)?, recv_tag(rtag)?);
        let data = self.outgoing(send_buffer, send_count, send_type)?;
        let into = self.incoming(recv_buffer, recv_count, recv_type)?;
        if let (Destination::To(to, out), Origin::From(source, context)) = (&destination, &origin)
            && matches!(data, SendData::Bytes { len, .. } if len <= SENT_FIRST)
        {
            let (to, from) = ((*to, *out), (*source, *context));
            return self.send_and_receive(data, to, stag, into, from, rtag, comm);
        }
        let (send, recv) = self.exchange(data, &destination, stag, into, &origin, rtag);
        self.finish_exchange(send, recv, comm)
    }

    /// A short message first, so that it is on its way at once and the receive can take its message
    /// straight from the channel.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn send_and_receive(
        &mut self,
        data: SendData,
        (to, out): (Rank, u16),
        stag: i32,
        into: RecvData,
        (source, context): (Source, u16),
        rtag: Tag,
        comm: CommId,
    ) -> Result<Status> {
        let done = match self.engine.isend(data, to, out, stag, SendMode::Standard) {
            None => self.engine.recv(into, source, context, rtag),
            Some(send) => {
                let recv = self.engine.irecv(into, source, context, rtag);
                self.engine.wait(send);
                self.engine.wait(recv)
            }
        };
        self.received(&done, comm)
    }

    /// `MPI_Isendrecv`
    #[allow(clippy::too_many_arguments)]
    pub fn isendrecv(
        &mut self,
        send_buffer: UserPtr,
        send_count: i64,
        send_type: TypeId,
        to: Peer,
        stag: i32,
        recv_buffer: UserPtr,
        recv_count: i64,
        recv_type: TypeId,
        from: Peer,
        rtag: Tag,
        comm: CommId,
    ) -> Result<Request> {
        let (destination, origin) = (self.destination(to, comm)?, self.origin(from, comm)?);
        let (stag, rtag) = (send_tag(stag)?, recv_tag(rtag)?);
        let data = self.outgoing(send_buffer, send_count, send_type)?;
        let into = self.incoming(recv_buffer, recv_count, recv_type)?;
        let members = self.members(comm)?;
        let (send, recv) = self.exchange(data, &destination, stag, into, &origin, rtag);
        let active = Active::Exchange { send, recv, members, copy: None };
        self.new_request(Slot::once(comm, active))
    }

    /// A packed copy of a buffer.
    fn copied(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
    ) -> Result<(Scratch, SendData)> {
        let piece = self.piece(buffer, count, datatype)?;
        let mut copy = self.pool.take(piece.len());
        let packed = Piece::bytes(address_of(&mut copy), piece.len());
        let _ = piece.copy_to(&packed);
        Ok((copy, packed.to_send()))
    }

    /// `MPI_Sendrecv_replace`
    #[allow(clippy::too_many_arguments)]
    pub fn sendrecv_replace(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        to: Peer,
        stag: i32,
        from: Peer,
        rtag: Tag,
        comm: CommId,
    ) -> Result<Status> {
        let (destination, origin) = (self.destination(to, comm)?, self.origin(from, comm)?);
        let (stag, rtag) = (send_tag(stag)?, recv_tag(rtag)?);
        let into = self.incoming(buffer, count, datatype)?;
        let (copy, data) = self.copied(buffer, count, datatype)?;
        let (send, recv) = self.exchange(data, &destination, stag, into, &origin, rtag);
        let answer = self.finish_exchange(send, recv, comm);
        self.pool.give_back(copy);
        answer
    }

    /// `MPI_Isendrecv_replace`
    #[allow(clippy::too_many_arguments)]
    pub fn isendrecv_replace(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        to: Peer,
        stag: i32,
        from: Peer,
        rtag: Tag,
        comm: CommId,
    ) -> Result<Request> {
        let (destination, origin) = (self.destination(to, comm)?, self.origin(from, comm)?);
        let (stag, rtag) = (send_tag(stag)?, recv_tag(rtag)?);
        let into = self.incoming(buffer, count, datatype)?;
        let (copy, data) = self.copied(buffer, count, datatype)?;
        let members = self.members(comm)?;
        let (send, recv) = self.exchange(data, &destination, stag, into, &origin, rtag);
        let active = Active::Exchange { send, recv, members, copy: Some(copy) };
        self.new_request(Slot::once(comm, active))
    }

    /// `MPI_Probe`
    pub fn probe(&mut self, from: Peer, tag: Tag, comm: CommId) -> Result<Status> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else { return Ok(Status::PROC_NULL) };
        let envelope = self.engine.probe(source, context, tag);
        Ok(Status::seen(&envelope, &self.comm(comm)?.members))
    }

    /// `MPI_Iprobe`
    pub fn iprobe(&mut self, from: Peer, tag: Tag, comm: CommId) -> Result<Option<Status>> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else { return Ok(Some(Status::PROC_NULL)) };
        let seen = self.engine.iprobe(source, context, tag);
        let members = &self.comm(comm)?.members;
        Ok(seen.map(|envelope| Status::seen(&envelope, members)))
    }

    /// `MPI_Mprobe`
    pub fn mprobe(&mut self, from: Peer, tag: Tag, comm: CommId) -> Result<(Message, Status)> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else {
            return Ok((Message::NO_PROC, Status::PROC_NULL));
        };
        let members = self.members(comm)?;
        let (envelope, id) = self.engine.mprobe(source, context, tag);
        let status = Status::seen(&envelope, &members);
        let index = self.messages.insert((id, comm, members))?;
        Ok((Message(Request::at(index).0), status))
    }

    /// `MPI_Improbe`
    pub fn improbe(
        &mut self,
        from: Peer,
        tag: Tag,
        comm: CommId,
    ) -> Result<Option<(Message, Status)>> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else {
            return Ok(Some((Message::NO_PROC, Status::PROC_NULL)));
        };
        let members = self.members(comm)?;
        let Some((envelope, id)) = self.engine.improbe(source, context, tag) else {
            return Ok(None);
        };
        let status = Status::seen(&envelope, &members);
        let index = self.messages.insert((id, comm, members))?;
        Ok(Some((Message(Request::at(index).0), status)))
    }

    /// Starts the receive of a probed message; `None`: it is from `MPI_PROC_NULL`.
    fn take_message(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        message: &mut Message,
    ) -> Result<Option<(CommId, Active)>> {
        let into = self.incoming(buffer, count, datatype)?;
        if *message == Message::NO_PROC {
            *message = Message::NULL;
            return Ok(None);
        }
        let index = Request(message.0).index();
        let Some((id, comm, members)) = index.and_then(|index| self.messages.remove(index)) else {
            bail!(Request, "{:#010x} is no message of MPI_Mprobe or MPI_Improbe", message.0);
        };
        *message = Message::NULL;
        Ok(Some((comm, Active::Recv(self.engine.imrecv(id, into), members))))
    }

    /// `MPI_Mrecv`
    pub fn mrecv(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        message: &mut Message,
    ) -> Result<Status> {
        match self.take_message(buffer, count, datatype, message)? {
            None => Ok(Status::PROC_NULL),
            Some((comm, active)) => {
                let mut request = self.new_request(Slot::once(comm, active))?;
                self.wait(&mut request)
            }
        }
    }

    /// `MPI_Imrecv`
    pub fn imrecv(
        &mut self,
        buffer: UserPtr,
        count: i64,
        datatype: TypeId,
        message: &mut Message,
    ) -> Result<Request> {
        let taken = self.take_message(buffer, count, datatype, message)?;
        let (comm, active) = taken.unwrap_or((CommId::WORLD, Active::Known(Status::PROC_NULL)));
        self.new_request(Slot::once(comm, active))
    }

    /// `MPI_Get_count`; `None`: `MPI_UNDEFINED`.
    pub fn get_count(&self, status: &Status, datatype: TypeId) -> Result<Option<i64>> {
        Ok(self.types.get(datatype)?.count_of(status.bytes).map(|count| count as i64))
    }

    /// `MPI_Get_elements`; `None`: `MPI_UNDEFINED`.
    pub fn get_elements(&self, status: &Status, datatype: TypeId) -> Result<Option<i64>> {
        Ok(self.types.get(datatype)?.elements_of(status.bytes).map(|count| count as i64))
    }

    /// `MPI_Status_set_elements`
    pub fn status_set_elements(
        &self,
        status: &mut Status,
        datatype: TypeId,
        count: i64,
    ) -> Result<()> {
        let count = super::arguments::number("count", count)? as u64;
        let datatype = self.types.get(datatype)?;
        // A last value may be there in part: then `MPI_Get_count` has no answer.
        let some = if datatype.elements_per_value() == 0 { 0 } else { count };
        match datatype.bytes_of_elements(some) {
            Some(bytes) => status.bytes = bytes,
            None => bail!(Count, "{count} elements of the datatype do not fit into memory"),
        }
        Ok(())
    }
}
