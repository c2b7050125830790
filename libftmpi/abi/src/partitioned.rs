//! Partitioned point-to-point communication (MPI-4.1, chapter 4).

use crate::calls::{enter, on_comm, on_requests};
use crate::decode;
use crate::handle::{Comm, Datatype, Info};
use crate::memory::{Buf, BufMut, In, Out};
use ftmpi_core::mpi::{PartitionedBuffer, Request};
use ftmpi_entry::entry;
use std::ffi::c_int;

#[entry(guard = enter)]
pub extern "C" fn MPI_Psend_init(
    buf: Buf,
    partitions: c_int,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
    request: Out<Request>,
) -> c_int {
    on_comm("MPI_Psend_init", comm, |job, comm| {
        info.optional_id()?;
        let (datatype, dest) = (datatype.id_of(count)?, decode::destination(dest));
        let (buffer, partitions) = (decode::at(buf), i64::from(partitions));
        let buffer = PartitionedBuffer { buffer, partitions, count, datatype };
        request.put(job.psend_init(buffer, dest, tag, comm)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Precv_init(
    buf: BufMut,
    partitions: c_int,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
    request: Out<Request>,
) -> c_int {
    on_comm("MPI_Precv_init", comm, |job, comm| {
        info.optional_id()?;
        let (datatype, source, tag) =
            (datatype.id_of(count)?, decode::source(source), decode::tag(tag));
        let (buffer, partitions) = (decode::at(buf), i64::from(partitions));
        let buffer = PartitionedBuffer { buffer, partitions, count, datatype };
        request.put(job.precv_init(buffer, source, tag, comm)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Pready(partition: c_int, request: Request) -> c_int {
    let partition = i64::from(partition);
    on_requests("MPI_Pready", |job| job.pready(request, partition, partition))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Pready_range(low: c_int, high: c_int, request: Request) -> c_int {
    on_requests("MPI_Pready_range", |job| job.pready(request, low.into(), high.into()))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Pready_list(length: c_int, partitions: In<c_int>, request: Request) -> c_int {
    on_requests("MPI_Pready_list", |job| {
        for &partition in partitions.slice(decode::length("length", length)?)? {
            job.pready(request, partition.into(), partition.into())?;
        }
        Ok(())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Parrived(request: Request, partition: c_int, flag: Out<c_int>) -> c_int {
    on_requests("MPI_Parrived", |job| {
        flag.put(c_int::from(job.parrived(request, partition.into())?))
    })
}
