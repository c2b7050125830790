//! Going on without ranks: what the engine does when it hears that a rank has died, that a
//! communicator was revoked, or what was agreed on (`docs/internals/going-on-without-ranks.md`).
//!
//! Guarantees: every operation that can no longer end fails, and every other one goes on. The
//! memory of an operation that failed is the program's again. What had come whole from a dead rank
//! can still be received.

use super::Engine;
use super::link::Link;
use super::request::{Completion, Request, RequestKind, SendData, Source};
use super::state::State;
use super::state::channels::ChannelPhase;
use super::state::faults::{name_of, ranges_of};
use super::state::landings::Awaited;
use super::tuning::WITHDRAW_LOOKS;
use crate::comm::Members;
use crate::error::ErrorClass;
use crate::ids::ReqId;
use ftmpi_wire::control::FromRank;
use ftmpi_wire::group_news::{Agreed, AgreementName, Contribution, GroupNews, GroupRequest};
use ftmpi_wire::{Rank, Ssn};
use std::rc::Rc;

/// Whether an error says that a rank has died, or that a communicator was revoked.
pub(crate) fn is_of_faults(error: ErrorClass) -> bool {
    matches!(error, ErrorClass::ProcFailed | ErrorClass::ProcFailedPending | ErrorClass::Revoked)
}

impl<L: Link> Engine<L> {
    /// The job goes on without ranks that die. This is what the others have heard so far.
    pub fn set_goes_on(&mut self, goes_on: bool, news: Vec<GroupNews>) {
        self.state.faults.set_goes_on(goes_on);
        for piece in news {
            self.state.hear(piece);
        }
        self.work();
    }

