//! Constructors of derived datatypes, for `int` and for `MPI_Count`, under the names of MPI-1 and
//! of MPI-2.

use crate::calls::{Job, enter, on_job};
use crate::constants::{
    MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_NONE,
    MPI_ORDER_C, MPI_ORDER_FORTRAN, MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER,
    MPI_TYPECLASS_REAL, MPI_UNDEFINED,
};
use crate::decode::{Number, length};
use crate::handle::Datatype;
use crate::memory::{In, Out};
use ftmpi_core::bail;
use ftmpi_core::datatype::{
    self as core, Builtin, Combiner, DEFAULT_DISTRIBUTION_ARGUMENT, Distribution, Order,
};
use ftmpi_core::error::Result;
use ftmpi_entry::entry;
use std::ffi::c_int;

/// The integers of an array, in the width of the core.
fn wide<N: Number>(array: In<N>, count: impl Number) -> Result<Vec<i64>> {
    Ok(array.slice(length("count", count)?)?.iter().map(|n| n.n()).collect())
}

/// The datatypes of an array.
fn elements(job: &Job, array: In<Datatype>, count: impl Number) -> Result<Vec<core::Datatype>> {
    array.slice(length("count", count)?)?.iter().map(|handle| handle.look(job)).collect()
}

/// A handle for a type that `call` has just made.
fn store(job: &mut Job, made: core::Datatype, call: &str) -> Result<Datatype> {
    if call.ends_with("_c") {
        made.mark_large();
    }
    Datatype::store(job, made)
}

/// One constructor: its names, its parameters between call and result, and the type it makes from
/// the old one.
macro_rules! constructors {
    ($([$(fn $name:ident),*] ($($p:ident: $t:ty),*) |$old:ident| $make:expr;)*) => { $(
        constructors!(@each [$($name),*] ($($p: $t),*) |$old| $make);
    )* };
    (@each [$name:ident $(, $more:ident)*] ($($p:ident: $t:ty),*) |$old:ident| $make:expr) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name($($p: $t,)* oldtype: Datatype, newtype: Out<Datatype>) -> c_int {
            on_job(stringify!($name), |job| {
                let $old = &oldtype.look(job)?;
                newtype.put(store(job, $make?, stringify!($name))?)
            })
        }
        constructors!(@each [$($more),*] ($($p: $t),*) |$old| $make);
    };
    (@each [] ($($p:ident: $t:ty),*) |$old:ident| $make:expr) => {};
}

