//! Handles of the MPICH ABI: what the 32 bits mean, and how they become ids of the core and back.
//!
//! Guarantees: predefined handles have the values that `mpi.h` compiles into applications. A handle
//! of another kind, a null handle or garbage is refused with the error class of the expected kind.
//! None of them is mistaken for an object.
//!
//! Layout: bits 30–31 say null (00), predefined (01), made at run time (10). Bits 26–29 say of
//! which kind the object is. The rest is its number. A predefined datatype carries its size in bits
//! 8–15.

use ftmpi_core::error::{ErrorClass, MpiError};

/// Bits 30–31 and 26–29.
const KIND: u32 = 0xfc00_0000;
const INDEX: u32 = 0x03ff_ffff;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: kind $kind:literal, $class:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        #[allow(dead_code)]
        impl $name {
            const PREDEFINED: u32 = 0x4000_0000 | ($kind << 26);
            const MADE: u32 = 0x8000_0000 | ($kind << 26);
            pub const NULL: Self = Self($kind << 26);

            /// The handle of the predefined object number `index`.
            pub const fn predefined(index: u32) -> Self {
                Self(Self::PREDEFINED | index)
            }

            /// The handle of the object number `index` that was made at run time.
            pub const fn made(index: u32) -> Self {
                Self(Self::MADE | (index & INDEX))
            }

            /// The number, if this is a predefined object.
            pub const fn predefined_index(self) -> Option<u32> {
                if self.0 & KIND == Self::PREDEFINED { Some(self.0 & INDEX) } else { None }
            }

            /// The number, if this is an object made at run time.
            pub const fn made_index(self) -> Option<u32> {
                if self.0 & KIND == Self::MADE { Some(self.0 & INDEX) } else { None }
            }

            /// Why this handle cannot be used where a handle of this kind is expected.
            #[cold]
            pub fn refuse(self) -> MpiError {
                refuse(self.0, Self::NULL.0, stringify!($name), ErrorClass::$class)
            }
        }
    )* };
}

handles! {
    /// `MPI_Comm`
    Comm: kind 1, Comm;
    /// `MPI_Group`
    Group: kind 2, Group;
    /// `MPI_Datatype`
    Datatype: kind 3, Type;
    /// `MPI_Errhandler`
    Errhandler: kind 5, Arg;
    /// `MPI_Op`
    Op: kind 6, Op;
    /// `MPI_Info`
    Info: kind 7, Info;
    /// `MPI_Win`
    Win: kind 8, Win;
    /// `MPI_Session`
    Session: kind 14, Session;
    /// An attribute key, an `int`.
    Keyval: kind 9, Keyval;
}

#[cold]
fn refuse(handle: u32, null: u32, kind: &str, class: ErrorClass) -> MpiError {
    if handle == null {
        class.because(format!("MPI_{}_NULL was given", kind.to_uppercase()))
    } else if handle & 0x3c00_0000 == null {
        class.because(format!("{handle:#010x} is no valid {kind} handle"))
    } else {
        class.because(format!("{handle:#010x} is not a {kind} handle"))
    }
}

impl Comm {
    pub const WORLD: Self = Self::predefined(0);
    pub const SELF: Self = Self::predefined(1);
}

impl Group {
    pub const EMPTY: Self = Self::predefined(0);
}

impl Errhandler {
    pub const ARE_FATAL: Self = Self::predefined(0);
    pub const RETURN: Self = Self::predefined(1);
    pub const ABORT: Self = Self::predefined(3);
    /// `MPI::ERRORS_THROW_EXCEPTIONS` of MPICH's C++ bindings.
    pub const THROW: Self = Self::predefined(2);
}

impl Info {
    pub const ENV: Self = Self::predefined(1);
}

/// Permanent attributes; the Fortran key of each is one more.
impl Keyval {
    pub const TAG_UB: Self = Self(0x6440_0001);
    pub const HOST: Self = Self(0x6440_0003);
    pub const IO: Self = Self(0x6440_0005);
    pub const WTIME_IS_GLOBAL: Self = Self(0x6440_0007);
    pub const UNIVERSE_SIZE: Self = Self(0x6440_0009);
    pub const LASTUSEDCODE: Self = Self(0x6440_000b);
    pub const APPNUM: Self = Self(0x6440_000d);
    pub const WIN_BASE: Self = Self(0x6600_0001);
    pub const WIN_SIZE: Self = Self(0x6600_0003);
    pub const WIN_DISP_UNIT: Self = Self(0x6600_0005);
    pub const WIN_CREATE_FLAVOR: Self = Self(0x6600_0007);
    pub const WIN_MODEL: Self = Self(0x6600_0009);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_values_are_those_of_the_header() {
        assert_eq!(Comm::NULL.0, 0x0400_0000);
        assert_eq!(Comm::WORLD.0, 0x4400_0000);
        assert_eq!(Comm::SELF.0, 0x4400_0001);
        assert_eq!(Group::NULL.0, 0x0800_0000);
        assert_eq!(Group::EMPTY.0, 0x4800_0000);
        assert_eq!(Datatype::NULL.0, 0x0c00_0000);
        assert_eq!(Errhandler::NULL.0, 0x1400_0000);
        assert_eq!(Errhandler::ABORT.0, 0x5400_0003);
        assert_eq!(Op::NULL.0, 0x1800_0000);
        assert_eq!(Op::predefined(3).0, 0x5800_0003);
        assert_eq!(Info::NULL.0, 0x1c00_0000);
        assert_eq!(Info::ENV.0, 0x5c00_0001);
        assert_eq!(Win::NULL.0, 0x2000_0000);
        assert_eq!(Session::NULL.0, 0x3800_0000);
        assert_eq!(Keyval::NULL.0, 0x2400_0000);
    }

    #[test]
    fn one_kind_is_never_taken_for_another() {
        let comm = Comm::made(7);
        assert_eq!(comm.made_index(), Some(7));
        assert_eq!(comm.predefined_index(), None);
        assert_eq!(Group(comm.0).made_index(), None);
        assert_eq!(Datatype(comm.0).refuse().class, ErrorClass::Type);
        assert!(Comm::NULL.refuse().text.contains("MPI_COMM_NULL"));
    }
}
