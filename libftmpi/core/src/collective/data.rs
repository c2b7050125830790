//! What steps of a schedule send, receive and copy: pieces of memory of the program or of the
//! library.

use crate::datatype::{self, Builtin, Datatype};
use crate::engine::{RecvData, SendData};
use crate::op::Op;
use crate::usermem::UserPtr;
use std::rc::Rc;

/// A datatype, shared.
pub type TypeRef = Datatype;

/// One stretch of data.
#[derive(Clone)]
pub struct Piece {
    /// The buffer argument.
    pub at: UserPtr,
    /// Elements of the datatype; bytes, if there is no datatype.
    pub count: usize,
    /// How they lie; `None`: as plain bytes.
    pub datatype: Option<TypeRef>,
}

impl Piece {
    /// Plain bytes.
    #[must_use]
    #[inline]
    pub fn bytes(at: UserPtr, len: usize) -> Self {
        Self { at, count: len, datatype: None }
    }

    /// Elements of a datatype; plain bytes, if that comes to the same.
    #[must_use]
    #[inline]
    pub fn typed(at: UserPtr, count: usize, datatype: &TypeRef) -> Self {
        if let Some((displacement, len)) = datatype.block(count as u64) {
            return Self::bytes(at.offset(displacement), len as usize);
        }
        Self { at, count, datatype: Some(datatype.clone()) }
    }

    /// Bytes of data, without holes.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.datatype {
            None => self.count,
            Some(datatype) => self.count * datatype.size() as usize,
        }
    }

    /// Whether there is no data.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both, at one address, certainly are the same bytes as far as the shorter one goes.
    /// Types are compared by identity: nothing is known of two types that are made alike.
    #[must_use]
    pub fn is_laid_out_as(&self, other: &Piece) -> bool {
        match (&self.datatype, &other.datatype) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => ours.is_same(theirs),
            _ => false,
        }
    }

    /// As payload of a send.
    #[must_use]
    #[inline]
    pub fn to_send(&self) -> SendData {
        let ptr = self.at;
        match &self.datatype {
            None => SendData::Bytes { ptr, len: self.count },
            Some(datatype) => {
                SendData::Typed { ptr, count: self.count as u64, datatype: datatype.clone() }
            }
        }
    }

    /// As target of a receive.
    #[must_use]
    #[inline]
    pub fn to_receive(&self) -> RecvData {
        let ptr = self.at;
        match &self.datatype {
            None => RecvData::Bytes { ptr, len: self.count },
            Some(datatype) => {
                RecvData::Typed { ptr, count: self.count as u64, datatype: datatype.clone() }
            }
        }
    }

    /// Copies to `to`, repacking; false if `to` was too small (what fits is copied).
    #[must_use]
    #[inline]
    pub fn copy_to(&self, to: &Piece) -> bool {
        if self.datatype.is_none() && to.datatype.is_none() {
            self.at.copy_to(to.at, self.count.min(to.count));
            return self.count <= to.count;
        }
        let byte = Datatype::builtin(Builtin::Byte);
        datatype::copy(
            self.at,
            self.count as u64,
            self.datatype.as_ref().unwrap_or(byte),
            to.at,
            to.count as u64,
            to.datatype.as_ref().unwrap_or(byte),
        );
        self.len() <= to.len()
    }
}

/// One piece of data for each rank of a group.
pub trait PerRank {
    /// Piece number `i`.
    fn piece(&self, i: usize) -> Piece;

    /// Bytes of data in piece number `i`.
    fn bytes(&self, i: usize) -> usize;

    /// Whether all pieces have the same number of bytes by construction: every rank knows it.
    fn is_uniform(&self) -> bool;

    /// Pieces `from..to` as one, if they lie one after the other and are uniform.
    fn run(&self, from: usize, to: usize) -> Option<Piece>;
}

/// Equal pieces of plain bytes, one after the other.
#[derive(Clone, Copy)]
pub struct Equal {
    /// Where the first begins.
    pub base: UserPtr,
    /// Bytes of each.
    pub len: usize,
}

impl PerRank for Equal {
    #[inline]
    fn piece(&self, i: usize) -> Piece {
        Piece::bytes(self.base.offset((i * self.len) as i64), self.len)
    }

    #[inline]
    fn bytes(&self, _: usize) -> usize {
        self.len
    }

    #[inline]
    fn is_uniform(&self) -> bool {
        true
    }

    #[inline]
    fn run(&self, from: usize, to: usize) -> Option<Piece> {
        Some(Piece::bytes(self.base.offset((from * self.len) as i64), (to - from) * self.len))
    }
}

/// Pieces of plain bytes, each with its address and its length.
#[derive(Clone, Copy)]
pub struct Scattered<'a>(pub &'a [(UserPtr, usize)]);

impl PerRank for Scattered<'_> {
    #[inline]
    fn piece(&self, i: usize) -> Piece {
        let (at, len) = self.0[i];
        Piece::bytes(at, len)
    }

    #[inline]
    fn bytes(&self, i: usize) -> usize {
        self.0[i].1
    }

    #[inline]
    fn is_uniform(&self) -> bool {
        false
    }

    #[inline]
    fn run(&self, _: usize, _: usize) -> Option<Piece> {
        None
    }
}

