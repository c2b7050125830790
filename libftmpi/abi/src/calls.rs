//! What every call has in common: entering the library, finding the job, reporting an error.
//!
//! Guarantees: no body runs unless MPI is initialised and not finalized (except the few that MPI
//! allows). An error reaches the error handler of the communicator that it belongs to. Its text
//! names the call, the communicator, the rank and the offending value. No borrow of the job is held
//! while a handler of the program runs, since it may call MPI again.

use crate::constants::MPI_SUCCESS;
use crate::error_codes;
use crate::handle::{Comm, Win};
use crate::handle_ids::File;
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::ids::FileId;
use ftmpi_core::ids::WinId;
use ftmpi_core::mpi::{CommId, Errhandler, Language};
use ftmpi_runtime::outside;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// The engine and everything of MPI above it, in this process.
pub type Job = ftmpi_runtime::Job;

const BEFORE_INIT: u8 = 0;
const RUNNING: u8 = 1;
const FINALIZED: u8 = 2;

/// Phase of the library. There is one thread in it; the atomic is only for tools that look from
/// another one.
static PHASE: AtomicU8 = AtomicU8::new(BEFORE_INIT);
/// Phase of the world model: a program may use sessions before, during, after or instead of
/// `MPI_Init`.
static WORLD: AtomicU8 = AtomicU8::new(BEFORE_INIT);

/// `MPI_Init` was called.
pub fn is_initialized() -> bool {
    WORLD.load(Ordering::Relaxed) != BEFORE_INIT
}

/// `MPI_Finalize` was called.
pub fn is_finalized() -> bool {
    WORLD.load(Ordering::Relaxed) == FINALIZED
}

pub fn set_world_running() {
    WORLD.store(RUNNING, Ordering::Relaxed);
}

pub fn set_world_finalized() {
    WORLD.store(FINALIZED, Ordering::Relaxed);
}

/// The library can be used no more.
pub fn has_ended() -> bool {
    PHASE.load(Ordering::Relaxed) == FINALIZED
}

#[inline(always)]
pub fn is_running() -> bool {
    PHASE.load(Ordering::Relaxed) == RUNNING
}

pub fn set_running() {
    PHASE.store(RUNNING, Ordering::Relaxed);
}

pub fn set_finalized() {
    PHASE.store(FINALIZED, Ordering::Relaxed);
}

/// Held while the program is inside a call. The signal handler of the runtime then only notes its
/// reason, and the end of the call looks at the note.
pub struct Inside(());

/// The guard of every `#[entry]`.
#[inline(always)]
pub fn enter(call: &'static &'static str) -> Inside {
    ftmpi_runtime::enter(call);
    Inside(())
}

/// The guard of a call that the standard allows before `MPI_Init`, from several threads at once
/// (MPI-4.1, 11.4.1). One of them starts MPI, the others wait for it.
pub fn enter_first(call: &'static &'static str) -> Inside {
    if !is_running() && !has_ended() {
        ftmpi_runtime::let_threads_in();
    }
    enter(call)
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        ftmpi_runtime::leave();
    }
}

/// The job, if MPI runs.
#[inline(always)]
pub fn job() -> Option<&'static mut Job> {
    if is_running() { Some(ftmpi_runtime::get()) } else { None }
}

/// Runs the body of a call on a communicator.
#[inline(always)]
pub fn on_comm(
    call: &'static str,
    comm: Comm,
    body: impl FnOnce(&mut Job, CommId) -> Result<()>,
) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match comm.id().and_then(|id| body(job, id)) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, comm, &error),
    }
}

/// Runs the body of a call that belongs to no communicator.
#[inline(always)]
pub fn on_job(call: &'static str, body: impl FnOnce(&mut Job) -> Result<()>) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match body(job) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, nowhere(), &error),
    }
}

/// Runs the body of a call on a window.
#[inline(always)]
pub fn on_win(
    call: &'static str,
    win: Win,
    body: impl FnOnce(&mut Job, WinId) -> Result<()>,
) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match win.id().and_then(|id| body(job, id)) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on_win(call, win, error.class.number(), &error.text),
    }
}

