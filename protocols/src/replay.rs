//! What a restarted rank repeats: the determinants that were stable when it died.
//!
//! Matches are looked up by the number of the receive. Outcomes are consumed in program order. A
//! receive without a recorded match is held back while anything is left. In the first incarnation
//! the receive had not matched when the last recorded event happened. It must not take now what
//! another receive, or a later state of the program, is to have.

use crate::answers::{Answer, Decision, NAMED, NextTurn, Pin, Service};
use ftmpi_wire::{Determinant, Rank, Ssn};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The events that are left to repeat.
#[derive(Debug, Default)]
pub struct Replay {
    named: u64,
    matches: BTreeMap<u64, (Rank, Ssn)>,
    outcomes: VecDeque<(u32, Option<Answer>)>,
    /// Receives that will be cancelled.
    cancelled: BTreeSet<u64>,
    /// The step of the rank's threads that is under way.
    step: u64,
}

impl Replay {
    /// Sorts the log of one rank.
    #[must_use]
    pub fn new(recorded: Vec<Determinant>) -> Self {
        let mut replay = Self::default();
        for determinant in recorded {
            let (fails, answer) = match determinant {
                Determinant::Match { fails, post, source, ssn } => {
                    if post == 0 {
                        replay.named += 1;
                    } else {
                        replay.matches.insert(post, (source, ssn));
                    }
                    (fails, None)
                }
                Determinant::Outcome { fails, value } => (fails, Some(Answer::Value(value))),
                Determinant::Probed { fails, source, ssn } => {
                    (fails, Some(Answer::Probed(source, ssn)))
                }
                Determinant::Failed { fails } => (fails, None),
                Determinant::Clock { fails, bits } => (fails, Some(Answer::Clock(bits))),
                Determinant::Cancelled { fails, post } => {
                    replay.cancelled.insert(post);
                    (fails, Some(Answer::Cancelled(post)))
                }
                // About the log, and not asked of it.
                Determinant::Witness { .. }
                | Determinant::Depends { .. }
                | Determinant::Begins { .. } => continue,
                Determinant::Served { fails, call, message } => {
                    (fails, Some(Answer::Served(call, message)))
                }
                Determinant::Turn { fails, thread, step, digest } => {
                    (fails, Some(Answer::Turn(thread, step, digest)))
                }
                Determinant::Stayed { fails, step } => (fails, Some(Answer::Stayed(step))),
            };
            if fails > 0 || answer.is_some() {
                replay.outcomes.push_back((fails, answer));
            }
        }
        replay
    }