    /// Whether the job goes on without ranks that die.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.state.faults.goes_on()
    }

    /// Whether any rank has died or anything was revoked.
    #[inline]
    #[must_use]
    pub fn alert(&self) -> bool {
        self.state.faults.alert()
    }

    /// How many news were taken.
    #[inline]
    #[must_use]
    pub fn news_heard(&self) -> u64 {
        self.state.faults.heard()
    }

    /// A communicator exists from here on.
    pub fn enter_group(&mut self, members: &Rc<Members>) {
        self.state.faults.enter(members);
        if self.state.faults.alert() {
            self.state.waves.look_closely();
        }
    }

    /// The communicator belongs to a window or a file.
    pub fn set_private(&mut self, context: u32) {
        self.state.faults.set_private(context);
    }

    /// Why nothing can be done any more in this context.
    #[must_use]
    pub fn context_error(&self, context: u32) -> Option<ErrorClass> {
        if self.alert() { self.state.faults.context_error(context) } else { None }
    }

    /// Whether the communicator was revoked.
    #[must_use]
    pub fn is_revoked(&self, context: u32) -> bool {
        self.state.faults.is_revoked(context)
    }

    /// The dead members of a communicator in the order of their deaths, and how many of them the
    /// program has acknowledged.
    #[must_use]
    pub fn dead_of(&self, members: &Members) -> (Vec<Rank>, usize) {
        let faults = &self.state.faults;
        (faults.dead_of(members), faults.acknowledged(members.context))
    }

    /// The program acknowledges so many of them: receives from any source go on.
    pub fn acknowledge(&mut self, context: u32, count: usize) {
        self.state.faults.acknowledge(context, count);
        self.state.continue_interrupted();
    }

    /// `MPIX_Comm_revoke`
    pub fn revoke(&mut self, members: &Members) {
        if self.is_revoked(members.context) {
            return;
        }
        let name = name_of(members);
        self.link.notify_agent(FromRank::Group(GroupRequest::Revoke(name)));
        self.state.hear(GroupNews::Revoked(name));
        self.work();
    }

    /// `MPI_Abort` on a communicator in a job that goes on without ranks: only its members end.
    pub fn abort_members(&mut self, members: &Members, code: i32) {
        let members = ranges_of(members);
        self.link.notify_agent(FromRank::Group(GroupRequest::Abort { members, code }));
    }

    /// How many agreements on a communicator this rank has begun.
    #[must_use]
    pub fn agreements_begun(&self, context: u32) -> u32 {
        self.state.faults.agreements_begun(context)
    }

    /// Takes part in the next agreement on a communicator.
    pub fn begin_agreement(&mut self, members: &Members, words: Vec<u64>) -> AgreementName {
        let number = self.state.faults.number_agreement(members.context);
        let name = AgreementName { group: name_of(members), number };
        let (mut acknowledged, count) = self.dead_of(members);
        acknowledged.truncate(count);
        let members = ranges_of(members);
        if let [(first, last)] = members[..]
            && first == last
        {
            let (dead, all_acknowledged) = (Vec::new(), true);
            self.state.faults.agreed(Agreed { name, words, dead, all_acknowledged });
            return name;
        }
        let part = Contribution { name, members, words, acknowledged };
        self.link.notify_agent(FromRank::Group(GroupRequest::Contribute(part)));
        name
    }

    /// Whether the agreement has ended.
    #[must_use]
    pub fn has_agreed(&self, name: &AgreementName) -> bool {
        self.state.faults.has_agreed(name)
    }

    /// How the agreement ended.
    pub fn take_agreed(&mut self, name: &AgreementName) -> Option<Agreed> {
        self.state.faults.take_agreed(name)
    }

    /// Whether the operation has failed because of a death or a revocation.
    #[must_use]
    pub fn has_failed(&self, id: ReqId) -> bool {
        let request = self.state.requests.get(id);
        request.done && request.completion.error.is_some_and(is_of_faults)
    }

    /// Takes all news.
    #[cold]
    #[inline(never)]
    pub(super) fn take_group_news(&mut self) {
        while let Some(news) = self.state.faults.next_news() {
            match news {
                GroupNews::Failed(rank) if rank != self.state.me => {
                    if self.state.faults.died(rank) {
                        self.state.bury(rank);
                        self.sweep();
                    }
                }
                GroupNews::Failed(_) => {}
                GroupNews::Revoked(name) => {
                    if self.state.faults.revoke(name) {
                        self.sweep();
                    }
                }
                GroupNews::Agreed(agreed) => self.state.faults.agreed(agreed),
            }
        }
        if self.state.faults.alert() {
            self.state.waves.look_closely();
        }
    }

    /// Everything that can no longer end fails.
    fn sweep(&mut self) {
        self.state.sweep_receives();
        for (to, context, id) in self.state.sends_under_way() {
            if let Some(error) = self.state.faults.send_error(to, context) {
                self.give_up_send(to, id, error);
            }
        }
    }

    /// A send to a living rank is given up. Its payload becomes the engine's, and leaves when it
    /// can: the receiver may be in the middle of it.
    fn give_up_send(&mut self, to: Rank, id: ReqId, error: ErrorClass) {
        let is_leaving = |state: &State| {
            let front = state.channels.peer(to).queue.front();
            front.is_some_and(|out| out.request == Some(id) && out.frame.begun)
        };
        let mut looks = 0;
        while is_leaving(&self.state) && !self.link.withdraw(to) {
            looks += 1;
            if looks > WITHDRAW_LOOKS {
                // Its receiver reads it at this moment: it ends by itself.
                return;
            }
        }
        self.state.requests.get_mut(id).completion.error = Some(error);
        let unacknowledged = self.state.rendezvous.unacknowledged_of(id);
        self.state.take_over(id);
        if let Some((to, ssn)) = unacknowledged {
            self.state.acknowledged(to, ssn);
        }
    }

    /// A send after the first piece of news, as [`Engine::isend`].
    #[cold]
    #[inline(never)]
    pub(super) fn isend_after_news(
        &mut self,
        (ssn, flags): (Ssn, u8),
        data: &SendData,
        to: Rank,
        context: u32,
        tag: i32,
    ) -> Option<Option<ReqId>> {
        if let Some(error) = self.state.faults.send_error(to, context) {
            return Some(Some(self.state.requests.new_failed(error)));
        }
        let SendData::Bytes { ptr, len } = *data else { return None };
        let peer = self.state.channels.peer(to);
        let free = flags == 0
            && peer.phase.is_ready()
            && peer.queue.is_empty()
            && len <= self.link.eager_limit(to)
            && !peer.logged
            && self.state.waves.are_quiet()
            && !self.state.hooks.sends
            && !self.state.hooks.piggyback;
        free.then(|| self.send_at_once(ssn, ptr, len, to, context, tag))
    }

    /// Ends a request that is complete, also one that is only interrupted.
    pub fn finish_for_good(&mut self, id: ReqId) -> Completion {
        if let RequestKind::Recv { posted: Some(node), .. } = self.state.requests.get(id).kind {
            self.state.matcher.unpost(node);
        }
        let mut done = self.state.requests.remove(id).completion;
        if done.error == Some(ErrorClass::ProcFailedPending) {
            done.error = Some(ErrorClass::ProcFailed);
        }
        done
    }
}

