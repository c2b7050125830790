//! Synchronisation of windows (MPI-3.1, 11.5): fences, post-start-complete-wait, locks, flushes.
//!
//! Guarantees: a fence carries out the operations of all origins in the order of their ranks. A
//! rank that waits serves other ranks meanwhile. Start and lock do not wait for others, with two
//! exceptions:
//! * loads and stores may follow that no rank can delay: in memory that ranks share, or in a rank's
//!   own;
//! * a logging protocol must record a lock before anything is done under it.

use super::{Collective, Mpi, Peer};
use crate::bail;
use crate::collective::address_of;
use crate::datatype::{Builtin, TypeId};
use crate::engine::{Decision, Link, RecvData};
use crate::error::Result;
use crate::group::GroupId;
use crate::ids::WinId;
use crate::mpi::Buffer;
use crate::mpi::one_sided::Reply;
use crate::usermem::UserPtr;
use crate::window::arrived::Arrived;
use crate::window::locks::Asker;
use crate::window::request::{Action, Mode};
use crate::window::{Exposure, Flavor, serve, tags};
use ftmpi_wire::Rank;
use std::sync::atomic::{Ordering, fence};

/// Assertions of the synchronisation calls. Most are hints that change nothing here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assert {
    /// `MPI_MODE_NOPRECEDE`: no epoch ends with this fence.
    pub no_precede: bool,
    /// `MPI_MODE_NOSUCCEED`: none begins.
    pub no_succeed: bool,
    /// `MPI_MODE_NOCHECK`: no other rank holds a conflicting lock, or will meanwhile.
    pub no_check: bool,
}

impl<L: Link> Mpi<L> {
    /// `MPI_Win_fence`
    pub fn win_fence(&mut self, id: WinId, assert: Assert) -> Result<()> {
        let window = self.window(id)?;
        if window.access.is_some() || window.exposure.is_some() {
            bail!(RmaSync, "MPI_Win_fence within an epoch of start or post");
        }
        if window.locked_all || window.targets.iter().any(|targets| targets.lock.is_some()) {
            bail!(RmaSync, "MPI_Win_fence while a lock of this process is held");
        }
        let (comm, shares) = (window.comm, window.flavor == Flavor::Shared);
        let answer = match assert.no_precede {
            // Others may still store there what they did before the epoch.
            true if shares => self.collective(comm, Collective::Barrier),
            true => Ok(()),
            false => self.close_fence(id),
        };
        self.window_mut(id)?.fenced = !assert.no_succeed;
        answer
    }

    fn close_fence(&mut self, id: WinId) -> Result<()> {
        let window = self.window_mut(id)?;
        let (comm, members) = (window.comm, std::rc::Rc::clone(&window.members));
        let ours: Vec<u64> =
            window.targets.iter_mut().map(|targets| std::mem::take(&mut targets.fenced)).collect();
        let n = ours.len();
        let (mut send, mut recv) = (self.pool.take(8 * n), self.pool.take(8 * n));
        let (from, to) = (address_of(&mut send), address_of(&mut recv));
        for (i, count) in ours.iter().enumerate() {
            from.offset(8 * i as i64).store(*count);
        }
        let word = TypeId::builtin(Builtin::Uint64T);
        let answer = self.collective(
            comm,
            Collective::Alltoall {
                send: Buffer::At(from),
                send_count: 1,
                send_type: word,
                recv: Buffer::At(to),
                recv_count: 1,
                recv_type: word,
            },
        );
        let theirs: Vec<u64> = (0..n).map(|i| to.offset(8 * i as i64).load()).collect();
        self.pool.give_back(send);
        self.pool.give_back(recv);
        answer?;
        for (origin, &count) in theirs.iter().enumerate() {
            if let Some(world) = members.local.world(origin as u32) {
                self.serve_fenced(id, world, count)?;
            }
        }
        // After a failure nothing of this epoch is under way in the next one, or reported there.
        let mut answer = Ok(());
        for rank in 0..n as u32 {
            answer = answer.and(self.finish_transfers(id, rank));
        }
        let fault = self.send_fault(id);
        answer.and(fault)
    }

    /// Sends origins what they did wrong in the epoch that ends.
    fn send_fault(&mut self, id: WinId) -> Result<()> {
        match std::mem::take(&mut self.window_mut(id)?.faults).pop_first() {
            None => Ok(()),
            Some((origin, class)) => Err(class.because(format!(
                "rank {origin} accessed memory that is not in this process' part of the window"
            ))),
        }
    }

