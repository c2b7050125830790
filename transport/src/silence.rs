//! The end of connections whose other host has vanished without a goodbye: power, cable, a network
//! that has split.
//!
//! Guarantees: a connection ends with an error some time after the kernel of the other side has
//! stopped to answer. A program that only reads slowly loses no connection, provided that
//! [`end_when_silent`] is used for readers that always read: with `TCP_USER_TIMEOUT` the kernel
//! also ends a connection on which the other side leaves no room for that long (tcp(7); Linux,
//! `tcp_probe_timer`). Channels between ranks get [`keep_alive`] only: a rank that computes does
//! not read. What is on its way on them when a network splits is found by the agents, which watch
//! the way between their hosts.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Probes in vain before a silent connection ends.
const PROBES: u32 = 3;

/// Has the kernel probe the other side while nothing is under way; the connection ends when it has
/// been silent for about `limit`.
pub fn keep_alive(socket: BorrowedFd<'_>, limit: Duration) {
    let pause = (limit / (PROBES + 1)).as_secs().max(1) as i32;
    set(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, pause);
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, pause);
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, PROBES as i32);
}

/// As [`keep_alive`], also while something is under way.
pub fn end_when_silent(socket: BorrowedFd<'_>, limit: Duration) {
    keep_alive(socket, limit);
    let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis);
}

/// Best effort: a Unix socket, on a host without loopback device, has none of these options.
fn set(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) {
    // SAFETY: a system call on an open descriptor; `value` lives over the call.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    fn get(socket: BorrowedFd<'_>, level: i32, option: i32) -> i32 {
        let (mut value, mut bytes) = (0_i32, size_of::<i32>() as u32);
        // SAFETY: a system call on an open descriptor; both pointers live over the call.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                level,
                option,
                (&raw mut value).cast(),
                &raw mut bytes,
            )
        };
        assert_eq!(result, 0);
        value
    }

    #[test]
    fn probes_fit_into_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = stream.as_fd();
        keep_alive(socket, Duration::from_secs(20));
        assert_eq!(get(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
        let times = [libc::TCP_KEEPIDLE, libc::TCP_KEEPINTVL, libc::TCP_KEEPCNT];
        let [idle, pause, probes] = times.map(|option| get(socket, libc::IPPROTO_TCP, option));
        assert_eq!(idle + pause * probes, 20);
        assert_eq!(
            get(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
            0,
            "readers may be slow"
        );
        end_when_silent(socket, Duration::from_secs(20));
        assert_eq!(get(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT), 20_000);
        let (unix, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        end_when_silent(unix.as_fd(), Duration::from_secs(20));
    }
}