impl State {
    /// Something came that `Engine::work` is to take.
    pub(super) fn hear(&mut self, news: GroupNews) {
        self.faults.tell(news);
        // A request for a channel to this rank itself is no request, but it is work.
        self.channels.wake(self.me);
    }

    /// The request fails.
    pub(super) fn fail_request(&mut self, id: ReqId, error: ErrorClass) {
        let request = self.requests.get_mut(id);
        request.completion.error = Some(error);
        if let RequestKind::Recv { posted, staging, .. } = &mut request.kind {
            (*posted, *staging) = (None, None);
        }
        self.requests.complete(id);
    }

    /// Nothing leaves for a dead rank any more, and nothing comes.
    fn bury(&mut self, rank: Rank) {
        let peer = self.channels.peer_mut(rank);
        peer.forget_under_way();
        peer.phase = ChannelPhase::Dead;
        let queue = std::mem::take(&mut peer.queue);
        let mut requests: Vec<ReqId> = queue.into_iter().filter_map(|out| out.request).collect();
        requests.extend(self.rendezvous.forget_to(rank));
        for ssn in self.rendezvous.unacknowledged_by(rank).collect::<Vec<_>>() {
            requests.extend(self.rendezvous.acknowledged(rank, ssn));
        }
        requests.sort_unstable();
        requests.dedup();
        self.channels.forget(rank);
        for awaited in self.landings.forget_from(rank) {
            match awaited {
                Awaited::By(id) => requests.push(id),
                Awaited::Waiting(message) if self.matcher.is_linked(message) => {
                    self.matcher.remove(message);
                }
                // The program has it from a matched probe: its receive fails.
                Awaited::Waiting(_) => {}
            }
        }
        for id in requests {
            self.fail_request(id, ErrorClass::ProcFailed);
        }
    }

    fn sweep_receives(&mut self) {
        for node in self.matcher.posted() {
            let posted = self.matcher.posted_at(node);
            let (id, from, context) = (posted.request, posted.source, posted.context);
            match self.faults.receive_error(from, context) {
                None => {}
                Some(ErrorClass::ProcFailedPending) => self.interrupt(id),
                Some(error) => {
                    self.matcher.unpost(node);
                    self.fail_request(id, error);
                }
            }
        }
    }

    /// The wait for a receive ends with an error, and the receive stays posted.
    pub(super) fn interrupt(&mut self, id: ReqId) {
        let request = self.requests.get_mut(id);
        if !request.detached {
            request.done = true;
            request.completion.error = Some(ErrorClass::ProcFailedPending);
        }
    }

    /// Receives whose waits may go on: the deaths were acknowledged.
    fn continue_interrupted(&mut self) {
        for node in self.matcher.posted() {
            let posted = self.matcher.posted_at(node);
            let (id, from, context) = (posted.request, posted.source, posted.context);
            if self.faults.receive_error(from, context).is_none() {
                self.requests.get_mut(id).goes_on();
            }
        }
    }

    /// Sends of the program and of the library that are not complete: receiver and context.
    fn sends_under_way(&self) -> Vec<(Rank, u32, ReqId)> {
        let mut all = self.rendezvous.requests();
        for to in self.channels.ranks() {
            let outs = self.channels.peer(to).queue.iter();
            all.extend(outs.filter_map(|out| Some((to, out.frame.header.context, out.request?))));
        }
        all.sort_unstable_by_key(|(_, _, id)| *id);
        all.dedup_by_key(|(_, _, id)| *id);
        all
    }

    /// Why a receive cannot end, if it finds no message.
    #[inline]
    pub(super) fn receive_error(&self, from: Source, context: u32) -> Option<ErrorClass> {
        if self.faults.alert() { self.faults.receive_error(from, context) } else { None }
    }

    /// Whether the payload of an announced message never comes.
    pub(super) fn never_comes(&self, from: Rank) -> bool {
        self.faults.alert() && self.faults.is_dead(from)
    }
}

impl Request {
    /// The wait for it was interrupted, and goes on.
    pub(super) fn goes_on(&mut self) {
        if self.completion.error == Some(ErrorClass::ProcFailedPending) {
            self.completion.error = None;
            self.done = false;
        }
    }
}
