//! Cartesian grids (MPI-3.1, 7.5.1, 7.5.4 to 7.5.6). The last coordinate runs fastest.

use crate::bail;
use crate::error::Result;

/// A grid of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cart {
    dims: Box<[u32]>,
    periods: Box<[bool]>,
}

/// The part of a grid that `MPI_Cart_sub` gives to one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CartPart {
    /// The grid of the part.
    pub cart: Cart,
    /// Which part it is.
    pub color: u32,
    /// The rank of the process in its part.
    pub key: u32,
}

impl Cart {
    /// A grid on the first processes of a communicator of `size`.
    pub fn new(dims: &[i32], periods: &[bool], size: u32) -> Result<Self> {
        if dims.len() != periods.len() {
            bail!(Arg, "{} dimensions have {} periods", dims.len(), periods.len());
        }
        let mut product = 1u64;
        let mut checked = Vec::with_capacity(dims.len());
        for (i, &dim) in dims.iter().enumerate() {
            if dim < 1 {
                bail!(Dims, "dimension {i} of the grid is {dim}, must be positive");
            }
            product = product.saturating_mul(dim as u64);
            checked.push(dim as u32);
        }
        if product > u64::from(size) {
            bail!(Arg, "a grid of {dims:?} needs {product} processes, there are {size}");
        }
        Ok(Self { dims: checked.into(), periods: periods.into() })
    }

