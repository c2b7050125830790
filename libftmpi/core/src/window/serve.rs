//! The target's loop of one-sided communication (MPI-4.1, 12.7): takes requests in, serves those
//! whose turn it is.
//!
//! Guarantees: requests of one origin on one window are served in the order in which they were
//! sent. A request is served only when all its data are here, and then at once. No rank's request
//! waits for the data of another rank's. A request is taken by the window that it was made for: the
//! context in it names the window's generation (`crate::comm`, `contexts`).

use super::arrived::{Arrived, Data};
use super::locks::Asker;
use super::memory::carry_out;
use super::request::{Action, Mode, Request};
use super::{Window, Windows, tags};
use crate::comm::Members;
use crate::engine::{Engine, Envelope, Link, RecvData, Source, Turn};
use crate::error::ErrorClass;
use crate::ids::MessageId;
use crate::room;
use crate::usermem::UserPtr;
use ftmpi_wire::{Rank, Ssn};

impl Arrived {
    /// Takes the first message of this kind, and begins to receive it.
    pub(crate) fn begin<L: Link>(
        engine: &mut Engine<L>,
        members: &Members,
        tag: i32,
        from: Rank,
    ) -> Option<Self> {
        let (envelope, id) = engine.claim(members.context, Source::Rank(from), tag)?;
        Some(Self::receive(engine, members, (envelope, id)))
    }

    /// Begins to receive the claimed message.
    fn receive<L: Link>(
        engine: &mut Engine<L>,
        members: &Members,
        (envelope, id): (Envelope, MessageId),
    ) -> Self {
        let source = envelope.source;
        let origin = members.local.local(source);
        // A datatype of many blocks is as long as their lists, and the origin has room for it. The
        // request is refused only if it does not fit into our memory.
        let room = room::zeroed(envelope.bytes);
        if room.is_none() || origin.is_none() {
            engine.damaged(source, "too long, or from outside of the window");
        }
        let mut message = room.unwrap_or_default();
        let into = RecvData::Bytes { ptr: UserPtr::own_mut(&mut message), len: message.len() };
        let receiving = Some(engine.imrecv(id, into));
        Self {
            source,
            origin: origin.unwrap_or(0),
            ssn: envelope.ssn,
            message,
            receiving,
            request: None,
            data: Data::Inside(0),
        }
    }

    /// Is the request itself here?
    pub(crate) fn is_here<L: Link>(&mut self, engine: &mut Engine<L>) -> bool {
        if self.request.is_some() {
            return true;
        }
        if let Some(receiving) = self.receiving {
            if !engine.is_done(receiving) {
                return false;
            }
            engine.finish(receiving);
            self.receiving = None;
        }
        match Request::decode(&self.message) {
            Ok((request, inside)) => {
                self.data = match request.apart {
                    Some(number) => Data::Apart(number),
                    None => Data::Inside(self.message.len() - inside.len()),
                };
                self.request = Some(request);
                true
            }
            Err(error) => {
                engine.damaged(self.source, &error.text);
                false
            }
        }
    }

    /// Are its data here? Asks for them if need be.
    pub(crate) fn has_data<L: Link>(&mut self, engine: &mut Engine<L>, window: &Window) -> bool {
        let Some(request) = &self.request else { return false };
        match &mut self.data {
            Data::Inside(_) | Data::Here(_) | Data::Stored => true,
            Data::Apart(number) => {
                let tag = tags::apart(*number);
                let place = request.target.as_ref().map(|target| window.place(target));
                // Under a logging protocol memory must not change while the program computes.
                let straight = request.action == Action::Put
                    && (request.mode == Mode::Fence || !engine.replays());
                let (into, buffer) = match (&request.target, place) {
                    (Some(target), Some(Ok(ptr))) if straight => {
                        let (count, datatype) = (target.count, target.datatype.clone());
                        (RecvData::Typed { ptr, count, datatype }, None)
                    }
                    (_, Some(Ok(_))) => {
                        let mut buffer = vec![0; request.len as usize];
                        let ptr = UserPtr::own_mut(&mut buffer);
                        (RecvData::Bytes { ptr, len: buffer.len() }, Some(buffer))
                    }
                    // The request does not fit the window: the data are dropped, the origin gets
                    // the error.
                    _ => (RecvData::Bytes { ptr: UserPtr::BOTTOM, len: 0 }, Some(Vec::new())),
                };
                let id = engine.receive_own(into, self.source, window.context(), tag);
                self.data = Data::Landing(id, buffer);
                self.has_landed(engine)
            }
            Data::Landing(..) => self.has_landed(engine),
        }
    }

    fn has_landed<L: Link>(&mut self, engine: &mut Engine<L>) -> bool {
        let Data::Landing(id, buffer) = &mut self.data else { return true };
        if !engine.is_done(*id) {
            return false;
        }
        engine.finish(*id);
        self.data = match buffer.take() {
            Some(buffer) => Data::Here(buffer),
            None => Data::Stored,
        };
        true
    }

    /// May it be served as far as epochs go?
    fn is_admitted(&self, window: &Window) -> bool {
        let Some(request) = &self.request else { return false };
        match (request.mode, request.action) {
            (_, Action::Lock { .. }) => true,
            (Mode::Locked, _) => window.counter || window.locks.holds(self.origin),
            (Mode::Exposed, _) => {
                window.exposure.as_ref().is_some_and(|e| e.open.contains(&self.origin))
            }
            (Mode::Fence, _) => false,
        }
    }

