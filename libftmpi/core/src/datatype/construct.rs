//! The type constructors (MPI-3.1, 4.1.2 to 4.1.8).
//!
//! Bounds of a type are computed over its blocks as the typemap demands: the lowest and the highest
//! bound of all copies. Explicit bounds (`MPI_LB`, `MPI_UB`, resized components) take precedence.

use super::layout::{Builder, Layout};
use super::{Builtin, Constructor, Datatype, Inner, MAX_DEPTH, Signature};
use crate::bail;
use crate::error::{ErrorClass, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// Collects what follows from the blocks of a type.
struct Assembly {
    builder: Builder,
    elements: u128,
    size: u128,
    /// Lowest and highest bounds over all blocks, and over those with explicit bounds only.
    lb: Option<i128>,
    ub: Option<i128>,
    sticky_lb: Option<i128>,
    sticky_ub: Option<i128>,
    align: u32,
    signature: Signature,
    depth: u32,
}

fn lower(bound: &mut Option<i128>, value: i128) {
    *bound = Some(bound.map_or(value, |old| old.min(value)));
}

fn raise(bound: &mut Option<i128>, value: i128) {
    *bound = Some(bound.map_or(value, |old| old.max(value)));
}

fn narrow(value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| {
        ErrorClass::Arg.because("a bound of the datatype does not fit the address space")
    })
}

impl Assembly {
    fn new() -> Self {
        Self {
            builder: Builder::new(),
            elements: 0,
            size: 0,
            lb: None,
            ub: None,
            sticky_lb: None,
            sticky_ub: None,
            align: 1,
            signature: Signature::Empty,
            depth: 0,
        }
    }

    /// Accounts for `copies` of `element` in all, wherever they lie.
    fn account(&mut self, element: &Datatype, copies: u64) {
        // A total that is too large stays too large, and is refused at the end.
        let total = |of_one: u64| u128::from(of_one) * u128::from(copies);
        self.elements = self.elements.saturating_add(total(element.0.elements));
        self.size = self.size.saturating_add(total(element.size()));
        self.align = self.align.max(element.align());
        self.signature = self.signature.and(element.signature());
        self.depth = self.depth.max(element.0.depth + 1);
    }

    /// Widens the bounds to those of `copies` of `element` at displacements from `first` to `last`.
    fn widen(&mut self, element: &Datatype, first: i128, last: i128) {
        let inner = &element.0;
        if inner.size == 0 && !inner.sticky_lb && !inner.sticky_ub {
            return;
        }
        let (low, high) = (first.min(last), first.max(last));
        let only_marker = inner.size == 0;
        if inner.sticky_lb {
            lower(&mut self.sticky_lb, low + i128::from(inner.lb));
        } else if !only_marker {
            lower(&mut self.lb, low + i128::from(inner.lb));
        }
        if inner.sticky_ub {
            raise(&mut self.sticky_ub, high + i128::from(inner.ub));
        } else if !only_marker {
            raise(&mut self.ub, high + i128::from(inner.ub));
        }
    }

    /// Adds a block of `blocklength` elements at `disp` bytes.
    fn block(&mut self, element: &Datatype, disp: i128, blocklength: u64) -> Result<()> {
        if blocklength == 0 {
            return Ok(());
        }
        // Within the address space, or the sums below could overflow.
        let disp = i128::from(narrow(disp)?);
        self.account(element, blocklength);
        let last = disp + i128::from(element.extent()) * i128::from(blocklength - 1);
        self.widen(element, disp, last);
        let block = element.0.layout.repeated(blocklength, element.extent())?;
        self.builder.push(&block.shifted(narrow(disp)?)?);
        Ok(())
    }

