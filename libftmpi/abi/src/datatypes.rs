//! Handles of datatypes.
//!
//! Guarantees: the handle of a predefined type is decoded with one table look-up and one
//! comparison; a handle that MPICH does not define is refused. A type that the program makes has
//! the same number in the core and in its handle.

use crate::calls::Job;
use crate::handle::Datatype;
use ftmpi_core::datatype::{self as core, Builtin, TypeId};
use ftmpi_core::error::Result;

/// `MPI_BYTE`: stands where a datatype argument is not looked at.
pub const BYTE: TypeId = TypeId(Builtin::Byte as u32);

/// The predefined types and their handles in `mpi.h`.
const PREDEFINED: &[(u32, Builtin)] = &[
    (0x4c00_0101, Builtin::Char),
    (0x4c00_0118, Builtin::SignedChar),
    (0x4c00_0102, Builtin::UnsignedChar),
    (0x4c00_010d, Builtin::Byte),
    (0x4c00_040e, Builtin::Wchar),
    (0x4c00_0203, Builtin::Short),
    (0x4c00_0204, Builtin::UnsignedShort),
    (0x4c00_0405, Builtin::Int),
    (0x4c00_0406, Builtin::Unsigned),
    (0x4c00_0807, Builtin::Long),
    (0x4c00_0808, Builtin::UnsignedLong),
    (0x4c00_040a, Builtin::Float),
    (0x4c00_080b, Builtin::Double),
    (0x4c00_100c, Builtin::LongDouble),
    (0x4c00_0809, Builtin::LongLong),
    (0x4c00_0819, Builtin::UnsignedLongLong),
    (0x4c00_010f, Builtin::Packed),
    (0x4c00_0010, Builtin::Lb),
    (0x4c00_0011, Builtin::Ub),
    (0x8c00_0000, Builtin::FloatInt),
    (0x8c00_0001, Builtin::DoubleInt),
    (0x8c00_0002, Builtin::LongInt),
    (0x8c00_0003, Builtin::ShortInt),
    (0x4c00_0816, Builtin::TwoInt),
    (0x8c00_0004, Builtin::LongDoubleInt),
    (0x4c00_081e, Builtin::Complex),
    (0x4c00_1022, Builtin::DoubleComplex),
    (0x4c00_041d, Builtin::Logical),
    (0x4c00_041c, Builtin::Real),
    (0x4c00_081f, Builtin::DoublePrecision),
    (0x4c00_041b, Builtin::Integer),
    (0x4c00_0820, Builtin::TwoInteger),
    (0x4c00_0821, Builtin::TwoReal),
    (0x4c00_1023, Builtin::TwoDoublePrecision),
    (0x4c00_011a, Builtin::Character),
    (0x4c00_0427, Builtin::Real4),
    (0x4c00_0829, Builtin::Real8),
    (0x4c00_102b, Builtin::Real16),
    (0x4c00_0828, Builtin::Complex8),
    (0x4c00_102a, Builtin::Complex16),
    (0x4c00_202c, Builtin::Complex32),
    (0x4c00_012d, Builtin::Integer1),
    (0x4c00_022f, Builtin::Integer2),
    (0x4c00_0430, Builtin::Integer4),
    (0x4c00_0831, Builtin::Integer8),
    (0x4c00_1032, Builtin::Integer16),
    (0x4c00_0137, Builtin::Int8T),
    (0x4c00_0238, Builtin::Int16T),
    (0x4c00_0439, Builtin::Int32T),
    (0x4c00_083a, Builtin::Int64T),
    (0x4c00_013b, Builtin::Uint8T),
    (0x4c00_023c, Builtin::Uint16T),
    (0x4c00_043d, Builtin::Uint32T),
    (0x4c00_083e, Builtin::Uint64T),
    (0x4c00_013f, Builtin::CBool),
    (0x4c00_0840, Builtin::CFloatComplex),
    (0x4c00_1041, Builtin::CDoubleComplex),
    (0x4c00_2042, Builtin::CLongDoubleComplex),
    (0x4c00_0246, Builtin::CFloat16),
    (0x4c00_0843, Builtin::Aint),
    (0x4c00_0844, Builtin::Offset),
    (0x4c00_0845, Builtin::Count),
    (0x4c00_0133, Builtin::CxxBool),
    (0x4c00_0834, Builtin::CxxFloatComplex),
    (0x4c00_1035, Builtin::CxxDoubleComplex),
    (0x4c00_2036, Builtin::CxxLongDoubleComplex),
];

