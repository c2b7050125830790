//! Put, get, accumulate and their forms: the origin's side (MPI-3.1, 11.3).
//!
//! Guarantees: wrong arguments, and data outside of the target's window, are reported before
//! anything is sent. All messages of an operation get their identity in the call, in an order that
//! depends on the program only.

use super::{Mpi, Peer, Request};
use crate::bail;
use crate::collective::{Piece, address_of};
use crate::datatype::{Datatype, TypeId};
use crate::engine::{Link, RecvData, ReqId, SendData, SendMode, is_of_faults};
use crate::error::{ErrorClass, MpiError, Result};
use crate::ids::WinId;
use crate::op::{Op, OpId, Predefined};
use crate::request::{Active, Slot};
use crate::tuning::ONE_SIDED_INSIDE_BYTES;
use crate::usermem::{Scratch, UserPtr};
use crate::window::memory::carry_out;
use crate::window::request::{Action, Mode, Request as WindowRequest, Target, check_operands};
use crate::window::{Flavor, SharedTransfer, Transfer, tags};
use ftmpi_wire::Rank;
use std::rc::Rc;

/// The receive that waits for the reply to a request of synchronisation, and its place.
pub(super) type Reply = (ReqId, Scratch);

/// A buffer of the origin.
#[derive(Debug, Clone, Copy)]
pub struct OriginBuffer {
    /// Its address.
    pub at: UserPtr,
    /// Values.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
}

/// Data of the target.
#[derive(Debug, Clone, Copy)]
pub struct TargetBuffer {
    /// Which rank of the window.
    pub rank: Peer,
    /// Displacement in units of the target.
    pub disp: i64,
    /// Values.
    pub count: i64,
    /// Their type.
    pub datatype: TypeId,
}

/// A communication call.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum OneSided {
    Put { origin: OriginBuffer },
    Get { origin: OriginBuffer },
    Accumulate { origin: OriginBuffer, op: OpId },
    GetAccumulate { origin: OriginBuffer, result: OriginBuffer, op: OpId },
    CompareAndSwap { origin: UserPtr, compare: UserPtr, result: OriginBuffer },
}

/// A call with its arguments found and checked.
struct Resolved {
    action: Action,
    target: Target,
    /// What is sent.
    data: Vec<Piece>,
    /// Where the answer goes.
    result: Option<Piece>,
}

fn length(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::len).sum()
}

fn packed(pieces: &[Piece], out: &mut Vec<u8>) {
    for piece in pieces {
        let mut bytes = vec![0; piece.len()];
        let _ = piece.copy_to(&Piece::bytes(UserPtr::own_mut(&mut bytes), bytes.len()));
        out.append(&mut bytes);
    }
}

impl<L: Link> Mpi<L> {
    /// Starts an operation; it is complete at the end of its epoch, or with a flush.
    pub fn one_sided(&mut self, id: WinId, target: TargetBuffer, what: OneSided) -> Result<()> {
        self.begin_one_sided(id, target, what, false).map(|_| ())
    }

    /// The same with a request: within a passive epoch only.
    pub fn one_sided_request(
        &mut self,
        id: WinId,
        target: TargetBuffer,
        what: OneSided,
    ) -> Result<Request> {
        match self.begin_one_sided(id, target, what, true)? {
            None => Ok(Request::DONE),
            Some(transfer) => {
                let comm = self.window(id)?.comm;
                self.new_request(Slot::once(comm, Active::OneSided(transfer)))
            }
        }
    }

