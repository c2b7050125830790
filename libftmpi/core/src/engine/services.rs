//! One-sided requests of other ranks: when they may be served, and the messages they need.
//!
//! A request is served inside the library only, at moments that depend on timing. A replay must
//! serve the same requests in the same order, each in the same call of the program. The program may
//! look at the memory between its calls. So every service is an outcome with the number of the
//! call. Before something leaves the rank in a later call than the last one noted, "nothing more
//! until this call" is noted as well. Otherwise a new incarnation could serve, before it sends the
//! same message again, a request that was only made because of that message.
//!
//! Guarantees: requests and their payload are claimed without being recorded (their order is that
//! of the services). Replies have the number that the asking rank gave
//! (`ftmpi_protocols::received`), so no number depends on the time of the service.

use super::Engine;
use super::link::Link;
use super::request::{Envelope, RecvData, SendData, Source, Tag};
use super::state::State;
use crate::ids::{MessageId, ReqId};
use ftmpi_protocols::protocol::{Answer, Pin, Service};
use ftmpi_protocols::received::reply_ssn;
use ftmpi_wire::{Rank, Ssn};

/// What may be served now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing.
    Nobody,
    /// Only this request.
    Only(Rank, Ssn),
    /// Everything that is there.
    Anybody,
}

impl<L: Link> Engine<L> {
    /// Whether incarnations of this rank repeat what earlier ones did.
    #[must_use]
    pub fn replays(&self) -> bool {
        self.state.hooks.outcomes
    }

    /// Whether payloads stay with their sender, so that all changes of memory must pass through
    /// MPI.
    #[must_use]
    pub fn logs(&self) -> bool {
        self.state.hooks.log_payload
    }

    /// Whether all ranks return to a wave of images.
    #[must_use]
    pub fn has_waves(&self) -> bool {
        self.state.waves.are_counted()
    }

    /// A window was made on which others may be served at any time, or (`false`) freed.
    pub fn open_to_others(&mut self, one_more: bool) {
        self.state.services.open(one_more);
        self.update_call_end_reports();
    }

    /// Tells the link whether it reports the ends of calls from now on ([`Engine::call_ends`]).
    pub fn update_call_end_reports(&mut self) {
        let served = self.state.services.are_open() && self.state.hooks.outcomes;
        self.link.report_call_ends(served || self.link.shares());
    }

    /// A window is freed: what was served on it is repeated, and what is served on a later window
    /// belongs to a later call. (Calls are counted only while there are windows. The call that
    /// makes the next window would have this call's number. A replay would wait here for requests
    /// that are made when that window is there.)
    pub(crate) fn window_ends(&mut self) {
        self.repeat_services();
        self.state.services.call_ends();
    }

    /// A call of the program ends: a replay has served by now what was served in that call.
    #[cold]
    pub fn call_ends(&mut self) {
        self.stand_if_due();
        if self.orders_threads() {
            // Steps are counted instead.
            return;
        }
        self.repeat_services();
        self.state.services.call_ends();
    }

    /// Serves what was recorded up to this call.
    pub(crate) fn repeat_services(&mut self) {
        loop {
            match self.state.protocol.next_service() {
                Service::Recorded(call, _) if call > self.state.services.call() => return,
                Service::Recorded(_, None) => self.state.service_repeated(),
                Service::Recorded(_, Some(_)) if self.windows.is_empty() => {
                    self.diverged("it served a one-sided request and has no window now")
                }
                Service::Recorded(_, Some(_)) => self.block_in_step(),
                Service::Free | Service::Held => return,
            }
        }
    }

    /// What may be served now.
    pub(crate) fn turn(&mut self) -> Turn {
        let state = &mut self.state;
        if !state.hooks.outcomes {
            return Turn::Anybody;
        }
        if state.recovery.is_fetching() {
            return Turn::Nobody;
        }
        loop {
            return match state.protocol.next_service() {
                Service::Free => Turn::Anybody,
                Service::Held => Turn::Nobody,
                Service::Recorded(call, _) if call > state.services.call() => Turn::Nobody,
                Service::Recorded(_, Some((source, ssn))) => Turn::Only(source, ssn),
                Service::Recorded(_, None) => {
                    state.service_repeated();
                    continue;
                }
            };
        }
    }

