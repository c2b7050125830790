//! Collective operations: blocking, non-blocking and persistent, for `int` and for `MPI_Count`
//! (MPI-4.1, chapter 6).
//!
//! Guarantees: the six functions of one operation share one description of what is to be done, so
//! they cannot differ in meaning.

use crate::calls::{Job, enter, on_comm, on_job};
use crate::constants::{MPI_PROC_NULL, MPI_ROOT};
use crate::datatypes::BYTE;
use crate::decode::{self, Number};
use crate::handle::{Comm, Datatype, Info, Op};
use crate::memory::{Buf, BufMut, In, Out};
use ftmpi_core::datatype::TypeId;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{Buffer, Collective, CommId, Counts, Request};
use ftmpi_core::op::{OpId, Predefined};
use ftmpi_entry::entry;
use std::ffi::c_int;

/// The type of a parameter in the `int` form and in the `MPI_Count` form of a function.
macro_rules! ty {
    (int, Count) => { c_int };
    (large, Count) => { i64 };
    (int, Counts) => { In<c_int> };
    (large, Counts) => { In<i64> };
    (int, Displs) => { In<c_int> };
    (large, Displs) => { In<i64> };
    ($_form:ident, Addresses) => { In<i64> };
    ($_form:ident, Types) => { In<Datatype> };
    ($_form:ident, Rank) => { c_int };
    ($_form:ident, $type:ident) => { $type };
}

/// One operation: its functions, its parameters before the communicator, and its description.
macro_rules! collective {
    (
        [fn $now:ident, fn $now_c:ident, fn $later:ident, fn $later_c:ident, fn $init:ident, fn $init_c:ident]
        ($($p:ident: $t:ident),*) => |$job:ident, $comm:ident| $what:expr
    ) => {
        collective!(@now int $now ($($p: $t),*) |$job, $comm| $what);
        collective!(@now large $now_c ($($p: $t),*) |$job, $comm| $what);
        collective!(@later int $later ($($p: $t),*) |$job, $comm| $what);
        collective!(@later large $later_c ($($p: $t),*) |$job, $comm| $what);
        collective!(@init int $init ($($p: $t),*) |$job, $comm| $what);
        collective!(@init large $init_c ($($p: $t),*) |$job, $comm| $what);
    };
    (@now $form:ident $name:ident ($($p:ident: $t:ident),*) |$job:ident, $comm:ident| $what:expr) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name($($p: ty!($form, $t),)* comm: Comm) -> c_int {
            on_comm(stringify!($name), comm, |$job, $comm| {
                let what = $what;
                $job.collective($comm, what)
            })
        }
    };
    (@later $form:ident $name:ident ($($p:ident: $t:ident),*) |$job:ident, $comm:ident| $what:expr) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name($($p: ty!($form, $t),)* comm: Comm, request: Out<Request>) -> c_int {
            on_comm(stringify!($name), comm, |$job, $comm| {
                let what = $what;
                request.put($job.icollective($comm, what)?)
            })
        }
    };
    (@init $form:ident $name:ident ($($p:ident: $t:ident),*) |$job:ident, $comm:ident| $what:expr) => {
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            $($p: ty!($form, $t),)* comm: Comm, _info: Info, request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($name), comm, |$job, $comm| {
                let what = $what;
                request.put($job.collective_init($comm, what)?)
            })
        }
    };
}

