//! The program's descriptors: what they are, and how they come back.
//!
//! Descriptors from [`FIRST_LIBRARY`] on are the library's and are never part of an image. Standard
//! streams stay those that the launcher gave to the new process, unless the program had replaced
//! them. Regular files, directories and a few harmless devices are opened again by path; everything
//! else (sockets, pipes…) makes an image impossible, with one line that names it.

use crate::hole::Hole;
use crate::line::{Refused, Shown, refuse};
use crate::procfs::{decimal, numbered};
use crate::strings::Strings;
use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, Facts, descriptor as how, limit};

/// Descriptors from here on belong to the library ([`ftmpi_wire::control::fds`]).
pub const FIRST_LIBRARY: i32 = ftmpi_wire::control::fds::CONTROL;

/// Which file a standard stream is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stream {
    pub device: u64,
    pub inode: u64,
    pub mode: u64,
}

/// The standard streams as the launcher gave them (all zero: closed).
static STREAMS: [[AtomicU64; 3]; 3] = [const { [const { AtomicU64::new(0) }; 3] }; 3];

/// What descriptor `fd` is now.
pub fn stream(fd: i32) -> Stream {
    sys::fstat(fd).map_or(Stream::default(), |stat| Stream {
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: u64::from(stat.st_mode & libc::S_IFMT),
    })
}

/// Remembers the standard streams of this life.
pub fn remember_streams(streams: [Stream; 3]) {
    for (slot, stream) in STREAMS.iter().zip(streams) {
        slot[0].store(stream.device, Ordering::Relaxed);
        slot[1].store(stream.inode, Ordering::Relaxed);
        slot[2].store(stream.mode, Ordering::Relaxed);
    }
}

fn given(fd: usize) -> Stream {
    let [device, inode, mode] = &STREAMS[fd];
    Stream {
        device: device.load(Ordering::Relaxed),
        inode: inode.load(Ordering::Relaxed),
        mode: mode.load(Ordering::Relaxed),
    }
}

/// Fills the hole's table of descriptors, in ascending order; gives their number.
pub fn gather(hole: &Hole, strings: &mut Strings, image_fd: i32) -> Result<u32, Refused> {
    let table = hole.descriptors();
    let mut count = 0usize;
    let folder = sys::open(c"/proc/self/fd", libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC)
        .map_err(|errno| refuse!(hole, errno, "/proc is not there: images need it"))?;
    let result = (|| {
        loop {
            let buffer = hole.text();
            // SAFETY: the buffer is valid for writing.
            let len = unsafe {
                sys::call!(libc::SYS_getdents64, folder, buffer.as_mut_ptr(), buffer.len())
            }
            .map_err(|errno| refuse!(hole, errno, "/proc/self/fd cannot be read"))?;
            if len == 0 {
                return Ok(());
            }
            let mut at = 0;
            while at + 19 < len {
                // struct linux_dirent64: inode, offset, length (u16 at 16), type, name (at 19).
                let step = usize::from(u16::from_le_bytes([buffer[at + 16], buffer[at + 17]]));
                let name = &buffer[at + 19..(at + step.max(20)).min(len)];
                at += step.max(20);
                let Some((fd, _)) = decimal(name) else { continue };
                let fd = fd as i32;
                if fd == folder || fd == image_fd || fd >= FIRST_LIBRARY {
                    continue;
                }
                if count == limit::DESCRIPTORS {
                    return Err(refuse!(hole, libc::EMFILE, "more than {count} open files"));
                }
                table[count] = one(hole, strings, fd, &table[..count])?;
                count += 1;
            }
        }
    })();
    sys::close(folder);
    result.map(|()| count as u32)
}

