//! Progress: looking, waiting, and carrying out what was decided.
//!
//! Guarantees (MPI-4.1, 3.5, "Progress"): a rank that waits serves everything that others wait for.
//! A look that finds nothing makes no system call. A rank that waits long sleeps until it is woken.

use super::Engine;
use super::link::Link;
use super::state::channels::ChannelPhase;
use super::tuning::{ATTEND_PATIENCE_NS, NARROW_RUN, POLLS_BEFORE_RELAX};
use super::waiting::Awaited;
use ftmpi_wire::Rank;
use ftmpi_wire::control::FromRank;

impl<L: Link> Engine<L> {
    /// One look at everything that may have come; `true` if something happened.
    pub fn progress(&mut self) -> bool {
        self.progress_from(None)
    }

    /// One look at everything except this rank's own messages. Those are taken one by one as they
    /// are asked for, and would only have to be stored.
    #[cold]
    pub(super) fn progress_without(&mut self, except: Rank) {
        self.link.poll_others(&mut self.state, Some(except));
        if self.state.has_work() {
            self.work();
        }
        self.go_on(false);
    }

    /// A look at one rank alone found something. Others must not wait for ever while that rank
    /// sends. `true`: the others were looked at.
    #[inline]
    pub(super) fn came_from(&mut self, rank: Rank) -> bool {
        self.narrow_run += 1;
        let due = self.narrow_run >= NARROW_RUN;
        if due {
            self.narrow_run = 0;
            self.progress_without(rank);
        }
        due
    }

    #[inline]
    pub(super) fn progress_from(&mut self, first: Option<Rank>) -> bool {
        let came = self.look_around(first);
        self.go_on(came)
    }

    /// Carries on what the library does by itself.
    #[inline]
    fn go_on(&mut self, mut came: bool) -> bool {
        if self.tasks.any() {
            self.advance_schedules(false);
        }
        if !self.windows.is_empty() {
            came |= self.serve();
        }
        came
    }

    /// One look that runs no function of the program (an operation in a schedule would be one).
    #[inline]
    pub(super) fn look_around(&mut self, first: Option<Rank>) -> bool {
        let came = self.link.poll(&mut self.state, first);
        if self.state.has_work() {
            self.work();
        }
        came
    }

    /// One look from outside of a call. The program may be in the middle of anything, also of
    /// `malloc`, so schedules, which may run its operations, do not go on.
    pub(super) fn look_from_outside(&mut self) {
        self.look_around(None);
        if !self.windows.is_empty() {
            self.serve();
        }
    }

    /// One step of waiting: progress, or rest if nothing came.
    #[inline]
    pub fn block(&mut self) {
        self.block_on(None, Awaited::Anything);
    }

    /// As [`Engine::block`]; `first` is looked at before the others, and `awaited` is what people
    /// are told if the wait is long.
    #[inline]
    pub(super) fn block_on(&mut self, first: Option<Rank>, awaited: Awaited) {
        let came = self.progress_from(first);
        if came && let Some(rank) = first {
            self.came_from(rank);
        }
        self.looked(came, awaited);
    }

