//! Reduction operations: the predefined ones and the program's own (MPI-3.1, 5.9).
//!
//! Guarantees: operands of a predefined operation are checked against the classes of types that the
//! standard allows, and MPICH, which allows more. Other operands are refused with `MPI_ERR_OP`. A
//! result depends on the operands and their order only, so that a replayed reduction gives the same
//! bits. No operand needs to be aligned.

mod extended;
mod half;
mod kernel;
mod number;
mod quad;
#[cfg(test)]
mod tests;

use crate::bail;
use crate::comm::combine;
use crate::datatype::{Builtin, Class, Constructor, Datatype, Repr};
use crate::error::Result;
use crate::slab::Slab;
use crate::usermem::UserPtr;
use std::ffi::c_void;
use std::sync::Arc;

/// The predefined operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Predefined {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
    /// The result is the left operand; for one-sided communication only.
    Replace,
    /// The result is the right operand; for one-sided communication only.
    NoOp,
}

impl Predefined {
    /// All of them, in the order of the enum.
    pub const ALL: [Predefined; 14] = [
        Self::Max,
        Self::Min,
        Self::Sum,
        Self::Prod,
        Self::Land,
        Self::Band,
        Self::Lor,
        Self::Bor,
        Self::Lxor,
        Self::Bxor,
        Self::Minloc,
        Self::Maxloc,
        Self::Replace,
        Self::NoOp,
    ];

    /// The name of the constant in `mpi.h`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "MPI_MAX",
            Self::Min => "MPI_MIN",
            Self::Sum => "MPI_SUM",
            Self::Prod => "MPI_PROD",
            Self::Land => "MPI_LAND",
            Self::Band => "MPI_BAND",
            Self::Lor => "MPI_LOR",
            Self::Bor => "MPI_BOR",
            Self::Lxor => "MPI_LXOR",
            Self::Bxor => "MPI_BXOR",
            Self::Minloc => "MPI_MINLOC",
            Self::Maxloc => "MPI_MAXLOC",
            Self::Replace => "MPI_REPLACE",
            Self::NoOp => "MPI_NO_OP",
        }
    }

    /// Whether values of this class may be operands.
    #[must_use]
    pub const fn accepts(self, class: Class) -> bool {
        use Class::{Byte, Character, Complex, Floating, Integer, Logical, Pair};
        // MPI_CHAR and MPI_CHARACTER are small integers for MPICH, and programs rely on it; wide
        // characters are not.
        let integer = matches!(class, Integer(_) | Character(Repr::Int(1)));
        match self {
            Self::Max | Self::Min => integer || matches!(class, Floating(_)),
            Self::Sum | Self::Prod => integer || matches!(class, Floating(_) | Complex(_)),
            Self::Land | Self::Lor | Self::Lxor => {
                integer || matches!(class, Logical(_) | Floating(_))
            }
            Self::Band | Self::Bor | Self::Bxor => integer || matches!(class, Byte),
            Self::Minloc | Self::Maxloc => matches!(class, Pair { .. }),
            Self::Replace | Self::NoOp => true,
        }
    }
}

/// How to call the program's function: `invoke(function, input, inout, count, datatype)`.
///
/// The front provides the function, because only the front knows its language, the handle of the
/// datatype, and how large a count it takes. The function may call MPI again, and other threads may
/// call it meanwhile.
pub type Invoke = fn(usize, *mut c_void, *mut c_void, usize, &Datatype);

/// An operation of the program.
#[derive(Debug, Clone, Copy)]
pub struct UserOp {
    /// Address of the program's function.
    pub function: usize,
    /// How to call it.
    pub invoke: Invoke,
    /// Whether the program says that it commutes.
    pub commutes: bool,
}

/// A reduction operation.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// One of the standard's.
    Predefined(Predefined),
    /// One of the program's.
    User(UserOp),
    /// The library's own: combines proposals for a context ([`combine`]).
    Proposals,
}

/// The predefined type whose values this type's are, one by one.
fn operand(datatype: &Datatype) -> Option<Builtin> {
    match datatype.constructor() {
        Constructor::Named(builtin) => Some(*builtin),
        Constructor::F90Real { base, .. }
        | Constructor::F90Complex { base, .. }
        | Constructor::F90Integer { base, .. } => Some(*base),
        Constructor::Dup(original) => operand(original),
        _ => None,
    }
}

impl Op {
    /// Whether the order of operands does not matter.
    #[must_use]
    pub fn commutes(&self) -> bool {
        match self {
            Self::Predefined(op) => !matches!(op, Predefined::Replace | Predefined::NoOp),
            Self::User(user) => user.commutes,
            Self::Proposals => true,
        }
    }