constructors! {
    [fn MPI_Type_contiguous] (count: c_int) |old| core::Datatype::contiguous(count.n(), old);
    [fn MPI_Type_contiguous_c] (count: i64) |old| core::Datatype::contiguous(count, old);
    [fn MPI_Type_vector] (count: c_int, blocklength: c_int, stride: c_int)
        |old| core::Datatype::vector(count.n(), blocklength.n(), stride.n(), old);
    [fn MPI_Type_vector_c] (count: i64, blocklength: i64, stride: i64)
        |old| core::Datatype::vector(count, blocklength, stride, old);
    [fn MPI_Type_create_hvector, fn MPI_Type_hvector] (count: c_int, blocklength: c_int, stride: isize)
        |old| core::Datatype::hvector(count.n(), blocklength.n(), stride as i64, old);
    [fn MPI_Type_create_hvector_c] (count: i64, blocklength: i64, stride: i64)
        |old| core::Datatype::hvector(count, blocklength, stride, old);
    [fn MPI_Type_indexed] (count: c_int, blocklengths: In<c_int>, displacements: In<c_int>)
        |old| core::Datatype::indexed(&wide(blocklengths, count)?, &wide(displacements, count)?, old);
    [fn MPI_Type_indexed_c] (count: i64, blocklengths: In<i64>, displacements: In<i64>)
        |old| core::Datatype::indexed(&wide(blocklengths, count)?, &wide(displacements, count)?, old);
    [fn MPI_Type_create_hindexed, fn MPI_Type_hindexed]
        (count: c_int, blocklengths: In<c_int>, displacements: In<i64>)
        |old| core::Datatype::hindexed(&wide(blocklengths, count)?, &wide(displacements, count)?, old);
    [fn MPI_Type_create_hindexed_c] (count: i64, blocklengths: In<i64>, displacements: In<i64>)
        |old| core::Datatype::hindexed(&wide(blocklengths, count)?, &wide(displacements, count)?, old);
    [fn MPI_Type_create_indexed_block] (count: c_int, blocklength: c_int, displacements: In<c_int>)
        |old| core::Datatype::indexed_block(blocklength.n(), &wide(displacements, count)?, old);
    [fn MPI_Type_create_indexed_block_c] (count: i64, blocklength: i64, displacements: In<i64>)
        |old| core::Datatype::indexed_block(blocklength, &wide(displacements, count)?, old);
    [fn MPI_Type_create_hindexed_block] (count: c_int, blocklength: c_int, displacements: In<i64>)
        |old| core::Datatype::hindexed_block(blocklength.n(), &wide(displacements, count)?, old);
    [fn MPI_Type_create_hindexed_block_c] (count: i64, blocklength: i64, displacements: In<i64>)
        |old| core::Datatype::hindexed_block(blocklength, &wide(displacements, count)?, old);
    [fn MPI_Type_create_subarray]
        (ndims: c_int, sizes: In<c_int>, subsizes: In<c_int>, starts: In<c_int>, order: c_int)
        |old| core::Datatype::subarray(
            &wide(sizes, ndims)?, &wide(subsizes, ndims)?, &wide(starts, ndims)?, decode_order(order)?, old);
    [fn MPI_Type_create_subarray_c]
        (ndims: c_int, sizes: In<i64>, subsizes: In<i64>, starts: In<i64>, order: c_int)
        |old| core::Datatype::subarray(
            &wide(sizes, ndims)?, &wide(subsizes, ndims)?, &wide(starts, ndims)?, decode_order(order)?, old);
    [fn MPI_Type_create_darray]
        (size: c_int, rank: c_int, ndims: c_int, gsizes: In<c_int>, distribs: In<c_int>, dargs: In<c_int>,
         psizes: In<c_int>, order: c_int)
        |old| core::Datatype::darray(
            core::DistributedArray {
                size: size.n(), rank: rank.n(), gsizes: &wide(gsizes, ndims)?,
                distributions: &distributions(distribs, ndims)?,
                arguments: &arguments(dargs, ndims)?, psizes: &wide(psizes, ndims)?,
                order: decode_order(order)?,
            },
            old);
    [fn MPI_Type_create_darray_c]
        (size: c_int, rank: c_int, ndims: c_int, gsizes: In<i64>, distribs: In<c_int>, dargs: In<c_int>,
         psizes: In<c_int>, order: c_int)
        |old| core::Datatype::darray(
            core::DistributedArray {
                size: size.n(), rank: rank.n(), gsizes: &wide(gsizes, ndims)?,
                distributions: &distributions(distribs, ndims)?,
                arguments: &arguments(dargs, ndims)?, psizes: &wide(psizes, ndims)?,
                order: decode_order(order)?,
            },
            old);
}

/// Constructors whose old types are not one argument before the result.
macro_rules! structures {
    ($(fn $name:ident, $count:ty, $displacement:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            count: $count, blocklengths: In<$count>, displacements: In<$displacement>,
            types: In<Datatype>, newtype: Out<Datatype>,
        ) -> c_int {
            on_job(stringify!($name), |job| {
                let made = core::Datatype::structure(
                    &wide(blocklengths, count)?, &wide(displacements, count)?, &elements(job, types, count)?,
                )?;
                newtype.put(store(job, made, stringify!($name))?)
            })
        }
    )* };
}

structures! {
    fn MPI_Type_create_struct, c_int, i64;
    fn MPI_Type_struct, c_int, i64;
    fn MPI_Type_create_struct_c, i64, i64;
}

macro_rules! resized {
    ($(fn $name:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(oldtype: Datatype, lb: i64, extent: i64, newtype: Out<Datatype>) -> c_int {
            on_job(stringify!($name), |job| {
                let made = core::Datatype::resized(lb, extent, &oldtype.look(job)?)?;
                newtype.put(store(job, made, stringify!($name))?)
            })
        }
    )* };
}

resized! {
    fn MPI_Type_create_resized;
    fn MPI_Type_create_resized_c;
}

fn decode_order(order: c_int) -> Result<Order> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        other => bail!(Arg, "order is {other}, which is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
    }
}

pub fn order_number(order: Order) -> i64 {
    i64::from(match order {
        Order::C => MPI_ORDER_C,
        Order::Fortran => MPI_ORDER_FORTRAN,
    })
}

fn distributions(array: In<c_int>, ndims: c_int) -> Result<Vec<Distribution>> {
    let decode = |&number: &c_int| match number {
        MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block),
        MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic),
        MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        other => bail!(Arg, "{other} is no MPI_DISTRIBUTE constant"),
    };
    array.slice(length("ndims", ndims)?)?.iter().map(decode).collect()
}

pub fn distribution_number(distribution: Distribution) -> i64 {
    i64::from(match distribution {
        Distribution::Block => MPI_DISTRIBUTE_BLOCK,
        Distribution::Cyclic => MPI_DISTRIBUTE_CYCLIC,
        Distribution::None => MPI_DISTRIBUTE_NONE,
    })
}

