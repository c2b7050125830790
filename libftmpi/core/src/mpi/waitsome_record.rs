//! The record of the requests that `MPI_Waitsome` or `MPI_Waitany` chose (MPI-4.1, 3.7.5): one
//! number in the log.

/// How the indices that `MPI_Waitsome` returns are packed into one recorded value. One value,
/// because a record must not end between a number of indices and the indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Requests in the list.
    n: usize,
    /// Bits of an index; 0: the value is a set, with one bit for each request.
    bits: u32,
    /// Indices in one value.
    pub(super) most: usize,
}

/// The largest list whose choices are sets.
const SET: usize = u64::BITS as usize;

impl Packing {
    /// The packing for a list of `n` requests.
    pub(super) fn of(n: usize) -> Self {
        if n <= SET {
            return Self { n, bits: 0, most: n };
        }
        let bits = n.next_power_of_two().trailing_zeros().clamp(8, 60);
        Self { n, bits, most: (60 / bits) as usize }
    }

    /// Where to begin to look, after `turn` choices that filled one value. A different place each
    /// time, so that no request starves (MPI-4.1, 3.7.5). Steps of the golden section leave no
    /// gaps, also if several lists take turns. Going on behind the last index would not ensure
    /// that.
    pub(super) fn begin(self, turn: u64) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let part = u128::from(turn.wrapping_mul(GOLDEN));
        ((part * self.n as u128) >> 64) as usize
    }

    pub(super) fn pack(self, chosen: &[usize]) -> u64 {
        if self.bits == 0 {
            return chosen.iter().fold(0, |set, &index| set | 1 << index);
        }
        let places = chosen.iter().enumerate();
        places.fold(chosen.len() as u64, |value, (place, &index)| {
            value | (index as u64) << (4 + place as u32 * self.bits)
        })
    }

    pub(super) fn unpack(self, value: u64) -> Vec<usize> {
        if self.bits == 0 {
            return (0..SET).filter(|&index| value >> index & 1 != 0).collect();
        }
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
        for n in [1, 2, 63, 64, 65, 255, 256, 257, 70_000, 1 << 26] {
            let packing = Packing::of(n);
            assert!(packing.most >= 1);
            for count in 1..=packing.most {
                let mut chosen: Vec<usize> = (0..count).map(|k| n - 1 - k).collect();
                if n <= SET {
                    chosen.reverse();
                }
                assert_eq!(packing.unpack(packing.pack(&chosen)), chosen);
            }
        }
    }

    /// Every request is complete at all times, and every list is returned in parts. Counts the
    /// choices until all requests were returned.
    #[test]
    fn no_request_starves_if_lists_take_turns() {
        for n in [65, 100, 256, 1000] {
            for lists in 1..=8 {
                let packing = Packing::of(n);
                let mut returned = vec![false; n];
                let mut choices = 0;
                while returned.contains(&false) {
                    let begin = packing.begin(choices * lists);
                    (0..packing.most).for_each(|k| returned[(begin + k) % n] = true);
                    choices += 1;
                }
                let needed = n.div_ceil(packing.most) as u64;
                assert!(choices <= 8 * needed, "{choices} choices of {lists} lists of {n}");
            }
        }
    }
}
