//! Contents of what has no name to be opened by: files that were deleted or never had one, `memfd`s,
//! and pipes whose both ends are the program's.
//!
//! They are copied while the process stands still, into the range of copies, from where the image
//! child writes them. A new process makes them again before its memory is replaced, because they may
//! be mapped. Only files that nobody else has open: a copy of what is shared with others would be
//! something else.

use crate::base::procfs::numbered;
use crate::base::refusal::{Refused, Shown, refuse};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::tables::Piece;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use crate::memory::copies::Copies;
use crate::restore::image_reader;
use core::ffi::CStr;
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_DAMAGED, EXIT_IMAGE_MISFIT};
use ftmpi_checkpoint::stream::{
    Descriptor, ProcessState, content_at, descriptor as how, kind, limit, validate,
};
use ftmpi_wire::control::fds;

/// Copies the contents of all descriptors that need it; fills the reserved area's table of pieces and gives
/// their number.
pub fn copy(
    area: &ReservedArea,
    strings: &Strings,
    table: &[Descriptor],
    copies: &mut Copies,
) -> Result<u32, Refused> {
    let mut count = 0;
    for (index, entry) in table.iter().enumerate() {
        let result = match entry.how {
            how::RECREATE => copy_file(area, index, entry, copies, &mut count),
            how::PIPE => copy_pipe(area, index, entry, copies, &mut count),
            _ => Ok(()),
        };
        result.map_err(|errno| {
            let shown = Shown(strings.get(entry.path));
            refuse!(
                area,
                errno,
                "the contents of descriptor {} ({shown}) cannot be copied: {}",
                entry.fd,
                syscalls::error_text(errno)
            )
        })?;
    }
    Ok(count as u32)
}

fn add(area: &ReservedArea, count: &mut usize, piece: Piece) -> Result<(), Errno> {
    let slot = area.pieces().get_mut(*count).ok_or(libc::ENOMEM)?;
    *slot = piece;
    *count += 1;
    Ok(())
}

fn copy_file(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
    count: &mut usize,
) -> Result<(), Errno> {
    // Another opening: looking for data moves the position.
    let mut name = [0; 64];
    let path = numbered("fd", entry.fd as u32, &mut name);
    let fd = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let result = (|| {
        let mut at = 0;
        while at < entry.size {
            let from = match syscalls::seek(fd, at, libc::SEEK_DATA) {
                Ok(from) => from,
                Err(libc::ENXIO) => return Ok(()),
                // A file system that knows no holes.
                Err(libc::EINVAL) => at,
                Err(errno) => return Err(errno),
            };
            let to =
                syscalls::seek(fd, from, libc::SEEK_HOLE).unwrap_or(entry.size).min(entry.size);
            if to <= from {
                return Ok(());
            }
            let len = (to - from) as usize;
            let copy = copies.room(len)?;
            // SAFETY: just mapped, and nobody else's.
            let into = unsafe { core::slice::from_raw_parts_mut(copy as *mut u8, len) };
            let mut have = 0;
            while have < len {
                match syscalls::pread(fd, &mut into[have..], from + have as u64)? {
                    0 => return Err(libc::EIO),
                    n => have += n,
                }
            }
            add(area, count, Piece { at: content_at(index, from), copy, len })?;
            at = to;
        }
        Ok(())
    })();
    syscalls::close(fd);
    result
}

fn copy_pipe(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
    count: &mut usize,
) -> Result<(), Errno> {
    const FIONREAD: usize = 0x541b;
    let mut waiting = 0i32;
    // SAFETY: writes one number.
    unsafe { syscalls::call!(libc::SYS_ioctl, entry.fd, FIONREAD, &raw mut waiting) }?;
    if waiting <= 0 {
        return Ok(());
    }
    // `tee` leaves in the pipe what it copies into another.
    let mut pair = [0i32; 2];
    // SAFETY: writes two numbers.
    unsafe { syscalls::call!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC) }?;
    let result = (|| {
        syscalls::fcntl(pair[1], libc::F_SETPIPE_SZ, entry.size as usize)?;
        let len = waiting as usize;
        const SPLICE_F_NONBLOCK: usize = 2;
        // SAFETY: no memory involved.
        let got =
            unsafe { syscalls::call!(libc::SYS_tee, entry.fd, pair[1], len, SPLICE_F_NONBLOCK) }?;
        if got != len {
            return Err(libc::EIO);
        }
        let copy = copies.room(len)?;
        // SAFETY: just mapped, and nobody else's.
        let into = unsafe { core::slice::from_raw_parts_mut(copy as *mut u8, len) };
        if syscalls::read_full(pair[0], into)? != len {
            return Err(libc::EIO);
        }
        add(area, count, Piece { at: content_at(index, 0), copy, len })
    })();
    pair.into_iter().for_each(syscalls::close);
    result
}

