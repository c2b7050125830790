//! Queries about datatypes (bounds, sizes, constructors); commit, free, pack, unpack (MPI-4.1,
//! chapter 5).

use crate::attributes;
use crate::calls::{Job, anywhere, enter, on_comm, on_job};
use crate::constants::{MPI_DISTRIBUTE_DFLT_DARG, MPI_MAX_OBJECT_NAME};
use crate::decode::{self, Number, count_or_undefined, length};
use crate::handle::{Comm, Datatype};
use crate::memory::{Buf, BufMut, Out, OutArray, OutText, Text};
use crate::type_constructors::{distribution_number, order_number};
use ftmpi_core::bail;
use ftmpi_core::datatype::{self as core, Combiner};
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_entry::entry;
use std::ffi::c_int;

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_commit(datatype: Out<Datatype>) -> c_int {
    on_job("MPI_Type_commit", |job| {
        datatype.get()?.look(job)?.commit();
        Ok(())
    })
}

/// Optional predefined datatypes that this library lacks: `MPI_LOGICAL1` to `MPI_LOGICAL16`,
/// `MPI_REAL2`, `MPI_COMPLEX4`. Programs ask for their size to learn that (MPI-5.0, 21.4).
const LACKING: [u32; 7] =
    [0x4c00_0147, 0x4c00_0248, 0x4c00_0449, 0x4c00_084a, 0x4c00_104b, 0x4c00_0226, 0x4c00_042e];

/// One number about a type; too large for the result is `MPI_UNDEFINED`, and so is the size of one
/// that is lacking.
macro_rules! numbers {
    ($(fn $name:ident, $result:ty, |$t:ident| $value:expr;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(datatype: Datatype, value: Out<$result>) -> c_int {
            on_job(stringify!($name), |job| {
                if LACKING.contains(&datatype.0) {
                    return value.put(count_or_undefined(None));
                }
                let $t = datatype.look(job)?;
                value.put(count_or_undefined(i64::try_from($value).ok()))
            })
        }
    )* };
}

numbers! {
    fn MPI_Type_size, c_int, |t| t.size();
    fn MPI_Type_size_c, i64, |t| t.size();
    fn MPI_Type_size_x, i64, |t| t.size();
    fn MPI_Type_extent, i64, |t| t.extent();
    fn MPI_Type_lb, i64, |t| t.lb();
    fn MPI_Type_ub, i64, |t| t.ub();
}

/// A lower bound and an extent.
macro_rules! extents {
    ($(fn $name:ident, $lb:ident, $extent:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(datatype: Datatype, lb: Out<i64>, extent: Out<i64>) -> c_int {
            on_job(stringify!($name), |job| {
                let t = datatype.look(job)?;
                lb.put(t.$lb())?;
                extent.put(t.$extent())
            })
        }
    )* };
}

extents! {
    fn MPI_Type_get_extent, lb, extent;
    fn MPI_Type_get_extent_c, lb, extent;
    fn MPI_Type_get_extent_x, lb, extent;
    fn MPI_Type_get_true_extent, true_lb, true_extent;
    fn MPI_Type_get_true_extent_c, true_lb, true_extent;
    fn MPI_Type_get_true_extent_x, true_lb, true_extent;
}

