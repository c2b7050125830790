//! Completing requests: wait, test, free, cancel.
//!
//! Guarantees: whether a request that may or may not be complete is reported as complete goes
//! through [`Engine::decide`](crate::engine::Engine::decide); calls whose answer cannot depend on
//! timing (waits for given requests, tests of requests that are complete for certain) record
//! nothing.

use super::choice::Choice;
use super::{CommId, Mpi, Request, Status};
use crate::bail;
use crate::engine::{Decision, Link};
use crate::error::{ErrorClass, Result};
use crate::request::{Active, Look, Slot, Staging};

use crate::request::{Asked, Question};

/// The answer of `MPI_Testany`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestAny {
    /// All are null or not started: flag true, index `MPI_UNDEFINED`.
    NoneActive,
    /// None is complete: flag false.
    Nothing,
    /// The request is complete. A status with an error is for [`Mpi::verdict`], after the index was
    /// returned.
    Done(usize, Status),
}

impl<L: Link> Mpi<L> {
    #[inline]
    pub(super) fn new_request(&mut self, slot: Slot) -> Result<Request> {
        let index = self.requests.insert(slot)?;
        Ok(Request::at(index))
    }

    pub(super) fn look(&self, request: Request) -> Result<Look> {
        match request {
            Request::NULL => return Ok(Look::Inactive),
            // Whether a send was complete at once depends on timing.
            Request::DONE => return Ok(Look::Open),
            _ => {}
        }
        match request.index().and_then(|index| self.requests.get(index)) {
            Some(slot) => Ok(slot.look()),
            _ => bail!(Request, "{:#010x} is no request: was it completed or freed?", request.0),
        }
    }

