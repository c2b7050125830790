//! Regular files and directories, as an image finds them. A restore opens them again
//! ([`crate::descriptors::reopen`]), at the same position.
//!
//! A file that only this rank writes is cut to the size that it had at the image. Else what the
//! program appended after the image would be there twice. A file that somebody else has written is
//! never cut.

use crate::base::procfs::{self, numbered};
use crate::base::refusal::Refused;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::descriptors::candidate::Candidate;
use crate::descriptors::file_system::is_nfs;
use crate::descriptors::lease::is_exclusive;
use crate::descriptors::unsupported::special_file;
use ftmpi_checkpoint::stream::{Descriptor, Text, descriptor as how};

/// Fills the entry.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    if it.file_type() == libc::S_IFREG && is_nfs(fd) && is_nfs_deleted(it.path()) {
        return Err(it.refuse("a file that was deleted, which NFS removes when this process ends"));
    }
    if let Some(what) = special_file(fd).or_else(|| why_gone(it)) {
        return Err(it.refuse(what));
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
pub fn is_of_the_kernel(path: &[u8]) -> bool {
    path.starts_with(b"/proc/") || path.starts_with(b"/sys/")
}

/// Whether the kernel shows that the name which the file was opened by is gone.
pub fn is_deleted(path: &[u8]) -> bool {
    path.ends_with(b" (deleted)")
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

/// Why a new process would not find the file, if that is known already. A regular file without its
/// name is kept by the agent.
fn why_gone(it: &Candidate<'_>) -> Option<&'static str> {
    let path = it.strings.c_str(it.path);
    let of_a_process = path.to_bytes().strip_prefix(b"/proc/").and_then(|rest| rest.first());
    if of_a_process.is_some_and(u8::is_ascii_digit) {
        return Some("a file of /proc about a process, which is another one after a restart");
    }
    if is_of_the_kernel(path.to_bytes()) || it.file_type() == libc::S_IFREG {
        return None;
    }
    match syscalls::stat(path) {
        Ok(there) if (there.st_dev, there.st_ino) == (it.stat.st_dev, it.stat.st_ino) => None,
        Ok(_) => Some("a directory in whose place there is another one"),
        Err(_) => Some("a directory that its path does not lead to any more"),
    }
}

/// Whether the name is the one that NFS gives to an open file that is deleted: `.nfs` and two
/// numbers.
fn is_nfs_deleted(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.strip_prefix(b".nfs")
        .is_some_and(|rest| rest.len() >= 16 && rest.iter().all(u8::is_ascii_hexdigit))
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
    let writes = flags & libc::O_ACCMODE == libc::O_WRONLY && flags & libc::O_APPEND == 0;
    if entry.how == how::REOPEN && (reads || appends || writes) && regular && is_exclusive(entry.fd)
    {
        entry.how = if writes { how::REOPEN_ALONE } else { how::REOPEN_CUT };
    }
}

/// Marks the files whose contents the caller of `capture` guards.
pub fn mark_guarded(table: &mut [Descriptor], guarded: &[i32]) {
    for entry in table.iter_mut().filter(|entry| guarded.binary_search(&entry.fd).is_ok()) {
        if matches!(entry.how, how::REOPEN | how::REOPEN_CUT | how::REOPEN_ALONE) {
            entry.how = how::REOPEN_GUARDED;
        }
    }
}
