//! Regular files and directories: opened again by path, at the same position.
//!
//! A file that only this rank writes is cut to the size that it had at the image: what the program
//! appended after the image would be there twice. A file that somebody else has written is never
//! cut.

use crate::base::notice::Notice;
use crate::base::procfs::{self, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::report;
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::fd_owner;
use crate::descriptors::file_system::{is_nfs, leases_hold_everywhere};
use crate::descriptors::lease::{is_exclusive, is_soon_exclusive};
use crate::descriptors::unsupported::special_file;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Descriptor, Text, descriptor as how};

/// Fills the entry.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    if it.file_type() == libc::S_IFREG && is_nfs(fd) && is_nfs_deleted(it.path()) {
        return Err(it.refuse("a file that was deleted, which NFS removes when this process ends"));
    }
    if let Some(what) = why_gone(it.strings.c_str(it.path), &it.stat) {
        return Err(it.refuse(special_file(fd).unwrap_or(what)));
    }
    it.entry.how = how::REOPEN;
    it.entry.path = it.path;
    it.entry.offset = syscalls::seek(fd, 0, libc::SEEK_CUR).unwrap_or(0);
    Ok(())
}

/// The path of a descriptor's file, which is right in the next incarnation, too.
pub fn path_of(strings: &mut Strings, fd: i32) -> Result<Text, Errno> {
    let mut name = [0u8; 64];
    let path = strings.link(numbered("fd", fd as u32, &mut name))?;
    let mut own = [0u8; OWN_PROC];
    match own_proc_path(strings.get(path), &mut own) {
        Some(own) => strings.add(own),
        None => Ok(path),
    }
}

/// Files that the kernel makes when they are read: they have no contents to compare.
fn is_of_the_kernel(path: &[u8]) -> bool {
    path.starts_with(b"/proc/") || path.starts_with(b"/sys/")
}

/// Bytes of a path below `/proc/self`, at most.
const OWN_PROC: usize = 128;

/// The path below `/proc/self` of a file of `/proc` about this process. Files about threads have
/// none: threads have other ids in the next incarnation.
fn own_proc_path<'a>(path: &[u8], into: &'a mut [u8; OWN_PROC]) -> Option<&'a [u8]> {
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

/// Why the path does not lead to the file any more, if that is known already.
fn why_gone(path: &CStr, stat: &libc::stat) -> Option<&'static str> {
    let of_a_process = path.to_bytes().strip_prefix(b"/proc/").and_then(|rest| rest.first());
    if of_a_process.is_some_and(u8::is_ascii_digit) {
        return Some("a file of /proc about a process, which is another one after a restart");
    }
    if is_of_the_kernel(path.to_bytes()) {
        return None;
    }
    match syscalls::stat(path) {
        Ok(there) if (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino) => None,
        Ok(_) => Some("a file in whose place there is another one"),
        Err(_) => Some("a file that its path does not lead to any more"),
    }
}

/// Whether the name is the one that NFS gives to an open file that is deleted: `.nfs` and two
/// numbers.
fn is_nfs_deleted(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.strip_prefix(b".nfs")
        .is_some_and(|rest| rest.len() >= 16 && rest.iter().all(u8::is_ascii_hexdigit))
}

/// Marks all files that only this rank writes; in the image child, which shares the open files.
///
/// The process itself has marked the files whose signals somebody gets: the look at a lease makes
/// the kernel forget the owner for a moment, so it must happen while nobody runs.
pub fn mark_own_logs(table: &mut [Descriptor]) {
    for entry in table.iter_mut().filter(|entry| !fd_owner::has_any(entry)) {
        mark_own_log(entry);
    }
}