    fn begin_one_sided(
        &mut self,
        id: WinId,
        target: TargetBuffer,
        what: OneSided,
        alone: bool,
    ) -> Result<Option<SharedTransfer>> {
        let window = self.window(id)?;
        let members = Rc::clone(&window.members);
        let rank = match target.rank {
            Peer::Rank(rank) if rank < members.local.len() => rank,
            Peer::ProcNull => {
                self.resolve_one_sided(&target, &what)?;
                return Ok(None);
            }
            Peer::Rank(rank) => {
                bail!(
                    Rank,
                    "rank {} is not in a window of size {}",
                    rank as i32,
                    members.local.len()
                )
            }
            _ => bail!(Rank, "the target of a one-sided operation must be one rank"),
        };
        let mode = self.mode_toward(id, rank)?;
        if alone && mode != Mode::Locked {
            bail!(
                RmaSync,
                "operations with a request are possible under a lock (passive target) only"
            );
        }
        let resolved = self.resolve_one_sided(&target, &what)?;
        let window = self.window(id)?;
        if window.flavor != Flavor::Dynamic
            && let Some(part) = window.parts.get(rank as usize)
            && let Some(span) = resolved.target.datatype.span(resolved.target.count)
            && span.0 != span.1
        {
            part.offset(resolved.target.disp, span)?;
        }
        if rank == members.me {
            self.carry_out_here(id, resolved)?;
            return Ok(None);
        }
        if resolved.target.datatype.size() == 0 || resolved.target.count == 0 {
            return Ok(None);
        }
        let Some(world) = members.local.world(rank) else {
            bail!(Intern, "a member of the window has no process")
        };
        if mode == Mode::Locked {
            self.lock_there(id, rank, false)?;
        }
        self.send_operation(id, rank, world, mode, resolved)
    }

    /// The kind of epoch in which this rank may access `rank`.
    fn mode_toward(&self, id: WinId, rank: u32) -> Result<Mode> {
        let window = self.window(id)?;
        let locked =
            window.targets.get(rank as usize).is_some_and(|targets| targets.lock.is_some());
        if locked || window.locked_all {
            return Ok(Mode::Locked);
        }
        if let Some(access) = &window.access {
            if access.contains(&rank) {
                return Ok(Mode::Exposed);
            }
            bail!(RmaSync, "rank {rank} is not in the group that was given to MPI_Win_start");
        }
        if window.fenced {
            return Ok(Mode::Fence);
        }
        bail!(
            RmaSync,
            "there is no epoch: call MPI_Win_fence, MPI_Win_start or MPI_Win_lock for rank {rank} \
             before"
        )
    }

    fn resolve_one_sided(&self, target: &TargetBuffer, what: &OneSided) -> Result<Resolved> {
        let count = super::arguments::number("target_count", target.count)?;
        let datatype = self.types.committed(target.datatype)?.clone();
        let total = datatype.total_size(count as u64);
        let Some(bytes) = total.filter(|_| datatype.span(count as u64).is_some()) else {
            bail!(Count, "{count} elements of the target's datatype do not fit into memory");
        };
        let place = Target { disp: target.disp, count: count as u64, datatype };
        let of = |buffer: &OriginBuffer| self.piece(buffer.at, buffer.count, buffer.datatype);
        let (action, data, result) = match what {
            OneSided::Put { origin } => (Action::Put, vec![of(origin)?], None),
            OneSided::Get { origin } => (Action::Get, Vec::new(), Some(of(origin)?)),
            OneSided::Accumulate { origin, op } => {
                let op = self.operator(*op)?;
                self.same_operands(op, origin, &place.datatype)?;
                (Action::Accumulate(op), vec![of(origin)?], None)
            }
            OneSided::GetAccumulate { origin, result, op } => {
                let op = self.operator(*op)?;
                let data = match op {
                    // The origin's buffer is not looked at.
                    Predefined::NoOp => Vec::new(),
                    _ => {
                        self.same_operands(op, origin, &place.datatype)?;
                        vec![of(origin)?]
                    }
                };
                (Action::GetAccumulate(op), data, Some(of(result)?))
            }
            OneSided::CompareAndSwap { origin, compare, result } => {
                let of = |at| self.piece(at, 1, result.datatype);
                let Some(builtin) = result.datatype.as_builtin() else {
                    bail!(Type, "compare and swap is for predefined datatypes only")
                };
                use crate::datatype::Class::{Byte, Character, Integer, Logical};
                if !matches!(builtin.class(), Byte | Character(_) | Integer(_) | Logical(_)) {
                    bail!(
                        Type,
                        "compare and swap is for integer, logical and byte types, not for {}",
                        builtin.name()
                    );
                }
                (Action::CompareAndSwap, vec![of(*compare)?, of(*origin)?], Some(of(result.at)?))
            }
        };
        let sent = length(&data) as u64;
        let wanted = match action {
            Action::Get | Action::GetAccumulate(Predefined::NoOp) => 0,
            Action::CompareAndSwap => 2 * bytes,
            _ => bytes,
        };
        if sent != wanted {
            bail!(
                Truncate,
                "the origin's buffer has {sent} bytes of data, the target's {wanted}: they must be \
                 equal"
            );
        }
        if let Some(result) = &result
            && result.len() as u64 != bytes
        {
            bail!(
                Truncate,
                "the buffer for the result has {} bytes, the target's data {bytes}: they must be equal",
                result.len()
            );
        }
        Ok(Resolved { action, target: place, data, result })
    }

