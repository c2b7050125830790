//! Which messages are recorded for `--trace-messages`.
//!
//! Of a message both ends are recorded, or neither: sender, receiver and number give each message a
//! level, and each rank records all from some level on. A rank that sends fast raises its level.

use super::slot;
use crate::tuning::trace::{MESSAGES_LOOK, MESSAGES_MAX, MESSAGES_NS};
use crate::world::World;
use ftmpi_core::engine::Link;
use ftmpi_wire::call_trace::{Kind, Record, message};

/// One end of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageEnd {
    /// [`Kind::Sent`] or [`Kind::Received`].
    pub(crate) kind: Kind,
    pub(crate) me: u32,
    pub(crate) peer: u32,
    /// Of the peer.
    pub(crate) incarnation: u32,
    /// On its channel.
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// Bits of [`message`].
    pub(crate) bits: u16,
}

/// Which messages are recorded: those of this level or higher.
#[derive(Debug)]
pub(super) struct MessageLots {
    level: u32,
    /// Ends of messages since then, and how many of them were recorded.
    seen: u32,
    recorded: u32,
    since_ns: u64,
}

impl MessageLots {
    /// An incarnation begins.
    pub(super) const fn since(now_ns: u64) -> Self {
        Self { level: 0, seen: 0, recorded: 0, since_ns: now_ns }
    }

    /// Whether this one is recorded.
    fn draw(&mut self, end: &MessageEnd) -> bool {
        let (from, to) = match end.kind {
            Kind::Sent => (end.me, end.peer),
            _ => (end.peer, end.me),
        };
        let drawn = message::level(from, to, end.number) >= self.level;
        self.seen = self.seen.saturating_add(1);
        self.recorded += u32::from(drawn);
        drawn
    }

    /// Whether [`look`](Self::look) is due though nothing was recorded.
    fn is_time(&self) -> bool {
        self.seen.is_multiple_of(MESSAGES_LOOK)
    }

    /// Sets the level: by what came in the time that has passed, or higher in a burst.
    fn look(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.since_ns);
        if passed >= MESSAGES_NS {
            let usual = u64::from(self.seen) * MESSAGES_NS / passed;
            self.level = 0;
            while usual >> self.level > u64::from(MESSAGES_MAX) * 3 / 4 {
                self.level += 1;
            }
        } else if self.recorded >= MESSAGES_MAX {
            self.level = (self.level + 1).min(63);
            self.recorded = 0;
            return;
        } else {
            return;
        }
        (self.seen, self.recorded, self.since_ns) = (0, 0, now_ns);
    }
}

/// A message has left or come.
pub(crate) fn message_end(end: &MessageEnd) {
    if !super::is_on() {
        return;
    }
    // SAFETY: the caller is inside a call.
    let trace = unsafe { slot() };
    let drawn = trace.messages.draw(end);
    if !drawn && !trace.messages.is_time() {
        return;
    }
    let now = World::now_ns();
    trace.messages.look(now);
    if !drawn {
        return;
    }
    trace.write(Record {
        kind: end.kind,
        name: end.bits,
        weight: end.incarnation,
        calls: u32::try_from(end.bytes).unwrap_or(u32::MAX),
        begin_ns: now,
        length_ns: 0,
        peer: end.peer,
        value: end.number,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of messages in `seconds`, where one comes every so often.
    fn messages(lots: &mut MessageLots, (from, seconds): (u64, u64), every_ns: u64) -> u64 {
        let (begin, end) = (from * 1_000_000_000, (from + seconds) * 1_000_000_000);
        let mut recorded = 0;
        for (number, now) in (begin..end).step_by(every_ns as usize).enumerate() {
            let number = number as u64;
            let end = MessageEnd {
                kind: Kind::Received,
                me: 1,
                peer: 0,
                incarnation: 0,
                number,
                bytes: 8,
                bits: 0,
            };
            let drawn = lots.draw(&end);
            if drawn || lots.is_time() {
                lots.look(now);
            }
            recorded += u64::from(drawn);
        }
        recorded
    }

    #[test]
    fn few_messages_are_all_recorded_and_many_leave_room_in_the_ring() {
        let mut lots = MessageLots::since(0);
        assert_eq!(messages(&mut lots, (0, 2), 2_000_000), 1000);
        let many = messages(&mut lots, (2, 2), 1000);
        assert!((1000..2 * 16_384 / 3).contains(&many), "{many}");
        assert!(lots.level >= 7, "{}", lots.level);
        messages(&mut lots, (4, 2), 2_000_000);
        assert_eq!(lots.level, 0, "few again");
    }
}
