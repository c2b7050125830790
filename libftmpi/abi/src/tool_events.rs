//! Events and their sources in the tools interface: there is none.
//!
//! Guarantees: both are counted as zero, and every number, name or handle is refused with the class
//! of error that the standard has for it.

use crate::constants::MPI_SUCCESS;
use crate::memory::{BufMut, Out, Text};
use ftmpi_core::error::ErrorClass as E;
use ftmpi_entry::entry;
use std::ffi::{c_char, c_int, c_void};

type Handle = *mut c_void;
type Places = *mut c_int;

#[entry]
pub extern "C" fn MPI_T_event_get_num(number: Out<c_int>) -> c_int {
    number.put(0).map_or(E::TInvalid.number(), |()| MPI_SUCCESS)
}

#[entry]
pub extern "C" fn MPI_T_source_get_num(number: Out<c_int>) -> c_int {
    number.put(0).map_or(E::TInvalid.number(), |()| MPI_SUCCESS)
}

#[entry]
pub extern "C" fn MPI_T_event_get_index(_name: Text, _index: Out<c_int>) -> c_int {
    E::TInvalidName.number()
}

macro_rules! refused {
    ($(fn $name:ident($($type:ty),*), $error:ident;)*) => { $(
        refused! { @ $name [$($type),*] [a b c d e f g h i j k] [] $error }
    )* };
    (@ $name:ident [$type:ty $(, $types:ty)*] [$arg:ident $($args:ident)*] [$($done:tt)*] $error:ident) => {
        refused! { @ $name [$($types),*] [$($args)*] [$($done)* ($arg: $type)] $error }
    };
    (@ $name:ident [] [$($args:ident)*] [$(($arg:ident: $type:ty))*] $error:ident) => {
        #[entry]
        pub extern "C" fn $name($($arg: $type),*) -> c_int {
            let _ = ($($arg,)*);
            E::$error.number()
        }
    };
}

refused! {
    fn MPI_T_event_get_info(c_int, *mut c_char, Places, Places, Places, *mut isize, Places, *mut Handle,
        Places, *mut c_char, Places), TInvalidIndex;
    fn MPI_T_event_handle_alloc(c_int, *mut c_void, c_int, *mut Handle), TInvalidIndex;
    fn MPI_T_source_get_timestamp(c_int, *mut i64), TInvalidIndex;
    fn MPI_T_source_get_info(c_int, *mut c_char, Places, *mut c_char, Places, Places, *mut i64, *mut i64,
        Places), TInvalidIndex;
    fn MPI_T_event_handle_get_info(Handle, Places), TInvalidHandle;
    fn MPI_T_event_handle_set_info(Handle, c_int), TInvalidHandle;
    fn MPI_T_event_handle_free(Handle, *mut c_void, *mut c_void), TInvalidHandle;
    fn MPI_T_event_register_callback(Handle, c_int, c_int, *mut c_void, *mut c_void), TInvalidHandle;
    fn MPI_T_event_callback_get_info(Handle, c_int, Places), TInvalidHandle;
    fn MPI_T_event_callback_set_info(Handle, c_int, c_int), TInvalidHandle;
    fn MPI_T_event_set_dropped_handler(Handle, *mut c_void), TInvalidHandle;
    fn MPI_T_event_read(Handle, c_int, BufMut), TInvalidHandle;
    fn MPI_T_event_copy(Handle, BufMut), TInvalidHandle;
    fn MPI_T_event_get_timestamp(Handle, *mut i64), TInvalidHandle;
    fn MPI_T_event_get_source(Handle, Places), TInvalidHandle;
}
