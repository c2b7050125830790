//! Partitioned point-to-point communication (MPI-4.1, 4.2).
//!
//! A message whose parts are marked ready one by one travels as a row of pieces. Each piece has a
//! header: which bytes of which message it is. A piece is never larger than what every channel
//! takes without a rendezvous, so that a sender's completion does not depend on the receiver's
//! calls. All pieces between two ranks on one communicator have one tag, in the context of
//! collectives; the receiver sorts them.
//!
//! Guarantees: the n-th `MPI_Psend_init` of a rank to another with a tag on a communicator meets
//! the n-th `MPI_Precv_init` there. A part is reported as arrived when all its bytes are in place,
//! for every number of parts on the other side. The report is recorded, because it depends on
//! timing.

use super::arguments::{number, send_tag, world_rank};
use super::{CommId, Mpi, Peer, Request, Status, Tag};
use crate::bail;
use crate::collective::address_of;
use crate::datatype::TypeId;
use crate::engine::{Decision, Link, RecvData, SendData, SendMode, is_of_faults};
use crate::error::{ErrorClass, Result};
use crate::request::partitioned::{
    Channel, HEADER, Header, PartitionedRecv, PartitionedSend, Parts, Stream, TAG,
};
use crate::request::{Active, Slot, Template};
use crate::tuning::PARTITION_PIECE_BYTES;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;
use std::cell::Cell;
use std::rc::Rc;

/// The buffer of partitioned communication.
#[derive(Clone, Copy)]
pub struct PartitionedBuffer {
    /// Address of the first partition.
    pub buffer: UserPtr,
    /// How many partitions.
    pub partitions: i64,
    /// Elements of each.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
}

impl<L: Link> Mpi<L> {
    fn parts(
        &mut self,
        sends: bool,
        buffer: PartitionedBuffer,
        peer: Peer,
        tag: i32,
        comm: CommId,
    ) -> Result<Parts> {
        let PartitionedBuffer { buffer, partitions, count, datatype } = buffer;
        let members = self.members(comm)?;
        let world = match peer {
            Peer::Rank(rank) => Some(world_rank(&members, rank)?),
            Peer::ProcNull => None,
            Peer::Any | Peer::Root => {
                bail!(Rank, "partitioned communication has no wildcards: name the rank")
            }
        };
        send_tag(tag)?;
        if partitions <= 0 {
            bail!(Arg, "partitions is {partitions}, must be positive");
        }
        number("count", count)?;
        let Some(total) = partitions.checked_mul(count) else {
            bail!(Count, "{partitions} partitions of {count} elements do not fit into memory");
        };
        let data = self.piece(buffer, total, datatype)?;
        let context = members.collective_context();
        let channel = world.map(|peer| {
            let inits = self.partitions.inits.entry((sends, context, peer, tag)).or_default();
            *inits += 1;
            Channel { context, peer, tag, nth: *inits }
        });
        let rounds = Rc::new(Cell::new(0));
        Ok(Parts { data, partitions: partitions as usize, channel, members, rounds })
    }

    /// `MPI_Psend_init`
    pub fn psend_init(
        &mut self,
        buffer: PartitionedBuffer,
        to: Peer,
        tag: i32,
        comm: CommId,
    ) -> Result<Request> {
        let parts = self.parts(true, buffer, to, tag, comm)?;
        self.new_request(Slot::persistent(comm, Template::PartitionedSend(parts)))
    }

    /// `MPI_Precv_init`
    pub fn precv_init(
        &mut self,
        buffer: PartitionedBuffer,
        from: Peer,
        tag: Tag,
        comm: CommId,
    ) -> Result<Request> {
        let Tag::Is(tag) = tag else {
            bail!(Tag, "partitioned communication has no wildcards: name the tag");
        };
        let parts = self.parts(false, buffer, from, tag, comm)?;
        self.new_request(Slot::persistent(comm, Template::PartitionedRecv(parts)))
    }

    /// The partitions of a request that was just made are equal parts of one value of this type.
    /// Fortran programs describe such a type by an array section with gaps. It has as many bytes of
    /// data as they.
    pub fn partitions_of(
        &mut self,
        request: Request,
        buffer: UserPtr,
        datatype: TypeId,
    ) -> Result<()> {
        let data = self.piece(buffer, 1, datatype)?;
        let slot = request.index().and_then(|index| self.requests.get_mut(index));
        let template = slot.and_then(|slot| slot.template.as_mut()).and_then(Rc::get_mut);
        let (Some(Template::PartitionedSend(parts)) | Some(Template::PartitionedRecv(parts))) =
            template
        else {
            bail!(Request, "{:#010x} is no partitioned request", request.0);
        };
        if parts.data.len() != data.len() {
            bail!(Buffer, "the array section has {} bytes for {}", data.len(), parts.data.len());
        }
        parts.data = data;
        Ok(())
    }