/// Handles `0x4c00ssnn` differ in `nn`.
const CONTIGUOUS: u32 = 0x4c00;
/// Pair types with holes: `0x8c000000` and the following.
const PAIRS: [Builtin; 5] = [
    Builtin::FloatInt,
    Builtin::DoubleInt,
    Builtin::LongInt,
    Builtin::ShortInt,
    Builtin::LongDoubleInt,
];
/// The first number of a type that the program makes.
const FIRST_DERIVED: u32 = TypeId::derived(0).0;

/// Handle and number of the predefined type with this lowest byte.
static BY_LOW_BYTE: [(u32, u32); 256] = {
    let mut table = [(0, 0); 256];
    let mut i = 0;
    while i < PREDEFINED.len() {
        let (handle, builtin) = PREDEFINED[i];
        if handle >> 16 == CONTIGUOUS {
            table[(handle & 0xff) as usize] = (handle, builtin as u32);
        }
        i += 1;
    }
    table
};

/// The handle of each predefined type, by its number.
static HANDLES: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < PREDEFINED.len() {
        table[PREDEFINED[i].1 as usize] = PREDEFINED[i].0;
        i += 1;
    }
    table
};

impl Datatype {
    /// The type that this handle names.
    #[inline(always)]
    pub fn id(self) -> Result<TypeId> {
        if self.0 >> 16 == CONTIGUOUS {
            let (handle, id) = BY_LOW_BYTE[(self.0 & 0xff) as usize];
            if handle == self.0 {
                return Ok(TypeId(id));
            }
        }
        self.other_id()
    }

    /// The type of so many elements that are communicated. Of none it may be `MPI_DATATYPE_NULL`:
    /// programs written for MPICH give that.
    #[inline(always)]
    pub fn id_of(self, count: i64) -> Result<TypeId> {
        self.id().or_else(|error| match self {
            Self::NULL if count == 0 => Ok(BYTE),
            _ => Err(error),
        })
    }

    fn other_id(self) -> Result<TypeId> {
        match self.made_index() {
            Some(index) if index >= FIRST_DERIVED => Ok(TypeId(index)),
            Some(index) if (index as usize) < PAIRS.len() => {
                Ok(TypeId(PAIRS[index as usize] as u32))
            }
            _ => Err(self.refuse()),
        }
    }

    pub fn of(id: TypeId) -> Self {
        if id.0 < FIRST_DERIVED { Self(HANDLES[id.0 as usize]) } else { Self::made(id.0) }
    }

    pub fn of_builtin(builtin: Builtin) -> Self {
        Self(HANDLES[builtin as usize])
    }

    /// The type itself.
    pub fn look(self, job: &Job) -> Result<core::Datatype> {
        job.types.get(self.id()?).cloned()
    }

    /// A handle for a new type; it must be freed once.
    pub fn store(job: &mut Job, datatype: core::Datatype) -> Result<Self> {
        job.types.insert(datatype).map(Self::of)
    }

    /// The handle of a type that the program holds.
    pub fn find(job: &Job, datatype: &core::Datatype) -> Option<Self> {
        job.types.find(datatype).map(Self::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_predefined_type_has_a_handle_that_comes_back() {
        for &builtin in Builtin::ALL {
            let handle = Datatype::of_builtin(builtin);
            assert_ne!(handle.0, 0, "{}", builtin.name());
            assert_eq!(handle.id().unwrap(), TypeId(builtin as u32), "{}", builtin.name());
            if handle.0 >> 16 == CONTIGUOUS {
                let size = u64::from(handle.0 >> 8 & 0xff);
                assert_eq!(size, builtin.size(), "{}", builtin.name());
            }
        }
    }

    #[test]
    fn handles_that_mpich_does_not_define_are_refused() {
        for garbage in
            [0x4c00_0000, 0x4c00_0405 ^ 0x100, 0x4c01_0405, 0x8c00_0005, 0x8c00_003f, 0, 7]
        {
            assert!(Datatype(garbage).id().is_err(), "{garbage:#x}");
        }
        assert!(Datatype::NULL.id().is_err());
        assert_eq!(Datatype::made(FIRST_DERIVED).id().unwrap(), TypeId(FIRST_DERIVED));
        assert!(FIRST_DERIVED as usize >= PAIRS.len());
        assert_eq!(Datatype::of(TypeId(300)), Datatype(0x8c00_012c));
    }
}
