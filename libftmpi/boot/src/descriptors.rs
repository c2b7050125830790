//! The program's descriptors: what they are, and how they come back.
//!
//! Descriptors from [`FIRST_LIBRARY`] on are the library's and are never part of an image. Standard
//! streams stay those that the launcher gave to the new process, unless the program had replaced
//! them. Regular files, directories and a few harmless devices are opened again by path. Files without
//! a name and pipes to oneself are made again with their contents ([`crate::contents`]), event counters
//! with their value. Everything else (sockets, pipes to others…) makes an image impossible, with one
//! line that names it.

use crate::file_locks;
use crate::hole::Hole;
use crate::line::{Line, Refused, Shown, refuse};
use crate::procfs::{self, Lines, numbered, numbered_at};
use crate::strings::Strings;
use crate::sys;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, Facts, descriptor as how, limit};

/// Descriptors from here on belong to the library ([`ftmpi_wire::control::fds`]).
pub const FIRST_LIBRARY: i32 = ftmpi_wire::control::fds::CONTROL;

/// When a file was last written to: nanoseconds since 1970.
fn modified(stat: &libc::stat) -> u64 {
    (stat.st_mtime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as u64)
}

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
    let mut numbers = 0usize;
    let mut too_many = false;
    procfs::each_number(c"/proc/self/fd", hole.text(), |fd| {
        let fd = fd as i32;
        if fd == image_fd || fd >= FIRST_LIBRARY {
            return;
        }
        match table.get_mut(numbers) {
            Some(entry) => *entry = Descriptor { fd, ..Descriptor::default() },
            None => too_many = true,
        }
        numbers += 1;
    })
    .map_err(|errno| {
        refuse!(hole, errno, "/proc/self/fd cannot be read: {}", sys::error_text(errno))
    })?;
    if too_many {
        return Err(refuse!(hole, libc::EMFILE, "more than {} open files", limit::DESCRIPTORS));
    }
    let mut count = 0usize;
    for at in 0..numbers {
        let fd = table[at].fd;
        // The listing's own descriptor is among them, and closed.
        if sys::fcntl(fd, libc::F_GETFD, 0) == Err(libc::EBADF) {
            continue;
        }
        let mut entry = one(hole, strings, fd, &table[..count])?;
        let regular = entry.mode & libc::S_IFMT == libc::S_IFREG;
        if regular && entry.how == how::REOPEN && file_locks::gather(hole, &mut entry).is_err() {
            return Err(refuse!(
                hole,
                libc::EOPNOTSUPP,
                "descriptor {fd} of the program has many locks on a file ({}), which an image cannot contain",
                Shown(strings.get(entry.path))
            ));
        }
        table[count] = entry;
        count += 1;
    }
    pair_pipes(hole, strings, &mut table[..count])?;
    Ok(count as u32)
}

