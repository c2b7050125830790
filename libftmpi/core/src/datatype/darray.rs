//! Pieces of arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI-3.1, 4.1.3,
//! 4.1.4).
//!
//! Both make types whose bounds are those of the whole array, set explicitly.

use super::construct::Parts;
use super::layout::{Builder, Layout};
use super::{Constructor, Datatype, Signature};
use crate::bail;
use crate::error::{ErrorClass, Result};

/// Which index of an array runs fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last one.
    C,
    /// The first one.
    Fortran,
}

/// How a dimension of an array is spread over processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Distribution {
    None,
    Block,
    Cyclic,
}

/// The distribution argument that stands for the default, inside the core.
pub const DEFAULT_DISTRIBUTION_ARGUMENT: i64 = -49767;

/// The dimensions from the fastest running to the slowest.
fn by_speed(ndims: usize, order: Order) -> Vec<usize> {
    match order {
        Order::C => (0..ndims).rev().collect(),
        Order::Fortran => (0..ndims).collect(),
    }
}

/// The stride of the next slower dimension.
fn next_stride(stride: i64, size: i64) -> Result<i64> {
    stride
        .checked_mul(size)
        .ok_or_else(|| ErrorClass::Arg.because("the array does not fit the address space"))
}

/// The type with this part of the array, bounded by the whole array of `bytes`.
fn piece(
    constructor: Constructor,
    layout: Layout,
    copies: u128,
    bytes: i64,
    element: &Datatype,
) -> Result<Datatype> {
    let like = Parts::like(element);
    let parts = Parts {
        constructor,
        layout,
        lb: 0,
        ub: i128::from(bytes),
        sticky: (true, true),
        elements: like.elements.saturating_mul(copies),
        signature: if copies == 0 { Signature::Empty } else { like.signature },
        ..like
    };
    parts.datatype()
}

/// An array that is distributed over a grid of processes, and which of them is meant. The processes
/// are numbered with the last coordinate running fastest.
#[derive(Debug, Clone, Copy)]
pub struct DistributedArray<'a> {
    /// Processes of the grid.
    pub size: i64,
    /// The process whose part is meant.
    pub rank: i64,
    /// Elements of each dimension of the array.
    pub gsizes: &'a [i64],
    /// How each dimension is distributed.
    pub distributions: &'a [Distribution],
    /// Distribution argument of each dimension.
    pub arguments: &'a [i64],
    /// Processes of each dimension of the grid.
    pub psizes: &'a [i64],
    /// Order of the elements in memory.
    pub order: Order,
}

impl Datatype {
    /// `MPI_Type_create_subarray`
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        element: &Datatype,
    ) -> Result<Datatype> {
        let ndims = sizes.len();
        if ndims == 0 || subsizes.len() != ndims || starts.len() != ndims {
            bail!(
                Arg,
                "an array of {ndims} dimensions has {} sizes and {} starts of the subarray",
                subsizes.len(),
                starts.len()
            );
        }
        for dim in 0..ndims {
            let (size, sub, start) = (sizes[dim], subsizes[dim], starts[dim]);
            if sub < 1 || size < 1 || start < 0 || sub > size || start > size - sub {
                bail!(
                    Arg,
                    "dimension {dim}: a piece of {sub} from {start} is not inside a size of {size}"
                );
            }
        }
        let mut layout = element.0.layout.clone();
        let mut stride = element.extent();
        let mut first = 0i128;
        let mut copies = 1u128;
        for dim in by_speed(ndims, order) {
            layout = layout.repeated(subsizes[dim] as u64, stride)?;
            first += i128::from(starts[dim]) * i128::from(stride);
            copies = copies.saturating_mul(subsizes[dim] as u128);
            stride = next_stride(stride, sizes[dim])?;
        }
        let first = i64::try_from(first)
            .map_err(|_| ErrorClass::Arg.because("the array does not fit the address space"))?;
        let constructor = Constructor::Subarray {
            sizes: sizes.into(),
            subsizes: subsizes.into(),
            starts: starts.into(),
            order,
            element: element.clone(),
        };
        piece(constructor, layout.shifted(first)?, copies, stride, element)
    }

    /// `MPI_Type_create_darray`: the part of one process of a distributed array.
    pub fn darray(array: DistributedArray<'_>, element: &Datatype) -> Result<Datatype> {
        let DistributedArray { size, rank, gsizes, distributions, arguments, psizes, order } =
            array;
        let ndims = gsizes.len();
        if ndims == 0 || [distributions.len(), arguments.len(), psizes.len()] != [ndims; 3] {
            bail!(Arg, "the lists of a distributed array must have one entry for each dimension");
        }
        if size < 1 || rank < 0 || rank >= size {
            bail!(Arg, "rank {rank} is not in a grid of {size} processes");
        }
        if psizes.iter().any(|&p| p < 1)
            || psizes.iter().try_fold(1i64, |all, &p| all.checked_mul(p)) != Some(size)
        {
            bail!(Arg, "a grid of {psizes:?} does not have {size} processes");
        }
        let mut coordinates = vec![0; ndims];
        let mut rest = rank;
        for dim in (0..ndims).rev() {
            coordinates[dim] = rest % psizes[dim];
            rest /= psizes[dim];
        }
        let mut layout = element.0.layout.clone();
        let mut stride = element.extent();
        let mut copies = 1u128;
        for dim in by_speed(ndims, order) {
            let dealt = BlockDistribution::new(dim, gsizes, distributions, arguments, psizes)?;
            let (part, length) = dealt.part(coordinates[dim], &layout, stride)?;
            layout = part;
            copies = copies.saturating_mul(length);
            stride = next_stride(stride, gsizes[dim])?;
        }
        let constructor = Constructor::Darray {
            size,
            rank,
            gsizes: gsizes.into(),
            distributions: distributions.into(),
            arguments: arguments.into(),
            psizes: psizes.into(),
            order,
            element: element.clone(),
        };
        piece(constructor, layout, copies, stride, element)
    }
}