/// `MPI_Barrier` has no counts, and therefore no large form.
#[entry(guard = enter)]
pub extern "C" fn MPI_Barrier(comm: Comm) -> c_int {
    on_comm("MPI_Barrier", comm, |job, comm| job.collective(comm, Collective::Barrier))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Ibarrier(comm: Comm, request: Out<Request>) -> c_int {
    on_comm("MPI_Ibarrier", comm, |job, comm| {
        request.put(job.icollective(comm, Collective::Barrier)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Barrier_init(comm: Comm, _info: Info, request: Out<Request>) -> c_int {
    on_comm("MPI_Barrier_init", comm, |job, comm| {
        request.put(job.collective_init(comm, Collective::Barrier)?)
    })
}

collective! {
    [fn MPI_Bcast, fn MPI_Bcast_c, fn MPI_Ibcast, fn MPI_Ibcast_c, fn MPI_Bcast_init, fn MPI_Bcast_init_c]
    (buffer: BufMut, count: Count, datatype: Datatype, root: Rank) => |job, comm| Collective::Bcast {
        buffer: decode::at(buffer), count: count.n(),
        datatype: bystanders(datatype.id_of(count.n()), root, BYTE)?, root: decode::root(root),
    }
}

/// An argument that does not count where the root is `MPI_PROC_NULL`: anything may stand there.
fn bystanders<T>(argument: Result<T>, root: c_int, other: T) -> Result<T> {
    match argument {
        Err(_) if root == MPI_PROC_NULL => Ok(other),
        answer => answer,
    }
}

/// The type of a buffer that may be `MPI_IN_PLACE` or insignificant: then it is not looked at.
fn type_of(
    job: &Job,
    comm: CommId,
    buffer: Buf,
    datatype: Datatype,
    root: Option<c_int>,
) -> Result<TypeId> {
    if matches!(decode::buffer(buffer), Buffer::InPlace) {
        return Ok(BYTE);
    }
    match datatype.id() {
        Ok(id) => Ok(id),
        // Significant at the root only: elsewhere anything may stand there. On an intercommunicator
        // the root says `MPI_ROOT`, and the rank that others give is one of the other group.
        Err(error) => match root {
            Some(root)
                if root != MPI_ROOT
                    && (job.comm_test_inter(comm)? || job.comm_rank(comm)? as c_int != root) =>
            {
                Ok(BYTE)
            }
            _ => Err(error),
        },
    }
}

/// The type of the buffer that `MPI_PROC_NULL` and leaf processes of an intercommunicator do not
/// use.
fn leaf_type(buffer: Buf, datatype: Datatype, root: c_int) -> Result<TypeId> {
    let unused = matches!(decode::buffer(buffer), Buffer::InPlace)
        || root == MPI_ROOT
        || root == MPI_PROC_NULL;
    match datatype.id() {
        Err(_) if unused => Ok(BYTE),
        answer => answer,
    }
}

collective! {
    [fn MPI_Gather, fn MPI_Gather_c, fn MPI_Igather, fn MPI_Igather_c, fn MPI_Gather_init, fn MPI_Gather_init_c]
    (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcount: Count,
     recvtype: Datatype, root: Rank) => |job, comm| Collective::Gather {
        send: decode::buffer(sendbuf), send_count: sendcount.n(), send_type: leaf_type(sendbuf, sendtype, root)?,
        recv: decode::buffer(recvbuf), recv_count: recvcount.n(),
        recv_type: type_of(job, comm, recvbuf, recvtype, Some(root))?, root: decode::root(root),
    }
}

collective! {
    [fn MPI_Gatherv, fn MPI_Gatherv_c, fn MPI_Igatherv, fn MPI_Igatherv_c, fn MPI_Gatherv_init, fn MPI_Gatherv_init_c]
    (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcounts: Counts, displs: Displs,
     recvtype: Datatype, root: Rank) => |job, comm| Collective::Gatherv {
        send: decode::buffer(sendbuf), send_count: sendcount.n(), send_type: leaf_type(sendbuf, sendtype, root)?,
        recv: decode::buffer(recvbuf), recv_counts: recvcounts.counts(), recv_displs: displs.counts(),
        recv_type: type_of(job, comm, recvbuf, recvtype, Some(root))?, root: decode::root(root),
    }
}

collective! {
    [fn MPI_Scatter, fn MPI_Scatter_c, fn MPI_Iscatter, fn MPI_Iscatter_c, fn MPI_Scatter_init, fn MPI_Scatter_init_c]
    (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcount: Count,
     recvtype: Datatype, root: Rank) => |job, comm| Collective::Scatter {
        send: decode::buffer(sendbuf), send_count: sendcount.n(),
        send_type: type_of(job, comm, sendbuf, sendtype, Some(root))?,
        recv: decode::buffer(recvbuf), recv_count: recvcount.n(), recv_type: leaf_type(recvbuf, recvtype, root)?,
        root: decode::root(root),
    }
}

collective! {
    [fn MPI_Scatterv, fn MPI_Scatterv_c, fn MPI_Iscatterv, fn MPI_Iscatterv_c, fn MPI_Scatterv_init, fn MPI_Scatterv_init_c]
    (sendbuf: Buf, sendcounts: Counts, displs: Displs, sendtype: Datatype, recvbuf: BufMut, recvcount: Count,
     recvtype: Datatype, root: Rank) => |job, comm| Collective::Scatterv {
        send: decode::buffer(sendbuf), send_counts: sendcounts.counts(), send_displs: displs.counts(),
        send_type: type_of(job, comm, sendbuf, sendtype, Some(root))?,
        recv: decode::buffer(recvbuf), recv_count: recvcount.n(), recv_type: leaf_type(recvbuf, recvtype, root)?,
        root: decode::root(root),
    }
}

/// The operations in which every rank sends to and receives from all ranks.
macro_rules! all_to_all {
    ($variant:ident [$($names:tt)*]) => { collective! {
        [$($names)*]
        (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcount: Count,
         recvtype: Datatype) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), send_count: sendcount.n(),
            send_type: type_of(job, comm, sendbuf, sendtype, None)?,
            recv: decode::buffer(recvbuf), recv_count: recvcount.n(), recv_type: recvtype.id()?,
        }
    } };
}

all_to_all! { Allgather [fn MPI_Allgather, fn MPI_Allgather_c, fn MPI_Iallgather, fn MPI_Iallgather_c,
fn MPI_Allgather_init, fn MPI_Allgather_init_c] }
all_to_all! { Alltoall [fn MPI_Alltoall, fn MPI_Alltoall_c, fn MPI_Ialltoall, fn MPI_Ialltoall_c,
fn MPI_Alltoall_init, fn MPI_Alltoall_init_c] }

/// The same with all neighbours: never in place, and without a type where there is nothing, as
/// MPICH has it.
macro_rules! with_neighbors {
    ($variant:ident [$($names:tt)*]) => { collective! {
        [$($names)*]
        (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcount: Count,
         recvtype: Datatype) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), send_count: sendcount.n(),
            send_type: sendtype.id_of(sendcount.n())?,
            recv: decode::buffer(recvbuf), recv_count: recvcount.n(),
            recv_type: recvtype.id_of(recvcount.n())?,
        }
    } };
}

with_neighbors! { NeighborAllgather [fn MPI_Neighbor_allgather, fn MPI_Neighbor_allgather_c,
fn MPI_Ineighbor_allgather, fn MPI_Ineighbor_allgather_c, fn MPI_Neighbor_allgather_init,
fn MPI_Neighbor_allgather_init_c] }
with_neighbors! { NeighborAlltoall [fn MPI_Neighbor_alltoall, fn MPI_Neighbor_alltoall_c,
fn MPI_Ineighbor_alltoall, fn MPI_Ineighbor_alltoall_c, fn MPI_Neighbor_alltoall_init,
fn MPI_Neighbor_alltoall_init_c] }

macro_rules! allgatherv {
    ($variant:ident [$($names:tt)*]) => { collective! {
        [$($names)*]
        (sendbuf: Buf, sendcount: Count, sendtype: Datatype, recvbuf: BufMut, recvcounts: Counts,
         displs: Displs, recvtype: Datatype) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), send_count: sendcount.n(),
            send_type: type_of(job, comm, sendbuf, sendtype, None)?,
            recv: decode::buffer(recvbuf), recv_counts: recvcounts.counts(), recv_displs: displs.counts(),
            recv_type: recvtype.id()?,
        }
    } };
}

