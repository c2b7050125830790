//! The data representation `external32`: big-endian, with fixed sizes (MPI-4.1, 4.3 and 14.5.2).
//!
//! Conversion works on packed streams: the sequence of basic values of a type says how long each is
//! here and there. Values that the smaller external form cannot hold (a `long` of more than 32
//! bits) are refused, never cut.

use super::{Builtin, Class, Constructor, Datatype, Repr};
use crate::bail;
use crate::error::Result;

/// One basic value: how it is stored here and in `external32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    /// The same bytes, most significant first.
    Swapped(usize),
    /// An integer of this many bytes here, fewer there; true: signed.
    Narrower(usize, usize, bool),
    /// The 80-bit number of the x87 here, binary128 there.
    Extended,
}

impl Basic {
    fn of(repr: Repr) -> Self {
        match repr {
            Repr::Int(size) | Repr::Uint(size) | Repr::Float(size) => Self::Swapped(size.into()),
            Repr::Extended => Self::Extended,
            Repr::Quad => Self::Swapped(16),
        }
    }

    fn here(self) -> usize {
        match self {
            Self::Swapped(size) | Self::Narrower(size, ..) => size,
            Self::Extended => 16,
        }
    }

    fn there(self) -> usize {
        match self {
            Self::Swapped(size) | Self::Narrower(_, size, _) => size,
            Self::Extended => 16,
        }
    }

    fn encode(self, from: &[u8], to: &mut [u8]) -> Result<()> {
        match self {
            Self::Swapped(_) => to.iter_mut().zip(from.iter().rev()).for_each(|(t, f)| *t = *f),
            Self::Narrower(_, size, signed) => {
                let (low, high) = from.split_at(size);
                let fill = if signed && low[size - 1] & 0x80 != 0 { 0xff } else { 0 };
                if high.iter().any(|&byte| byte != fill) {
                    bail!(Conversion, "a value does not fit the {size} bytes of external32");
                }
                to.iter_mut().zip(low.iter().rev()).for_each(|(t, f)| *t = *f);
            }
            Self::Extended => {
                let mut bytes = [0; 16];
                bytes[..10].copy_from_slice(&from[..10]);
                to.copy_from_slice(&quad_of(u128::from_le_bytes(bytes)).to_be_bytes());
            }
        }
        Ok(())
    }

    fn decode(self, from: &[u8], to: &mut [u8]) {
        match self {
            Self::Swapped(_) => to.iter_mut().zip(from.iter().rev()).for_each(|(t, f)| *t = *f),
            Self::Narrower(_, _, signed) => {
                to.fill(if signed && from[0] & 0x80 != 0 { 0xff } else { 0 });
                to.iter_mut().zip(from.iter().rev()).for_each(|(t, f)| *t = *f);
            }
            Self::Extended => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(from);
                to.copy_from_slice(&extended_of(u128::from_be_bytes(bytes)).to_le_bytes());
            }
        }
    }
}

/// The binary128 number with the value of an 80-bit one. Both have 15 bits of exponent with the
/// same bias; the 80-bit one shows its leading bit.
fn quad_of(extended: u128) -> u128 {
    let sign = (extended >> 79) & 1;
    let (mut exponent, mut mantissa) = ((extended >> 64) & 0x7fff, extended as u64);
    if exponent == 0 && mantissa != 0 {
        // Subnormal: the exponent is that of 1. If the leading bit is set it is normal there.
        if mantissa >> 63 == 1 {
            exponent = 1;
        }
    } else if exponent != 0 && exponent != 0x7fff && mantissa >> 63 == 0 {
        // An "unnormal", which the processor refuses too: not a number.
        (exponent, mantissa) = (0x7fff, 1 << 62);
    }
    let fraction = u128::from(mantissa & (u64::MAX >> 1)) << 49;
    sign << 127 | exponent << 112 | fraction
}