/// Pipes whose both ends are the program's are part of the image; others make it impossible.
fn pair_pipes(hole: &Hole, strings: &Strings, table: &mut [Descriptor]) -> Result<(), Refused> {
    for at in 0..table.len() {
        let entry = table[at];
        if !matches!(entry.how, how::PIPE | how::PIPE_END) {
            continue;
        }
        let mut others = table.iter().filter(|other| {
            (other.device, other.inode) == (entry.device, entry.inode)
                && other.fd != entry.fd
                && matches!(other.how, how::PIPE | how::PIPE_END)
        });
        let (fd, shown) = (entry.fd, Shown(strings.get(entry.path)));
        match (others.next(), others.next()) {
            (Some(other), None) if other.how != entry.how => table[at].other = other.fd,
            (None, _) => {
                return Err(refuse!(
                    hole,
                    libc::EOPNOTSUPP,
                    "descriptor {fd} of the program is a pipe ({shown}) whose other end is not the \
                     program's, which an image cannot contain"
                ));
            }
            _ => {
                return Err(refuse!(
                    hole,
                    libc::EOPNOTSUPP,
                    "descriptor {fd} of the program is a pipe ({shown}) that was opened several \
                     times, which an image cannot contain"
                ));
            }
        }
    }
    Ok(())
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
        modified: modified(&stat),
        ..Descriptor::default()
    };
    let kind = stat.st_mode & libc::S_IFMT;
    let one_file = |other: &&Descriptor| (other.device, other.inode) == (stat.st_dev, stat.st_ino);
    let now = Stream { device: stat.st_dev, inode: stat.st_ino, mode: u64::from(kind) };
    if fd <= 2 && now == given(fd as usize) {
        entry.how = how::KEEP;
        return Ok(entry);
    }
    for other in earlier.iter().filter(one_file) {
        if same(fd, other.fd, kind) {
            entry.how = how::DUPLICATE;
            entry.other = other.fd;
            return Ok(entry);
        }
    }
    if let Some(other) = earlier.iter().filter(one_file).find(|o| o.how == how::RECREATE) {
        entry.how = how::AGAIN;
        entry.other = other.fd;
        entry.offset = sys::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
        return Ok(entry);
    }
    let mut name = [0u8; 64];
    let mut path = strings.link(numbered("fd", fd as u32, &mut name)).map_err(failed)?;
    let mut own = [0u8; OWN_PROC];
    if let Some(own) = through_self(strings.get(path), &mut own) {
        path = strings.add(own).map_err(failed)?;
    }
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
    let refused = |what: &str| {
        refuse!(
            hole,
            libc::EOPNOTSUPP,
            "descriptor {fd} of the program is {what} ({shown}), which an image cannot contain"
        )
    };
    if entry.open_flags as i32 & libc::O_PATH != 0 {
        return Err(refused("a place in the file system (O_PATH)"));
    }
    match kind {
        libc::S_IFREG if stat.st_nlink == 0 => {
            entry.how = how::RECREATE;
            entry.path = path;
            entry.offset = sys::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
            if fd <= 2 {
                return Err(refused("a file without a name in place of a standard stream"));
            }
            if stat.st_blocks as u64 * 512 > limit::CONTENT_BYTES {
                return Err(refuse!(
                    hole,
                    libc::EFBIG,
                    "descriptor {fd} of the program is a file without a name ({shown}) of {} MiB: \
                     up to {} MiB can be part of an image",
                    stat.st_blocks >> 11,
                    limit::CONTENT_BYTES >> 20
                ));
            }
            let memfd = strings.get(path).starts_with(b"/memfd:");
            // Where the program itself opened it twice, the child's look at other processes must do.
            let alone = is_exclusive(fd)
                || memfd && is_exclusive_memfd(fd)
                || opened_again_here(fd, (stat.st_dev, stat.st_ino));
            if !alone {
                return Err(refused("a file without a name that others may have open, too"));
            }
            Ok(entry)
        }
        libc::S_IFIFO if strings.get(path).starts_with(b"pipe:[") => {
            entry.path = path;
            entry.size = sys::fcntl(fd, libc::F_GETPIPE_SZ, 0).map_err(failed)? as u64;
            entry.how = match entry.open_flags as i32 & libc::O_ACCMODE {
                libc::O_RDONLY => how::PIPE,
                libc::O_WRONLY => how::PIPE_END,
                _ => return Err(refused("a pipe for both directions")),
            };
            if fd <= 2 {
                return Err(refused("a pipe in place of a standard stream"));
            }
            if entry.open_flags as i32 & libc::O_DIRECT != 0 {
                return Err(refused("a pipe of packets"));
            }
            Ok(entry)
        }
        _ if strings.get(path) == b"anon_inode:[eventfd]" => {
            entry.how = how::EVENTFD;
            (entry.offset, entry.size) =
                eventfd(hole, fd).ok_or_else(|| refused("an event counter on an old kernel"))?;
            Ok(entry)
        }
        libc::S_IFREG | libc::S_IFDIR => {
            if let Some(what) = gone_from(strings.c_str(path), &stat) {
                return Err(refused(what));
            }
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
            Err(refused(what))
        }
    }
}

/// The system's own files, which are made when they are read: they have no contents to be compared.
fn is_of_the_system(path: &[u8]) -> bool {
    path.starts_with(b"/proc/") || path.starts_with(b"/sys/")
}

/// Bytes of a path below `/proc/self`.
const OWN_PROC: usize = 128;

