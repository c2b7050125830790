//! Arithmetic of the x87's 80-bit numbers, C's `long double`, for which Rust has no type.
//!
//! Each function is one short piece of assembly. It leaves the x87 stack as it found it: the ABI
//! demands an empty stack at a call. The unused six bytes of a result are zero.

use std::arch::asm;

macro_rules! binary {
    ($(#[$doc:meta])* $name:ident, $instruction:literal) => {
        $(#[$doc])*
        pub(super) fn $name(a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
            let mut result = [0u8; 16];
            // SAFETY: reads ten bytes of each operand and writes ten of the result, all sixteen
            // long. Pushes two numbers and pops two. Every x87 register is declared clobbered.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{result}]",
                    a = in(reg) a.as_ptr(),
                    b = in(reg) b.as_ptr(),
                    result = in(reg) result.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}

binary!(
    /// `a + b`
    add, "faddp st(1), st"
);
binary!(
    /// `a * b`
    multiply, "fmulp st(1), st"
);

/// `a - b`, as `a + (-b)`: the mnemonics of x87 subtraction mean opposite things to assemblers.
pub(super) fn subtract(a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
    let mut negative = *b;
    negative[9] ^= 0x80;
    add(a, &negative)
}

/// `a < b`; false if one is not a number.
pub(super) fn less(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let above: u8;
    // SAFETY: reads ten bytes of each operand; pushes two numbers and pops two; every x87 register
    // and, by default, the flags are declared clobbered.
    unsafe {
        asm!(
            "fld tbyte ptr [{a}]",
            "fld tbyte ptr [{b}]",
            // Compares b (on top) with a: "above" means b > a, and is false when unordered.
            "fucomip st, st(1)",
            "fstp st(0)",
            "seta {above}",
            a = in(reg) a.as_ptr(),
            b = in(reg) b.as_ptr(),
            above = lateout(reg_byte) above,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack, readonly),
        );
    }
    above != 0
}
