//! Point-to-point communication and probing (MPI-4.1, chapter 3).

use super::arguments::{Destination, Origin, recv_tag, send_tag};
use super::{CommId, Message, Mpi, Peer, Request, SendKind, Status};
use crate::bail;
use crate::collective::{Piece, address_of};
use crate::datatype::TypeId;
use crate::engine::{
    Completion, Link, Receipt, RecvData, ReqId, SendData, SendMode, Tag, is_of_faults,
};
use crate::error::{ErrorClass, Result};
use crate::request::{Active, Slot, Template};
use crate::tuning::SENDRECV_SHORT_BYTES;
use crate::usermem::{Scratch, UserPtr};

/// The mode in which the engine sends; buffered sends are copied before.
pub(super) fn mode(kind: SendKind) -> SendMode {
    match kind {
        SendKind::Standard | SendKind::Buffered => SendMode::Standard,
        SendKind::Synchronous => SendMode::Synchronous,
        SendKind::Ready => SendMode::Ready,
    }
}

/// The send half of a call that sends and receives.
#[derive(Clone, Copy)]
pub struct Outgoing {
    /// Address of the data.
    pub buffer: UserPtr,
    /// Elements.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
    /// The receiver.
    pub to: Peer,
    /// Tag of the message.
    pub tag: i32,
}

/// The receive half of a call that sends and receives.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// Address of the room.
    pub buffer: UserPtr,
    /// Elements.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
    /// The sender.
    pub from: Peer,
    /// Tag of the message.
    pub tag: Tag,
}

