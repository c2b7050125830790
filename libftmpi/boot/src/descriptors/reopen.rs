//! The program's descriptors in a restored process: opened again, or made again, as the table says
//! ([`crate::descriptors`] filled it).

use crate::base::procfs::numbered;
use crate::base::refusal::{Line, Refused, Shown, refuse};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::descriptors::contents;
use crate::descriptors::file_locks;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use crate::descriptors::{is_exclusive, is_of_the_system, leases_hold_everywhere, modified};
use crate::process::process_state;
use ftmpi_checkpoint::stream::{Descriptor, ProcessState, descriptor as how};

/// When the image was taken nobody else had it open. The image child of a life that was killed may
/// not have ended yet.
fn is_soon_exclusive(fd: i32) -> bool {
    const PATIENCE_NS: u64 = 5_000_000_000;
    let begun = syscalls::now_ns();
    while !is_exclusive(fd) {
        if syscalls::now_ns() - begun > PATIENCE_NS {
            return false;
        }
        let pause = [0u64, 2_000_000];
        // SAFETY: the time is valid.
        let _ = unsafe { syscalls::call!(libc::SYS_nanosleep, pause.as_ptr(), 0) };
    }
    true
}

/// Makes the descriptors what they were; called in the restored process. Everything below
/// [`FIRST_LIBRARY`] except standard streams was closed before. `died`: when the rank's last life ended,
/// if that is known and others have gone on since.
pub fn restore(
    area: &ReservedArea,
    process: &ProcessState,
    strings: &Strings,
    died: u64,
) -> Result<(), Refused> {
    let table = &area.descriptors()[..process.descriptors as usize];
    // The launcher's streams, out of the way while others may take their numbers. A stream that
    // this life was not given stays closed.
    let mut streams = [-1; 3];
    for (fd, stream) in streams.iter_mut().enumerate() {
        *stream =
            syscalls::fcntl(fd as i32, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize).unwrap_or(-1);
    }
    let same_boot = process.boot != 0 && process.boot == process_state::boot_id();
    // Ascending, so that what is copied is there already.
    let result = table.iter().try_for_each(|entry| match entry.how {
        how::KEEP => keep(entry),
        how::DUPLICATE => copy(area, entry, entry.other),
        how::STREAM => copy(area, entry, *streams.get(entry.other as usize).unwrap_or(&-1)),
        how::RECREATE | how::PIPE | how::PIPE_END => adjust(area, entry),
        how::EVENTFD => make_eventfd(area, entry),
        how::AGAIN => open_again(area, entry),
        _ => reopen(
            area,
            entry,
            strings,
            &Life { rank: process.rank, died, error: streams[2], same_boot },
        ),
    });
    // When all are open that are opened through others.
    let result = result.and_then(|()| {
        let made = table.iter().filter(|entry| entry.how == how::RECREATE);
        made.map(|entry| (entry, contents::finish(entry))).try_for_each(|(entry, result)| {
            result.map_err(|errno| {
                let (fd, why) = (entry.fd, syscalls::error_text(errno));
                refuse!(area, errno, "mode and seals of descriptor {fd} cannot be had again: {why}")
            })
        })
    });
    if result.is_ok() {
        let locks = &area.locks()[..process.locks as usize];
        file_locks::restore(locks, table, strings, process.rank, streams[2]);
    }
    for stream in streams.into_iter().filter(|&fd| fd >= 0) {
        syscalls::close(stream);
    }
    // A program that had closed a standard stream finds it so again.
    for fd in (0..3).filter(|fd| table.iter().all(|entry| entry.fd != *fd)) {
        syscalls::close(fd);
    }
    result
}

/// A stream of the launcher's: a new one, to which the program has said the same.
fn keep(entry: &Descriptor) -> Result<(), Refused> {
    let now = syscalls::fcntl(entry.fd, libc::F_GETFL, 0);
    let waits = entry.open_flags as i32 & libc::O_NONBLOCK;
    if let Ok(now) = now
        && now & libc::O_NONBLOCK != waits
    {
        let _ =
            syscalls::fcntl(entry.fd, libc::F_SETFL, (now & !libc::O_NONBLOCK | waits) as usize);
    }
    // Closed in this life: it stays so.
    let _ = syscalls::fcntl(entry.fd, libc::F_SETFD, entry.fd_flags as usize);
    Ok(())
}

/// Made again by [`crate::descriptors::contents`]; what is left are position and flags.
fn adjust(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        if entry.how == how::RECREATE {
            syscalls::seek(fd, entry.offset, libc::SEEK_SET)?;
        } else {
            syscalls::fcntl(
                fd,
                libc::F_SETFL,
                entry.open_flags as usize & !(libc::O_ASYNC as usize),
            )?;
        }
        syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(
            area,
            errno,
            "descriptor {fd} cannot be made again: {}",
            syscalls::error_text(errno)
        )
    })
}

/// A file without a name that the program has open more than once.
fn open_again(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let mut name = [0; 64];
        let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC | libc::O_TMPFILE;
        let flags = entry.open_flags as i32 & !drop;
        let opened = syscalls::open(numbered("fd", entry.other as u32, &mut name), flags)?;
        if opened != fd {
            // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
            let moved = unsafe { syscalls::call!(libc::SYS_dup3, opened, fd, 0) };
            syscalls::close(opened);
            moved?;
        }
        syscalls::seek(fd, entry.offset, libc::SEEK_SET)?;
        syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(
            area,
            errno,
            "descriptor {fd} cannot be opened again: {}",
            syscalls::error_text(errno)
        )
    })
}

