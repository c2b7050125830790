//! Starting and ending MPI, clocks, memory, versions (MPI-4.1, chapter 9 and 11.2).

use crate::calls::{
    self, anywhere, enter, enter_first, is_finalized, is_initialized, job, not_running, nowhere,
    on_comm, on_job, raise,
};
use crate::constants::{
    MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME, MPI_SUCCESS, MPI_THREAD_FUNNELED,
    MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED, MPI_THREAD_SINGLE, given,
};
use crate::handle::{Comm, Info};
use crate::memory::{BufMut, Out, OutText};
use crate::{attributes, error_codes, predefined_attributes, tool_settings};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_entry::entry;
use ftmpi_runtime::Threads;
use std::ffi::{c_char, c_double, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The thread level that was granted, and the thread that called `MPI_Init`.
static LEVEL: AtomicI32 = AtomicI32::new(MPI_THREAD_SINGLE);
static MAIN_THREAD: AtomicU64 = AtomicU64::new(0);

fn this_thread() -> u64 {
    // SAFETY: `pthread_self` has no precondition.
    unsafe { libc::pthread_self() as u64 }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> c_int {
    start("MPI_Init", MPI_THREAD_SINGLE)
}

#[entry]
pub extern "C" fn MPI_Init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: Out<c_int>,
) -> c_int {
    // Another thread may be in a call that is allowed before this one.
    let several = required >= MPI_THREAD_SERIALIZED;
    let call = &"MPI_Init_thread";
    let _inside = if several { enter_first(call) } else { enter(call) };
    let code = start("MPI_Init_thread", required);
    provided.put_if_wanted(LEVEL.load(Ordering::Relaxed));
    code
}

fn start(call: &'static str, required: c_int) -> c_int {
    let outcome = || -> Result<()> {
        if is_finalized() {
            bail!(Other, "MPI was finalized already and cannot be initialised again");
        }
        if is_initialized() {
            bail!(Other, "MPI is initialised already");
        }
        if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
            bail!(Arg, "{} is no thread level", given(required));
        }
        join(required)?;
        let job = ftmpi_runtime::get();
        if let Some(parent) = job.engine.link.own_world().and_then(|world| world.parent) {
            job.meet_parent(parent)?;
        }
        MAIN_THREAD.store(this_thread(), Ordering::Relaxed);
        calls::set_world_running();
        ftmpi_runtime::finalize_at_exit(false);
        Ok(())
    }();
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, nowhere(), &error),
    }
}

/// Joins the job, unless this process has done so: by `MPI_Init`, a session, or a call that the
/// standard allows before both. A program that calls nothing else leaves the job when it ends.
pub fn join(required: c_int) -> Result<()> {
    if calls::has_ended() {
        bail!(Other, "MPI has ended in this process and cannot be used again");
    }
    if calls::is_running() {
        return Ok(());
    }
    let granted = match ftmpi_runtime::init(match required {
        MPI_THREAD_SINGLE => Threads::Single,
        MPI_THREAD_FUNNELED => Threads::Funneled,
        MPI_THREAD_SERIALIZED => Threads::Serialized,
        _ => Threads::Multiple,
    })? {
        Threads::Single => MPI_THREAD_SINGLE,
        Threads::Funneled => MPI_THREAD_FUNNELED,
        Threads::Serialized => MPI_THREAD_SERIALIZED,
        Threads::Multiple => MPI_THREAD_MULTIPLE,
    };
    LEVEL.store(granted, Ordering::Relaxed);
    MAIN_THREAD.store(this_thread(), Ordering::Relaxed);
    calls::set_running();
    let job = ftmpi_runtime::get();
    let part = job.engine.link.job.as_ref().map_or(0, |job| job.app_number);
    let universe = job.engine.link.job.as_ref().map_or(1, |job| job.universe.max(job.size));
    predefined_attributes::set_job(universe, part);
    // The same in every incarnation: the environment is the job's.
    job.set_checks(tool_settings::begins_with_checks());
    ftmpi_runtime::finalize_at_exit(true);
    Ok(())
}

