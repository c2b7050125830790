//! Clocks and timers in a restored process.

pub mod clock_shift;
pub mod posix_timers;
