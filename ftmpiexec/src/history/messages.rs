//! The messages of a job, as agents tell them (`--trace-messages`).
//!
//! Guarantees: memory is bounded ([`MESSAGE_ENDS_MAX`]); where not all can be kept, both ends of a
//! message are given up together. A message that is sent again, from a log or by a later
//! incarnation, is another message here: it has its own sender or receiver incarnation.

use crate::message_ends::{MessageEnd, level_for};
use crate::tuning::trace::{MESSAGE_ENDS_MAX, SAME_MOMENT_NS};
use ftmpi_wire::call_trace::message::{CUT, HELD, MARKER, NO_INCARNATION};
use ftmpi_wire::{Incarnation, Rank};
use serde::Serialize;
use std::collections::BTreeMap;

/// All ends that are kept.
#[derive(Debug, Default)]
pub struct Messages {
    ends: Vec<Noted>,
    /// Those of this level or higher are kept.
    level: u32,
}

/// An end, and whose it is. Its time counts from the start of the launcher.
#[derive(Debug, Clone, Copy)]
struct Noted {
    rank: Rank,
    incarnation: Incarnation,
    end: MessageEnd,
}

/// A message from one incarnation to another, or to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// On its channel; of a marker the number of its wave.
    pub number: u64,
    /// Bytes of the payload.
    pub bytes: u32,
    /// It is the marker of a wave.
    pub marker: bool,
    /// It waited for the receiver's image.
    pub held: bool,
    /// When it left, in nanoseconds since the start of the launcher.
    pub sent_ns: u64,
    /// When it came. None: it was lost with the receiver.
    pub received_ns: Option<u64>,
    /// The incarnation that sent it.
    pub incarnation: Incarnation,
}

/// How much of the messages the file shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MessagesShown {
    /// Messages with both ends.
    pub messages: u64,
    /// Messages that were lost with their receivers.
    pub lost: u64,
    /// The launcher kept one of so many; ranks that send fast record fewer.
    pub one_of: u64,
}

/// Sender, receiver, their incarnations (none with channel memories).
type Channel = (u32, u32, Option<(u32, u32)>);

/// One message on a channel: bits that tell kinds apart, number.
type Name = (u16, u64);

#[derive(Debug, Default)]
struct Ends {
    sent: Vec<Noted>,
    received: Vec<Noted>,
}

impl Noted {
    fn channel(&self) -> Channel {
        let (from, to) = self.end.channel(self.rank.0);
        let of = (self.incarnation.0, self.end.incarnation);
        let incarnations = match (self.end.incarnation, self.end.received) {
            (NO_INCARNATION, _) => None,
            (_, false) => Some(of),
            (_, true) => Some((of.1, of.0)),
        };
        (from, to, incarnations)
    }

    fn name(&self) -> Name {
        (self.end.bits & (MARKER | CUT), self.end.number)
    }

    fn level(&self) -> u32 {
        self.end.level(self.rank.0)
    }
}

impl Messages {
    /// What a rank has told; the clock of its host is behind by `ahead` nanoseconds.
    pub fn take(&mut self, rank: Rank, incarnation: Incarnation, ahead: i64, ends: &[MessageEnd]) {
        let noted = ends.iter().map(|end| {
            let at_ns = end.at_ns.saturating_add_signed(ahead);
            Noted { rank, incarnation, end: MessageEnd { at_ns, ..*end } }
        });
        let level = self.level;
        self.ends.extend(noted.filter(|noted| noted.level() >= level));
        if self.ends.len() > MESSAGE_ENDS_MAX {
            self.level = level_for(self.ends.iter().map(Noted::level), MESSAGE_ENDS_MAX / 2);
            let level = self.level;
            self.ends.retain(|noted| noted.level() >= level);
        }
    }

    /// The messages, by the time when they were sent. `latest`: the last incarnation of a rank;
    /// none: there is no such rank, and nothing is said of its messages.
    pub fn all(&self, latest: impl Fn(Rank) -> Option<Incarnation>) -> Vec<Message> {
        let mut channels: BTreeMap<Channel, BTreeMap<Name, Ends>> = BTreeMap::new();
        for noted in &self.ends {
            let ends = channels.entry(noted.channel()).or_default();
            let ends = ends.entry(noted.name()).or_default();
            if noted.end.received { &mut ends.received } else { &mut ends.sent }.push(*noted);
        }
        let mut all = Vec::new();
        for (channel, messages) in &channels {
            let (Some(_), Some(newest)) = (latest(Rank(channel.0)), latest(Rank(channel.1))) else {
                continue;
            };
            // A receiver that has gone has received all of a channel up to some message.
            let gone = channel.2.is_some_and(|(_, to_inc)| Incarnation(to_inc) < newest);
            let came = messages.iter().filter(|(_, ends)| !ends.received.is_empty());
            let last = came.filter(|((bits, _), _)| *bits == 0).map(|((_, number), _)| *number);
            let last = last.max().unwrap_or(0);
            for (name, ends) in messages {
                pair(ends, &mut all);
                if gone && ends.received.is_empty() && name.0 == 0 && name.1 > last {
                    all.extend(ends.sent.last().map(|sent| message(sent, None)));
                }
            }
        }
        all.sort_by_key(|message| message.sent_ns);
        all
    }

