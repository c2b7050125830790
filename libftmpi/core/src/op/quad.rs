//! Arithmetic of IEEE 754 binary128 numbers, Fortran's `REAL(16)`, by their bits.
//!
//! The compiler's run-time library, which every Rust program is linked with, has the functions. A
//! binary128 travels in a vector register, for which Rust has no stable type in a signature, so the
//! calls are made by hand.

use std::arch::asm;
use std::arch::x86_64::__m128i;
use std::mem::transmute;

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    // The true signatures are (binary128, binary128) -> binary128 and, for the last, -> int.
    fn __addtf3();
    fn __multf3();
    fn __lttf2();
}

macro_rules! binary {
    ($(#[$doc:meta])* $name:ident, $function:ident) => {
        $(#[$doc])*
        pub(super) fn $name(a: u128, b: u128) -> u128 {
            // SAFETY: the System V ABI: operands in xmm0 and xmm1, result in xmm0, everything else
            // that a call may change declared so. Without `nostack` the stack is aligned and the
            // red zone kept. A pure function. `u128` and `__m128i` are the same 16 plain bytes.
            unsafe {
                let mut value = transmute::<u128, __m128i>(a);
                asm!(
                    "call {function}",
                    function = sym $function,
                    inout("xmm0") value,
                    inout("xmm1") transmute::<u128, __m128i>(b) => _,
                    clobber_abi("C"),
                );
                transmute::<__m128i, u128>(value)
            }
        }
    };
}

binary!(
    /// `a + b`
    add, __addtf3
);
binary!(
    /// `a * b`
    multiply, __multf3
);

/// `a < b`; false if one is not a number.
pub(super) fn less(a: u128, b: u128) -> bool {
    let order: i32;
    // SAFETY: as above; the result is an `int` in eax.
    unsafe {
        asm!(
            "call {function}",
            function = sym __lttf2,
            inout("xmm0") transmute::<u128, __m128i>(a) => _,
            inout("xmm1") transmute::<u128, __m128i>(b) => _,
            lateout("eax") order,
            clobber_abi("C"),
        );
    }
    order < 0
}
