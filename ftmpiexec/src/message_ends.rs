//! What agents tell the launcher of messages (`--trace-messages`): each end of a message by itself.
//!
//! Guarantees: where not all can be told, both ends of a message are left out together, because its
//! number decides (`ftmpi_wire::call_trace::message::level`).

use ftmpi_wire::call_trace::{Kind, Record, message};
use serde::{Deserialize, Serialize};

/// One end of a message, at one incarnation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    /// It came to this rank; else it left.
    pub received: bool,
    /// Bits of [`message`].
    pub bits: u16,
    /// The rank at the other end.
    pub peer: u32,
    /// The incarnation of that rank, or [`message::NO_INCARNATION`].
    pub incarnation: u32,
    /// The message's number on its channel, or that of the wave.
    pub number: u64,
    /// Bytes of the payload.
    pub bytes: u32,
    /// When.
    pub at_ns: u64,
}

impl MessageEnd {
    /// What a rank has recorded of a message, if that is what it has recorded.
    pub fn of(record: &Record) -> Option<Self> {
        let received = match record.kind {
            Kind::Sent => false,
            Kind::Received => true,
            _ => return None,
        };
        let Record { name, weight, calls, begin_ns, peer, value, .. } = *record;
        Some(Self {
            received,
            bits: name,
            peer,
            incarnation: weight,
            number: value,
            bytes: calls,
            at_ns: begin_ns,
        })
    }

    /// Sender and receiver, if `me` is the rank at this end.
    pub fn channel(&self, me: u32) -> (u32, u32) {
        if self.received { (self.peer, me) } else { (me, self.peer) }
    }

    /// Messages of high levels are left out last.
    pub fn level(&self, me: u32) -> u32 {
        let (from, to) = self.channel(me);
        message::level(from, to, self.number)
    }
}

/// The lowest level from which on no more than so many of these levels are left.
pub fn level_for(levels: impl Iterator<Item = u32>, room: usize) -> u32 {
    let mut of_level = [0usize; 65];
    let mut left = 0;
    for level in levels {
        of_level[level.min(64) as usize] += 1;
        left += 1;
    }
    let mut level = 0;
    while left > room && level < 64 {
        left -= of_level[level];
        level += 1;
    }
    level as u32
}

/// Leaves at most so many ends of rank `me`, in their order.
pub fn thin(ends: &mut Vec<MessageEnd>, me: u32, room: usize) {
    let level = level_for(ends.iter().map(|end| end.level(me)), room);
    ends.retain(|end| end.level(me) >= level);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(received: bool, peer: u32, number: u64) -> MessageEnd {
        MessageEnd { received, bits: 0, peer, incarnation: 0, number, bytes: 8, at_ns: number }
    }

    #[test]
    fn both_ends_of_a_message_are_left_out_together() {
        let mut sent: Vec<MessageEnd> = (1..=1000).map(|number| end(false, 1, number)).collect();
        let mut received: Vec<MessageEnd> = (1..=1000).map(|number| end(true, 0, number)).collect();
        thin(&mut sent, 0, 100);
        thin(&mut received, 1, 100);
        assert!((40..=100).contains(&sent.len()), "{}", sent.len());
        assert!(sent.iter().map(|end| end.number).eq(received.iter().map(|end| end.number)));
        thin(&mut received, 1, 20);
        let has = |number| sent.iter().any(|end| end.number == number);
        assert!(!received.is_empty() && received.iter().all(|end| has(end.number)));
    }

    #[test]
    fn all_are_left_where_there_is_room_and_none_where_there_is_none() {
        assert_eq!(level_for([0, 3, 7].into_iter(), 3), 0);
        assert_eq!(level_for([0, 3, 7].into_iter(), 2), 1);
        assert_eq!(level_for([64; 9].into_iter(), 2), 64);
        assert_eq!(level_for(std::iter::empty(), 0), 0);
    }
}
