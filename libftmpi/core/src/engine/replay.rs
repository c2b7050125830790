//! New incarnations: fetch what is recorded, repeat it, go on
//! (`docs/internals/life-of-a-failure.md`).
//!
//! Guarantees: no match is chosen before it is known which matches are recorded. A receive that a
//! recorded match names takes that message and no other. The agent learns once that replay is over.

use super::Engine;
use super::link::{Changes, Link};
use super::state::State;
use ftmpi_protocols::protocol::Pin;
use ftmpi_wire::{EventNo, ImageNo, Incarnation, event_log};

impl<L: Link> Engine<L> {
    /// An incarnation begins that is not the first, without an image: everything is repeated from
    /// the start of the program.
    pub fn replay_from_start(&mut self) {
        let Changes { gone, .. } = self.link.changes_since(self.state.channels.count());
        gone.into_iter().for_each(|rank| self.state.stranger_left(rank));
        let incarnations: Vec<_> =
            self.state.channels.iter().map(|peer| peer.incarnation).collect();
        self.replay_after(EventNo(0), &incarnations);
    }

    /// This process was restored from image `image`: forgets the channels of the old incarnation
    /// and repeats what that had done since.
    pub fn restored(&mut self, image: ImageNo, incarnations: &[Incarnation]) {
        self.link.abandon(&mut self.state);
        let Changes { joined, gone } = self.link.changes_since(self.state.channels.count());
        let state = &mut self.state;
        state.take_in(&joined);
        state.begin_from(image);
        if state.waves.are_counted() {
            state.protocol.on_return(image);
            state.waves.return_to(image);
        }
        state.event_log.forget();
        for (rank, &incarnation) in state.channels.ranks().zip(incarnations) {
            if rank != state.me || state.hooks.memory {
                if state.channels.peer(rank).cluster_peer {
                    state.return_channel(rank);
                } else {
                    state.forget_channel(rank);
                }
                let peer = state.channels.peer_mut(rank);
                peer.incarnation = incarnation;
                if peer.has_traffic() || rank == state.me {
                    state.channels.request(rank);
                }
            }
        }
        gone.into_iter().for_each(|rank| state.stranger_left(rank));
        state.counters.replayed = 0;
        if !state.hooks.outcomes {
            return self.begin_again();
        }
        let events = state.snapshots.of(image).map(|snapshot| snapshot.events);
        match events {
            Some(events) => self.replay_after(events, incarnations),
            None => self.link.give_up(format!(
                "image {image} does not contain its own description: it is damaged; restart from \
                 an older image"
            )),
        }
    }

    /// Nothing is to be replayed: the incarnation is where it was.
    fn begin_again(&mut self) {
        self.state.recovery.report_replay();
        self.link.point("replay");
        self.work();
    }

    fn replay_after(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        if !self.state.hooks.outcomes {
            return self.begin_again();
        }
        let state = &mut self.state;
        // Peers may send again before the logger answers. No choice may be made until the recorded
        // choices and the cancelled receives are known.
        state.matcher.repin(|posted| if posted.post == 0 { posted.pin } else { Pin::Held });
        state.recovery.begin_fetch(last.next());
        let begin = L::now_ns();
        state.event_log.forget_batch();
        state.protocol.on_new_incarnation(last, incarnations);
        state.commands_to_queues();
        if state.hooks.logger {
            state.event_log.queue(event_log::Frame::Fetch { from: last.next() });
            while self.state.recovery.reads_event_log() {
                self.block();
            }
        }
        let records = self.state.recovery.take_records();
        self.state.protocol.on_restart(last, records);
        self.work();
        while self.state.protocol.gathering() {
            self.block();
        }
        let state = &mut self.state;
        state.steps.begin_again();
        state.protocol.on_step(state.steps.count());
        let early = state.recovery.end_fetch();
        state.counters.replayed = state.protocol.recorded();
        state.counters.recovery_ns = L::now_ns().saturating_sub(begin);
        for (post, source, ssn) in early {
            state.protocol.on_match(post, source, ssn);
        }
        state.recovery.report_replay();
        state.commands_to_queues();
        state.free_held();
        self.link.point("replay");
        self.work();
    }

    /// Whether everything that was answered so far is stable, and nothing recorded is left to
    /// repeat.
    pub(super) fn is_settled(&mut self) -> bool {
        if self.is_repeating() {
            return false;
        }
        // An image is in the middle of the steps: an incarnation from an older one must come there,
        // too.
        self.state.note_all_steps();
        self.state.protocol.settle();
        self.work();
        let protocol = &self.state.protocol;
        protocol.stable() >= protocol.last_event()
    }

    /// Before the program's end is reported, under a protocol that might roll this incarnation
    /// back: waits until nothing can.
    pub fn conclude(&mut self) {
        while self.state.hooks.arrivals
            && !self.is_settled()
            && (self.state.recovery.is_fetching() || !self.state.is_behind())
        {
            self.block();
        }
    }
}

impl State {
    /// This incarnation begins from an image, which did not have what was spared.
    fn begin_from(&mut self, image: ImageNo) {
        self.recovery.restored(image);
        self.snapshots.begin_from(image);
        for peer in self.channels.iter_mut() {
            // The peer may live again by now, from another image.
            peer.its_newest = Default::default();
            peer.log.lose_spared(self.logs.memory_mut());
        }
    }

    /// Replay is over, or its pins are known: receives that were held back take what came
    /// meanwhile.
    pub(super) fn free_held(&mut self) {
        let protocol = &mut self.protocol;
        self.matcher.repin(|posted| match posted.post {
            0 => posted.pin,
            post => protocol.pin(post),
        });
        self.rematch();
    }
}