    pub(super) fn begin_partitioned_send(&mut self, parts: &Parts) -> PartitionedSend {
        let round = parts.rounds.get() + 1;
        parts.rounds.set(round);
        PartitionedSend {
            round,
            ready: vec![false; parts.partitions],
            left: parts.partitions,
            pending: Vec::new(),
            error: None,
            parts: parts.clone(),
        }
    }

    pub(super) fn begin_partitioned_recv(&mut self, parts: &Parts) -> PartitionedRecv {
        let round = parts.rounds.get() + 1;
        parts.rounds.set(round);
        PartitionedRecv {
            round,
            there: vec![0; parts.partitions],
            came: 0,
            expected: None,
            error: None,
            parts: parts.clone(),
        }
    }

    /// A partitioned receive was started in this slot.
    pub(super) fn expect_partitions(&mut self, slot: u32) {
        self.partitions.receiving.push(slot);
        self.look_after_partitions();
    }

    /// `MPI_Pready` and its forms for several parts, for the parts from `first` to `last`.
    pub fn pready(&mut self, request: Request, first: i64, last: i64) -> Result<()> {
        let index = request.index();
        let slot = index.and_then(|index| self.requests.get_mut(index));
        let Some(slot) = slot else {
            bail!(Request, "{:#010x} is no request", request.0);
        };
        self.blamed = slot.comm;
        let Some(Active::PartitionedSend(send)) = &mut slot.active else {
            bail!(Request, "the request is no partitioned send that was started");
        };
        let partitions = send.parts.partitions;
        for part in first..=last {
            match usize::try_from(part).ok().and_then(|part| send.ready.get(part)) {
                Some(false) => {}
                Some(true) => bail!(Arg, "partition {part} is marked as ready already"),
                None => bail!(Arg, "partition is {part}, must be between 0 and {}", partitions - 1),
            }
        }
        // Out of the table while the engine works: it may come back here by a function of the
        // program.
        let Some(Active::PartitionedSend(mut send)) = slot.active.take() else { return Ok(()) };
        for part in first..=last {
            send.ready[part as usize] = true;
            send.left -= 1;
            self.send_partition(&mut send, part as u64);
        }
        let (pool, engine) = (&mut self.pool, &mut self.engine);
        let mut i = 0;
        while i < send.pending.len() {
            if engine.is_done(send.pending[i].0) {
                let (id, copy) = send.pending.swap_remove(i);
                send.error = send.error.or(engine.finish(id).error);
                pool.give_back(copy);
            } else {
                i += 1;
            }
        }
        if let Some(slot) = index.and_then(|index| self.requests.get_mut(index)) {
            slot.active = Some(Active::PartitionedSend(send));
        }
        Ok(())
    }

    fn send_partition(&mut self, send: &mut PartitionedSend, part: u64) {
        let Some(channel) = send.parts.channel else { return };
        let data = send.parts.data.clone();
        let (size, total) = (send.parts.part(), data.len() as u64);
        let (mut offset, end) = (part * size, (part + 1) * size);
        // The last part of an empty message reports its arrival.
        while offset < end || (total == 0 && send.left == 0) {
            let len = PARTITION_PIECE_BYTES.min((end - offset) as usize);
            let Channel { tag, nth, .. } = channel;
            let header = Header { tag, nth, round: send.round, offset, total };
            let mut copy = self.pool.take(HEADER + len);
            let bytes = &mut copy.as_mut_slice()[..HEADER + len];
            bytes[..HEADER].copy_from_slice(&header.encode());
            match &data.datatype {
                None => data.at.offset(offset as i64).read(&mut bytes[HEADER..]),
                Some(datatype) => {
                    datatype.pack(data.at, data.count as u64, offset, &mut bytes[HEADER..]);
                }
            }
            let payload = SendData::Bytes { ptr: address_of(&mut copy), len: HEADER + len };
            let mode = SendMode::Standard;
            match self.engine.isend(payload, channel.peer, channel.context, TAG, mode) {
                None => self.pool.give_back(copy),
                Some(id) => send.pending.push((id, copy)),
            }
            offset += len as u64;
            if total == 0 {
                break;
            }
        }
    }

    pub(super) fn finish_partitioned_send(&mut self, send: PartitionedSend) -> Status {
        let mut error = send.error;
        for (id, copy) in send.pending {
            error = error.or(self.engine.finish(id).error);
            self.pool.give_back(copy);
        }
        Status { error, ..Status::EMPTY }
    }

    pub(super) fn finish_partitioned_recv(&mut self, recv: PartitionedRecv) -> Status {
        let Some(channel) = recv.parts.channel else { return Status::PROC_NULL };
        let own = recv.parts.data.len() as u64;
        let error = recv.error.or((recv.came != own).then_some(ErrorClass::Truncate));
        Status {
            source: recv.parts.members.rank_of(channel.peer).map_or(Peer::Any, Peer::Rank),
            tag: Tag::Is(channel.tag),
            bytes: recv.came.min(own),
            cancelled: false,
            error,
            no_operation: false,
        }
    }