/// A file of `/proc` about this process by a path that is right in the next life, too. (Threads have other
/// numbers then.)
fn through_self<'a>(path: &[u8], into: &'a mut [u8; OWN_PROC]) -> Option<&'a [u8]> {
    const SELF: &[u8] = b"/proc/self";
    let (pid, rest) = procfs::decimal(path.strip_prefix(b"/proc/")?)?;
    let len = SELF.len() + rest.len();
    if pid != sys::getpid() as u64 || rest.starts_with(b"/task") || len > OWN_PROC {
        return None;
    }
    into[..SELF.len()].copy_from_slice(SELF);
    into[SELF.len()..len].copy_from_slice(rest);
    Some(&into[..len])
}

/// Why a file cannot be opened again by its path, if that is known already.
fn gone_from(path: &CStr, stat: &libc::stat) -> Option<&'static str> {
    let of_a_process = path.to_bytes().strip_prefix(b"/proc/").and_then(|rest| rest.first());
    if of_a_process.is_some_and(u8::is_ascii_digit) {
        return Some("a file of /proc about a process, which is another one after a restart");
    }
    if is_of_the_system(path.to_bytes()) {
        return None;
    }
    match sys::stat(path) {
        Ok(there) if (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino) => None,
        Ok(_) => Some("a file in whose place there is another one"),
        Err(_) => Some("a file that its path does not lead to any more"),
    }
}