/// Marks a file that nobody else has open and that the program appends to, or writes and reads
/// through the same descriptor.
///
/// The restore cuts what the program adds after the image. Otherwise appended text would be there
/// twice, and a program that reads to the end would read what it has not written yet. A program
/// that only appends stands at the end after each write, and at 0 before the first one. If it
/// stands elsewhere, somebody else wrote last.
pub fn mark_own_log(entry: &mut Descriptor) {
    let flags = entry.open_flags as i32;
    let reads = flags & libc::O_ACCMODE == libc::O_RDWR;
    let own_end = entry.offset == entry.size || entry.offset == 0;
    let appends = flags & libc::O_APPEND != 0 && (reads || own_end);
    let regular = entry.mode & libc::S_IFMT == libc::S_IFREG;
    if entry.how == how::REOPEN && (reads || appends) && regular && is_exclusive(entry.fd) {
        entry.how = how::REOPEN_CUT;
    }
}

/// What the restore knows about this incarnation and the one before.
pub struct Incarnation {
    pub rank: u32,
    /// When the rank's previous incarnation ended, in nanoseconds since 1970, if others have gone
    /// on since then; otherwise 0.
    pub died: u64,
    /// The image was taken on this boot of this host.
    pub same_boot: bool,
    /// The launcher's standard error: the program may have put another file in its place.
    pub stderr: i32,
}

/// Opens the file again, in the restored process.
pub fn restore(
    area: &ReservedArea,
    entry: &Descriptor,
    strings: &Strings,
    incarnation: &Incarnation,
) -> Result<(), Refused> {
    let fd = entry.fd;
    let path = strings.c_str(entry.path);
    let shown = Shown(path.to_bytes());
    let failed = |errno| area.refuse(Refusal::NotOpened { fd, path: shown, errno });
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC;
    let flags = entry.open_flags as i32 & !drop | libc::O_NOCTTY;
    let opened = syscalls::open(path, flags).map_err(failed)?;
    syscalls::move_descriptor(opened, fd, 0).map_err(failed)?;
    let stat = syscalls::fstat(fd).map_err(failed)?;
    if (stat.st_mode ^ entry.mode) & libc::S_IFMT != 0 {
        return Err(area.refuse(Refusal::OtherKindOfFile { path: shown }));
    }
    let print = |notice| report::print(incarnation.stderr, incarnation.rank, notice);
    let regular =
        stat.st_mode & libc::S_IFMT == libc::S_IFREG && !is_of_the_kernel(path.to_bytes());
    // Inodes are compared on one boot of one host only: elsewhere the same file may have another.
    let is_other = regular
        && incarnation.same_boot
        && stat.st_dev == entry.device
        && stat.st_ino != entry.inode;
    if is_other {
        let reads_only = entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDONLY;
        if !reads_only {
            print(Notice::OtherFile { path: shown });
        } else if (stat.st_size as u64, syscalls::modified(&stat)) != (entry.size, entry.modified) {
            return Err(area.refuse(Refusal::FileReplaced { fd, path: shown }));
        }
    }
    if entry.how == how::REOPEN_CUT && stat.st_size as u64 > entry.size && !is_other {
        match why_not_cut(fd, &stat, shown, incarnation) {
            Some(notice) => print(notice),
            // SAFETY: no memory involved.
            None => unsafe { syscalls::call!(libc::SYS_ftruncate, fd, entry.size) }
                .map(|_| ())
                .map_err(failed)?,
        }
    }
    if matches!(entry.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        syscalls::seek(fd, entry.offset, libc::SEEK_SET).map_err(failed)?;
    }
    syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize).map_err(failed)?;
    Ok(())
}

/// Why a file that has grown since the image may hold what others wrote.
fn why_not_cut<'a>(
    fd: i32,
    stat: &libc::stat,
    path: Shown<'a>,
    incarnation: &Incarnation,
) -> Option<Notice<'a>> {
    if !is_soon_exclusive(fd) {
        Some(Notice::NotCutOthersHaveItOpen { path })
    } else if !leases_hold_everywhere(fd) {
        Some(Notice::NotCutOtherHosts { path })
    } else if incarnation.died != 0 && syscalls::modified(stat) > incarnation.died {
        Some(Notice::NotCutWrittenSince { path })
    } else {
        None
    }
}
