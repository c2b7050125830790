//! How a rank must be started so that its images fit again.
//!
//! An image is bound to addresses. The memory of a restored process lies where the image had it.
//! The kernel places heap and stack; in every run of a binary at the same addresses, if address
//! space layout randomisation is off. Where that is forbidden, the restored process maps its stack
//! itself, and tells the kernel where heap and stack are.
//!
//! 1. In `pre_exec` call [`prepare_child`] with the *same* [`StackLimit`] for every incarnation of
//!    the job. Take [`StackLimit::current`] once, in the launcher, and hand it to all agents.
//! 2. Give each incarnation the same arguments and the same environment, byte for byte. Only
//!    [`ftmpi_wire::control::RANK_ENV`] may differ; its value has a fixed width.
//! 3. [`PRELOAD_ENV`] names `libftmpi_boot.so`, by the same path in every incarnation.
//! 4. Exec the same file by the same path (for a restart: `Hello::executable`).
//!
//! The boot library refuses a restart that does not fit, with
//! [`crate::boot_abi::EXIT_IMAGE_MISFIT`].
#![allow(unsafe_code)]

/// The variable in which the dynamic linker finds the boot library.
pub const PRELOAD_ENV: &str = "LD_PRELOAD";

/// File name of the boot library.
pub const BOOT_LIBRARY: &str = "libftmpi_boot.so";

/// The variable in which the dynamic linker finds its auditors.
pub const AUDIT_ENV: &str = "LD_AUDIT";

/// The variable with the folder in which the auditor finds libraries that were replaced, by their
/// whole paths.
pub const LINKS_ENV: &str = "FTMPI_LINKS";

/// File name of the auditor that turns loads of another MPI library into ours.
pub const LOADS_LIBRARY: &str = "libftmpi_loads.so";

/// The variable in which mpi4py finds its MPI library.
pub const MPI4PY_ENV: &str = "MPI4PY_LIBMPI";

/// Soft limit on descriptors for a rank, if the hard limit allows it: the library's own descriptors
/// begin at 1000.
pub const DESCRIPTORS_MIN: u64 = 16_384;

const CLOSE_RANGE_CLOEXEC: libc::c_int = 4;

/// The limit on a process's stack, in bytes (`u64::MAX`: none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackLimit {
    /// What the process may use.
    pub soft: u64,
    /// The highest value that the process may choose.
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

/// Prepares a rank between fork and exec (`pre_exec`). Switches address randomisation off, sets the
/// limit on the stack, and raises the soft limit on descriptors. Marks all descriptors from 3 on
/// close-on-exec, except those of [`ftmpi_wire::control::fds`] that a rank is given.
///
/// Async-signal-safe: system calls only, no allocation.
///
/// Where `personality` is forbidden (the seccomp profile of some containers), the rank starts all
/// the same, and a restored process tells the kernel where its heap and stack are.
///
/// # Errors
/// The error of the system call that failed.
pub fn prepare_child(stack: StackLimit) -> std::io::Result<()> {
    // SAFETY: no pointers; 0xffffffff asks for the present personality.
    let now = unsafe { libc::personality(0xffff_ffff) };
    if now >= 0 {
        let fixed = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
        // SAFETY: no pointers. A refusal has no effect; see above.
        unsafe { libc::personality(now as libc::c_ulong | fixed) };
    }
    // Another host may have a lower hard limit. Then the image of a process with another soft limit
    // is refused at its restore.
    let (_, hard) = get_limit(libc::RLIMIT_STACK)?;
    set_limit(libc::RLIMIT_STACK, stack.soft.min(hard), stack.hard.min(hard))?;
    let (soft, hard) = get_limit(libc::RLIMIT_NOFILE)?;
    if soft < DESCRIPTORS_MIN.min(hard) {
        set_limit(libc::RLIMIT_NOFILE, DESCRIPTORS_MIN.min(hard), hard)?;
    }
    // See `inheritance::reset_signals`.
    // SAFETY: no handler is involved.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
    mark_close_on_exec(3, ftmpi_wire::control::fds::CONTROL - 1);
    mark_close_on_exec(ftmpi_wire::control::fds::FIRST_OWN, libc::c_int::MAX);
    Ok(())
}

/// Marks all descriptors from [`ftmpi_wire::control::fds::CONTROL`] on close-on-exec: for a process
/// that a rank started, before it starts processes that are not this rank. They are not closed,
/// because code of a preloaded library in this process may use them.
pub fn disinherit() {
    mark_close_on_exec(ftmpi_wire::control::fds::CONTROL, libc::c_int::MAX);
}

fn mark_close_on_exec(first: libc::c_int, last: libc::c_int) {
    // SAFETY: no pointers. Called through `syscall`, because the wrapper is newer than some C
    // libraries.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        for fd in first..=last.min(first + 1100) {
            // SAFETY: no pointers; a descriptor that is not open is refused.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// Whether a rank of this host can be restored: by a fixed address layout, or because the kernel
/// can be told where heap and stack are (`CONFIG_CHECKPOINT_RESTORE`). `ftmpiexec --doctor` asks.
///
/// # Errors
/// Neither is possible here, so images cannot be taken.
pub fn can_place() -> std::io::Result<()> {
    const PR_SET_MM: libc::c_int = 35;
    const PR_SET_MM_MAP_SIZE: libc::c_ulong = 15;
    let mut len = 0u32;
    // SAFETY: asks for the length of a structure, which is written to a local.
    if unsafe { libc::prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &raw mut len, 0, 0) } == 0 {
        return Ok(());
    }
    can_fix_layout()
}

/// Whether this process may fix its address layout. Changes nothing.
///
/// # Errors
/// `personality` is forbidden here, so images cannot be taken.
fn can_fix_layout() -> std::io::Result<()> {
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
        can_place().unwrap();
        let stack = StackLimit::current().unwrap();
        assert!(stack.soft <= stack.hard);
    }
}