/// One piece for each of the ranks of a communicator (or of its neighbours).
#[derive(Clone)]
pub struct Blocks {
    /// The buffer argument.
    pub base: UserPtr,
    /// Where the pieces lie.
    pub spread: Spread,
}

/// Where the pieces of [`Blocks`] lie.
#[derive(Clone)]
pub enum Spread {
    /// One after the other, `count` elements each.
    Uniform {
        /// Elements of each piece.
        count: usize,
        /// Their type.
        datatype: TypeRef,
    },
    /// `counts[i]` elements at `displacements[i]` extents of the type.
    Varied {
        /// Elements of each piece.
        counts: Rc<[usize]>,
        /// Places in extents of the type.
        displacements: Rc<[i64]>,
        /// Their type.
        datatype: TypeRef,
    },
    /// `counts[i]` elements of `datatypes[i]` at `displacements[i]` bytes.
    Mixed {
        /// Elements of each piece.
        counts: Rc<[usize]>,
        /// Places in bytes.
        displacements: Rc<[i64]>,
        /// Their types.
        datatypes: Rc<[TypeRef]>,
    },
}

impl Blocks {
    /// `len` bytes for each rank, one after the other.
    #[must_use]
    pub fn bytes_each(base: UserPtr, len: usize) -> Self {
        let datatype = Datatype::builtin(Builtin::Byte).clone();
        Self { base, spread: Spread::Uniform { count: len, datatype } }
    }
}

impl PerRank for Blocks {
    fn piece(&self, i: usize) -> Piece {
        match &self.spread {
            Spread::Uniform { count, datatype } => {
                let at = datatype.extent().wrapping_mul((*count * i) as i64);
                Piece::typed(self.base.offset(at), *count, datatype)
            }
            Spread::Varied { counts, displacements, datatype } => {
                let at = datatype.extent().wrapping_mul(displacements[i]);
                Piece::typed(self.base.offset(at), counts[i], datatype)
            }
            Spread::Mixed { counts, displacements, datatypes } => {
                Piece::typed(self.base.offset(displacements[i]), counts[i], &datatypes[i])
            }
        }
    }

    fn bytes(&self, i: usize) -> usize {
        match &self.spread {
            Spread::Uniform { count, datatype } => count * datatype.size() as usize,
            Spread::Varied { counts, datatype, .. } => counts[i] * datatype.size() as usize,
            Spread::Mixed { counts, datatypes, .. } => counts[i] * datatypes[i].size() as usize,
        }
    }

    fn is_uniform(&self) -> bool {
        matches!(self.spread, Spread::Uniform { .. })
    }

    fn run(&self, from: usize, to: usize) -> Option<Piece> {
        let Spread::Uniform { count, datatype } = &self.spread else { return None };
        let at = datatype.extent().wrapping_mul((*count * from) as i64);
        Some(Piece::typed(self.base.offset(at), count * (to - from), datatype))
    }
}

/// The elements of a reduction.
#[derive(Clone)]
pub struct Elements {
    /// Type of one element.
    pub datatype: TypeRef,
    /// Their number.
    pub count: usize,
}

impl Elements {
    /// The elements, and how they are combined.
    #[must_use]
    pub fn with<'a>(&'a self, op: &'a Op) -> Operands<'a> {
        Operands { datatype: &self.datatype, count: self.count, op }
    }
}

/// What a reduction combines, and how.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    /// Type of one element.
    pub datatype: &'a TypeRef,
    /// How many elements one operand has.
    pub count: usize,
    /// The operation.
    pub op: &'a Op,
}

impl Operands<'_> {
    /// Bytes of data in one operand.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.count * self.datatype.size() as usize
    }

    /// Whether there is no element.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Elements `from..from + count` of the array at `base`.
    #[must_use]
    #[inline]
    pub fn part(&self, base: UserPtr, from: usize, count: usize) -> Piece {
        Piece::typed(self.at(base, from), count, self.datatype)
    }

    /// The whole array at `base`.
    #[must_use]
    #[inline]
    pub fn all(&self, base: UserPtr) -> Piece {
        Piece::typed(base, self.count, self.datatype)
    }

    /// Address of element `index` of the array at `base`.
    #[must_use]
    #[inline]
    pub fn at(&self, base: UserPtr, index: usize) -> UserPtr {
        base.offset(self.datatype.extent().wrapping_mul(index as i64))
    }

    /// Bytes from the first to the last byte of `count` elements, and the offset of the first
    /// element's origin in them. The offset is a multiple of 16, so that members keep their
    /// alignment.
    #[must_use]
    #[inline]
    pub fn span(&self, count: usize) -> (usize, i64) {
        let (low, high) = self.datatype.span(count as u64).unwrap_or((0, 0));
        let low = low & !15;
        ((high - low) as usize, -low)
    }
}