allgatherv! { Allgatherv [fn MPI_Allgatherv, fn MPI_Allgatherv_c, fn MPI_Iallgatherv, fn MPI_Iallgatherv_c,
fn MPI_Allgatherv_init, fn MPI_Allgatherv_init_c] }
allgatherv! { NeighborAllgatherv [fn MPI_Neighbor_allgatherv, fn MPI_Neighbor_allgatherv_c,
fn MPI_Ineighbor_allgatherv, fn MPI_Ineighbor_allgatherv_c, fn MPI_Neighbor_allgatherv_init,
fn MPI_Neighbor_allgatherv_init_c] }

macro_rules! alltoallv {
    ($variant:ident [$($names:tt)*]) => { collective! {
        [$($names)*]
        (sendbuf: Buf, sendcounts: Counts, sdispls: Displs, sendtype: Datatype, recvbuf: BufMut,
         recvcounts: Counts, rdispls: Displs, recvtype: Datatype) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), send_counts: sendcounts.counts(), send_displs: sdispls.counts(),
            send_type: type_of(job, comm, sendbuf, sendtype, None)?,
            recv: decode::buffer(recvbuf), recv_counts: recvcounts.counts(), recv_displs: rdispls.counts(),
            recv_type: recvtype.id()?,
        }
    } };
}