    /// Carries out the operations of one origin since the last fence.
    fn serve_fenced(&mut self, id: WinId, origin: Rank, count: u64) -> Result<()> {
        for _ in 0..count {
            let mut arrived = loop {
                let window = self.engine.windows.get(id)?;
                // Two borrows of the engine: the window is only looked at.
                let members = std::rc::Rc::clone(&window.members);
                match Arrived::begin(&mut self.engine, &members, tags::FENCE, origin) {
                    Some(arrived) => break arrived,
                    None => self.wait_in(id)?,
                }
            };
            while !arrived.is_here(&mut self.engine) {
                self.wait_in(id)?;
            }
            loop {
                let windows = std::mem::take(&mut self.engine.windows);
                let here = windows.get(id).map(|w| arrived.has_data(&mut self.engine, w));
                self.engine.windows = windows;
                if here? {
                    break;
                }
                self.wait_in(id)?;
            }
            let mut windows = std::mem::take(&mut self.engine.windows);
            let done = windows.get_mut(id).map(|w| arrived.serve(&mut self.engine, w));
            self.engine.windows = windows;
            done?;
        }
        Ok(())
    }

    /// One step of waiting for other members of the window.
    fn wait_in(&mut self, id: WinId) -> Result<()> {
        let context = self.window(id)?.context();
        if let Some(error) = self.engine.context_error(context) {
            let comm = self.window(id)?.comm;
            return Err(self.fault(comm, error));
        }
        self.engine.block();
        Ok(())
    }

    /// The ranks of a group in the window.
    fn ranks_of(&self, id: WinId, group: GroupId) -> Result<Vec<u32>> {
        let window = self.window(id)?;
        let group = self.groups.get(group)?;
        group
            .iter()
            .map(|world| match window.members.local.local(world) {
                Some(rank) => Ok(rank),
                None => bail!(Group, "process {world} of the group is not in the window"),
            })
            .collect()
    }

    /// `MPI_Win_post`
    pub fn win_post(&mut self, id: WinId, group: GroupId) -> Result<()> {
        let open = self.ranks_of(id, group)?;
        let window = self.window_mut(id)?;
        if window.exposure.is_some() {
            bail!(RmaSync, "MPI_Win_post within an exposure epoch: call MPI_Win_wait first");
        }
        window.exposure = Some(Exposure { open: open.clone() });
        window.fenced = false;
        if window.flavor == Flavor::Shared {
            let (context, members) = (window.context(), std::rc::Rc::clone(&window.members));
            for &origin in open.iter().filter(|&&origin| origin != members.me) {
                if let Some(world) = members.local.world(origin) {
                    self.send_owned(Vec::new(), world, context, tags::POSTED);
                }
            }
        }
        // Requests that came before may be served now.
        self.engine.progress();
        Ok(())
    }

    /// `MPI_Win_start`
    pub fn win_start(&mut self, id: WinId, group: GroupId) -> Result<()> {
        let targets = self.ranks_of(id, group)?;
        let window = self.window_mut(id)?;
        if window.access.is_some() {
            bail!(RmaSync, "MPI_Win_start within an access epoch: call MPI_Win_complete first");
        }
        if window.locked_all || window.targets.iter().any(|targets| targets.lock.is_some()) {
            bail!(RmaSync, "MPI_Win_start while a lock of this process is held");
        }
        window.fenced = false;
        let shares = window.flavor == Flavor::Shared;
        window.access = Some(targets.clone());
        if shares { self.await_posts(id, &targets) } else { Ok(()) }
    }

    /// Waits until these ranks have exposed their memory.
    fn await_posts(&mut self, id: WinId, targets: &[u32]) -> Result<()> {
        let window = self.window(id)?;
        let (context, members) = (window.context(), std::rc::Rc::clone(&window.members));
        let others = targets.iter().filter(|&&target| target != members.me);
        let worlds = others.filter_map(|&target| members.local.world(target));
        let nothing = RecvData::Bytes { ptr: UserPtr::BOTTOM, len: 0 };
        let posted = worlds
            .map(|world| self.engine.receive_own(nothing.clone(), world, context, tags::POSTED))
            .collect::<Vec<_>>();
        let mut answer = Ok(());
        for one in posted {
            if let Some(error) = self.engine.wait(one).error {
                answer = Err(error.into());
            }
        }
        answer
    }