    /// Checks that values of `datatype` may be operands; otherwise `MPI_ERR_OP`.
    pub fn check(&self, datatype: &Datatype) -> Result<()> {
        let Self::Predefined(op) = self else { return Ok(()) };
        if matches!(op, Predefined::Replace | Predefined::NoOp) {
            return Ok(());
        }
        match operand(datatype) {
            Some(builtin) if op.accepts(builtin.class()) => Ok(()),
            Some(builtin) => bail!(Op, "{} is not defined for {}", op.name(), builtin.name()),
            None => bail!(
                Op,
                "{} is defined for predefined datatypes only; make an operation with MPI_Op_create",
                op.name()
            ),
        }
    }

    /// `inout[i] = input[i] op inout[i]` for `count` values of `datatype`.
    ///
    /// The buffers are as a call would be given them: displacements of the type are relative to
    /// them.
    pub fn apply(
        &self,
        input: UserPtr,
        inout: UserPtr,
        count: usize,
        datatype: &Datatype,
    ) -> Result<()> {
        match self {
            Self::User(user) => {
                if count > 0 {
                    (user.invoke)(user.function, input.as_ptr(), inout.as_ptr(), count, datatype);
                }
                Ok(())
            }
            Self::Proposals => {
                let words = datatype.size() as usize / 8;
                for value in 0..count {
                    let at = (value * words * 8) as i64;
                    let read = |from: UserPtr| -> Vec<u64> {
                        (0..words).map(|i| from.offset(at + 8 * i as i64).load()).collect()
                    };
                    let mut ours = read(inout);
                    combine(&mut ours, &read(input));
                    for (i, word) in ours.iter().enumerate() {
                        inout.offset(at + 8 * i as i64).store(*word);
                    }
                }
                Ok(())
            }
            Self::Predefined(Predefined::NoOp) => Ok(()),
            Self::Predefined(Predefined::Replace) => {
                crate::datatype::copy(input, count as u64, datatype, inout, count as u64, datatype);
                Ok(())
            }
            Self::Predefined(op) => {
                self.check(datatype)?;
                if let Some(builtin) = operand(datatype) {
                    kernel::apply(*op, builtin.class(), builtin.extent(), input, inout, count);
                }
                Ok(())
            }
        }
    }
}

/// The number of an operation: the predefined ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

impl OpId {
    /// The number of a predefined operation.
    #[must_use]
    pub const fn predefined(op: Predefined) -> Self {
        Self(op as u32)
    }
}

const FIRST_USER: u32 = Predefined::ALL.len() as u32;

/// All operations of a rank.
#[derive(Debug)]
pub struct OpTable {
    predefined: Vec<Arc<Op>>,
    user: Slab<Arc<Op>>,
}

impl Default for OpTable {
    fn default() -> Self {
        let predefined = Predefined::ALL.iter().map(|&op| Arc::new(Op::Predefined(op))).collect();
        Self { predefined, user: Slab::new() }
    }
}

impl OpTable {
    /// `MPI_Op_create`
    pub fn create(&mut self, op: UserOp) -> Result<OpId> {
        Ok(OpId(FIRST_USER + self.user.insert(Arc::new(Op::User(op)))?))
    }

    /// Changes how an operation of the program is called.
    pub fn set_invoke(&mut self, id: OpId, invoke: Invoke) {
        if let Some(index) = id.0.checked_sub(FIRST_USER)
            && let Some(op) = self.user.get_mut(index)
            && let Op::User(made) = **op
        {
            *op = Arc::new(Op::User(UserOp { invoke, ..made }));
        }
    }

    /// The operation with this number.
    pub fn get(&self, id: OpId) -> Result<&Arc<Op>> {
        let found = match id.0.checked_sub(FIRST_USER) {
            None => self.predefined.get(id.0 as usize),
            Some(index) => self.user.get(index),
        };
        match found {
            Some(op) => Ok(op),
            None => bail!(Op, "there is no operation with this handle: was it freed?"),
        }
    }

    /// `MPI_Op_free`; reductions that are not complete keep the operation alive.
    pub fn free(&mut self, id: OpId) -> Result<()> {
        match id.0.checked_sub(FIRST_USER) {
            None => bail!(Op, "a predefined operation cannot be freed"),
            Some(index) => match self.user.remove(index) {
                Some(_) => Ok(()),
                None => bail!(Op, "there is no operation with this handle: was it freed before?"),
            },
        }
    }
}
