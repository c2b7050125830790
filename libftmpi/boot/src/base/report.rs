//! Lines on standard error, and the end of a process that cannot be restored.

use crate::base::refusal::{Line, Shown};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;

/// Prints a line on standard error.
pub fn print(rank: u32, text: &[u8]) {
    let mut line = Line::new();
    line.set(format_args!("ftmpi: rank {rank}: {}\n", Shown(text)));
    syscalls::say(2, line.bytes());
}

/// Ends the process with the line in the reserved area.
pub fn fail(rank: u32, area: &ReservedArea, code: i32) -> ! {
    print(rank, area.line().bytes());
    syscalls::exit(code)
}

/// Ends the process with a line, where there is no reserved area.
pub fn fail_early(rank: u32, text: &str, code: i32) -> ! {
    print(rank, text.as_bytes());
    syscalls::exit(code)
}