    /// `MPI_Win_complete`
    pub fn win_complete(&mut self, id: WinId) -> Result<()> {
        let window = self.window_mut(id)?;
        let Some(targets) = window.access.take() else {
            bail!(RmaSync, "MPI_Win_complete without MPI_Win_start");
        };
        let me = window.members.me;
        for &rank in &targets {
            if rank == me {
                // Our own operations were carried out when they were called.
                if let Some(exposure) = &mut self.window_mut(id)?.exposure {
                    exposure.open.retain(|&origin| origin != me);
                } else {
                    bail!(
                        RmaSync,
                        "MPI_Win_complete for this process itself before its MPI_Win_post"
                    );
                }
            } else {
                self.send_request(id, rank, Action::Complete, Mode::Exposed, false)?;
            }
        }
        let mut answer = Ok(());
        for &rank in &targets {
            answer = answer.and(self.finish_transfers(id, rank));
            self.flushed(id, rank)?;
        }
        answer
    }

    /// Nothing targets `rank` is left to be asked about.
    fn flushed(&mut self, id: WinId, rank: u32) -> Result<()> {
        if let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) {
            targets.unflushed = false;
        }
        Ok(())
    }

    fn is_exposed(&self, id: WinId) -> Result<bool> {
        match &self.window(id)?.exposure {
            Some(exposure) => Ok(!exposure.open.is_empty()),
            None => bail!(RmaSync, "MPI_Win_wait or MPI_Win_test without MPI_Win_post"),
        }
    }

    fn close_exposure(&mut self, id: WinId) -> Result<()> {
        self.window_mut(id)?.exposure = None;
        self.send_fault(id)
    }

    /// `MPI_Win_wait`
    pub fn win_wait(&mut self, id: WinId) -> Result<()> {
        while self.is_exposed(id)? {
            self.wait_in(id)?;
        }
        self.close_exposure(id)
    }

    /// `MPI_Win_test`
    pub fn win_test(&mut self, id: WinId) -> Result<bool> {
        self.is_exposed(id)?;
        self.engine.poll_once();
        match self.engine.decide_polled() {
            Decision::Negative => return Ok(false),
            Decision::Positive(_) => {
                while self.is_exposed(id)? {
                    self.engine.block();
                }
            }
            Decision::Live => {
                if self.is_exposed(id)? {
                    if let Some(error) = self.engine.context_error(self.window(id)?.context()) {
                        return Err(error.into());
                    }
                    self.engine.answered_negative();
                    return Ok(false);
                }
                self.engine.answered(1);
            }
        }
        self.close_exposure(id)?;
        Ok(true)
    }

    fn target(&self, id: WinId, rank: Peer) -> Result<Option<u32>> {
        let size = self.window(id)?.members.local.len();
        match rank {
            Peer::Rank(rank) if rank < size => Ok(Some(rank)),
            Peer::ProcNull => Ok(None),
            Peer::Rank(rank) => {
                bail!(Rank, "rank {} is not in a window of size {size}", rank as i32)
            }
            _ => bail!(Rank, "a lock is for one rank"),
        }
    }

    fn may_lock(&self, id: WinId) -> Result<()> {
        let window = self.window(id)?;
        // Only under a logging protocol, and between processes, does something depend on the
        // promise: a target that nobody locks does not record when it served nobody.
        if !window.lockable && self.engine.replays() && window.members.local.len() > 1 {
            bail!(
                RmaSync,
                "the window was made with the hint no_locks: under a protocol that logs it cannot be \
                 locked; make it without the hint, or use --protocol none or coordinated"
            );
        }
        if window.access.is_some() {
            bail!(RmaSync, "a lock within an access epoch of MPI_Win_start");
        }
        Ok(())
    }

    /// `MPI_Win_lock`
    pub fn win_lock(
        &mut self,
        id: WinId,
        rank: Peer,
        exclusive: bool,
        assert: Assert,
    ) -> Result<()> {
        self.may_lock(id)?;
        let Some(rank) = self.target(id, rank)? else { return Ok(()) };
        let window = self.window_mut(id)?;
        let me = window.members.me;
        window.fenced = false;
        if window.locked_all {
            bail!(RmaSync, "MPI_Win_lock between MPI_Win_lock_all and MPI_Win_unlock_all");
        }
        match window.targets.get_mut(rank as usize) {
            Some(targets) if targets.lock.is_none() => targets.lock = Some(exclusive),
            _ => bail!(RmaSync, "rank {rank} is locked by this process already"),
        }
        let waits = window.flavor == Flavor::Shared && !assert.no_check;
        if rank == me { self.lock_myself(id, exclusive) } else { self.lock_there(id, rank, waits) }
    }

    /// Loads and stores of this process follow: it waits.
    fn lock_myself(&mut self, id: WinId, exclusive: bool) -> Result<()> {
        let window = self.window_mut(id)?;
        let me = window.members.me;
        if let Some(targets) = window.targets.get_mut(me as usize) {
            targets.asked = true;
        }
        window.locks.ask(Asker { rank: me, exclusive, reply: 0 });
        self.grant(id)?;
        while !self.window(id)?.locks.holds(me) {
            self.wait_in(id)?;
        }
        Ok(())
    }

    fn grant(&mut self, id: WinId) -> Result<()> {
        let mut windows = std::mem::take(&mut self.engine.windows);
        let done = windows.get_mut(id).map(|window| serve::grant(&mut self.engine, window));
        self.engine.windows = windows;
        done
    }

    /// Sends `rank` our lock, if it was not sent yet; returns the reply to wait for. Under a
    /// logging protocol, what is done under the lock must come after the target has recorded that
    /// it granted it. Otherwise a rank waits only if it must: the target delays the rest.
    fn ask_for_lock(&mut self, id: WinId, rank: u32, waits: bool) -> Result<Option<Reply>> {
        let waits = waits || self.engine.replays();
        let window = self.window_mut(id)?;
        let Some(targets) = window.targets.get_mut(rank as usize) else { return Ok(None) };
        if std::mem::replace(&mut targets.asked, true) {
            return Ok(None);
        }
        let exclusive = targets.lock.unwrap_or(false);
        targets.grant_awaited = waits;
        self.send_request(id, rank, Action::Lock { exclusive }, Mode::Locked, waits)
    }

    /// Asks, and waits if that must be: also if another thread has asked and waits.
    pub(super) fn lock_there(&mut self, id: WinId, rank: u32, waits: bool) -> Result<()> {
        let answer = match self.ask_for_lock(id, rank, waits)? {
            Some(asked) => self.await_reply(asked),
            None if !self.is_grant_awaited(id, rank)? => return Ok(()),
            None => loop {
                self.wait_in(id)?;
                if !self.is_grant_awaited(id, rank)? {
                    break Ok(());
                }
            },
        };
        // Other threads may have sent messages since the wait began.
        self.engine.step();
        self.grant_is_here(id, rank)?;
        answer
    }

    fn is_grant_awaited(&self, id: WinId, rank: u32) -> Result<bool> {
        Ok(self.window(id)?.targets.get(rank as usize).is_some_and(|target| target.grant_awaited))
    }

    fn grant_is_here(&mut self, id: WinId, rank: u32) -> Result<()> {
        if let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) {
            targets.grant_awaited = false;
        }
        Ok(())
    }

    /// `MPI_Win_unlock`
    pub fn win_unlock(&mut self, id: WinId, rank: Peer) -> Result<()> {
        let Some(rank) = self.target(id, rank)? else { return Ok(()) };
        let window = self.window_mut(id)?;
        match window.targets.get_mut(rank as usize) {
            Some(targets) if targets.lock.is_some() => targets.lock = None,
            _ => bail!(RmaSync, "rank {rank} is not locked by this process"),
        }
        self.give_back(id, &[rank])
    }

    /// Gives locks back; when this returns, everything done under them is done at the targets.
    fn give_back(&mut self, id: WinId, ranks: &[u32]) -> Result<()> {
        let me = self.window(id)?.members.me;
        let mut waiting = Vec::new();
        for &rank in ranks {
            let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) else {
                continue;
            };
            targets.unflushed = false;
            if !std::mem::take(&mut targets.asked) {
                continue;
            }
            if rank == me {
                self.window_mut(id)?.locks.release(me);
                self.grant(id)?;
            } else {
                waiting.extend(self.send_request(id, rank, Action::Unlock, Mode::Locked, true)?);
            }
        }
        if waiting.is_empty() {
            // A program may lock its own part again and again until others have done something
            // there.
            self.engine.poll_once();
        }
        let mut answer = Ok(());
        for one in waiting {
            answer = answer.and(self.await_reply(one));
        }
        for &rank in ranks {
            answer = self.finish_transfers(id, rank).and(answer);
        }
        answer
    }

    /// `MPI_Win_lock_all`: other ranks are asked when something is done with them; at once where
    /// that may be loads and stores of this process.
    pub fn win_lock_all(&mut self, id: WinId, assert: Assert) -> Result<()> {
        self.may_lock(id)?;
        let window = self.window_mut(id)?;
        if window.locked_all || window.targets.iter().any(|targets| targets.lock.is_some()) {
            bail!(RmaSync, "MPI_Win_lock_all while a lock of this process is held");
        }
        (window.locked_all, window.fenced) = (true, false);
        let (me, size) = (window.members.me, window.members.local.len());
        let waits = window.flavor == Flavor::Shared && !assert.no_check;
        let mut asked = Vec::new();
        for rank in (0..size).filter(|&rank| waits && rank != me) {
            asked.extend(self.ask_for_lock(id, rank, true)?.map(|asked| (rank, asked)));
        }
        self.lock_myself(id, false)?;
        for (rank, one) in asked {
            self.await_reply(one)?;
            self.grant_is_here(id, rank)?;
        }
        Ok(())
    }

    /// `MPI_Win_unlock_all`
    pub fn win_unlock_all(&mut self, id: WinId) -> Result<()> {
        let window = self.window_mut(id)?;
        if !std::mem::take(&mut window.locked_all) {
            bail!(RmaSync, "MPI_Win_unlock_all without MPI_Win_lock_all");
        }
        let ranks: Vec<u32> = (0..window.members.local.len()).collect();
        self.give_back(id, &ranks)
    }

    fn must_be_locked(&self, id: WinId, rank: Option<u32>) -> Result<()> {
        let window = self.window(id)?;
        let locked = |rank: u32| {
            window.targets.get(rank as usize).is_some_and(|targets| targets.lock.is_some())
        };
        let held = match rank {
            Some(rank) => locked(rank),
            None => (0..window.members.local.len()).any(locked),
        };
        if !held && !window.locked_all {
            bail!(RmaSync, "a flush outside of a passive epoch: call MPI_Win_lock before");
        }
        Ok(())
    }

    /// All operations of this process targets these ranks, whichever thread called them, are
    /// complete there when this returns.
    fn flush(&mut self, id: WinId, ranks: &[u32]) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for &rank in ranks {
            let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) else {
                continue;
            };
            if std::mem::take(&mut targets.unflushed) {
                targets.flushes += 1;
                let number = targets.flushes;
                let asked = self.send_request(id, rank, Action::Flush, Mode::Locked, true)?;
                ours.extend(asked.map(|asked| (rank, number, asked)));
            } else if targets.flushed < targets.flushes {
                theirs.push((rank, targets.flushes));
            }
        }
        let mut answer = Ok(());
        for (rank, number, asked) in ours {
            answer = answer.and(self.await_reply(asked));
            if let Some(targets) = self.window_mut(id)?.targets.get_mut(rank as usize) {
                targets.flushed = targets.flushed.max(number);
            }
        }
        for (rank, number) in theirs {
            while self.window(id)?.targets.get(rank as usize).is_some_and(|t| t.flushed < number) {
                self.wait_in(id)?;
            }
        }
        for &rank in ranks {
            answer = self.finish_transfers(id, rank).and(answer);
        }
        // A program may wait in a loop of these for what others do.
        self.engine.progress();
        answer
    }

    /// `MPI_Win_flush`, `MPI_Win_flush_all` (`None`)
    pub fn win_flush(&mut self, id: WinId, rank: Option<Peer>) -> Result<()> {
        let ranks = self.ranks_to_flush(id, rank)?;
        self.flush(id, &ranks)
    }

    /// `MPI_Win_flush_local`, `MPI_Win_flush_local_all` (`None`)
    pub fn win_flush_local(&mut self, id: WinId, rank: Option<Peer>) -> Result<()> {
        let ranks = self.ranks_to_flush(id, rank)?;
        let mut answer = Ok(());
        for &rank in &ranks {
            answer = self.finish_transfers(id, rank).and(answer);
        }
        self.engine.progress();
        answer
    }

    fn ranks_to_flush(&self, id: WinId, rank: Option<Peer>) -> Result<Vec<u32>> {
        match rank {
            None => {
                self.must_be_locked(id, None)?;
                Ok((0..self.window(id)?.members.local.len()).collect())
            }
            Some(rank) => match self.target(id, rank)? {
                None => Ok(Vec::new()),
                Some(rank) => {
                    self.must_be_locked(id, Some(rank))?;
                    Ok(vec![rank])
                }
            },
        }
    }

    /// `MPI_Win_sync`: there is one copy of the memory, and it is served in calls only; others may
    /// be served now. For ranks that share memory and synchronise without messages this is the
    /// memory barrier.
    pub fn win_sync(&mut self, id: WinId) -> Result<()> {
        self.window(id)?;
        fence(Ordering::SeqCst);
        self.engine.poll_once();
        fence(Ordering::SeqCst);
        Ok(())
    }
}
