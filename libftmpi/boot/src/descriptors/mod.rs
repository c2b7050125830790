//! The program's descriptors: what they are, and how they are to come back ([`crate::descriptors::reopen`]).
//!
//! Descriptors of the library's lie at [`FIRST_LIBRARY`] and above and are never part of an image; of the
//! program none may lie there, because they would be closed in a restored process, or be the library's new
//! ones. Standard streams stay those that the launcher gave to the new process, unless the program had replaced
//! them. Regular files, directories and a few harmless devices are opened again by path. Files without
//! a name and pipes to oneself are made again with their contents ([`crate::descriptors::contents`]), event counters
//! with their value. Everything else (sockets, pipes to others…) makes an image impossible, with one
//! line that names it.

pub mod contents;
pub mod fd_owner;
pub mod file_locks;
pub mod library_descriptors;
pub mod reopen;

use crate::base::procfs::{self, Lines, numbered, numbered_at};
use crate::base::refusal::{Refused, Shown, refuse};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::tables::StreamIdentity;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how, limit};
use ftmpi_wire::control::fds;

/// When a file was last written to: nanoseconds since 1970.
pub fn modified(stat: &libc::stat) -> u64 {
    (stat.st_mtime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as u64)
}

/// The standard streams as the launcher gave them (all zero: closed).
static STREAMS: [[AtomicU64; 3]; 3] = [const { [const { AtomicU64::new(0) }; 3] }; 3];

/// What descriptor `fd` is now.
pub fn stream(fd: i32) -> StreamIdentity {
    syscalls::fstat(fd).map_or(StreamIdentity::default(), |stat| StreamIdentity {
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: u64::from(stat.st_mode & libc::S_IFMT),
    })
}

/// Remembers the standard streams of this life.
pub fn remember_streams(streams: [StreamIdentity; 3]) {
    for (slot, stream) in STREAMS.iter().zip(streams) {
        slot[0].store(stream.device, Ordering::Relaxed);
        slot[1].store(stream.inode, Ordering::Relaxed);
        slot[2].store(stream.mode, Ordering::Relaxed);
    }
}

fn given(fd: usize) -> StreamIdentity {
    let [device, inode, mode] = &STREAMS[fd];
    StreamIdentity {
        device: device.load(Ordering::Relaxed),
        inode: inode.load(Ordering::Relaxed),
        mode: mode.load(Ordering::Relaxed),
    }
}

/// Fills the reserved area's tables of descriptors, in ascending order, and of locks; gives the number of descriptors.
/// The image's stream is none of the program's; from [`FIRST_LIBRARY`] on those in the list are the library's,
/// or all if nobody knows. `still`: all threads stand still; otherwise it is only to find out what makes an image impossible, and disturbs
/// nothing.
pub fn gather(
    area: &ReservedArea,
    strings: &mut Strings,
    (image_fd, own): (i32, Option<&[i32]>),
    still: bool,
) -> Result<u32, Refused> {
    let table = area.descriptors();
    area.process_state().locks = 0;
    let mut numbers = 0usize;
    let mut too_many = false;
    procfs::each_number(c"/proc/self/fd", area.text(), |fd| {
        let fd = fd as i32;
        let ours = || {
            matches!(fd, fds::CONTROL | fds::STATUS)
                || own.is_none_or(|own| own.binary_search(&fd).is_ok())
        };
        if fd == image_fd || fd >= FIRST_LIBRARY && ours() {
            return;
        }
        match table.get_mut(numbers) {
            Some(entry) => *entry = Descriptor { fd, ..Descriptor::default() },
            None => too_many = true,
        }
        numbers += 1;
    })
    .map_err(|errno| {
        refuse!(area, errno, "/proc/self/fd cannot be read: {}", syscalls::error_text(errno))
    })?;
    if too_many {
        return Err(refuse!(area, libc::EMFILE, "more than {} open files", limit::DESCRIPTORS));
    }
    // Before anything is opened, and closed again: that would cost the program its locks.
    let mut locks = 0;
    for entry in &table[..numbers] {
        file_locks::gather(area, entry.fd, &mut locks)?;
    }
    if still {
        area.process_state().locks = locks as u32;
    }
    let mut count = 0usize;
    for at in 0..numbers {
        let fd = table[at].fd;
        // The listing's own descriptor is among them, and closed.
        if syscalls::fcntl(fd, libc::F_GETFD, 0) == Err(libc::EBADF) {
            continue;
        }
        if fd >= FIRST_LIBRARY {
            return Err(among_ours(area, strings, fd));
        }
        let mut entry = one(area, strings, fd, &table[..count], still)?;
        fd_owner::gather(area, strings, &mut entry)?;
        if still && fd_owner::has_any(&entry) {
            mark_own_log(&mut entry);
        }
        table[count] = entry;
        count += 1;
    }
    pair_pipes(area, strings, &mut table[..count])?;
    file_locks::keep(area, &table[..count], locks, still);
    Ok(count as u32)
}