/// In the new process, before its memory is replaced: makes the files and pipes, and fills them from
/// the stream. Gives the exit code with the refusal.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), (i32, Refused)> {
    let strings = Strings::loaded(area, process.strings_len as usize);
    let table = &area.descriptors()[..process.descriptors as usize];
    for entry in table {
        let result = match entry.how {
            how::RECREATE => create_file(&strings, entry),
            how::PIPE => create_pipe(entry),
            _ => Ok(()),
        };
        result.map_err(|errno| {
            let refused = refuse!(
                area,
                errno,
                "descriptor {} ({}) cannot be made again: {}",
                entry.fd,
                Shown(strings.get(entry.path)),
                syscalls::error_text(errno)
            );
            (EXIT_IMAGE_MISFIT, refused)
        })?;
    }
    let mut before = None;
    for sequence in 0..u64::from(process.contents) {
        let header =
            image_reader::read_header(area).map_err(|refused| (EXIT_IMAGE_DAMAGED, refused))?;
        let damaged = |what: &str| {
            let refused =
                refuse!(area, libc::EIO, "the image is damaged ({what}): an older one is needed");
            (EXIT_IMAGE_DAMAGED, refused)
        };
        if header.kind != kind::CONTENTS
            || header.sequence != u64::from(kind::LAST_TABLE) + sequence
            || header.len > limit::CONTENT_BYTES
        {
            return Err(damaged("its parts are not as they should be"));
        }
        let entry = table
            .get((header.at >> 48) as usize)
            .filter(|_| validate::content_fits(table, before, header.at, header.len))
            .ok_or_else(|| damaged("contents of no file"))?;
        before = Some((header.at, header.len));
        fill(area, entry, content_at(0, header.at), header.len).map_err(|errno| match errno {
            libc::EBADMSG => damaged("it breaks off"),
            _ => {
                let refused = refuse!(
                    area,
                    errno,
                    "descriptor {} cannot be filled again: {}",
                    entry.fd,
                    syscalls::error_text(errno)
                );
                (EXIT_IMAGE_MISFIT, refused)
            }
        })?;
    }
    for entry in table.iter().filter(|entry| entry.how == how::RECREATE) {
        seal_early(entry).map_err(|errno| {
            let (fd, why) = (entry.fd, syscalls::error_text(errno));
            let refused = refuse!(area, errno, "descriptor {fd} cannot be sealed again: {why}");
            (EXIT_IMAGE_MISFIT, refused)
        })?;
    }
    Ok(())
}

fn fill(area: &ReservedArea, entry: &Descriptor, offset: u64, len: u64) -> Result<(), Errno> {
    let mut name = [0; 64];
    let (fd, mut done) = match entry.how {
        how::PIPE if len > entry.size => return Err(libc::EBADMSG),
        how::PIPE => (entry.other, 0),
        // It may be open for reading only.
        _ => (
            syscalls::open(
                numbered("fd", entry.fd as u32, &mut name),
                libc::O_WRONLY | libc::O_CLOEXEC,
            )?,
            0,
        ),
    };
    let buffer = area.content();
    let result = (|| {
        while done < len {
            let step = (len - done).min(buffer.len() as u64) as usize;
            if syscalls::read_full(fds::IMAGE, &mut buffer[..step])? != step {
                return Err(libc::EBADMSG);
            }
            if entry.how == how::RECREATE {
                syscalls::seek(fd, offset + done, libc::SEEK_SET)?;
            }
            syscalls::write_all(fd, &buffer[..step])?;
            done += step as u64;
        }
        Ok(())
    })();
    if entry.how == how::RECREATE {
        syscalls::close(fd);
    }
    result
}

/// Moves a new descriptor to where it belongs.
fn place(fd: i32, wanted: i32) -> Result<(), Errno> {
    // SAFETY: no memory involved; nothing of value is at `wanted`.
    let moved = unsafe { syscalls::call!(libc::SYS_dup3, fd, wanted, libc::O_CLOEXEC) };
    syscalls::close(fd);
    moved.map(|_| ())
}

/// Out of the way of the numbers that are to be given.
fn high(fd: i32) -> Result<i32, Errno> {
    let moved = syscalls::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize);
    syscalls::close(fd);
    moved
}

