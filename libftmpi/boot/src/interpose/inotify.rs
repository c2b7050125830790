//! `inotify_add_watch`: notes the path of each file that the program watches.

use crate::base::rank::is_rank;
use crate::descriptors::inotify;
use crate::interpose::next_function::next;
use core::ffi::{CStr, c_char, c_int};

/// See `inotify_add_watch(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int {
    let next = next!(c"inotify_add_watch", -1, fn(c_int, *const c_char, u32) -> c_int);
    if is_rank() && !path.is_null() {
        // Noted first: an image may be taken as soon as the kernel has the watch.
        // SAFETY: by the caller.
        inotify::note(unsafe { CStr::from_ptr(path) }, mask & libc::IN_DONT_FOLLOW == 0);
    }
    // SAFETY: by the caller.
    unsafe { next(fd, path, mask) }
}
