//! Predefined operations against plain arithmetic.

use super::*;
use crate::usermem::Scratch;
use proptest::prelude::*;

/// Applies `op` to two arrays of values of `builtin`, given and returned as bytes, at an odd
/// address.
fn reduce(op: Predefined, builtin: Builtin, a: &[u8], b: &[u8]) -> Vec<u8> {
    assert_eq!(a.len(), b.len());
    let (mut left, mut right) = (Scratch::new(a.len() + 1), Scratch::new(b.len() + 1));
    left.as_mut_slice()[1..].copy_from_slice(a);
    right.as_mut_slice()[1..].copy_from_slice(b);
    let count = a.len() / builtin.extent() as usize;
    // SAFETY: both outlive the call, no slice is held.
    let (l, r) = unsafe { (left.ptr().offset(1), right.ptr().offset(1)) };
    Op::Predefined(op).apply(l, r, count, Datatype::builtin(builtin)).unwrap();
    right.as_slice()[1..].to_vec()
}

macro_rules! against {
    ($test:ident, $t:ty, $builtin:ident, $($op:ident => $f:expr),*) => {
        proptest! {
            #[test]
            fn $test(pairs in prop::collection::vec(any::<($t, $t)>(), 0..40)) {
                let left: Vec<u8> = pairs.iter().flat_map(|p| p.0.to_ne_bytes()).collect();
                let right: Vec<u8> = pairs.iter().flat_map(|p| p.1.to_ne_bytes()).collect();
                $(
                    let f: fn($t, $t) -> $t = $f;
                    let want: Vec<u8> = pairs.iter().flat_map(|p| f(p.0, p.1).to_ne_bytes()).collect();
                    prop_assert_eq!(reduce(Predefined::$op, Builtin::$builtin, &left, &right), want);
                )*
            }
        }
    };
}

against!(ints, i32, Int,
    Max => i32::max, Min => i32::min, Sum => i32::wrapping_add, Prod => i32::wrapping_mul,
    Band => |a, b| a & b, Bor => |a, b| a | b, Bxor => |a, b| a ^ b,
    Land => |a, b| (a != 0 && b != 0) as i32, Lor => |a, b| (a != 0 || b != 0) as i32,
    Lxor => |a, b| ((a != 0) != (b != 0)) as i32);
against!(small_ints, i8, SignedChar, Max => i8::max, Sum => i8::wrapping_add,
    Land => |a, b| (a != 0 && b != 0) as i8);
against!(unsigned, u64, UnsignedLong, Max => u64::max, Min => u64::min, Prod => u64::wrapping_mul);
against!(shorts, u16, UnsignedShort, Max => u16::max, Sum => u16::wrapping_add);
against!(bytes, u8, Byte, Band => |a, b| a & b, Bor => |a, b| a | b, Bxor => |a, b| a ^ b);
against!(bools, u8, CBool, Land => |a, b| (a != 0 && b != 0) as u8, Lor => |a, b| (a != 0 || b != 0) as u8);
against!(logicals, u32, Logical, Lxor => |a, b| ((a != 0) != (b != 0)) as u32);
against!(wide, i128, Integer16, Sum => i128::wrapping_add, Max => i128::max);
against!(floats, f32, Real, Sum => |a, b| a + b, Prod => |a, b| a * b);
against!(doubles, f64, DoublePrecision, Sum => |a, b| a + b, Prod => |a, b| a * b,
    Max => |a, b| if b < a { a } else { b }, Min => |a, b| if a < b { a } else { b });

/// A `long double` with the value of a double, made by hand.
fn extended_of(value: f64) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    if value != 0.0 {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as u16 + 16383 - 1023;
        let mantissa = 1 << 63 | (bits & ((1 << 52) - 1)) << 11;
        bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
        bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
    }
    bytes[9] |= if value.is_sign_negative() { 0x80 } else { 0 };
    bytes
}

/// A binary128 with the value of a double, made by hand.
fn quad_of(value: f64) -> [u8; 16] {
    let bits = u128::from(value.to_bits());
    let sign = bits >> 63 << 127;
    let magnitude = if value == 0.0 {
        0
    } else {
        ((bits >> 52 & 0x7ff) + 16383 - 1023) << 112 | (bits & ((1 << 52) - 1)) << 60
    };
    (sign | magnitude).to_ne_bytes()
}