fn make_eventfd(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let result = (|| {
        let semaphore = if entry.size != 0 { libc::EFD_SEMAPHORE } else { 0 };
        let flags = semaphore | libc::EFD_NONBLOCK;
        // SAFETY: no memory involved.
        let made = unsafe { syscalls::call!(libc::SYS_eventfd2, 0, flags) }? as i32;
        if made != fd {
            // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
            let moved = unsafe { syscalls::call!(libc::SYS_dup3, made, fd, 0) };
            syscalls::close(made);
            moved?;
        }
        if entry.offset > 0 {
            syscalls::write_all(fd, &entry.offset.to_ne_bytes())?;
        }
        syscalls::fcntl(fd, libc::F_SETFL, entry.open_flags as usize)?;
        syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
    })();
    result.map(|_| ()).map_err(|errno| {
        refuse!(
            area,
            errno,
            "descriptor {fd} cannot be made again: {}",
            syscalls::error_text(errno)
        )
    })
}

fn copy(area: &ReservedArea, entry: &Descriptor, from: i32) -> Result<(), Refused> {
    let fd = entry.fd;
    let close_on_exec = entry.fd_flags as i32 & libc::FD_CLOEXEC != 0;
    let flags = if close_on_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
    match unsafe { syscalls::call!(libc::SYS_dup3, from, fd, flags) } {
        Ok(_) | Err(libc::EBADF) => Ok(()),
        Err(errno) => Err(refuse!(
            area,
            errno,
            "descriptor {fd} cannot be made again: {}",
            syscalls::error_text(errno)
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

fn reopen(
    area: &ReservedArea,
    entry: &Descriptor,
    strings: &Strings,
    life: &Life,
) -> Result<(), Refused> {
    let fd = entry.fd;
    let path = strings.c_str(entry.path);
    let shown = Shown(path.to_bytes());
    let failed = |errno| {
        refuse!(
            area,
            errno,
            "{shown}, which was open as descriptor {fd}, cannot be opened again: {}",
            syscalls::error_text(errno)
        )
    };
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC;
    let flags = entry.open_flags as i32 & !drop | libc::O_NOCTTY;
    let opened = syscalls::open(path, flags).map_err(failed)?;
    if opened != fd {
        // SAFETY: no memory involved; whatever `fd` was is meant to be replaced.
        let copied = unsafe { syscalls::call!(libc::SYS_dup3, opened, fd, 0) };
        syscalls::close(opened);
        copied.map_err(failed)?;
    }
    let stat = syscalls::fstat(fd).map_err(failed)?;
    if (stat.st_mode ^ entry.mode) & libc::S_IFMT != 0 {
        return Err(refuse!(area, libc::EINVAL, "{shown} is now another kind of file"));
    }
    let say = |what: &str| {
        let mut line = Line::new();
        line.set(format_args!("ftmpi: rank {}: {shown} {what}\n", life.rank));
        syscalls::say(life.error, line.bytes());
    };
    let regular =
        stat.st_mode & libc::S_IFMT == libc::S_IFREG && !is_of_the_system(path.to_bytes());
    // Devices and numbers are compared on one boot of one host: elsewhere the same file may have others.
    let mut another = false;
    if regular && life.same_boot && stat.st_dev == entry.device && stat.st_ino != entry.inode {
        let reads_only = entry.open_flags as i32 & libc::O_ACCMODE == libc::O_RDONLY;
        another = true;
        if !reads_only {
            say(
                "is another file than the one that this rank had open when its image was taken (renamed, or \
                 replaced?): it goes on with this one",
            );
        } else if (stat.st_size as u64, modified(&stat)) != (entry.size, entry.modified) {
            return Err(refuse!(
                area,
                libc::ESTALE,
                "{shown}, which was open as descriptor {fd}, is not the file that it was when the image was \
                 taken: it was replaced since"
            ));
        }
    }
    if entry.how == how::REOPEN_CUT && stat.st_size as u64 > entry.size && !another {
        if !is_soon_exclusive(fd) {
            say(
                "has grown since the image, and others have it open: it is not cut to what it was, and may have \
                 twice what the rank added since",
            );
        } else if !leases_hold_everywhere(fd) {
            say(
                "has grown since the image, and its file system does not tell whether other hosts write to it: it is \
                 not cut to what it was, and may have twice what the rank added since",
            );
        } else if life.died != 0 && modified(&stat) > life.died {
            say(
                "was written to by others after this rank had died: it is not cut to what it was at the image, \
                 and may have twice what the rank added since",
            );
        } else {
            // SAFETY: no memory involved.
            unsafe { syscalls::call!(libc::SYS_ftruncate, fd, entry.size) }.map_err(failed)?;
        }
    }
    if matches!(entry.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        syscalls::seek(fd, entry.offset, libc::SEEK_SET).map_err(failed)?;
    }
    syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize).map_err(failed)?;
    Ok(())
}