fn create_file(strings: &Strings, entry: &Descriptor) -> Result<(), Errno> {
    let path = strings.get(entry.path);
    let mode = entry.mode & 0o777 | 0o600;
    let mut made = Err(libc::ENOENT);
    if !path.starts_with(b"/memfd:") {
        // In the folder where it was, or any other of the file system's.
        let end = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
        let mut folder = [0u8; 4096];
        if end < folder.len() - 1 {
            folder[..end].copy_from_slice(&path[..end]);
            for place in [CStr::from_bytes_until_nul(&folder).unwrap_or(c"/"), c"/tmp"] {
                let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
                // SAFETY: terminated path.
                made = unsafe {
                    syscalls::call!(libc::SYS_openat, libc::AT_FDCWD, place.as_ptr(), flags, mode)
                };
                if made.is_ok() {
                    break;
                }
            }
        }
    }
    let fd = match made {
        Ok(fd) => fd as i32,
        Err(_) => {
            let name = path.strip_prefix(b"/memfd:").unwrap_or(b"file (deleted)");
            let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
            let mut text = [0u8; 250];
            let len = name.len().min(text.len() - 1);
            text[..len].copy_from_slice(&name[..len]);
            memfd(&text, mode)?
        }
    };
    let fd = high(fd)?;
    // SAFETY: no memory involved.
    unsafe { syscalls::call!(libc::SYS_ftruncate, fd, entry.size) }?;
    if entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDWR {
        syscalls::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        return place(fd, entry.fd);
    }
    // The opening that the program had, in its way.
    let mut name = [0; 64];
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC | libc::O_TMPFILE;
    let flags = entry.open_flags as i32 & !(drop & !libc::O_DIRECTORY) | libc::O_CLOEXEC;
    let opened = syscalls::open(numbered("fd", fd as u32, &mut name), flags & !libc::O_DIRECTORY);
    syscalls::close(fd);
    place(high(opened?)?, entry.fd)
}

/// One that can be sealed, whatever it was: what it was is told by its seals. Systems can be told that no `memfd`
/// may be executed, unless it is asked for; kernels before 6.3 know no such thing.
fn memfd(name: &[u8; 250], mode: u32) -> Result<i32, Errno> {
    const EXECUTABLE: u32 = 0x10;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let more = if mode & 0o111 != 0 { EXECUTABLE } else { 0 };
    // SAFETY: terminated name.
    let made = unsafe { syscalls::call!(libc::SYS_memfd_create, name.as_ptr(), flags | more) };
    let made = match made {
        Err(_) if more != 0 => {
            // SAFETY: as above.
            unsafe { syscalls::call!(libc::SYS_memfd_create, name.as_ptr(), flags) }
        }
        other => other,
    };
    made.map(|fd| fd as i32)
}

/// Puts these of its seals on, and (at the `end`) its mode.
fn seal(entry: &Descriptor, seals: u32, end: bool) -> Result<(), Errno> {
    let mode = entry.mode & 0o7777;
    let has = syscalls::fcntl(entry.fd, libc::F_GET_SEALS, 0).unwrap_or(0) as u32;
    let chmod = end && syscalls::fstat(entry.fd)?.st_mode & 0o7777 != mode;
    let more = seals & !has;
    if more == 0 && !chmod {
        return Ok(());
    }
    // Only who may write may seal; the program perhaps may not, nor anybody with the mode that it has given it.
    let mut name = [0; 64];
    let fd =
        syscalls::open(numbered("fd", entry.fd as u32, &mut name), libc::O_RDWR | libc::O_CLOEXEC)?;
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

/// The seal that must be on before the file is mapped: with a mapping that could be written to it cannot be had, and
/// the program has none. All others must wait: it may have such that were made before the seal.
fn seal_early(entry: &Descriptor) -> Result<(), Errno> {
    let early = entry.seals & libc::F_SEAL_WRITE as u32;
    if early == 0 { Ok(()) } else { seal(entry, early, false) }
}

/// When everything is there that is opened or mapped: mode and seals.
pub fn finish(entry: &Descriptor) -> Result<(), Errno> {
    seal(entry, entry.seals, true)
}

fn create_pipe(entry: &Descriptor) -> Result<(), Errno> {
    let mut pair = [0i32; 2];
    // SAFETY: writes two numbers.
    unsafe { syscalls::call!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC) }?;
    syscalls::fcntl(pair[1], libc::F_SETPIPE_SZ, entry.size as usize)?;
    let pair = [high(pair[0])?, high(pair[1])?];
    place(pair[0], entry.fd)?;
    place(pair[1], entry.other)
}
