//! Sends, receives, probes (MPI-4.1, chapter 3).

use crate::calls::{enter, on_comm, on_requests};
use crate::decode::{self, Number, StatusOut};
use crate::handle::{Comm, Datatype};
use crate::memory::{Buf, BufMut, Out};
use ftmpi_core::mpi::{Incoming, Message, Outgoing, Request, SendKind};
use ftmpi_entry::entry;
use std::ffi::c_int;

/// A send of one kind in its three forms, each for `int` and for `MPI_Count`.
macro_rules! sends {
    ($kind:ident: $(fn $send:ident, fn $isend:ident, fn $init:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $send(
            buf: Buf, count: $count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        ) -> c_int {
            on_comm(stringify!($send), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                job.send(SendKind::$kind, decode::at(buf), count.n(), datatype, decode::destination(dest), tag, comm)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $isend(
            buf: Buf, count: $count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
            request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($isend), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                request.put(job.isend(SendKind::$kind, decode::at(buf), count.n(), datatype, decode::destination(dest), tag, comm)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $init(
            buf: Buf, count: $count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
            request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($init), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                request.put(job.send_init(SendKind::$kind, decode::at(buf), count.n(), datatype, decode::destination(dest), tag, comm)?)
            })
        }
    )* };
}

sends! { Standard:
    fn MPI_Send, fn MPI_Isend, fn MPI_Send_init, c_int;
    fn MPI_Send_c, fn MPI_Isend_c, fn MPI_Send_init_c, i64;
}
sends! { Buffered:
    fn MPI_Bsend, fn MPI_Ibsend, fn MPI_Bsend_init, c_int;
    fn MPI_Bsend_c, fn MPI_Ibsend_c, fn MPI_Bsend_init_c, i64;
}
sends! { Synchronous:
    fn MPI_Ssend, fn MPI_Issend, fn MPI_Ssend_init, c_int;
    fn MPI_Ssend_c, fn MPI_Issend_c, fn MPI_Ssend_init_c, i64;
}
sends! { Ready:
    fn MPI_Rsend, fn MPI_Irsend, fn MPI_Rsend_init, c_int;
    fn MPI_Rsend_c, fn MPI_Irsend_c, fn MPI_Rsend_init_c, i64;
}

/// Everything with a receive in it, for `int` and for `MPI_Count`.
macro_rules! receives {
    ($(fn $recv:ident, fn $irecv:ident, fn $init:ident, fn $sendrecv:ident, fn $isendrecv:ident,
       fn $replace:ident, fn $ireplace:ident, fn $mrecv:ident, fn $imrecv:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $recv(
            buf: BufMut, count: $count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
            status: StatusOut,
        ) -> c_int {
            on_comm(stringify!($recv), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                let answer = job.recv(decode::at(buf), count.n(), datatype, decode::source(source), decode::tag(tag), comm);
                put_status(job, answer, status)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $irecv(
            buf: BufMut, count: $count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
            request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($irecv), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                request.put(job.irecv(decode::at(buf), count.n(), datatype, decode::source(source), decode::tag(tag), comm)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $init(
            buf: BufMut, count: $count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
            request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($init), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                request.put(job.recv_init(decode::at(buf), count.n(), datatype, decode::source(source), decode::tag(tag), comm)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $sendrecv(
            sendbuf: Buf, sendcount: $count, sendtype: Datatype, dest: c_int, sendtag: c_int,
            recvbuf: BufMut, recvcount: $count, recvtype: Datatype, source: c_int, recvtag: c_int,
            comm: Comm, status: StatusOut,
        ) -> c_int {
            on_comm(stringify!($sendrecv), comm, |job, comm| {
                let (sendtype, recvtype) = (sendtype.id_of(sendcount.n())?, recvtype.id_of(recvcount.n())?);
                let send = Outgoing {
                    buffer: decode::at(sendbuf), count: sendcount.n(), datatype: sendtype,
                    to: decode::destination(dest), tag: sendtag,
                };
                let recv = Incoming {
                    buffer: decode::at(recvbuf), count: recvcount.n(), datatype: recvtype,
                    from: decode::source(source), tag: decode::tag(recvtag),
                };
                let answer = job.sendrecv(send, recv, comm);
                put_status(job, answer, status)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $isendrecv(
            sendbuf: Buf, sendcount: $count, sendtype: Datatype, dest: c_int, sendtag: c_int,
            recvbuf: BufMut, recvcount: $count, recvtype: Datatype, source: c_int, recvtag: c_int,
            comm: Comm, request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($isendrecv), comm, |job, comm| {
                let (sendtype, recvtype) = (sendtype.id_of(sendcount.n())?, recvtype.id_of(recvcount.n())?);
                let send = Outgoing {
                    buffer: decode::at(sendbuf), count: sendcount.n(), datatype: sendtype,
                    to: decode::destination(dest), tag: sendtag,
                };
                let recv = Incoming {
                    buffer: decode::at(recvbuf), count: recvcount.n(), datatype: recvtype,
                    from: decode::source(source), tag: decode::tag(recvtag),
                };
                request.put(job.isendrecv(send, recv, comm)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $replace(
            buf: BufMut, count: $count, datatype: Datatype, dest: c_int, sendtag: c_int, source: c_int,
            recvtag: c_int, comm: Comm, status: StatusOut,
        ) -> c_int {
            on_comm(stringify!($replace), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                let send = Outgoing {
                    buffer: decode::at(buf), count: count.n(), datatype,
                    to: decode::destination(dest), tag: sendtag,
                };
                let recv = (decode::source(source), decode::tag(recvtag));
                let answer = job.sendrecv_replace(send, recv, comm);
                put_status(job, answer, status)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $ireplace(
            buf: BufMut, count: $count, datatype: Datatype, dest: c_int, sendtag: c_int, source: c_int,
            recvtag: c_int, comm: Comm, request: Out<Request>,
        ) -> c_int {
            on_comm(stringify!($ireplace), comm, |job, comm| {
                let datatype = datatype.id_of(count.n())?;
                let send = Outgoing {
                    buffer: decode::at(buf), count: count.n(), datatype,
                    to: decode::destination(dest), tag: sendtag,
                };
                let recv = (decode::source(source), decode::tag(recvtag));
                request.put(job.isendrecv_replace(send, recv, comm)?)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $mrecv(
            buf: BufMut, count: $count, datatype: Datatype, message: Out<Message>, status: StatusOut,
        ) -> c_int {
            on_requests(stringify!($mrecv), |job| {
                let datatype = datatype.id_of(count.n())?;
                let mut taken = message.get()?;
                let answer = job.mrecv(decode::at(buf), count.n(), datatype, &mut taken);
                message.put(taken)?;
                put_status(job, answer, status)
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $imrecv(
            buf: BufMut, count: $count, datatype: Datatype, message: Out<Message>, request: Out<Request>,
        ) -> c_int {
            on_requests(stringify!($imrecv), |job| {
                let datatype = datatype.id_of(count.n())?;
                let mut taken = message.get()?;
                let answer = job.imrecv(decode::at(buf), count.n(), datatype, &mut taken);
                message.put(taken)?;
                request.put(answer?)
            })
        }
    )* };
}

receives! {
    fn MPI_Recv, fn MPI_Irecv, fn MPI_Recv_init, fn MPI_Sendrecv, fn MPI_Isendrecv,
    fn MPI_Sendrecv_replace, fn MPI_Isendrecv_replace, fn MPI_Mrecv, fn MPI_Imrecv, c_int;
    fn MPI_Recv_c, fn MPI_Irecv_c, fn MPI_Recv_init_c, fn MPI_Sendrecv_c, fn MPI_Isendrecv_c,
    fn MPI_Sendrecv_replace_c, fn MPI_Isendrecv_replace_c, fn MPI_Mrecv_c, fn MPI_Imrecv_c, i64;
}

/// Stores the status of a receive; a truncated message still has one.
#[inline(always)]
fn put_status(
    job: &crate::calls::Job,
    answer: ftmpi_core::error::Result<ftmpi_core::mpi::Status>,
    place: StatusOut,
) -> ftmpi_core::error::Result<()> {
    match answer {
        Ok(status) => {
            place.put(&status);
            Ok(())
        }
        Err(error) => {
            if error.class == ftmpi_core::error::ErrorClass::Truncate {
                place.put(&job.last_status());
            }
            Err(error)
        }
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Probe(source: c_int, tag: c_int, comm: Comm, status: StatusOut) -> c_int {
    on_comm("MPI_Probe", comm, |job, comm| {
        status.put(&job.probe(decode::source(source), decode::tag(tag), comm)?);
        Ok(())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Iprobe(
    source: c_int,
    tag: c_int,
    comm: Comm,
    flag: Out<c_int>,
    status: StatusOut,
) -> c_int {
    on_comm("MPI_Iprobe", comm, |job, comm| {
        let found = job.iprobe(decode::source(source), decode::tag(tag), comm)?;
        if let Some(found) = &found {
            status.put(found);
        }
        flag.put(c_int::from(found.is_some()))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Mprobe(
    source: c_int,
    tag: c_int,
    comm: Comm,
    message: Out<Message>,
    status: StatusOut,
) -> c_int {
    on_comm("MPI_Mprobe", comm, |job, comm| {
        let (taken, found) = job.mprobe(decode::source(source), decode::tag(tag), comm)?;
        status.put(&found);
        message.put(taken)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Improbe(
    source: c_int,
    tag: c_int,
    comm: Comm,
    flag: Out<c_int>,
    message: Out<Message>,
    status: StatusOut,
) -> c_int {
    on_comm("MPI_Improbe", comm, |job, comm| {
        let found = job.improbe(decode::source(source), decode::tag(tag), comm)?;
        flag.put(c_int::from(found.is_some()))?;
        match found {
            Some((taken, found)) => {
                status.put(&found);
                message.put(taken)
            }
            None => message.put(Message::NULL),
        }
    })
}
