//! The predefined datatypes: sizes, alignments and what a value of each means to a reduction.
//!
//! Sizes are those of the System V ABI for x86-64 and of GNU Fortran with default kinds. They are
//! also compiled into the handles of the MPICH ABI; a test compares the two.

/// The meaning of the bytes of one value, independent of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repr {
    /// Signed integer of that many bytes.
    Int(u8),
    /// Unsigned integer of that many bytes.
    Uint(u8),
    /// IEEE 754 binary number of that many bytes: 2, 4 or 8.
    Float(u8),
    /// The 80-bit number of the x87 in 16 bytes.
    Extended,
    /// IEEE 754 binary128.
    Quad,
}

/// What a value of a predefined type means to the predefined operations (MPI-3.1, 5.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// C or Fortran integer.
    Integer(Repr),
    /// Floating point number.
    Floating(Repr),
    /// A real and an imaginary part of this representation.
    Complex(Repr),
    /// Truth value in an integer of that many bytes: zero is false.
    Logical(u8),
    /// Uninterpreted 8 bits.
    Byte,
    /// A character: not an operand, except that `MPI_CHAR` is accepted as a small integer.
    Character(Repr),
    /// A value and an index, for `MPI_MAXLOC` and `MPI_MINLOC`.
    Pair {
        /// Representation of the value, which lies first.
        value: Repr,
        /// Representation of the index.
        index: Repr,
        /// Where the index lies.
        index_at: u8,
    },
    /// `MPI_PACKED`.
    Packed,
    /// `MPI_LB` or `MPI_UB`: no data.
    Marker,
}

macro_rules! builtins {
    ($($(#[$doc:meta])* $id:ident, $name:literal, size $size:literal, extent $extent:literal, align $align:literal, $class:expr;)*) => {
        /// Every predefined datatype.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Builtin {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[$doc])*
                $id,
            )*
        }

        impl Builtin {
            /// All of them, in the order of the enum.
            pub const ALL: &'static [Builtin] = &[$(Builtin::$id),*];

            /// The name of the constant in `mpi.h`, which is also the initial name of the type.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Builtin::$id => $name,)* }
            }

            /// Bytes of data in one value.
            #[must_use]
            pub const fn size(self) -> u64 {
                match self { $(Builtin::$id => $size,)* }
            }

            /// Bytes from one value to the next in an array.
            #[must_use]
            pub const fn extent(self) -> u64 {
                match self { $(Builtin::$id => $extent,)* }
            }

            /// The alignment that a compiler gives a member of this type.
            #[must_use]
            pub const fn align(self) -> u32 {
                match self { $(Builtin::$id => $align,)* }
            }

            /// What a value means to a reduction.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Builtin::$id => $class,)* }
            }
        }
    };
}

use Class::{Byte as Octet, Character as Chars, Complex as Cplx, Floating, Integer as Whole};
use Class::{Logical as Truth, Marker, Packed as Stream};
use Repr::{Extended, Float as Fp, Int as S, Quad, Uint as U};

const fn pair(value: Repr, index: Repr, index_at: u8) -> Class {
    Class::Pair { value, index, index_at }
}

