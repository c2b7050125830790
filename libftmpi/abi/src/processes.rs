//! Ports, names and new processes (MPI-4.1, chapter 11): not supported, and reported as such.
//!
//! Guarantees: every call fails at once with an error class that the standard gives it, and a text
//! that says what to do instead. No argument is read.

// Support matrix: clear error.

use crate::calls::{enter, on_comm, on_job};
use crate::handle::Comm;
use ftmpi_core::bail;
use ftmpi_entry::entry;
use std::ffi::{c_char, c_int};

type Chars = *const c_char;

macro_rules! refused {
    ($(fn $name:ident($($argument:ident: $type:ty),*), $class:ident, $text:literal;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name($($argument: $type),*) -> c_int {
            on_job(stringify!($name), |_| bail!($class, $text))
        }
    )* };
}

refused! {
    fn MPI_Open_port(_info: c_int, _port: *mut c_char), UnsupportedOperation,
        "jobs of ftmpi do not connect to each other, so there are no ports: start the programs as one job, \
         separated by ':'";
    fn MPI_Close_port(_port: Chars), Port,
        "there are no ports: MPI_Open_port is not supported";
    fn MPI_Publish_name(_service: Chars, _info: c_int, _port: Chars), UnsupportedOperation,
        "there is no name service, because there are no ports";
    fn MPI_Unpublish_name(_service: Chars, _info: c_int, _port: Chars), Service,
        "no name is published: MPI_Publish_name is not supported";
    fn MPI_Lookup_name(_service: Chars, _info: c_int, _port: *mut c_char), Name,
        "no name is published: MPI_Publish_name is not supported";
    fn MPI_Comm_join(_descriptor: c_int, _comm: *mut c_int), UnsupportedOperation,
        "jobs of ftmpi do not connect to each other: start the programs as one job, separated by ':'";
}

macro_rules! refused_on_comm {
    ($(fn $name:ident(
        $($before:ident: $type:ty),*; $comm:ident; $($after:ident: $more:ty),*
    ), $class:ident, $text:literal;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name($($before: $type,)* $comm: Comm, $($after: $more),*) -> c_int {
            on_comm(stringify!($name), $comm, |job, comm| {
                job.comm_size(comm)?;
                bail!($class, $text)
            })
        }
    )* };
}

refused_on_comm! {
    fn MPI_Comm_accept(_port: Chars, _info: c_int, _root: c_int; comm; _new: *mut c_int), Port,
        "there are no ports: MPI_Open_port is not supported";
    fn MPI_Comm_connect(_port: Chars, _info: c_int, _root: c_int; comm; _new: *mut c_int), Port,
        "there are no ports: MPI_Open_port is not supported";
    fn MPI_Comm_spawn(_command: Chars, _argv: *mut *mut c_char, _most: c_int, _info: c_int, _root: c_int; comm;
        _new: *mut c_int, _codes: *mut c_int), Spawn,
        "a running job cannot get more processes: start all of them with ftmpiexec, programs separated \
         by ':'";
    fn MPI_Comm_spawn_multiple(_count: c_int, _commands: *mut *mut c_char, _argv: *mut *mut *mut c_char,
        _most: *const c_int, _infos: *const c_int, _root: c_int; comm; _new: *mut c_int, _codes: *mut c_int),
        Spawn,
        "a running job cannot get more processes: start all of them with ftmpiexec, programs separated \
         by ':'";
}
