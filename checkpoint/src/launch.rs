//! How a rank must be started so that an image of it fits again.
//!
//! An image is bound to addresses. Executable, libraries, vDSO, heap and stack lie at the same
//! addresses in every run of the same binary on the same kernel if (1) address space layout
//! randomisation is off for the process, (2) the limit on the stack is the same (the kernel places
//! mappings below it), and (3) the arguments and the environment have the same length. So:
//!
//! 1. in `pre_exec` call [`prepare_child`] with the *same* [`StackLimit`] for every life of the
//!    job (take [`StackLimit::current`] once, in the launcher, and hand it to all agents);
//! 2. give each life the same arguments and the same environment, byte for byte, except
//!    [`ftmpi_wire::control::RANK_ENV`], whose value has a fixed width;
//! 3. [`PRELOAD_ENV`] names `libftmpi_boot.so`, by the same path in every life;
//! 4. exec the same file by the same path (for a restart: `Hello::executable`).
//!
//! A restart that disagrees is refused by the boot library with
//! [`crate::boot_abi::EXIT_IMAGE_MISFIT`].
#![allow(unsafe_code)]

/// The variable in which the dynamic linker finds the boot library.
pub const PRELOAD_ENV: &str = "LD_PRELOAD";

/// File name of the boot library.
pub const BOOT_LIBRARY: &str = "libftmpi_boot.so";

/// Soft limit on descriptors that a rank gets, if the hard limit allows: the library's own lie at
/// 1000 and above.
pub const DESCRIPTORS_MIN: u64 = 16_384;

const CLOSE_RANGE_CLOEXEC: libc::c_int = 4;

/// The limit on a process's stack, in bytes (`u64::MAX`: none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackLimit {
    /// What the process may use.
    pub soft: u64,
    /// How far it may raise that.
    pub hard: u64,
}

impl StackLimit {
    /// The limit of this process.
    ///
    /// # Errors
    /// `getrlimit` failed.
    pub fn current() -> std::io::Result<Self> {
        let (soft, hard) = get_limit(libc::RLIMIT_STACK)?;
        Ok(Self { soft, hard })
    }
}

/// To be called between fork and exec of a rank (`pre_exec`): switches address randomisation off,
/// sets the limit on the stack, raises the soft limit on descriptors, and marks all descriptors from
/// 3 on close-on-exec but those of [`ftmpi_wire::control::fds`] that a rank is given: what the launcher
/// happened to inherit (pipes of a shell or batch system) would prevent images.
///
/// Async-signal-safe: system calls only, no allocation.
///
/// Where `personality` is forbidden (the seccomp profile of some containers), the rank starts all the
/// same: images of it are refused by the boot library with a line that says so.
///
/// # Errors
/// The error of the system call that failed.
pub fn prepare_child(stack: StackLimit) -> std::io::Result<()> {
    // SAFETY: no pointers; 0xffffffff asks for the present personality.
    let now = unsafe { libc::personality(0xffff_ffff) };
    if now >= 0 {
        let fixed = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
        // SAFETY: no pointers. Refused: see above.
        unsafe { libc::personality(now as libc::c_ulong | fixed) };
    }
    // Another host may have a lower hard limit: then it cannot be had, and the image of a process
    // with another soft limit is refused at its restore.
    let (_, hard) = get_limit(libc::RLIMIT_STACK)?;
    set_limit(libc::RLIMIT_STACK, stack.soft.min(hard), stack.hard.min(hard))?;
    let (soft, hard) = get_limit(libc::RLIMIT_NOFILE)?;
    if soft < DESCRIPTORS_MIN.min(hard) {
        set_limit(libc::RLIMIT_NOFILE, DESCRIPTORS_MIN.min(hard), hard)?;
    }
    mark_close_on_exec(3, ftmpi_wire::control::fds::CONTROL - 1);
    mark_close_on_exec(ftmpi_wire::control::fds::FIRST_OWN, libc::c_int::MAX);
    Ok(())
}

/// Marks all descriptors from [`ftmpi_wire::control::fds::CONTROL`] on close-on-exec: for a process that a
/// rank started and that starts others which are not this rank. (Marked, not closed: code that a
/// preloaded library runs in this process may use them.)
pub fn disinherit() {
    mark_close_on_exec(ftmpi_wire::control::fds::CONTROL, libc::c_int::MAX);
}

fn mark_close_on_exec(first: libc::c_int, last: libc::c_int) {
    // SAFETY: no pointers. (Through `syscall`: the wrapper is newer than some C libraries.)
    let marked = unsafe { libc::syscall(libc::SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        for fd in first..=last.min(first + 1100) {
            // SAFETY: no pointers; a descriptor that is not open is refused.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// Whether this process may fix its address layout (asked by `ftmpiexec --doctor`); changes
/// nothing.
///
/// # Errors
/// `personality` is forbidden here: images cannot be taken.
pub fn can_fix_layout() -> std::io::Result<()> {
    // SAFETY: no pointers.
    let now = unsafe { libc::personality(0xffff_ffff) };
    if now < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let fixed = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: no pointers; put back at once. The personality is the calling thread's.
    if unsafe { libc::personality(now as libc::c_ulong | fixed) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: as above.
    unsafe { libc::personality(now as libc::c_ulong) };
    Ok(())
}

fn get_limit(which: libc::__rlimit_resource_t) -> std::io::Result<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    if unsafe { libc::getrlimit(which, &raw mut limit) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok((limit.rlim_cur, limit.rlim_max))
}

fn set_limit(which: libc::__rlimit_resource_t, soft: u64, hard: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: `limit` is valid for reading.
    if unsafe { libc::setrlimit(which, &raw const limit) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_can_be_fixed_and_limits_read() {
        can_fix_layout().unwrap();
        let stack = StackLimit::current().unwrap();
        assert!(stack.soft <= stack.hard);
    }
}
