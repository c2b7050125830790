//! Progress: looking, waiting, and carrying out what was decided.
//!
//! Guarantees (MPI-4.1, 3.5, "Progress"): whoever waits serves everything that others wait for; a look that
//! finds nothing makes no system call; a rank that waits long sleeps until it is woken.

use super::{ChannelPhase, Engine, Link, Logger};
use ftmpi_wire::Rank;
use ftmpi_wire::control::FromRank;

/// After a rank alone was looked at, and had something, so many times everything else is looked at once.
const NARROW_RUN: u32 = 64;

impl<L: Link> Engine<L> {
    /// One look at everything that may have come; `true` if something happened.
    pub fn progress(&mut self) -> bool {
        self.progress_from(None)
    }

    /// One look at everything but what comes from this rank: messages that are taken one by one as they are asked
    /// for would only have to be stored.
    #[cold]
    pub(super) fn progress_beside(&mut self, except: Rank) {
        self.link.poll_others(&mut self.state, Some(except));
        if self.state.has_work() {
            self.work();
        }
        self.go_on(false);
    }

    /// A look at one rank alone found something: others must not wait for ever while it sends and sends. `true`:
    /// they were looked at.
    #[inline]
    pub(super) fn came_from(&mut self, rank: Rank) -> bool {
        self.narrow_run += 1;
        let due = self.narrow_run >= NARROW_RUN;
        if due {
            self.narrow_run = 0;
            self.progress_beside(rank);
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
            self.advance_schedules();
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

    /// One look from outside of a call: the program may be in the middle of anything, of `malloc` too, so
    /// schedules, which may run its operations, do not go on.
    pub(super) fn look_from_outside(&mut self) {
        self.look_around(None);
        if !self.windows.is_empty() {
            self.serve();
        }
    }

    /// One step of waiting: progress, or rest if nothing came.
    #[inline]
    pub fn block(&mut self) {
        self.block_on(None);
    }

    #[inline]
    pub(super) fn block_on(&mut self, first: Option<Rank>) {
        if self.progress_from(first) {
            self.idle_polls = 0;
            if let Some(rank) = first {
                self.came_from(rank);
            }
        } else if !self.state.late_log.is_empty() {
            self.state.log_a_piece();
        } else {
            // What usually comes comes at once; all the rest can wait a few looks.
            self.idle_polls += 1;
            if self.idle_polls > self.link.looks() {
                self.idle_polls -= self.link.looks_between();
                self.idle();
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn idle(&mut self) {
        self.state.protocol.flush();
        self.work();
        self.take_due_image();
        self.settle_if_due();
        if std::mem::take(&mut self.state.left) {
            // A full channel took what was stuck: that may be all that the program waits for, and then
            // nobody would wake us.
            return;
        }
        let counters = self.counters();
        self.link.publish(&counters);
        self.link.rest();
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
        // A rank that is being recovered asks everybody; the program may not come here again for
        // long.
        const PATIENCE_NS: u64 = 100_000_000;
        let begin = L::now_ns();
        while self.state.protocol.is_awaited()
            && self.state.fetch.is_none()
            && L::now_ns().saturating_sub(begin) < PATIENCE_NS
            && begin > 0
        {
            self.look_from_outside();
            self.link.rest();
        }
        self.take_image_if_possible();
        self.settle_while_due();
        self.quiet = false;
    }

    /// Sends everything that waits to leave. A life that is behind an earlier one, which went on from here
    /// (a session after `MPI_Finalize`), need not wait: the earlier one did.
    pub fn drain(&mut self) {
        while (!self.state.busy.is_empty() || self.state.has_work())
            && (self.state.fetch.is_some() || !self.state.is_behind())
        {
            self.block();
        }
    }

    /// The program neither sends nor receives any more (and everything that it sent has left): a
    /// peer that goes first is no loss.
    pub fn leave(&mut self) {
        self.state.leaving = true;
    }

    /// It does again, after all.
    pub fn come_back(&mut self) {
        self.state.leaving = false;
    }

    /// Called where the program polls: after many fruitless looks, gives way.
    pub(super) fn polled(&mut self, came: bool) {
        self.idle_polls = if came { 0 } else { self.idle_polls + 1 };
        if self.idle_polls >= 64 {
            self.idle_polls = 0;
            self.state.protocol.flush();
            self.work();
            self.take_image_if_possible();
            self.settle_if_due();
            // Recorded answers come at once; after the last of them somebody may have to send.
            if !self.state.protocol.replaying() {
                self.link.relax();
            }
        }
    }

    /// Carries out what has been decided: commands of the protocol, queues, wanted channels.
    #[inline(never)]
    pub(crate) fn work(&mut self) {
        let state = &mut self.state;
        loop {
            while let Some(command) = state.protocol.next_command() {
                state.carry_out(command);
            }
            // Not before the begin of a life is over: what matches now is to be recorded at once.
            if state.fetch.is_none() && std::mem::take(&mut state.free_held_due) {
                state.free_held();
            }
            if let Some(why) = state.failure.take() {
                self.link.give_up(why);
            }
            if let Some((why, before)) = state.orphan.take() {
                self.link.roll_back(why, before);
            }
            while let Some(peer) = state.waves.lost.pop() {
                let incarnation = state.peers[peer.index()].incarnation;
                self.link.notify_agent(FromRank::ChannelLost { peer, incarnation });
            }
            while let Some(peer) = state.rebuild.pop() {
                let limit = self.link.eager_limit(peer);
                if state.peers[peer.index()].cluster_peer {
                    state.reconcile(peer, limit);
                } else {
                    state.rebuild_queue(peer, limit);
                }
            }
            while let Some(peer) = state.wanted.pop() {
                let p = &mut state.peers[peer.index()];
                if p.phase == ChannelPhase::Absent && (peer != state.me || state.hooks.memory) {
                    p.phase = ChannelPhase::Asked;
                    self.link.open(peer, p.incarnation);
                }
            }
            if state.logger == Logger::Wanted {
                state.logger = Logger::Asked;
                self.link.notify_agent(FromRank::OpenEventLog);
            }
            state.hand_to_logger(&mut self.link);
            let mut busy = std::mem::take(&mut state.busy);
            busy.retain(|&peer| !state.pump(&mut self.link, peer));
            // What the pumping itself made busy comes behind what is still stuck.
            let fresh = std::mem::replace(&mut state.busy, busy);
            for peer in fresh {
                state.mark_busy(peer);
            }
            if !state.replay_reported && !state.is_behind() {
                state.replay_reported = true;
                let replayed = state.counters.replayed;
                self.link.notify_agent(FromRank::CaughtUp { replayed });
            }
            match state.protocol.next_command() {
                Some(command) => state.carry_out(command),
                None if state.wanted.is_empty() => break,
                None => {}
            }
        }
    }
}
