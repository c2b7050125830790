//! Private mappings of files that are data: their contents are part of the image.
//!
//! A program may write, replace or remove such a file later. An image that needs the old file
//! would be of no use then, and the restore would find that out too late. So these mappings become
//! memory without a file in a restored process. Programs and libraries, files of the system and
//! large files stay mapped files, and the restore compares them.
//!
//! Guarantees: the contents are those of the moment of the image, or there is no image. Size and
//! time of the file are noted while the process stands still, and compared when the pages are in
//! the stream. Size and time do not show writes through a shared mapping of the file, nor writes to
//! a file that has lost its name.
//!
//! POSIX leaves it open whether a private mapping shows later writes to the file. In a restored
//! process it does not.

use crate::base::procfs::Entry;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::tables::{DATA_FILES_MAX, DataFile};
use crate::base::text::Shown;
use crate::tuning::{DATA_FILE_BYTES_MAX, DATA_FILES_BYTES_MAX};
use core::ffi::CStr;

/// Folders whose files nobody changes while a job runs.
const SYSTEM: [&[u8]; 4] = [b"/usr/", b"/lib", b"/bin/", b"/sbin/"];

/// Whether a file is in one of these folders.
pub fn is_of_the_system(path: &[u8]) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

const DELETED: &[u8] = b" (deleted)";

/// The files that were looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct DataFiles {
    count: usize,
    bytes: u64,
    nameless_bytes: u64,
}

fn is_nameless(entry: &Entry<'_>) -> bool {
    entry.name.ends_with(DELETED)
}

fn found(area: &ReservedArea, count: usize, entry: &Entry<'_>) -> Option<usize> {
    let files = &area.data_files()[..count];
    files.iter().position(|f| (f.device, f.inode) == (entry.device, entry.inode))
}

impl DataFiles {
    /// Looks at a private mapping of a file, while the process stands still. The file is not
    /// opened: to close it again would take the program's locks on it away.
    pub fn add_mapping(&mut self, area: &ReservedArea, entry: &Entry<'_>) -> Result<(), Refused> {
        let bytes = entry.end - entry.start;
        if is_nameless(entry) {
            self.nameless_bytes += bytes;
            if self.nameless_bytes > DATA_FILE_BYTES_MAX {
                return Err(area.refuse(Refusal::DeletedFilesTooLarge {
                    most_mib: DATA_FILE_BYTES_MAX >> 20,
                    path: Shown(entry.name),
                }));
            }
            return Ok(());
        }
        if is_of_the_system(entry.name) {
            return Ok(());
        }
        let at = match found(area, self.count, entry) {
            Some(at) => at,
            None if self.count == DATA_FILES_MAX => return Ok(()),
            None => {
                area.data_files()[self.count] = look(area, entry);
                self.count += 1;
                self.count - 1
            }
        };
        self.bytes += bytes;
        if bytes > DATA_FILE_BYTES_MAX || self.bytes > DATA_FILES_BYTES_MAX {
            area.data_files()[at].may_be = 0;
        }
        Ok(())
    }

    /// Whether the contents of this mapping are part of the image, and how many bytes of the
    /// mapping lie before the end of the file (0: not known). In the image child.
    pub fn shown(
        &self,
        area: &ReservedArea,
        strings: &mut Strings,
        entry: &Entry<'_>,
    ) -> Result<Option<u64>, Refused> {
        if is_nameless(entry) {
            return Ok(Some(0));
        }
        let Some(at) = found(area, self.count, entry) else { return Ok(None) };
        let file = &mut area.data_files()[at];
        if file.may_be != 0 && file.examined == 0 {
            file.examined = 1;
            file.may_be = u32::from(!is_code(area, entry));
            if file.may_be != 0 {
                file.path = strings
                    .add(entry.name)
                    .map_err(|errno| area.refuse(Refusal::PathsTooLong { errno }))?;
            }
        }
        let rest = file.size.saturating_sub(entry.offset).next_multiple_of(4096);
        Ok((file.may_be != 0).then(|| rest.min(entry.end - entry.start)))
    }

    /// Refuses the image if one of the files has changed. In the image child, after the pages are
    /// in the stream.
    pub fn unchanged(&self, area: &ReservedArea, strings: &Strings) -> Result<(), Refused> {
        for file in area.data_files()[..self.count].iter().filter(|file| file.path.len != 0) {
            let changed = match syscalls::stat(strings.c_str(file.path)) {
                Ok(now) => {
                    now.st_ino == file.inode
                        && (now.st_size as u64, syscalls::modified(&now))
                            != (file.size, file.time_ns)
                }
                // A file with another name, or without one, is unchanged.
                Err(libc::ENOENT | libc::ENOTDIR) => false,
                Err(_) => true,
            };
            if changed {
                return Err(
                    area.refuse(Refusal::MappedFileWritten { path: Shown(strings.get(file.path)) })
                );
            }
        }
        Ok(())
    }
}

/// The mapping's name as a path.
fn path_of<'b>(entry: &Entry<'_>, buffer: &'b mut [u8]) -> Option<&'b CStr> {
    let len = entry.name.len();
    if len + 1 > buffer.len() {
        return None;
    }
    buffer[..len].copy_from_slice(entry.name);
    buffer[len] = 0;
    CStr::from_bytes_until_nul(buffer).ok()
}

fn look(area: &ReservedArea, entry: &Entry<'_>) -> DataFile {
    let mut file = DataFile { device: entry.device, inode: entry.inode, ..DataFile::default() };
    if let Some(Ok(stat)) = path_of(entry, area.content()).map(syscalls::stat) {
        file.size = stat.st_size as u64;
        file.time_ns = syscalls::modified(&stat);
        let is_regular = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
        file.may_be = u32::from(is_regular && stat.st_ino == entry.inode);
    }
    file
}

/// Whether the file is a program or library, or cannot be read. In the image child, which holds no
/// locks.
fn is_code(area: &ReservedArea, entry: &Entry<'_>) -> bool {
    let Some(path) = path_of(entry, area.content()) else { return true };
    let Ok(fd) = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) else {
        return true;
    };
    let mut begin = [0; 4];
    let read = syscalls::pread(fd, &mut begin, 0);
    syscalls::close(fd);
    read.is_err() || begin == *b"\x7fELF"
}
