//! Error codes, classes, texts and error handlers (MPI-4.1, 9.3 to 9.5).
//!
//! Guarantees: the code that a call returns is the number of its class, so programs that compare
//! the two directly are right. `MPI_Error_string` adds the subject of the last error of that class.
//! Classes and codes that the program adds get numbers above the predefined ones, the same in every
//! replay.

use crate::calls::{anywhere, enter, enter_first, on_comm, on_job};
use crate::constants::MPI_MAX_ERROR_STRING;
use crate::error_codes::{self, bytes_of, class_of, remove};
use crate::handle::{Comm, Errhandler};
use crate::memory::{Out, OutText, Text};
use crate::predefined_attributes;
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::Language;
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};

#[entry]
pub extern "C" fn MPI_Error_class(code: c_int, class: Out<c_int>) -> c_int {
    anywhere("MPI_Error_class", || match class_of(code) {
        Some(found) => class.put(found),
        None => bail!(Arg, "{code} is no error code"),
    })
}

#[entry]
pub extern "C" fn MPI_Error_string(
    code: c_int,
    text: OutText<MPI_MAX_ERROR_STRING>,
    length: Out<c_int>,
) -> c_int {
    anywhere("MPI_Error_string", || {
        if class_of(code).is_none() {
            bail!(Arg, "{code} is no error code");
        }
        length.put(text.put(bytes_of(code))? as c_int)
    })
}

/// Adds a code, or a class of its own; `MPI_LASTUSEDCODE` follows.
fn added(class: Option<c_int>) -> Result<c_int> {
    let code = error_codes::add(class)?;
    predefined_attributes::last_used_code_changed();
    Ok(code)
}

#[entry]
pub extern "C" fn MPI_Add_error_class(class: Out<c_int>) -> c_int {
    anywhere("MPI_Add_error_class", || class.put(added(None)?))
}

#[entry]
pub extern "C" fn MPI_Add_error_code(class: c_int, code: Out<c_int>) -> c_int {
    anywhere("MPI_Add_error_code", || match class_of(class) {
        Some(known) if known == class => code.put(added(Some(class))?),
        _ => bail!(Arg, "{class} is no error class"),
    })
}

#[entry]
pub extern "C" fn MPI_Add_error_string(code: c_int, text: Text) -> c_int {
    anywhere("MPI_Add_error_string", || {
        let text = text.get("string")?;
        if !error_codes::set_text(code, text) {
            bail!(Arg, "{code} was not added by the program: its text cannot be changed");
        }
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_Remove_error_class(class: c_int) -> c_int {
    anywhere("MPI_Remove_error_class", || remove(class, "class"))
}

#[entry]
pub extern "C" fn MPI_Remove_error_code(code: c_int) -> c_int {
    anywhere("MPI_Remove_error_code", || remove(code, "code"))
}

#[entry]
pub extern "C" fn MPI_Remove_error_string(code: c_int) -> c_int {
    anywhere("MPI_Remove_error_string", || remove(code, "string"))
}

/// Creating, setting and asking for handlers, under the names of MPI-2 and of MPI-1.
macro_rules! creations {
    ($(fn $create:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $create(function: *mut c_void, handler: Out<Errhandler>) -> c_int {
            on_job(stringify!($create), |job| {
                if function.is_null() {
                    bail!(Arg, "the function of an error handler is a null pointer");
                }
                handler.put(Errhandler::of(job.errhandler_create(function as usize, Language::C)?))
            })
        }
    )* };
}

creations! {
    fn MPI_Comm_create_errhandler;
    fn MPI_Errhandler_create;
    fn MPI_Win_create_errhandler;
}

macro_rules! handlers {
    ($(fn $set:ident, fn $get:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $set(comm: Comm, handler: Errhandler) -> c_int {
            on_comm(stringify!($set), comm, |job, comm| job.comm_set_errhandler(comm, handler.id()?))
        }

        #[entry(guard = enter)]
        pub extern "C" fn $get(comm: Comm, handler: Out<Errhandler>) -> c_int {
            on_comm(stringify!($get), comm, |job, comm| {
                handler.put(Errhandler::of(job.comm_get_errhandler(comm)?))
            })
        }
    )* };
}

handlers! {
    fn MPI_Comm_set_errhandler, fn MPI_Comm_get_errhandler;
    fn MPI_Errhandler_set, fn MPI_Errhandler_get;
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Errhandler_free(handler: Out<Errhandler>) -> c_int {
    crate::environment::anytime("MPI_Errhandler_free", |job| {
        job.errhandler_free(handler.get()?.id()?)?;
        handler.put(Errhandler::NULL)
    })
}
