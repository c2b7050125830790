//! Prints lines about a restore, and ends a process that cannot be restored.

use crate::base::notice::Notice;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::base::text::{Line, Shown};

/// The whole line that a rank prints.
pub fn line(rank: u32, notice: Notice<'_>) -> Line {
    let mut line = Line::new();
    line.set(format_args!("ftmpi: rank {rank}: {notice}\n"));
    line
}

/// Prints a line on the standard error of the rank, which is descriptor `fd` at this moment.
pub fn print(fd: i32, rank: u32, notice: Notice<'_>) {
    syscalls::write_counted(fd, line(rank, notice).bytes());
}

/// Ends the process with the line in the reserved area.
pub fn fail(rank: u32, area: &ReservedArea, code: i32) -> ! {
    fail_with(rank, Notice::Refused(Shown(area.line().bytes())), code)
}

/// Ends the process with a line.
pub fn fail_with(rank: u32, notice: Notice<'_>, code: i32) -> ! {
    print(2, rank, notice);
    syscalls::exit(code)
}
