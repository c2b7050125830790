//! Reduction operations (MPI-4.1, 6.9).

use crate::calls::{enter, job, on_job};
use crate::handle::{Datatype, Op};
use crate::memory::Out;
use ftmpi_core::bail;
use ftmpi_core::datatype as core;
use ftmpi_core::error::Result;
use ftmpi_core::op::{OpId, Predefined, UserOp};
use ftmpi_entry::entry;
use ftmpi_runtime::outside;
use std::ffi::{c_int, c_void};

/// The first number of an operation that the program makes.
const FIRST_USER: u32 = Predefined::ALL.len() as u32;

impl Op {
    /// The operation that this handle names. `mpi.h` counts the predefined ones from 1, in the
    /// order of the core's enum.
    #[inline(always)]
    pub fn id(self) -> Result<OpId> {
        match (self.predefined_index(), self.made_index()) {
            (Some(number @ 1..=FIRST_USER), _) => Ok(OpId(number - 1)),
            (_, Some(number)) if number >= FIRST_USER => Ok(OpId(number)),
            _ => Err(self.refuse()),
        }
    }

    pub fn of(id: OpId) -> Self {
        if id.0 < FIRST_USER { Self::predefined(id.0 + 1) } else { Self::made(id.0) }
    }
}

/// The handle that the program's function gets.
struct CallbackHandle {
    handle: Datatype,
    /// The program has freed its own while the reduction was pending: this one is for the length of
    /// the call.
    stored: bool,
}

impl CallbackHandle {
    fn of(datatype: &core::Datatype) -> Self {
        let lasting = |handle| Self { handle, stored: false };
        if let Some(builtin) = datatype.as_builtin() {
            return lasting(Datatype::of_builtin(builtin));
        }
        let Some(job) = job() else { return lasting(Datatype::NULL) };
        if let Some(handle) = Datatype::find(job, datatype) {
            return lasting(handle);
        }
        match Datatype::store(job, datatype.clone()) {
            Ok(handle) => Self { handle, stored: true },
            // There is room for no handle at all.
            Err(_) => lasting(Datatype::NULL),
        }
    }
}

impl Drop for CallbackHandle {
    fn drop(&mut self) {
        if self.stored
            && let (Some(job), Ok(id)) = (job(), self.handle.id())
        {
            // (What the function attached to it is forgotten: the program cannot name it any more.)
            let _ = job.types.free(id);
        }
    }
}

/// Calls a function whose count is an `int`.
fn invoke_int(
    function: usize,
    input: *mut c_void,
    inout: *mut c_void,
    count: usize,
    datatype: &core::Datatype,
) {
    // SAFETY: the program gave this address to `MPI_Op_create` as an `MPI_User_function` (or to
    // `MPI_OP_CREATE`, whose functions have the same shape).
    let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut u32) =
        unsafe { std::mem::transmute(function) };
    in_parts(input, inout, count, datatype, |input, inout, mut len, mut handle| {
        // SAFETY: both buffers hold `len` values; the function may change its copies of the other
        // two.
        outside(|| unsafe { function(input, inout, &mut len, &mut handle) });
    });
}

/// Calls for parts that an `int` can count, with the handle of the datatype.
pub fn in_parts(
    input: *mut c_void,
    inout: *mut c_void,
    count: usize,
    datatype: &core::Datatype,
    call: impl Fn(*mut c_void, *mut c_void, c_int, u32),
) {
    let borrowed = CallbackHandle::of(datatype);
    let (mut input, mut inout, mut left) = (input, inout, count);
    let extent = datatype.extent();
    while left > 0 {
        let part = left.min(c_int::MAX as usize);
        call(input, inout, part as c_int, borrowed.handle.0);
        left -= part;
        let bytes = extent.wrapping_mul(part as i64) as isize;
        input = input.wrapping_byte_offset(bytes);
        inout = inout.wrapping_byte_offset(bytes);
    }
}

/// Calls a function whose count is an `MPI_Count`.
fn invoke_large(
    function: usize,
    input: *mut c_void,
    inout: *mut c_void,
    count: usize,
    datatype: &core::Datatype,
) {
    // SAFETY: the program gave this address to `MPI_Op_create_c` as an `MPI_User_function_c`.
    let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Datatype) =
        unsafe { std::mem::transmute(function) };
    let borrowed = CallbackHandle::of(datatype);
    let (mut handle, mut len) = (borrowed.handle, count as i64);
    // SAFETY: both buffers hold `count` values; the function may change its copies of the other
    // two.
    outside(|| unsafe { function(input, inout, &mut len, &mut handle) });
}

macro_rules! create {
    ($(fn $name:ident, $invoke:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(function: *mut c_void, commute: c_int, op: Out<Op>) -> c_int {
            on_job(stringify!($name), |job| {
                if function.is_null() {
                    bail!(Arg, "the function of an operation is a null pointer");
                }
                let made = UserOp { function: function as usize, invoke: $invoke, commutes: commute != 0 };
                op.put(Op::of(job.ops.create(made)?))
            })
        }
    )* };
}

create! {
    fn MPI_Op_create, invoke_int;
    fn MPI_Op_create_c, invoke_large;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Op_free(op: Out<Op>) -> c_int {
    on_job("MPI_Op_free", |job| {
        job.ops.free(op.get()?.id()?)?;
        op.put(Op::NULL)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Op_commutative(op: Op, commute: Out<c_int>) -> c_int {
    on_job("MPI_Op_commutative", |job| commute.put(c_int::from(job.ops.get(op.id()?)?.commutes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_operations_have_the_numbers_of_the_header() {
        let names = [
            "MPI_MAX",
            "MPI_MIN",
            "MPI_SUM",
            "MPI_PROD",
            "MPI_LAND",
            "MPI_BAND",
            "MPI_LOR",
            "MPI_BOR",
            "MPI_LXOR",
            "MPI_BXOR",
            "MPI_MINLOC",
            "MPI_MAXLOC",
            "MPI_REPLACE",
            "MPI_NO_OP",
        ];
        for (i, &op) in Predefined::ALL.iter().enumerate() {
            let handle = Op(0x5800_0001 + i as u32);
            assert_eq!(op.name(), names[i]);
            assert_eq!(handle.id().unwrap(), OpId::predefined(op));
            assert_eq!(Op::of(OpId::predefined(op)), handle);
        }
        assert!(Op(0x5800_0000).id().is_err());
        assert!(Op(0x5800_000f).id().is_err());
        assert!(Op::NULL.id().is_err());
    }
}