    /// Extent of each dimension.
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Whether each dimension is closed to a ring.
    #[must_use]
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// How many processes the grid has.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// `MPI_Cart_rank`: coordinates outside a closed dimension are wrapped, outside an open one
    /// refused.
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        if coords.len() < self.dims.len() {
            bail!(Arg, "{} coordinates in {} dimensions", coords.len(), self.dims.len());
        }
        let mut rank = 0u32;
        for (i, &dim) in self.dims.iter().enumerate() {
            let Some(at) = self.wrap(i, i64::from(coords[i])) else {
                bail!(Arg, "coordinate {} is outside of dimension {i} of size {dim}", coords[i]);
            };
            rank = rank * dim + at;
        }
        Ok(rank)
    }

    /// The index along dimension `i`, if there is one.
    fn wrap(&self, i: usize, at: i64) -> Option<u32> {
        let dim = i64::from(self.dims[i]);
        if self.periods[i] {
            Some(at.rem_euclid(dim) as u32)
        } else {
            (0..dim).contains(&at).then_some(at as u32)
        }
    }

    /// `MPI_Cart_coords`
    pub fn coords(&self, rank: u32) -> Result<Vec<i32>> {
        if rank >= self.size() {
            bail!(Rank, "rank {rank} is not in a grid of {} processes", self.size());
        }
        let mut coords = vec![0; self.dims.len()];
        let mut rest = rank;
        for (i, &dim) in self.dims.iter().enumerate().rev() {
            coords[i] = (rest % dim) as i32;
            rest /= dim;
        }
        Ok(coords)
    }

    /// The process `steps` away from `rank` along dimension `i`, both of which exist.
    fn moved(&self, rank: u32, i: usize, steps: i64) -> Option<u32> {
        let below: u32 = self.dims[i + 1..].iter().product();
        let at = rank / below % self.dims[i];
        let to = self.wrap(i, i64::from(at) + steps)?;
        Some(rank - at * below + to * below)
    }

    /// `MPI_Cart_shift` for process `rank`: source and destination; `None` is `MPI_PROC_NULL`.
    pub fn shift(
        &self,
        rank: u32,
        direction: i32,
        displacement: i32,
    ) -> Result<(Option<u32>, Option<u32>)> {
        let dims = self.dims.len();
        let Some(i) = usize::try_from(direction).ok().filter(|&i| i < dims) else {
            bail!(Arg, "direction {direction} of a grid of {dims} dimensions");
        };
        if rank >= self.size() {
            bail!(Rank, "rank {rank} is not in a grid of {} processes", self.size());
        }
        let steps = i64::from(displacement);
        Ok((self.moved(rank, i, -steps), self.moved(rank, i, steps)))
    }

    /// `MPI_Cart_sub` for process `rank`: the part with the dimensions that remain.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> Result<CartPart> {
        if remain.len() < self.dims.len() {
            bail!(Arg, "{} choices for {} dimensions", remain.len(), self.dims.len());
        }
        let coords = self.coords(rank)?;
        let (mut color, mut key) = (0, 0);
        let (mut dims, mut periods) = (Vec::new(), Vec::new());
        for (i, &dim) in self.dims.iter().enumerate() {
            let at = coords[i] as u32;
            if remain[i] {
                key = key * dim + at;
                dims.push(dim);
                periods.push(self.periods[i]);
            } else {
                color = color * dim + at;
            }
        }
        let cart = Cart { dims: dims.into(), periods: periods.into() };
        Ok(CartPart { cart, color, key })
    }

    /// The neighbours of `rank`, for each dimension the one before and the one behind.
    #[must_use]
    pub fn neighbors(&self, rank: u32) -> Vec<Option<u32>> {
        if rank >= self.size() {
            return Vec::new();
        }
        (0..self.dims.len())
            .flat_map(|i| [self.moved(rank, i, -1), self.moved(rank, i, 1)])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_and_coordinates_agree(
            dims in prop::collection::vec((1i32..5, any::<bool>(), any::<bool>()), 0..4),
            displacement in -9i32..9,
        ) {
            let extents: Vec<i32> = dims.iter().map(|d| d.0).collect();
            let periods: Vec<bool> = dims.iter().map(|d| d.1).collect();
            let remain: Vec<bool> = dims.iter().map(|d| d.2).collect();
            let size = extents.iter().product::<i32>() as u32;
            let cart = Cart::new(&extents, &periods, size).unwrap();
            prop_assert_eq!(cart.size(), size);
            let mut parts = std::collections::HashSet::new();
            for rank in 0..size {
                let coords = cart.coords(rank).unwrap();
                prop_assert_eq!(cart.rank(&coords).unwrap(), rank);
                for (i, &extent) in extents.iter().enumerate() {
                    let (source, target) = cart.shift(rank, i as i32, displacement).unwrap();
                    for (found, sign) in [(source, -1), (target, 1)] {
                        let mut to = coords.clone();
                        to[i] += sign * displacement;
                        prop_assert_eq!(found, cart.rank(&to).ok());
                        if periods[i] {
                            to[i] += 3 * extent;
                            prop_assert_eq!(cart.rank(&to).ok(), found);
                        }
                    }
                    let (before, behind) = cart.shift(rank, i as i32, 1).unwrap();
                    prop_assert_eq!(&cart.neighbors(rank)[2 * i..2 * i + 2], &[before, behind]);
                }
                let part = cart.sub(rank, &remain).unwrap();
                let kept: Vec<i32> =
                    coords.iter().zip(&remain).filter(|(_, r)| **r).map(|(c, _)| *c).collect();
                prop_assert_eq!(part.cart.rank(&kept).unwrap(), part.key);
                prop_assert!(part.color < size / part.cart.size());
                prop_assert!(parts.insert((part.color, part.key)));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let class = |dims: &[i32]| Cart::new(dims, &vec![false; dims.len()], 6).unwrap_err().class;
        assert_eq!(class(&[2, 4]), ErrorClass::Arg);
        assert_eq!(class(&[2, -1]), ErrorClass::Dims);
        assert_eq!(class(&[i32::MAX; 9]), ErrorClass::Arg);
        let cart = Cart::new(&[2, 2], &[false, true], 6).unwrap();
        assert_eq!(cart.rank(&[2, 0]).unwrap_err().class, ErrorClass::Arg);
        assert_eq!(cart.rank(&[1, -3]).unwrap(), 3);
        assert_eq!(cart.shift(0, 2, 1).unwrap_err().class, ErrorClass::Arg);
        assert_eq!(cart.shift(0, -1, 1).unwrap_err().class, ErrorClass::Arg);
        assert_eq!(cart.coords(4).unwrap_err().class, ErrorClass::Rank);
        assert_eq!(Cart::new(&[], &[], 1).unwrap().size(), 1);
    }
}
