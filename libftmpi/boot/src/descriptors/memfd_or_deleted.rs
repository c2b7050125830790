//! Files without a name: `memfd`, `O_TMPFILE`, files that were deleted. They are made again with
//! their contents.
//!
//! Only files that nobody else has open are part of an image: a copy of what others share would be
//! another file. A deleted file that others share, or that is too large, is kept by the agent, and
//! opened again ([`crate::descriptors::kept_files`]). The contents are copied while the process
//! stands still. A new process makes the files before its memory is replaced, because they may be
//! mapped.

use crate::base::procfs::{self, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::children;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::duplicate::is_same_open_file;
use crate::descriptors::lease::{is_exclusive, is_exclusive_memfd};
use crate::descriptors::library_descriptors::move_up;
use crate::descriptors::unsupported::special_file;
use crate::memory::copies::Copies;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Descriptor, content_at, descriptor as how, limit};

/// Whether the descriptor opens a file once more that an earlier descriptor brings; then fills the
/// entry.
pub fn is_opened_again(entry: &mut Descriptor, earlier: &[Descriptor]) -> bool {
    let first = earlier.iter().find(|other| {
        (other.device, other.inode) == (entry.device, entry.inode) && other.how == how::RECREATE
    });
    let Some(first) = first else { return false };
    entry.how = how::AGAIN;
    entry.other = first.fd;
    entry.offset = syscalls::seek(entry.fd, 0, libc::SEEK_CUR).unwrap_or(0);
    true
}

/// Fills the entry.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    if let Some(what) = special_file(fd) {
        return Err(it.refuse(what));
    }
    it.entry.how = how::RECREATE;
    it.entry.path = it.path;
    it.entry.offset = syscalls::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
    let is_memfd = it.path().starts_with(b"/memfd:");
    if fd <= 2 {
        return Err(it.refuse("a file without a name in place of a standard stream"));
    }
    if it.stat.st_blocks as u64 * 512 > limit::CONTENT_BYTES && !is_memfd {
        it.entry.how = how::REOPEN;
        return Ok(());
    }
    if it.stat.st_blocks as u64 * 512 > limit::CONTENT_BYTES {
        let (mib, most_mib) = (it.stat.st_blocks as u64 >> 11, limit::CONTENT_BYTES >> 20);
        let path = Shown(it.path());
        return Err(it.area.refuse(Refusal::NamelessFileTooLarge { fd, path, mib, most_mib }));
    }
    // If the program itself has opened the file twice, only the image child's look at other
    // processes can tell (`refuse_shared`).
    let is_alone = !it.still
        || is_exclusive(fd)
        || is_memfd && is_exclusive_memfd(fd)
        || is_opened_again_here(fd, &it.stat);
    if !is_alone && !is_memfd {
        it.entry.how = how::REOPEN;
        return Ok(());
    }
    if !is_alone {
        return Err(it.refuse("a file without a name that others may have open, too"));
    }
    if is_memfd {
        it.entry.seals = syscalls::fcntl(fd, libc::F_GET_SEALS, 0).unwrap_or(0) as u32;
    }
    Ok(())
}

/// Whether this process has opened the file of `fd` once more, not by a copy of the descriptor.
/// Kernels that count opens for reading, too, take such an open for somebody else's.
fn is_opened_again_here(fd: i32, stat: &libc::stat) -> bool {
    const LOOKED_AT: i32 = 1024;
    (0..LOOKED_AT).any(|other| {
        other != fd
            && syscalls::fstat(other)
                .is_ok_and(|s| (s.st_dev, s.st_ino) == (stat.st_dev, stat.st_ino))
            && !is_same_open_file(fd, other, true)
    })
}

/// Refuses the image if another process has one of these files open, by inheritance or because it
/// was sent the descriptor. In the image child. (Processes of other users do not show what they
/// have open.)
pub fn refuse_shared(area: &ReservedArea, strings: &Strings, parent: i32) -> Result<(), Refused> {
    let table = &area.descriptors()[..area.process_state().descriptors as usize];
    if table.iter().all(|entry| entry.how != how::RECREATE) {
        return Ok(());
    }
    let me = syscalls::getpid();
    let mut result = Ok(());
    let (text, content) = (area.text(), area.content());
    let listed = procfs::each_number(c"/proc", text, |process| {
        // (What a child of the rank has of these files it has from the rank, or tells itself.)
        let is_ours = process == me as u64 || process == parent as u64;
        if is_ours || children::is_one(process) || result.is_err() {
            return;
        }
        let mut folder = [0; 64];
        let folder = procfs::path(&mut folder, format_args!("/proc/{process}/fd"));
        // An error: the process has ended meanwhile, or is another user's.
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
                    && !is_only_kept(process, fd)
            });
            if let Some(entry) = shared {
                let (fd, path) = (entry.fd, Shown(strings.get(entry.path)));
                result = Err(area.refuse(Refusal::NamelessFileShared { fd, path, process }));
            }
        });
    });
    listed.map_err(|errno| area.unreadable("/proc", errno))?;
    result
}

