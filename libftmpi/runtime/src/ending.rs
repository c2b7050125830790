//! How this process ends when it cannot go on.

/// Ends the process.
pub(crate) fn die(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Ends this incarnation because of something that another one may not meet: the rank is restarted,
/// where that is possible.
pub(crate) fn fall(what: &str, error: &dyn std::fmt::Display) -> ! {
    eprintln!("ftmpi: {what}: {error}");
    // SAFETY: ends this very process.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    die(1)
}

/// Ends the process because of something that every incarnation would meet.
pub(crate) fn fatal(what: &str, error: &dyn std::fmt::Display) -> ! {
    eprintln!("ftmpi: {what}: {error}");
    die(1)
}
