//! What a rank does to the world outside of MPI, which no image holds and no replay takes back: its
//! files.
//!
//! Guarantees, under protocols that repeat a rank's course:
//!
//! * *Nothing happens outside that a failure could undo* (the output commit problem: Strom and
//!   Yemini 1985; Elnozahy et al., "A survey of rollback-recovery protocols", 2002, section 2.3).
//!   Before an effect the rank waits until every event that led to it is stable
//!   ([`Engine::commit`]). Otherwise a later incarnation could take another course, and the effect
//!   would stay.
//! * *What was done and recorded is not done again*: the answer is an outcome, and a replay gets
//!   it.
//! * *What was done and not yet recorded can be told from what was not done.* The answer of an
//!   effect becomes stable after the effect. An incarnation that dies between the two has done
//!   something that its log does not contain. For effects that may be repeated (writing the same
//!   bytes to the same place, setting a size) a repetition does no harm: nobody knows of the first
//!   time. For the others (deleting, creating what must not exist) an *intent* is made stable
//!   first. An intent is an answer with the bit [`INTENT`] and a mark by which the outside can be
//!   judged later. An incarnation whose log ends with an intent judges by the mark whether the
//!   effect took place.
//!
//! Answers of effects that may be repeated need not be stable before the next effect. If they are
//! lost, both effects are repeated in the same order (`RepeatableRun`). So a run of writes costs no
//! round trip to the logger each.
//!
//! The events that *led to* an effect are a rank's own, and under `causal` those of others. A
//! message that the program expected makes no event here, and yet brings what its sender chose.
//! Events of others that are held and not known to be stable go to the rank's own log as copies
//! first ([`Protocol::commit`]).
//!
//! [`Protocol::commit`]: ftmpi_protocols::protocol::Protocol::commit
//!
//! Without an event logger (`causal` with `--event-logger off`) nothing is ever known to be stable,
//! and nothing here waits. An event survives in the ranks that received it and in images taken
//! since. So no failure takes an effect back as long as none of the ranks die from whose choices it
//! came. One death of the rank itself can undo its own choices since its last message or image. The
//! death of it and of a neighbour at once can undo choices that the neighbour sent only to it. A
//! rank that dies between an effect and its next message repeats the effect without an intent.

use super::Engine;
use super::link::Link;
use super::outcome::Decision;
use ftmpi_wire::EventNo;

/// Set in a recorded answer that is an intent; below it is the mark.
pub const INTENT: u64 = 1 << 62;

/// The last event of protocols where it has no place in the log yet.
const UNNAMED: EventNo = EventNo(u64::MAX);

/// Something that must not be done twice.
pub trait Effect<L: Link> {
    /// A mark of what is there before, for later incarnations to judge by. Below [`INTENT`].
    fn look(&mut self, link: &mut L) -> u64;
    /// Does it; the answer.
    fn act(&mut self, link: &mut L) -> u64;
    /// Judges after an incarnation that may have done it: the answer if it was done, `None` if it
    /// is to be done.
    fn judge(&mut self, link: &mut L, mark: u64) -> Option<u64>;
}

impl<L: Link> Engine<L> {
    /// Waits until all that led here is stable. An image may be taken meanwhile, so the caller
    /// decides again afterwards ([`Engine::decide`]).
    pub fn commit(&mut self) {
        let mut asked = None;
        while self.state.hooks.outcomes && !self.is_committed(&mut asked) {
            self.block_alone();
        }
    }

    fn is_committed(&mut self, asked: &mut Option<u64>) -> bool {
        if self.state.recovery.is_fetching() {
            return false;
        }
        self.state.note_no_service();
        self.state.note_steps();
        self.settle_or_commit(asked);
        self.state.protocol.stable() >= self.needed()
    }

    /// Asks for everything to become stable on which this state depends. `asked`: in which
    /// incarnation it did so. Events of others that come afterwards, while the program stands
    /// still, are not waited for. Else ranks that send all the time would keep this rank from ever
    /// going on.
    pub(super) fn settle_or_commit(&mut self, asked: &mut Option<u64>) {
        if asked.replace(self.restores()) == Some(self.restores()) {
            self.state.protocol.settle();
        } else {
            self.state.protocol.commit();
        }
        self.work();
    }

    /// The last event that must be stable before something is done outside.
    fn needed(&self) -> EventNo {
        self.state.repeatable_run.needed(self.state.protocol.last_event())
    }

    /// [`Engine::answered`], for an effect that may be repeated.
    pub fn answered_repeatable(&mut self, value: u64) {
        if !self.state.hooks.outcomes {
            return;
        }
        let (before, needed) = (self.state.protocol.last_event(), self.needed());
        self.answered(value);
        if self.state.protocol.last_event() == UNNAMED {
            self.state.protocol.settle();
            self.work();
        }
        let last = self.state.protocol.last_event();
        // The next effect waits for the event if the event depends on others as well, or is behind
        // copies of others' events on which a later effect may depend.
        if before != UNNAMED && last == before.next() {
            self.state.repeatable_run.extend(needed, last);
        }
    }

    /// Times that this process began from an image. It separates what was done in this incarnation
    /// from what an earlier one may have done. A program does not know when it was restored.
    #[must_use]
    pub fn restores(&self) -> u64 {
        self.state.recovery.restores()
    }

    /// Does something that may be repeated, after all that led to it is stable. `None`: a replay
    /// came to where its earlier incarnation tested something.
    pub fn effect_repeatable(&mut self, mut act: impl FnMut(&mut L) -> u64) -> Option<u64> {
        let mut committed = None;
        self.step();
        loop {
            match self.decide() {
                Decision::Positive(answer) => return Some(answer),
                Decision::Negative => return None,
                Decision::Live
                    if !self.state.hooks.outcomes || committed == Some(self.restores()) =>
                {
                    let answer = act(&mut self.link);
                    self.link.point("acted");
                    self.answered_repeatable(answer);
                    return Some(answer);
                }
                Decision::Live => {
                    committed = Some(self.restores());
                    self.commit();
                }
            }
        }
    }

    /// Does something once that must not be repeated; `None` as above.
    pub fn effect_once(&mut self, effect: &mut impl Effect<L>) -> Option<u64> {
        // The mark, and the incarnation that looked if it is this one.
        let mut intent: Option<(u64, Option<u64>)> = None;
        self.step();
        loop {
            match (self.decide(), intent) {
                (Decision::Positive(answer), _) if answer & INTENT != 0 && answer >> 63 == 0 => {
                    intent = Some((answer & !INTENT, None));
                }
                (Decision::Positive(answer), _) => return Some(answer),
                (Decision::Negative, _) => return None,
                (Decision::Live, _) if !self.state.hooks.outcomes => {
                    return Some(effect.act(&mut self.link));
                }
                (Decision::Live, Some((_, looked))) if looked == Some(self.restores()) => {
                    let answer = effect.act(&mut self.link);
                    self.link.point("acted");
                    self.answered(answer);
                    return Some(answer);
                }
                (Decision::Live, Some((mark, _))) => match effect.judge(&mut self.link, mark) {
                    Some(answer) => {
                        self.answered(answer);
                        return Some(answer);
                    }
                    None => intent = None,
                },
                (Decision::Live, None) => {
                    let mark = effect.look(&mut self.link) & (INTENT - 1);
                    self.answered(INTENT | mark);
                    intent = Some((mark, Some(self.restores())));
                    self.commit();
                }
            }
        }
    }
}