/// Whether a descriptor of a process is one with `O_PATH`, as the agent keeps files.
fn is_only_kept(process: u64, fd: u64) -> bool {
    let (mut name, mut text) = ([0; 64], [0u8; 64]);
    let name = procfs::path(&mut name, format_args!("/proc/{process}/fdinfo/{fd}"));
    let Ok(file) = syscalls::open(name, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let len = syscalls::read(file, &mut text).unwrap_or(0);
    syscalls::close(file);
    let mut words = text[..len].split(|byte| byte.is_ascii_whitespace());
    let flags = words.by_ref().skip_while(|word| *word != b"flags:").nth(1).unwrap_or_default();
    let octal = |value: i32, byte: &u8| value << 3 | i32::from(byte & 7);
    flags.iter().fold(0, octal) & libc::O_PATH != 0
}

/// Copies the contents. `index`: the entry's place in the table.
pub fn copy(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
) -> Result<(), Errno> {
    // By another open: a search for data moves the position.
    let mut name = [0; 64];
    let path = numbered("fd", entry.fd as u32, &mut name);
    let fd = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let result = copy_data(area, index, entry.size, fd, copies);
    syscalls::close(fd);
    result
}

/// Copies the parts of a file that hold data.
fn copy_data(
    area: &ReservedArea,
    index: usize,
    size: u64,
    fd: i32,
    copies: &mut Copies,
) -> Result<(), Errno> {
    let mut at = 0;
    while at < size {
        let from = match syscalls::seek(fd, at, libc::SEEK_DATA) {
            Ok(from) => from,
            Err(libc::ENXIO) => return Ok(()),
            // The file system does not know where data is.
            Err(libc::EINVAL) => at,
            Err(errno) => return Err(errno),
        };
        let to = syscalls::seek(fd, from, libc::SEEK_HOLE).unwrap_or(size).min(size);
        if to <= from {
            return Ok(());
        }
        let into = copies.piece(area, content_at(index, from), (to - from) as usize)?;
        syscalls::pread_full(fd, into, from)?;
        at = to;
    }
    Ok(())
}

/// Makes the file, empty and of the right size, before the memory of the new process is replaced.
pub fn create(strings: &Strings, entry: &Descriptor) -> Result<(), Errno> {
    let path = strings.get(entry.path);
    let mode = entry.mode & 0o777 | 0o600;
    let made = if path.starts_with(b"/memfd:") { None } else { temporary_file(path, mode) };
    let fd = match made {
        Some(fd) => fd,
        None => {
            let name = path.strip_prefix(b"/memfd:").unwrap_or(b"file (deleted)");
            let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
            let mut text = [0u8; 250];
            let len = name.len().min(text.len() - 1);
            text[..len].copy_from_slice(&name[..len]);
            memfd(&text, mode)?
        }
    };
    let fd = move_up(fd)?;
    // SAFETY: no memory involved.
    unsafe { syscalls::call!(libc::SYS_ftruncate, fd, entry.size) }?;
    if entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDWR {
        syscalls::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        return syscalls::move_descriptor(fd, entry.fd, libc::O_CLOEXEC);
    }
    // Another open, with the flags that the program's had.
    let mut name = [0; 64];
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC | libc::O_TMPFILE;
    let flags = entry.open_flags as i32 & !(drop & !libc::O_DIRECTORY) | libc::O_CLOEXEC;
    let opened = syscalls::open(numbered("fd", fd as u32, &mut name), flags & !libc::O_DIRECTORY);
    syscalls::close(fd);
    syscalls::move_descriptor(move_up(opened?)?, entry.fd, libc::O_CLOEXEC)
}

/// A new file without a name in the folder of `path`, or in `/tmp`; `None` if there is no such
/// folder.
fn temporary_file(path: &[u8], mode: u32) -> Option<i32> {
    let end = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
    let mut folder = [0u8; 4096];
    if end >= folder.len() - 1 {
        return None;
    }
    folder[..end].copy_from_slice(&path[..end]);
    for place in [CStr::from_bytes_until_nul(&folder).unwrap_or(c"/"), c"/tmp"] {
        let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: terminated path.
        let made = unsafe {
            syscalls::call!(libc::SYS_openat, libc::AT_FDCWD, place.as_ptr(), flags, mode)
        };
        if let Ok(fd) = made {
            return Some(fd as i32);
        }
    }
    None
}

/// A `memfd` that can be sealed; the seals of the image tell whether the program's could. A host
/// may forbid that a `memfd` is executed, unless the flag asks for it. Kernels before 6.3 do not
/// know the flag.
fn memfd(name: &[u8; 250], mode: u32) -> Result<i32, Errno> {
    const EXECUTABLE: u32 = 0x10;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let more = if mode & 0o111 != 0 { EXECUTABLE } else { 0 };
    // SAFETY: terminated name.
    let make =
        |flags: u32| unsafe { syscalls::call!(libc::SYS_memfd_create, name.as_ptr(), flags) };
    let made = make(flags | more);
    let made = if made.is_err() && more != 0 { make(flags) } else { made };
    made.map(|fd| fd as i32)
}

/// Writes the next `len` bytes of the image's stream into the file, from `offset` on.
pub fn fill(
    area: &ReservedArea,
    entry: &Descriptor,
    image: i32,
    (offset, len): (u64, u64),
) -> Result<(), Errno> {
    // By another open: the program's may be for reading only.
    let mut name = [0; 64];
    let path = numbered("fd", entry.fd as u32, &mut name);
    let fd = syscalls::open(path, libc::O_WRONLY | libc::O_CLOEXEC)?;
    let mut at = offset;
    let result = syscalls::copy_exactly(image, len, area.content(), |bytes| {
        syscalls::seek(fd, at, libc::SEEK_SET)?;
        at += bytes.len() as u64;
        syscalls::write_all(fd, bytes)
    });
    syscalls::close(fd);
    result
}

/// Adds the seals that are missing and, at the `end`, sets the mode.
fn seal(entry: &Descriptor, seals: u32, end: bool) -> Result<(), Errno> {
    let mode = entry.mode & 0o7777;
    let has = syscalls::fcntl(entry.fd, libc::F_GET_SEALS, 0).unwrap_or(0) as u32;
    let chmod = end && syscalls::fstat(entry.fd)?.st_mode & 0o7777 != mode;
    let more = seals & !has;
    if more == 0 && !chmod {
        return Ok(());
    }
    // Only an open for writing may seal. The program's open may be another one, and the mode that
    // the program has set may allow nobody to write.
    let mut name = [0; 64];
    let path = numbered("fd", entry.fd as u32, &mut name);
    let fd = syscalls::open(path, libc::O_RDWR | libc::O_CLOEXEC)?;
    let result = (|| {
        if chmod {
            // SAFETY: no memory involved.
            unsafe { syscalls::call!(libc::SYS_fchmod, fd, mode) }?;
        }
        if more == 0 { Ok(0) } else { syscalls::fcntl(fd, libc::F_ADD_SEALS, more as usize) }
    })();
    syscalls::close(fd);
    result.map(|_| ())
}

/// Adds the seal against writes before the file is mapped. The kernel refuses this seal while there
/// is a writable mapping, and the program has none. All other seals come later, because the program
/// may have writable mappings that are older than a seal.
pub fn seal_early(entry: &Descriptor) -> Result<(), Errno> {
    let early = entry.seals & libc::F_SEAL_WRITE as u32;
    if early == 0 { Ok(()) } else { seal(entry, early, false) }
}

/// Sets mode and all seals, when all files are open and mapped.
pub fn finish(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    seal(entry, entry.seals, true)
        .map_err(|errno| area.refuse(Refusal::NotSealed { fd: entry.fd, errno }))
}

/// Sets position and flags, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    syscalls::seek(fd, entry.offset, libc::SEEK_SET)
        .and_then(|_| syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize))
        .map(|_| ())
        .map_err(|errno| {
            let path = Shown(b"a file without a name");
            area.refuse(Refusal::NotMade { fd, path, errno })
        })
}

/// Opens the file of an earlier descriptor once more, in the restored process.
pub fn open_again(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let mut name = [0; 64];
        let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC | libc::O_TMPFILE;
        let flags = entry.open_flags as i32 & !drop;
        let opened = syscalls::open(numbered("fd", entry.other as u32, &mut name), flags)?;
        syscalls::move_descriptor(opened, fd, 0)?;
        syscalls::seek(fd, entry.offset, libc::SEEK_SET)?;
        syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        let path = Shown(b"a file without a name");
        area.refuse(Refusal::NotOpened { fd, path, errno })
    })
}