/// Runs the body of a call on a file.
#[inline(always)]
pub fn on_file(
    call: &'static str,
    file: File,
    body: impl FnOnce(&mut Job, FileId) -> Result<()>,
) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match file.id().and_then(|id| body(job, id)) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on_file(call, file, error.class.number(), &error.text),
    }
}

/// Brings an error to the error handler of a file; of none, to that of `MPI_FILE_NULL`.
#[cold]
pub fn raise_on_file(call: &'static str, file: File, code: c_int, text: &str) -> c_int {
    error_codes::remember(call, code, text);
    let Some(job) = job() else { die(call, None, code, text) };
    match job.file_errhandler_of(file.id().ok()) {
        Errhandler::Return => code,
        Errhandler::Fatal | Errhandler::Abort => die(call, Some("a file".into()), code, text),
        Errhandler::User { function, language } => {
            let (mut file, mut code_again) = (file, code);
            if language == Language::Cxx {
                crate::cxx::run_handler_of_file(function, &mut file, &mut code_again);
                return code_again;
            }
            // SAFETY: the program gave this address as an `MPI_File_errhandler_function`; both
            // arguments live for the length of the call. Fortran's go through a C function.
            let handler: unsafe extern "C" fn(*mut File, *mut c_int, ...) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above.
            outside(|| unsafe { handler(&mut file, &mut code_again) });
            code_again
        }
    }
}

/// Brings an error to the error handler of a window; of none, to that of errors without an object.
#[cold]
pub fn raise_on_win(call: &'static str, win: Win, code: c_int, text: &str) -> c_int {
    let known = win.id().ok().zip(job()).filter(|(id, job)| job.has_window(*id));
    let Some((id, job)) = known else { return raise_code(call, nowhere(), code, text) };
    error_codes::remember(call, code, text);
    match job.win_errhandler_of(id) {
        Errhandler::Return => code,
        Errhandler::Fatal | Errhandler::Abort => {
            let name = job.win_get_name(id).map(String::from_utf8_lossy).unwrap_or_default();
            let on = match &*name {
                "" => format!("window {:#010x}", win.0),
                name => name.to_owned(),
            };
            die(call, Some(on), code, text)
        }
        Errhandler::User { function, language } => run_handler(function, language, win.0, code),
    }
}

/// Runs the body of a call on requests: its errors are raised on the communicator, or window, of
/// the request that failed.
#[inline(always)]
pub fn on_requests(call: &'static str, body: impl FnOnce(&mut Job) -> Result<()>) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    job.clear_blame();
    match body(job) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => match job.blamed_win() {
            Some(id) => raise_on_win(call, Win::of(id), error.class.number(), &error.text),
            None => raise(call, Comm::of(job.blamed()), &error),
        },
    }
}

/// The communicator on which errors without an object are raised.
#[cold]
pub fn nowhere() -> Comm {
    job().map_or(Comm::WORLD, |job| Comm::of(job.of_no_object()))
}

/// Runs the body of a call that needs no job at all.
pub fn anywhere(call: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, nowhere(), &error),
    }
}

/// Brings an error to the error handler of `comm`; returns what the call returns to the program.
#[cold]
#[inline(never)]
pub fn raise(call: &'static str, comm: Comm, error: &MpiError) -> c_int {
    raise_code(call, comm, error.class.number(), &error.text)
}

/// The same for a code that may be one of the program's own.
#[cold]
pub fn raise_code(call: &'static str, comm: Comm, code: c_int, text: &str) -> c_int {
    error_codes::remember(call, code, text);
    let Some(job) = job() else { die(call, None, code, text) };
    // An invalid communicator is no object that has a handler.
    let on = comm.id().ok().filter(|&id| job.comm_size(id).is_ok());
    let on = on.unwrap_or_else(|| job.of_no_object());
    let handler = job.errhandler_of(on);
    hand_over(call, handler, Comm::of(on).0, || comm.describe(), code, text)
}

