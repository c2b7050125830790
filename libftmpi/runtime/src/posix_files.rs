//! The file system of the program's files, by POSIX calls.
//!
//! Descriptors are ordinary ones: an image knows them by path and opens them again.

use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::file::disk::{Disk, Doing, Handle, IDENTITIES, Open, Refusal};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::control::{FILE_DIGESTS, FileKey};
use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io::Error;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Open files of the program.
#[derive(Default)]
pub struct Posix {
    files: Vec<Option<(PathBuf, File)>>,
}

/// The class of what the system answered.
fn class(error: &Error) -> ErrorClass {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => ErrorClass::NoSuchFile,
        Some(libc::EACCES | libc::EPERM) => ErrorClass::Access,
        Some(libc::EEXIST) => ErrorClass::FileExists,
        Some(libc::EROFS) => ErrorClass::ReadOnly,
        Some(libc::ENOSPC) => ErrorClass::NoSpace,
        Some(libc::EDQUOT) => ErrorClass::Quota,
        Some(libc::EISDIR | libc::ENAMETOOLONG | libc::ELOOP) => ErrorClass::BadFile,
        Some(libc::ETXTBSY | libc::EBUSY) => ErrorClass::FileInUse,
        _ => ErrorClass::Io,
    }
}

pub(crate) fn refused(doing: Doing, path: &Path, error: &Error) -> MpiError {
    match error.raw_os_error().map(u16::try_from) {
        Some(Ok(code)) => Refusal { doing, code }.of(class(error), path),
        // The path has a zero byte.
        _ => class(error).because(format!("'{}': {error}", path.display())),
    }
}

/// A digest of device, number and time of birth of a file, because numbers are used again soon
/// after a file is deleted. 0 if there is none.
fn identity(directory: i32, path: &CStr, flags: i32) -> u64 {
    key(directory, path, flags).map_or(0, FileKey::digest)
}

