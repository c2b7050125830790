//! The envelope of a message between two ranks: 24 bytes, laid out by hand. The fast path writes it
//! into one cache line of a ring together with the payload.

use crate::{DecodeError, Ssn};

/// What a frame between two ranks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message with its payload, sent without asking.
    Eager = 1,
    /// "I have a message of this envelope for you": payload is [`Rendezvous`].
    RequestToSend = 2,
    /// "Send it": carries the ssn of the request; payload is empty.
    ClearToSend = 3,
    /// The payload of a rendezvous; carries its ssn.
    Data = 4,
    /// "Your synchronous message was matched"; carries its ssn.
    SyncAck = 5,
    /// First frame on every channel, both ways: what the speaker has received.
    Resume = 6,
    /// What the speaker's oldest offered image has received: the log may be cut.
    LogCut = 7,
    /// Frames of one protocol among its ranks (markers, dependency vectors…).
    Protocol = 8,
    /// What must be known before the next frame of this channel is looked at: the determinants that
    /// a causal protocol sends along with a message.
    Piggyback = 9,
    /// From a channel memory: where the next frame stands in the order of all that was sent to the
    /// reader. `tag` is the rank that sent it, `ssn` its place, counted from 1; no payload.
    Place = 10,
    /// What the speaker's newest offered image has received: an image of the listener need not have
    /// it in its log.
    ImageHas = 11,
    /// The speaker's sender log is full, and holds messages to the listener. If no image of the
    /// listener can be taken, it answers with a [`Kind::LogCut`] of all that it has received.
    LogFull = 12,
    /// "Forget this synchronous message, if nobody has received it": the answer is
    /// [`Kind::Cancelled`] or [`Kind::SyncAck`]. With [`FLAG_HEARD`] it says that the first of
    /// these has come.
    Cancel = 13,
    /// "Your message is forgotten, and nobody has received it"; carries its ssn.
    Cancelled = 14,
}

/// Flag: the sender waits for the match (`MPI_Ssend`).
pub const FLAG_SYNC: u8 = 1;
/// Flag of a piggyback: it goes on in the next one.
pub const FLAG_MORE: u8 = 2;
/// Flag of a [`Kind::Cancel`]: the sender knows that the message is forgotten.
pub const FLAG_HEARD: u8 = 4;

/// The envelope. Source and destination are implied by the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What this frame is.
    pub kind: Kind,
    /// `FLAG_*`.
    pub flags: u8,
    /// Context of the communicator (and of the kind of traffic in it): 24 bits.
    pub context: u32,
    /// The program's tag.
    pub tag: i32,
    /// Bytes of payload that follow.
    pub len: u64,
    /// Identity of the message on the channel from its sender to its receiver.
    pub ssn: Ssn,
}

impl Header {
    /// Bytes of the encoded header.
    pub const BYTES: usize = 24;
    /// No frame carries more payload than this (2^48 - 1 bytes).
    pub const LEN_MAX: u64 = (1 << 48) - 1;
    /// The greatest context.
    pub const CONTEXT_MAX: u32 = (1 << 24) - 1;

    /// Encodes into three little-endian words: kind (4 bits), flags (4), context (24) and tag (32);
    /// length; ssn.
    #[inline]
    #[must_use]
    pub const fn to_words(&self) -> [u64; 3] {
        [
            (self.kind as u64)
                | ((self.flags & 0xf) as u64) << 4
                | ((self.context & Self::CONTEXT_MAX) as u64) << 8
                | (self.tag as u32 as u64) << 32,
            self.len,
            self.ssn.0,
        ]
    }

    /// Decodes three words.
    ///
    /// # Errors
    /// An unknown kind, or a length above [`Header::LEN_MAX`].
    #[inline]
    pub const fn from_words(words: [u64; 3]) -> Result<Self, DecodeError> {
        let kind = match words[0] as u8 & 0xf {
            1 => Kind::Eager,
            2 => Kind::RequestToSend,
            3 => Kind::ClearToSend,
            4 => Kind::Data,
            5 => Kind::SyncAck,
            6 => Kind::Resume,
            7 => Kind::LogCut,
            8 => Kind::Protocol,
            9 => Kind::Piggyback,
            10 => Kind::Place,
            11 => Kind::ImageHas,
            12 => Kind::LogFull,
            13 => Kind::Cancel,
            14 => Kind::Cancelled,
            _ => return Err(DecodeError::new("message header", "unknown kind of frame")),
        };
        if words[1] > Self::LEN_MAX {
            return Err(DecodeError::new("message header", "length above the limit"));
        }
        Ok(Self {
            kind,
            flags: (words[0] >> 4) as u8 & 0xf,
            context: (words[0] >> 8) as u32 & Self::CONTEXT_MAX,
            tag: (words[0] >> 32) as u32 as i32,
            len: words[1],
            ssn: Ssn(words[2]),
        })
    }
}

/// Payload of a [`Kind::RequestToSend`]: the length of the message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendezvous {
    /// Bytes of the payload.
    pub len: u64,
}

/// Payload of [`Kind::Resume`], [`Kind::LogCut`] and [`Kind::ImageHas`]: everything up to
/// `contiguous`, and `beyond`.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Received {
    /// All messages up to this one have been received.
    pub contiguous: Ssn,
    /// The same for replies to one-sided operations, which are counted apart.
    pub replies: Ssn,
    /// Received although an earlier one is still missing: first and last of each run; those of
    /// replies have the highest bit set.
    pub beyond: Vec<(Ssn, Ssn)>,
}

/// What a look at a channel for one exact message found.
#[derive(Debug, Clone, Copy)]
pub enum Exact {
    /// Nothing has come.
    Nothing,
    /// Something else is next, or the channel cannot tell.
    Other,
    /// The message, which is in its place now.
    Took(Header),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_survives_its_encoding(flags in 0u8..16, context in 0..=Header::CONTEXT_MAX, tag: i32, len in 0..=Header::LEN_MAX, ssn: u64, kind in 1u8..=14) {
            let words = [u64::from(kind) | u64::from(flags) << 4 | u64::from(context) << 8 | (tag as u32 as u64) << 32, len, ssn];
            prop_assert_eq!(Header::from_words(words).unwrap().to_words(), words);
        }

        #[test]
        fn any_words_decode_or_are_refused(a: u64, b: u64, c: u64) {
            let _ = Header::from_words([a, b, c]);
        }
    }
}
