//! Datatypes: what the bytes of a buffer are and where they lie (MPI-3.1, chapter 4).
//!
//! A [`Datatype`] is immutable and shared; a handle of the program is one reference to it. It keeps
//! the arguments of its constructor ([`Constructor`], for `MPI_Type_get_contents`). It also keeps
//! what follows from them: bounds, a signature, and a tree of loops for copying.
//!
//! Guarantees: no constructor can make a type whose size or bounds overflow 64 bits. Extents follow
//! MPICH: a structure is padded to the alignment of its members unless a bound was set by `MPI_LB`,
//! `MPI_UB` or `MPI_Type_create_resized`. Copies of `count` elements that form one block of memory
//! are one copy.

mod builtin;
mod construct;
mod contents;
mod darray;
mod external;
#[cfg(test)]
mod hostile_tests;
mod in_file;
mod layout;
mod pack;
mod section;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub use builtin::{Builtin, Class, Repr};
pub use contents::{Combiner, Constructor, Contents};
pub use darray::{DEFAULT_DISTRIBUTION_ARGUMENT, DistributedArray, Distribution, Order};
pub use in_file::Sizes;
pub use pack::{TypedScratch, copy};
pub use section::Section;
pub use table::{MAX_NAME, TypeId, TypeTable};

use layout::Layout;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// The longest chain of derived types. It bounds recursion.
pub const MAX_DEPTH: u32 = 2048;

/// A datatype; cloning it is cheap and gives the same type.
#[derive(Debug, Clone)]
pub struct Datatype(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    constructor: Constructor,
    layout: Layout,
    size: u64,
    lb: i64,
    ub: i64,
    true_lb: i64,
    true_ub: i64,
    /// The lower bound was set by the program, directly or in a component.
    sticky_lb: bool,
    sticky_ub: bool,
    align: u32,
    /// Basic elements in one value.
    elements: u64,
    signature: Signature,
    /// All values of an array of this type form one block.
    dense: bool,
    depth: u32,
    committed: AtomicBool,
    /// Made by a `_c` call; the contents are given in that form.
    large: AtomicBool,
    /// The number that the type table last gave it; the table decides whether that is still so.
    number: AtomicU32,
}

/// Which basic types a datatype is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// No data.
    Empty,
    /// Values of one predefined type only.
    Homogeneous(Builtin),
    /// Values of several predefined types.
    Mixed,
}

impl Signature {
    /// The signature of both together.
    #[must_use]
    pub fn and(self, other: Signature) -> Signature {
        match (self, other) {
            (Signature::Empty, one) | (one, Signature::Empty) => one,
            (a, b) if a == b => a,
            _ => Signature::Mixed,
        }
    }
}

static BUILTINS: LazyLock<Vec<Datatype>> =
    LazyLock::new(|| Builtin::ALL.iter().map(|&builtin| Datatype::named(builtin)).collect());

