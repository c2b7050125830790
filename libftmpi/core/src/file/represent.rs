//! Representations of data in files: `external32` (big-endian, sizes fixed by the standard: MPI-3.1, 13.5.2)
//! and those that the program registers (13.5.3).
//!
//! Guarantees of `external32`: data whose values have the same size there as here are converted; types with values of
//! another size (`MPI_LONG`, `MPI_WCHAR`…) and structures of different values are refused, never
//! written wrongly. Of registered ones: values may have another size in the file than in memory, as long as
//! a view consists of values of one predefined type; others are refused.

use crate::bail;
use crate::datatype::{Builtin, Class, Datatype, Repr, Signature, TypeId};
use crate::error::Result;
use crate::usermem::UserPtr;

/// Longest name of a representation, with the zero byte of C.
pub const NAME_MAX: usize = 128;

/// One call of a conversion function: `count` values of the type's signature, which lie in the file's
/// buffer one after the other, and in the program's as the type says, from the value `position` on.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Conversion {
    pub user: UserPtr,
    pub datatype: TypeId,
    pub count: u64,
    pub file: UserPtr,
    pub position: u64,
}

/// A representation that the program registered. Its functions are addresses in the program, called by the
/// layer that knows their shapes.
#[derive(Debug)]
pub struct Custom {
    /// Its name.
    pub name: String,
    /// From the file to memory; `None`: as in memory.
    pub read: Option<usize>,
    /// From memory to the file; `None`: as in memory.
    pub write: Option<usize>,
    /// Tells how many bytes a predefined type has in the file.
    pub extent: usize,
    /// The program's pointer for them.
    pub state: usize,
    /// Calls one of the first two; answers with the program's error code, 0 if there was none.
    pub convert: fn(custom: &Custom, function: usize, what: Conversion) -> i32,
    /// Calls the third.
    pub size_of: fn(custom: &Custom, builtin: Builtin) -> std::result::Result<i64, i32>,
}

impl Custom {
    /// What one value of the types of a view has: bytes in memory and in the file.
    pub fn sizes(&self, etype: &Datatype, filetype: &Datatype) -> Result<(u64, u64)> {
        let (base, of_file) = match (etype.signature(), filetype.signature()) {
            (Signature::Homogeneous(base), Signature::Homogeneous(other)) if base == other => {
                (base, (self.size_of)(self, base))
            }
            _ => bail!(
                UnsupportedDatarep,
                "representation '{}' is there for views made of one predefined datatype",
                self.name
            ),
        };
        match of_file {
            Ok(bytes @ 1..=0xffff) => Ok((Datatype::builtin(base).size(), bytes as u64)),
            Ok(bytes) => bail!(
                Conversion,
                "the extent of {} in representation '{}' is {bytes}",
                base.name(),
                self.name
            ),
            Err(code) => bail!(
                Conversion,
                "the extent function of representation '{}' answered {code} for {}",
                self.name,
                base.name()
            ),
        }
    }

    /// Converts all values of a buffer, in calls that an `int` can count.
    pub fn convert_all(&self, function: usize, mut what: Conversion, file_size: u64) -> Result<()> {
        let mut left = what.count;
        while left > 0 {
            what.count = left.min(i32::MAX as u64);
            let code = (self.convert)(self, function, what);
            if code != 0 {
                bail!(
                    Conversion,
                    "a conversion function of representation '{}' answered {code}",
                    self.name
                );
            }
            left -= what.count;
            what.position += what.count;
            what.file = what.file.offset((what.count * file_size) as i64);
        }
        Ok(())
    }
}

/// Bytes that are turned around together in the packed data of a type; 1: none.
pub fn unit(datatype: &Datatype) -> Result<usize> {
    let base = match datatype.signature() {
        Signature::Empty => return Ok(1),
        Signature::Homogeneous(base) => base,
        Signature::Mixed => bail!(
            UnsupportedDatarep,
            "external32 is there for datatypes made of one predefined one, this one mixes several"
        ),
    };
    let other = matches!(
        base,
        Builtin::Long | Builtin::UnsignedLong | Builtin::Wchar | Builtin::LongDouble
    );
    let repr = match base.class() {
        Class::Integer(repr)
        | Class::Floating(repr)
        | Class::Complex(repr)
        | Class::Character(repr)
            if !other =>
        {
            repr
        }
        Class::Logical(size) => Repr::Uint(size),
        Class::Byte | Class::Packed => return Ok(1),
        _ => bail!(
            UnsupportedDatarep,
            "{} has another size in external32: use a type of fixed size",
            base.name()
        ),
    };
    match repr {
        Repr::Int(size) | Repr::Uint(size) | Repr::Float(size) => Ok(usize::from(size)),
        Repr::Extended | Repr::Quad => {
            bail!(UnsupportedDatarep, "{} cannot be converted to external32", base.name())
        }
    }
}

/// Turns every value of packed data around.
pub fn turn(data: &mut [u8], unit: usize) {
    if unit > 1 {
        data.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_turn_around_and_back() {
        let vector = Datatype::vector(3, 1, 2, Datatype::builtin(Builtin::Int)).unwrap();
        assert_eq!(unit(&vector).unwrap(), 4);
        let mut data = [1, 2, 3, 4, 5, 6, 7, 8];
        turn(&mut data, 4);
        assert_eq!(data, [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(unit(Datatype::builtin(Builtin::DoubleComplex)).unwrap(), 8);
        assert_eq!(unit(Datatype::builtin(Builtin::Char)).unwrap(), 1);
        for refused in [Builtin::Long, Builtin::LongDouble, Builtin::DoubleInt] {
            assert!(unit(Datatype::builtin(refused)).is_err());
        }
    }
}
