//! The table through which the runtime calls this library.

use crate::base::rank::{self, State};
use crate::base::reserved_area::ReservedArea;
use crate::capture;
use crate::descriptors::{library_descriptors, of_the_caller, standard_stream};
use crate::process::{credentials, process_state};
use crate::signals::agent_signal;
use crate::threads::{linker_locks, thread_numbers, thread_state};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use ftmpi_checkpoint::boot_abi::{BootTable, Hook, SIGNAL, VERSION, WINDOW_BASE};
use ftmpi_wire::control::RankEnv;

/// The exported table. The constructor writes its data, alone. Later only atomic fields change.
#[repr(transparent)]
pub struct Exported(UnsafeCell<BootTable>);

// SAFETY: written only by the constructor, before anybody reads it.
unsafe impl Sync for Exported {}

/// The runtime finds the table with `dlsym`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static ftmpi_boot_table: Exported = Exported(UnsafeCell::new(BootTable {
    version: VERSION,
    size: size_of::<BootTable>() as u32,
    is_rank: 0,
    restored: AtomicI32::new(0),
    rank: 0,
    incarnation: AtomicU32::new(0),
    signal: SIGNAL,
    reserved: 0,
    window_base: 0,
    window_len: 0,
    set_hook,
    capture: capture::capture,
    reap: capture::reap,
    can_capture: capture::can_capture,
    why_refused: capture::why_refused,
    keep_open: library_descriptors::keep_open,
    thread: thread_numbers::of_caller,
}));

/// Fills the table: the first incarnation begins.
pub fn begin(env: &RankEnv, window_len: usize, state: State) {
    // SAFETY: the constructor is alone.
    let table = unsafe { &mut *ftmpi_boot_table.0.get() };
    table.is_rank = 1;
    fill(table, env, window_len);
    rank::begin(table, state, env.together);
    standard_stream::remember(standard_stream::current());
    remember(state);
    of_the_caller::remember_given();
}

/// Begins in a program that a rank has started: it may become part of images of the rank. The table
/// says that it is no rank. (Its standard streams are the rank's affair: the launcher gave none.)
pub fn begin_child(env: &RankEnv, window_len: usize, state: State) {
    // SAFETY: the constructor is alone.
    let table = unsafe { &mut *ftmpi_boot_table.0.get() };
    fill(table, env, window_len);
    rank::begin_child(table, state, env.together);
    remember(state);
}

fn fill(table: &mut BootTable, env: &RankEnv, window_len: usize) {
    table.rank = env.rank.0;
    table.incarnation.store(env.incarnation.0, Ordering::Relaxed);
    table.window_base = WINDOW_BASE as u64;
    table.window_len = window_len as u64;
}

fn remember(state: State) {
    thread_state::find_tid_address();
    thread_numbers::begin();
    process_state::remember_start();
    if state == State::Ready {
        // SAFETY: reserved, as the state says, and the constructor is alone.
        credentials::remember_start(&unsafe { ReservedArea::take() });
    }
    linker_locks::find();
}

/// See [`BootTable::set_hook`].
extern "C" fn set_hook(hook: Option<Hook>) -> c_int {
    if hook.is_some() && rank::is_rank() {
        library_descriptors::mark_close_on_exec();
        // The program, or a wrapper, may have changed the action of the signal.
        let _ = agent_signal::install();
    }
    agent_signal::set_hook(hook)
}