    /// Nothing is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.matches.is_empty() && self.outcomes.is_empty()
    }

    /// Nothing is left, nor any match of a named receive.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.is_over() && self.named == 0
    }

    /// What receive `post` may take.
    #[must_use]
    pub fn pin(&self, post: u64) -> Pin {
        match self.matches.get(&post) {
            Some(&(source, ssn)) => Pin::To(source, ssn),
            None if post & NAMED != 0 && !self.cancelled.contains(&post) => Pin::Free,
            None if self.is_over() => Pin::Free,
            None => Pin::Held,
        }
    }

    /// Receive `post` took its recorded message; `false` if none was recorded for it. Matches of
    /// named receives (`post` 0) are the same in every incarnation and merely counted.
    pub fn matched(&mut self, post: u64) -> bool {
        if post == 0 {
            let recorded = self.named > 0;
            self.named = self.named.saturating_sub(1);
            return recorded;
        }
        self.matches.remove(&post).is_some()
    }

    /// Which one-sided request may be served next. Their order among other outcomes is fixed;
    /// matches are looked up by the receive, so a service that follows them waits for none of them.
    #[must_use]
    pub fn next_service(&self) -> Service {
        match self.outcomes.front() {
            Some(&(0, Some(Answer::Served(call, message)))) => Service::Recorded(call, message),
            None if self.matches.is_empty() => Service::Free,
            _ => Service::Held,
        }
    }

    /// The service that [`Replay::next_service`] named was repeated.
    pub fn served(&mut self) {
        if let Some((0, Some(Answer::Served(..)))) = self.outcomes.front() {
            self.outcomes.pop_front();
            self.drop_passed();
        }
    }

    /// Which thread of the rank goes on next.
    #[must_use]
    pub fn next_turn(&self) -> NextTurn {
        match self.outcomes.front() {
            None => NextTurn::Free,
            Some(&(0, Some(Answer::Turn(thread, step, digest)))) => {
                NextTurn::Other(thread, step, digest)
            }
            Some(&(0, Some(Answer::Stayed(step)))) => NextTurn::Until(step),
            Some(_) => NextTurn::Same,
        }
    }

    /// The `step`-th step begins: of the thread that [`Replay::next_turn`] allows.
    pub fn step_begins(&mut self, step: u64) {
        self.step = step;
        if let Some(&(0, Some(Answer::Turn(_, of, _)))) = self.outcomes.front()
            && of <= step
        {
            self.outcomes.pop_front();
        }
        self.drop_passed();
    }

    /// That no other thread went on until a step that has begun says nothing any more.
    fn drop_passed(&mut self) {
        while let Some(&(0, Some(Answer::Stayed(step)))) = self.outcomes.front()
            && step <= self.step
        {
            self.outcomes.pop_front();
        }
    }

    /// The next call's answer, or `None` if no outcome is left.
    pub fn decide(&mut self) -> Option<Decision> {
        let (fails, answer) = self.outcomes.front_mut()?;
        if *fails > 0 {
            *fails -= 1;
            if *fails == 0 {
                if answer.is_none() {
                    self.outcomes.pop_front();
                }
                self.drop_passed();
            }
            return Some(Decision::Negative);
        }
        let answer = *answer;
        self.outcomes.pop_front();
        self.drop_passed();
        if let Some(Answer::Cancelled(post)) = answer {
            self.cancelled.remove(&post);
        }
        answer.map(Decision::Positive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_back_in_order_and_negatives_are_counted() {
        let mut replay = Replay::new(vec![
            Determinant::Outcome { fails: 2, value: 1 },
            Determinant::Failed { fails: 1 },
            Determinant::Match { fails: 1, post: 9, source: Rank(3), ssn: Ssn(4) },
            Determinant::Probed { fails: 0, source: Rank(1), ssn: Ssn(2) },
        ]);
        let answers: Vec<_> = std::iter::from_fn(|| replay.decide()).collect();
        assert_eq!(
            answers,
            [
                Decision::Negative,
                Decision::Negative,
                Decision::Positive(Answer::Value(1)),
                Decision::Negative,
                Decision::Negative,
                Decision::Positive(Answer::Probed(Rank(1), Ssn(2))),
            ]
        );
        assert_eq!(replay.pin(8), Pin::Held);
        assert_eq!(replay.pin(9), Pin::To(Rank(3), Ssn(4)));
        assert!(replay.matched(9) && replay.is_over());
        assert_eq!(replay.pin(8), Pin::Free);
    }

    #[test]
    fn threads_go_on_in_the_recorded_order() {
        let mut replay = Replay::new(vec![
            Determinant::Outcome { fails: 0, value: 7 },
            Determinant::Stayed { fails: 1, step: 3 },
            Determinant::Turn { fails: 0, thread: 5, step: 4, digest: 9 },
            Determinant::Stayed { fails: 0, step: 6 },
        ]);
        replay.step_begins(2);
        assert_eq!(replay.next_turn(), NextTurn::Same);
        assert_eq!(replay.decide(), Some(Decision::Positive(Answer::Value(7))));
        assert_eq!(replay.next_turn(), NextTurn::Same, "a test that fails comes first");
        assert_eq!(replay.decide(), Some(Decision::Negative));
        assert_eq!(replay.next_turn(), NextTurn::Until(3));
        replay.step_begins(3);
        assert_eq!(replay.next_turn(), NextTurn::Other(5, 4, 9));
        replay.step_begins(4);
        assert_eq!(replay.next_turn(), NextTurn::Until(6));
        replay.step_begins(5);
        assert!(!replay.is_over());
        replay.step_begins(6);
        assert!(replay.is_over());
        assert_eq!(replay.next_turn(), NextTurn::Free);
    }

    #[test]
    fn a_receive_that_was_cancelled_does_not_match_before() {
        let mut replay = Replay::new(vec![Determinant::Cancelled { fails: 0, post: NAMED | 2 }]);
        assert_eq!((replay.pin(NAMED | 1), replay.pin(NAMED | 2)), (Pin::Free, Pin::Held));
        assert_eq!(replay.decide(), Some(Decision::Positive(Answer::Cancelled(NAMED | 2))));
        assert_eq!((replay.pin(NAMED | 2), replay.is_over()), (Pin::Free, true));
    }
}