/// Brings an error to an error handler that is not a communicator's. `handle` and `on` are the
/// object that it belongs to, for the handler and for the user.
#[cold]
pub fn raise_to(
    call: &'static str,
    handler: Errhandler,
    handle: u32,
    on: &str,
    error: &MpiError,
) -> c_int {
    raise_code_to(call, handler, handle, on, error.class.number(), &error.text)
}

/// The same for a code that may be one of the program's own.
#[cold]
pub fn raise_code_to(
    call: &'static str,
    handler: Errhandler,
    handle: u32,
    on: &str,
    code: c_int,
    text: &str,
) -> c_int {
    error_codes::remember(call, code, text);
    hand_over(call, handler, handle, || on.into(), code, text)
}

fn hand_over(
    call: &'static str,
    handler: Errhandler,
    handle: u32,
    on: impl FnOnce() -> String,
    code: c_int,
    text: &str,
) -> c_int {
    match handler {
        Errhandler::Return => code,
        Errhandler::Fatal | Errhandler::Abort => die(call, Some(on()), code, text),
        Errhandler::User { function, language } => run_handler(function, language, handle, code),
    }
}

/// Calls a function of the program; what it leaves of the code is what the call returns (MPI-4.1,
/// 9.3.1).
fn run_handler(function: usize, language: Language, handle: u32, code: c_int) -> c_int {
    let (mut handle, mut code) = (handle as c_int, code);
    match language {
        Language::C => {
            // SAFETY: the program gave this address as an `MPI_Comm_errhandler_function`
            // or its like for windows; both
            // arguments live for the length of the call.
            let function: unsafe extern "C" fn(*mut c_int, *mut c_int, ...) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above.
            outside(|| unsafe { function(&mut handle, &mut code) });
        }
        Language::Fortran => {
            // SAFETY: the program gave this address as a subroutine with two integer arguments,
            // which Fortran passes by reference.
            let function: unsafe extern "C" fn(*mut c_int, *mut c_int) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above.
            outside(|| unsafe { function(&mut handle, &mut code) });
        }
        Language::Cxx => crate::cxx::run_handler(function, &mut handle, &mut code),
    }
    code
}

/// `MPI_ERRORS_ARE_FATAL`: one line for the user, then the job ends.
#[cold]
fn die(call: &str, on: Option<String>, code: c_int, text: &str) -> ! {
    let class =
        ErrorClass::from_number(code).map_or_else(|| format!("code {code}"), |c| c.name().into());
    print_line(&match on {
        Some(on) => format!("{call} on {on} failed: {class}: {text}"),
        None => format!("{call} failed: {class}: {text}"),
    });
    ftmpi_runtime::abort(if code == 0 { 1 } else { code })
}

/// Prints a line for the user, in one write: other ranks may print at the same time.
pub fn print_line(text: &str) {
    let line = match job().map(|job| job.engine.me()) {
        Some(rank) => format!("ftmpi: rank {rank}: {text}\n"),
        None => format!("ftmpi: {text}\n"),
    };
    // Nothing can be done about a standard error that is closed.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

impl Comm {
    /// The name of this communicator for users.
    pub fn describe(self) -> String {
        if self == Self::NULL {
            return "MPI_COMM_NULL".into();
        }
        let name = job().zip(self.id().ok()).and_then(|(job, id)| job.comm_get_name(id).ok());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => format!("communicator {:#010x}", self.0),
        }
    }
}

/// A call came before `MPI_Init` or after `MPI_Finalize`.
#[cold]
#[inline(never)]
pub fn not_running(call: &'static str) -> c_int {
    let when = if has_ended() { "after MPI_Finalize" } else { "before MPI_Init" };
    die(call, None, ErrorClass::Other.number(), &format!("{call} was called {when}"))
}

/// The body of every function of the MPI standard that this version does not have.
#[cold]
#[inline(never)]
pub fn unsupported(call: &'static str) -> c_int {
    let text = format!("this version of ftmpi does not implement {call}");
    raise(call, nowhere(), &ErrorClass::UnsupportedOperation.because(text))
}