/// The 80-bit number nearest to a binary128 one (ties to even).
fn extended_of(quad: u128) -> u128 {
    let sign = (quad >> 127) & 1;
    let mut exponent = (quad >> 112) & 0x7fff;
    let fraction = quad & ((1 << 112) - 1);
    if exponent == 0x7fff {
        // Infinity, or not a number, which must not become infinity.
        let payload = (fraction >> 49) as u64;
        let payload = if fraction != 0 && payload == 0 { 1 << 62 } else { payload };
        return sign << 79 | 0x7fff << 64 | u128::from(1 << 63 | payload);
    }
    let leading = u128::from(exponent != 0) << 112;
    let (mut mantissa, rest) = ((leading | fraction) >> 49, fraction & ((1 << 49) - 1));
    let half = 1u128 << 48;
    if rest > half || (rest == half && mantissa & 1 == 1) {
        mantissa += 1;
        if mantissa >> 64 == 1 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    if exponent == 0 && mantissa >> 63 == 1 {
        exponent = 1;
    }
    sign << 79 | exponent << 64 | mantissa
}

impl Builtin {
    /// The basic values of one value, in order.
    fn basics(self) -> ([Basic; 2], usize) {
        let one = |basic| ([basic, basic], 1);
        match self {
            Builtin::Long => return one(Basic::Narrower(8, 4, true)),
            Builtin::UnsignedLong => return one(Basic::Narrower(8, 4, false)),
            Builtin::Wchar => return one(Basic::Narrower(4, 2, false)),
            Builtin::LongInt => {
                return ([Basic::Narrower(8, 4, true), Basic::Swapped(4)], 2);
            }
            _ => {}
        }
        match self.class() {
            Class::Integer(repr) | Class::Floating(repr) | Class::Character(repr) => {
                one(Basic::of(repr))
            }
            Class::Complex(repr) => ([Basic::of(repr); 2], 2),
            Class::Logical(size) => one(Basic::Swapped(size.into())),
            Class::Byte | Class::Packed => one(Basic::Swapped(1)),
            Class::Pair { value, index, .. } => ([Basic::of(value), Basic::of(index)], 2),
            Class::Marker => ([Basic::Swapped(0); 2], 0),
        }
    }
}

impl Datatype {
    /// Shows `visit` the predefined types in the stream of `count` values, in order, each with how
    /// many there are in a row.
    pub(crate) fn for_each_builtin(
        &self,
        count: u64,
        visit: &mut impl FnMut(Builtin, u64) -> Result<()>,
    ) -> Result<()> {
        if count == 0 || self.size() == 0 {
            return Ok(());
        }
        if let Some(builtin) = self.base() {
            return visit(builtin, self.size() / builtin.size() * count);
        }
        if let Constructor::Struct { blocklengths, types, .. } = self.constructor() {
            for _ in 0..count {
                for (&blocklength, member) in blocklengths.iter().zip(types.iter()) {
                    member.for_each_builtin(blocklength as u64, visit)?;
                }
            }
            return Ok(());
        }
        match self.constructor().element_type() {
            Some(element) if element.size() > 0 => {
                element.for_each_builtin(self.size() / element.size() * count, visit)
            }
            _ => bail!(Type, "the datatype has no representation in external32"),
        }
    }

    /// Bytes of one value in `external32`. Sizes beyond any memory saturate.
    fn external_bytes(&self) -> Result<u64> {
        if self.size() == 0 {
            return Ok(0);
        }
        if let Some(builtin) = self.base() {
            let (basics, len) = builtin.basics();
            let one: usize = basics[..len].iter().map(|basic| basic.there()).sum();
            return Ok((self.size() / builtin.size()).saturating_mul(one as u64));
        }
        if let Constructor::Struct { blocklengths, types, .. } = self.constructor() {
            let mut sum = 0u64;
            for (&blocklength, member) in blocklengths.iter().zip(types.iter()) {
                let bytes = member.external_bytes()?.saturating_mul(blocklength as u64);
                sum = sum.saturating_add(bytes);
            }
            return Ok(sum);
        }
        match self.constructor().element_type() {
            Some(element) if element.size() > 0 => {
                Ok(element.external_bytes()?.saturating_mul(self.size() / element.size()))
            }
            _ => bail!(Type, "the datatype has no representation in external32"),
        }
    }

    /// Bytes of `count` values in `external32`.
    pub fn external_size(&self, count: u64) -> Result<u64> {
        match self.external_bytes()?.checked_mul(count) {
            Some(bytes) if bytes <= i64::MAX as u64 => Ok(bytes),
            _ => bail!(Count, "{count} elements of the datatype do not fit into memory"),
        }
    }

    /// The packed stream of `count` values in `external32`.
    pub fn to_external(&self, count: u64, native: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; self.external_size(count)? as usize];
        let (mut from, mut to) = (native, &mut out[..]);
        self.for_each_builtin(count, &mut |builtin, n| {
            let (basics, len) = builtin.basics();
            for _ in 0..n {
                for basic in &basics[..len] {
                    let (Some((value, rest)), true) =
                        (from.split_at_checked(basic.here()), to.len() >= basic.there())
                    else {
                        bail!(Intern, "a packed stream is shorter than its type says")
                    };
                    let (place, behind) = std::mem::take(&mut to).split_at_mut(basic.there());
                    basic.encode(value, place)?;
                    (from, to) = (rest, behind);
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// As much of the packed stream of `count` values as there is of it in `external32`: whole
    /// values only.
    pub fn from_external_part(&self, count: u64, external: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(external.len());
        let (mut from, mut ended) = (external, false);
        self.for_each_builtin(count, &mut |builtin, n| {
            let (basics, len) = builtin.basics();
            for basic in (0..n).flat_map(|_| &basics[..len]) {
                let Some((value, rest)) = from.split_at_checked(basic.there()).filter(|_| !ended)
                else {
                    ended = true;
                    break;
                };
                let begin = out.len();
                out.resize(begin + basic.here(), 0);
                basic.decode(value, &mut out[begin..]);
                from = rest;
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The packed stream of `count` values from `external32`.
    pub fn from_external(&self, count: u64, external: &[u8]) -> Result<Vec<u8>> {
        let Some(bytes) = self.total_size(count) else {
            bail!(Count, "{count} elements of the datatype do not fit into memory");
        };
        // Before room is made for all of them: the number may be anything.
        let needed = self.external_size(count)?;
        if (external.len() as u64) < needed {
            bail!(Truncate, "the packed data end after {} of {needed} bytes", external.len());
        }
        let mut out = vec![0; bytes as usize];
        let (mut from, mut to) = (external, &mut out[..]);
        self.for_each_builtin(count, &mut |builtin, n| {
            let (basics, len) = builtin.basics();
            for _ in 0..n {
                for basic in &basics[..len] {
                    let (Some((value, rest)), true) =
                        (from.split_at_checked(basic.there()), to.len() >= basic.here())
                    else {
                        bail!(Truncate, "the packed data ends before the values do")
                    };
                    let (place, behind) = std::mem::take(&mut to).split_at_mut(basic.here());
                    basic.decode(value, place);
                    (from, to) = (rest, behind);
                }
            }
            Ok(())
        })?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn t(builtin: Builtin) -> &'static Datatype {
        Datatype::builtin(builtin)
    }

    #[test]
    fn sizes_are_those_of_the_standard() {
        for (builtin, size) in [
            (Builtin::Long, 4),
            (Builtin::UnsignedLong, 4),
            (Builtin::Wchar, 2),
            (Builtin::LongDouble, 16),
            (Builtin::CBool, 1),
            (Builtin::Aint, 8),
            (Builtin::CLongDoubleComplex, 32),
            (Builtin::DoubleInt, 12),
            (Builtin::LongInt, 8),
        ] {
            assert_eq!(t(builtin).external_size(3).unwrap(), 3 * size, "{builtin:?}");
        }
    }

    #[test]
    fn values_are_big_endian_and_come_back() {
        let out = t(Builtin::Int).to_external(2, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(out, [4, 3, 2, 1, 8, 7, 6, 5]);
        let long = t(Builtin::Long);
        let native = [(-5i64).to_le_bytes(), 7i64.to_le_bytes()].concat();
        let out = long.to_external(2, &native).unwrap();
        assert_eq!(out, [0xff, 0xff, 0xff, 0xfb, 0, 0, 0, 7]);
        assert_eq!(long.from_external(2, &out).unwrap(), native);
        assert!(long.to_external(1, &(1i64 << 31).to_le_bytes()).is_err());
        assert!(long.from_external(2, &out[..7]).is_err());
    }

    #[test]
    fn the_two_long_formats() {
        // 1.0 and -2.5 of the x87, and their binary128 forms.
        let one = 0x3fff_u128 << 64 | 1 << 63;
        assert_eq!(quad_of(one), 0x3fff_u128 << 112);
        let number = 1 << 79 | 0x4000_u128 << 64 | 0b101 << 61;
        assert_eq!(quad_of(number), 0xc000_4000_u128 << 96);
        assert_eq!(extended_of(0xc000_4000_u128 << 96), number);
        // Rounding carries into the exponent.
        let below_two = 0x3fff_u128 << 112 | ((1 << 112) - 1);
        assert_eq!(extended_of(below_two), 0x4000_u128 << 64 | 1 << 63);
        assert_eq!(extended_of(0x7fff_u128 << 112), 0x7fff_u128 << 64 | 1 << 63);
        assert_ne!(extended_of(0x7fff_u128 << 112 | 1) << 65, 0, "no number becomes no infinity");
    }

    proptest! {
        #[test]
        fn normal_extended_numbers_come_back(sign in 0u128..2, exponent in 1u128..0x7fff, m in any::<u64>()) {
            let number = sign << 79 | exponent << 64 | u128::from(m | 1 << 63);
            prop_assert_eq!(extended_of(quad_of(number)), number);
        }

        #[test]
        fn every_type_comes_back(index in 0..Builtin::ALL.len(), bytes in prop::collection::vec(any::<u8>(), 96)) {
            let datatype = t(Builtin::ALL[index]);
            let native = &bytes[..3 * datatype.size() as usize];
            // Values that do not fit, and padding of long double, are not to come back.
            let narrow = [Builtin::Long, Builtin::UnsignedLong, Builtin::Wchar, Builtin::LongInt];
            let extended = format!("{:?}", Builtin::ALL[index].class()).contains("Extended");
            if !narrow.contains(&Builtin::ALL[index]) && !extended {
                let out = datatype.to_external(3, native).unwrap();
                prop_assert_eq!(out.len() as u64, datatype.external_size(3).unwrap());
                prop_assert_eq!(datatype.from_external(3, &out).unwrap(), native);
            }
        }
    }
}