/// Device, number and time of birth of a file.
fn key(directory: i32, path: &CStr, flags: i32) -> Option<FileKey> {
    // SAFETY: all-zero is valid, and the kernel fills it.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    let (flags, wanted) = (flags | libc::AT_SYMLINK_NOFOLLOW, libc::STATX_INO | libc::STATX_BTIME);
    // SAFETY: the path ends with a zero byte, and both live over the call.
    let code = unsafe { libc::statx(directory, path.as_ptr(), flags, wanted, &raw mut about) };
    if code != 0 {
        return None;
    }
    let birth = match about.stx_mask & libc::STATX_BTIME {
        0 => 0,
        _ => (about.stx_btime.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(u64::from(about.stx_btime.tv_nsec)),
    };
    let device = libc::makedev(about.stx_dev_major, about.stx_dev_minor);
    Some(FileKey { device, inode: about.stx_ino, birth })
}

/// As [`Disk::identity`] numbers them.
const _: () = assert!(FILE_DIGESTS == IDENTITIES);

impl Posix {
    fn insert(&mut self, path: &Path, file: File) -> Handle {
        let entry = Some((path.to_owned(), file));
        let free = self.files.iter().position(Option::is_none);
        let index = free.unwrap_or(self.files.len());
        match free {
            Some(free) => self.files[free] = entry,
            None => self.files.push(entry),
        }
        Handle(index as u32)
    }

    /// An open file.
    pub(crate) fn file(&self, file: Handle) -> Option<&File> {
        self.get(file).ok().map(|(_, file)| file)
    }

    /// What tells an open file from all others.
    pub(crate) fn key(&self, file: Handle) -> Option<FileKey> {
        let (_, file) = self.get(file).ok()?;
        key(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH)
    }

    /// Opens a file by a descriptor with `O_PATH`.
    pub(crate) fn open_kept(&mut self, path: &Path, how: Open, kept: i32) -> Result<Handle> {
        let mut options = OpenOptions::new();
        options.read(how.read).write(how.write);
        let open = options.open(format!("/proc/self/fd/{kept}"));
        let file = open.map_err(|error| refused(Doing::Opened, path, &error))?;
        Ok(self.insert(path, file))
    }

    /// The descriptors of all open files, in ascending order.
    pub(crate) fn descriptors(&self) -> Vec<i32> {
        let open = self.files.iter().flatten();
        let mut all: Vec<i32> = open.map(|(_, file)| file.as_raw_fd()).collect();
        all.sort_unstable();
        all
    }

    fn get(&self, file: Handle) -> Result<&(PathBuf, File)> {
        match self.files.get(file.0 as usize) {
            Some(Some(open)) => Ok(open),
            _ => Err(ErrorClass::File.because("the file is not open")),
        }
    }
}

/// Repeats a call that a signal interrupted.
fn again(mut call: impl FnMut() -> isize) -> std::result::Result<usize, Error> {
    loop {
        let done = call();
        if done >= 0 {
            return Ok(done as usize);
        }
        let error = Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

fn range(kind: i32, from: u64, to: u64) -> libc::flock {
    // SAFETY: all-zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = from as i64;
    lock.l_len = to.saturating_sub(from) as i64;
    lock
}

impl Disk for Posix {
    fn open(&mut self, path: &Path, how: Open) -> Result<Handle> {
        let mut options = OpenOptions::new();
        options.read(how.read).write(how.write);
        if how.exclusive && how.create {
            options.create_new(true);
        } else {
            options.create(how.create);
        }
        let file = options.open(path).map_err(|error| refused(Doing::Opened, path, &error))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(ErrorClass::BadFile.because(format!("'{}' is a directory", path.display())));
        }
        Ok(self.insert(path, file))
    }

    fn identity(&mut self, path: &Path) -> u64 {
        CString::new(path.as_os_str().as_bytes())
            .map_or(0, |path| identity(libc::AT_FDCWD, &path, 0))
    }

    fn unnamed(&mut self, path: &Path, how: Open) -> Option<(Handle, u64)> {
        // Its name is given through /proc.
        std::fs::symlink_metadata("/proc/self/fd").ok()?;
        let parent = path.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let mut options = OpenOptions::new();
        // The system wants such files to be open for writing, as this one is anyway.
        options.read(how.read).write(true).mode(0o666).custom_flags(libc::O_TMPFILE);
        let file = options.open(parent).ok()?;
        let identity = identity(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH);
        (identity != 0).then(|| (self.insert(path, file), identity))
    }

    fn keep(&mut self, file: Handle) -> u64 {
        self.key(file).map_or(0, FileKey::digest)
    }

    fn open_again(&mut self, path: &Path, how: Open, _identity: u64) -> Result<Handle> {
        self.open(path, how)
    }

    fn name(&mut self, file: Handle, path: &Path) -> Result<()> {
        let (_, open) = self.get(file)?;
        let refuse = |error: &Error| refused(Doing::Opened, path, error);
        let from = CString::new(format!("/proc/self/fd/{}", open.as_raw_fd()));
        let to = CString::new(path.as_os_str().as_bytes());
        let (Ok(from), Ok(to)) = (from, to) else {
            return Err(ErrorClass::BadFile.because("the name of the file has a zero byte"));
        };
        let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: both names end with a zero byte and live over the call.
        let code = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) };
        if code == 0 { Ok(()) } else { Err(refuse(&Error::last_os_error())) }
    }

    fn close(&mut self, file: Handle) {
        if let Some(slot) = self.files.get_mut(file.0 as usize) {
            *slot = None;
        }
    }

    fn delete(&mut self, path: &Path) -> Result<()> {
        std::fs::remove_file(path).map_err(|error| refused(Doing::Deleted, path, &error))
    }

    fn read(&mut self, file: Handle, at: u64, into: UserPtr, len: usize) -> Result<usize> {
        let (path, file) = self.get(file)?;
        let mut done = 0;
        while done < len {
            let place = into.offset(done as i64).as_ptr();
            let from = (at + done as u64) as libc::off_t;
            // SAFETY: the place is the program's buffer (or a copy of ours) for `len` bytes, which
            // the caller of the MPI function promised.
            let came = again(|| unsafe { libc::pread(file.as_raw_fd(), place, len - done, from) });
            match came {
                Ok(0) => break,
                Ok(came) => done += came,
                Err(error) => return Err(refused(Doing::Read, path, &error)),
            }
        }
        Ok(done)
    }

    fn write(&mut self, file: Handle, at: u64, from: UserPtr, len: usize) -> Result<()> {
        let (path, file) = self.get(file)?;
        let mut done = 0;
        while done < len {
            let place = from.offset(done as i64).as_ptr();
            let to = (at + done as u64) as libc::off_t;
            // SAFETY: as for `read`; the kernel only reads.
            let went = again(|| unsafe { libc::pwrite(file.as_raw_fd(), place, len - done, to) });
            match went {
                Ok(went) => done += went,
                Err(error) => return Err(refused(Doing::Written, path, &error)),
            }
        }
        Ok(())
    }

    fn size(&mut self, file: Handle) -> Result<u64> {
        let (path, file) = self.get(file)?;
        let about = file.metadata().map_err(|error| refused(Doing::Examined, path, &error))?;
        Ok(about.len())
    }

    fn set_size(&mut self, file: Handle, bytes: u64) -> Result<()> {
        let (path, file) = self.get(file)?;
        file.set_len(bytes).map_err(|error| refused(Doing::Resized, path, &error))
    }

    fn preallocate(&mut self, file: Handle, bytes: u64) -> Result<()> {
        let (path, open) = self.get(file)?;
        loop {
            // SAFETY: about our own descriptor.
            let code = unsafe { libc::posix_fallocate(open.as_raw_fd(), 0, bytes as libc::off_t) };
            return match code {
                0 => Ok(()),
                libc::EINTR => continue,
                libc::EINVAL if bytes == 0 => Ok(()),
                code => Err(refused(Doing::Extended, path, &Error::from_raw_os_error(code))),
            };
        }
    }

    fn sync(&mut self, file: Handle) -> Result<()> {
        let (path, file) = self.get(file)?;
        file.sync_all().map_err(|error| refused(Doing::Synchronised, path, &error))
    }

    fn lock(&mut self, file: Handle, from: u64, to: u64, shared: bool) -> Result<()> {
        let (path, file) = self.get(file)?;
        // A file that is open for writing only cannot be locked for reading, and vice versa. The
        // access that wants the lock is of the kind that the file is open for.
        let lock = range(if shared { libc::F_RDLCK } else { libc::F_WRLCK }, from, to);
        // SAFETY: `lock` lives over the call.
        let done = again(|| unsafe {
            libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) as isize
        });
        done.map(|_| ()).map_err(|error| refused(Doing::Locked, path, &error))
    }

    fn unlock(&mut self, file: Handle, from: u64, to: u64) {
        if let Ok((_, file)) = self.get(file) {
            let lock = range(libc::F_UNLCK, from, to);
            // SAFETY: `lock` lives over the call.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_name_gets_one_and_is_known_by_it() {
        let path = std::env::temp_dir().join(format!("ftmpi-name-{}", std::process::id()));
        let mut disk = Posix::default();
        let how = Open { read: true, write: true, create: true, exclusive: true };
        let Some((first, known)) = disk.unnamed(&path, how) else { return };
        let (second, other) = disk.unnamed(&path, how).unwrap();
        assert_ne!(known, other);
        assert_eq!(disk.identity(&path), 0);
        disk.name(first, &path).unwrap();
        assert_eq!(disk.identity(&path), known);
        assert_eq!(disk.name(second, &path).unwrap_err().class, ErrorClass::FileExists);
        disk.write(first, 0, UserPtr::own(&[1, 2, 3]), 3).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [1, 2, 3]);
        disk.delete(&path).unwrap();
        let again = disk.open(&path, how).unwrap();
        assert_ne!(disk.identity(&path), known, "the number of a deleted file may be used again");
        disk.close(again);
        disk.delete(&path).unwrap();
    }

    #[test]
    fn a_file_is_written_read_cut_and_deleted() {
        let path = std::env::temp_dir().join(format!("ftmpi-disk-{}", std::process::id()));
        let mut disk = Posix::default();
        let how = Open { read: true, write: true, create: true, exclusive: true };
        let file = disk.open(&path, how).unwrap();
        let error = disk.open(&path, how).unwrap_err();
        assert_eq!(error.class, ErrorClass::FileExists);
        let (out, mut back) = ([1u8, 2, 3, 4], [0u8; 6]);
        disk.lock(file, 0, 100, false).unwrap();
        disk.write(file, 3, UserPtr::own(&out), 4).unwrap();
        disk.unlock(file, 0, 100);
        assert_eq!(disk.size(file).unwrap(), 7);
        assert_eq!(disk.read(file, 2, UserPtr::own_mut(&mut back), 6).unwrap(), 5);
        assert_eq!(back, [0, 1, 2, 3, 4, 0]);
        disk.set_size(file, 4).unwrap();
        disk.preallocate(file, 4096).unwrap();
        assert_eq!(disk.size(file).unwrap(), 4096);
        disk.sync(file).unwrap();
        disk.close(file);
        assert!(disk.size(file).is_err());
        assert!(disk.identity(&path) >= 2);
        disk.delete(&path).unwrap();
        assert_eq!(disk.identity(&path), 0);
        assert_eq!(disk.delete(&path).unwrap_err().class, ErrorClass::NoSuchFile);
    }
}
