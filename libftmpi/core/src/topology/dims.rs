//! `MPI_Dims_create`: a balanced grid for a number of processes (MPI-3.1, 7.5.2).
//!
//! "As close to each other as possible" is taken as MPICH takes it: the largest and the smallest
//! free dimension differ as little as possible. Of equally good grids the one with the larger
//! smallest dimension is taken, then the one with the larger second smallest, and so on.

use crate::bail;
use crate::error::Result;
use crate::tuning::DIMS_STEPS_MAX;

/// Fills the zero entries of `dims` so that the product is `nodes`, in non-increasing order.
pub fn dims_create(nodes: i64, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        bail!(Arg, "{nodes} nodes cannot form a grid");
    }
    let mut fixed = 1i64;
    for &dim in dims.iter() {
        if dim < 0 {
            bail!(Dims, "a dimension is {dim}, must not be negative");
        }
        if dim > 0 {
            fixed = fixed.saturating_mul(i64::from(dim));
        }
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if nodes % fixed != 0 || (free == 0 && fixed != nodes) {
        bail!(Dims, "{nodes} nodes cannot be laid out in a grid with dimensions {dims:?}");
    }
    let rest = nodes / fixed;
    if rest > i64::from(i32::MAX) {
        bail!(Dims, "{nodes} nodes are too many for a grid");
    }
    let mut factors = balanced(rest as u64, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().unwrap_or(1) as i32;
    }
    Ok(())
}

/// The largest whole number whose `power`-th power is not above `value`.
fn root(value: u64, power: usize) -> u64 {
    if power <= 1 {
        return value;
    }
    let fits = |x: u64| {
        (0..power).try_fold(1u64, |all, _| all.checked_mul(x)).is_some_and(|all| all <= value)
    };
    let mut guess = (value as f64).powf(1.0 / power as f64) as u64;
    while fits(guess + 1) {
        guess += 1;
    }
    while guess > 1 && !fits(guess) {
        guess -= 1;
    }
    guess.max(1)
}

/// The best `parts` factors of `value`, in non-increasing order.
fn balanced(value: u64, parts: usize) -> Vec<u64> {
    if parts == 0 {
        return Vec::new();
    }
    // More dimensions than prime factors only add ones.
    let useful = parts.min(64 - value.leading_zeros() as usize).max(1);
    let mut divisors: Vec<u64> = Vec::new();
    let mut small = 1;
    while small * small <= value {
        if value.is_multiple_of(small) {
            divisors.push(small);
            if small * small != value {
                divisors.push(value / small);
            }
        }
        small += 1;
    }
    divisors.sort_unstable();
    let mut search = Search { divisors, chosen: Vec::new(), best: None, steps: 0 };
    search.split(value, useful);
    let mut factors = search.best.unwrap_or_else(|| vec![value]);
    if useful < parts {
        // If a factor is one, the spread is counted from one.
        factors.resize(parts, 1);
    }
    factors
}

struct Search {
    divisors: Vec<u64>,
    chosen: Vec<u64>,
    best: Option<Vec<u64>>,
    steps: usize,
}

/// How unbalanced a non-increasing list is: spread first, then the smallest entry.
fn badness(first: u64, last: u64) -> (u64, u64) {
    (first - last, u64::MAX - last)
}

impl Search {
    /// Whether nothing that starts with `first` and ends with at most `last` is better.
    fn is_hopeless(&self, first: u64, last: u64) -> bool {
        let Some(best) = &self.best else { return false };
        first > last && badness(first, last) > badness(best[0], best[best.len() - 1])
    }