proptest! {
    // Integers of 31 bits: sums and products are exact in every format.
    #[test]
    fn long_doubles_and_quads(a in any::<i32>(), b in any::<i32>(), c in any::<i32>(), d in any::<i32>()) {
        let (a, b, c, d) = (f64::from(a >> 8), f64::from(b >> 8), f64::from(c >> 8), f64::from(d >> 8));
        for (make, real, complex) in [
            (extended_of as fn(f64) -> [u8; 16], Builtin::LongDouble, Builtin::CLongDoubleComplex),
            (quad_of, Builtin::Real16, Builtin::Complex32),
        ] {
            let run = |op| reduce(op, real, &make(a), &make(b));
            prop_assert_eq!(run(Predefined::Sum), make(a + b));
            // Zero of a product may be negative.
            prop_assert_eq!(run(Predefined::Prod), make(a * b));
            prop_assert_eq!(run(Predefined::Max), make(a.max(b)));
            prop_assert_eq!(run(Predefined::Min), make(a.min(b)));
            prop_assert_eq!(run(Predefined::Lxor), make(f64::from((a != 0.0) != (b != 0.0))));
            let left = [make(a), make(b)].concat();
            let right = [make(c), make(d)].concat();
            let sum = [make(a + c), make(b + d)].concat();
            prop_assert_eq!(reduce(Predefined::Sum, complex, &left, &right), sum);
            let product = [make(a * c - b * d), make(a * d + b * c)].concat();
            prop_assert_eq!(reduce(Predefined::Prod, complex, &left, &right), product);
        }
    }

    #[test]
    fn complex_products(a in any::<[i16; 4]>()) {
        let [a, b, c, d] = a.map(f64::from);
        let pack = |x: f64, y: f64| [x.to_ne_bytes(), y.to_ne_bytes()].concat();
        let got = reduce(Predefined::Prod, Builtin::DoubleComplex, &pack(a, b), &pack(c, d));
        prop_assert_eq!(got, pack(a * c - b * d, a * d + b * c));
    }

    #[test]
    fn locations(items in prop::collection::vec((0i32..4, 0i32..5, 0i32..4, 0i32..5), 0..20)) {
        for maximum in [false, true] {
            let op = if maximum { Predefined::Maxloc } else { Predefined::Minloc };
            let pick = |(v, i, w, j): (i32, i32, i32, i32)| {
                if v == w { (v, i.min(j)) } else if (v > w) == maximum { (v, i) } else { (w, j) }
            };
            // A value of 8 bytes, an index, and padding that must not be touched.
            let pad = |v: i32, i: i32, pad: u8| {
                [&i64::from(v).to_ne_bytes()[..], &i.to_ne_bytes(), &[pad; 4]].concat()
            };
            let left: Vec<u8> = items.iter().flat_map(|t| pad(t.0, t.1, 1)).collect();
            let right: Vec<u8> = items.iter().flat_map(|t| pad(t.2, t.3, 2)).collect();
            let want: Vec<u8> = items.iter().flat_map(|&t| pad(pick(t).0, pick(t).1, 2)).collect();
            prop_assert_eq!(reduce(op, Builtin::LongInt, &left, &right), want);
            let two = |v: i32, i: i32| [(v as f32).to_ne_bytes(), (i as f32).to_ne_bytes()].concat();
            let left: Vec<u8> = items.iter().flat_map(|t| two(t.0, t.1)).collect();
            let right: Vec<u8> = items.iter().flat_map(|t| two(t.2, t.3)).collect();
            let want: Vec<u8> = items.iter().flat_map(|&t| two(pick(t).0, pick(t).1)).collect();
            prop_assert_eq!(reduce(op, Builtin::TwoReal, &left, &right), want);
        }
    }
}

#[test]
fn halves_convert_there_and_back() {
    for bits in 0..=u16::MAX {
        let value = half::to_f32(bits);
        if value.is_nan() {
            assert!(half::to_f32(half::from_f32(value)).is_nan());
        } else {
            assert_eq!(half::from_f32(value), bits, "{value}");
        }
    }
    // Ties go to even; what is too large becomes infinite.
    assert_eq!(half::from_f32(2049.0), 0x6800);
    assert_eq!(half::from_f32(2051.0), 0x6802);
    assert_eq!(half::from_f32(65519.0), 0x7bff);
    assert_eq!(half::from_f32(65520.0), 0x7c00);
    assert_eq!(half::from_f32(1.0e9), 0x7c00);
    assert_eq!(half::from_f32(2.0f32.powi(-25)), 0);
    assert_eq!(half::from_f32(2.0f32.powi(-25) * 1.01), 1);
}

#[test]
fn operands_are_checked() {
    use crate::error::ErrorClass;
    let refused = |op, builtin| {
        let checked = Op::Predefined(op).check(Datatype::builtin(builtin));
        checked.is_err_and(|e| e.class == ErrorClass::Op)
    };
    assert!(refused(Predefined::Max, Builtin::DoubleComplex));
    assert!(refused(Predefined::Band, Builtin::Double));
    assert!(refused(Predefined::Sum, Builtin::Byte));
    assert!(refused(Predefined::Sum, Builtin::FloatInt));
    assert!(refused(Predefined::Maxloc, Builtin::Int));
    assert!(refused(Predefined::Sum, Builtin::Packed));
    assert!(refused(Predefined::Sum, Builtin::Wchar));
    assert!(!refused(Predefined::Sum, Builtin::Count));
    let pair = Datatype::contiguous(2, Datatype::builtin(Builtin::Int)).unwrap();
    assert!(Op::Predefined(Predefined::Sum).check(&pair).is_err());
    let same = Datatype::dup(Datatype::builtin(Builtin::Int)).unwrap();
    assert!(Op::Predefined(Predefined::Sum).check(&same).is_ok());
}

#[test]
fn the_programs_operation_is_called_with_everything() {
    fn invoke(function: usize, input: *mut c_void, inout: *mut c_void, count: usize, t: &Datatype) {
        assert_eq!((function, count, t.size()), (77, 3, 4));
        // SAFETY: the test hands over two buffers that hold three ints.
        let (input, inout) = unsafe { (UserPtr::new(input), UserPtr::new(inout)) };
        crate::usermem::combine::<i32>(input, inout, count, |a, b| 10 * a + b);
    }
    let mut table = OpTable::default();
    let id = table.create(UserOp { function: 77, invoke, commutes: false }).unwrap();
    let op = table.get(id).unwrap().clone();
    assert!(!op.commutes());
    table.free(id).unwrap();
    assert!(table.get(id).is_err());
    assert!(table.free(id).is_err());
    assert!(table.free(OpId::predefined(Predefined::Sum)).is_err());
    let (mut a, mut b) = ([1i32, 2, 3], [4i32, 5, 6]);
    // SAFETY: both arrays outlive the call.
    let (pa, pb) =
        unsafe { (UserPtr::new(a.as_mut_ptr().cast()), UserPtr::new(b.as_mut_ptr().cast())) };
    op.apply(pa, pb, 3, Datatype::builtin(Builtin::Int)).unwrap();
    assert_eq!(b, [14, 25, 36]);
}
