//! Pessimistic sender-based message logging (MPICH-V2; mpich-v-2006 §4.2).
//!
//! Payload stays in the sender's log; determinants go to the event logger; *no message leaves
//! before every earlier determinant of its sender is stable*. Hence a rank that dies can always be
//! brought back to a state that everything it ever said agrees with, and only it restarts.
//!
//! Determinants are gathered and shipped in batches: at the latest when something wants to leave or
//! the rank waits. Not acknowledged ones are kept, so that a logger that dies loses nothing.

use crate::protocol::{Answer, Command, Decision, Hooks, Pin, Protocol, SendVerdict};
use crate::replay::Replay;
use ftmpi_wire::{Determinant, EventNo, Rank, Ssn, event_log::RECORDS_MAX};
use std::collections::VecDeque;

/// The protocol `pessimistic`.
#[derive(Debug)]
pub struct Pessimistic {
    hooks: Hooks,
    /// Made, in order; the first has number `unstable_first`. Kept until durable.
    kept: VecDeque<Determinant>,
    /// Number of the first kept event.
    kept_first: EventNo,
    /// Number of the last event that was handed to the logger's connection.
    shipped: EventNo,
    /// Last own event.
    last: EventNo,
    /// Written by the logger up to here.
    written: EventNo,
    /// Negative answers since the last outcome event.
    fails: u32,
    replay: Replay,
    was_replaying: bool,
    commands: VecDeque<Command>,
}

impl Pessimistic {
    /// `all`: every reception becomes a determinant; else only what replay needs.
    #[must_use]
    pub fn new(all: bool, clock: bool) -> Self {
        Self {
            hooks: Hooks {
                log_payload: true,
                wildcard_matches: true,
                all_matches: all,
                outcomes: true,
                clock,
                sends: true,
                arrivals: false,
                piggyback: false,
            },
            kept: VecDeque::new(),
            kept_first: EventNo(1),
            shipped: EventNo(0),
            last: EventNo(0),
            written: EventNo(0),
            fails: 0,
            replay: Replay::default(),
            was_replaying: false,
            commands: VecDeque::new(),
        }
    }

    fn record(&mut self, determinant: Determinant) {
        self.last = self.last.next();
        self.kept.push_back(determinant);
        if self.last.0 - self.shipped.0 >= RECORDS_MAX as u64 / 4 {
            self.ship();
        }
    }

    fn take_fails(&mut self) -> u32 {
        std::mem::take(&mut self.fails)
    }

    fn ship(&mut self) {
        while self.shipped < self.last {
            let from = (self.shipped.0 + 1 - self.kept_first.0) as usize;
            let records: Vec<_> = self.kept.range(from..).take(RECORDS_MAX).copied().collect();
            let first = self.shipped.next();
            self.shipped = EventNo(self.shipped.0 + records.len() as u64);
            self.commands.push_back(Command::Log { first, records });
        }
    }

    /// Negative answers that a message would reveal become an event of their own.
    fn settle_fails(&mut self) {
        if self.fails > 0 {
            let fails = self.take_fails();
            self.record(Determinant::Failed { fails });
        }
    }

    fn after_replay_step(&mut self) {
        if self.was_replaying && self.replay.is_over() {
            self.was_replaying = false;
            self.commands.push_back(Command::FreeHeld);
        }
    }
}