fn arguments(array: In<c_int>, ndims: c_int) -> Result<Vec<i64>> {
    let decode = |&number: &c_int| match number {
        MPI_DISTRIBUTE_DFLT_DARG => DEFAULT_DISTRIBUTION_ARGUMENT,
        other => i64::from(other),
    };
    Ok(array.slice(length("ndims", ndims)?)?.iter().map(decode).collect())
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_dup(oldtype: Datatype, newtype: Out<Datatype>) -> c_int {
    let _ = newtype.put(Datatype::NULL); // What is left when a copy function refuses.
    let kept = match crate::attributes::type_copies("MPI_Type_dup", oldtype) {
        Ok(kept) => kept,
        Err(code) => return code,
    };
    on_job("MPI_Type_dup", |job| {
        let made = core::Datatype::dup(&oldtype.look(job)?)?;
        let new = Datatype::store(job, made)?;
        crate::attributes::type_give(new, kept)?;
        newtype.put(new)
    })
}

/// The smallest of `choices` (decimal digits, decimal exponent, type) that has precision `p` and
/// range `r`; either may be `MPI_UNDEFINED`, not both. The kinds are gfortran's: 4, 8, 10 (of the
/// x87), 16.
fn selected(p: c_int, r: c_int, choices: &[(c_int, c_int, Builtin)]) -> Result<Builtin> {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        bail!(Arg, "precision and range are both MPI_UNDEFINED");
    }
    let fits = |wanted: c_int, has: c_int| wanted == MPI_UNDEFINED || (0..=has).contains(&wanted);
    match choices.iter().find(|(digits, exponent, _)| fits(p, *digits) && fits(r, *exponent)) {
        Some((_, _, builtin)) => Ok(*builtin),
        None => bail!(Arg, "no type has precision {p} and range {r}"),
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: Out<Datatype>) -> c_int {
    on_job("MPI_Type_create_f90_real", |job| {
        let choices = [
            (6, 37, Builtin::Real4),
            (15, 307, Builtin::Real8),
            (18, 4931, Builtin::LongDouble),
            (33, 4931, Builtin::Real16),
        ];
        let made = job.types.parametric((Combiner::F90Real, p.n(), r.n()), || {
            core::Datatype::f90_real(p.n(), r.n(), selected(p, r, &choices)?)
        })?;
        newtype.put(Datatype::of(made))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: Out<Datatype>) -> c_int {
    on_job("MPI_Type_create_f90_complex", |job| {
        let choices = [
            (6, 37, Builtin::Complex8),
            (15, 307, Builtin::Complex16),
            (18, 4931, Builtin::CLongDoubleComplex),
            (33, 4931, Builtin::Complex32),
        ];
        let made = job.types.parametric((Combiner::F90Complex, p.n(), r.n()), || {
            core::Datatype::f90_complex(p.n(), r.n(), selected(p, r, &choices)?)
        })?;
        newtype.put(Datatype::of(made))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_create_f90_integer(r: c_int, newtype: Out<Datatype>) -> c_int {
    on_job("MPI_Type_create_f90_integer", |job| {
        let choices = [
            (0, 2, Builtin::Integer1),
            (0, 4, Builtin::Integer2),
            (0, 9, Builtin::Integer4),
            (0, 18, Builtin::Integer8),
            (0, 38, Builtin::Integer16),
        ];
        let made = job
            .types
            .parametric((Combiner::F90Integer, i64::from(MPI_UNDEFINED), r.n()), || {
                core::Datatype::f90_integer(r.n(), selected(MPI_UNDEFINED, r, &choices)?)
            })?;
        newtype.put(Datatype::of(made))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_match_size(class: c_int, size: c_int, datatype: Out<Datatype>) -> c_int {
    on_job("MPI_Type_match_size", |_| {
        let found = match (class, size) {
            (MPI_TYPECLASS_REAL, 4) => Builtin::Real4,
            (MPI_TYPECLASS_REAL, 8) => Builtin::Real8,
            (MPI_TYPECLASS_REAL, 16) => Builtin::Real16,
            (MPI_TYPECLASS_INTEGER, 1) => Builtin::Integer1,
            (MPI_TYPECLASS_INTEGER, 2) => Builtin::Integer2,
            (MPI_TYPECLASS_INTEGER, 4) => Builtin::Integer4,
            (MPI_TYPECLASS_INTEGER, 8) => Builtin::Integer8,
            (MPI_TYPECLASS_INTEGER, 16) => Builtin::Integer16,
            (MPI_TYPECLASS_COMPLEX, 8) => Builtin::Complex8,
            (MPI_TYPECLASS_COMPLEX, 16) => Builtin::Complex16,
            (MPI_TYPECLASS_COMPLEX, 32) => Builtin::Complex32,
            _ => bail!(Arg, "no predefined type of class {class} has {size} bytes"),
        };
        datatype.put(Datatype::of_builtin(found))
    })
}
