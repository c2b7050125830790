//! How much of the ranks' output was printed.
//!
//! Guarantees: each byte of a rank's output is printed once, however often its incarnations write
//! it.

use ftmpi_wire::Rank;

/// Bytes of output and error of each rank that were handed to the printer.
#[derive(Debug)]
pub struct RankOutput(Vec<[u64; 2]>);

impl RankOutput {
    /// So much was printed by earlier launchers.
    pub fn new(printed: Vec<[u64; 2]>) -> Self {
        Self(printed)
    }

    /// The job has so many ranks now.
    pub fn ranks_added(&mut self, size: usize) {
        self.0.resize(size, [0; 2]);
    }

    /// Bytes of output and error of a rank.
    pub fn printed(&self, rank: Rank) -> [u64; 2] {
        self.0[rank.index()]
    }

    /// All streams: rank, stream, bytes.
    pub fn all(&self) -> impl Iterator<Item = (Rank, u8, u64)> {
        self.0.iter().enumerate().flat_map(|(rank, streams)| {
            let rank = Rank(rank as u32);
            streams.iter().enumerate().map(move |(stream, bytes)| (rank, stream as u8, *bytes))
        })
    }

    /// Takes text at this position, and leaves in `bytes` what was not printed before; the position
    /// of its end. `None`: there is no such stream.
    pub fn take(
        &mut self,
        rank: Rank,
        stream: u8,
        offset: u64,
        bytes: &mut Vec<u8>,
    ) -> Option<u64> {
        let printed = self.0.get_mut(rank.index())?.get_mut(stream as usize)?;
        let end = offset + bytes.len() as u64;
        let skip = printed.saturating_sub(offset).min(bytes.len() as u64);
        bytes.drain(..skip as usize);
        *printed = (*printed).max(end);
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_incarnation_wrote_is_not_printed_again() {
        let mut output = RankOutput::new(vec![[0, 0], [4, 0]]);
        let mut take = |offset, text: &[u8]| {
            let mut bytes = text.to_vec();
            let end = output.take(Rank(1), 0, offset, &mut bytes);
            (end, bytes)
        };
        assert_eq!(take(0, b"one two"), (Some(7), b"two".to_vec()));
        assert_eq!(take(0, b"one"), (Some(3), Vec::new()));
        assert_eq!(take(7, b"!"), (Some(8), b"!".to_vec()));
        assert_eq!(output.printed(Rank(1)), [8, 0]);
        assert_eq!(output.take(Rank(2), 0, 0, &mut Vec::new()), None);
        assert_eq!(output.all().nth(2), Some((Rank(1), 0, 8)));
    }
}