    /// Tries all ways to split `value` into `parts` more factors, none above the last one chosen.
    fn split(&mut self, value: u64, parts: usize) {
        self.steps += 1;
        if self.steps > DIMS_STEPS_MAX && self.best.is_some() {
            return;
        }
        let limit = self.chosen.last().copied().unwrap_or(u64::MAX);
        if parts == 1 {
            let first = self.chosen.first().copied().unwrap_or(value);
            let better = self.best.as_ref().is_none_or(|best| {
                let (old, new) = (badness(best[0], best[best.len() - 1]), badness(first, value));
                new < old || (new == old && self.chosen.iter().rev().gt(best.iter().rev().skip(1)))
            });
            if value <= limit && better {
                let mut found = self.chosen.clone();
                found.push(value);
                self.best = Some(found);
            }
            return;
        }
        // The next factor is at least the mean of all that are left.
        let mean = root(value, parts);
        let from = self.divisors.partition_point(|&divisor| divisor < mean);
        for at in from..self.divisors.len() {
            let factor = self.divisors[at];
            if factor > limit || factor > value {
                break;
            }
            if !value.is_multiple_of(factor) {
                continue;
            }
            let first = self.chosen.first().copied().unwrap_or(factor);
            // The last factor is at most the mean of the rest; both bounds get worse from here on.
            if self.is_hopeless(first, root(value / factor, parts - 1)) {
                break;
            }
            self.chosen.push(factor);
            self.split(value / factor, parts - 1);
            self.chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use proptest::prelude::*;

    fn grid(nodes: i64, ndims: usize) -> Vec<i32> {
        let mut dims = vec![0; ndims];
        dims_create(nodes, &mut dims).unwrap();
        dims
    }

    #[test]
    fn the_usual_grids() {
        // What MPICH 4.2 answers.
        assert_eq!(grid(1, 3), [1, 1, 1]);
        assert_eq!(grid(6, 2), [3, 2]);
        assert_eq!(grid(7, 3), [7, 1, 1]);
        assert_eq!(grid(12, 3), [3, 2, 2]);
        assert_eq!(grid(16, 2), [4, 4]);
        assert_eq!(grid(360, 3), [10, 6, 6]);
        assert_eq!(grid(1728, 5), [6, 6, 4, 4, 3]);
        assert_eq!(grid(5040, 3), [21, 16, 15]);
        assert_eq!(grid(5040, 6), [7, 5, 4, 4, 3, 3]);
        assert_eq!(grid(98_784, 5), [14, 14, 9, 8, 7]);
        assert_eq!(grid(2, 70)[..3], [2, 1, 1]);
    }

    #[test]
    fn given_dimensions_stay() {
        let mut dims = [0, 3, 0];
        dims_create(24, &mut dims).unwrap();
        assert_eq!(dims, [4, 3, 2]);
        let refused = |nodes, mut dims: Vec<i32>| dims_create(nodes, &mut dims).unwrap_err().class;
        assert_eq!(refused(7, vec![0, 3, 0]), ErrorClass::Dims);
        assert_eq!(refused(7, vec![-1, 0]), ErrorClass::Dims);
        assert_eq!(refused(7, vec![2, 3]), ErrorClass::Dims);
        assert_eq!(refused(0, vec![0]), ErrorClass::Arg);
        assert_eq!(refused(1, vec![i32::MAX; 3]), ErrorClass::Dims);
        dims_create(6, &mut [2, 3]).unwrap();
        dims_create(1, &mut []).unwrap();
    }

    #[test]
    fn huge_composite_numbers_do_not_take_long() {
        for ndims in 1..12 {
            for nodes in [735_134_400i64, 1 << 30, 2_147_483_647, 2_095_133_040] {
                let dims = grid(nodes, ndims);
                assert_eq!(dims.iter().map(|&d| i64::from(d)).product::<i64>(), nodes);
                assert!(dims.is_sorted_by(|a, b| a >= b));
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_better_balanced(nodes in 1i64..3000, ndims in 1usize..4) {
            let dims = grid(nodes, ndims);
            prop_assert_eq!(dims.iter().map(|&d| i64::from(d)).product::<i64>(), nodes);
            prop_assert!(dims.is_sorted_by(|a, b| a >= b));
            let spread = |list: &[i64]| list.iter().max().unwrap() - list.iter().min().unwrap();
            let mine = spread(&dims.iter().map(|&d| i64::from(d)).collect::<Vec<_>>());
            for a in (1..=nodes).filter(|a| nodes % a == 0) {
                match ndims {
                    2 => prop_assert!(spread(&[a, nodes / a]) >= mine),
                    3 => {
                        let rest = nodes / a;
                        for b in (1..=rest).filter(|b| rest % b == 0) {
                            prop_assert!(spread(&[a, b, rest / b]) >= mine);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
