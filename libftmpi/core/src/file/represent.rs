//! The representation `external32`: big-endian, sizes fixed by the standard (MPI-3.1, 13.5.2).
//!
//! Guarantees: data whose values have the same size there as here are converted; types with values of
//! another size (`MPI_LONG`, `MPI_WCHAR`…) and structures of different values are refused, never
//! written wrongly.

use crate::bail;
use crate::datatype::{Builtin, Class, Datatype, Repr, Signature};
use crate::error::Result;

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
