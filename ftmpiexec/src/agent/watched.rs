//! Descriptors that the event loop watches.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watched for both directions.
pub fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` stays open, and the same descriptor, for as long as it lives.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

/// Watched for reading only.
pub fn watched_for_reading(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: as above.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?)
}
