//! Completing several requests: all, any and some of a list (MPI-3.1, 3.7.5).
//!
//! Guarantees: those of `completion`. Which requests of a list a call chose is one record of the
//! log (`waitsome_record`), and no request of a list starves.

use super::waitsome_record::Packing;
use super::{CommId, Mpi, Request, Status};
use crate::bail;
use crate::engine::{Decision, Link};
use crate::error::{ErrorClass, Result};
use crate::request::{PendingCallback, RequestState};
use std::ops::ControlFlow;

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
    /// `MPI_Waitall`
    pub fn waitall(
        &mut self,
        requests: &mut [Request],
        mut status: impl FnMut(usize, &Status),
    ) -> Result<()> {
        for &request in requests.iter() {
            self.state_of(request)?;
        }
        let broken_off = self.engine.goes_on() && self.await_all_or_failure(requests);
        let mut failed = None;
        let mut asked = Vec::new();
        let waited: Result<()> = requests.iter_mut().enumerate().try_for_each(|(i, request)| {
            if broken_off && self.is_open(*request) && !self.is_done(*request) {
                status(i, &Status { error: Some(ErrorClass::Pending), ..Status::EMPTY });
                return Ok(());
            }
            let one = self.wait_at(request, i, &mut asked)?;
            self.note_failure(&one, &mut failed);
            status(i, &one);
            Ok(())
        });
        self.callbacks.append(&mut asked);
        waited?;
        self.report(failed)
    }

    /// Waits until all requests are complete, or one has ended because of a death or a revocation:
    /// others may then never end. `true`: that happened.
    fn await_all_or_failure(&mut self, requests: &[Request]) -> bool {
        let mut heard = None;
        let mut first = 0;
        while let Some(&request) = requests.get(first) {
            let news = self.engine.alert().then(|| self.engine.news_heard());
            if news != heard {
                heard = news;
                if requests.iter().any(|request| self.has_failed(*request)) {
                    return true;
                }
            }
            if !self.is_open(request) || self.is_done(request) {
                first += 1;
            } else {
                self.block();
            }
        }
        requests.iter().any(|request| self.engine.alert() && self.has_failed(*request))
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
        self.error_text = None;
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
            open |= self.state_of(request)? == RequestState::Open;
        }
        if open {
            self.poll_once();
            match self.engine.decide_polled() {
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
        matches!(self.state_of(request), Ok(RequestState::Open))
    }

    /// Looks at the requests: the first that is complete for certain, the first open one, and how
    /// many are open.
    pub(super) fn survey(
        &self,
        requests: &[Request],
    ) -> Result<(Option<usize>, Option<usize>, usize)> {
        let (mut known, mut open, mut count) = (None, None, 0);
        for (i, &request) in requests.iter().enumerate() {
            match self.state_of(request)? {
                RequestState::Inactive => {}
                RequestState::Known => known = known.or(Some(i)),
                RequestState::Open => {
                    open = open.or(Some(i));
                    count += 1;
                }
            }
        }
        Ok((known, open, count))
    }

    /// Whether a request is complete. True for a generalized request that another thread completed
    /// while this one waited: it is not open any more.
    fn is_there(&self, request: Request) -> bool {
        !matches!(self.state_of(request), Ok(RequestState::Inactive) | Err(_))
            && self.is_done(request)
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
        asked: &mut Vec<PendingCallback>,
    ) -> Result<Status> {
        let status = self.wait_one(request)?;
        if self.has_callbacks() {
            asked.extend(
                self.callbacks.drain(..).map(|question| PendingCallback { place, ..question }),
            );
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
            // Again after every wait: an image may have been taken in it.
            match self.engine.decide_in_wait() {
                Some(Decision::Positive(i)) => break i as usize,
                Some(Decision::Live | Decision::Negative) => {
                    if let Some(i) = self.first_done(requests)
                        && self.engine.answer_step()
                    {
                        self.engine.answered(i as u64);
                        break i;
                    }
                }
                None => {}
            }
            self.block();
        };
        self.take_at(requests, i).map(Some)
    }

    /// `MPI_Testany`
    pub fn testany(&mut self, requests: &mut [Request]) -> Result<TestAny> {
        match self.test_any(requests)? {
            ControlFlow::Break(answer) => Ok(answer),
            ControlFlow::Continue(i) => {
                let (i, status) = self.take_at(requests, i)?;
                Ok(TestAny::Done(i, status))
            }
        }
    }

    /// The request that a test of any of these answers for. `Break`: the answer, if there is no
    /// such request.
    pub(super) fn test_any(&mut self, requests: &[Request]) -> Result<ControlFlow<TestAny, usize>> {
        let (known, _, count) = self.survey(requests)?;
        if let Some(i) = known {
            return Ok(ControlFlow::Continue(i));
        }
        if count == 0 {
            return Ok(ControlFlow::Break(TestAny::NoneActive));
        }
        self.poll_once();
        Ok(match self.engine.decide_polled() {
            Decision::Negative => ControlFlow::Break(TestAny::Nothing),
            Decision::Positive(i) => ControlFlow::Continue(i as usize),
            Decision::Live => match self.first_done(requests) {
                None => {
                    self.engine.answered_negative();
                    ControlFlow::Break(TestAny::Nothing)
                }
                Some(i) => {
                    self.engine.answered(i as u64);
                    ControlFlow::Continue(i)
                }
            },
        })
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
        // The requests that are complete for certain: there is nothing to wait for. But other
        // requests must not starve if a program starts these again and again.
        let mut chosen: Vec<usize> = match known {
            None => Vec::new(),
            Some(first) => {
                let is_known =
                    |&i: &usize| matches!(self.state_of(requests[i]), Ok(RequestState::Known));
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
        let (n, packing) = (requests.len(), Packing::of(requests.len()));
        // A recorded choice has a limit; one that is not recorded has none.
        let most = if self.engine.replays() { packing.most } else { n };
        if !wait {
            self.poll_once();
        }
        let chosen = loop {
            // Again after every wait: an image may have been taken in it.
            let decision =
                if wait { self.engine.decide_in_wait() } else { Some(self.engine.decide_polled()) };
            match decision {
                Some(Decision::Negative) => return Vec::new(),
                Some(Decision::Positive(packed)) => break packing.unpack(packed),
                None => {}
                Some(Decision::Live) => {
                    let begin = if most < n { packing.begin(self.turn) } else { 0 };
                    let done = (begin..n).chain(0..begin).filter(|&i| {
                        known.binary_search(&i).is_err() && self.is_there(requests[i])
                    });
                    let chosen: Vec<usize> = done.take(most).collect();
                    if !chosen.is_empty() && (!wait || self.engine.answer_step()) {
                        if self.engine.replays() {
                            self.engine.answered(packing.pack(&chosen));
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
        self.callbacks.append(&mut asked);
        waited?;
        self.report(failed)?;
        Ok(Some(chosen.len()))
    }
}
