//! System calls without `errno`, cancellation, locks or allocation. A signal handler and the image
//! child may use them, also before the C library is set up.

use core::arch::asm;
use core::ffi::CStr;
use ftmpi_wire::control::fds;
use ftmpi_wire::status::word;

/// A positive error number.
pub type Errno = i32;

/// Makes a system call. The result is the kernel's: −errno on failure.
///
/// # Safety
/// As for the call.
#[inline(always)]
pub unsafe fn raw(nr: libc::c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention on x86-64; the caller answers for the call itself.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") nr as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// The kernel's result as a `Result`.
#[inline]
pub fn check(result: isize) -> Result<usize, Errno> {
    if (-4095..0).contains(&result) { Err(-result as Errno) } else { Ok(result as usize) }
}

macro_rules! call {
    ($nr:expr $(, $arg:expr)*) => {{
        let mut args = [0usize; 6];
        let mut _n = 0;
        $( args[_n] = $arg as usize; _n += 1; )*
        $crate::base::syscalls::check($crate::base::syscalls::raw($nr, args))
    }};
}
pub(crate) use call;

pub fn open(path: &CStr, flags: i32) -> Result<i32, Errno> {
    // SAFETY: the path is terminated.
    unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) }.map(|fd| fd as i32)
}

pub fn close(fd: i32) {
    // SAFETY: no memory involved; the library opened the descriptors that it closes.
    let _ = unsafe { call!(libc::SYS_close, fd) };
}

/// Closes the descriptors `first..=last` that are open.
pub fn close_range(first: u32, last: u32) {
    if first > last {
        return;
    }
    // SAFETY: no memory involved.
    if unsafe { call!(libc::SYS_close_range, first, last, 0) }.is_err() {
        for fd in first..=last.min(65_536) {
            close(fd as i32);
        }
    }
}

pub fn read(fd: i32, into: &mut [u8]) -> Result<usize, Errno> {
    loop {
        // SAFETY: the slice is valid for writing.
        match unsafe { call!(libc::SYS_read, fd, into.as_mut_ptr(), into.len()) } {
            Err(libc::EINTR) => {}
            Err(libc::EAGAIN) => wait(fd, libc::POLLIN),
            other => return other,
        }
    }
}

/// Reads until `into` is full or the file ends.
pub fn read_full(fd: i32, into: &mut [u8]) -> Result<usize, Errno> {
    let mut have = 0;
    while have < into.len() {
        match read(fd, &mut into[have..])? {
            0 => break,
            n => have += n,
        }
    }
    Ok(have)
}