impl Protocol for Pessimistic {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    #[inline]
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        self.settle_fails();
        if self.written >= self.last {
            SendVerdict::Go
        } else {
            self.ship();
            SendVerdict::After(self.last)
        }
    }

    fn pin(&mut self, post: u64) -> Pin {
        self.replay.pin(post)
    }

    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        if self.replay.matched(post) {
            self.after_replay_step();
        } else {
            let fails = self.take_fails();
            self.record(Determinant::Match { fails, post, source, ssn });
        }
    }

    fn decide(&mut self) -> Decision {
        if !self.was_replaying {
            return Decision::Live;
        }
        let decision = self.replay.decide().unwrap_or(Decision::Live);
        self.after_replay_step();
        decision
    }

    fn on_negative(&mut self) {
        if self.fails == u32::MAX {
            self.settle_fails();
        }
        self.fails += 1;
    }

    fn on_answer(&mut self, answer: Answer) {
        let fails = self.take_fails();
        self.record(match answer {
            Answer::Value(value) => Determinant::Outcome { fails, value },
            Answer::Probed(source, ssn) => Determinant::Probed { fails, source, ssn },
            Answer::Clock(bits) => Determinant::Clock { fails, bits },
            Answer::Cancelled(post) => Determinant::Cancelled { fails, post },
        });
    }

    fn replaying(&self) -> bool {
        self.was_replaying
    }

    fn repeating(&self) -> bool {
        !self.replay.is_exhausted()
    }

    fn gate(&self) -> EventNo {
        self.last
    }

    fn last_event(&self) -> EventNo {
        self.last
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.written = self.written.max(EventNo(written.0.min(self.last.0)));
        while self.kept_first <= durable && self.kept_first <= self.written {
            self.kept.pop_front();
            self.kept_first = self.kept_first.next();
        }
    }

    fn stable(&self) -> EventNo {
        self.written
    }

    fn flush(&mut self) {
        if self.shipped < self.last {
            self.ship();
        }
    }

    fn settle(&mut self) {
        self.settle_fails();
        self.ship();
    }

    fn on_logger_back(&mut self) {
        self.commands.retain(|c| !matches!(c, Command::Log { .. }));
        self.shipped = EventNo(self.kept_first.0 - 1);
        self.ship();
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        let end = EventNo(last.0 + recorded.len() as u64);
        self.commands.clear();
        // What the image kept and what was recorded since is written, but perhaps not durable yet:
        // kept like this life's own.
        self.kept.truncate((last.0 + 1 - self.kept_first.0.min(last.0 + 1)) as usize);
        if self.kept.is_empty() {
            self.kept_first = last.next();
        }
        self.kept.extend(&recorded);
        (self.last, self.written, self.shipped) = (end, end, end);
        // Negative answers since the image's last outcome belong to the state of the image; those
        // that were told afterwards are counted in the recorded events from zero, because an image
        // is taken only after `settle`.
        self.fails = 0;
        self.replay = Replay::new(recorded);
        self.was_replaying = true;
        self.after_replay_step();
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        self.commands.push_back(Command::Prune { below: events.next() });
    }

    fn determinants(&self) -> u64 {
        self.last.0
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_waits_for_its_own_determinants_and_for_nothing_else() {
        let mut p = Pessimistic::new(false, true);
        assert_eq!(p.on_send(Rank(1), Ssn(1)), SendVerdict::Go);
        p.on_match(1, Rank(2), Ssn(1));
        p.on_negative();
        assert_eq!(p.on_send(Rank(1), Ssn(2)), SendVerdict::After(EventNo(2)));
        let Some(Command::Log { first: EventNo(1), records }) = p.next_command() else { panic!() };
        assert_eq!(records.len(), 2);
        p.on_stable(EventNo(1), EventNo(0));
        assert_eq!(p.on_send(Rank(1), Ssn(3)), SendVerdict::After(EventNo(2)));
        p.on_stable(EventNo(2), EventNo(0));
        assert_eq!(p.on_send(Rank(1), Ssn(4)), SendVerdict::Go);
    }

    #[test]
    fn what_is_not_durable_is_shipped_again_to_a_logger_that_came_back() {
        let mut p = Pessimistic::new(false, true);
        for post in 1..=3 {
            p.on_match(post, Rank(0), Ssn(post));
        }
        p.flush();
        while p.next_command().is_some() {}
        p.on_stable(EventNo(2), EventNo(1));
        p.on_logger_back();
        let Some(Command::Log { first, records }) = p.next_command() else { panic!() };
        assert_eq!((first, records.len()), (EventNo(2), 2));
    }

    #[test]
    fn what_an_image_kept_is_kept_until_it_is_durable() {
        let mut p = Pessimistic::new(false, true);
        for post in 1..=3 {
            p.on_match(post, Rank(0), Ssn(post));
        }
        p.on_stable(EventNo(3), EventNo(1));
        p.on_restart(EventNo(3), vec![Determinant::Outcome { fails: 0, value: 1 }]);
        p.on_logger_back();
        let Some(Command::Log { first, records }) = p.next_command() else { panic!() };
        assert_eq!((first, records.len()), (EventNo(2), 3));
        p.on_stable(EventNo(4), EventNo(4));
        p.on_logger_back();
        assert_eq!(p.next_command(), None);
    }

    #[test]
    fn replay_repeats_then_frees_what_was_held() {
        let mut p = Pessimistic::new(false, true);
        p.on_restart(
            EventNo(10),
            vec![
                Determinant::Match { fails: 0, post: 5, source: Rank(2), ssn: Ssn(7) },
                Determinant::Outcome { fails: 1, value: 3 },
            ],
        );
        assert_eq!((p.pin(4), p.pin(5)), (Pin::Held, Pin::To(Rank(2), Ssn(7))));
        assert_eq!(p.decide(), Decision::Negative);
        p.on_match(5, Rank(2), Ssn(7));
        assert_eq!(p.decide(), Decision::Positive(Answer::Value(3)));
        assert!(!p.replaying());
        assert_eq!(p.next_command(), Some(Command::FreeHeld));
        assert_eq!(p.decide(), Decision::Live);
        p.on_match(6, Rank(1), Ssn(1));
        assert_eq!(p.last_event(), EventNo(13));
    }
}
