//! Why a process or a thread cannot be started: a limit is named.

use std::io;

/// The reason, with the limit to raise if there is one.
pub fn no_process(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => format!("{error}; raise the limit on processes (ulimit -u)"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_processes_is_named() {
        let limit = no_process(&io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(limit.ends_with("(ulimit -u)"), "{limit}");
        let other = no_process(&io::Error::from_raw_os_error(libc::ENOENT));
        assert!(!other.contains("ulimit"), "{other}");
    }
}