fn one(
    hole: &Hole,
    strings: &mut Strings,
    fd: i32,
    earlier: &[Descriptor],
) -> Result<Descriptor, Refused> {
    let failed = |errno| {
        refuse!(hole, errno, "descriptor {fd} cannot be examined: {}", sys::error_text(errno))
    };
    let stat = sys::fstat(fd).map_err(failed)?;
    let mut entry = Descriptor {
        fd,
        mode: stat.st_mode,
        fd_flags: sys::fcntl(fd, libc::F_GETFD, 0).map_err(failed)? as u32,
        open_flags: sys::fcntl(fd, libc::F_GETFL, 0).map_err(failed)? as u32,
        size: stat.st_size as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        ..Descriptor::default()
    };
    let kind = stat.st_mode & libc::S_IFMT;
    let now = Stream { device: stat.st_dev, inode: stat.st_ino, mode: u64::from(kind) };
    if fd <= 2 && now == given(fd as usize) {
        entry.how = how::KEEP;
        return Ok(entry);
    }
    for other in earlier {
        if (other.device, other.inode) == (entry.device, entry.inode) && same(fd, other.fd, kind) {
            entry.how = how::DUPLICATE;
            entry.other = other.fd;
            return Ok(entry);
        }
    }
    let mut name = [0u8; 64];
    let path = strings.link(numbered("fd", fd as u32, &mut name)).map_err(failed)?;
    let harmless = kind == libc::S_IFCHR && is_harmless(strings.get(path));
    // A copy of a standard stream (dup, or opened again through /dev/stdout).
    if !matches!(kind, libc::S_IFREG | libc::S_IFDIR)
        && !harmless
        && let Some(stream) = (0..3).find(|&n| now == given(n))
    {
        entry.how = how::STREAM;
        entry.other = stream as i32;
        return Ok(entry);
    }
    let shown = Shown(strings.get(path));
    match kind {
        libc::S_IFREG if stat.st_nlink == 0 => Err(refuse!(
            hole,
            libc::ENOENT,
            "descriptor {fd} is a file without a name ({shown}): it could not be opened again"
        )),
        libc::S_IFREG | libc::S_IFDIR => {
            entry.how = how::REOPEN;
            entry.path = path;
            entry.offset = sys::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
            Ok(entry)
        }
        libc::S_IFCHR if harmless => {
            entry.how = how::REOPEN;
            entry.path = path;
            Ok(entry)
        }
        _ => {
            let what = match kind {
                libc::S_IFSOCK => "a socket",
                libc::S_IFIFO => "a pipe",
                libc::S_IFCHR => "a device",
                libc::S_IFBLK => "a block device",
                _ => "a kernel object",
            };
            Err(refuse!(
                hole,
                libc::EOPNOTSUPP,
                "descriptor {fd} of the program is {what} ({shown}), which an image cannot contain"
            ))
        }
    }
}

fn is_harmless(path: &[u8]) -> bool {
    let known: [&[u8]; 6] =
        [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom", b"/dev/tty"];
    known.contains(&path)
}

/// Whether two descriptors of one file share their offset.
fn same(a: i32, b: i32, kind: u32) -> bool {
    const KCMP_FILE: i32 = 0;
    let pid = sys::getpid();
    // SAFETY: no memory involved.
    match unsafe { sys::call!(libc::SYS_kcmp, pid, pid, KCMP_FILE, a, b) } {
        Ok(order) => order == 0,
        // Without the call only files without an offset may be taken for one another.
        Err(_) => kind != libc::S_IFREG && kind != libc::S_IFDIR,
    }
}

/// In the image child, which shares the open files: marks those append-only files that nobody else
/// has open. What the program appends after the image must be cut at the restore, or it would be
/// there twice; but never what somebody else wrote.
pub fn mark_own_logs(table: &mut [Descriptor]) {
    for entry in table {
        let appends = entry.open_flags & libc::O_APPEND as u32 != 0;
        let regular = entry.mode & libc::S_IFMT == libc::S_IFREG;
        if entry.how == how::REOPEN && appends && regular && is_exclusive(entry.fd) {
            entry.how = how::REOPEN_CUT;
        }
    }
}

/// The kernel grants a write lease only if no other open of the file exists on this machine. Signals
/// are blocked here, so the one that a breaker would cause does no harm.
fn is_exclusive(fd: i32) -> bool {
    let owner = sys::fcntl(fd, libc::F_GETOWN, 0).unwrap_or(0);
    let granted = sys::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK as usize).is_ok();
    if granted {
        let _ = sys::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK as usize);
        let _ = sys::fcntl(fd, libc::F_SETOWN, owner as usize);
    }
    granted
}