/// Counter of an eventfd, and whether it is a semaphore; `None` if the kernel does not tell.
fn eventfd(hole: &Hole, fd: i32) -> Option<(u64, u64)> {
    let mut name = [0; 64];
    let path = numbered_at("fdinfo", fd as u32, "", &mut name);
    let mut lines = Lines::open(path, hole.text()).ok()?;
    let (mut counter, mut semaphore) = (None, None);
    while let Ok(Some(line)) = lines.next() {
        let value = |prefix: &[u8]| {
            let start = line.strip_prefix(prefix)?.iter().position(|b| *b != b' ')?;
            procfs::hex(&line[prefix.len() + start..]).map(|(value, _)| value)
        };
        counter = counter.or(value(b"eventfd-count:"));
        semaphore = semaphore.or(value(b"eventfd-semaphore:"));
    }
    Some((counter?, semaphore?))
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

/// In the image child, which shares the open files: marks those files that nobody else has open and
/// that are appended to, or written and read through the same descriptor. What the program adds after
/// the image must be cut at the restore: appended again it would be there twice, and a program that
/// reads to the end would read what it has not yet written; but never what somebody else wrote. Who
/// only appends stands at the end after each write (and at 0 before the first): if it is elsewhere,
/// somebody else wrote the last.
pub fn mark_own_logs(table: &mut [Descriptor]) {
    for entry in table {
        let flags = entry.open_flags as i32;
        let reads = flags & libc::O_ACCMODE == libc::O_RDWR;
        let own_end = entry.offset == entry.size || entry.offset == 0;
        let appends = flags & libc::O_APPEND != 0 && (reads || own_end);
        let regular = entry.mode & libc::S_IFMT == libc::S_IFREG;
        if entry.how == how::REOPEN && (reads || appends) && regular && is_exclusive(entry.fd) {
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

/// Whether this process has the file of `fd` open once more, not as a copy of the descriptor: for
/// kernels that count openings for reading, too, this is somebody else's.
fn opened_again_here(fd: i32, (device, inode): (u64, u64)) -> bool {
    const LOOKED_AT: i32 = 1024;
    (0..LOOKED_AT).any(|other| {
        other != fd
            && sys::fstat(other).is_ok_and(|s| (s.st_dev, s.st_ino) == (device, inode))
            && !same(fd, other, libc::S_IFREG)
    })
}

/// The kernel does not count the first opening of a `memfd`: a second one must be alone then.
fn is_exclusive_memfd(fd: i32) -> bool {
    let mut name = [0; 64];
    let path = numbered("fd", fd as u32, &mut name);
    let Ok(again) = sys::open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let exclusive = is_exclusive(again);
    sys::close(again);
    exclusive
}

/// In the image child: files without a name must not be open in other processes either, which have
/// them by inheritance or were sent them. (What processes of other users have open cannot be seen.)
pub fn refuse_shared(hole: &Hole, strings: &Strings, parent: i32) -> Result<(), Refused> {
    let table = &hole.descriptors()[..hole.facts().descriptors as usize];
    if table.iter().all(|entry| entry.how != how::RECREATE) {
        return Ok(());
    }
    let me = sys::getpid();
    let mut result = Ok(());
    let (text, content) = (hole.text(), hole.content());
    let listed = procfs::each_number(c"/proc", text, |process| {
        if process == me as u64 || process == parent as u64 || result.is_err() {
            return;
        }
        let mut folder = [0; 64];
        let folder = procfs::path(&mut folder, format_args!("/proc/{process}/fd"));
        // Gone meanwhile, or somebody else's.
        let _ = procfs::each_number(folder, content, |fd| {
            let (mut name, mut link) = ([0; 64], [0u8; 4096]);
            let name = procfs::path(&mut name, format_args!("/proc/{process}/fd/{fd}"));
            let len = sys::readlink(name, &mut link).unwrap_or(0);
            let mut candidates = table
                .iter()
                .filter(|e| e.how == how::RECREATE && strings.get(e.path) == &link[..len]);
            let shared = candidates.find(|entry| {
                sys::stat(name).is_ok_and(|s| (s.st_dev, s.st_ino) == (entry.device, entry.inode))
            });
            if let Some(entry) = shared {
                result = Err(refuse!(
                    hole,
                    libc::EOPNOTSUPP,
                    "descriptor {} of the program is a file without a name ({}) that process \
                     {process} has open, too, which an image cannot contain",
                    entry.fd,
                    Shown(strings.get(entry.path))
                ));
            }
        });
    });
    listed.map_err(|errno| refuse!(hole, errno, "/proc: {}", sys::error_text(errno)))?;
    result
}

/// When the image was taken nobody else had it open. The image child of a life that was killed may
/// not have ended yet.
fn is_soon_exclusive(fd: i32) -> bool {
    const PATIENCE_NS: u64 = 5_000_000_000;
    let begun = sys::now_ns();
    while !is_exclusive(fd) {
        if sys::now_ns() - begun > PATIENCE_NS {
            return false;
        }
        let pause = [0u64, 2_000_000];
        // SAFETY: the time is valid.
        let _ = unsafe { sys::call!(libc::SYS_nanosleep, pause.as_ptr(), 0) };
    }
    true
}

/// Makes the descriptors what they were; called in the restored process. Everything below
/// [`FIRST_LIBRARY`] except standard streams was closed before. `died`: when the rank's last life ended,
/// if that is known and others have gone on since.
pub fn restore(hole: &Hole, facts: &Facts, strings: &Strings, died: u64) -> Result<(), Refused> {
    let table = &hole.descriptors()[..facts.descriptors as usize];
    // The launcher's streams, out of the way while others may take their numbers. A stream that
    // this life was not given stays closed.
    let mut streams = [-1; 3];
    for (fd, stream) in streams.iter_mut().enumerate() {
        *stream =
            sys::fcntl(fd as i32, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize).unwrap_or(-1);
    }
    let same_boot = facts.boot != 0 && facts.boot == crate::facts::boot();
    // Ascending, so that what is copied is there already.
    let result = table.iter().try_for_each(|entry| match entry.how {
        how::KEEP => Ok(()),
        how::DUPLICATE => copy(hole, entry, entry.other),
        how::STREAM => copy(hole, entry, *streams.get(entry.other as usize).unwrap_or(&-1)),
        how::RECREATE | how::PIPE | how::PIPE_END => adjust(hole, entry),
        how::EVENTFD => make_eventfd(hole, entry),
        how::AGAIN => open_again(hole, entry),
        _ => reopen(
            hole,
            entry,
            strings,
            &Life { rank: facts.rank, died, error: streams[2], same_boot },
        ),
    });
    if result.is_ok() {
        file_locks::restore(table, strings, facts.rank, streams[2]);
    }
    for stream in streams.into_iter().filter(|&fd| fd >= 0) {
        sys::close(stream);
    }
    // A program that had closed a standard stream finds it so again.
    for fd in (0..3).filter(|fd| table.iter().all(|entry| entry.fd != *fd)) {
        sys::close(fd);
    }
    result
}

/// Made again by [`crate::contents`]; what is left are position and flags.
fn adjust(hole: &Hole, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        if entry.how == how::RECREATE {
            sys::seek(fd, entry.offset, libc::SEEK_SET)?;
        } else {
            sys::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        }
        sys::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(hole, errno, "descriptor {fd} cannot be made again: {}", sys::error_text(errno))
    })
}

/// A file without a name that the program has open more than once.
fn open_again(hole: &Hole, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let mut name = [0; 64];
        let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC | libc::O_TMPFILE;
        let flags = entry.open_flags as i32 & !drop;
        let opened = sys::open(numbered("fd", entry.other as u32, &mut name), flags)?;
        if opened != fd {
            // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
            let moved = unsafe { sys::call!(libc::SYS_dup3, opened, fd, 0) };
            sys::close(opened);
            moved?;
        }
        sys::seek(fd, entry.offset, libc::SEEK_SET)?;
        sys::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(hole, errno, "descriptor {fd} cannot be opened again: {}", sys::error_text(errno))
    })
}