builtins! {
    Char, "MPI_CHAR", size 1, extent 1, align 1, Chars(S(1));
    SignedChar, "MPI_SIGNED_CHAR", size 1, extent 1, align 1, Whole(S(1));
    UnsignedChar, "MPI_UNSIGNED_CHAR", size 1, extent 1, align 1, Whole(U(1));
    Byte, "MPI_BYTE", size 1, extent 1, align 1, Octet;
    Wchar, "MPI_WCHAR", size 4, extent 4, align 4, Chars(S(4));
    Short, "MPI_SHORT", size 2, extent 2, align 2, Whole(S(2));
    UnsignedShort, "MPI_UNSIGNED_SHORT", size 2, extent 2, align 2, Whole(U(2));
    Int, "MPI_INT", size 4, extent 4, align 4, Whole(S(4));
    Unsigned, "MPI_UNSIGNED", size 4, extent 4, align 4, Whole(U(4));
    Long, "MPI_LONG", size 8, extent 8, align 8, Whole(S(8));
    UnsignedLong, "MPI_UNSIGNED_LONG", size 8, extent 8, align 8, Whole(U(8));
    Float, "MPI_FLOAT", size 4, extent 4, align 4, Floating(Fp(4));
    Double, "MPI_DOUBLE", size 8, extent 8, align 8, Floating(Fp(8));
    LongDouble, "MPI_LONG_DOUBLE", size 16, extent 16, align 16, Floating(Extended);
    LongLong, "MPI_LONG_LONG_INT", size 8, extent 8, align 8, Whole(S(8));
    UnsignedLongLong, "MPI_UNSIGNED_LONG_LONG", size 8, extent 8, align 8, Whole(U(8));
    Packed, "MPI_PACKED", size 1, extent 1, align 1, Stream;
    Lb, "MPI_LB", size 0, extent 0, align 1, Marker;
    Ub, "MPI_UB", size 0, extent 0, align 1, Marker;
    FloatInt, "MPI_FLOAT_INT", size 8, extent 8, align 4, pair(Fp(4), S(4), 4);
    DoubleInt, "MPI_DOUBLE_INT", size 12, extent 16, align 8, pair(Fp(8), S(4), 8);
    LongInt, "MPI_LONG_INT", size 12, extent 16, align 8, pair(S(8), S(4), 8);
    ShortInt, "MPI_SHORT_INT", size 6, extent 8, align 4, pair(S(2), S(4), 4);
    TwoInt, "MPI_2INT", size 8, extent 8, align 4, pair(S(4), S(4), 4);
    LongDoubleInt, "MPI_LONG_DOUBLE_INT", size 20, extent 32, align 16, pair(Extended, S(4), 16);
    Complex, "MPI_COMPLEX", size 8, extent 8, align 4, Cplx(Fp(4));
    DoubleComplex, "MPI_DOUBLE_COMPLEX", size 16, extent 16, align 8, Cplx(Fp(8));
    Logical, "MPI_LOGICAL", size 4, extent 4, align 4, Truth(4);
    Real, "MPI_REAL", size 4, extent 4, align 4, Floating(Fp(4));
    DoublePrecision, "MPI_DOUBLE_PRECISION", size 8, extent 8, align 8, Floating(Fp(8));
    Integer, "MPI_INTEGER", size 4, extent 4, align 4, Whole(S(4));
    TwoInteger, "MPI_2INTEGER", size 8, extent 8, align 4, pair(S(4), S(4), 4);
    TwoReal, "MPI_2REAL", size 8, extent 8, align 4, pair(Fp(4), Fp(4), 4);
    TwoDoublePrecision, "MPI_2DOUBLE_PRECISION", size 16, extent 16, align 8, pair(Fp(8), Fp(8), 8);
    Character, "MPI_CHARACTER", size 1, extent 1, align 1, Chars(S(1));
    Real4, "MPI_REAL4", size 4, extent 4, align 4, Floating(Fp(4));
    Real8, "MPI_REAL8", size 8, extent 8, align 8, Floating(Fp(8));
    Real16, "MPI_REAL16", size 16, extent 16, align 16, Floating(Quad);
    Complex8, "MPI_COMPLEX8", size 8, extent 8, align 4, Cplx(Fp(4));
    Complex16, "MPI_COMPLEX16", size 16, extent 16, align 8, Cplx(Fp(8));
    Complex32, "MPI_COMPLEX32", size 32, extent 32, align 16, Cplx(Quad);
    Integer1, "MPI_INTEGER1", size 1, extent 1, align 1, Whole(S(1));
    Integer2, "MPI_INTEGER2", size 2, extent 2, align 2, Whole(S(2));
    Integer4, "MPI_INTEGER4", size 4, extent 4, align 4, Whole(S(4));
    Integer8, "MPI_INTEGER8", size 8, extent 8, align 8, Whole(S(8));
    Integer16, "MPI_INTEGER16", size 16, extent 16, align 16, Whole(S(16));
    Int8T, "MPI_INT8_T", size 1, extent 1, align 1, Whole(S(1));
    Int16T, "MPI_INT16_T", size 2, extent 2, align 2, Whole(S(2));
    Int32T, "MPI_INT32_T", size 4, extent 4, align 4, Whole(S(4));
    Int64T, "MPI_INT64_T", size 8, extent 8, align 8, Whole(S(8));
    Uint8T, "MPI_UINT8_T", size 1, extent 1, align 1, Whole(U(1));
    Uint16T, "MPI_UINT16_T", size 2, extent 2, align 2, Whole(U(2));
    Uint32T, "MPI_UINT32_T", size 4, extent 4, align 4, Whole(U(4));
    Uint64T, "MPI_UINT64_T", size 8, extent 8, align 8, Whole(U(8));
    CBool, "MPI_C_BOOL", size 1, extent 1, align 1, Truth(1);
    CFloatComplex, "MPI_C_COMPLEX", size 8, extent 8, align 4, Cplx(Fp(4));
    CDoubleComplex, "MPI_C_DOUBLE_COMPLEX", size 16, extent 16, align 8, Cplx(Fp(8));
    CLongDoubleComplex, "MPI_C_LONG_DOUBLE_COMPLEX", size 32, extent 32, align 16, Cplx(Extended);
    CFloat16, "MPIX_C_FLOAT16", size 2, extent 2, align 2, Floating(Fp(2));
    Aint, "MPI_AINT", size 8, extent 8, align 8, Whole(S(8));
    Offset, "MPI_OFFSET", size 8, extent 8, align 8, Whole(S(8));
    Count, "MPI_COUNT", size 8, extent 8, align 8, Whole(S(8));
    CxxBool, "MPI_CXX_BOOL", size 1, extent 1, align 1, Truth(1);
    CxxFloatComplex, "MPI_CXX_FLOAT_COMPLEX", size 8, extent 8, align 4, Cplx(Fp(4));
    CxxDoubleComplex, "MPI_CXX_DOUBLE_COMPLEX", size 16, extent 16, align 8, Cplx(Fp(8));
    CxxLongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX", size 32, extent 32, align 16, Cplx(Extended);
}

impl Builtin {
    /// The runs of data in one value: displacement and length in bytes, in the order of the
    /// typemap.
    #[must_use]
    pub fn runs(self) -> Vec<(i64, u64)> {
        match self.class() {
            Class::Marker => Vec::new(),
            Class::Pair { index_at, .. } if self.size() != self.extent() => {
                let (first, last) = self.parts();
                vec![(0, first), (i64::from(index_at), last)]
            }
            _ => vec![(0, self.size())],
        }
    }

    /// The basic elements of one value, as `MPI_Get_elements` counts them: the sizes of the two
    /// halves of a pair. `(size, 0)` for all other types, whose values are one element.
    #[must_use]
    pub fn parts(self) -> (u64, u64) {
        match self.class() {
            Class::Pair { index, .. } => {
                let last = match index {
                    Repr::Int(size) | Repr::Uint(size) | Repr::Float(size) => u64::from(size),
                    Repr::Extended | Repr::Quad => 16,
                };
                (self.size() - last, last)
            }
            _ => (self.size(), 0),
        }
    }

    /// How many basic elements one value has for `MPI_Get_elements`.
    #[must_use]
    pub fn elements(self) -> u64 {
        match self.parts() {
            (0, _) => 0,
            (_, 0) => 1,
            _ => 2,
        }
    }
}