    /// Carries the request out. All its data are here.
    pub(crate) fn serve<L: Link>(mut self, engine: &mut Engine<L>, window: &mut Window) {
        let Some(request) = self.request.take() else { return };
        let answer = match request.action {
            Action::Lock { exclusive } => {
                window.locks.ask(Asker { rank: self.origin, exclusive, reply: request.reply });
                grant(engine, window);
                return;
            }
            Action::Unlock => {
                window.locks.release(self.origin);
                Some(status(window, self.origin))
            }
            Action::Flush => Some(status(window, self.origin)),
            Action::Complete => {
                if let Some(exposure) = &mut window.exposure {
                    exposure.open.retain(|&origin| origin != self.origin);
                }
                None
            }
            action => self.move_data(action, &request, window),
        };
        if request.reply != 0 {
            let data = answer.unwrap_or_default();
            let tag = tags::reply(request.reply);
            engine.reply(self.source, request.reply, data, window.context(), tag);
        }
        if request.action == Action::Unlock {
            grant(engine, window);
        }
    }

    fn move_data(
        &mut self,
        action: Action,
        request: &Request,
        window: &mut Window,
    ) -> Option<Vec<u8>> {
        let target = request.target.as_ref()?;
        let at = match window.place(target) {
            Ok(at) => at,
            Err(error) => {
                window.faults.insert(self.origin, error.class);
                return None;
            }
        };
        match &mut self.data {
            Data::Inside(from) => carry_out(action, target, at, &mut self.message[*from..]),
            Data::Here(data) => carry_out(action, target, at, data),
            _ => None,
        }
    }
}

/// The answer to an origin about its operations: the class of an error, or 0.
fn status(window: &mut Window, origin: u32) -> Vec<u8> {
    let class = window.faults.remove(&origin).unwrap_or(ErrorClass::Success);
    class.number().to_le_bytes().to_vec()
}

/// Grants what can be granted, and answers the ranks that wait for it.
pub(crate) fn grant<L: Link>(engine: &mut Engine<L>, window: &mut Window) {
    for asker in window.grant() {
        if asker.reply != 0
            && let Some(world) = window.members.local.world(asker.rank)
        {
            let (context, tag) = (window.context(), tags::reply(asker.reply));
            engine.reply(world, asker.reply, vec![0; 4], context, tag);
        }
    }
}

impl Windows {
    /// Takes in the requests that came for these windows. In a replay the requests of all later
    /// windows may be there as well: they wait in matching until their window is made.
    fn take_in<L: Link>(&mut self, engine: &mut Engine<L>) {
        for id in std::mem::take(&mut self.unseen) {
            let Some(window) = self.table.get_mut(id.0) else { continue };
            for rank in window.members.local.iter() {
                while let Some(arrived) =
                    Arrived::begin(engine, &window.members, tags::SERVICE, rank)
                {
                    window.inbox.push_back(arrived);
                }
            }
        }
        let table = &self.table;
        let of = |context| {
            table.iter().find(|(_, window)| window.context() == context).map(|(id, _)| id)
        };
        for (id, envelope, message) in engine.claim_behind(&mut self.looked, tags::SERVICE, of) {
            let Some(window) = self.table.get_mut(id) else { continue };
            let arrived = Arrived::receive(engine, &window.members, (envelope, message));
            window.inbox.push_back(arrived);
        }
    }

    /// Serves what may be served; `true` if something was.
    pub(crate) fn serve<L: Link>(&mut self, engine: &mut Engine<L>) -> bool {
        self.take_in(engine);
        let mut served = false;
        loop {
            let turn = engine.turn();
            let found = match turn {
                Turn::Nobody => None,
                Turn::Only(source, ssn) => self.find(engine, source, ssn),
                Turn::Anybody => self.choose(engine),
            };
            let Some((window, at)) = found else { return served };
            let Some(window) = self.table.get_mut(window) else { return served };
            let Some(arrived) = window.inbox.remove(at) else { return served };
            engine.serving(turn, arrived.source, arrived.ssn);
            arrived.serve(engine, window);
            served = true;
        }
    }

    /// The request with this identity, when it is all there.
    fn find<L: Link>(
        &mut self,
        engine: &mut Engine<L>,
        source: Rank,
        ssn: Ssn,
    ) -> Option<(u32, usize)> {
        for (id, window) in self.table.iter_mut() {
            let wanted = |arrived: &Arrived| arrived.source == source && arrived.ssn == ssn;
            let Some(at) = window.inbox.iter().position(wanted) else { continue };
            let ready = ready(engine, window, at);
            return ready.then_some((id, at));
        }
        None
    }

    /// The first request that can be served.
    fn choose<L: Link>(&mut self, engine: &mut Engine<L>) -> Option<(u32, usize)> {
        for (id, window) in self.table.iter_mut() {
            if window.inbox.is_empty() {
                continue;
            }
            // Origins with an earlier request that has to wait.
            let mut behind: Vec<u32> = Vec::new();
            for at in 0..window.inbox.len() {
                let origin = window.inbox[at].origin;
                if behind.contains(&origin) {
                    continue;
                }
                if ready(engine, window, at) {
                    return Some((id, at));
                }
                behind.push(origin);
            }
        }
        None
    }
}

/// Can this request be served now?
fn ready<L: Link>(engine: &mut Engine<L>, window: &mut Window, at: usize) -> bool {
    let mut inbox = std::mem::take(&mut window.inbox);
    let arrived = &mut inbox[at];
    let ready =
        arrived.is_here(engine) && arrived.is_admitted(window) && arrived.has_data(engine, window);
    window.inbox = inbox;
    ready
}
