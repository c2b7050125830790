//! Private mappings of files that are data: what they show is part of the image.
//!
//! A program may write, replace or remove the file later, and an image that needs it as it was would be of no use
//! then, which would be found out when it is needed. So they become memory of their own in a restored process.
//! Programs and libraries, files of the system and large files stay what they are, and are compared at the restore.
//!
//! Guarantees: the contents are those of the moment of the image, or there is no image: a file that is written to
//! while its pages are read is seen by its size and time. (Not so a file that has lost its name and that somebody
//! writes to through a descriptor in just that moment.) What POSIX leaves open differs: in a restored process such a mapping does
//! not show what is written to the file from then on.

use crate::hole::Hole;
use crate::line::{Refused, Shown, refuse};
use crate::procfs::Entry;
use crate::strings::Strings;
use crate::sys;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::Text;

/// Files that are looked at; more are treated as libraries are.
pub const FILES_MAX: usize = 256;
/// Larger mappings are not copied: the file must stay.
const BYTES_MAX: u64 = 256 << 20;
/// What nobody changes while a job runs.
const SYSTEM: [&[u8]; 4] = [b"/usr/", b"/lib", b"/bin/", b"/sbin/"];
const DELETED: &[u8] = b" (deleted)";

/// A file, as it was when the process stood still.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct DataFile {
    /// As `/proc/self/maps` tells them.
    device: u64,
    inode: u64,
    size: u64,
    time_ns: u64,
    /// Of a file with a name, set by the image child.
    path: Text,
    /// It is data (else: a program, a library, or too large).
    is_data: u32,
    reserved: u32,
}

/// Those that were looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct DataFiles {
    count: usize,
}

fn is_nameless(entry: &Entry<'_>) -> bool {
    entry.name.ends_with(DELETED)
}

fn found(hole: &Hole, count: usize, entry: &Entry<'_>) -> Option<usize> {
    let files = &hole.data_files()[..count];
    files.iter().position(|f| (f.device, f.inode) == (entry.device, entry.inode))
}

impl DataFiles {
    /// Looks at a private mapping of a file, while the process stands still.
    pub fn see(&mut self, hole: &Hole, entry: &Entry<'_>) {
        let system = SYSTEM.iter().any(|folder| entry.name.starts_with(folder));
        if is_nameless(entry) || system || self.count == FILES_MAX {
            return;
        }
        match found(hole, self.count, entry) {
            // The file's other mappings may be small.
            Some(at) if entry.end - entry.start > BYTES_MAX => hole.data_files()[at].is_data = 0,
            Some(_) => {}
            None => {
                hole.data_files()[self.count] = look(hole, entry);
                self.count += 1;
            }
        }
    }

    /// Whether what this mapping shows is part of the image.
    pub fn contain(&self, hole: &Hole, entry: &Entry<'_>) -> bool {
        is_nameless(entry)
            || found(hole, self.count, entry).is_some_and(|at| hole.data_files()[at].is_data != 0)
    }

    /// Notes the name, for [`Self::unchanged`]; in the image child.
    pub fn name(
        &self,
        hole: &Hole,
        strings: &mut Strings,
        entry: &Entry<'_>,
    ) -> Result<(), Refused> {
        let Some(at) = found(hole, self.count, entry).filter(|_| !is_nameless(entry)) else {
            return Ok(());
        };
        let file = &mut hole.data_files()[at];
        if file.path.len == 0 {
            file.path = strings.add(entry.name).map_err(|errno| {
                refuse!(hole, errno, "the paths of the mapped files are too long")
            })?;
        }
        Ok(())
    }

    /// Whether all are as they were, now that their pages are in the stream; in the image child.
    pub fn unchanged(&self, hole: &Hole, strings: &Strings) -> Result<(), Refused> {
        for file in hole.data_files()[..self.count].iter().filter(|file| file.path.len != 0) {
            // Another name, or none, changes nothing.
            let changed = sys::stat(strings.c_str(file.path)).is_ok_and(|now| {
                now.st_ino == file.inode
                    && (now.st_size as u64, time_ns(&now)) != (file.size, file.time_ns)
            });
            if changed {
                return Err(refuse!(
                    hole,
                    libc::EAGAIN,
                    "{}, which the program maps, was written to while the image was taken",
                    Shown(strings.get(file.path))
                ));
            }
        }
        Ok(())
    }
}

fn time_ns(stat: &libc::stat) -> u64 {
    (stat.st_mtime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as u64)
}

fn look(hole: &Hole, entry: &Entry<'_>) -> DataFile {
    let mut file = DataFile { device: entry.device, inode: entry.inode, ..DataFile::default() };
    let buffer = hole.content();
    let len = entry.name.len();
    if len + 1 > buffer.len() || entry.end - entry.start > BYTES_MAX {
        return file;
    }
    buffer[..len].copy_from_slice(entry.name);
    buffer[len] = 0;
    let Ok(path) = CStr::from_bytes_until_nul(buffer) else { return file };
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let Ok(fd) = sys::open(path, flags) else { return file };
    let mut begin = [0; 4];
    let is_code = sys::pread(fd, &mut begin, 0).is_err() || begin == *b"\x7fELF";
    if let Ok(stat) = sys::fstat(fd) {
        file.size = stat.st_size as u64;
        file.time_ns = time_ns(&stat);
        file.is_data = u32::from(!is_code && stat.st_ino == entry.inode);
    }
    sys::close(fd);
    file
}
