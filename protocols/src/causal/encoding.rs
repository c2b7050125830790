//! Determinants as they travel on messages. Small numbers take few bytes (LEB128), because every
//! message pays for every byte.
//!
//! Guarantees: hostile bytes give an error, never a panic, and never more events than bytes.

use super::store::{Event, Store};
use ftmpi_wire::{DecodeError, Determinant, EventNo, Rank, Ssn};

const WHAT: &str = "piggyback";

/// Appends a number.
#[inline]
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes numbers and events off bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// Is nothing left?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    ///
    /// # Errors
    /// Nothing is left.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, rest) = self.0.split_first().ok_or(DecodeError::new(WHAT, "it is cut off"))?;
        self.0 = rest;
        Ok(first)
    }

    /// A number.
    ///
    /// # Errors
    /// It is cut off, or larger than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::new(WHAT, "a number is too large"))
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// As [`Reader::number`].
    pub fn small(&mut self) -> Result<u32, DecodeError> {
        self.number()?.try_into().map_err(|_| DecodeError::new(WHAT, "a number is too large"))
    }

    /// One of the ranks of a job of this size.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn rank(&mut self, size: usize) -> Result<Rank, DecodeError> {
        let rank = Rank(self.small()?);
        if rank.index() < size { Ok(rank) } else { Err(DecodeError::new(WHAT, "no such rank")) }
    }

    /// The number of the last event of some; 0: of none. A number and those that are added to it
    /// stay far below the end of 64 bits.
    ///
    /// # Errors
    /// It is cut off, or 2^62 or more.
    pub fn last_event(&mut self) -> Result<EventNo, DecodeError> {
        match self.number()? {
            number if number >= 1 << 62 => Err(DecodeError::new(WHAT, "a number is too large")),
            number => Ok(EventNo(number)),
        }
    }

    /// The number of an event, which cannot be 0.
    ///
    /// # Errors
    /// As [`Reader::last_event`].
    pub fn event_number(&mut self) -> Result<EventNo, DecodeError> {
        match self.last_event()? {
            EventNo(0) => Err(DecodeError::new(WHAT, "events are counted from 1")),
            number => Ok(number),
        }
    }

    /// An event.
    ///
    /// # Errors
    /// It is cut off or of no known kind.
    pub fn event(&mut self) -> Result<Event, DecodeError> {
        let kind = self.byte()?;
        let fails = if kind & HAS_FAILS != 0 { self.small()? } else { 0 };
        let mut seen = EventNo(0);
        let determinant = match kind & KIND {
            1 => {
                let post = if kind & HAS_POST != 0 { self.number()? } else { 0 };
                let (source, ssn) = (Rank(self.small()?), Ssn(self.number()?));
                if kind & HAS_SEEN != 0 {
                    seen = self.last_event()?;
                }
                Determinant::Match { fails, post, source, ssn }
            }
            2 => Determinant::Outcome { fails, value: self.number()? },
            3 => {
                Determinant::Probed { fails, source: Rank(self.small()?), ssn: Ssn(self.number()?) }
            }
            4 => Determinant::Failed { fails },
            5 => {
                let (bits, rest) = self
                    .0
                    .split_first_chunk::<8>()
                    .ok_or(DecodeError::new(WHAT, "it is cut off"))?;
                self.0 = rest;
                Determinant::Clock { fails, bits: u64::from_le_bytes(*bits) }
            }
            6 => Determinant::Cancelled { fails, post: self.number()?.rotate_right(1) },
            8 => {
                let call = self.number()?;
                let message = if kind & HAS_POST != 0 {
                    Some((Rank(self.small()?), Ssn(self.number()?)))
                } else {
                    None
                };
                Determinant::Served { fails, call, message }
            }
            9 => {
                let (thread, step) = (self.small()?, self.number()?);
                let (digest, rest) = self
                    .0
                    .split_first_chunk::<8>()
                    .ok_or(DecodeError::new(WHAT, "it is cut off"))?;
                self.0 = rest;
                Determinant::Turn { fails, thread, step, digest: u64::from_le_bytes(*digest) }
            }
            10 => Determinant::Stayed { fails, step: self.number()? },
            _ => return Err(DecodeError::new(WHAT, "unknown kind of event")),
        };
        Ok(Event { determinant, seen })
    }
}

const KIND: u8 = 0x0F;
const HAS_FAILS: u8 = 0x10;
const HAS_POST: u8 = 0x20;
const HAS_SEEN: u8 = 0x40;

