//! Completing requests, and asking for statuses (MPI-4.1, 3.7 and 3.8).

use crate::calls::{anywhere, enter, on_requests};
use crate::constants::MPI_UNDEFINED;
use crate::decode::{self, Number, StatusOut, StatusesOut, length};
use crate::generalized::{self, Places, settle};
use crate::handle::Datatype;
use crate::memory::{In, Out, OutArray};
use crate::status::MpiStatus;
use ftmpi_core::bail;
use ftmpi_core::error::ErrorClass;
use ftmpi_core::mpi::{Request, Status, TestAny};
use ftmpi_entry::entry;
use std::ffi::c_int;

#[entry(guard = enter)]
pub extern "C" fn MPI_Wait(request: Out<Request>, status: StatusOut) -> c_int {
    let code = on_requests("MPI_Wait", |job| {
        let mut handle = request.get()?;
        let answer = job.wait(&mut handle);
        request.put(handle)?;
        put_status(job, answer, status)
    });
    settle("MPI_Wait", code, Places::One(status))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Test(request: Out<Request>, flag: Out<c_int>, status: StatusOut) -> c_int {
    let code = on_requests("MPI_Test", |job| {
        let mut handle = request.get()?;
        let answer = job.test(&mut handle);
        request.put(handle)?;
        match answer {
            Ok(None) => flag.put(0),
            Ok(Some(done)) => {
                status.put(&done);
                flag.put(1)
            }
            Err(error) => {
                flag.put(1)?;
                put_status(job, Err(error), status)
            }
        }
    });
    settle("MPI_Test", code, Places::One(status))
}

/// Stores the status of a completed request, which there is even if it failed.
#[inline(always)]
fn put_status(
    job: &crate::calls::Job,
    answer: ftmpi_core::error::Result<Status>,
    place: StatusOut,
) -> ftmpi_core::error::Result<()> {
    match answer {
        Ok(status) => {
            place.put(&status);
            Ok(())
        }
        Err(error) => {
            place.put(&job.last_status());
            Err(error)
        }
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Waitall(
    count: c_int,
    requests: OutArray<Request>,
    statuses: StatusesOut,
) -> c_int {
    let code = on_requests("MPI_Waitall", |job| {
        let requests = requests.slice(length("count", count)?)?;
        job.waitall(requests, |i, status| statuses.put(i, status))
    });
    settle("MPI_Waitall", code, Places::Many(statuses))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Testall(
    count: c_int,
    requests: OutArray<Request>,
    flag: Out<c_int>,
    statuses: StatusesOut,
) -> c_int {
    let code = on_requests("MPI_Testall", |job| {
        let requests = requests.slice(length("count", count)?)?;
        let all = job.testall(requests, |i, status| statuses.put(i, status));
        // With an error in a status the call fails, and all are complete all the same.
        let complete = all.as_ref().map_or_else(|e| e.class == ErrorClass::InStatus, |all| *all);
        flag.put(c_int::from(complete))?;
        all.map(|_| ())
    });
    settle("MPI_Testall", code, Places::Many(statuses))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Waitany(
    count: c_int,
    requests: OutArray<Request>,
    index: Out<c_int>,
    status: StatusOut,
) -> c_int {
    let code = on_requests("MPI_Waitany", |job| {
        let requests = requests.slice(length("count", count)?)?;
        match job.waitany(requests)? {
            Some((i, done)) => {
                status.put(&done);
                index.put(i as c_int)?;
                job.verdict(done).map(|_| ())
            }
            None => {
                status.put_empty();
                index.put(MPI_UNDEFINED)
            }
        }
    });
    settle("MPI_Waitany", code, Places::One(status))
}

/// Returns one of several requests, if one is complete.
macro_rules! any {
    ($(fn $name:ident, $method:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            count: c_int,
            requests: OutArray<Request>,
            index: Out<c_int>,
            flag: Out<c_int>,
            status: StatusOut,
        ) -> c_int {
            let code = on_requests(stringify!($name), |job| {
                let requests = requests.slice(length("count", count)?)?;
                match job.$method(requests)? {
                    TestAny::Done(i, done) => {
                        status.put(&done);
                        flag.put(1)?;
                        index.put(i as c_int)?;
                        job.verdict(done).map(|_| ())
                    }
                    TestAny::NoneActive => {
                        status.put_empty();
                        flag.put(1)?;
                        index.put(MPI_UNDEFINED)
                    }
                    TestAny::Nothing => {
                        flag.put(0)?;
                        index.put(MPI_UNDEFINED)
                    }
                }
            });
            settle(stringify!($name), code, Places::One(status))
        }
    )* };
}

any! {
    fn MPI_Testany, testany;
    fn MPI_Request_get_status_any, request_get_status_any;
}

macro_rules! some {
    ($(fn $name:ident, $method:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            incount: c_int,
            requests: OutArray<Request>,
            outcount: Out<c_int>,
            indices: OutArray<c_int>,
            statuses: StatusesOut,
        ) -> c_int {
            let code = on_requests(stringify!($name), |job| {
                let n = length("incount", incount)?;
                let requests = requests.slice(n)?;
                let indices = indices.slice(n)?;
                // They are returned one by one: with an error in a status the call fails, and they
                // count all the same.
                let mut returned = 0;
                let done = job.$method(requests, |nth, index, status| {
                    indices[nth] = index as c_int;
                    statuses.put(nth, status);
                    returned = nth + 1;
                });
                if done.is_err() && returned > 0 {
                    outcount.put(returned as c_int)?;
                }
                outcount.put(done?.map_or(MPI_UNDEFINED, |n| n as c_int))
            });
            settle(stringify!($name), code, Places::Many(statuses))
        }
    )* };
}

some! {
    fn MPI_Waitsome, waitsome;
    fn MPI_Testsome, testsome;
    fn MPI_Request_get_status_some, request_get_status_some;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Request_get_status(
    request: Request,
    flag: Out<c_int>,
    status: StatusOut,
) -> c_int {
    let code = on_requests("MPI_Request_get_status", |job| {
        let done = job.request_get_status(request)?;
        flag.put(c_int::from(done.is_some()))?;
        let Some(done) = done else { return Ok(()) };
        status.put(&done);
        // As MPI_Test would.
        job.verdict_on(request, done).map(|_| ())
    });
    settle("MPI_Request_get_status", code, Places::One(status))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Request_get_status_all(
    count: c_int,
    requests: In<Request>,
    flag: Out<c_int>,
    statuses: StatusesOut,
) -> c_int {
    let code = on_requests("MPI_Request_get_status_all", |job| {
        let requests = requests.slice(length("count", count)?)?;
        let all = job.request_get_status_all(requests, |i, status| statuses.put(i, status))?;
        flag.put(c_int::from(all))
    });
    settle("MPI_Request_get_status_all", code, Places::Many(statuses))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Request_free(request: Out<Request>) -> c_int {
    let code = on_requests("MPI_Request_free", |job| {
        let mut handle = request.get()?;
        job.request_free(&mut handle)?;
        request.put(handle)
    });
    settle("MPI_Request_free", code, Places::None)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cancel(request: Out<Request>) -> c_int {
    let mut answer = None;
    let code = on_requests("MPI_Cancel", |job| {
        let request = request.get()?;
        answer = generalized::cancel(job, request);
        if answer.is_some() { Ok(()) } else { job.cancel(request) }
    });
    answer.map_or(code, |answer| answer())
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Start(request: Out<Request>) -> c_int {
    on_requests("MPI_Start", |job| job.start(request.get()?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Startall(count: c_int, requests: OutArray<Request>) -> c_int {
    on_requests("MPI_Startall", |job| job.startall(requests.slice(length("count", count)?)?))
}

/// Questions about the number of elements in a status.
macro_rules! counts {
    ($(fn $name:ident, $method:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(status: In<MpiStatus>, datatype: Datatype, count: Out<$count>) -> c_int {
            on_requests(stringify!($name), |job| {
                let status = status.get()?.decode();
                count.put(decode::count_or_undefined(job.$method(&status, datatype.id()?)?))
            })
        }
    )* };
}

counts! {
    fn MPI_Get_count, get_count, c_int;
    fn MPI_Get_count_c, get_count, i64;
    fn MPI_Get_elements, get_elements, c_int;
    fn MPI_Get_elements_c, get_elements, i64;
    fn MPI_Get_elements_x, get_elements, i64;
}

macro_rules! set_elements {
    ($(fn $name:ident, $count:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(status: StatusOut, datatype: Datatype, count: $count) -> c_int {
            on_requests(stringify!($name), |job| {
                let mut held = status.get()?;
                let mut decoded = held.decode();
                job.status_set_elements(&mut decoded, datatype.id()?, count.n())?;
                held.set_bytes(decoded.bytes);
                status.set(held)
            })
        }
    )* };
}

set_elements! {
    fn MPI_Status_set_elements, c_int;
    fn MPI_Status_set_elements_c, i64;
    fn MPI_Status_set_elements_x, i64;
}

#[entry]
pub extern "C" fn MPI_Test_cancelled(status: In<MpiStatus>, flag: Out<c_int>) -> c_int {
    anywhere("MPI_Test_cancelled", || flag.put(c_int::from(status.get()?.cancelled())))
}

#[entry]
pub extern "C" fn MPI_Status_set_cancelled(status: StatusOut, flag: c_int) -> c_int {
    anywhere("MPI_Status_set_cancelled", || {
        let mut held = status.get()?;
        held.set_cancelled(flag != 0);
        status.set(held)
    })
}

/// One field of a status, read and written by functions of MPI-4.1.
macro_rules! fields {
    ($(fn $get:ident, fn $set:ident, $field:ident;)*) => { $(
        #[entry]
        pub extern "C" fn $get(status: In<MpiStatus>, value: Out<c_int>) -> c_int {
            anywhere(stringify!($get), || value.put(status.get()?.$field))
        }

        #[entry]
        pub extern "C" fn $set(status: StatusOut, value: c_int) -> c_int {
            anywhere(stringify!($set), || {
                let mut held = status.get()?;
                held.$field = value;
                status.set(held)
            })
        }
    )* };
}

fields! {
    fn MPI_Status_get_source, fn MPI_Status_set_source, source;
    fn MPI_Status_get_tag, fn MPI_Status_set_tag, tag;
    fn MPI_Status_get_error, fn MPI_Status_set_error, error;
}

/// Conversions of statuses between languages: the five integers are the same in all of them.
macro_rules! conversions {
    ($(fn $name:ident;)*) => { $(
        #[entry]
        pub extern "C" fn $name(from: In<MpiStatus>, to: Out<MpiStatus>) -> c_int {
            anywhere(stringify!($name), || {
                if crate::status::is_ignored(from.address()) {
                    bail!(Arg, "MPI_STATUS_IGNORE cannot be converted");
                }
                to.put(from.get()?)
            })
        }
    )* };
}

conversions! {
    fn MPI_Status_c2f;
    fn MPI_Status_f2c;
    fn MPI_Status_c2f08;
    fn MPI_Status_f082c;
    fn MPI_Status_f2f08;
    fn MPI_Status_f082f;
}