/// Makes the descriptors what they were; called in the restored process. Everything below
/// [`FIRST_LIBRARY`] except standard streams was closed before.
pub fn restore(hole: &Hole, facts: &Facts, strings: &Strings) -> Result<(), Refused> {
    let table = &hole.descriptors()[..facts.descriptors as usize];
    // The launcher's streams, out of the way while others may take their numbers. A stream that
    // this life was not given stays closed.
    let mut streams = [-1; 3];
    for (fd, stream) in streams.iter_mut().enumerate() {
        *stream =
            sys::fcntl(fd as i32, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize).unwrap_or(-1);
    }
    // Ascending, so that what is copied is there already.
    let result = table.iter().try_for_each(|entry| match entry.how {
        how::KEEP => Ok(()),
        how::DUPLICATE => copy(hole, entry, entry.other),
        how::STREAM => copy(hole, entry, *streams.get(entry.other as usize).unwrap_or(&-1)),
        _ => reopen(hole, entry, strings),
    });
    for stream in streams.into_iter().filter(|&fd| fd >= 0) {
        sys::close(stream);
    }
    // A program that had closed a standard stream finds it so again.
    for fd in (0..3).filter(|fd| table.iter().all(|entry| entry.fd != *fd)) {
        sys::close(fd);
    }
    result
}

fn copy(hole: &Hole, entry: &Descriptor, from: i32) -> Result<(), Refused> {
    let fd = entry.fd;
    let close_on_exec = entry.fd_flags as i32 & libc::FD_CLOEXEC != 0;
    let flags = if close_on_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
    match unsafe { sys::call!(libc::SYS_dup3, from, fd, flags) } {
        Ok(_) | Err(libc::EBADF) => Ok(()),
        Err(errno) => Err(refuse!(
            hole,
            errno,
            "descriptor {fd} cannot be made again: {}",
            sys::error_text(errno)
        )),
    }
}

fn reopen(hole: &Hole, entry: &Descriptor, strings: &Strings) -> Result<(), Refused> {
    let fd = entry.fd;
    let path = strings.c_str(entry.path);
    let shown = Shown(path.to_bytes());
    let failed = |errno| {
        refuse!(
            hole,
            errno,
            "{shown}, which was open as descriptor {fd}, cannot be opened again: {}",
            sys::error_text(errno)
        )
    };
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC;
    let flags = entry.open_flags as i32 & !drop | libc::O_NOCTTY;
    let opened = sys::open(path, flags).map_err(failed)?;
    if opened != fd {
        // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
        let copied = unsafe { sys::call!(libc::SYS_dup3, opened, fd, 0) };
        sys::close(opened);
        copied.map_err(failed)?;
    }
    let stat = sys::fstat(fd).map_err(failed)?;
    if (stat.st_mode ^ entry.mode) & libc::S_IFMT != 0 {
        return Err(refuse!(hole, libc::EINVAL, "{shown} is now another kind of file"));
    }
    if entry.how == how::REOPEN_CUT && stat.st_size as u64 > entry.size && is_exclusive(fd) {
        // SAFETY: no memory involved.
        unsafe { sys::call!(libc::SYS_ftruncate, fd, entry.size) }.map_err(failed)?;
    }
    if matches!(entry.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        sys::seek(fd, entry.offset, libc::SEEK_SET).map_err(failed)?;
    }
    sys::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize).map_err(failed)?;
    Ok(())
}