alltoallv! { Alltoallv [fn MPI_Alltoallv, fn MPI_Alltoallv_c, fn MPI_Ialltoallv, fn MPI_Ialltoallv_c,
fn MPI_Alltoallv_init, fn MPI_Alltoallv_init_c] }
alltoallv! { NeighborAlltoallv [fn MPI_Neighbor_alltoallv, fn MPI_Neighbor_alltoallv_c,
fn MPI_Ineighbor_alltoallv, fn MPI_Ineighbor_alltoallv_c, fn MPI_Neighbor_alltoallv_init,
fn MPI_Neighbor_alltoallv_init_c] }

/// Decodes the `n` datatypes of a w-collective; none if the buffer is `MPI_IN_PLACE`.
fn types(buffer: Buf, counts: Counts, array: In<Datatype>, n: usize) -> Result<Vec<TypeId>> {
    if matches!(decode::buffer(buffer), Buffer::InPlace) {
        return Ok(vec![BYTE; n]);
    }
    // (Counts that are not there are refused later.)
    let of = |(i, datatype): (usize, &Datatype)| {
        if counts.is_null() { datatype.id() } else { datatype.id_of(counts.get(i)) }
    };
    array.slice(n)?.iter().enumerate().map(of).collect()
}

macro_rules! alltoallw {
    ($variant:ident $displs:ident $counted:ident; [$($names:tt)*]) => { collective! {
        [$($names)*]
        (sendbuf: Buf, sendcounts: Counts, sdispls: $displs, sendtypes: Types, recvbuf: BufMut,
         recvcounts: Counts, rdispls: $displs, recvtypes: Types) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), send_counts: sendcounts.counts(), send_displs: sdispls.counts(),
            send_types: &types(sendbuf, sendcounts.counts(), sendtypes, $counted(job, comm)?.0)?,
            recv: decode::buffer(recvbuf), recv_counts: recvcounts.counts(), recv_displs: rdispls.counts(),
            recv_types: &types(recvbuf, recvcounts.counts(), recvtypes, $counted(job, comm)?.1)?,
        }
    } };
}

fn all_ranks(job: &Job, comm: CommId) -> Result<(usize, usize)> {
    let peers = job.peers(comm)?;
    Ok((peers, peers))
}

fn neighbors(job: &Job, comm: CommId) -> Result<(usize, usize)> {
    let (incoming, outgoing) = job.neighbor_counts(comm)?;
    Ok((outgoing, incoming))
}

