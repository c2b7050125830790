//! What every call has in common: entering the library, finding the job, reporting an error.
//!
//! Guarantees: no body runs unless MPI is initialised and not finalized (except the few that MPI
//! allows); an error reaches the error handler of the communicator that it belongs to, with a text
//! that names the call, the communicator, the rank and the offending value; no borrow of the job is
//! held while a handler of the program runs, since it may call MPI again.

use crate::constants::MPI_SUCCESS;
use crate::errors;
use crate::handle::Comm;
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::{CommId, Errhandler, Language};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// The engine and everything of MPI above it, in this process.
pub type Job = ftmpi_runtime::Job;

const BEFORE_INIT: u8 = 0;
const RUNNING: u8 = 1;
const FINALIZED: u8 = 2;

/// There is one thread in the library; the atomic is only for tools that look from another one.
static PHASE: AtomicU8 = AtomicU8::new(BEFORE_INIT);

pub fn is_initialized() -> bool {
    PHASE.load(Ordering::Relaxed) != BEFORE_INIT
}

pub fn is_finalized() -> bool {
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

/// Held while the program is inside a call: the signal handler of the runtime then only notes what
/// it was called for, and the end of the call looks at the note.
pub struct Inside(());

/// The guard of every `#[entry]`.
#[inline(always)]
pub fn enter() -> Inside {
    ftmpi_runtime::enter();
    Inside(())
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

impl Comm {
    /// The communicator that this handle names.
    #[inline(always)]
    pub fn id(self) -> Result<CommId> {
        if self == Self::WORLD {
            return Ok(CommId::WORLD);
        }
        self.other_id()
    }

    fn other_id(self) -> Result<CommId> {
        match (self, self.made_index()) {
            (Self::SELF, _) => Ok(CommId::SELF),
            (_, Some(index)) if index > CommId::SELF.0 => Ok(CommId(index)),
            _ => Err(self.refuse()),
        }
    }

    /// The handle of a communicator of the core.
    pub fn of(id: CommId) -> Self {
        match id {
            CommId::WORLD => Self::WORLD,
            CommId::SELF => Self::SELF,
            CommId(index) => Self::made(index),
        }
    }

    /// The handle of a communicator of which this process may not be a member.
    pub fn of_member(id: Option<CommId>) -> Self {
        id.map_or(Self::NULL, Self::of)
    }
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

/// Runs the body of a call that belongs to no communicator: its errors are raised on the world.
#[inline(always)]
pub fn on_job(call: &'static str, body: impl FnOnce(&mut Job) -> Result<()>) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match body(job) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, Comm::WORLD, &error),
    }
}

/// Runs the body of a call on requests: its errors are raised on the communicator of the request that
/// failed.
#[inline(always)]
pub fn on_requests(call: &'static str, body: impl FnOnce(&mut Job) -> Result<()>) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    match body(job) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, Comm::of(job.blamed()), &error),
    }
}

/// Runs the body of a call that needs no job at all.
pub fn anywhere(call: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, Comm::WORLD, &error),
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
    errors::remember(code, text);
    let Some(job) = job() else { die(call, None, code, text) };
    // An invalid communicator has no handler: the world's is asked.
    let on = comm.id().ok().filter(|&id| job.comm_size(id).is_ok()).unwrap_or(CommId::WORLD);
    match job.errhandler_of(on) {
        Errhandler::Return => code,
        Errhandler::Fatal | Errhandler::Abort => die(call, Some(comm), code, text),
        Errhandler::User { function, language } => {
            run_handler(function, language, Comm::of(on), code);
            code
        }
    }
}

fn run_handler(function: usize, language: Language, comm: Comm, code: c_int) {
    let (mut comm, mut code) = (comm.0 as c_int, code);
    match language {
        Language::C => {
            // SAFETY: the program gave this address as an `MPI_Comm_errhandler_function`; both
            // arguments live for the length of the call.
            let handler: unsafe extern "C" fn(*mut c_int, *mut c_int, ...) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above.
            unsafe { handler(&mut comm, &mut code) };
        }
        Language::Fortran => {
            // SAFETY: the program gave this address as a subroutine with two integer arguments, which
            // Fortran passes by reference.
            let handler: unsafe extern "C" fn(*mut c_int, *mut c_int) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above.
            unsafe { handler(&mut comm, &mut code) };
        }
    }
}

/// `MPI_ERRORS_ARE_FATAL`: one line for the user, then the job ends.
#[cold]
fn die(call: &str, comm: Option<Comm>, code: c_int, text: &str) -> ! {
    let class =
        ErrorClass::from_number(code).map_or_else(|| format!("code {code}"), |c| c.name().into());
    say(&match comm {
        Some(comm) => format!("{call} on {} failed: {class}: {text}", comm.describe()),
        None => format!("{call} failed: {class}: {text}"),
    });
    ftmpi_runtime::abort(if code == 0 { 1 } else { code })
}

/// Tells the user something, in one write: other ranks may do the same at the same time.
pub fn say(text: &str) {
    let line = match job().map(|job| job.comm_rank(CommId::WORLD)) {
        Some(Ok(rank)) => format!("ftmpi: rank {rank}: {text}\n"),
        _ => format!("ftmpi: {text}\n"),
    };
    // Nothing can be done about a standard error that is closed.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

impl Comm {
    /// How users call this communicator.
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
    let when = if is_finalized() { "after MPI_Finalize" } else { "before MPI_Init" };
    die(call, None, ErrorClass::Other.number(), &format!("{call} was called {when}"))
}

/// The body of every function of the MPI standard that this version does not have.
#[cold]
#[inline(never)]
pub fn unsupported(call: &'static str) -> c_int {
    let text = format!("this version of ftmpi does not implement {call}");
    raise(call, Comm::WORLD, &ErrorClass::UnsupportedOperation.because(text))
}