    /// `MPI_Parrived`
    pub fn parrived(&mut self, request: Request, part: i64) -> Result<bool> {
        let slot = request.index().and_then(|index| self.requests.get(index));
        let Some(slot) = slot else {
            bail!(Request, "{:#010x} is no request", request.0);
        };
        let comm = slot.comm;
        let Some(Template::PartitionedRecv(parts)) = slot.template.as_deref() else {
            bail!(Request, "the request is no partitioned receive");
        };
        let partitions = parts.partitions;
        let Some(part) = usize::try_from(part).ok().filter(|&part| part < partitions) else {
            bail!(Arg, "partition is {part}, must be between 0 and {}", partitions - 1);
        };
        if !matches!(slot.active, Some(Active::PartitionedRecv(_))) {
            // Not started, or the program knows that all of it is there.
            return Ok(true);
        }
        self.blamed = comm;
        self.poll_once();
        match self.engine.decide_polled() {
            Decision::Negative => Ok(false),
            Decision::Positive(_) => {
                while !self.has_part(request, part) {
                    self.block();
                }
                Ok(true)
            }
            Decision::Live => {
                let there = self.has_part(request, part);
                if there {
                    self.engine.answered(1);
                } else {
                    self.engine.answered_negative();
                }
                Ok(there)
            }
        }
    }

    fn has_part(&self, request: Request, part: usize) -> bool {
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            Some(Active::PartitionedRecv(recv)) => recv.has(part),
            _ => true,
        }
    }

    /// Takes pieces that came, and sees to it that more can come.
    #[inline]
    pub(super) fn look_after_partitions(&mut self) {
        if !self.partitions.receiving.is_empty() {
            self.take_partitions();
        }
    }

    #[cold]
    fn take_partitions(&mut self) {
        loop {
            let slots = std::mem::take(&mut self.partitions.receiving);
            let mut wanted: Vec<(u32, Rank)> = Vec::new();
            let mut still: Vec<u32> = Vec::new();
            for index in slots {
                let slot = self.requests.get_mut(index);
                let Some(Active::PartitionedRecv(recv)) =
                    slot.and_then(|slot| slot.active.as_mut())
                else {
                    continue;
                };
                let Some(channel) = recv.parts.channel else { continue };
                if let Some(early) = self.partitions.early.get_mut(&channel) {
                    while let Some((header, payload)) =
                        early.front().and_then(|p| Header::decode(p))
                        && header.round == recv.round
                    {
                        recv.take(&header, payload);
                        early.pop_front();
                    }
                    if early.is_empty() {
                        self.partitions.early.remove(&channel);
                    }
                }
                if !recv.is_done() && !still.contains(&index) {
                    still.push(index);
                    wanted.push((channel.context, channel.peer));
                }
            }
            self.partitions.receiving = still;
            let mut came = false;
            for stream in wanted {
                self.listen(stream);
                came |= self.take_piece(stream);
            }
            if !came {
                return;
            }
        }
    }

    /// Nothing more comes on a stream.
    fn fail_stream(&mut self, stream: (u32, Rank), error: ErrorClass) {
        for &index in &self.partitions.receiving {
            if let Some(Active::PartitionedRecv(recv)) =
                self.requests.get_mut(index).and_then(|slot| slot.active.as_mut())
                && recv.parts.channel.is_some_and(|c| (c.context, c.peer) == stream)
            {
                recv.error = Some(error);
            }
        }
    }

    /// Posts the receive of a stream, if none is posted.
    fn listen(&mut self, (context, peer): (u32, Rank)) {
        if self.partitions.streams.contains_key(&(context, peer)) {
            return;
        }
        let mut buffer = self.pool.take(HEADER + PARTITION_PIECE_BYTES);
        let into =
            RecvData::Bytes { ptr: address_of(&mut buffer), len: HEADER + PARTITION_PIECE_BYTES };
        let request = self.engine.irecv_own(into, peer, context, TAG);
        self.partitions.streams.insert((context, peer), Stream { request, buffer });
    }

    /// If the piece that a stream waits for is there: puts it where its receive looks for it.
    fn take_piece(&mut self, (context, peer): (u32, Rank)) -> bool {
        let streams = &mut self.partitions.streams;
        if !streams.get(&(context, peer)).is_some_and(|s| self.engine.is_done(s.request)) {
            return false;
        }
        let Some(stream) = streams.remove(&(context, peer)) else { return false };
        let done = self.engine.finish(stream.request);
        if let Some(error) = done.error.filter(|error| is_of_faults(*error)) {
            self.fail_stream((context, peer), error);
        }
        let bytes =
            &stream.buffer.as_slice()[..(done.bytes as usize).min(HEADER + PARTITION_PIECE_BYTES)];
        if let Some((header, _)) = Header::decode(bytes) {
            let channel = Channel { context, peer, tag: header.tag, nth: header.nth };
            self.partitions.early.entry(channel).or_default().push_back(bytes.into());
        }
        self.pool.give_back(stream.buffer);
        true
    }
}
