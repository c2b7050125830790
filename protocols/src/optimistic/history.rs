//! What every rank is known to have lost: its incarnations, and after which place of its log each
//! began.
//!
//! A new incarnation reports how far it could recover, together with the same facts of all its
//! earlier incarnations that left something in its log. One such report decides for every interval
//! of every earlier incarnation whether it is part of the rank's course or lost for ever. An
//! incarnation may report again, and only less: it turned out to be an orphan before it began.
//!
//! Guarantees: one report of a rank is enough to judge any interval of its earlier incarnations,
//! even if other reports were missed.

use crate::causal::encoding::{Reader, put};
use ftmpi_wire::{DecodeError, EventNo, Incarnation, Rank};

/// One state interval: the event that begins it, named by its incarnation and its place in the log
/// of its rank (o2p-2009 §3.3: incarnation and state interval index).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Interval {
    /// The incarnation.
    pub incarnation: Incarnation,
    /// Which place.
    pub place: EventNo,
}

/// Bits of a place where both are packed into one number.
const PLACE_BITS: u32 = 40;

impl Interval {
    /// As one number, for the clocks of the event logger; the order is the same.
    #[must_use]
    pub fn pack(self) -> EventNo {
        EventNo(u64::from(self.incarnation.0) << PLACE_BITS | self.place.0)
    }

    /// The other way.
    #[must_use]
    pub fn unpack(number: EventNo) -> Self {
        let incarnation = Incarnation((number.0 >> PLACE_BITS) as u32);
        Self { incarnation, place: EventNo(number.0 & ((1 << PLACE_BITS) - 1)) }
    }
}

/// What is known of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Of the incarnation that we take for the present one: not lost as far as we know.
    Present,
    /// Of an earlier incarnation, and recovered by all later ones.
    Recovered,
    /// Of an earlier incarnation, and lost.
    Lost,
    /// Of an incarnation that no report mentions yet.
    Unknown,
}

/// What one rank has reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incarnations {
    /// Incarnations that left something in the log, oldest first, and after which place each began.
    /// Places rise.
    begun: Vec<Interval>,
}

impl Default for Incarnations {
    fn default() -> Self {
        Self { begun: vec![Interval::default()] }
    }
}

impl Incarnations {
    /// The present incarnation.
    #[must_use]
    pub fn present(&self) -> Interval {
        *self.begun.last().expect("there is always an incarnation")
    }

    /// This incarnation begins after this place. Earlier incarnations that began behind it left
    /// nothing.
    pub fn begin(&mut self, incarnation: Incarnation, after: EventNo) {
        let lasts = |begun: &Interval| begun.incarnation < incarnation && begun.place < after;
        self.begun.retain(|begun| lasts(begun) || begun.incarnation == Incarnation(0));
        if incarnation > Incarnation(0) {
            self.begun.push(Interval { incarnation, place: after });
        }
    }

    /// What is known of this interval.
    #[must_use]
    pub fn standing(&self, interval: Interval) -> Standing {
        let present = self.present();
        if interval.incarnation == present.incarnation {
            return Standing::Present;
        }
        if interval.incarnation > present.incarnation {
            return Standing::Unknown;
        }
        let at = self.begun.partition_point(|begun| begun.incarnation <= interval.incarnation);
        let left_something = at > 0 && self.begun[at - 1].incarnation == interval.incarnation;
        // Places rise: the next incarnation is the one that began at the lowest place.
        if left_something && interval.place <= self.begun[at].place {
            Standing::Recovered
        } else {
            Standing::Lost
        }
    }

    /// Does this report replace `other`? The report of a later incarnation does, and that of the
    /// same incarnation if it began earlier after all.
    fn replaces(&self, other: &Self) -> bool {
        let (new, old) = (self.present(), other.present());
        new.incarnation > old.incarnation
            || (new.incarnation == old.incarnation && new.place < old.place)
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.begun.len() as u64);
        for begun in &self.begun {
            put(out, u64::from(begun.incarnation.0));
            put(out, begun.place.0);
        }
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let mut begun: Vec<Interval> = Vec::new();
        for _ in 0..reader.number()? {
            let incarnation = Incarnation(reader.small()?);
            let place = EventNo(reader.number()?);
            if begun
                .last()
                .is_some_and(|last| last.incarnation >= incarnation || last.place > place)
            {
                return Err(DecodeError::new("incarnations of a rank", "they are not in order"));
            }
            begun.push(Interval { incarnation, place });
        }
        if begun.first() != Some(&Interval::default()) {
            return Err(DecodeError::new("incarnations of a rank", "the first is missing"));
        }
        Ok(Self { begun })
    }
}

/// What all ranks have reported, as far as the reports have come here.
#[derive(Debug)]
pub struct Histories {
    of: Vec<Incarnations>,
    /// When each changed last, counted in changes.
    changed: Vec<u64>,
    changes: u64,
}

