//! Pairs of connected Unix sockets (`socketpair`) whose ends are both the program's, or whose other
//! end is closed: made again with what was in them.
//!
//! Guarantees: kind, contents, flags, sizes of buffers, time limits and what was shut down are as
//! they were. A socket whose other end another process has, or that carries descriptors, makes an
//! image impossible.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::set_flags;
use crate::descriptors::library_descriptors::move_up;
use crate::descriptors::socket_calls::{diagnose, look, option, set_option, waiting};
use crate::memory::copies::Copies;
use ftmpi_checkpoint::stream::{Descriptor, content_at, descriptor as how, limit};

/// Bytes before each message: its length.
const PREFIX: usize = 4;
const PASSES_CREDENTIALS: u64 = 1 << 40;

fn kind_of(entry: &Descriptor) -> i32 {
    entry.state[0] as u32 as i32
}

fn is_stream(entry: &Descriptor) -> bool {
    kind_of(entry) == libc::SOCK_STREAM
}

/// Fills the entry of one end; `kind`: `SOCK_*`. Until [`pair`] has seen all ends, `modified` holds
/// the inode of the other one.
pub fn examine(it: &mut Candidate<'_>, kind: i32) -> Result<(), Refused> {
    let fd = it.entry.fd;
    let Ok(told) = diagnose(it.entry.inode) else {
        return Err(it.refuse("a connected socket whose other end the kernel does not tell"));
    };
    it.entry.how = how::PAIR;
    it.entry.other = -1;
    it.entry.modified = u64::from(told.peer);
    let number = |name| option::<i32>(fd, libc::SOL_SOCKET, name).unwrap_or(0);
    let time = |name| {
        let [seconds, micros] = option::<[i64; 2]>(fd, libc::SOL_SOCKET, name).unwrap_or([0; 2]);
        seconds.wrapping_mul(1_000_000).wrapping_add(micros) as u64
    };
    let credentials = if number(libc::SO_PASSCRED) != 0 { PASSES_CREDENTIALS } else { 0 };
    let buffers = [libc::SO_SNDBUF, libc::SO_RCVBUF].map(|name| u64::from(number(name) as u32));
    it.entry.state = [
        kind as u64 | u64::from(told.shut & 3) << 32 | credentials,
        buffers[0] | buffers[1] << 32,
        time(libc::SO_RCVTIMEO),
        time(libc::SO_SNDTIMEO),
    ];
    it.entry.size = 0;
    if it.still {
        let size = size_of_contents(it.area, &it.entry).map_err(|errno| match errno {
            libc::EOPNOTSUPP => it.refuse("a socket that carries descriptors or empty messages"),
            errno => it.fail(errno),
        })?;
        if size > limit::CONTENT_BYTES {
            return Err(it.refuse("a socket with too many bytes in it"));
        }
        it.entry.size = size;
    }
    Ok(())
}

/// Finds the other end of each pair. Refuses an image if another process has it.
pub fn pair(
    area: &ReservedArea,
    strings: &Strings,
    table: &mut [Descriptor],
) -> Result<(), Refused> {
    for at in 0..table.len() {
        let entry = table[at];
        if entry.how != how::PAIR || entry.modified == 0 {
            continue;
        }
        let other = table.iter().find(|other| {
            other.how == how::PAIR && other.inode == entry.modified && other.modified == entry.inode
        });
        match other {
            Some(other) => table[at].other = other.fd,
            None => {
                let (fd, path) = (entry.fd, Shown(strings.get(entry.path)));
                let what = "a socket that is connected to another process";
                return Err(area.refuse(Refusal::DescriptorUnsupported { fd, what, path }));
            }
        }
    }
    Ok(())
}

