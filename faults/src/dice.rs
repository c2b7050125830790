//! Numbers without order, the same for the same seed.

/// A generator of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Numbers of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers of this seed that are for one of several purposes.
    #[must_use]
    pub fn of(seed: u64, purpose: u64) -> Self {
        Self(Self(seed ^ purpose.wrapping_mul(0xA076_1D64_78BD_642F)).number())
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// From 0 to 1, without 0.
    pub fn share(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    /// An exponential number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -self.share().ln() * mean
    }

    /// One of these, of which there is one at least.
    pub fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_their_mean_and_deviation() {
        let mut dice = Dice::new(1);
        let numbers: Vec<f64> = (0..20_000).map(|_| dice.exponential(5.0)).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let squares: f64 = numbers.iter().map(|n| (n - mean).powi(2)).sum();
        let deviation = (squares / numbers.len() as f64).sqrt();
        assert!((mean - 5.0).abs() < 0.15 && (deviation - 5.0).abs() < 0.25, "{mean} {deviation}");
    }

    #[test]
    fn purposes_have_numbers_of_their_own() {
        let first = |seed, purpose| Dice::of(seed, purpose).number();
        assert_eq!(first(1, 2), first(1, 2));
        assert!(first(1, 2) != first(1, 3) && first(1, 2) != first(2, 2));
    }
}