/// A descriptor of the program's has a number that the library's may have in the next life.
fn among_ours(area: &ReservedArea, strings: &mut Strings, fd: i32) -> Refused {
    let mut name = [0u8; 64];
    let path = strings.link(numbered("fd", fd as u32, &mut name)).unwrap_or_default();
    refuse!(
        area,
        libc::EOPNOTSUPP,
        "descriptor {fd} of the program ({}) has a number from {FIRST_LIBRARY} on, where the library \
         keeps its own: keep fewer files open at once, or duplicate them to lower numbers",
        Shown(strings.get(path))
    )
}

/// Pipes whose both ends are the program's are part of the image; others make it impossible.
fn pair_pipes(
    area: &ReservedArea,
    strings: &Strings,
    table: &mut [Descriptor],
) -> Result<(), Refused> {
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
                    area,
                    libc::EOPNOTSUPP,
                    "descriptor {fd} of the program is a pipe ({shown}) whose other end is not the \
                     program's, which an image cannot contain"
                ));
            }
            _ => {
                return Err(refuse!(
                    area,
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
    area: &ReservedArea,
    strings: &mut Strings,
    fd: i32,
    earlier: &[Descriptor],
    still: bool,
) -> Result<Descriptor, Refused> {
    let failed = |errno| {
        refuse!(area, errno, "descriptor {fd} cannot be examined: {}", syscalls::error_text(errno))
    };
    let stat = syscalls::fstat(fd).map_err(failed)?;
    let mut entry = Descriptor {
        fd,
        mode: stat.st_mode,
        fd_flags: syscalls::fcntl(fd, libc::F_GETFD, 0).map_err(failed)? as u32,
        open_flags: syscalls::fcntl(fd, libc::F_GETFL, 0).map_err(failed)? as u32,
        size: stat.st_size as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        modified: modified(&stat),
        ..Descriptor::default()
    };
    let kind = stat.st_mode & libc::S_IFMT;
    let one_file = |other: &&Descriptor| (other.device, other.inode) == (stat.st_dev, stat.st_ino);
    let now = StreamIdentity { device: stat.st_dev, inode: stat.st_ino, mode: u64::from(kind) };
    if fd <= 2 && now == given(fd as usize) {
        entry.how = how::KEEP;
        return Ok(entry);
    }
    for other in earlier.iter().filter(one_file) {
        // Streams of the launcher's may be others', too.
        let is_stream = other.how == how::KEEP && kind != libc::S_IFREG;
        if same(fd, other.fd, still && !is_stream) {
            entry.how = how::DUPLICATE;
            entry.other = other.fd;
            return Ok(entry);
        }
    }
    if let Some(other) = earlier.iter().filter(one_file).find(|o| o.how == how::RECREATE) {
        entry.how = how::AGAIN;
        entry.other = other.fd;
        entry.offset = syscalls::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
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
            area,
            libc::EOPNOTSUPP,
            "descriptor {fd} of the program is {what} ({shown}), which an image cannot contain"
        )
    };
    if entry.open_flags as i32 & libc::O_PATH != 0 {
        return Err(refused("a place in the file system (O_PATH)"));
    }
    match kind {
        libc::S_IFREG if stat.st_nlink == 0 => {
            if let Some(what) = no_file(fd) {
                return Err(refused(what));
            }
            entry.how = how::RECREATE;
            entry.path = path;
            entry.offset = syscalls::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
            if fd <= 2 {
                return Err(refused("a file without a name in place of a standard stream"));
            }
            if stat.st_blocks as u64 * 512 > limit::CONTENT_BYTES {
                return Err(refuse!(
                    area,
                    libc::EFBIG,
                    "descriptor {fd} of the program is a file without a name ({shown}) of {} MiB: \
                     up to {} MiB can be part of an image",
                    stat.st_blocks >> 11,
                    limit::CONTENT_BYTES >> 20
                ));
            }
            let memfd = strings.get(path).starts_with(b"/memfd:");
            // Where the program itself opened it twice, the child's look at other processes must do.
            let alone = !still
                || is_exclusive(fd)
                || memfd && is_exclusive_memfd(fd)
                || opened_again_here(fd, (stat.st_dev, stat.st_ino));
            if !alone {
                return Err(refused("a file without a name that others may have open, too"));
            }
            if memfd {
                entry.seals = syscalls::fcntl(fd, libc::F_GET_SEALS, 0).unwrap_or(0) as u32;
            }
            Ok(entry)
        }
        libc::S_IFIFO if strings.get(path).starts_with(b"pipe:[") => {
            entry.path = path;
            entry.size = syscalls::fcntl(fd, libc::F_GETPIPE_SZ, 0).map_err(failed)? as u64;
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
                eventfd(area, fd).ok_or_else(|| refused("an event counter on an old kernel"))?;
            Ok(entry)
        }
        libc::S_IFREG if is_nfs(fd) && is_forgotten(strings.get(path)) => {
            Err(refused("a file that was deleted, which NFS removes when this process ends"))
        }
        libc::S_IFREG | libc::S_IFDIR => {
            if let Some(what) = gone_from(strings.c_str(path), &stat) {
                return Err(refused(no_file(fd).unwrap_or(what)));
            }
            entry.how = how::REOPEN;
            entry.path = path;
            entry.offset = syscalls::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
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
pub fn is_of_the_system(path: &[u8]) -> bool {
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
    if pid != syscalls::getpid() as u64 || rest.starts_with(b"/task") || len > OWN_PROC {
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
    match syscalls::stat(path) {
        Ok(there) if (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino) => None,
        Ok(_) => Some("a file in whose place there is another one"),
        Err(_) => Some("a file that its path does not lead to any more"),
    }
}

/// What looks like a file and is none: a copy of what can be read there would be something else.
fn no_file(fd: i32) -> Option<&'static str> {
    const MQUEUE: u64 = 0x1980_0202;
    const HUGETLBFS: u64 = 0x9584_58f6;
    const SECRETMEM: u64 = 0x5345_434d;
    const PIDFS: u64 = 0x5049_4446;
    const NSFS: u64 = 0x6e73_6673;
    match file_system(fd)? {
        MQUEUE => Some("a message queue (mq_open)"),
        HUGETLBFS => Some("a file of huge pages (MFD_HUGETLB)"),
        SECRETMEM => Some("secret memory (memfd_secret)"),
        PIDFS => Some("a process (pidfd)"),
        NSFS => Some("a namespace"),
        _ => None,
    }
}

/// The kind of file system that a file lies in.
fn file_system(fd: i32) -> Option<u64> {
    // struct statfs: its first word tells the kind.
    let mut info = [0u64; 16];
    // SAFETY: struct statfs has 120 bytes.
    unsafe { syscalls::call!(libc::SYS_fstatfs, fd, info.as_mut_ptr()) }.ok()?;
    Some(info[0])
}

const NFS: u64 = 0x6969;

fn is_nfs(fd: i32) -> bool {
    file_system(fd) == Some(NFS)
}

/// The name that a file on NFS gets that is deleted while a process has it open: `.nfs` and two numbers.
fn is_forgotten(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.strip_prefix(b".nfs")
        .is_some_and(|rest| rest.len() >= 16 && rest.iter().all(u8::is_ascii_hexdigit))
}

/// Whether a lease says something about other hosts, too: the file system is of this host alone, or grants one only
/// if the server promises that nobody else has the file open. Where it is not known it does not.
pub fn leases_hold_everywhere(fd: i32) -> bool {
    const BELIEVED: [u64; 18] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0xca45_1a4e, // bcachefs
        0x2fc1_2fc1, // ZFS
        0xf2f5_2010, // F2FS
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x794c_7630, // overlayfs
        0x3153_464a, // JFS
        0x5265_4973, // ReiserFS
        0x3434,      // NILFS
        0x4d44,      // FAT
        0x2011_bab0, // exFAT
        0x7366_746e, // NTFS
        NFS,         // by delegation
        0xff53_4d42, // CIFS, by oplock
        0xfe53_4d42, // SMB 2 and 3
    ];
    file_system(fd).is_some_and(|kind| BELIEVED.contains(&kind))
}

/// Counter of an eventfd, and whether it is a semaphore; `None` if the kernel does not tell.
fn eventfd(area: &ReservedArea, fd: i32) -> Option<(u64, u64)> {
    let mut name = [0; 64];
    let path = numbered_at("fdinfo", fd as u32, "", &mut name);
    let mut lines = Lines::open(path, area.text()).ok()?;
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

/// Whether two descriptors of one file are copies of one another: they share offset and flags. `try_it`: nobody
/// would notice if flags changed for a moment.
fn same(a: i32, b: i32, try_it: bool) -> bool {
    const KCMP_FILE: i32 = 0;
    let pid = syscalls::getpid();
    // SAFETY: no memory involved.
    match unsafe { syscalls::call!(libc::SYS_kcmp, pid, pid, KCMP_FILE, a, b) } {
        Ok(order) => order == 0,
        // Forbidden, as in many containers.
        Err(_) => share_flags(a, b, try_it),
    }
}

/// Whether their flags are the same; and, if it may be tried, whether one that is set on one descriptor shows on the
/// other.
fn share_flags(a: i32, b: i32, try_it: bool) -> bool {
    let flags = |fd| syscalls::fcntl(fd, libc::F_GETFL, 0);
    let (Ok(of_a), Ok(of_b)) = (flags(a), flags(b)) else { return false };
    if of_a != of_b || !try_it {
        return of_a == of_b;
    }
    if syscalls::fcntl(a, libc::F_SETFL, (of_a ^ libc::O_NONBLOCK) as usize).is_err() {
        return false;
    }
    let follows = flags(b) != Ok(of_b);
    let _ = syscalls::fcntl(a, libc::F_SETFL, of_a as usize);
    follows
}

/// In the image child, which shares the open files: marks those files that nobody else has open and
/// that are appended to, or written and read through the same descriptor. What the program adds after
/// the image must be cut at the restore: appended again it would be there twice, and a program that
/// reads to the end would read what it has not yet written; but never what somebody else wrote. Who
/// only appends stands at the end after each write (and at 0 before the first): if it is elsewhere,
/// somebody else wrote the last. Where somebody is to get signals the process itself has looked, while nobody ran:
/// the look makes the kernel forget that for a moment.
pub fn mark_own_logs(table: &mut [Descriptor]) {
    for entry in table.iter_mut().filter(|entry| !fd_owner::has_any(entry)) {
        mark_own_log(entry);
    }
}

fn mark_own_log(entry: &mut Descriptor) {
    let flags = entry.open_flags as i32;
    let reads = flags & libc::O_ACCMODE == libc::O_RDWR;
    let own_end = entry.offset == entry.size || entry.offset == 0;
    let appends = flags & libc::O_APPEND != 0 && (reads || own_end);
    let regular = entry.mode & libc::S_IFMT == libc::S_IFREG;
    if entry.how == how::REOPEN && (reads || appends) && regular && is_exclusive(entry.fd) {
        entry.how = how::REOPEN_CUT;
    }
}

/// The kernel grants a write lease only if no other open of the file exists on this host (about others:
/// [`leases_hold_everywhere`]). Signals
/// are blocked here, so the one that a breaker would cause does no harm. A lease of the program's own is
/// one and the same with ours, and stays what it was.
pub fn is_exclusive(fd: i32) -> bool {
    let Ok(held) = syscalls::fcntl(fd, libc::F_GETLEASE, 0) else { return false };
    if held == i32::from(libc::F_WRLCK as i16) {
        return true;
    }
    let (owner, signal) = (fd_owner::get(fd), fd_owner::signal(fd));
    let granted = syscalls::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK as usize).is_ok();
    if granted {
        let _ = syscalls::fcntl(fd, libc::F_SETLEASE, held as usize);
        // A lease makes its taker the owner, if there is none; its end makes everybody forget owner and signal.
        let _ = fd_owner::set(fd, owner.unwrap_or_default());
        let _ = fd_owner::set_signal(fd, signal);
    }
    granted
}

/// Whether this process has the file of `fd` open once more, not as a copy of the descriptor: for
/// kernels that count openings for reading, too, this is somebody else's.
fn opened_again_here(fd: i32, (device, inode): (u64, u64)) -> bool {
    const LOOKED_AT: i32 = 1024;
    (0..LOOKED_AT).any(|other| {
        other != fd
            && syscalls::fstat(other).is_ok_and(|s| (s.st_dev, s.st_ino) == (device, inode))
            && !same(fd, other, true)
    })
}

/// The kernel does not count the first opening of a `memfd`: a second one must be alone then.
fn is_exclusive_memfd(fd: i32) -> bool {
    let mut name = [0; 64];
    let path = numbered("fd", fd as u32, &mut name);
    let Ok(again) = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let exclusive = is_exclusive(again);
    syscalls::close(again);
    exclusive
}

/// In the image child: files without a name must not be open in other processes either, which have
/// them by inheritance or were sent them. (What processes of other users have open cannot be seen.)
pub fn refuse_shared(area: &ReservedArea, strings: &Strings, parent: i32) -> Result<(), Refused> {
    let table = &area.descriptors()[..area.process_state().descriptors as usize];
    if table.iter().all(|entry| entry.how != how::RECREATE) {
        return Ok(());
    }
    let me = syscalls::getpid();
    let mut result = Ok(());
    let (text, content) = (area.text(), area.content());
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
            let len = syscalls::readlink(name, &mut link).unwrap_or(0);
            let mut candidates = table
                .iter()
                .filter(|e| e.how == how::RECREATE && strings.get(e.path) == &link[..len]);
            let shared = candidates.find(|entry| {
                syscalls::stat(name)
                    .is_ok_and(|s| (s.st_dev, s.st_ino) == (entry.device, entry.inode))
            });
            if let Some(entry) = shared {
                result = Err(refuse!(
                    area,
                    libc::EOPNOTSUPP,
                    "descriptor {} of the program is a file without a name ({}) that process \
                     {process} has open, too, which an image cannot contain",
                    entry.fd,
                    Shown(strings.get(entry.path))
                ));
            }
        });
    });
    listed.map_err(|errno| refuse!(area, errno, "/proc: {}", syscalls::error_text(errno)))?;
    result
}