/// Calls `found` with each message that waits.
fn each_message(
    entry: &Descriptor,
    into: &mut [u8],
    mut found: impl FnMut(&[u8]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let fd = entry.fd;
    let ends = entry.modified == 0 || entry.state[0] >> 32 & 1 != 0;
    // From message to message: a look begins behind the bytes that were seen before.
    let before: i32 = option(fd, libc::SOL_SOCKET, libc::SO_PEEK_OFF)?;
    set_option(fd, libc::SOL_SOCKET, libc::SO_PEEK_OFF, &0i32)?;
    let result = loop {
        match look(fd, into) {
            Ok((_, flags)) if flags & libc::MSG_CTRUNC != 0 => break Err(libc::EOPNOTSUPP),
            Err(libc::EAGAIN) => break Ok(()),
            Ok((0, _)) if ends => break Ok(()),
            // Another look would see it again.
            Ok((0, _)) => break Err(libc::EOPNOTSUPP),
            Ok((len, _)) => {
                if let Err(errno) = into.get(..len).ok_or(libc::EMSGSIZE).and_then(&mut found) {
                    break Err(errno);
                }
            }
            Err(libc::EINTR) => {}
            Err(errno) => break Err(errno),
        }
    };
    set_option(fd, libc::SOL_SOCKET, libc::SO_PEEK_OFF, &before)?;
    result
}

fn size_of_contents(area: &ReservedArea, entry: &Descriptor) -> Result<u64, Errno> {
    if is_stream(entry) {
        if waiting(entry.fd) > 0 && look(entry.fd, &mut [0; 1])?.1 & libc::MSG_CTRUNC != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        return Ok(waiting(entry.fd) as u64);
    }
    let mut size = 0;
    each_message(entry, area.content(), |message| {
        size += (PREFIX + message.len()) as u64;
        Ok(())
    })?;
    Ok(size)
}

/// Copies what waits, and leaves it there. `index`: the entry's place in the table.
pub fn copy(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
) -> Result<(), Errno> {
    if entry.size == 0 {
        return Ok(());
    }
    let into = copies.piece(area, content_at(index, 0), entry.size as usize)?;
    if is_stream(entry) {
        let (len, flags) = look(entry.fd, into)?;
        // A look stops at bytes that carry descriptors.
        let whole = len as u64 == entry.size && flags & libc::MSG_CTRUNC == 0;
        return if whole { Ok(()) } else { Err(libc::EOPNOTSUPP) };
    }
    let mut at = 0;
    each_message(entry, area.content(), |message| {
        let room = into.get_mut(at..at + PREFIX + message.len()).ok_or(libc::EIO)?;
        room[..PREFIX].copy_from_slice(&(message.len() as u32).to_ne_bytes());
        room[PREFIX..].copy_from_slice(message);
        at += room.len();
        Ok(())
    })
}

/// Makes both ends, before the memory of the new process is replaced. If the other end is closed,
/// `inode` is its number until [`fill`] is over ([`close_other`]).
pub fn create(entry: &mut Descriptor) -> Result<(), Errno> {
    if (0..entry.fd).contains(&entry.other) {
        // Made with the other end.
        return Ok(());
    }
    let mut pair = [0i32; 2];
    let kind = kind_of(entry) | libc::SOCK_CLOEXEC;
    // SAFETY: writes two numbers.
    unsafe { syscalls::call!(libc::SYS_socketpair, libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) }?;
    let pair = [move_up(pair[0])?, move_up(pair[1])?];
    syscalls::move_descriptor(pair[0], entry.fd, libc::O_CLOEXEC)?;
    if entry.other < 0 {
        entry.inode = pair[1] as u64;
        return Ok(());
    }
    syscalls::move_descriptor(pair[1], entry.other, libc::O_CLOEXEC)
}

/// Sends the next `len` bytes of the image's stream to this end.
pub fn fill(area: &ReservedArea, entry: &Descriptor, image: i32, len: u64) -> Result<(), Errno> {
    let from = if entry.other < 0 { entry.inode as i32 } else { entry.other };
    // As much as this process may have; `restore` sets the size that it had.
    let _ = set_option(from, libc::SOL_SOCKET, libc::SO_SNDBUF, &(1i32 << 28));
    let buffer = area.content();
    if is_stream(entry) {
        return syscalls::copy_exactly(image, len, buffer, |mut bytes| {
            while !bytes.is_empty() {
                bytes = &bytes[send(from, bytes)?..];
            }
            Ok(())
        });
    }
    let mut left = len;
    while left > 0 {
        let mut prefix = [0; PREFIX];
        if syscalls::read_full(image, &mut prefix)? != PREFIX {
            return Err(libc::EBADMSG);
        }
        let message = u32::from_ne_bytes(prefix) as usize;
        left = left.checked_sub((PREFIX + message) as u64).ok_or(libc::EBADMSG)?;
        let bytes = buffer.get_mut(..message).ok_or(libc::EBADMSG)?;
        if syscalls::read_full(image, bytes)? != message {
            return Err(libc::EBADMSG);
        }
        send(from, bytes)?;
    }
    Ok(())
}

fn send(fd: i32, bytes: &[u8]) -> Result<usize, Errno> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: valid for reading.
    unsafe { syscalls::call!(libc::SYS_sendto, fd, at, len, flags, 0, 0) }
}

/// Closes the other end, if it was closed at the image.
pub fn close_other(entry: &Descriptor) {
    if entry.other < 0 {
        syscalls::close(entry.inode as i32);
    }
}

/// Sets options and flags of one end, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    let [kind, buffers, receive, send] = entry.state;
    let set = |name, value: i32| {
        // A host that allows less gives less.
        let _ = set_option(fd, libc::SOL_SOCKET, name, &value);
    };
    // The kernel doubles what it is told.
    set(libc::SO_SNDBUF, (buffers as u32 / 2) as i32);
    set(libc::SO_RCVBUF, ((buffers >> 32) as u32 / 2) as i32);
    set(libc::SO_PASSCRED, i32::from(kind & PASSES_CREDENTIALS != 0));
    for (name, time) in [(libc::SO_RCVTIMEO, receive), (libc::SO_SNDTIMEO, send)] {
        let time = [time / 1_000_000, time % 1_000_000];
        let _ = set_option(fd, libc::SOL_SOCKET, name, &time);
    }
    let shut = (kind >> 32) as u8 & 3;
    if shut != 0 && entry.other >= 0 {
        // `SHUT_RD`, `SHUT_WR`, `SHUT_RDWR`
        // SAFETY: no memory involved.
        let _ = unsafe { syscalls::call!(libc::SYS_shutdown, fd, shut - 1) };
    }
    set_flags(entry).map_err(|errno| {
        let path = Shown(b"a pair of sockets");
        area.refuse(Refusal::NotMade { fd, path, errno })
    })
}
