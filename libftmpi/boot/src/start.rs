//! The constructor. It runs before all others of the process (`-z initfirst`).
//!
//! In a process that is no rank, the constructor finds the functions before which this library
//! stands, and does nothing else. In a program that a rank has started it makes the process ready
//! for images of the rank. In a rank it reserves the reserved area and the window, and
//! installs the signal handler. With an image it never returns: the process becomes the one of the
//! image.

use crate::base::notice::Notice;
use crate::base::reserved_area;
use crate::base::syscalls;
use crate::base::{rank, report};
use crate::children::again;
use crate::descriptors::standard_stream;
use crate::exported_table;
use crate::interpose::{loads, next_function};
use crate::memory::{layout, window};
use crate::process::process_state;
use crate::restore;
use crate::signals::{agent_signal, batch_signal};
use crate::threads::thread_notes;
use core::ffi::{CStr, c_char, c_int};
use ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT;
use ftmpi_checkpoint::host::{BASELINE_ENV, parse_baseline};
use ftmpi_wire::control::{RANK_ENV, RankEnv, fds};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(_argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
    next_function::find_all_functions();
    // SAFETY: the dynamic linker passes the environment, ended by a null pointer.
    let Some(env) = (unsafe { variable(envp, RANK_ENV) }) else { return };
    let env = core::str::from_utf8(env).ok().and_then(RankEnv::decode);
    let Some(env) = env else { return };
    if syscalls::fcntl(fds::CONTROL, libc::F_GETFD, 0).is_err() {
        // SAFETY: as above.
        return unsafe { begin_child(&env, envp) };
    }
    if !layout::layout_is_fixed() && layout::is_in_the_way() {
        // The kernel has put the program where this library must be. It has other places, too.
        // SAFETY: the dynamic linker passes both, each ended by a null pointer.
        let _ =
            unsafe { syscalls::call!(libc::SYS_execve, c"/proc/self/exe".as_ptr(), argv, envp) };
    }
    let has_area = reserved_area::reserve();
    if env.restores(executed_name()) {
        if has_area.is_err() {
            report::fail_with(env.rank.0, Notice::AreaTaken, EXIT_IMAGE_MISFIT);
        }
        let window_len = window::reserve();
        let streams = standard_stream::current();
        // SAFETY: the dynamic linker passes the environment, ended by a null pointer.
        let as_child = unsafe { variable(envp, again::CHILD_ENV) }.is_some();
        // SAFETY: reserved above, and nobody else is there yet.
        let area = unsafe { reserved_area::ReservedArea::take() };
        // SAFETY: as above.
        unsafe { restore::run(&area, &env, (streams, as_child), window_len as u64) };
    }
    loads::find_libraries();
    reserved_area::choose_copies(!layout::layout_is_fixed());
    let state = if has_area.is_ok() && thread_notes::layout_is_right() {
        rank::State::Ready
    } else {
        rank::State::NoReservedArea
    };
    // SAFETY: as above.
    if let Some(baseline) = unsafe { variable(envp, BASELINE_ENV) }.and_then(parse_baseline) {
        process_state::remember_baseline(baseline);
    }
    let window_len = window::reserve();
    exported_table::begin(&env, window_len, state);
    let _ = agent_signal::install();
    // SAFETY: the dynamic linker passes the environment, ended by a null pointer.
    unsafe { batch_signal::install(envp) };
}

/// A program that a rank has started: it may become part of images of the rank.
///
/// # Safety
/// `envp` is an array of terminated texts that ends with a null pointer; they stay.
unsafe fn begin_child(env: &RankEnv, envp: *const *const c_char) {
    let is_placed = layout::layout_is_fixed() || !layout::is_in_the_way();
    if !is_placed || !thread_notes::layout_is_right() || reserved_area::reserve().is_err() {
        return;
    }
    loads::find_libraries();
    reserved_area::choose_copies(!layout::layout_is_fixed());
    // SAFETY: by the caller.
    if let Some(baseline) = unsafe { variable(envp, BASELINE_ENV) }.and_then(parse_baseline) {
        process_state::remember_baseline(baseline);
    }
    exported_table::begin_child(env, window::reserve(), rank::State::Ready);
    let _ = agent_signal::install();
}

/// The name by which this process was executed.
fn executed_name() -> &'static [u8] {
    // SAFETY: reads the auxiliary vector.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const c_char;
    if name.is_null() {
        return &[];
    }
    // SAFETY: the kernel has put a terminated text onto the stack.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

/// The value of a variable.
///
/// # Safety
/// `envp` is an array of terminated texts that ends with a null pointer; they stay.
unsafe fn variable(envp: *const *const c_char, name: &str) -> Option<&'static [u8]> {
    if envp.is_null() {
        return None;
    }
    let mut at = envp;
    loop {
        // SAFETY: the loop ends at the null pointer that ends the array.
        let entry = unsafe { *at };
        if entry.is_null() {
            return None;
        }
        // SAFETY: a terminated text.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let value = text.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if value.is_some() {
            return value;
        }
        // SAFETY: the end is not reached yet.
        at = unsafe { at.add(1) };
    }
}