/// Reads exactly `len` bytes in pieces of the buffer's length, and hands each piece to `sink`.
/// `EBADMSG` if the file ends earlier.
pub fn copy_exactly(
    fd: i32,
    len: u64,
    buffer: &mut [u8],
    mut sink: impl FnMut(&[u8]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut done = 0;
    while done < len {
        let step = (len - done).min(buffer.len() as u64) as usize;
        if read_full(fd, &mut buffer[..step])? != step {
            return Err(libc::EBADMSG);
        }
        sink(&buffer[..step])?;
        done += step as u64;
    }
    Ok(())
}

/// Reads until `into` is full; `EIO` if the file ends earlier.
pub fn pread_full(fd: i32, into: &mut [u8], offset: u64) -> Result<(), Errno> {
    let mut have = 0;
    while have < into.len() {
        match pread(fd, &mut into[have..], offset + have as u64)? {
            0 => return Err(libc::EIO),
            n => have += n,
        }
    }
    Ok(())
}

pub fn pread(fd: i32, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for writing.
    unsafe { call!(libc::SYS_pread64, fd, into.as_mut_ptr(), into.len(), offset) }
}

/// Writes all `len` bytes from `address`. If the range is not readable, the kernel answers
/// `EFAULT`.
pub fn write_from(fd: i32, mut address: usize, mut len: usize) -> Result<(), Errno> {
    while len > 0 {
        // The kernel writes at most 2 GiB − 4 KiB at once. Smaller steps keep pipes moving.
        let step = len.min(1 << 30);
        // SAFETY: the kernel checks the range.
        match unsafe { call!(libc::SYS_write, fd, address, step) } {
            Ok(n) => {
                address += n;
                len -= n;
            }
            Err(libc::EINTR) => {}
            Err(libc::EAGAIN) => wait(fd, libc::POLLOUT),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

pub fn write_all(fd: i32, bytes: &[u8]) -> Result<(), Errno> {
    write_from(fd, bytes.as_ptr() as usize, bytes.len())
}

/// Writes lines of this library to the rank's standard error, which is `fd` at this moment.
///
/// The bytes are counted first (`word::BOOT_STDERR`), so that the agent does not take them for the
/// program's text. The program's text continues where it was when the image was taken.
pub fn write_counted(fd: i32, bytes: &[u8]) {
    let mut counted = 0u64;
    let at = word::BOOT_STDERR * size_of::<u64>();
    let len = size_of::<u64>();
    // SAFETY: reads one number into `said`. The agent trusts no value of it.
    let _ = unsafe { call!(libc::SYS_pread64, fds::STATUS, &raw mut counted, len, at) };
    counted = counted.wrapping_add(bytes.len() as u64);
    // SAFETY: the number lives over the call.
    let _ = unsafe { call!(libc::SYS_pwrite64, fds::STATUS, &raw const counted, len, at) };
    let _ = write_all(fd, bytes);
}

/// Puts memory into a pipe by `vmsplice`: the pipe refers to the pages until they are read.
///
/// Gives how many bytes went into the pipe. These are fewer than `len` if `fd` is no pipe, or if
/// the kernel forbids the call.
///
/// # Safety
/// Nobody writes to the pages, and they stay mapped here, until they were read
/// ([`wait_until_read`], [`unread_bytes`]).
pub unsafe fn vmsplice_from(fd: i32, address: usize, len: usize) -> Result<usize, Errno> {
    let mut done = 0;
    while done < len {
        let piece = [address + done, (len - done).min(1 << 30)];
        // SAFETY: one valid vector; the kernel checks the range.
        match unsafe { call!(libc::SYS_vmsplice, fd, piece.as_ptr(), 1, 0) } {
            Ok(n) => done += n,
            Err(libc::EINTR) => {}
            Err(libc::EAGAIN) => wait(fd, libc::POLLOUT),
            Err(libc::EBADF | libc::EINVAL | libc::ENOSYS | libc::EPERM) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}

/// Waits until everything in the pipe was read, until nobody reads any more, or while `wanted`.
pub fn wait_until_read(fd: i32, wanted: impl Fn() -> bool) {
    while wanted() {
        let Some(left) = unread_bytes(fd) else { return };
        let mut entry = libc::pollfd { fd, events: 0, revents: 0 };
        // SAFETY: one valid entry. The call returns at once when nobody reads, otherwise after 1
        // ms.
        let alone = (left > 0).then(|| unsafe { call!(libc::SYS_poll, &raw mut entry, 1, 1) });
        if left == 0 || matches!(alone, Some(Ok(1..))) {
            return;
        }
    }
}

/// Bytes of a pipe that nobody has read yet; `None` if it is no pipe.
pub fn unread_bytes(fd: i32) -> Option<usize> {
    const FIONREAD: usize = 0x541b;
    let mut left = 0i32;
    // SAFETY: writes one number.
    let answer = unsafe { call!(libc::SYS_ioctl, fd, FIONREAD, &raw mut left) };
    answer.ok().and_then(|_| usize::try_from(left).ok())
}

fn wait(fd: i32, events: i16) {
    let mut entry = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one valid entry.
    let _ = unsafe { call!(libc::SYS_poll, &raw mut entry, 1, -1isize) };
}

pub fn fstat(fd: i32) -> Result<libc::stat, Errno> {
    // SAFETY: plain numbers; zero is a valid value.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: valid for writing.
    unsafe { call!(libc::SYS_fstat, fd, &raw mut stat) }?;
    Ok(stat)
}

pub fn stat(path: &CStr) -> Result<libc::stat, Errno> {
    // SAFETY: plain numbers; zero is a valid value.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: terminated path; valid for writing.
    unsafe { call!(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut stat, 0) }?;
    Ok(stat)
}

/// When an open file was made: nanoseconds since 1970; 0 if the file system does not tell.
pub fn birth(fd: i32) -> u64 {
    birth_at(fd, c"", libc::AT_EMPTY_PATH)
}

/// The same for the file at a path.
pub fn birth_at(folder: i32, path: &CStr, flags: i32) -> u64 {
    // SAFETY: plain numbers; zero is a valid value.
    let mut about: libc::statx = unsafe { core::mem::zeroed() };
    let (path, wanted) = (path.as_ptr(), libc::STATX_BTIME);
    // SAFETY: terminated path; valid for writing.
    let told = unsafe { call!(libc::SYS_statx, folder, path, flags, wanted, &raw mut about) };
    if told.is_err() || about.stx_mask & libc::STATX_BTIME == 0 {
        return 0;
    }
    let seconds = about.stx_btime.tv_sec as u64;
    seconds.wrapping_mul(1_000_000_000).wrapping_add(u64::from(about.stx_btime.tv_nsec))
}

/// When a file was last written to: nanoseconds since 1970.
pub fn modified(stat: &libc::stat) -> u64 {
    (stat.st_mtime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as u64)
}

pub fn fcntl(fd: i32, what: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: only commands with numbers as arguments are used.
    unsafe { call!(libc::SYS_fcntl, fd, what, arg) }.map(|n| n as i32)
}

/// Moves a descriptor to another number, and replaces what has that number. `flags` as for `dup3`.
pub fn move_descriptor(fd: i32, wanted: i32, flags: i32) -> Result<(), Errno> {
    if fd == wanted {
        return Ok(());
    }
    // SAFETY: no memory involved.
    let moved = unsafe { call!(libc::SYS_dup3, fd, wanted, flags) };
    close(fd);
    moved.map(|_| ())
}

/// Sleeps for less than a second.
pub fn pause(nanoseconds: u64) {
    let time = [0, nanoseconds];
    // SAFETY: the time is valid.
    let _ = unsafe { call!(libc::SYS_nanosleep, time.as_ptr(), 0) };
}

pub fn seek(fd: i32, offset: u64, whence: i32) -> Result<u64, Errno> {
    // SAFETY: no memory involved.
    unsafe { call!(libc::SYS_lseek, fd, offset, whence) }.map(|n| n as u64)
}

pub fn readlink(path: &CStr, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: terminated path; the slice is valid for writing.
    unsafe { call!(libc::SYS_readlink, path.as_ptr(), into.as_mut_ptr(), into.len()) }
}

pub fn getpid() -> i32 {
    // SAFETY: no memory involved.
    unsafe { raw(libc::SYS_getpid, [0; 6]) as i32 }
}

pub fn gettid() -> i32 {
    // SAFETY: no memory involved.
    unsafe { raw(libc::SYS_gettid, [0; 6]) as i32 }
}

pub fn getppid() -> i32 {
    // SAFETY: no memory involved.
    unsafe { raw(libc::SYS_getppid, [0; 6]) as i32 }
}

/// Replaces the mask of blocked signals, and gives the old one.
pub fn set_signal_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: both words are valid; 8 is the kernel's size of a set.
    let _ = unsafe {
        call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut old, 8)
    };
    old
}

pub fn pending_signals() -> u64 {
    let mut set = 0u64;
    // SAFETY: valid for writing; 8 is the kernel's size of a set.
    let _ = unsafe { call!(libc::SYS_rt_sigpending, &raw mut set, 8) };
    set
}

/// The monotonic clock in nanoseconds.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for writing.
    let _ = unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The real clock in nanoseconds since 1970.
pub fn real_time_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for writing.
    let _ = unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut time) };
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { raw(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Maps anonymous memory.
///
/// # Safety
/// With `MAP_FIXED`, what lies there is lost.
pub unsafe fn map_anonymous(
    address: usize,
    len: usize,
    prot: i32,
    flags: i32,
) -> Result<usize, Errno> {
    let flags = flags | libc::MAP_ANONYMOUS;
    // SAFETY: by the caller.
    unsafe { call!(libc::SYS_mmap, address, len, prot, flags, -1isize, 0) }
}

/// # Safety
/// What lies there is lost.
pub unsafe fn unmap(address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: by the caller.
    unsafe { call!(libc::SYS_munmap, address, len) }.map(|_| ())
}

/// Gives the contents of memory up and keeps the mapping. If the kernel refuses, the contents
/// stay.
///
/// # Safety
/// What lies there is lost.
pub unsafe fn forget(address: usize, len: usize) {
    // SAFETY: by the caller.
    let _ = unsafe { call!(libc::SYS_madvise, address, len, libc::MADV_DONTNEED) };
}

/// # Safety
/// Code may rely on the old protection.
pub unsafe fn protect(address: usize, len: usize, prot: i32) -> Result<(), Errno> {
    // SAFETY: by the caller.
    unsafe { call!(libc::SYS_mprotect, address, len, prot) }.map(|_| ())
}

/// The text of an error number that an image can meet.
pub fn error_text(errno: Errno) -> &'static str {
    match errno {
        libc::EPERM => "not permitted",
        libc::ENOENT => "no such file",
        libc::EIO => "input/output error",
        libc::EBADF => "bad descriptor",
        libc::EAGAIN => "would block",
        libc::ENOMEM => "out of memory",
        libc::EACCES => "permission denied",
        libc::EFAULT => "bad address",
        libc::EEXIST => "already there",
        libc::ENOTDIR => "not a directory",
        libc::EINVAL => "invalid argument",
        libc::EMFILE | libc::ENFILE => "too many descriptors",
        libc::ETXTBSY => "file is being executed",
        libc::ENOSPC => "no space left",
        libc::ENOSYS => "not supported by the kernel",
        libc::EPIPE => "broken pipe",
        libc::ELOOP => "too many links",
        libc::EADDRINUSE => "its address is taken",
        libc::EADDRNOTAVAIL => "no such address here",
        libc::EAFNOSUPPORT => "no such kind of network here",
        libc::ENODEV | libc::ENXIO => "no such device",
        libc::ESTALE => "the file was removed on another host",
        _ => "error",
    }
}