    /// A request is being served: recorded before anything of it can leave.
    pub(crate) fn serving(&mut self, turn: Turn, source: Rank, ssn: Ssn) {
        match turn {
            Turn::Only(..) => self.state.service_repeated(),
            _ if self.state.hooks.outcomes => self.state.note_service(Some((source, ssn))),
            _ => {}
        }
    }

    /// Serves what may be served; `true` if something was.
    #[inline(never)]
    pub(crate) fn serve(&mut self) -> bool {
        if self.quiet {
            return false;
        }
        let mut windows = std::mem::take(&mut self.windows);
        let served = windows.serve(self);
        debug_assert!(self.windows.is_empty());
        self.windows = windows;
        served
    }

    /// Takes the first waiting message of a context of the library out of matching.
    pub(crate) fn claim(
        &mut self,
        context: u32,
        from: Source,
        tag: i32,
    ) -> Option<(Envelope, MessageId)> {
        let id = self.state.matcher.find(context, from, Tag::Is(tag), Pin::Free)?;
        let envelope = self.state.matcher.message(id).envelope();
        self.state.matcher.unlink(id);
        Some((envelope, id))
    }

    /// Takes the messages with this tag out of matching that came behind the `looked`-th one, if
    /// `of` knows the object of their context. What belongs to an object that is not made yet waits
    /// on.
    pub(crate) fn claim_behind(
        &mut self,
        looked: &mut u64,
        tag: i32,
        of: impl Fn(u32) -> Option<u32>,
    ) -> Vec<(u32, Envelope, MessageId)> {
        let matcher = &mut self.state.matcher;
        let behind = std::mem::replace(looked, matcher.kept());
        if behind == *looked {
            return Vec::new();
        }
        let mut claimed = Vec::new();
        for id in matcher.waiting_behind(behind) {
            let message = matcher.message(id);
            if message.tag == tag
                && let Some(object) = of(message.context)
            {
                claimed.push((object, message.envelope(), id));
                matcher.unlink(id);
            }
        }
        claimed
    }

    /// Posts a receive of the library from a named rank. It has no number: the moment may depend on
    /// timing, and the numbers of the program's receives must not.
    pub(crate) fn receive_own(
        &mut self,
        into: RecvData,
        from: Rank,
        context: u32,
        tag: i32,
    ) -> ReqId {
        self.state.post_numbered(into, Source::Rank(from), context, Tag::Is(tag), 0, Pin::Free)
    }

    /// Answers the `request`-th request of a rank.
    pub(crate) fn reply(&mut self, to: Rank, request: u64, data: Vec<u8>, context: u32, tag: i32) {
        let ssn = reply_ssn(request);
        if self.state.hooks.log_payload && self.state.channels.peer(to).log.get(ssn).is_some() {
            self.state.recovery.fail(format!(
                "rank {to} has numbered two one-sided requests {request}: its memory or the network \
                 is damaged"
            ));
            return;
        }
        if let Some(sent) = self.isend_reserved(ssn, SendData::Owned(data), to, context, tag) {
            self.free_when_done(sent);
        }
    }

    /// A request came that no correct rank sends.
    pub(crate) fn damaged(&mut self, from: Rank, what: &str) {
        let me = self.state.me;
        self.state.recovery.fail(format!(
            "rank {me}: rank {from} sent a one-sided request that cannot be ({what}): its memory or \
             the network is damaged"
        ));
    }
}

impl State {
    pub(super) fn service_repeated(&mut self) {
        self.protocol.service_repeated();
        self.commands_to_queues();
    }

    fn note_service(&mut self, message: Option<(Rank, Ssn)>) {
        let call = self.services.call();
        self.protocol.on_answer(Answer::Served(call, message));
        self.services.noted();
    }

    /// Something is about to leave, or to be final: the event that nothing more was served until
    /// now must be stable first.
    #[inline]
    pub(super) fn note_no_service(&mut self) {
        if self.services.need_note() {
            self.note_no_service_now();
        }
    }

    #[cold]
    fn note_no_service_now(&mut self) {
        let live = self.protocol.next_service() == Service::Free;
        if live && !self.recovery.is_fetching() && self.hooks.outcomes {
            self.note_service(None);
        }
    }
}