/// One dimension, dealt out in blocks.
struct BlockDistribution {
    size: i64,
    block: i64,
    processes: i64,
}

impl BlockDistribution {
    fn new(
        dim: usize,
        gsizes: &[i64],
        distributions: &[Distribution],
        arguments: &[i64],
        psizes: &[i64],
    ) -> Result<Self> {
        let (size, processes, argument) = (gsizes[dim], psizes[dim], arguments[dim]);
        if size < 1 {
            bail!(Arg, "dimension {dim} of the array has size {size}");
        }
        let given = argument != DEFAULT_DISTRIBUTION_ARGUMENT;
        if given && argument < 1 && distributions[dim] != Distribution::None {
            bail!(Arg, "dimension {dim}: distribution argument is {argument}, must be positive");
        }
        let block = match distributions[dim] {
            Distribution::None => {
                if processes != 1 {
                    bail!(Arg, "dimension {dim} is not distributed but has {processes} processes");
                }
                size
            }
            Distribution::Cyclic => {
                if given {
                    argument
                } else {
                    1
                }
            }
            Distribution::Block if !given => (size - 1) / processes + 1,
            Distribution::Block => {
                if argument.saturating_mul(processes) < size {
                    bail!(
                        Arg,
                        "dimension {dim}: {processes} blocks of {argument} do not cover {size}"
                    );
                }
                argument
            }
        };
        Ok(Self { size, block, processes })
    }

    /// The part of the process at `coordinate`, and its number of indices.
    fn part(&self, coordinate: i64, inner: &Layout, stride: i64) -> Result<(Layout, u128)> {
        let wide = |value: i64| i128::from(value);
        let round = wide(self.block) * wide(self.processes);
        let first = wide(self.block) * wide(coordinate);
        if first >= wide(self.size) {
            return Ok((Layout::EMPTY, 0));
        }
        let left = wide(self.size) - first;
        let mut whole = left / round;
        let mut rest = (left % round).min(wide(self.block));
        if rest == wide(self.block) {
            whole += 1;
            rest = 0;
        }
        let at = |index: i128| {
            i64::try_from(index * wide(stride))
                .map_err(|_| ErrorClass::Arg.because("the array does not fit the address space"))
        };
        let mut builder = Builder::new();
        if whole > 0 {
            let block = inner.repeated(self.block as u64, stride)?;
            let step = if whole > 1 { at(round)? } else { 0 };
            builder.push(&block.repeated(whole as u64, step)?.shifted(at(first)?)?);
        }
        if rest > 0 {
            let block = inner.repeated(rest as u64, stride)?;
            builder.push(&block.shifted(at(first + whole * round)?)?);
        }
        let length = whole * wide(self.block) + rest;
        Ok((builder.finish()?, length as u128))
    }
}