    /// Is an open request complete now?
    pub(super) fn is_done(&self, request: Request) -> bool {
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            None | Some(Active::Known(_) | Active::Sent | Active::Came(_)) => true,
            Some(Active::Send(id) | Active::Recv(id, _)) => self.engine.is_done(*id),
            Some(Active::Exchange { send, recv, .. }) => {
                send.is_none_or(|id| self.engine.is_done(id))
                    && recv.is_none_or(|id| self.engine.is_done(id))
            }
            Some(Active::Schedule(id, _)) => self.engine.schedule_is_done(*id),
            Some(Active::Duplicate(duplicate)) => self.engine.schedule_is_done(duplicate.task),
            Some(Active::Generalized(generalized)) => generalized.complete,
            Some(Active::Flush(owner, until)) => self.is_flushed(*owner, *until),
            Some(Active::PartitionedSend(send)) => send.is_done(&self.engine),
            Some(Active::PartitionedRecv(recv)) => recv.is_done(),
            Some(Active::OneSided(transfer)) => self.transfer_looks_done(transfer),
        }
    }

    /// Blocks until the request is complete.
    pub(super) fn await_done(&mut self, request: Request) {
        self.look_after_partitions();
        while !self.is_done(request) {
            self.block();
        }
    }

    /// One step of waiting.
    pub(super) fn block(&mut self) {
        self.engine.block();
        self.look_after_partitions();
    }

    /// One look for a call that polls.
    pub(super) fn poll_once(&mut self) {
        self.engine.poll_once();
        self.look_after_partitions();
    }

    /// Takes the result of an active request that is complete; it becomes null, or inactive if it
    /// is persistent.
    pub(super) fn collect(&mut self, request: &mut Request) -> Status {
        let Some(index) = request.index() else {
            *request = Request::NULL;
            return Status::EMPTY;
        };
        let Some(slot) = self.requests.get_mut(index) else { return Status::EMPTY };
        self.blamed = slot.comm;
        let active = slot.active.take();
        let (this, over) = (*request, slot.template.is_none());
        if over {
            self.requests.remove(index);
            *request = Request::NULL;
        }
        match active {
            None | Some(Active::Sent) => Status::EMPTY,
            Some(Active::Came(status)) => status,
            Some(Active::Generalized(generalized)) => {
                self.ask(Asked::QueryAndFree, generalized.callbacks);
                Status::EMPTY
            }
            Some(Active::Flush(owner, _)) => {
                self.reap(owner);
                Status::EMPTY
            }
            Some(Active::PartitionedSend(send)) => self.finish_partitioned_send(*send),
            Some(Active::PartitionedRecv(recv)) => self.finish_partitioned_recv(*recv),
            Some(Active::Known(status)) => {
                // A status that was asked for before.
                if !self.staged.is_empty() {
                    self.staged_is_done(this, over);
                }
                status
            }
            Some(Active::Send(id)) => Status::sent(&self.engine.finish(id)),
            Some(Active::Recv(id, members)) => Status::received(&self.engine.finish(id), &members),
            Some(Active::Exchange { send, recv, members, copy }) => {
                send.map(|id| self.engine.finish(id));
                if let Some(copy) = copy {
                    self.pool.give_back(copy);
                }
                recv.map_or(Status::PROC_NULL, |id| {
                    Status::received(&self.engine.finish(id), &members)
                })
            }
            Some(Active::Duplicate(duplicate)) => self.duplicated(*duplicate),
            Some(Active::OneSided(transfer)) => {
                self.transfer_is_done(&transfer);
                Status { error: transfer.borrow().error, ..Status::EMPTY }
            }
            Some(Active::Schedule(id, _)) => {
                let mut schedule = self.engine.take_schedule(id);
                self.words = schedule.as_mut().and_then(|schedule| schedule.take_words());
                let error = schedule.and_then(|schedule| schedule.dismantle(&mut self.pool));
                if !self.staged.is_empty() {
                    self.staged_is_done(this, over);
                }
                Status { error, ..Status::EMPTY }
            }
        }
    }

    /// What a call on one request that ended so returns.
    pub fn verdict(&mut self, status: Status) -> Result<Status> {
        match status.error {
            None => Ok(status),
            Some(error) => {
                let comm = self.blamed;
                Err(self.failed(error, status, comm))
            }
        }
    }

    /// The same on a request that stays.
    pub fn verdict_on(&mut self, request: Request, status: Status) -> Result<Status> {
        if status.error.is_some()
            && let Some(slot) = request.index().and_then(|index| self.requests.get(index))
        {
            self.blamed = slot.comm;
        }
        self.verdict(status)
    }

    /// `MPI_Wait`
    #[inline]
    pub fn wait(&mut self, request: &mut Request) -> Result<Status> {
        let status = self.wait_one(request)?;
        self.verdict(status)
    }

    #[inline]
    fn wait_one(&mut self, request: &mut Request) -> Result<Status> {
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get(index)
            && slot.template.is_none()
            && let Some(Active::Came(status)) = slot.active
        {
            self.blamed = slot.comm;
            self.requests.forget(index);
            *request = Request::NULL;
            return Ok(status);
        }
        if *request == Request::DONE {
            *request = Request::NULL;
            return Ok(Status::EMPTY);
        }
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get(index)
            && slot.template.is_none()
            && let Some(Active::Send(id) | Active::Recv(id, _)) = &slot.active
        {
            // The fast path: nothing else needs attention. Other threads may come in while this one
            // waits, and the table may move.
            let (id, comm) = (*id, slot.comm);
            let done = self.engine.wait(id);
            self.blamed = comm;
            *request = Request::NULL;
            return Ok(match self.requests.remove(index).and_then(|slot| slot.active) {
                Some(Active::Recv(_, members)) => Status::received(&done, &members),
                _ => Status::sent(&done),
            });
        }
        match self.look(*request)? {
            Look::Inactive => Ok(Status::EMPTY),
            Look::Known => Ok(self.collect(request)),
            Look::Open => {
                self.await_done(*request);
                Ok(self.collect(request))
            }
        }
    }

    /// `MPI_Test`
    pub fn test(&mut self, request: &mut Request) -> Result<Option<Status>> {
        match self.look(*request)? {
            Look::Inactive => return Ok(Some(Status::EMPTY)),
            Look::Known => {}
            Look::Open => {
                if !self.decide_done(*request) {
                    return Ok(None);
                }
            }
        }
        let status = self.collect(request);
        self.verdict(status).map(Some)
    }

    /// Whether the program learns that an open request is complete; it is complete then.
    pub(super) fn decide_done(&mut self, request: Request) -> bool {
        self.poll_once();
        match self.engine.decide() {
            Decision::Negative => false,
            Decision::Positive(_) => {
                self.await_done(request);
                true
            }
            Decision::Live => {
                let done = self.is_done(request);
                if done {
                    self.engine.answered(1);
                } else {
                    self.engine.answered_negative();
                }
                done
            }
        }
    }

    /// `MPI_Waitall`
    pub fn waitall(
        &mut self,
        requests: &mut [Request],
        mut status: impl FnMut(usize, &Status),
    ) -> Result<()> {
        for &request in requests.iter() {
            self.look(request)?;
        }
        let mut failed = None;
        let mut asked = Vec::new();
        let waited: Result<()> = requests.iter_mut().enumerate().try_for_each(|(i, request)| {
            let one = self.wait_at(request, i, &mut asked)?;
            self.note_failure(&one, &mut failed);
            status(i, &one);
            Ok(())
        });
        self.questions.append(&mut asked);
        waited?;
        self.report(failed)
    }

    fn note_failure(&self, status: &Status, failed: &mut Option<(CommId, ErrorClass)>) {
        if let (Some(error), None) = (status.error, &failed) {
            *failed = Some((self.blamed, error));
        }
    }

    fn report(&mut self, failed: Option<(CommId, ErrorClass)>) -> Result<()> {
        let Some((comm, error)) = failed else { return Ok(()) };
        self.blamed = comm;
        // They were for a call on this request alone.
        self.words = None;
        bail!(
            InStatus,
            "a request failed with {error}: MPI_ERROR of its status says which ({})",
            error.text()
        )
    }

    /// `MPI_Testall`
    pub fn testall(
        &mut self,
        requests: &mut [Request],
        status: impl FnMut(usize, &Status),
    ) -> Result<bool> {
        if !self.all_done(requests)? {
            return Ok(false);
        }
        self.waitall(requests, status)?;
        Ok(true)
    }

    /// Whether the program learns that all requests are complete; they are complete then.
    pub(super) fn all_done(&mut self, requests: &[Request]) -> Result<bool> {
        let mut open = false;
        for &request in requests.iter() {
            open |= self.look(request)? == Look::Open;
        }
        if open {
            self.poll_once();
            match self.engine.decide() {
                Decision::Negative => return Ok(false),
                Decision::Positive(_) => {}
                Decision::Live => {
                    if !requests.iter().all(|&r| !self.is_open(r) || self.is_done(r)) {
                        self.engine.answered_negative();
                        return Ok(false);
                    }
                    self.engine.answered(1);
                }
            }
        }
        Ok(true)
    }

    pub(super) fn is_open(&self, request: Request) -> bool {
        matches!(self.look(request), Ok(Look::Open))
    }

    /// What is among the requests: the first that is complete for certain, the only open one, how
    /// many are open.
    pub(super) fn survey(
        &self,
        requests: &[Request],
    ) -> Result<(Option<usize>, Option<usize>, usize)> {
        let (mut known, mut open, mut count) = (None, None, 0);
        for (i, &request) in requests.iter().enumerate() {
            match self.look(request)? {
                Look::Inactive => {}
                Look::Known => known = known.or(Some(i)),
                Look::Open => {
                    open = open.or(Some(i));
                    count += 1;
                }
            }
        }
        Ok((known, open, count))
    }

    /// Also a generalized request that another thread has completed while this one waited: nothing
    /// is open any more about that.
    fn is_there(&self, request: Request) -> bool {
        !matches!(self.look(request), Ok(Look::Inactive) | Err(_)) && self.is_done(request)
    }

    pub(super) fn first_done(&self, requests: &[Request]) -> Option<usize> {
        requests.iter().position(|&request| self.is_there(request))
    }

    fn take_at(&mut self, requests: &mut [Request], i: usize) -> Result<(usize, Status)> {
        let Some(request) = requests.get_mut(i) else {
            bail!(Intern, "entry {i} of the requests was recorded as complete, but there is none")
        };
        Ok((i, self.wait_one(request)?))
    }

    /// Waits for a request whose status the call stores at `place` of an array. What it asks the
    /// program goes to `asked`: in the next wait another thread may come in, and would take all
    /// questions for its own.
    fn wait_at(
        &mut self,
        request: &mut Request,
        place: usize,
        asked: &mut Vec<Question>,
    ) -> Result<Status> {
        let status = self.wait_one(request)?;
        if self.has_questions() {
            asked.extend(self.questions.drain(..).map(|question| Question { place, ..question }));
        }
        Ok(status)
    }

    /// `MPI_Waitany`. `None`: no request is active, index `MPI_UNDEFINED`. A status with an error
    /// is for [`Mpi::verdict`], after the index was returned.
    pub fn waitany(&mut self, requests: &mut [Request]) -> Result<Option<(usize, Status)>> {
        let (known, open, count) = self.survey(requests)?;
        if let Some(i) = known.or(if count == 1 { open } else { None }) {
            return self.take_at(requests, i).map(Some);
        }
        if count == 0 {
            return Ok(None);
        }
        let i = loop {
            // Anew after every wait: an image may have been taken in it.
            match self.engine.decide() {
                Decision::Positive(i) => break i as usize,
                Decision::Live | Decision::Negative => {
                    if let Some(i) = self.first_done(requests) {
                        self.engine.answered(i as u64);
                        break i;
                    }
                }
            }
            self.block();
        };
        self.take_at(requests, i).map(Some)
    }

    /// `MPI_Testany`
    pub fn testany(&mut self, requests: &mut [Request]) -> Result<TestAny> {
        let (known, _, count) = self.survey(requests)?;
        let i = match known {
            Some(i) => i,
            None if count == 0 => return Ok(TestAny::NoneActive),
            None => {
                self.poll_once();
                match self.engine.decide() {
                    Decision::Negative => return Ok(TestAny::Nothing),
                    Decision::Positive(i) => i as usize,
                    Decision::Live => {
                        let Some(i) = self.first_done(requests) else {
                            self.engine.answered_negative();
                            return Ok(TestAny::Nothing);
                        };
                        self.engine.answered(i as u64);
                        i
                    }
                }
            }
        };
        let (i, status) = self.take_at(requests, i)?;
        Ok(TestAny::Done(i, status))
    }

    /// `MPI_Waitsome`; `None`: nothing is active. `done` gets the position in the output, the index
    /// and the status of each.
    pub fn waitsome(
        &mut self,
        requests: &mut [Request],
        done: impl FnMut(usize, usize, &Status),
    ) -> Result<Option<usize>> {
        self.some(requests, true, done)
    }

    /// `MPI_Testsome`, as [`Mpi::waitsome`].
    pub fn testsome(
        &mut self,
        requests: &mut [Request],
        done: impl FnMut(usize, usize, &Status),
    ) -> Result<Option<usize>> {
        self.some(requests, false, done)
    }

    /// The requests of which the program learns that they are complete; they are, or will be.
    /// `None`: no request is active.
    pub(super) fn choose(
        &mut self,
        requests: &[Request],
        wait: bool,
    ) -> Result<Option<Vec<usize>>> {
        let (known, open, count) = self.survey(requests)?;
        if known.is_none() && count == 0 {
            return Ok(None);
        }
        // Those that are complete for certain: there is nothing to wait for, but others must not
        // starve because a program starts these again and again.
        let mut chosen: Vec<usize> = match known {
            None => Vec::new(),
            Some(first) => {
                let is_known = |&i: &usize| matches!(self.look(requests[i]), Ok(Look::Known));
                (first..requests.len()).filter(is_known).collect()
            }
        };
        let wait = wait && known.is_none();
        if wait && count == 1 {
            chosen.extend(open);
        } else if count > 0 {
            let others = self.choose_open(requests, &chosen, wait);
            chosen.extend(others);
            chosen.sort_unstable();
        }
        Ok(Some(chosen))
    }

    /// The same of those that depend on timing; `known` do not.
    fn choose_open(&mut self, requests: &[Request], known: &[usize], wait: bool) -> Vec<usize> {
        let (n, choice) = (requests.len(), Choice::of(requests.len()));
        // What is recorded has a limit, what is not has none.
        let most = if self.engine.replays() { choice.most } else { n };
        if !wait {
            self.poll_once();
        }
        let chosen = loop {
            // Anew after every wait: an image may have been taken in it.
            match self.engine.decide() {
                Decision::Negative => return Vec::new(),
                Decision::Positive(packed) => break choice.unpack(packed),
                Decision::Live => {
                    let begin = if most < n { choice.begin(self.turn) } else { 0 };
                    let done = (begin..n).chain(0..begin).filter(|&i| {
                        known.binary_search(&i).is_err() && self.is_there(requests[i])
                    });
                    let chosen: Vec<usize> = done.take(most).collect();
                    if !chosen.is_empty() {
                        if self.engine.replays() {
                            self.engine.answered(choice.pack(&chosen));
                        }
                        break chosen;
                    }
                    if !wait {
                        self.engine.answered_negative();
                        return chosen;
                    }
                }
            }
            self.block();
        };
        // (The same in a replay: it counts what was recorded.)
        if chosen.len() == most && most < n {
            self.turn = self.turn.wrapping_add(1);
        }
        chosen
    }

    fn some(
        &mut self,
        requests: &mut [Request],
        wait: bool,
        mut done: impl FnMut(usize, usize, &Status),
    ) -> Result<Option<usize>> {
        let Some(chosen) = self.choose(requests, wait)? else { return Ok(None) };
        let mut failed = None;
        let mut asked = Vec::new();
        let waited: Result<()> = chosen.iter().enumerate().try_for_each(|(n, &i)| {
            let Some(request) = requests.get_mut(i) else {
                bail!(Intern, "entry {i} was recorded as complete, but there is none");
            };
            let status = self.wait_at(request, n, &mut asked)?;
            self.note_failure(&status, &mut failed);
            done(n, i, &status);
            Ok(())
        });
        self.questions.append(&mut asked);
        waited?;
        self.report(failed)?;
        Ok(Some(chosen.len()))
    }

    /// The program's memory of this collective is elsewhere.
    pub fn stage_request(&mut self, request: Request, staging: Box<dyn Staging>) {
        self.staged.push((request, staging));
    }

    pub(super) fn staged_begins(&mut self, request: Request) {
        for (_, staging) in self.staged.iter_mut().filter(|(of, _)| *of == request) {
            staging.begin();
        }
    }

    #[cold]
    pub(super) fn staged_is_done(&mut self, request: Request, over: bool) {
        for (_, staging) in self.staged.iter_mut().filter(|(of, _)| *of == request) {
            staging.end();
        }
        if over {
            self.staged.retain(|(of, _)| *of != request);
        }
    }

    /// `MPI_Request_free`: communication under way goes on.
    pub fn request_free(&mut self, request: &mut Request) -> Result<()> {
        if *request == Request::NULL {
            bail!(Request, "MPI_REQUEST_NULL was given");
        }
        self.look(*request)?;
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get_mut(index)
        {
            self.blamed = slot.comm;
            if let Some(Active::Duplicate(_)) = slot.active {
                bail!(Request, "the request of MPI_Comm_idup cannot be freed: complete it");
            }
            if let Some(Active::PartitionedSend(_) | Active::PartitionedRecv(_)) = slot.active {
                bail!(
                    Request,
                    "partitioned communication is under way: complete it before freeing it"
                );
            }
            if let Some(Active::Generalized(generalized)) = &mut slot.active
                && !generalized.complete
            {
                // `MPI_Grequest_complete` still needs it.
                generalized.released = true;
                *request = Request::NULL;
                return Ok(());
            }
            if let Some(place) = self.staged.iter().position(|(of, _)| of == request) {
                let (_, staging) = self.staged.swap_remove(place);
                if slot.active.is_some() {
                    // What goes on without a request still reads and writes there.
                    std::mem::forget(staging);
                }
            }
            match slot.active.take() {
                Some(Active::Exchange { send: Some(send), recv, copy: Some(copy), .. }) => {
                    // The payload is a copy in our memory: it must be out before that goes.
                    self.requests.remove(index);
                    self.engine.wait(send);
                    self.pool.give_back(copy);
                    if let Some(recv) = recv {
                        self.engine.free_when_done(recv);
                    }
                }
                other => {
                    self.requests.remove(index);
                    self.let_go(other);
                }
            }
        }
        *request = Request::NULL;
        Ok(())
    }

    fn let_go(&mut self, active: Option<Active>) {
        match active {
            Some(Active::Send(id) | Active::Recv(id, _)) => self.engine.free_when_done(id),
            Some(Active::Schedule(id, _)) => self.engine.detach_schedule(id),
            Some(Active::Generalized(generalized)) => {
                self.ask(Asked::Free, generalized.callbacks);
            }
            Some(Active::Exchange { send, recv, .. }) => {
                for id in send.into_iter().chain(recv) {
                    self.engine.free_when_done(id);
                }
            }
            _ => {}
        }
    }

    /// `MPI_Cancel`
    pub fn cancel(&mut self, request: Request) -> Result<()> {
        if self.look(request)? == Look::Inactive {
            bail!(Request, "the request is null or not started: there is nothing to cancel");
        }
        let slot = request.index().and_then(|index| self.requests.get(index));
        match slot.and_then(|slot| slot.active.as_ref()) {
            Some(Active::Send(id) | Active::Recv(id, _)) => {
                let id = *id;
                self.engine.cancel(id);
                Ok(())
            }
            Some(Active::Came(_)) => {
                self.engine.cancel_too_late();
                Ok(())
            }
            Some(Active::Schedule(..) | Active::Duplicate(_)) => {
                bail!(Request, "a collective operation cannot be cancelled")
            }
            Some(Active::PartitionedSend(_) | Active::PartitionedRecv(_)) => {
                bail!(Request, "partitioned communication cannot be cancelled")
            }
            _ => Ok(()),
        }
    }
}
