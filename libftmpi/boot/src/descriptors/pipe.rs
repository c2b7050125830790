//! Pipes whose both ends are the program's, or whose other end nobody has: made again with what was
//! in them.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::library_descriptors::move_up;
use crate::memory::copies::Copies;
use ftmpi_checkpoint::stream::{Descriptor, content_at, descriptor as how};

pub fn is_pipe(it: &Candidate<'_>) -> bool {
    it.path().starts_with(b"pipe:[")
}

/// Fills the entry of one end.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    it.entry.path = it.path;
    let capacity = syscalls::fcntl(fd, libc::F_GETPIPE_SZ, 0).map_err(|errno| it.fail(errno))?;
    it.entry.size = capacity as u64;
    it.entry.how = match it.entry.open_flags as i32 & libc::O_ACCMODE {
        libc::O_RDONLY => how::PIPE,
        libc::O_WRONLY => how::PIPE_END,
        _ => return Err(it.refuse("a pipe for both directions")),
    };
    if fd <= 2 {
        return Err(it.refuse("a pipe in place of a standard stream"));
    }
    if it.entry.open_flags as i32 & libc::O_DIRECT != 0 {
        return Err(it.refuse("a pipe of packets"));
    }
    Ok(())
}

/// Finds the other end of each pipe. Refuses an image if the program does not have both ends, once
/// each.
pub fn pair(
    area: &ReservedArea,
    strings: &Strings,
    table: &mut [Descriptor],
) -> Result<(), Refused> {
    for at in 0..table.len() {
        let entry = table[at];
        if !is_end(&entry) {
            continue;
        }
        let mut others = table.iter().filter(|other| {
            (other.device, other.inode) == (entry.device, entry.inode)
                && other.fd != entry.fd
                && is_end(other)
        });
        let (fd, path) = (entry.fd, Shown(strings.get(entry.path)));
        match (others.next(), others.next()) {
            (Some(other), None) if other.how != entry.how => table[at].other = other.fd,
            (None, _) if is_alone(&entry) => table[at].other = -1,
            (None, _) => return Err(area.refuse(Refusal::PipeToOthers { fd, path })),
            _ => return Err(area.refuse(Refusal::PipeOpenedTwice { fd, path })),
        }
    }
    Ok(())
}

/// Whether nobody has the other end open.
fn is_alone(entry: &Descriptor) -> bool {
    let end = if entry.how == how::PIPE { libc::POLLHUP } else { libc::POLLERR };
    let mut asked = libc::pollfd { fd: entry.fd, events: 0, revents: 0 };
    // SAFETY: one valid entry. The call does not wait.
    let answer = unsafe { syscalls::call!(libc::SYS_poll, &raw mut asked, 1, 0) };
    answer == Ok(1) && asked.revents & end != 0
}

fn is_end(entry: &Descriptor) -> bool {
    matches!(entry.how, how::PIPE | how::PIPE_END)
}

/// Copies what is in the pipe, and leaves it there. `index`: the entry's place in the table.
pub fn copy(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
) -> Result<(), Errno> {
    const FIONREAD: usize = 0x541b;
    let mut unread = 0i32;
    // SAFETY: writes one number.
    unsafe { syscalls::call!(libc::SYS_ioctl, entry.fd, FIONREAD, &raw mut unread) }?;
    if unread <= 0 {
        return Ok(());
    }
    // `tee` copies into another pipe and leaves the bytes in this one.
    let pair = new_pipe()?;
    let result = (|| {
        syscalls::fcntl(pair[1], libc::F_SETPIPE_SZ, entry.size as usize)?;
        let len = unread as usize;
        const SPLICE_F_NONBLOCK: usize = 2;
        // SAFETY: no memory involved.
        let got =
            unsafe { syscalls::call!(libc::SYS_tee, entry.fd, pair[1], len, SPLICE_F_NONBLOCK) }?;
        if got != len {
            return Err(libc::EIO);
        }
        let into = copies.piece(area, content_at(index, 0), len)?;
        if syscalls::read_full(pair[0], into)? != len { Err(libc::EIO) } else { Ok(()) }
    })();
    pair.into_iter().for_each(syscalls::close);
    result
}

fn new_pipe() -> Result<[i32; 2], Errno> {
    let mut pair = [0i32; 2];
    // SAFETY: writes two numbers.
    unsafe { syscalls::call!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC) }?;
    Ok(pair)
}

/// Makes both ends, before the memory of the new process is replaced. If nobody had the other end,
/// `inode` is its number until [`fill`] is over ([`close_other`]).
pub fn create(entry: &mut Descriptor) -> Result<(), Errno> {
    if entry.how == how::PIPE_END && entry.other >= 0 {
        // Made with the other end.
        return Ok(());
    }
    let mut pair = new_pipe()?;
    syscalls::fcntl(pair[1], libc::F_SETPIPE_SZ, entry.size as usize)?;
    if entry.how == how::PIPE_END {
        pair.reverse();
    }
    let pair = [move_up(pair[0])?, move_up(pair[1])?];
    syscalls::move_descriptor(pair[0], entry.fd, libc::O_CLOEXEC)?;
    if entry.other < 0 {
        entry.inode = pair[1] as u64;
        return Ok(());
    }
    syscalls::move_descriptor(pair[1], entry.other, libc::O_CLOEXEC)
}

/// Closes the other end, if nobody had it at the image.
pub fn close_other(entry: &Descriptor) {
    if entry.other < 0 {
        syscalls::close(entry.inode as i32);
    }
}

/// Writes the next `len` bytes of the image's stream into the pipe.
pub fn fill(area: &ReservedArea, entry: &Descriptor, image: i32, len: u64) -> Result<(), Errno> {
    if len > entry.size {
        return Err(libc::EBADMSG);
    }
    let into = if entry.other < 0 { entry.inode as i32 } else { entry.other };
    syscalls::copy_exactly(image, len, area.content(), |bytes| syscalls::write_all(into, bytes))
}

/// Sets the flags of one end, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let flags = entry.open_flags as usize & !(libc::O_ASYNC as usize);
    syscalls::fcntl(fd, libc::F_SETFL, flags)
        .and_then(|_| syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize))
        .map(|_| ())
        .map_err(|errno| area.refuse(Refusal::NotMade { fd, path: Shown(b"pipe"), errno }))
}
