//! Memory that the processes of one host share, for `MPI_Win_allocate_shared`.
//!
//! A `memfd` of the process that makes it; the others open it below `/proc` while that process waits,
//! so nothing is left in the file system, whatever dies when. It is part of no image: only protocols
//! that take none hand it out.

use crate::control::close;
use ftmpi_core::usermem::UserPtr;

/// Number of the process that made it, and of its descriptor.
type Name = [u8; 16];

fn map(fd: i32, len: usize) -> Option<UserPtr> {
    // SAFETY: a new mapping of a file that is at least so long; no address is asked for.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd,
            0,
        )
    };
    // SAFETY: the mapping stays until `part`, which the window calls when nobody uses it any more.
    (at != libc::MAP_FAILED).then(|| unsafe { UserPtr::new(at) })
}

/// Makes memory and keeps its descriptor open for the others.
pub fn make(len: usize) -> Option<(UserPtr, Name)> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"ftmpi-window".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: sets the length of our own descriptor's file.
    let sized = unsafe { libc::ftruncate(fd, len as libc::off_t) } == 0;
    let Some(at) = sized.then(|| map(fd, len)).flatten() else {
        close(fd);
        return None;
    };
    let mut name = [0; 16];
    name[..4].copy_from_slice(&std::process::id().to_le_bytes());
    name[4..8].copy_from_slice(&fd.to_le_bytes());
    name[15] = 1;
    Some((at, name))
}

fn parts(name: Name) -> (u32, i32) {
    let word = |at: usize| std::array::from_fn(|i| name[at + i]);
    (u32::from_le_bytes(word(0)), i32::from_le_bytes(word(4)))
}

/// Joins the memory that another process made.
pub fn join(len: usize, name: Name) -> Option<UserPtr> {
    use std::os::fd::AsRawFd;
    let (pid, fd) = parts(name);
    let mut way = std::fs::OpenOptions::new();
    let file = way.read(true).write(true).open(format!("/proc/{pid}/fd/{fd}")).ok()?;
    if file.metadata().ok()?.len() < len as u64 {
        return None;
    }
    map(file.as_raw_fd(), len)
}

/// Everybody has joined: the descriptor is not needed any more.
pub fn close_name(name: Name) {
    let (pid, fd) = parts(name);
    if pid == std::process::id() {
        close(fd);
    }
}

/// Leaves the memory.
pub fn part(at: UserPtr, len: usize) {
    // SAFETY: the mapping of `make` or `join`, which nobody uses any more.
    unsafe { libc::munmap(at.as_ptr(), len) };
}
