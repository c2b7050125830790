//! The numbers that reductions compute with, behind two traits.

use super::{extended, half, quad};
use crate::usermem::Plain;

/// A real number or an integer.
pub(super) trait Number: Plain {
    /// `a + b`; integers wrap.
    fn add(a: Self, b: Self) -> Self;
    /// `a - b`; for products of complex numbers.
    fn subtract(a: Self, b: Self) -> Self;
    /// `a * b`; integers wrap.
    fn multiply(a: Self, b: Self) -> Self;
    /// `a < b`; false if one is not a number.
    fn less(a: Self, b: Self) -> bool;
    /// Whether C takes it for true.
    fn truth(self) -> bool;
    /// One or zero.
    fn from_truth(truth: bool) -> Self;
}

/// An integer with its bits.
pub(super) trait Bits: Number {
    fn and(a: Self, b: Self) -> Self;
    fn or(a: Self, b: Self) -> Self;
    fn xor(a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn add(a: Self, b: Self) -> Self { a.wrapping_add(b) }
            #[inline(always)]
            fn subtract(a: Self, b: Self) -> Self { a.wrapping_sub(b) }
            #[inline(always)]
            fn multiply(a: Self, b: Self) -> Self { a.wrapping_mul(b) }
            #[inline(always)]
            fn less(a: Self, b: Self) -> bool { a < b }
            #[inline(always)]
            fn truth(self) -> bool { self != 0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self { truth as $t }
        }
        impl Bits for $t {
            #[inline(always)]
            fn and(a: Self, b: Self) -> Self { a & b }
            #[inline(always)]
            fn or(a: Self, b: Self) -> Self { a | b }
            #[inline(always)]
            fn xor(a: Self, b: Self) -> Self { a ^ b }
        }
    )* };
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);

macro_rules! floats {
    ($($t:ty)*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn add(a: Self, b: Self) -> Self { a + b }
            #[inline(always)]
            fn subtract(a: Self, b: Self) -> Self { a - b }
            #[inline(always)]
            fn multiply(a: Self, b: Self) -> Self { a * b }
            #[inline(always)]
            fn less(a: Self, b: Self) -> bool { a < b }
            #[inline(always)]
            fn truth(self) -> bool { self != 0.0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self { if truth { 1.0 } else { 0.0 } }
        }
    )* };
}
floats!(f32 f64);

/// An IEEE 754 binary16 number, computed with as a binary32. Sums and products are then rounded
/// correctly, since 24 bits are at least twice 11 and two more.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(super) struct F16(pub(super) u16);
// SAFETY: a transparent integer.
unsafe impl Plain for F16 {}

impl Number for F16 {
    fn add(a: Self, b: Self) -> Self {
        Self(half::from_f32(half::to_f32(a.0) + half::to_f32(b.0)))
    }
    fn subtract(a: Self, b: Self) -> Self {
        Self(half::from_f32(half::to_f32(a.0) - half::to_f32(b.0)))
    }
    fn multiply(a: Self, b: Self) -> Self {
        Self(half::from_f32(half::to_f32(a.0) * half::to_f32(b.0)))
    }
    fn less(a: Self, b: Self) -> bool {
        half::to_f32(a.0) < half::to_f32(b.0)
    }
    fn truth(self) -> bool {
        self.0 & 0x7fff != 0
    }
    fn from_truth(truth: bool) -> Self {
        Self(if truth { 0x3c00 } else { 0 })
    }
}

/// A `long double` of x86-64: 80 bits in 16 bytes.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct F80(pub(super) [u8; 16]);
// SAFETY: transparent bytes.
unsafe impl Plain for F80 {}

impl Number for F80 {
    fn add(a: Self, b: Self) -> Self {
        Self(extended::add(&a.0, &b.0))
    }
    fn subtract(a: Self, b: Self) -> Self {
        Self(extended::subtract(&a.0, &b.0))
    }
    fn multiply(a: Self, b: Self) -> Self {
        Self(extended::multiply(&a.0, &b.0))
    }
    fn less(a: Self, b: Self) -> bool {
        extended::less(&a.0, &b.0)
    }
    fn truth(self) -> bool {
        self.0[..8] != [0; 8] || self.0[8] != 0 || self.0[9] & 0x7f != 0
    }
    fn from_truth(truth: bool) -> Self {
        let mut bytes = [0; 16];
        if truth {
            bytes[7] = 0x80;
            bytes[8..10].copy_from_slice(&0x3fffu16.to_le_bytes());
        }
        Self(bytes)
    }
}

/// An IEEE 754 binary128 number, which is what `REAL(16)` is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(super) struct F128(pub(super) u128);
// SAFETY: a transparent integer.
unsafe impl Plain for F128 {}

impl Number for F128 {
    fn add(a: Self, b: Self) -> Self {
        Self(quad::add(a.0, b.0))
    }
    fn subtract(a: Self, b: Self) -> Self {
        Self(quad::add(a.0, b.0 ^ (1 << 127)))
    }
    fn multiply(a: Self, b: Self) -> Self {
        Self(quad::multiply(a.0, b.0))
    }
    fn less(a: Self, b: Self) -> bool {
        quad::less(a.0, b.0)
    }
    fn truth(self) -> bool {
        self.0 << 1 != 0
    }
    fn from_truth(truth: bool) -> Self {
        Self(if truth { 0x3fff << 112 } else { 0 })
    }
}
