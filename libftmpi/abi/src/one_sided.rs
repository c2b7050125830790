//! Put, get, accumulate and their forms (MPI-3.1, 11.3).

use crate::calls::{enter, on_win};
use crate::decode::{self, Number};
use crate::handle::{Datatype, Op, Win};
use crate::memory::{Buf, BufMut, Out};
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{OneSided, OriginBuffer, Request, TargetBuffer};
use ftmpi_entry::entry;
use std::ffi::c_int;

fn origin(at: Buf, count: impl Number, datatype: Datatype) -> Result<OriginBuffer> {
    Ok(OriginBuffer { at: decode::at(at), count: count.n(), datatype: datatype.id()? })
}

fn target(
    rank: c_int,
    disp: isize,
    count: impl Number,
    datatype: Datatype,
) -> Result<TargetBuffer> {
    let (rank, disp, count) = (decode::destination(rank), disp as i64, count.n());
    Ok(TargetBuffer { rank, disp, count, datatype: datatype.id()? })
}

/// One operation, alone and with a request. Its arguments stand before, between and behind those of
/// the target, as in the standard.
macro_rules! operation {
    (
        fn $alone:ident, fn $with_request:ident,
        ($($origin:ident: $origin_type:ty),*), $count:ty, ($($op:ident: $op_type:ty)?) => $what:expr
    ) => {
        #[entry(guard = enter)]
        pub extern "C" fn $alone(
            $($origin: $origin_type,)* rank: c_int, disp: isize, tcount: $count, ttype: Datatype,
            $($op: $op_type,)? win: Win,
        ) -> c_int {
            on_win(stringify!($alone), win, |job, id| {
                let what = $what;
                job.one_sided(id, target(rank, disp, tcount, ttype)?, what)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $with_request(
            $($origin: $origin_type,)* rank: c_int, disp: isize, tcount: $count, ttype: Datatype,
            $($op: $op_type,)? win: Win, request: Out<Request>,
        ) -> c_int {
            on_win(stringify!($with_request), win, |job, id| {
                let what = $what;
                request.put(job.one_sided_request(id, target(rank, disp, tcount, ttype)?, what)?)
            })
        }
    };
}

/// Each operation, for `int` and for `MPI_Count`.
macro_rules! operations {
    ($(fn $put:ident, fn $rput:ident, fn $get:ident, fn $rget:ident, fn $acc:ident, fn $racc:ident,
       fn $getacc:ident, fn $rgetacc:ident, $count:ty;)*) => { $(
        operation! {
            fn $put, fn $rput, (at: Buf, count: $count, datatype: Datatype), $count, () =>
            OneSided::Put { origin: origin(at, count, datatype)? }
        }
        operation! {
            fn $get, fn $rget, (at: BufMut, count: $count, datatype: Datatype), $count, () =>
            OneSided::Get { origin: origin(at, count, datatype)? }
        }
        operation! {
            fn $acc, fn $racc, (at: Buf, count: $count, datatype: Datatype), $count, (op: Op) =>
            OneSided::Accumulate { origin: origin(at, count, datatype)?, op: op.id()? }
        }
        operation! {
            fn $getacc, fn $rgetacc,
            (at: Buf, count: $count, datatype: Datatype, result: BufMut, rcount: $count,
             rtype: Datatype),
            $count, (op: Op) => {
                let result = origin(result, rcount, rtype)?;
                fetching(at, count, datatype, result, op)?
            }
        }
    )* };
}

operations! {
    fn MPI_Put, fn MPI_Rput, fn MPI_Get, fn MPI_Rget, fn MPI_Accumulate, fn MPI_Raccumulate,
    fn MPI_Get_accumulate, fn MPI_Rget_accumulate, c_int;
    fn MPI_Put_c, fn MPI_Rput_c, fn MPI_Get_c, fn MPI_Rget_c, fn MPI_Accumulate_c,
    fn MPI_Raccumulate_c, fn MPI_Get_accumulate_c, fn MPI_Rget_accumulate_c, i64;
}

/// With `MPI_NO_OP` the origin's arguments are not significant, the type may even be null.
fn fetching(
    at: Buf,
    count: impl Number,
    datatype: Datatype,
    result: OriginBuffer,
    op: Op,
) -> Result<OneSided> {
    let op = op.id()?;
    let unused = op == ftmpi_core::op::OpId::predefined(ftmpi_core::op::Predefined::NoOp);
    let origin = if unused { result } else { origin(at, count, datatype)? };
    Ok(OneSided::GetAccumulate { origin, result, op })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Fetch_and_op(
    at: Buf,
    result: BufMut,
    datatype: Datatype,
    rank: c_int,
    disp: isize,
    op: Op,
    win: Win,
) -> c_int {
    on_win("MPI_Fetch_and_op", win, |job, id| {
        let what = fetching(at, 1, datatype, origin(result, 1, datatype)?, op)?;
        job.one_sided(id, target(rank, disp, 1, datatype)?, what)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Compare_and_swap(
    at: Buf,
    compare: Buf,
    result: BufMut,
    datatype: Datatype,
    rank: c_int,
    disp: isize,
    win: Win,
) -> c_int {
    on_win("MPI_Compare_and_swap", win, |job, id| {
        let (origin_at, compare) = (decode::at(at), decode::at(compare));
        let result = origin(result, 1, datatype)?;
        let what = OneSided::CompareAndSwap { origin: origin_at, compare, result };
        job.one_sided(id, target(rank, disp, 1, datatype)?, what)
    })
}