impl Datatype {
    /// The predefined type.
    #[must_use]
    pub fn builtin(builtin: Builtin) -> &'static Datatype {
        &BUILTINS[builtin as usize]
    }

    /// The predefined type that this is (not one that it is derived from).
    #[must_use]
    pub fn as_builtin(&self) -> Option<Builtin> {
        match self.0.constructor {
            Constructor::Named(builtin) => Some(builtin),
            _ => None,
        }
    }

    /// Whether both are the very same type, not merely an equal one.
    #[must_use]
    pub fn is_same(&self, other: &Datatype) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Bytes of data in one value.
    #[must_use]
    #[inline]
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Bytes of data in `count` values; `None` if that overflows.
    #[must_use]
    #[inline]
    pub fn total_size(&self, count: u64) -> Option<u64> {
        self.0.size.checked_mul(count).filter(|&bytes| bytes <= i64::MAX as u64)
    }

    /// Lower bound in bytes.
    #[must_use]
    pub fn lb(&self) -> i64 {
        self.0.lb
    }

    /// Upper bound in bytes.
    #[must_use]
    pub fn ub(&self) -> i64 {
        self.0.ub
    }

    /// Bytes from one value to the next in an array.
    #[must_use]
    #[inline]
    pub fn extent(&self) -> i64 {
        self.0.ub.wrapping_sub(self.0.lb)
    }

    /// Displacement of the lowest byte of data.
    #[must_use]
    pub fn true_lb(&self) -> i64 {
        self.0.true_lb
    }

    /// Displacement of the byte after the highest byte of data.
    #[must_use]
    pub fn true_ub(&self) -> i64 {
        self.0.true_ub
    }

    /// Bytes from the lowest to the highest byte of data.
    #[must_use]
    pub fn true_extent(&self) -> i64 {
        self.0.true_ub.wrapping_sub(self.0.true_lb)
    }

    /// The alignment of a structure's member of this type.
    #[must_use]
    pub fn align(&self) -> u32 {
        self.0.align
    }

    /// Which basic types it is made of.
    #[must_use]
    pub fn signature(&self) -> Signature {
        self.0.signature
    }

    /// The only basic type in it, if there is just one: what a predefined operation works on.
    #[must_use]
    pub fn base(&self) -> Option<Builtin> {
        match self.0.signature {
            Signature::Homogeneous(builtin) => Some(builtin),
            _ => None,
        }
    }

    /// Whether an array of values, of every count, is one block of memory without holes.
    #[must_use]
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.dense
    }

    /// Whether the bytes of one value lie in the order of their addresses, none twice.
    #[must_use]
    pub fn is_ascending(&self) -> bool {
        self.0.layout.is_ascending()
    }

    /// If the data of `count` values is one run of memory: its displacement and its length.
    #[must_use]
    #[inline]
    pub fn block(&self, count: u64) -> Option<(i64, u64)> {
        if self.0.dense {
            return Some((self.0.true_lb, self.0.size.checked_mul(count)?));
        }
        match count {
            0 => Some((0, 0)),
            1 => self.0.layout.single_run(),
            _ => None,
        }
    }

    /// The range of displacements that `count` values touch, `(0, 0)` if none; `None` if it does
    /// not fit the address space.
    #[must_use]
    pub fn span(&self, count: u64) -> Option<(i64, i64)> {
        if count == 0 || self.0.size == 0 {
            return Some((0, 0));
        }
        let reach = self.extent().checked_mul(i64::try_from(count - 1).ok()?)?;
        let low = self.0.true_lb.checked_add(reach.min(0))?;
        Some((low, self.0.true_ub.checked_add(reach.max(0))?))
    }

    /// Whether it may be used in communication.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Relaxed)
    }

    /// Makes it usable in communication.
    pub fn commit(&self) {
        self.0.committed.store(true, Ordering::Relaxed);
    }

    /// Marks a type of a call with large counts: its arguments are given in that form.
    pub fn mark_large(&self) {
        self.0.large.store(true, Ordering::Relaxed);
    }

    /// Whether a call with large counts made it.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.0.large.load(Ordering::Relaxed)
    }

    /// The arguments of the constructor.
    #[must_use]
    pub fn constructor(&self) -> &Constructor {
        &self.0.constructor
    }

    /// Basic elements in one value.
    #[must_use]
    pub fn elements_per_value(&self) -> u64 {
        self.0.elements
    }

    /// How many whole values `bytes` of packed data are, for `MPI_Get_count`; `None` if the last
    /// one is incomplete.
    #[must_use]
    pub fn count_of(&self, bytes: u64) -> Option<u64> {
        match (self.0.size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            (size, _) => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// How many basic elements `bytes` of packed data are, for `MPI_Get_elements`. An incomplete
    /// last element makes the answer `None`, as in MPICH 5.
    #[must_use]
    pub fn elements_of(&self, bytes: u64) -> Option<u64> {
        let elements = self.whole_elements(bytes)?;
        (self.bytes_of_elements(elements) == Some(bytes)).then_some(elements)
    }

    /// Whole basic elements in `bytes` of packed data; `None` if there cannot be so many bytes.
    fn whole_elements(&self, bytes: u64) -> Option<u64> {
        if self.0.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let (whole, rest) = (bytes / self.0.size, bytes % self.0.size);
        whole.checked_mul(self.0.elements)?.checked_add(self.elements_in_part(rest)?)
    }

    /// Whole basic elements in the first `bytes` of one value, `bytes` less than its size.
    fn elements_in_part(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        if let Constructor::Named(builtin) = self.0.constructor {
            return Some(u64::from(bytes >= builtin.parts().0));
        }
        if let Constructor::Struct { blocklengths, types, .. } = &self.0.constructor {
            let (mut left, mut elements) = (bytes, 0u64);
            for (&blocklength, member) in blocklengths.iter().zip(types.iter()) {
                let block = member.size().checked_mul(blocklength as u64)?;
                if left < block {
                    return elements.checked_add(member.whole_elements(left)?);
                }
                left -= block;
                elements = elements.checked_add(member.whole_elements(block)?)?;
            }
            return None;
        }
        self.0.constructor.element_type()?.whole_elements(bytes)
    }

    /// The bytes of the first `elements` basic elements of a stream of values, for
    /// `MPI_Status_set_elements`; `None` if that overflows.
    #[must_use]
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if self.0.elements == 0 {
            return (elements == 0).then_some(0);
        }
        let (whole, rest) = (elements / self.0.elements, elements % self.0.elements);
        whole.checked_mul(self.0.size)?.checked_add(self.bytes_in_part(rest)?)
    }

    /// The bytes of the first `elements` of one value, fewer than it has.
    fn bytes_in_part(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        if let Constructor::Named(builtin) = self.0.constructor {
            return Some(builtin.parts().0);
        }
        if let Constructor::Struct { blocklengths, types, .. } = &self.0.constructor {
            let (mut left, mut bytes) = (elements, 0u64);
            for (&blocklength, member) in blocklengths.iter().zip(types.iter()) {
                let block = member.0.elements.checked_mul(blocklength as u64)?;
                if left < block {
                    return bytes.checked_add(member.bytes_of_elements(left)?);
                }
                left -= block;
                bytes = bytes.checked_add(member.bytes_of_elements(block)?)?;
            }
            return None;
        }
        self.0.constructor.element_type()?.bytes_of_elements(elements)
    }
}
