//! Where a rank stands in the stream out of its channel memory.

use ftmpi_wire::{Rank, Ssn};
use std::collections::BTreeSet;

/// Position in the stream, and acknowledgements on their way to other memories.
#[derive(Debug, Default)]
pub(crate) struct MemoryStream {
    /// Place of the last record that landed whole.
    place: u64,
    /// Sender and place of the record that comes next, or is landing.
    next: Option<(Rank, u64)>,
    /// Records up to here are needed by no image.
    cut: u64,
    /// Acknowledgements of matches that their memory has not confirmed.
    unconfirmed: BTreeSet<(Rank, Ssn)>,
    /// Acknowledgements of messages that are yet to be sent again.
    early: BTreeSet<(Rank, Ssn)>,
    /// A message whose way into its memory is being measured, and since when.
    measured: Option<(Rank, Ssn, u64)>,
}

impl MemoryStream {
    /// Place of the last record that landed whole.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Records up to here are needed by no image.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// No image needs records up to this place; `true` if that is news.
    pub fn cut_to(&mut self, place: u64) -> bool {
        let is_news = place > self.cut;
        self.cut = self.cut.max(place);
        is_news
    }

    /// Who sent the record that comes next, or is landing.
    pub fn next_source(&self) -> Option<Rank> {
        self.next.map(|(source, _)| source)
    }

    /// The memory has announced the sender of the next record.
    pub fn expect(&mut self, source: Rank, place: u64) {
        self.next = Some((source, place));
    }

    /// The record has landed whole; gives its sender.
    #[inline]
    pub fn landed(&mut self) -> Option<Rank> {
        let (source, place) = self.next.take()?;
        self.place = place;
        Some(source)
    }

    /// The record did not land; gives its sender. The memory will send it again.
    pub fn broke_off(&mut self) -> Option<Rank> {
        self.next.take().map(|(source, _)| source)
    }

    /// A message to this memory is on its way: one at a time is measured.
    #[inline]
    pub fn measure_put(&mut self, to: Rank, ssn: Ssn, now_ns: fn() -> u64) {
        if self.measured.is_none() {
            self.measured = Some((to, ssn, now_ns()));
        }
    }

    /// When the message that is being measured left, if `has` says that the memory `by` has it.
    pub fn put_confirmed(&mut self, by: Rank, has: impl FnOnce(Ssn) -> bool) -> Option<u64> {
        let (to, ssn, since) = self.measured?;
        if to != by || !has(ssn) {
            return None;
        }
        self.measured = None;
        Some(since)
    }

    /// What was being measured is lost with its channel.
    pub fn forget_measure(&mut self) {
        self.measured = None;
    }

    /// An acknowledgement goes to this rank's memory: kept until the memory has confirmed it.
    pub fn keep_acknowledgement(&mut self, to: Rank, ssn: Ssn) {
        self.unconfirmed.insert((to, ssn));
    }

    /// The memory confirms that it has our acknowledgement.
    pub fn confirmed(&mut self, by: Rank, ssn: Ssn) {
        self.unconfirmed.remove(&(by, ssn));
    }

    /// The acknowledgements that this rank's memory may not have.
    pub fn unconfirmed_to(&self, to: Rank) -> Vec<Ssn> {
        let range = (to, Ssn(0))..=(to, Ssn(u64::MAX));
        self.unconfirmed.range(range).map(|entry| entry.1).collect()
    }

    /// An acknowledgement of a message that this incarnation has yet to send again.
    pub fn keep_early(&mut self, by: Rank, ssn: Ssn) {
        self.early.insert((by, ssn));
    }

    /// Whether this synchronous message was acknowledged before it was sent again.
    pub fn take_early(&mut self, to: Rank, ssn: Ssn) -> bool {
        self.early.remove(&(to, ssn))
    }
}