/// Both halves, checked.
struct Exchange {
    data: SendData,
    destination: Destination,
    stag: i32,
    into: RecvData,
    origin: Origin,
    rtag: Tag,
}

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
                return Err(self.fault(comm, error));
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
        if is_of_faults(error) {
            return self.fault(comm, error);
        }
        if let Some(text) = self.error_text.take()
            && error != ErrorClass::Truncate
        {
            return error.because(text);
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
    fn exchange(&mut self, exchange: Exchange) -> (Option<ReqId>, Option<ReqId>) {
        let Exchange { data, destination, stag, into, origin, rtag } = exchange;
        let recv = match origin {
            Origin::From(source, context) => Some(self.engine.irecv(into, source, context, rtag)),
            Origin::Nowhere => None,
        };
        let send = match destination {
            Destination::To(to, context) => {
                self.engine.isend(data, to, context, stag, SendMode::Standard)
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
        let sent = send.and_then(|send| self.engine.wait(send).error);
        let status = match recv {
            None => Status::PROC_NULL,
            Some(recv) => {
                let done = self.engine.wait(recv);
                self.received(&done, comm)?
            }
        };
        match sent {
            None => Ok(status),
            Some(error) => Err(self.failed(error, status, comm)),
        }
    }

    /// `MPI_Sendrecv`
    pub fn sendrecv(&mut self, send: Outgoing, recv: Incoming, comm: CommId) -> Result<Status> {
        let exchange = self.checked(send, recv, comm)?;
        if let (Destination::To(to, out), Origin::From(source, context)) =
            (&exchange.destination, &exchange.origin)
            && matches!(exchange.data, SendData::Bytes { len, .. } if len <= SENDRECV_SHORT_BYTES)
        {
            // A short message first, so that it is on its way at once and the receive can take its
            // message straight from the channel.
            let (to, out, source, context) = (*to, *out, *source, *context);
            let Exchange { data, stag, into, rtag, .. } = exchange;
            let done = match self.engine.isend(data, to, out, stag, SendMode::Standard) {
                None => self.engine.recv(into, source, context, rtag),
                Some(send) => {
                    let recv = self.engine.irecv(into, source, context, rtag);
                    return self.finish_exchange(Some(send), Some(recv), comm);
                }
            };
            return self.received(&done, comm);
        }
        let (send, recv) = self.exchange(exchange);
        self.finish_exchange(send, recv, comm)
    }

    /// `MPI_Isendrecv`
    pub fn isendrecv(&mut self, send: Outgoing, recv: Incoming, comm: CommId) -> Result<Request> {
        let exchange = self.checked(send, recv, comm)?;
        let members = self.members(comm)?;
        let (send, recv) = self.exchange(exchange);
        let active = Active::Exchange { send, recv, members, copy: None };
        self.new_request(Slot::once(comm, active))
    }

    /// Checks the arguments of both halves.
    #[inline]
    fn checked(&self, send: Outgoing, recv: Incoming, comm: CommId) -> Result<Exchange> {
        let destination = self.destination(send.to, comm)?;
        let origin = self.origin(recv.from, comm)?;
        let (stag, rtag) = (send_tag(send.tag)?, recv_tag(recv.tag)?);
        let data = self.outgoing(send.buffer, send.count, send.datatype)?;
        let into = self.incoming(recv.buffer, recv.count, recv.datatype)?;
        Ok(Exchange { data, destination, stag, into, origin, rtag })
    }

    /// The exchange of a buffer that is replaced: what is sent is a packed copy of it.
    fn replacing(
        &mut self,
        send: Outgoing,
        (from, tag): (Peer, Tag),
        comm: CommId,
    ) -> Result<(Scratch, Exchange)> {
        let Outgoing { buffer, count, datatype, .. } = send;
        let mut exchange =
            self.checked(send, Incoming { buffer, count, datatype, from, tag }, comm)?;
        let piece = self.piece(buffer, count, datatype)?;
        let mut copy = self.pool.take(piece.len());
        let packed = Piece::bytes(address_of(&mut copy), piece.len());
        let _ = piece.copy_to(&packed);
        exchange.data = packed.to_send();
        Ok((copy, exchange))
    }

    /// `MPI_Sendrecv_replace`; the message comes from rank and with tag of `recv`.
    pub fn sendrecv_replace(
        &mut self,
        send: Outgoing,
        recv: (Peer, Tag),
        comm: CommId,
    ) -> Result<Status> {
        let (copy, exchange) = self.replacing(send, recv, comm)?;
        let (send, recv) = self.exchange(exchange);
        let answer = self.finish_exchange(send, recv, comm);
        self.pool.give_back(copy);
        answer
    }

    /// `MPI_Isendrecv_replace`
    pub fn isendrecv_replace(
        &mut self,
        send: Outgoing,
        recv: (Peer, Tag),
        comm: CommId,
    ) -> Result<Request> {
        let (copy, exchange) = self.replacing(send, recv, comm)?;
        let members = self.members(comm)?;
        let (send, recv) = self.exchange(exchange);
        let active = Active::Exchange { send, recv, members, copy: Some(copy) };
        self.new_request(Slot::once(comm, active))
    }

    /// `MPI_Probe`
    pub fn probe(&mut self, from: Peer, tag: Tag, comm: CommId) -> Result<Status> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else { return Ok(Status::PROC_NULL) };
        let envelope = self.engine.probe(source, context, tag);
        let envelope = envelope.map_err(|error| self.fault(comm, error.class))?;
        Ok(Status::seen(&envelope, &self.comm(comm)?.members))
    }

    /// `MPI_Iprobe`
    pub fn iprobe(&mut self, from: Peer, tag: Tag, comm: CommId) -> Result<Option<Status>> {
        let (origin, tag) = (self.origin(from, comm)?, recv_tag(tag)?);
        let Origin::From(source, context) = origin else { return Ok(Some(Status::PROC_NULL)) };
        let seen = self.engine.iprobe(source, context, tag);
        if seen.is_none() && self.engine.alert() {
            let may = self.engine.may_probe(source, context);
            may.map_err(|error| self.fault(comm, error.class))?;
        }
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
        let seen = self.engine.mprobe(source, context, tag);
        let (envelope, id) = seen.map_err(|error| self.fault(comm, error.class))?;
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
            let may = self.engine.may_probe(source, context);
            may.map_err(|error| self.fault(comm, error.class))?;
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