/// Appends an event; `edges`: with what the antecedence graph needs.
#[inline]
pub fn put_event(out: &mut Vec<u8>, event: &Event, edges: bool) {
    let start = out.len();
    out.push(0);
    let mut with_fails = |kind: u8, fails: u32| {
        if fails == 0 {
            return kind;
        }
        put(out, u64::from(fails));
        kind | HAS_FAILS
    };
    let kind = match event.determinant {
        Determinant::Match { fails, post, source, ssn } => {
            let mut kind = with_fails(1, fails);
            if post > 0 {
                kind |= HAS_POST;
                put(out, post);
            }
            put(out, u64::from(source.0));
            put(out, ssn.0);
            if edges && event.seen > EventNo(0) {
                kind |= HAS_SEEN;
                put(out, event.seen.0);
            }
            kind
        }
        Determinant::Outcome { fails, value } => {
            let kind = with_fails(2, fails);
            put(out, value);
            kind
        }
        Determinant::Probed { fails, source, ssn } => {
            let kind = with_fails(3, fails);
            put(out, u64::from(source.0));
            put(out, ssn.0);
            kind
        }
        Determinant::Failed { fails } => with_fails(4, fails),
        Determinant::Clock { fails, bits } => {
            let kind = with_fails(5, fails);
            out.extend_from_slice(&bits.to_le_bytes());
            kind
        }
        Determinant::Cancelled { fails, post } => {
            let kind = with_fails(6, fails);
            // The highest bit says which of two counts it is: bring it to the low end.
            put(out, post.rotate_left(1));
            kind
        }
        Determinant::Served { fails, call, message } => {
            let mut kind = with_fails(8, fails);
            put(out, call);
            if let Some((source, ssn)) = message {
                kind |= HAS_POST;
                put(out, u64::from(source.0));
                put(out, ssn.0);
            }
            kind
        }
        Determinant::Turn { fails, thread, step, digest } => {
            let kind = with_fails(9, fails);
            put(out, u64::from(thread));
            put(out, step);
            out.extend_from_slice(&digest.to_le_bytes());
            kind
        }
        Determinant::Stayed { fails, step } => {
            let kind = with_fails(10, fails);
            put(out, step);
            kind
        }
        Determinant::Witness { .. } | Determinant::Depends { .. } | Determinant::Begins { .. } => {
            unreachable!("is in logs only")
        }
    };
    out[start] = kind;
}

/// Appends what is held of a rank behind `known`: rank, first number, count, events. This is the
/// format of vcausal and Manetho: the creator is named once, not with every event. The number of
/// events.
pub fn put_run(
    out: &mut Vec<u8>,
    store: &Store,
    creator: Rank,
    known: EventNo,
    edges: bool,
) -> u64 {
    let (first, events) = store.after(creator, known);
    let count = events.len() as u64;
    if count > 0 {
        put(out, u64::from(creator.0));
        put(out, first.0);
        put(out, count);
        events.for_each(|event| put_event(out, event, edges));
    }
    count
}

/// Takes runs until nothing is left.
///
/// # Errors
/// What `take` says, or malformed bytes.
pub fn take_runs<E: From<DecodeError>>(
    reader: &mut Reader,
    size: usize,
    mut take: impl FnMut(Rank, EventNo, Event) -> Result<(), E>,
) -> Result<(), E> {
    while !reader.is_empty() {
        let creator = reader.rank(size)?;
        let first = reader.event_number()?;
        let count = reader.number()?;
        if count > reader.0.len() as u64 {
            return Err(DecodeError::new(WHAT, "fewer events than announced").into());
        }
        for k in 0..count {
            take(creator, EventNo(first.0 + k), reader.event()?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_event() -> impl Strategy<Value = Event> {
        let fails = prop_oneof![Just(0), any::<u32>()];
        let determinant = prop_oneof![
            (fails.clone(), any::<u64>(), any::<u32>(), any::<u64>()).prop_map(
                |(fails, post, s, n)| {
                    Determinant::Match { fails, post, source: Rank(s), ssn: Ssn(n) }
                }
            ),
            (fails.clone(), any::<u64>())
                .prop_map(|(fails, value)| Determinant::Outcome { fails, value }),
            (fails.clone(), any::<u32>(), any::<u64>()).prop_map(|(fails, s, n)| {
                Determinant::Probed { fails, source: Rank(s), ssn: Ssn(n) }
            }),
            fails.clone().prop_map(|fails| Determinant::Failed { fails }),
            (fails.clone(), any::<u64>())
                .prop_map(|(fails, bits)| Determinant::Clock { fails, bits }),
            (fails, any::<u64>()).prop_map(|(fails, post)| Determinant::Cancelled { fails, post }),
        ];
        (determinant, 0..1u64 << 62).prop_map(|(determinant, seen)| {
            let is_match = matches!(determinant, Determinant::Match { .. });
            Event { determinant, seen: EventNo(if is_match { seen } else { 0 }) }
        })
    }

    proptest! {
        #[test]
        fn events_survive_their_encoding(events in proptest::collection::vec(any_event(), 0..20)) {
            let mut store = Store::new(3);
            for event in &events {
                store.push(Rank(2), *event);
            }
            let mut bytes = Vec::new();
            put_run(&mut bytes, &store, Rank(2), EventNo(3), true);
            let mut found = Vec::new();
            take_runs::<DecodeError>(&mut Reader(&bytes), 3, |creator, number, event| {
                assert_eq!((creator, number.0), (Rank(2), found.len() as u64 + 4));
                found.push(event);
                Ok(())
            }).unwrap();
            prop_assert_eq!(&found[..], events.get(3..).unwrap_or_default());
        }

        #[test]
        fn hostile_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = take_runs::<DecodeError>(&mut Reader(&bytes), 4, |_, _, _| Ok(()));
        }
    }
}