impl Histories {
    /// Of a job in which nobody has died.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { of: vec![Incarnations::default(); size], changed: vec![0; size], changes: 0 }
    }

    /// One rank's.
    #[must_use]
    pub fn of(&self, rank: Rank) -> &Incarnations {
        &self.of[rank.index()]
    }

    /// Changes so far: for [`Histories::put_news`].
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.changes
    }

    /// What is known of an interval.
    #[must_use]
    pub fn standing(&self, rank: Rank, interval: Interval) -> Standing {
        self.of[rank.index()].standing(interval)
    }

    /// A rank has reported this. The result is whether it is new.
    pub fn learn(&mut self, rank: Rank, incarnations: Incarnations) -> bool {
        let news = incarnations.replaces(&self.of[rank.index()]);
        if news {
            self.of[rank.index()] = incarnations;
            self.changes += 1;
            self.changed[rank.index()] = self.changes;
        }
        news
    }

    /// Appends the number of reports that follow, and the reports that came since version `told`.
    pub fn put_news(&self, told: u64, out: &mut Vec<u8>) {
        if told == self.changes {
            return out.push(0);
        }
        let news = || self.changed.iter().enumerate().filter(|&(_, &changed)| changed > told);
        put(out, news().count() as u64);
        for (index, _) in news() {
            put(out, index as u64);
            self.of[index].write(out);
        }
    }

    /// Takes what [`Histories::put_news`] wrote; `true` if anything of it is news.
    ///
    /// # Errors
    /// It is something else.
    pub fn take_news(&mut self, reader: &mut Reader) -> Result<bool, DecodeError> {
        let mut any = false;
        for _ in 0..reader.number()? {
            let rank = reader.rank(self.of.len())?;
            let incarnations = Incarnations::read(reader)?;
            any |= self.learn(rank, incarnations);
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(incarnation: u32, place: u64) -> Interval {
        Interval { incarnation: Incarnation(incarnation), place: EventNo(place) }
    }

    #[test]
    fn one_report_judges_all_earlier_incarnations() {
        let mut incarnations = Incarnations::default();
        assert_eq!(incarnations.standing(at(0, 9)), Standing::Present);
        assert_eq!(incarnations.standing(at(1, 9)), Standing::Unknown);
        incarnations.begin(Incarnation(1), EventNo(5));
        incarnations.begin(Incarnation(3), EventNo(9));
        for (interval, standing) in [
            (at(0, 5), Standing::Recovered),
            (at(0, 6), Standing::Lost),
            (at(1, 9), Standing::Recovered),
            (at(1, 10), Standing::Lost),
            (at(2, 1), Standing::Lost), // It left nothing.
            (at(3, 50), Standing::Present),
            (at(4, 1), Standing::Unknown),
        ] {
            assert_eq!(incarnations.standing(interval), standing, "{interval:?}");
        }
        // An incarnation that goes back behind the begin of others takes them with it.
        incarnations.begin(Incarnation(4), EventNo(3));
        assert_eq!(incarnations.standing(at(0, 3)), Standing::Recovered);
        assert_eq!(incarnations.standing(at(0, 4)), Standing::Lost);
        assert_eq!(incarnations.standing(at(1, 7)), Standing::Lost);
        assert_eq!(incarnations.standing(at(3, 12)), Standing::Lost);
    }

    #[test]
    fn an_incarnation_may_report_less_but_never_more() {
        let mut histories = Histories::new(2);
        let telling = |incarnation, after| {
            let mut incarnations = Incarnations::default();
            incarnations.begin(Incarnation(incarnation), EventNo(after));
            incarnations
        };
        assert!(histories.learn(Rank(1), telling(1, 7)));
        assert!(!histories.learn(Rank(1), telling(1, 8)));
        assert!(histories.learn(Rank(1), telling(1, 4)));
        assert!(histories.learn(Rank(1), telling(2, 30)));
        assert!(!histories.learn(Rank(1), telling(1, 1)));
        let (mut bytes, mut other) = (Vec::new(), Histories::new(2));
        histories.put_news(0, &mut bytes);
        assert!(other.take_news(&mut Reader(&bytes)).unwrap());
        assert_eq!(other.of(Rank(1)), histories.of(Rank(1)));
        assert!(!other.take_news(&mut Reader(&bytes)).unwrap());
        bytes.clear();
        histories.put_news(histories.version(), &mut bytes);
        assert_eq!(bytes, [0]);
    }

    proptest! {
        #[test]
        fn hostile_bytes_give_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Histories::new(3).take_news(&mut Reader(&bytes));
        }

        #[test]
        fn packing_keeps_the_order(
            a in (0u32..1 << 24, 0u64..1 << 40), b in (0u32..1 << 24, 0u64..1 << 40)
        ) {
            let (a, b) = (at(a.0, a.1), at(b.0, b.1));
            prop_assert_eq!(Interval::unpack(a.pack()), a);
            prop_assert_eq!(a.cmp(&b), a.pack().cmp(&b.pack()));
        }
    }
}
