//! The MPIR interface (*The MPIR Process Acquisition Interface*, version 1.1): debuggers and tools
//! such as STAT find the processes of all ranks here, by these names in the symbol table.
//!
//! Guarantees: the table has a process for each rank, from the first time that all ranks have one.
//! It is complete whenever `MPIR_Breakpoint` is called: at that time, and once each time that ranks
//! have begun again together. Memory of an earlier table stays valid.
#![allow(non_upper_case_globals, non_snake_case, reason = "names of the interface")]

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// `MPIR_PROCDESC`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessDescription {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// The processes.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_proctable: AtomicPtr<ProcessDescription> = AtomicPtr::new(std::ptr::null_mut());
/// How many there are.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_proctable_size: AtomicI32 = AtomicI32::new(0);
/// Set by the debugger.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_being_debugged: AtomicI32 = AtomicI32::new(0);
/// What `MPIR_Breakpoint` is called for.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_debug_state: AtomicI32 = AtomicI32::new(0);
/// This process starts ranks and is none.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_i_am_starter: AtomicI32 = AtomicI32::new(1);
/// A debugger need not attach to all ranks.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_partial_attach_ok: AtomicI32 = AtomicI32::new(1);

/// `MPIR_DEBUG_SPAWNED`
const SPAWNED: i32 = 1;

/// Debuggers stop here.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn MPIR_Breakpoint() {
    std::hint::black_box(MPIR_debug_state.load(Ordering::SeqCst));
}

/// Keeps the table.
#[derive(Debug, Default)]
pub struct Table {
    /// Host and process of each rank.
    ranks: Vec<Option<(String, u32)>>,
    /// The programs of the ranks.
    programs: Vec<String>,
}

impl Table {
    /// Ranks with these programs.
    pub fn new(programs: Vec<String>) -> Self {
        Self { ranks: vec![None; programs.len()], programs }
    }

    /// A rank is being started: its process, if it had one, is gone.
    pub fn begins(&mut self, rank: usize) {
        if let Some(known) = self.ranks.get_mut(rank) {
            *known = None;
        }
    }

    /// One more rank.
    pub fn add(&mut self, program: String) {
        self.ranks.push(None);
        self.programs.push(program);
    }

    /// A rank has this process now.
    pub fn set(&mut self, rank: usize, host: &str, pid: u32) {
        let Some(known) = self.ranks.get_mut(rank) else { return };
        let now = (host.to_owned(), pid);
        if known.as_ref() == Some(&now) {
            return;
        }
        *known = Some(now);
        if let Some(all) = self.ranks.iter().cloned().collect::<Option<Vec<_>>>() {
            self.publish(&all);
        }
    }

    fn publish(&self, all: &[(String, u32)]) {
        let text = |text: &str| CString::new(text).unwrap_or_default().into_raw().cast_const();
        let table: Vec<ProcessDescription> = all
            .iter()
            .zip(&self.programs)
            .map(|((host, pid), program)| ProcessDescription {
                host_name: text(host),
                executable_name: text(program),
                pid: c_int::try_from(*pid).unwrap_or(0),
            })
            .collect();
        // A debugger may read the earlier table at this moment: its memory is not used again.
        let table = Box::leak(table.into_boxed_slice());
        MPIR_proctable.store(table.as_mut_ptr(), Ordering::SeqCst);
        MPIR_proctable_size.store(all.len() as i32, Ordering::SeqCst);
        MPIR_debug_state.store(SPAWNED, Ordering::SeqCst);
        MPIR_Breakpoint();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_when_it_is_published() {
        let mut table = Table::new(vec!["/p/a".into(), "/p/b".into()]);
        table.set(1, "n2", 22);
        assert_eq!(MPIR_proctable_size.load(Ordering::SeqCst), 0);
        table.set(0, "n1", 11);
        assert_eq!(MPIR_proctable_size.load(Ordering::SeqCst), 2);
        let first = MPIR_proctable.load(Ordering::SeqCst);
        assert!(!first.is_null() && MPIR_debug_state.load(Ordering::SeqCst) == SPAWNED);
        table.set(1, "n2", 22);
        assert_eq!(MPIR_proctable.load(Ordering::SeqCst), first, "nothing new");
        table.set(1, "n1", 33);
        assert_ne!(MPIR_proctable.load(Ordering::SeqCst), first, "it began again");
        // Both begin again: the table is published when both have a process.
        let one = MPIR_proctable.load(Ordering::SeqCst);
        table.begins(0);
        table.begins(1);
        table.set(0, "n1", 11);
        assert_eq!(MPIR_proctable.load(Ordering::SeqCst), one, "rank 1 has no process yet");
        table.set(1, "n1", 55);
        assert_ne!(MPIR_proctable.load(Ordering::SeqCst), one);
        assert_eq!(size_of::<ProcessDescription>(), 24);
        table.begins(2);
        table.set(2, "n1", 44);
    }
}