    /// Adds `count` blocks of `blocklength` elements, `stride` bytes apart.
    fn blocks(
        &mut self,
        element: &Datatype,
        count: u64,
        blocklength: u64,
        stride: i128,
    ) -> Result<()> {
        if count == 0 || blocklength == 0 {
            return Ok(());
        }
        let Some(copies) = count.checked_mul(blocklength) else {
            bail!(Count, "{count} blocks of {blocklength} elements are too many");
        };
        // Within the address space, or the products below could overflow; one block has no stride.
        let stride = if count == 1 { 0 } else { i128::from(narrow(stride)?) };
        self.account(element, copies);
        let within = i128::from(element.extent()) * i128::from(blocklength - 1);
        let across = stride * i128::from(count - 1);
        self.widen(element, within.min(0) + across.min(0), within.max(0) + across.max(0));
        let block = element.0.layout.repeated(blocklength, element.extent())?;
        self.builder.push(&block.repeated(count, narrow(stride)?)?);
        Ok(())
    }

    /// The type with these blocks; `padded` rounds its extent up to its alignment.
    fn finish(self, constructor: Constructor, padded: bool) -> Result<Datatype> {
        let layout = self.builder.finish()?;
        let sticky = (self.sticky_lb.is_some(), self.sticky_ub.is_some());
        let lb = self.sticky_lb.or(self.lb).unwrap_or(0);
        let mut ub = self.sticky_ub.or(self.ub).unwrap_or(0);
        if padded && !sticky.0 && !sticky.1 {
            let align = i128::from(self.align);
            ub = lb + (ub - lb + align - 1).div_euclid(align) * align;
        }
        Parts {
            constructor,
            layout,
            lb,
            ub,
            sticky,
            align: self.align,
            elements: self.elements,
            signature: self.signature,
            depth: self.depth,
        }
        .datatype()
    }
}

/// The parts of a datatype, before the checks.
pub(super) struct Parts {
    pub(super) constructor: Constructor,
    pub(super) layout: Layout,
    pub(super) lb: i128,
    pub(super) ub: i128,
    pub(super) sticky: (bool, bool),
    pub(super) align: u32,
    pub(super) elements: u128,
    pub(super) signature: Signature,
    pub(super) depth: u32,
}

impl Parts {
    pub(super) fn datatype(self) -> Result<Datatype> {
        if self.depth > MAX_DEPTH {
            bail!(Type, "the datatype is nested more than {MAX_DEPTH} deep");
        }
        let (lb, ub) = (narrow(self.lb)?, narrow(self.ub)?);
        let extent = narrow(self.ub - self.lb)?;
        let (true_lb, true_ub) = self.layout.bounds().unwrap_or((0, 0));
        narrow(i128::from(true_ub) - i128::from(true_lb))?;
        let size = self.layout.size();
        let dense = match self.layout.single_run() {
            Some((_, len)) => i128::from(len) == i128::from(extent),
            None => size == 0,
        };
        Ok(Datatype(Arc::new(Inner {
            committed: AtomicBool::new(matches!(self.constructor, Constructor::Named(_))),
            large: AtomicBool::new(false),
            constructor: self.constructor,
            layout: self.layout,
            size,
            lb,
            ub,
            true_lb,
            true_ub,
            sticky_lb: self.sticky.0,
            sticky_ub: self.sticky.1,
            align: self.align,
            elements: u64::try_from(self.elements)
                .map_err(|_| ErrorClass::Arg.because("the datatype has too many elements"))?,
            signature: self.signature,
            dense,
            depth: self.depth,
            number: AtomicU32::new(u32::MAX),
        })))
    }
}

/// Checks that a count is not negative.
fn count(what: &str, value: i64) -> Result<u64> {
    u64::try_from(value)
        .map_err(|_| ErrorClass::Count.because(format!("{what} is {value}, must not be negative")))
}

/// Checks that a block length is not negative.
fn length(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| {
        ErrorClass::Arg.because(format!("block length is {value}, must not be negative"))
    })
}

/// Checks that two lists are equally long.
fn same_length(a: usize, b: usize) -> Result<()> {
    if a != b {
        bail!(Arg, "lists of {a} and {b} entries must be equally long");
    }
    Ok(())
}

