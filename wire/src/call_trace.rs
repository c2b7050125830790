//! The ring in which a rank records its calls of MPI for `--trace`. It lies behind the status page
//! ([`crate::status`]) in the same memory, where [`word::TRACE`] asks for it. The agent reads it
//! while the rank runs and after the rank has died.
//!
//! ```text
//! records written so far | names so far | … | 256 names of 48 bytes | 16 384 records of 5 words
//! record: begin, ns | length, ns | kind, name, weight | calls, peer | value
//! ```
//!
//! Times are of `CLOCK_MONOTONIC` of the host, without the shift that a restored program sees. One
//! thread writes, one reads, and neither waits for the other. What the reader finds overwritten is
//! lost, and counted as lost.

use crate::status::{PAGE_BYTES, word};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Value of [`word::TRACE`]: calls are recorded.
pub const CALLS: u64 = 1;
/// Value of [`word::TRACE`], with [`CALLS`]: messages are recorded, too.
pub const MESSAGES: u64 = 2;

/// Names of calls that a ring has room for.
pub const NAMES_MAX: usize = 256;
/// Bytes of a name, with its zero.
pub const NAME_BYTES: usize = 48;
/// Records that a ring has room for.
pub const RECORDS: usize = 16_384;
/// The peer of a record that has none.
pub const NO_PEER: u32 = u32::MAX;

const NAME_WORDS: usize = NAME_BYTES / 8;
const RECORD_WORDS: usize = 5;
const WRITTEN: usize = 0;
const NAMED: usize = 1;
const NAMES: usize = 8;
const FIRST: usize = NAMES + NAMES_MAX * NAME_WORDS;

/// Words of a ring.
pub const WORDS: usize = FIRST + RECORDS * RECORD_WORDS;
/// Bytes of a ring: whole pages.
pub const BYTES: usize = (WORDS * 8).next_multiple_of(PAGE_BYTES);

const _: () = assert!(word::TRACE > word::FROM_CALLER + word::FROM_CALLER_WORDS - 1);

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A call of MPI.
    Call = 0,
    /// A send waited until events were stable.
    Gate = 1,
    /// An image stopped the program. The value is its number.
    Image = 2,
    /// A message has left. See [`message`].
    Sent = 3,
    /// A message has come. See [`message`].
    Received = 4,
    /// Determinants have left for the event logger: as many as `calls` says since the last record.
    /// The value is the number of the last one.
    Logged = 5,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Call, Self::Gate, Self::Image, Self::Sent, Self::Received, Self::Logged];
}

/// Records of the two ends of a message. The peer is the rank at the other end, the value the
/// message's number on its channel, `weight` the incarnation of the peer, and `calls` the bytes of
/// the payload. The name has these bits.
pub mod message {
    /// The message came after the sender's image and before the receiver's: it waits for the
    /// receiver's image.
    pub const HELD: u16 = 1;
    /// It is the marker of a wave. Its number is that of the wave.
    pub const MARKER: u16 = 2;
    /// With [`MARKER`]: the sender's image is taken.
    pub const CUT: u16 = 4;
    /// The incarnation of a peer that has none: a channel memory is at the other end.
    pub const NO_INCARNATION: u32 = u32::MAX;