    /// A look was made by somebody who waits.
    #[inline]
    pub(super) fn looked(&mut self, came: bool, awaited: Awaited) {
        if came {
            self.idle_polls = 0;
        } else if self.state.logs.have_late() {
            self.state.logs.log_a_piece();
            self.link.others_may_go_on();
        } else {
            // A message usually comes at once; everything else can wait a few looks.
            self.idle_polls += 1;
            if self.idle_polls > self.link.looks() {
                self.idle_polls -= self.link.looks_between();
                self.idle(awaited);
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn idle(&mut self, awaited: Awaited) {
        self.state.protocol.flush();
        self.work();
        self.take_due_image();
        self.settle_if_due();
        if self.state.channels.take_left() {
            // A full channel took what was stuck. That may be all that the program waits for, and
            // then nobody would wake this rank.
            return;
        }
        let counters = self.counters();
        self.link.publish(&counters);
        if self.state.logs.lack_ready() && self.make_log_ready() {
            return;
        }
        self.link.rest();
        if self.link.slept_in_vain() {
            self.publish_wait(awaited);
        }
    }

    /// Whether the protocol repeats a rank's course from what it logged.
    #[must_use]
    pub fn repeats(&self) -> bool {
        let hooks = &self.state.hooks;
        hooks.log_payload || hooks.wildcard_matches || hooks.all_matches || hooks.outcomes
    }

    /// At the edge of the library: looks at what cannot wait for the next call.
    pub fn attend(&mut self) {
        // The program may be between two calls, where a replay could not come to the same point.
        self.quiet = self.state.hooks.outcomes;
        self.look_from_outside();
        // A rank that recovers asks everybody, and the program may not come here again for long.
        let begin = L::now_ns();
        while self.state.protocol.is_awaited()
            && !self.state.recovery.is_fetching()
            && L::now_ns().saturating_sub(begin) < ATTEND_PATIENCE_NS
            && begin > 0
        {
            self.look_from_outside();
            self.link.rest();
        }
        self.take_image_if_possible();
        self.settle_while_due();
        self.quiet = false;
    }

    /// Sends everything that waits to leave. An incarnation that is behind an earlier one, which
    /// went on from here (a session after `MPI_Finalize`), need not wait: the earlier one did.
    pub fn drain(&mut self) {
        while (self.state.channels.are_busy() || self.state.has_work())
            && (self.state.recovery.is_fetching() || !self.state.is_behind())
        {
            self.block();
        }
    }

    /// The program neither sends nor receives any more (and everything that it sent has left): a
    /// peer that goes first is no loss.
    pub fn leave(&mut self) {
        self.state.channels.set_leaving(true);
    }

    /// The program sends and receives again.
    pub fn come_back(&mut self) {
        self.state.channels.set_leaving(false);
    }

    /// Called where the program polls: gives way after many fruitless looks.
    pub(super) fn polled(&mut self, came: bool) {
        self.idle_polls = if came { 0 } else { self.idle_polls + 1 };
        if self.idle_polls >= POLLS_BEFORE_RELAX {
            self.idle_polls = 0;
            self.state.protocol.flush();
            self.work();
            self.take_image_if_possible();
            self.settle_if_due();
            // Recorded answers come at once; after the last of them another rank may have to send.
            if !self.state.protocol.replaying() {
                self.link.relax();
            }
        }
    }

    /// Carries out what has been decided: commands of the protocol, queues, requested channels.
    #[inline(never)]
    pub(crate) fn work(&mut self) {
        loop {
            let state = &mut self.state;
            state.commands_to_queues();
            if state.recovery.take_free_held() {
                state.free_held();
            }
            self.end_if_decided();
            self.tend_channels();
            let state = &mut self.state;
            if state.snapshots.take_given_way() {
                self.link.notify_agent(FromRank::Unprotected);
            }
            if state.event_log.take_request() {
                self.link.notify_agent(FromRank::OpenEventLog);
            }
            state.hand_to_logger(&mut self.link);
            let mut busy = state.channels.take_busy();
            busy.retain(|&peer| !state.pump(&mut self.link, peer));
            state.channels.put_busy(busy);
            if state.recovery.is_report_due() && !state.is_behind() {
                state.recovery.reported();
                let replayed = state.counters.replayed;
                self.link.notify_agent(FromRank::CaughtUp { replayed });
            }
            match state.protocol.next_command() {
                Some(command) => state.carry_out(command),
                None if !state.channels.have_requests() => break,
                None => {}
            }
        }
    }

    /// Ends this incarnation, or the job, if that was decided.
    #[inline]
    fn end_if_decided(&mut self) {
        if let Some(why) = self.state.recovery.take_failure() {
            self.link.give_up(why);
        }
        if let Some(roll_back) = self.state.recovery.take_roll_back() {
            self.link.roll_back(roll_back.why, roll_back.before);
        }
    }

    /// Reports channels that are lost, rebuilds queues, and requests channels.
    #[inline]
    fn tend_channels(&mut self) {
        if self.state.faults.has_news() {
            self.take_group_news();
        }
        let state = &mut self.state;
        while let Some(peer) = state.waves.next_lost() {
            let incarnation = state.channels.peer(peer).incarnation;
            self.link.notify_agent(FromRank::ChannelLost { peer, incarnation });
        }
        while let Some(peer) = state.channels.next_rebuild() {
            let limit = self.link.eager_limit(peer);
            if state.channels.peer(peer).cluster_peer {
                state.reconcile(peer, limit);
            } else {
                state.rebuild_queue(peer, limit);
            }
        }
        while let Some(peer) = state.channels.next_request() {
            let p = state.channels.peer_mut(peer);
            if p.phase == ChannelPhase::Absent && (peer != state.me || state.hooks.memory) {
                p.phase = ChannelPhase::Asked;
                self.link.open(peer, p.incarnation);
            }
        }
    }
}