/// The number of a combiner in `mpi.h`.
fn combiner_number(combiner: Combiner) -> c_int {
    match combiner {
        Combiner::Named => 1,
        Combiner::Dup => 2,
        Combiner::Contiguous => 3,
        Combiner::Vector => 4,
        Combiner::Hvector => 6,
        Combiner::Indexed => 7,
        Combiner::Hindexed => 9,
        Combiner::IndexedBlock => 10,
        Combiner::Struct => 12,
        Combiner::Subarray => 13,
        Combiner::Darray => 14,
        Combiner::F90Real => 15,
        Combiner::F90Complex => 16,
        Combiner::F90Integer => 17,
        Combiner::Resized => 18,
        Combiner::HindexedBlock => 19,
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_envelope(
    datatype: Datatype,
    integers: Out<c_int>,
    addresses: Out<c_int>,
    datatypes: Out<c_int>,
    combiner: Out<c_int>,
) -> c_int {
    on_job("MPI_Type_get_envelope", |job| {
        let t = datatype.look(job)?;
        let contents = t.constructor().contents(t.is_large(), order_number, distribution_number);
        if !contents.counts.is_empty() {
            bail!(
                ValueTooLarge,
                "the datatype was made by a call with large counts: use MPI_Type_get_envelope_c"
            );
        }
        integers.put(contents.integers.len() as c_int)?;
        addresses.put(contents.addresses.len() as c_int)?;
        datatypes.put(contents.types.len() as c_int)?;
        combiner.put(combiner_number(t.constructor().combiner()))
    })
}

/// The arguments of a constructor are returned in the form of the call that made the type, as in
/// MPICH.
#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_envelope_c(
    datatype: Datatype,
    integers: Out<i64>,
    addresses: Out<i64>,
    large_counts: Out<i64>,
    datatypes: Out<i64>,
    combiner: Out<c_int>,
) -> c_int {
    on_job("MPI_Type_get_envelope_c", |job| {
        let t = datatype.look(job)?;
        let contents = t.constructor().contents(t.is_large(), order_number, distribution_number);
        integers.put(contents.integers.len() as i64)?;
        addresses.put(contents.addresses.len() as i64)?;
        large_counts.put(contents.counts.len() as i64)?;
        datatypes.put(contents.types.len() as i64)?;
        combiner.put(combiner_number(t.constructor().combiner()))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_contents(
    datatype: Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    datatypes: OutArray<Datatype>,
) -> c_int {
    on_job("MPI_Type_get_contents", |job| {
        let room = [max_integers, max_addresses, 0, max_datatypes].map(i64::from);
        contents(job, datatype, room, (integers, addresses, None, datatypes))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_contents_c(
    datatype: Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    large_counts: OutArray<i64>,
    datatypes: OutArray<Datatype>,
) -> c_int {
    on_job("MPI_Type_get_contents_c", |job| {
        let room = [max_integers, max_addresses, max_large_counts, max_datatypes];
        contents(job, datatype, room, (integers, addresses, Some(large_counts), datatypes))
    })
}

/// The program's arrays; one for counts only in the `_c` form.
type Arrays = (OutArray<c_int>, OutArray<i64>, Option<OutArray<i64>>, OutArray<Datatype>);

/// Returns how a type was made; `room` is the room for integers, addresses, counts and datatypes.
fn contents(job: &mut Job, datatype: Datatype, room: [i64; 4], arrays: Arrays) -> Result<()> {
    let (integers, addresses, counts, datatypes) = arrays;
    let t = datatype.look(job)?;
    if t.constructor().combiner() == Combiner::Named {
        bail!(Type, "a predefined datatype has no contents");
    }
    let contents = t.constructor().contents(t.is_large(), order_number, distribution_number);
    let needed = [
        contents.integers.len(),
        contents.addresses.len(),
        contents.counts.len(),
        contents.types.len(),
    ];
    if counts.is_none() && !contents.counts.is_empty() {
        bail!(
            ValueTooLarge,
            "the datatype was made by a call with large counts: use MPI_Type_get_contents_c"
        );
    }
    let kinds = ["integers", "addresses", "large counts", "datatypes"];
    for ((what, needed), given) in kinds.iter().zip(needed).zip(room) {
        if length("the room for an array", given)? < needed {
            bail!(Arg, "there is room for {given} {what}, {needed} are needed");
        }
    }
    let places = integers.slice(contents.integers.len())?;
    for (slot, &value) in places.iter_mut().zip(&contents.integers) {
        *slot = if value == core::DEFAULT_DISTRIBUTION_ARGUMENT {
            MPI_DISTRIBUTE_DFLT_DARG
        } else {
            decode::fit(value)?
        };
    }
    addresses.slice(contents.addresses.len())?.copy_from_slice(&contents.addresses);
    if let Some(counts) = counts {
        counts.slice(contents.counts.len())?.copy_from_slice(&contents.counts);
    }
    let places = datatypes.slice(contents.types.len())?;
    for (slot, t) in places.iter_mut().zip(contents.types) {
        // A derived type comes back as one more handle, which the program frees.
        *slot = match t.as_builtin() {
            Some(builtin) => Datatype::of_builtin(builtin),
            None => Datatype::store(job, t)?,
        };
    }
    Ok(())
}

/// The number of bytes of a packed message.
fn packed_size(t: &core::Datatype, count: i64) -> Result<u64> {
    let count = length("count", count)? as u64;
    t.total_size(count).ok_or_else(|| {
        ErrorClass::Count.because(format!("{count} elements are more than memory can hold"))
    })
}

/// Refuses a type that is not committed.
fn committed(t: &core::Datatype) -> Result<()> {
    if !t.is_committed() {
        bail!(Type, "the datatype was not committed: call MPI_Type_commit first");
    }
    Ok(())
}

/// Where packing stands in a buffer of `size` bytes.
fn rest(position: i64, size: i64) -> Result<(usize, usize)> {
    let size = length("the size of the packed buffer", size)?;
    match usize::try_from(position) {
        Ok(at) if at <= size => Ok((at, size - at)),
        _ => bail!(Arg, "position {position} is outside a buffer of {size} bytes"),
    }
}

/// Packing, for `int` and for `MPI_Count`.
macro_rules! packs {
    ($(fn $pack:ident, fn $unpack:ident, fn $size:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $pack(
            inbuf: Buf, incount: $count, datatype: Datatype, outbuf: BufMut, outsize: $count,
            position: Out<$count>, comm: Comm,
        ) -> c_int {
            on_comm(stringify!($pack), comm, |job, comm| {
                job.comm_size(comm)?;
                let t = datatype.look(job)?;
                committed(&t)?;
                let needed = packed_size(&t, incount.n())?;
                let (at, room) = rest(position.get()?.n(), outsize.n())?;
                if needed > room as u64 {
                    bail!(Truncate, "{needed} bytes do not fit the {room} that are left of the buffer");
                }
                let bytes = t.packed(decode::at(inbuf), incount.n() as u64);
                decode::at(outbuf).offset(at as i64).write(&bytes);
                position.put(decode::fit((at + bytes.len()) as i64)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $unpack(
            inbuf: Buf, insize: $count, position: Out<$count>, outbuf: BufMut, outcount: $count,
            datatype: Datatype, comm: Comm,
        ) -> c_int {
            on_comm(stringify!($unpack), comm, |job, comm| {
                job.comm_size(comm)?;
                let t = datatype.look(job)?;
                committed(&t)?;
                let needed = packed_size(&t, outcount.n())?;
                let (at, left) = rest(position.get()?.n(), insize.n())?;
                if needed > left as u64 {
                    bail!(Truncate, "{needed} bytes are wanted, {left} are left in the buffer");
                }
                let mut bytes = Vec::new();
                decode::at(inbuf).offset(at as i64).append_to(needed as usize, &mut bytes);
                t.unpack(decode::at(outbuf), outcount.n() as u64, 0, &bytes);
                position.put(decode::fit((at as u64 + needed) as i64)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $size(
            incount: $count, datatype: Datatype, comm: Comm, size: Out<$count>,
        ) -> c_int {
            on_comm(stringify!($size), comm, |job, comm| {
                job.comm_size(comm)?;
                let bytes = packed_size(&datatype.look(job)?, incount.n())?;
                size.put(count_or_undefined(i64::try_from(bytes).ok()))
            })
        }
    )* };
}

packs! {
    fn MPI_Pack, fn MPI_Unpack, fn MPI_Pack_size, c_int;
    fn MPI_Pack_c, fn MPI_Unpack_c, fn MPI_Pack_size_c, i64;
}

/// The only data representation that packing knows.
fn external32(datarep: Text) -> Result<()> {
    let name = datarep.get("datarep")?;
    if name != b"external32" {
        let name = String::from_utf8_lossy(name);
        bail!(Arg, "there is no data representation {name:?} for packing: it is \"external32\"");
    }
    Ok(())
}

/// Packing in `external32`, for `int` and for `MPI_Count`.
macro_rules! external_packs {
    ($(fn $pack:ident, fn $unpack:ident, fn $size:ident, $count:ty, $place:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $pack(
            datarep: Text, inbuf: Buf, incount: $count, datatype: Datatype, outbuf: BufMut,
            outsize: $place, position: Out<$place>,
        ) -> c_int {
            on_job(stringify!($pack), |job| {
                external32(datarep)?;
                let t = datatype.look(job)?;
                committed(&t)?;
                let count = length("incount", incount)? as u64;
                packed_size(&t, incount.n())?;
                let needed = t.external_size(count)?;
                let (at, room) = rest(position.get()? as i64, outsize as i64)?;
                if needed > room as u64 {
                    bail!(Truncate, "{needed} bytes do not fit the {room} that are left of the buffer");
                }
                let bytes = t.to_external(count, &t.packed(decode::at(inbuf), count))?;
                decode::at(outbuf).offset(at as i64).write(&bytes);
                position.put((at + bytes.len()) as $place)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $unpack(
            datarep: Text, inbuf: Buf, insize: $place, position: Out<$place>, outbuf: BufMut,
            outcount: $count, datatype: Datatype,
        ) -> c_int {
            on_job(stringify!($unpack), |job| {
                external32(datarep)?;
                let t = datatype.look(job)?;
                committed(&t)?;
                let count = length("outcount", outcount)? as u64;
                let needed = t.external_size(count)?;
                let (at, left) = rest(position.get()? as i64, insize as i64)?;
                if needed > left as u64 {
                    bail!(Truncate, "{needed} bytes are wanted, {left} are left in the buffer");
                }
                let mut bytes = Vec::new();
                decode::at(inbuf).offset(at as i64).append_to(needed as usize, &mut bytes);
                t.unpack(decode::at(outbuf), count, 0, &t.from_external(count, &bytes)?);
                position.put((at as u64 + needed) as $place)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $size(
            datarep: Text, incount: $count, datatype: Datatype, size: Out<$place>,
        ) -> c_int {
            on_job(stringify!($size), |job| {
                external32(datarep)?;
                let count = length("incount", incount)? as u64;
                size.put(datatype.look(job)?.external_size(count)? as $place)
            })
        }
    )* };
}

external_packs! {
    fn MPI_Pack_external, fn MPI_Unpack_external, fn MPI_Pack_external_size, c_int, isize;
    fn MPI_Pack_external_c, fn MPI_Unpack_external_c, fn MPI_Pack_external_size_c, i64, i64;
}

/// Finds the predefined pair of a value and an index.
#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_value_index(
    value: Datatype,
    index: Datatype,
    pair: Out<Datatype>,
) -> c_int {
    on_job("MPI_Type_get_value_index", |job| {
        use core::Builtin as B;
        let found = match (value.look(job)?.as_builtin(), index.look(job)?.as_builtin()) {
            (Some(B::Float), Some(B::Int)) => Some(B::FloatInt),
            (Some(B::Double), Some(B::Int)) => Some(B::DoubleInt),
            (Some(B::Long), Some(B::Int)) => Some(B::LongInt),
            (Some(B::Short), Some(B::Int)) => Some(B::ShortInt),
            (Some(B::Int), Some(B::Int)) => Some(B::TwoInt),
            (Some(B::LongDouble), Some(B::Int)) => Some(B::LongDoubleInt),
            (Some(B::Integer), Some(B::Integer)) => Some(B::TwoInteger),
            (Some(B::Real), Some(B::Real)) => Some(B::TwoReal),
            (Some(B::DoublePrecision), Some(B::DoublePrecision)) => Some(B::TwoDoublePrecision),
            _ => None,
        };
        pair.put(found.map_or(Datatype::NULL, Datatype::of_builtin))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_free(datatype: Out<Datatype>) -> c_int {
    let handle = datatype.get().unwrap_or(Datatype::NULL);
    if let Err(code) = attributes::type_delete_all("MPI_Type_free", handle) {
        return code;
    }
    on_job("MPI_Type_free", |job| {
        job.types.free(handle.id()?)?;
        datatype.put(Datatype::NULL)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_set_name(datatype: Datatype, name: Text) -> c_int {
    on_job("MPI_Type_set_name", |job| job.types.set_name(datatype.id()?, name.get("type_name")?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_name(
    datatype: Datatype,
    name: OutText<MPI_MAX_OBJECT_NAME>,
    length: Out<c_int>,
) -> c_int {
    if datatype == Datatype::NULL {
        return anywhere("MPI_Type_get_name", || {
            length.put(name.put("MPI_DATATYPE_NULL")? as c_int)
        });
    }
    on_job("MPI_Type_get_name", |job| {
        let stored = name.put(job.types.name(datatype.id()?)?)?;
        length.put(stored as c_int)
    })
}
