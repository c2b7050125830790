//! What the declaration of a metric consists of.

/// Whether a metric only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, except that it begins again at 0 when its process does. Its name ends in
    /// `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// What a value is measured in. Its name says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things, or 0 and 1.
    None,
    /// Bytes: `_bytes`.
    Bytes,
    /// Seconds: `_seconds`.
    Seconds,
}

/// Where the values of a metric stand in the state of its program. Paths are JSON pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One sample: the number or truth value at this path.
    Value(&'static str),
    /// One sample: 1 if there is something at this path, otherwise 0.
    IsSet(&'static str),
    /// One sample: how many entries the list at this path has.
    Length(&'static str),
    /// One sample for each entry of a list: the number at this path of the entry, or the length of
    /// the list there.
    Each {
        /// The list.
        list: &'static str,
        /// The number in an entry.
        value: &'static str,
    },
    /// For each entry of a list one sample for each state: 1 for the state of the entry, 0 for the
    /// others. The last label is the state.
    States {
        /// The list.
        list: &'static str,
        /// The state in an entry.
        state: &'static str,
        /// All states that there are.
        all: &'static [&'static str],
    },
    /// One sample of value 1, whose labels are the texts of the state with these names.
    Info,
}

/// One metric: a family of samples that differ in their labels.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// With unit, and `_total` if it is a counter.
    pub name: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// See [`Unit`].
    pub unit: Unit,
    /// One sentence for people.
    pub help: &'static str,
    /// Names of its labels; each is a field of the entry that a sample comes from.
    pub labels: &'static [&'static str],
    /// Where its values come from.
    pub source: Source,
    /// A number of the state times this is the value.
    pub scale: f64,
}

impl Family {
    const fn new(name: &'static str, kind: Kind, help: &'static str, source: Source) -> Self {
        Self { name, kind, unit: Unit::None, help, labels: &[], source, scale: 1.0 }
    }

    pub(super) const fn counter(name: &'static str, help: &'static str, source: Source) -> Self {
        Self::new(name, Kind::Counter, help, source)
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str, source: Source) -> Self {
        Self::new(name, Kind::Gauge, help, source)
    }

    pub(super) const fn labels(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    pub(super) const fn bytes(self) -> Self {
        Self { unit: Unit::Bytes, ..self }
    }

    pub(super) const fn seconds(self) -> Self {
        Self { unit: Unit::Seconds, ..self }
    }

    /// Seconds, of a number of milliseconds.
    pub(super) const fn source_in_milliseconds(self) -> Self {
        Self { unit: Unit::Seconds, scale: 1e-3, ..self }
    }

    /// Seconds, of a number of nanoseconds.
    pub(super) const fn source_in_nanoseconds(self) -> Self {
        Self { unit: Unit::Seconds, scale: 1e-9, ..self }
    }
}

/// All metrics of one program.
#[derive(Debug)]
pub struct Catalogue {
    /// The program, as its page calls it.
    pub program: &'static str,
    /// In the order of the page.
    pub families: &'static [Family],
}
