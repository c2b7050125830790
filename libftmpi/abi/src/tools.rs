//! The tools interface MPI_T (MPI-4.1, chapter 15): its begin and end, and what its parts share.
//!
//! | file | what |
//! | --- | --- |
//! | `tool_settings` | control variables: the settings of the job, and their enumeration |
//! | `tool_counters` | performance variables: the counters of this rank |
//! | `tool_categories` | the two categories |
//! | `tool_events` | events: there is none |
//!
//! Guarantees: calls return their codes and never reach an error handler. Only `ftmpi_check` can be
//! written. What a program reads of a counter is recorded like every answer that depends on timing,
//! so a replay reads the same.

use crate::calls::enter_first;
use crate::constants::{MPI_SUCCESS, MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED};
use crate::environment;
use crate::memory::{BufMut, Out, OutTextOf, Text};
use ftmpi_core::error::ErrorClass as E;
use ftmpi_core::usermem::UserPtr;
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many more calls of `MPI_T_init_thread` than of `MPI_T_finalize` there were.
static USERS: AtomicU32 = AtomicU32::new(0);

pub const BIND_NO_OBJECT: c_int = 9700;

/// A handle or enumeration of this interface: an address that means something to us only.
pub type Handle = *mut c_void;

/// Runs the body of a call, if the interface is in use.
pub fn tool(body: impl FnOnce() -> Result<(), E>) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 {
        return E::TNotInitialized.number();
    }
    body().map_or_else(E::number, |()| MPI_SUCCESS)
}

/// The element of a table that a number names.
pub fn nth<T>(table: &'static [T], index: c_int) -> Result<&'static T, E> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or(E::TInvalidIndex)
}

/// The element of a table that a handle is the address of.
pub fn by_address<T>(table: &'static [T], handle: Handle) -> Result<&'static T, E> {
    table.iter().find(|one| std::ptr::eq(*one, handle.cast())).ok_or(E::TInvalidHandle)
}

pub fn address_of<T>(one: &'static T) -> Handle {
    (&raw const *one).cast_mut().cast()
}

/// Gives a text and its length with the zero byte, cut to the room that the program has.
pub fn give(text: &str, place: OutTextOf, length: Out<c_int>) {
    let room = length.get().ok().and_then(|room| usize::try_from(room).ok()).unwrap_or(0);
    if room > 0 && place.put(room, text).is_ok() {
        length.put_if_wanted((text.len() + 1).min(room) as c_int);
    } else {
        length.put_if_wanted(text.len() as c_int + 1);
    }
}

pub fn put<T: Copy>(place: Out<T>, value: T) -> Result<(), E> {
    place.put(value).map_err(|_| E::TInvalid)
}

pub fn named<T>(table: &[T], name: Text, of: fn(&T) -> &str) -> Result<c_int, E> {
    let wanted = name.get("name").map_err(|_| E::TInvalidName)?;
    let found = table.iter().position(|one| of(one).as_bytes() == wanted);
    found.map(|index| index as c_int).ok_or(E::TInvalidName)
}

/// Stores bytes where the program wants a value.
pub fn store(place: BufMut, bytes: &[u8]) -> Result<(), E> {
    if place.is_null() {
        return Err(E::TInvalid);
    }
    // SAFETY: not null; the caller promised room for the variable, whose size the program knows.
    unsafe { UserPtr::new(place) }.write(bytes);
    Ok(())
}

/// Counters are read under the lock of the job, so a tool with several threads needs a job that has
/// one. If MPI has not started yet, the tool joins the job here, as a session does. Under a
/// protocol that repeats a rank's reads after a failure, the job lets one thread in at a time. This
/// interface does the same.
#[entry]
pub extern "C" fn MPI_T_init_thread(required: c_int, provided: Out<c_int>) -> c_int {
    USERS.fetch_add(1, Ordering::Relaxed);
    let several = required >= MPI_THREAD_MULTIPLE && {
        let _inside = enter_first(&"MPI_T_init_thread");
        environment::join(MPI_THREAD_MULTIPLE).is_ok_and(|()| environment::lets_threads_in())
    };
    provided.put_if_wanted(if several { MPI_THREAD_MULTIPLE } else { MPI_THREAD_SERIALIZED });
    MPI_SUCCESS
}

#[entry]
pub extern "C" fn MPI_T_finalize() -> c_int {
    let one_less = |users: u32| users.checked_sub(1);
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(_) => MPI_SUCCESS,
        Err(_) => E::TNotInitialized.number(),
    }
}