alltoallw! { Alltoallw Displs all_ranks; [fn MPI_Alltoallw, fn MPI_Alltoallw_c, fn MPI_Ialltoallw,
fn MPI_Ialltoallw_c, fn MPI_Alltoallw_init, fn MPI_Alltoallw_init_c] }
alltoallw! { NeighborAlltoallw Addresses neighbors; [fn MPI_Neighbor_alltoallw, fn MPI_Neighbor_alltoallw_c,
fn MPI_Ineighbor_alltoallw, fn MPI_Ineighbor_alltoallw_c, fn MPI_Neighbor_alltoallw_init,
fn MPI_Neighbor_alltoallw_init_c] }

collective! {
    [fn MPI_Reduce, fn MPI_Reduce_c, fn MPI_Ireduce, fn MPI_Ireduce_c, fn MPI_Reduce_init, fn MPI_Reduce_init_c]
    (sendbuf: Buf, recvbuf: BufMut, count: Count, datatype: Datatype, op: Op, root: Rank)
    => |job, comm| Collective::Reduce {
        send: decode::buffer(sendbuf), recv: decode::buffer(recvbuf), count: count.n(),
        datatype: bystanders(datatype.id(), root, BYTE)?,
        op: bystanders(op.id(), root, OpId::predefined(Predefined::Sum))?, root: decode::root(root),
    }
}

macro_rules! reductions {
    ($($variant:ident [$($names:tt)*];)*) => { $( collective! {
        [$($names)*]
        (sendbuf: Buf, recvbuf: BufMut, count: Count, datatype: Datatype, op: Op) => |job, comm| Collective::$variant {
            send: decode::buffer(sendbuf), recv: decode::buffer(recvbuf), count: count.n(),
            datatype: datatype.id()?, op: op.id()?,
        }
    } )* };
}

reductions! {
    Allreduce [fn MPI_Allreduce, fn MPI_Allreduce_c, fn MPI_Iallreduce, fn MPI_Iallreduce_c,
        fn MPI_Allreduce_init, fn MPI_Allreduce_init_c];
    Scan [fn MPI_Scan, fn MPI_Scan_c, fn MPI_Iscan, fn MPI_Iscan_c, fn MPI_Scan_init, fn MPI_Scan_init_c];
    Exscan [fn MPI_Exscan, fn MPI_Exscan_c, fn MPI_Iexscan, fn MPI_Iexscan_c, fn MPI_Exscan_init,
        fn MPI_Exscan_init_c];
}

collective! {
    [fn MPI_Reduce_scatter, fn MPI_Reduce_scatter_c, fn MPI_Ireduce_scatter, fn MPI_Ireduce_scatter_c,
     fn MPI_Reduce_scatter_init, fn MPI_Reduce_scatter_init_c]
    (sendbuf: Buf, recvbuf: BufMut, recvcounts: Counts, datatype: Datatype, op: Op)
    => |job, comm| Collective::ReduceScatter {
        send: decode::buffer(sendbuf), recv: decode::buffer(recvbuf), recv_counts: recvcounts.counts(),
        datatype: datatype.id()?, op: op.id()?,
    }
}

collective! {
    [fn MPI_Reduce_scatter_block, fn MPI_Reduce_scatter_block_c, fn MPI_Ireduce_scatter_block,
     fn MPI_Ireduce_scatter_block_c, fn MPI_Reduce_scatter_block_init, fn MPI_Reduce_scatter_block_init_c]
    (sendbuf: Buf, recvbuf: BufMut, recvcount: Count, datatype: Datatype, op: Op)
    => |job, comm| Collective::ReduceScatterBlock {
        send: decode::buffer(sendbuf), recv: decode::buffer(recvbuf), recv_count: recvcount.n(),
        datatype: datatype.id()?, op: op.id()?,
    }
}

macro_rules! reduce_local {
    ($(fn $name:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            inbuf: Buf, inoutbuf: BufMut, count: $count, datatype: Datatype, op: Op,
        ) -> c_int {
            on_job(stringify!($name), |job| {
                job.reduce_local(decode::buffer(inbuf), decode::buffer(inoutbuf), count.n(), datatype.id()?, op.id()?)
            })
        }
    )* };
}

reduce_local! {
    fn MPI_Reduce_local, c_int;
    fn MPI_Reduce_local_c, i64;
}