impl Datatype {
    pub(super) fn named(builtin: Builtin) -> Datatype {
        let mut builder = Builder::new();
        for (disp, len) in builtin.runs() {
            builder.push(&Layout::run(disp, len));
        }
        let marker = |which| builtin == which;
        let parts = Parts {
            constructor: Constructor::Named(builtin),
            layout: builder.finish().expect("a predefined type is small"),
            lb: 0,
            ub: i128::from(builtin.extent()),
            sticky: (marker(Builtin::Lb), marker(Builtin::Ub)),
            align: builtin.align(),
            elements: u128::from(builtin.elements()),
            signature: if builtin.size() == 0 {
                Signature::Empty
            } else {
                Signature::Homogeneous(builtin)
            },
            depth: 0,
        };
        parts.datatype().expect("a predefined type is small")
    }

    /// `MPI_Type_contiguous`
    pub fn contiguous(count_: i64, element: &Datatype) -> Result<Datatype> {
        let n = count("count", count_)?;
        let mut assembly = Assembly::new();
        assembly.blocks(element, 1, n, 0)?;
        let element = element.clone();
        assembly.finish(Constructor::Contiguous { count: count_, element }, false)
    }

    /// `MPI_Type_vector`: `stride` counts elements.
    pub fn vector(n: i64, blocklength: i64, stride: i64, element: &Datatype) -> Result<Datatype> {
        let bytes = i128::from(stride) * i128::from(element.extent());
        let mut assembly = Assembly::new();
        assembly.blocks(element, count("count", n)?, length(blocklength)?, bytes)?;
        let element = element.clone();
        assembly.finish(Constructor::Vector { count: n, blocklength, stride, element }, false)
    }

    /// `MPI_Type_create_hvector`: `stride` counts bytes.
    pub fn hvector(n: i64, blocklength: i64, stride: i64, element: &Datatype) -> Result<Datatype> {
        let mut assembly = Assembly::new();
        let (blocks, of) = (count("count", n)?, length(blocklength)?);
        assembly.blocks(element, blocks, of, i128::from(stride))?;
        let element = element.clone();
        assembly.finish(Constructor::Hvector { count: n, blocklength, stride, element }, false)
    }

    /// The blocks of an indexed type whose displacements count `unit` bytes.
    fn indexed_blocks(
        blocks: impl Iterator<Item = (i64, i64)>,
        unit: i64,
        element: &Datatype,
    ) -> Result<Assembly> {
        let mut assembly = Assembly::new();
        for (blocklength, disp) in blocks {
            let disp = i128::from(disp) * i128::from(unit);
            assembly.block(element, disp, length(blocklength)?)?;
        }
        Ok(assembly)
    }

    /// `MPI_Type_indexed`: displacements count elements.
    pub fn indexed(
        blocklengths: &[i64],
        displacements: &[i64],
        element: &Datatype,
    ) -> Result<Datatype> {
        same_length(blocklengths.len(), displacements.len())?;
        let blocks = blocklengths.iter().copied().zip(displacements.iter().copied());
        Self::indexed_blocks(blocks, element.extent(), element)?.finish(
            Constructor::Indexed {
                blocklengths: blocklengths.into(),
                displacements: displacements.into(),
                element: element.clone(),
            },
            false,
        )
    }

    /// `MPI_Type_create_hindexed`: displacements count bytes.
    pub fn hindexed(
        blocklengths: &[i64],
        displacements: &[i64],
        element: &Datatype,
    ) -> Result<Datatype> {
        same_length(blocklengths.len(), displacements.len())?;
        let blocks = blocklengths.iter().copied().zip(displacements.iter().copied());
        Self::indexed_blocks(blocks, 1, element)?.finish(
            Constructor::Hindexed {
                blocklengths: blocklengths.into(),
                displacements: displacements.into(),
                element: element.clone(),
            },
            false,
        )
    }

    /// `MPI_Type_create_indexed_block`: displacements count elements.
    pub fn indexed_block(
        blocklength: i64,
        displacements: &[i64],
        element: &Datatype,
    ) -> Result<Datatype> {
        length(blocklength)?;
        let blocks = displacements.iter().map(|&disp| (blocklength, disp));
        Self::indexed_blocks(blocks, element.extent(), element)?.finish(
            Constructor::IndexedBlock {
                blocklength,
                displacements: displacements.into(),
                element: element.clone(),
            },
            false,
        )
    }

