//! What all other modules stand on: system calls, the reserved area, refusals.

pub mod procfs;
pub mod refusal;
pub mod reserved_area;
pub mod strings;
pub mod syscalls;