    fn operator(&self, op: OpId) -> Result<Predefined> {
        match **self.ops.get(op)? {
            Op::Predefined(op) => Ok(op),
            _ => bail!(Op, "an operation of the program cannot be used in an accumulate"),
        }
    }

    fn same_operands(
        &self,
        op: Predefined,
        origin: &OriginBuffer,
        target: &Datatype,
    ) -> Result<()> {
        let datatype = self.types.committed(origin.datatype)?;
        if origin.count == 0 {
            return Ok(());
        }
        let nothing = target.size() == 0 || datatype.size() == 0;
        if nothing {
            return Ok(());
        }
        check_operands(op, target)?;
        if matches!(op, Predefined::Replace | Predefined::NoOp) {
            return Ok(());
        }
        match (datatype.base(), target.base()) {
            (Some(ours), Some(theirs)) if ours.class() == theirs.class() => Ok(()),
            (Some(ours), Some(theirs)) => bail!(
                Type,
                "an accumulate of {} into {}: both must be of one predefined datatype",
                ours.name(),
                theirs.name()
            ),
            _ => bail!(Type, "an accumulate needs datatypes that are made of one predefined one"),
        }
    }

    /// Memory of this rank: at once.
    fn carry_out_here(&mut self, id: WinId, resolved: Resolved) -> Result<()> {
        let window = self.window(id)?;
        let Resolved { action, target, data, result } = resolved;
        let at = window.place(&target)?;
        let mut bytes = Vec::with_capacity(length(&data));
        packed(&data, &mut bytes);
        if let (Some(answer), Some(result)) = (carry_out(action, &target, at, &mut bytes), result) {
            let _ = Piece::bytes(UserPtr::own(&answer), answer.len()).copy_to(&result);
        }
        Ok(())
    }

    /// Sends a request of synchronisation; gives what is to be waited for, if it has a reply.
    pub(super) fn send_request(
        &mut self,
        id: WinId,
        rank: u32,
        action: Action,
        mode: Mode,
        replied: bool,
    ) -> Result<Option<Reply>> {
        let window = self.window(id)?;
        let context = window.context();
        let Some(world) = window.members.local.world(rank) else {
            bail!(Intern, "a member of the window has no process")
        };
        let reply = if replied { self.engine.windows.number_reply(world) } else { 0 };
        let waiting = replied.then(|| {
            let mut place = self.pool.take(4);
            let into = RecvData::Bytes { ptr: address_of(&mut place), len: 4 };
            (self.engine.receive_own(into, world, context, tags::reply(reply)), place)
        });
        let asked = WindowRequest { action, mode, reply, target: None, len: 0, apart: None };
        self.send_owned(asked.encode(0), world, context, tags::SERVICE);
        Ok(waiting)
    }

    /// Waits for the reply to such a request.
    pub(super) fn await_reply(&mut self, waiting: Reply) -> Result<()> {
        let (request, mut place) = waiting;
        let done = self.engine.wait(request);
        let class: i32 = address_of(&mut place).load();
        self.pool.give_back(place);
        if let Some(error) = done.error {
            return Err(error.into());
        }
        class_to_result(class)
    }

    pub(super) fn send_owned(&mut self, message: Vec<u8>, to: Rank, context: u32, tag: i32) {
        let sent =
            self.engine.isend(SendData::Owned(message), to, context, tag, SendMode::Standard);
        if let Some(sent) = sent {
            self.engine.free_when_done(sent);
        }
    }