    /// `MPI_Type_create_hindexed_block`: displacements count bytes.
    pub fn hindexed_block(
        blocklength: i64,
        displacements: &[i64],
        element: &Datatype,
    ) -> Result<Datatype> {
        length(blocklength)?;
        let blocks = displacements.iter().map(|&disp| (blocklength, disp));
        Self::indexed_blocks(blocks, 1, element)?.finish(
            Constructor::HindexedBlock {
                blocklength,
                displacements: displacements.into(),
                element: element.clone(),
            },
            false,
        )
    }

    /// `MPI_Type_create_struct`: displacements count bytes.
    pub fn structure(
        blocklengths: &[i64],
        displacements: &[i64],
        types: &[Datatype],
    ) -> Result<Datatype> {
        same_length(blocklengths.len(), displacements.len())?;
        same_length(blocklengths.len(), types.len())?;
        let mut assembly = Assembly::new();
        for ((&blocklength, &disp), member) in blocklengths.iter().zip(displacements).zip(types) {
            assembly.block(member, i128::from(disp), length(blocklength)?)?;
        }
        assembly.finish(
            Constructor::Struct {
                blocklengths: blocklengths.into(),
                displacements: displacements.into(),
                types: types.into(),
            },
            true,
        )
    }

    /// `MPI_Type_create_resized`
    pub fn resized(lb: i64, extent: i64, element: &Datatype) -> Result<Datatype> {
        Parts {
            constructor: Constructor::Resized { lb, extent, element: element.clone() },
            lb: i128::from(lb),
            ub: i128::from(lb) + i128::from(extent),
            sticky: (true, true),
            ..Parts::like(element)
        }
        .datatype()
    }

    /// `MPI_Type_dup`: equal to the original in everything, also in being committed.
    pub fn dup(original: &Datatype) -> Result<Datatype> {
        let parts =
            Parts { constructor: Constructor::Dup(original.clone()), ..Parts::like(original) };
        let copy = parts.datatype()?;
        if original.is_committed() {
            copy.commit();
        }
        Ok(copy)
    }

    /// `MPI_Type_create_f90_real`: `base` is the type that has the precision and range, which are
    /// kept as the program gave them (`MPI_UNDEFINED` included). Committed.
    pub fn f90_real(precision: i64, range: i64, base: Builtin) -> Result<Datatype> {
        Self::f90(Constructor::F90Real { precision, range, base }, base)
    }

    /// `MPI_Type_create_f90_complex`; see [`Datatype::f90_real`].
    pub fn f90_complex(precision: i64, range: i64, base: Builtin) -> Result<Datatype> {
        Self::f90(Constructor::F90Complex { precision, range, base }, base)
    }

    /// `MPI_Type_create_f90_integer`; see [`Datatype::f90_real`].
    pub fn f90_integer(range: i64, base: Builtin) -> Result<Datatype> {
        Self::f90(Constructor::F90Integer { range, base }, base)
    }

    fn f90(constructor: Constructor, base: Builtin) -> Result<Datatype> {
        let parts = Parts { constructor, ..Parts::like(Datatype::builtin(base)) };
        let made = parts.datatype()?;
        made.commit();
        Ok(made)
    }
}

impl Parts {
    /// The parts of a type with the data of `element`.
    pub(super) fn like(element: &Datatype) -> Parts {
        let inner = &element.0;
        Parts {
            constructor: Constructor::Dup(element.clone()),
            layout: inner.layout.clone(),
            lb: i128::from(inner.lb),
            ub: i128::from(inner.ub),
            sticky: (inner.sticky_lb, inner.sticky_ub),
            align: inner.align,
            elements: u128::from(inner.elements),
            signature: inner.signature,
            depth: inner.depth + 1,
        }
    }
}
