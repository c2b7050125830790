//! Pessimistic sender-based message logging (MPICH-V2; mpich-v-2006 §3.3).
//!
//! Payload stays in the sender's log, and determinants go to the event logger. *No message leaves
//! before every earlier determinant of its sender is stable.* So a rank that dies can always return
//! to a state that agrees with everything it ever sent. Only that rank restarts.
//!
//! Determinants are gathered and sent in batches: at the latest when a message wants to leave or
//! the rank waits. Determinants that are not acknowledged are kept, so a logger that dies loses
//! nothing.

use crate::determinant_sender::DeterminantSender;
use crate::protocol::*;
use crate::recorder::Recorder;
use crate::tuning::BATCH_RECORDS;
use ftmpi_wire::{Determinant, EventNo, Rank, Ssn};
use std::collections::VecDeque;

/// The protocol `pessimistic`.
#[derive(Debug)]
pub struct Pessimistic {
    hooks: Hooks,
    recorder: Recorder,
    determinant_sender: DeterminantSender,
    commands: VecDeque<Command>,
}

impl Pessimistic {
    /// `all`: every reception becomes a determinant; else only what replay needs.
    #[must_use]
    pub fn new(all: bool, clock: bool) -> Self {
        Self::with_hooks(Hooks {
            log_payload: true,
            wildcard_matches: true,
            all_matches: all,
            outcomes: true,
            clock,
            sends: true,
            logger: true,
            ..Hooks::default()
        })
    }

    /// The same discipline over what these hooks tell.
    pub(crate) fn with_hooks(hooks: Hooks) -> Self {
        Self {
            hooks,
            recorder: Recorder::default(),
            determinant_sender: DeterminantSender::default(),
            commands: VecDeque::new(),
        }
    }

    fn send(&mut self) {
        self.determinant_sender.send(&mut self.commands);
    }
}

impl Records for Pessimistic {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn record(&mut self, determinant: Determinant) {
        self.determinant_sender.push(determinant);
        if self.determinant_sender.waiting() >= BATCH_RECORDS {
            self.send();
        }
    }

    fn order(&mut self, command: Command) {
        self.commands.push_back(command);
    }
}

impl Protocol for Pessimistic {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn counts(&self) -> Counts {
        Counts { recovered_from_logger: self.recorder.recorded(), ..Counts::default() }
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl Logging for Pessimistic {
    #[inline]
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        self.record_fails();
        let last = self.determinant_sender.last();
        if self.determinant_sender.written() >= last {
            SendVerdict::Go
        } else {
            self.send();
            SendVerdict::After(last)
        }
    }

    fn gate(&self) -> EventNo {
        self.determinant_sender.last()
    }

    fn last_event(&self) -> EventNo {
        self.determinant_sender.last()
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.determinant_sender.acknowledged(written, durable);
    }

    fn stable(&self) -> EventNo {
        self.determinant_sender.written()
    }

    fn flush(&mut self) {
        self.send();
    }

    fn settle(&mut self) {
        self.record_fails();
        self.send();
    }

    fn on_logger_back(&mut self) {
        self.determinant_sender.logger_back(&mut self.commands);
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.commands.clear();
        self.determinant_sender.restart(last, &recorded);
        self.recorder.begin(recorded);
        self.after_replay_step();
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        self.commands.push_back(Command::Prune { below: events.next() });
    }

    fn determinants(&self) -> u64 {
        self.determinant_sender.last().0
    }
}

impl Piggybacking for Pessimistic {}

impl Waves for Pessimistic {}

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
        let Some(Command::Log { first: EventNo(1), records, .. }) = p.next_command() else {
            panic!()
        };
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
        let Some(Command::Log { first, records, .. }) = p.next_command() else { panic!() };
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
        let Some(Command::Log { first, records, .. }) = p.next_command() else { panic!() };
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
        assert_eq!(p.counts().recovered_from_logger, 2);
        assert_eq!(p.decide(), Decision::Live);
        p.on_match(6, Rank(1), Ssn(1));
        assert_eq!(p.last_event(), EventNo(13));
    }
}