    /// Where not all messages can be shown, those of the highest levels are. Both ends draw the
    /// same lot: half of all messages have level 1 or more, a quarter level 2 or more, and so on.
    #[inline]
    #[must_use]
    pub fn level(from: u32, to: u32, number: u64) -> u32 {
        // splitmix64
        let mut lot = number
            .wrapping_add(u64::from(from).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add(u64::from(to).wrapping_mul(0xc2b2_ae3d_27d4_eb4f));
        lot = (lot ^ (lot >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        lot = (lot ^ (lot >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (lot ^ (lot >> 31)).trailing_zeros()
    }
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// What.
    pub kind: Kind,
    /// Index of the name of the call.
    pub name: u16,
    /// How many calls of the same length this one stands for in sums.
    pub weight: u32,
    /// Calls since the last record, with this one.
    pub calls: u32,
    /// When it began, in nanoseconds.
    pub begin_ns: u64,
    /// How long it took.
    pub length_ns: u64,
    /// The other rank, or [`NO_PEER`].
    pub peer: u32,
    /// Bytes that the rank sent and received during a call; else see [`Kind`].
    pub value: u64,
}

impl Record {
    fn encode(&self) -> [u64; RECORD_WORDS] {
        let what = self.kind as u64 | u64::from(self.name) << 16 | u64::from(self.weight) << 32;
        let calls = u64::from(self.calls) | u64::from(self.peer) << 32;
        [self.begin_ns, self.length_ns, what, calls, self.value]
    }

    /// A program may write anywhere in its memory: what makes no sense is no record.
    fn decode([begin_ns, length_ns, what, calls, value]: [u64; RECORD_WORDS]) -> Option<Self> {
        let name = (what >> 16) as u16;
        begin_ns.checked_add(length_ns)?;
        Some(Self {
            kind: *Kind::ALL.get(what as usize & 0xffff)?,
            name: (usize::from(name) < NAMES_MAX).then_some(name)?,
            weight: (what >> 32) as u32,
            calls: calls as u32,
            begin_ns,
            length_ns,
            peer: (calls >> 32) as u32,
            value,
        })
    }
}

/// The rank's end.
#[derive(Debug)]
pub struct Writer<'a> {
    words: &'a [AtomicU64],
    written: u64,
    names: u64,
}

impl<'a> Writer<'a> {
    /// For a ring of zeros; none: the memory is too short.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        (words.len() >= WORDS).then_some(Self { words, written: 0, names: 0 })
    }

    /// Gives a name an index; none: there is no room.
    pub fn name(&mut self, name: &str) -> Option<u16> {
        let index = u16::try_from(self.names).ok().filter(|at| usize::from(*at) < NAMES_MAX)?;
        let mut text = [0u8; NAME_BYTES];
        let len = name.len().min(NAME_BYTES - 1);
        text[..len].copy_from_slice(&name.as_bytes()[..len]);
        let at = NAMES + usize::from(index) * NAME_WORDS;
        for (word, piece) in self.words[at..].iter().zip(text.chunks_exact(8)) {
            let piece = piece.try_into().expect("8 bytes");
            word.store(u64::from_ne_bytes(piece), Ordering::Relaxed);
        }
        self.names += 1;
        self.words[NAMED].store(self.names, Ordering::Release);
        Some(index)
    }

    /// Adds a record.
    pub fn write(&mut self, record: &Record) {
        let at = FIRST + (self.written as usize % RECORDS) * RECORD_WORDS;
        // Whoever sees a part of this record sees how many were written before it.
        fence(Ordering::Release);
        for (word, value) in self.words[at..].iter().zip(record.encode()) {
            word.store(value, Ordering::Relaxed);
        }
        self.written += 1;
        self.words[WRITTEN].store(self.written, Ordering::Release);
    }
}

/// The agent's end: where it has read to.
#[derive(Debug, Default)]
pub struct Reader {
    read: u64,
    lost: u64,
    names: Vec<String>,
}

impl Reader {
    /// Takes what was written since the last time. `word` reads a word of the ring in order.
    pub fn take(&mut self, word: impl Fn(usize) -> u64, mut each: impl FnMut(Record)) {
        let written = word(WRITTEN);
        if written < self.read {
            // The program has overwritten the ring.
            return;
        }
        let first = self.read.max(written.saturating_sub(RECORDS as u64));
        let mut records: Vec<Option<Record>> = (first..written)
            .map(|index| {
                let at = FIRST + (index as usize % RECORDS) * RECORD_WORDS;
                Record::decode(std::array::from_fn(|part| word(at + part)))
            })
            .collect();
        fence(Ordering::Acquire);
        // The record that is being written now takes the place of one of a round before.
        let intact = (word(WRITTEN).wrapping_add(1)).saturating_sub(RECORDS as u64).max(first);
        let overwritten = (intact - first).min(records.len() as u64);
        records.drain(..overwritten as usize);
        self.lost += first - self.read + overwritten;
        self.read = written;
        let named = (word(NAMED) as usize).min(NAMES_MAX);
        for index in self.names.len()..named {
            self.names.push(read_name(&word, index));
        }
        for record in records {
            match record.filter(|record| record.kind != Kind::Call || self.knows(record)) {
                Some(record) => each(record),
                None => self.lost += 1,
            }
        }
    }

    fn knows(&self, record: &Record) -> bool {
        usize::from(record.name) < self.names.len()
    }

    /// The names of calls, by index.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Records that were overwritten before they were read.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

fn read_name(word: &impl Fn(usize) -> u64, index: usize) -> String {
    let at = NAMES + index * NAME_WORDS;
    let text = (0..NAME_WORDS).flat_map(|part| word(at + part).to_ne_bytes());
    let text: Vec<u8> = text.take_while(|byte| *byte != 0).collect();
    let known = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    String::from_utf8(text).ok().filter(|name| known && !name.is_empty()).unwrap_or("?".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn record(begin_ns: u64) -> Record {
        Record {
            kind: Kind::Call,
            name: 0,
            weight: 7,
            calls: 9,
            begin_ns,
            length_ns: 3,
            peer: NO_PEER,
            value: 1 << 40,
        }
    }

    fn take(reader: &mut Reader, memory: &[AtomicU64]) -> Vec<Record> {
        let mut taken = Vec::new();
        let word = |index: usize| memory[index].load(Ordering::Acquire);
        reader.take(word, |record| taken.push(record));
        taken
    }

    #[test]
    fn what_is_written_is_read_once_and_in_order() {
        let memory = memory();
        let (mut writer, mut reader) = (Writer::new(&memory).unwrap(), Reader::default());
        assert_eq!(take(&mut reader, &memory), []);
        assert_eq!(writer.name("MPI_Recv"), Some(0));
        let image = Record { kind: Kind::Image, peer: 3, value: 4, ..record(5) };
        writer.write(&record(1));
        writer.write(&image);
        assert_eq!(take(&mut reader, &memory), [record(1), image]);
        assert_eq!(reader.names(), ["MPI_Recv"]);
        assert_eq!(take(&mut reader, &memory), []);
        writer.write(&record(8));
        assert_eq!(take(&mut reader, &memory), [record(8)]);
        assert_eq!(reader.lost(), 0);
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let memory = memory();
        let (mut writer, mut reader) = (Writer::new(&memory).unwrap(), Reader::default());
        writer.name("MPI_Send");
        let all = RECORDS as u64 + 100;
        (0..all).for_each(|number| writer.write(&record(number)));
        let taken = take(&mut reader, &memory);
        // The place of the next record may be half written.
        assert_eq!(taken.first().unwrap().begin_ns, 101);
        assert_eq!(taken.last().unwrap().begin_ns, all - 1);
        assert_eq!(taken.len() as u64 + reader.lost(), all);
    }

    #[test]
    fn names_have_room_for_so_many_and_are_cut_off() {
        let memory = memory();
        let (mut writer, mut reader) = (Writer::new(&memory).unwrap(), Reader::default());
        let long = "M".repeat(100);
        assert_eq!(writer.name(&long), Some(0));
        (1..NAMES_MAX).for_each(|at| assert_eq!(writer.name("MPI_Test"), Some(at as u16)));
        assert_eq!(writer.name("MPI_Wait"), None);
        take(&mut reader, &memory);
        assert_eq!((reader.names().len(), reader.names()[0].len()), (NAMES_MAX, NAME_BYTES - 1));
    }

    #[test]
    fn half_of_the_messages_of_a_level_have_a_higher_one_on_every_channel() {
        for (from, to) in [(0, 1), (1, 0), (3, 300), (4095, 4094)] {
            let mut left: Vec<u64> = (1..=64_000).collect();
            for level in 1..6 {
                let before = left.len();
                left.retain(|number| message::level(from, to, *number) >= level);
                let half = left.len() as f64 / before as f64;
                assert!((0.44..0.56).contains(&half), "{from} {to} {level} {half}");
            }
        }
        let same = (1..1000).filter(|at| message::level(0, 1, *at) == message::level(1, 0, *at));
        assert!(same.count() < 600, "channels draw their lots apart");
    }

    #[test]
    fn a_ring_of_any_words_is_no_reason_to_panic() {
        for value in [1, 77, u64::MAX, u64::MAX - 1, 0xdead_beef_0000_0000, RECORDS as u64 + 3] {
            let mut reader = Reader::default();
            reader.take(|_| value, |record| assert!(usize::from(record.name) < NAMES_MAX));
            let words = |index: usize| if index < NAMES { 5 } else { value };
            reader.take(words, |_| {});
        }
    }
}