    /// How much these are.
    pub fn shown(&self, all: &[Message]) -> MessagesShown {
        let lost = all.iter().filter(|message| message.received_ns.is_none()).count();
        MessagesShown {
            messages: (all.len() - lost) as u64,
            lost: lost as u64,
            one_of: 1u64.checked_shl(self.level).unwrap_or(u64::MAX),
        }
    }
}

/// Each time that the message came belongs to the last time before that it was sent. A channel that
/// is made anew carries what was under way once more, and a memory gives what it has again.
fn pair(ends: &Ends, all: &mut Vec<Message>) {
    for received in &ends.received {
        let at = received.end.at_ns;
        let before = |sent: &&Noted| sent.end.at_ns <= at.saturating_add(SAME_MOMENT_NS);
        let sent = ends.sent.iter().filter(before).max_by_key(|sent| sent.end.at_ns);
        all.extend(sent.or(ends.sent.first()).map(|sent| message(sent, Some(received))));
    }
}

fn message(sent: &Noted, received: Option<&Noted>) -> Message {
    let (from, to) = sent.end.channel(sent.rank.0);
    let received_ns = received.map(|received| received.end.at_ns);
    Message {
        from: Rank(from),
        to: Rank(to),
        number: sent.end.number,
        bytes: sent.end.bytes,
        marker: sent.end.bits & MARKER != 0,
        held: received.is_some_and(|received| received.end.bits & HELD != 0),
        // Clocks of hosts differ a little, and a sender may lose its processor before it looks at
        // the clock.
        sent_ns: received_ns.map_or(sent.end.at_ns, |at| at.min(sent.end.at_ns)),
        received_ns,
        incarnation: sent.incarnation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(received: bool, peer: u32, (incarnation, number): (u32, u64), at_us: u64) -> MessageEnd {
        let at_ns = 1000 * at_us;
        MessageEnd { received, bits: 0, peer, incarnation, number, bytes: 8, at_ns }
    }

    fn times(messages: &Messages) -> Vec<(u32, u64, u64, Option<u64>)> {
        let all = messages.all(|rank| Some(Incarnation(rank.0)));
        let us = |ns: u64| ns / 1000;
        all.iter().map(|m| (m.from.0, m.number, us(m.sent_ns), m.received_ns.map(us))).collect()
    }

    #[test]
    fn ends_of_the_same_incarnations_belong_together() {
        let mut messages = Messages::default();
        let sent = [
            end(false, 1, (0, 1), 10),
            end(false, 1, (0, 2), 20),
            // Rank 1 has died: from the log, to its next incarnation.
            end(false, 1, (1, 1), 900),
            end(false, 1, (1, 2), 910),
        ];
        messages.take(Rank(0), Incarnation(0), 0, &sent);
        messages.take(Rank(1), Incarnation(0), 0, &[end(true, 0, (0, 1), 15)]);
        let again = [end(true, 0, (0, 1), 905), end(true, 0, (0, 2), 915)];
        messages.take(Rank(1), Incarnation(1), 0, &again);
        let expected = [
            (0, 1, 10, Some(15)),
            (0, 2, 20, None),
            (0, 1, 900, Some(905)),
            (0, 2, 910, Some(915)),
        ];
        assert_eq!(times(&messages), expected);
        let all = messages.all(|rank| Some(Incarnation(rank.0)));
        assert_eq!(messages.shown(&all), MessagesShown { messages: 3, lost: 1, one_of: 1 });
        // Nobody has died: what is under way at the end is not lost.
        assert_eq!(messages.all(|_| Some(Incarnation(0))).len(), 3);
        assert!(messages.all(|rank| (rank.0 == 1).then_some(Incarnation(1))).is_empty());
    }

    #[test]
    fn a_memory_gives_a_message_again_and_a_clock_may_be_behind() {
        let mut messages = Messages::default();
        let no = NO_INCARNATION;
        messages.take(Rank(0), Incarnation(0), 0, &[end(false, 1, (no, 7), 10)]);
        messages.take(Rank(1), Incarnation(0), 0, &[end(true, 0, (no, 7), 30)]);
        messages.take(Rank(1), Incarnation(1), 0, &[end(true, 0, (no, 7), 700)]);
        assert_eq!(times(&messages), [(0, 7, 10, Some(30)), (0, 7, 10, Some(700))]);
        let mut skewed = Messages::default();
        skewed.take(Rank(0), Incarnation(0), 5_000, &[end(false, 1, (1, 7), 10)]);
        skewed.take(Rank(1), Incarnation(1), 0, &[end(true, 0, (0, 7), 12)]);
        assert_eq!(times(&skewed), [(0, 7, 12, Some(12))], "it does not come before it left");
    }

    #[test]
    fn memory_is_bounded_and_whole_messages_are_given_up() {
        let mut messages = Messages::default();
        let count = MESSAGE_ENDS_MAX as u64;
        for first in (0..count).step_by(1000) {
            let ends = |received, peer| -> Vec<MessageEnd> {
                (first..first + 1000).map(|n| end(received, peer, (0, n), n)).collect()
            };
            messages.take(Rank(0), Incarnation(0), 0, &ends(false, 1));
            messages.take(Rank(1), Incarnation(0), 0, &ends(true, 0));
        }
        assert!(messages.ends.len() <= MESSAGE_ENDS_MAX);
        let all = messages.all(|_| Some(Incarnation(0)));
        assert!(all.len() > MESSAGE_ENDS_MAX / 8, "{}", all.len());
        assert_eq!(2 * all.len(), messages.ends.len(), "no end is alone");
        assert!(messages.shown(&all).one_of > 1);
    }
}
