//! `write` and `send` on descriptors that block.
//!
//! They write less than asked only after a signal. A program without handlers never sees that, and
//! need not be prepared for it. So these functions write the rest if only the agent's signal ended
//! the call. If a handler of the program ended the call, the result stays short.

use crate::base::syscalls;
use crate::interpose::interruption::WakeCount;
use crate::interpose::next_function::next;
use core::ffi::{c_int, c_void};

/// Calls again for the rest, as long as only the agent's signal ended the call. `call` gets the
/// number of bytes that are written.
fn write_all(fd: c_int, len: usize, mut call: impl FnMut(usize) -> isize) -> isize {
    let mut done = 0;
    loop {
        let before = WakeCount::now();
        let result = call(done);
        if result <= 0 {
            return if done > 0 { done as isize } else { result };
        }
        done += result as usize;
        if done >= len || !before.only_by_agent_signal() || !blocks(fd) {
            return done as isize;
        }
    }
}

fn blocks(fd: c_int) -> bool {
    syscalls::fcntl(fd, libc::F_GETFL, 0).is_ok_and(|flags| flags & libc::O_NONBLOCK == 0)
}

/// See `write(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, len: usize) -> isize {
    let next = next!(c"write", -1, fn(c_int, *const c_void, usize) -> isize);
    // SAFETY: by the caller; fewer than `len` bytes are written when the call is made again.
    write_all(fd, len, |done| unsafe { next(fd, bytes.byte_add(done), len - done) })
}

/// See `send(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    socket: c_int,
    bytes: *const c_void,
    len: usize,
    flags: c_int,
) -> isize {
    let next = next!(c"send", -1, fn(c_int, *const c_void, usize, c_int) -> isize);
    if flags & libc::MSG_DONTWAIT != 0 {
        // SAFETY: by the caller.
        return unsafe { next(socket, bytes, len, flags) };
    }
    // SAFETY: by the caller; fewer than `len` bytes are written when the call is made again.
    write_all(socket, len, |done| unsafe { next(socket, bytes.byte_add(done), len - done, flags) })
}
