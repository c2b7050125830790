//! Looks at all descriptors of the program, and fills the image's tables of descriptors and locks.

use crate::base::procfs::{self, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::children::answer;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use crate::descriptors::{
    device, duplicate, epoll, eventfd, fd_owner, file_locks, inotify, library_descriptors,
    memfd_or_deleted, of_the_caller, pidfd, pipe, regular_file, signalfd, socket, socket_pair,
    standard_stream, timerfd, unsupported,
};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how, limit};
use ftmpi_wire::control::fds;

/// Fills the tables of descriptors, in ascending order, and of locks. Gives the number of
/// descriptors.
///
/// The descriptor of the image's stream is not the program's. The descriptors in `own` are the
/// library's; without that list, all from [`FIRST_LIBRARY`] on and those that the runtime has told.
/// `still`: all threads
/// stand still. Otherwise the call only finds out what makes an image impossible, and disturbs
/// nothing.
pub fn gather(
    area: &ReservedArea,
    strings: &mut Strings,
    (image_fd, own): (i32, Option<&[i32]>),
    still: bool,
) -> Result<u32, Refused> {
    let table = area.descriptors();
    area.process_state().locks = 0;
    let numbers = list(area, image_fd, own)?;
    // First of all: to open and close a file takes the program's locks on that file away.
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
        // The list contains the descriptor of the listing itself, which is closed by now.
        if syscalls::fcntl(fd, libc::F_GETFD, 0) == Err(libc::EBADF) {
            continue;
        }
        if fd >= FIRST_LIBRARY {
            return Err(among_library(area, strings, fd));
        }
        if let Some(other) = answer::told(fd) {
            if other >= 0 {
                table[count] = of_the_rank(area, fd, other)?;
                count += 1;
            }
            continue;
        }
        let mut entry = examine(area, strings, fd, &table[..count], still)?;
        fd_owner::gather(area, strings, &mut entry)?;
        if still {
            // Once it goes on, the program may open the same file again.
            regular_file::mark_own_log(&mut entry);
        }
        table[count] = entry;
        count += 1;
    }
    pipe::pair(area, strings, &mut table[..count])?;
    socket_pair::pair(area, strings, &mut table[..count])?;
    if still {
        inotify::gather(area, &table[..count])?;
        let mut watches = 0;
        epoll::gather(area, &table[..count], &mut watches)?;
        area.process_state().watches = watches as u32;
    }
    file_locks::keep(area, &table[..count], locks, still);
    Ok(count as u32)
}

/// Writes the numbers of the program's descriptors into the table. Gives how many.
fn list(area: &ReservedArea, image_fd: i32, own: Option<&[i32]>) -> Result<usize, Refused> {
    let table = area.descriptors();
    let mut numbers = 0usize;
    let mut too_many = false;
    procfs::each_number(c"/proc/self/fd", area.text(), |fd| {
        let fd = fd as i32;
        let is_library = match own {
            Some(own) => matches!(fd, fds::CONTROL | fds::STATUS) || own.binary_search(&fd).is_ok(),
            None => fd >= FIRST_LIBRARY || library_descriptors::is_library(fd),
        };
        if fd == image_fd || is_library {
            return;
        }
        match table.get_mut(numbers) {
            Some(entry) => *entry = Descriptor { fd, ..Descriptor::default() },
            None => too_many = true,
        }
        numbers += 1;
    })
    .map_err(|errno| area.unreadable("/proc/self/fd", errno))?;
    if too_many {
        let (what, most) = ("open files", limit::DESCRIPTORS);
        return Err(area.refuse(Refusal::TooMany { what, most, errno: libc::EMFILE }));
    }
    Ok(numbers)
}

/// A descriptor of the program has a number that the library may use in the next incarnation.
fn among_library(area: &ReservedArea, strings: &mut Strings, fd: i32) -> Refused {
    let mut name = [0u8; 64];
    let path = strings.link(numbered("fd", fd as u32, &mut name)).unwrap_or_default();
    let path = Shown(strings.get(path));
    area.refuse(Refusal::DescriptorAmongLibrary { fd, first: FIRST_LIBRARY, path })
}

/// The entry of a descriptor of a child that is the same open file as the rank's descriptor
/// `other`.
fn of_the_rank(area: &ReservedArea, fd: i32, other: i32) -> Result<Descriptor, Refused> {
    let failed = |errno| area.refuse(Refusal::DescriptorUnreadable { fd, errno });
    Ok(Descriptor {
        fd,
        how: how::OF_THE_RANK,
        other,
        fd_flags: syscalls::fcntl(fd, libc::F_GETFD, 0).map_err(failed)? as u32,
        mode: syscalls::fstat(fd).map_err(failed)?.st_mode,
        ..Descriptor::default()
    })
}

/// Finds out what a descriptor is. `earlier`: the entries of the descriptors with lower numbers.
fn examine(
    area: &ReservedArea,
    strings: &mut Strings,
    fd: i32,
    earlier: &[Descriptor],
    still: bool,
) -> Result<Descriptor, Refused> {
    let failed = |errno| area.refuse(Refusal::DescriptorUnreadable { fd, errno });
    let stat = syscalls::fstat(fd).map_err(failed)?;
    let mut entry = Descriptor {
        fd,
        mode: stat.st_mode,
        fd_flags: syscalls::fcntl(fd, libc::F_GETFD, 0).map_err(failed)? as u32,
        open_flags: syscalls::fcntl(fd, libc::F_GETFL, 0).map_err(failed)? as u32,
        size: stat.st_size as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        modified: syscalls::modified(&stat),
        ..Descriptor::default()
    };
    if stat.st_mode & libc::S_IFMT == libc::S_IFREG {
        entry.birth = syscalls::birth(fd);
    }
    if standard_stream::is_launchers(&mut entry, &stat)
        || duplicate::is_duplicate(&mut entry, &stat, earlier, still)
        || memfd_or_deleted::is_opened_again(&mut entry, earlier)
    {
        return Ok(entry);
    }
    let path = regular_file::path_of(strings, fd).map_err(failed)?;
    let mut it = Candidate { area, strings, stat, path, still, entry };
    if standard_stream::is_copy(&mut it) || of_the_caller::is_callers(&mut it) {
        return Ok(it.entry);
    }
    if it.entry.open_flags as i32 & libc::O_PATH != 0 {
        return Err(it.refuse("a place in the file system (O_PATH)"));
    }
    match it.file_type() {
        _ if eventfd::is_eventfd(&it) => eventfd::examine(&mut it)?,
        _ if epoll::is_epoll(&it) => it.entry.how = how::EPOLL,
        _ if inotify::is_inotify(&it) => inotify::examine(&mut it)?,
        _ if timerfd::is_timerfd(&it) => timerfd::examine(&mut it)?,
        _ if signalfd::is_signalfd(&it) => signalfd::examine(&mut it)?,
        _ if pidfd::is_pidfd(&it) => pidfd::examine(&mut it)?,
        libc::S_IFSOCK => socket::examine(&mut it)?,
        libc::S_IFREG if stat.st_nlink == 0 => memfd_or_deleted::examine(&mut it)?,
        libc::S_IFIFO if pipe::is_pipe(&it) => pipe::examine(&mut it)?,
        libc::S_IFREG | libc::S_IFDIR => regular_file::examine(&mut it)?,
        libc::S_IFCHR if device::is_harmless(it.path()) => device::examine(&mut it),
        _ => return Err(unsupported::refuse(&it)),
    }
    Ok(it.entry)
}