fn make_eventfd(hole: &Hole, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let semaphore = if entry.size != 0 { libc::EFD_SEMAPHORE } else { 0 };
        let flags = semaphore | libc::EFD_NONBLOCK;
        // SAFETY: no memory involved.
        let made = unsafe { sys::call!(libc::SYS_eventfd2, 0, flags) }? as i32;
        if made != fd {
            // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
            let moved = unsafe { sys::call!(libc::SYS_dup3, made, fd, 0) };
            sys::close(made);
            moved?;
        }
        if entry.offset > 0 {
            sys::write_all(fd, &entry.offset.to_ne_bytes())?;
        }
        sys::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        sys::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(hole, errno, "descriptor {fd} cannot be made again: {}", sys::error_text(errno))
    })
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

/// What must be known of this life to open files again.
struct Life {
    rank: u32,
    /// See [`restore`].
    died: u64,
    /// The image was taken on this boot of this host.
    same_boot: bool,
    /// The launcher's standard error: the program may have put a file of its own in its place.
    error: i32,
}

fn reopen(hole: &Hole, entry: &Descriptor, strings: &Strings, life: &Life) -> Result<(), Refused> {
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
    let say = |what: &str| {
        let mut line = Line::new();
        line.set(format_args!("ftmpi: rank {}: {shown} {what}\n", life.rank));
        sys::say(life.error, line.bytes());
    };
    let regular =
        stat.st_mode & libc::S_IFMT == libc::S_IFREG && !is_of_the_system(path.to_bytes());
    // Devices and numbers are compared on one boot of one host: elsewhere the same file may have others.
    if regular && life.same_boot && stat.st_dev == entry.device && stat.st_ino != entry.inode {
        let reads_only = entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDONLY;
        if !reads_only {
            say(
                "is another file than the one that this rank had open when its image was taken (renamed, or \
                 replaced?): it goes on with this one",
            );
        } else if (stat.st_size as u64, modified(&stat)) != (entry.size, entry.modified) {
            return Err(refuse!(
                hole,
                libc::ESTALE,
                "{shown}, which was open as descriptor {fd}, is not the file that it was when the image was \
                 taken: it was replaced since"
            ));
        }
    }
    if entry.how == how::REOPEN_CUT && stat.st_size as u64 > entry.size && is_soon_exclusive(fd) {
        if life.died != 0 && modified(&stat) > life.died {
            say(
                "was written to by others after this rank had died: it is not cut to what it was at the image, \
                 and may have twice what the rank added since",
            );
        } else {
            // SAFETY: no memory involved.
            unsafe { sys::call!(libc::SYS_ftruncate, fd, entry.size) }.map_err(failed)?;
        }
    }
    if matches!(entry.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        sys::seek(fd, entry.offset, libc::SEEK_SET).map_err(failed)?;
    }
    sys::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize).map_err(failed)?;
    Ok(())
}
