//! Which of several requests a call chose, in one number: what a log keeps of it.

/// How the indices that `MPI_Waitsome` tells the program go into one recorded value. One, because a
/// record must not end between a number of indices and the indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// Bits of an index.
    bits: u32,
    /// Indices in one value.
    pub(super) most: usize,
}

impl Choice {
    /// For a list of `n` requests.
    pub(super) fn of(n: usize) -> Self {
        let bits = n.next_power_of_two().trailing_zeros().clamp(8, 60);
        Self { bits, most: (60 / bits) as usize }
    }

    pub(super) fn pack(self, chosen: &[usize]) -> u64 {
        let places = chosen.iter().enumerate();
        places.fold(chosen.len() as u64, |value, (place, &index)| {
            value | (index as u64) << (4 + place as u32 * self.bits)
        })
    }

    pub(super) fn unpack(self, value: u64) -> Vec<usize> {
        let count = (value & 15).min(self.most as u64) as u32;
        let mask = (1u64 << self.bits) - 1;
        (0..count).map(|place| (value >> (4 + place * self.bits) & mask) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back() {
        for n in [1, 2, 255, 256, 257, 70_000, 1 << 26] {
            let choice = Choice::of(n);
            assert!(choice.most >= 1);
            for count in 1..=choice.most {
                let chosen: Vec<usize> = (0..count).map(|k| n - 1 - k.min(n - 1)).collect();
                assert_eq!(choice.unpack(choice.pack(&chosen)), chosen);
            }
        }
    }
}
