//! Functions that stand before those of the C library, because the library is preloaded.
//!
//! Each function calls the next one of its name ([`next_function`]). In a process that is no rank
//! it does nothing else.

pub mod children;
pub mod clocks;
pub mod close;
pub mod executes;
pub mod inotify;
pub mod interruption;
pub mod loads;
pub mod locks;
pub mod memory;
pub mod next_function;
pub mod sigaction;
pub mod signal_masks;
pub mod streams;
pub mod system_v;
pub mod threads;
pub mod uninterrupted_write;
pub mod waits;
