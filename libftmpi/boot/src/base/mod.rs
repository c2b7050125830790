//! What all other modules stand on: system calls, the reserved area, refusals.

pub mod context_switch;
pub mod errno;
pub mod image_tables;
pub mod notice;
pub mod procfs;
pub mod rank;
pub mod refusal;
pub mod refusal_text;
pub mod report;
pub mod reserved_area;
pub mod strings;
pub mod syscalls;
pub mod tables;
pub mod text;