/// [`join`] for a session, which may be opened also after everything has ended (MPI-4.1, 11.3).
pub fn join_again() -> Result<()> {
    if !calls::has_ended() {
        return join(MPI_THREAD_MULTIPLE);
    }
    ftmpi_runtime::reopen();
    calls::set_running();
    Ok(())
}

/// The last session, or the world model after them all, has ended.
pub fn end() {
    if let Some(job) = job().filter(|job| job.checks()) {
        for what in job.left_open() {
            calls::print_line(&format!("MPI_Finalize: {what}"));
        }
    }
    ftmpi_runtime::finalize();
    calls::set_finalized();
}

/// For calls that are allowed before `MPI_Init` and `MPI_Session_init`.
pub fn joined(call: &'static str, body: impl FnOnce(&mut calls::Job) -> Result<()>) -> c_int {
    match join(MPI_THREAD_MULTIPLE) {
        Ok(()) => on_job(call, body),
        Err(_) => not_running(call),
    }
}

/// For calls on objects of this process alone that are allowed at any time, also when MPI has ended
/// (MPI-4.1, 11.4.1).
pub fn anytime(call: &'static str, body: impl FnOnce(&mut calls::Job) -> Result<()>) -> c_int {
    if !calls::has_ended() {
        return joined(call, body);
    }
    match body(ftmpi_runtime::get()) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(call, nowhere(), &error),
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Finalize() -> c_int {
    if job().is_none() || !is_initialized() || is_finalized() {
        return not_running("MPI_Finalize");
    }
    // The attributes of MPI_COMM_SELF are deleted first, while MPI still works: libraries hook
    // their own clean-up there.
    if let Err(code) = attributes::delete_all("MPI_Finalize", Comm::SELF) {
        return code;
    }
    calls::set_world_finalized();
    if job().is_some_and(|job| job.open_sessions() == 0) {
        end();
    }
    MPI_SUCCESS
}

#[entry]
pub extern "C" fn MPI_Initialized(flag: Out<c_int>) -> c_int {
    anywhere("MPI_Initialized", || flag.put(c_int::from(is_initialized())))
}

#[entry]
pub extern "C" fn MPI_Finalized(flag: Out<c_int>) -> c_int {
    anywhere("MPI_Finalized", || flag.put(c_int::from(is_finalized())))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Abort(comm: Comm, code: c_int) -> c_int {
    calls::print_line(&format!(
        "the program called MPI_Abort on {} with code {code}",
        comm.describe()
    ));
    match comm.id() {
        Ok(comm) => ftmpi_runtime::abort_on(comm, code),
        Err(_) => ftmpi_runtime::abort(code),
    }
}

#[entry]
pub extern "C" fn MPI_Query_thread(provided: Out<c_int>) -> c_int {
    anywhere("MPI_Query_thread", || provided.put(LEVEL.load(Ordering::Relaxed)))
}

/// Whether threads may call at the same time.
pub fn lets_threads_in() -> bool {
    LEVEL.load(Ordering::Relaxed) == MPI_THREAD_MULTIPLE
}

/// How the standard calls the level of thread support that was granted.
pub fn thread_level_name() -> &'static str {
    match LEVEL.load(Ordering::Relaxed) {
        MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}

#[entry]
pub extern "C" fn MPI_Is_thread_main(flag: Out<c_int>) -> c_int {
    anywhere("MPI_Is_thread_main", || {
        flag.put(c_int::from(MAIN_THREAD.load(Ordering::Relaxed) == this_thread()))
    })
}

#[entry]
pub extern "C" fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) -> c_int {
    anywhere("MPI_Get_version", || {
        // As MPI_VERSION and MPI_SUBVERSION in mpi.h, and as MPICH 5 with this binary interface.
        version.put(5)?;
        subversion.put(0)
    })
}

#[entry]
pub extern "C" fn MPI_Get_library_version(
    text: OutText<MPI_MAX_LIBRARY_VERSION_STRING>,
    length: Out<c_int>,
) -> c_int {
    anywhere("MPI_Get_library_version", || {
        // MPI.jl, mpi4py, CMake and others read the first line, as MPICH writes it and nothing
        // more, to learn which binary interface they talk to. The number is MPICH's for this
        // standard.
        let version = concat!(
            "MPICH Version:      5.0.0\n",
            "ftmpi Version:      ",
            env!("CARGO_PKG_VERSION"),
            " (with the binary interface of MPICH)\n",
            "MPICH ABI:          12, MPICH 3.1 and later"
        );
        length.put(text.put(version)? as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Get_processor_name(
    name: OutText<MPI_MAX_PROCESSOR_NAME>,
    length: Out<c_int>,
) -> c_int {
    on_job("MPI_Get_processor_name", |job| {
        // The name of the host where the first incarnation asked: a replay elsewhere must give the
        // same answer.
        let known = job.processor_name(|| {
            let mut buffer = [0u8; MPI_MAX_PROCESSOR_NAME];
            // SAFETY: the buffer is ours and its length is passed; one byte stays zero.
            let failed = unsafe {
                libc::gethostname(buffer.as_mut_ptr().cast::<c_char>(), buffer.len() - 1)
            };
            if failed != 0 {
                let why = std::io::Error::last_os_error();
                bail!(Other, "the name of this host is not known: {why}");
            }
            let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
            Ok(buffer[..end].to_vec())
        })?;
        length.put(name.put(known)? as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Wtime() -> c_double {
    match job() {
        Some(job) => job.engine.wtime(),
        // Outside MPI nothing is replayed: the plain clock serves.
        None => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64()),
    }
}

#[entry]
pub extern "C" fn MPI_Wtick() -> c_double {
    job().map_or(1e-9, |job| job.engine.clock_tick())
}

/// Declared with `...` in C; further arguments are the profiling tool's and not looked at.
#[entry]
pub extern "C" fn MPI_Pcontrol(_level: c_int) -> c_int {
    MPI_SUCCESS
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Alloc_mem(size: isize, info: Info, base: Out<*mut c_void>) -> c_int {
    on_job("MPI_Alloc_mem", |job| {
        let Ok(bytes) = usize::try_from(size) else {
            bail!(Arg, "size is {size}, must not be negative")
        };
        let align = match info.optional_id()? {
            Some(info) => job.infos.get(info)?.alignment(),
            None => 1,
        };
        // The program's own allocator: the memory belongs to the program and to its image.
        let mut memory = std::ptr::null_mut();
        let code = if align <= align_of::<libc::max_align_t>() {
            // SAFETY: `malloc` may be asked for any size.
            memory = unsafe { libc::malloc(bytes.max(1)) };
            i32::from(memory.is_null())
        } else {
            // SAFETY: a power of two, and a multiple of the size of a pointer; the place is ours.
            unsafe { libc::posix_memalign(&raw mut memory, align, bytes.max(1)) }
        };
        if code != 0 {
            bail!(NoMem, "{bytes} bytes are not available");
        }
        base.put(memory)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Free_mem(base: BufMut) -> c_int {
    on_job("MPI_Free_mem", |_| {
        // SAFETY: the program promises that `base` came from `MPI_Alloc_mem` and is not used any
        // more.
        unsafe { libc::free(base) };
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_Get_address(location: *const c_void, address: Out<isize>) -> c_int {
    anywhere("MPI_Get_address", || address.put(location as isize))
}

#[entry]
pub extern "C" fn MPI_Address(location: BufMut, address: Out<isize>) -> c_int {
    anywhere("MPI_Address", || address.put(location as isize))
}

#[entry]
pub extern "C" fn MPI_Aint_add(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

#[entry]
pub extern "C" fn MPI_Aint_diff(first: isize, second: isize) -> isize {
    first.wrapping_sub(second)
}

/// Used by `MPI_Comm_call_errhandler`: raises a code of the program.
#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_call_errhandler(comm: Comm, code: c_int) -> c_int {
    let valid = on_comm("MPI_Comm_call_errhandler", comm, |job, comm| {
        job.comm_size(comm)?;
        if error_codes::class_of(code).is_none() {
            bail!(Arg, "{code} is no error code");
        }
        Ok(())
    });
    if valid == MPI_SUCCESS {
        calls::raise_code("MPI_Comm_call_errhandler", comm, code, &error_codes::text_of(code));
    }
    valid
}