    fn send_operation(
        &mut self,
        id: WinId,
        rank: u32,
        world: Rank,
        mode: Mode,
        resolved: Resolved,
    ) -> Result<Option<SharedTransfer>> {
        let Resolved { action, target, data, result } = resolved;
        let mut transfer = Transfer::default();
        let len = length(&data);
        let window = self.window_mut(id)?;
        let context = window.context();
        let Some(targets) = window.targets.get_mut(rank as usize) else {
            bail!(Intern, "a member of the window is not known as a target")
        };
        targets.fenced += u64::from(mode == Mode::Fence);
        targets.unflushed |= mode == Mode::Locked;
        let inside = len <= ONE_SIDED_INSIDE_BYTES;
        let apart = (!inside).then(|| {
            targets.apart = targets.apart.wrapping_add(1);
            targets.apart
        });
        let reply = match &result {
            None => 0,
            Some(result) => {
                let reply = self.engine.windows.number_reply(world);
                let tag = tags::reply(reply);
                let receive = self.engine.receive_own(result.to_receive(), world, context, tag);
                transfer.reply = Some((receive, result.len() as u64));
                reply
            }
        };
        let asked =
            WindowRequest { action, mode, reply, target: Some(target), len: len as u64, apart };
        let mut message = asked.encode(if inside { len } else { 0 });
        if inside {
            packed(&data, &mut message);
        }
        let tag = if mode == Mode::Fence { tags::FENCE } else { tags::SERVICE };
        self.send_owned(message, world, context, tag);
        if let Some(number) = apart {
            let payload = match data.as_slice() {
                [piece] => piece.to_send(),
                pieces => {
                    let mut bytes = Vec::with_capacity(len);
                    packed(pieces, &mut bytes);
                    SendData::Owned(bytes)
                }
            };
            let tag = tags::apart(number);
            let sent = self.engine.isend(payload, world, context, tag, SendMode::Standard);
            transfer.sends.extend(sent);
        }
        if transfer.reply.is_none() && transfer.sends.is_empty() {
            return Ok(None);
        }
        let transfer: SharedTransfer = Rc::new(transfer.into());
        if let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) {
            targets.transfers.retain(|one| !is_over(&one.borrow()));
            targets.transfers.push(Rc::clone(&transfer));
        }
        Ok(Some(transfer))
    }

    /// Whether an operation has nothing under way; takes the messages that have come.
    pub(super) fn transfer_is_done(&mut self, transfer: &SharedTransfer) -> bool {
        let mut transfer = transfer.borrow_mut();
        let (engine, mut failed) = (&mut self.engine, None);
        transfer.sends.retain(|&send| {
            let done = engine.is_done(send);
            if done {
                failed = failed.or(engine.finish(send).error);
            }
            !done
        });
        if let Some((reply, bytes)) = transfer.reply
            && engine.is_done(reply)
        {
            let came = engine.finish(reply);
            transfer.reply = None;
            failed = failed.or(came.error.filter(|error| is_of_faults(*error)));
            if came.bytes < bytes {
                transfer.error = Some(ErrorClass::RmaRange);
            }
        }
        transfer.error = failed.or(transfer.error);
        is_over(&transfer)
    }

    /// Whether an operation has nothing under way; looks only.
    pub(super) fn transfer_looks_done(&self, transfer: &SharedTransfer) -> bool {
        let transfer = transfer.borrow();
        transfer.sends.iter().all(|&send| self.engine.is_done(send))
            && transfer.reply.is_none_or(|(reply, _)| self.engine.is_done(reply))
    }

    /// Waits for the messages of all operations targets `rank`.
    pub(super) fn finish_transfers(&mut self, id: WinId, rank: u32) -> Result<()> {
        let window = self.window_mut(id)?;
        let Some(targets) = window.targets.get_mut(rank as usize) else { return Ok(()) };
        // They stay there meanwhile: another thread may wait for them, too.
        let transfers = targets.transfers.clone();
        let mut error = None;
        for transfer in &transfers {
            while !self.transfer_is_done(transfer) {
                self.engine.block();
            }
            error = error.or(transfer.borrow().error);
        }
        if !transfers.is_empty()
            && let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize)
        {
            targets.transfers.retain(|one| !is_over(&one.borrow()));
        }
        match error {
            None => Ok(()),
            Some(class) if is_of_faults(class) => Err(class.into()),
            Some(class) => Err(refused(class)),
        }
    }
}

fn is_over(transfer: &Transfer) -> bool {
    transfer.reply.is_none() && transfer.sends.is_empty()
}

fn refused(class: ErrorClass) -> MpiError {
    class.because(
        "the target refused an operation: its memory there is not (or no more) in the window",
    )
}

/// The answer of a target: 0, or the class of an error.
fn class_to_result(class: i32) -> Result<()> {
    match ErrorClass::from_number(class) {
        Some(ErrorClass::Success) => Ok(()),
        Some(class) => Err(refused(class)),
        None => bail!(Intern, "a target answered with error class {class}"),
    }
}
