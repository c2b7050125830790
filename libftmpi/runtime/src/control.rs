//! The control socket: datagrams to and from the agent, with passed descriptors.
//!
//! The agent's death shows as the end of the socket. A rank without its agent cannot be reached or
//! restarted, so it ends at once; the dispatcher restarts it with its host.

use crate::ending::{fall, fatal};
use ftmpi_wire::control::{self, FromRank, ToRank, fds};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Descriptors that may come with one message.
const PASSED_MAX: usize = 4;

/// The rank's end of the control socket.
#[derive(Debug)]
pub struct Control {
    fd: i32,
    buffer: Vec<u8>,
    /// The agent has sent a message that this version understands.
    understood: bool,
}

#[repr(C, align(8))]
struct Ancillary([u8; 64]);

impl Control {
    /// Over the descriptor that the agent left open.
    #[must_use]
    pub fn inherited() -> Self {
        Self { fd: fds::CONTROL, buffer: vec![0; control::DATAGRAM_BYTES_MAX], understood: false }
    }

    /// To sleep on.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.fd
    }

    /// Sends a message, with a descriptor if there is one to go along.
    pub fn send(&mut self, message: &FromRank, passed: Option<i32>) {
        let bytes = control::encode(message);
        let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut ancillary = Ancillary([0; 64]);
        // SAFETY: all-zero is a valid `msghdr`.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = (&raw const part).cast_mut();
        header.msg_iovlen = 1;
        if let Some(fd) = passed {
            header.msg_control = ancillary.0.as_mut_ptr().cast();
            // SAFETY: the buffer holds one control message of one descriptor (24 of 64 bytes), and
            // `msg_controllen` says so before `CMSG_FIRSTHDR` looks.
            unsafe {
                header.msg_controllen = libc::CMSG_SPACE(4) as usize;
                let first = libc::CMSG_FIRSTHDR(&header);
                (*first).cmsg_level = libc::SOL_SOCKET;
                (*first).cmsg_type = libc::SCM_RIGHTS;
                (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
                libc::CMSG_DATA(first).cast::<i32>().write_unaligned(fd);
            }
        }
        loop {
            // SAFETY: everything that the header points to lives over the call.
            let sent = unsafe { libc::sendmsg(self.fd, &header, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return;
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN | libc::ENOBUFS) => {}
                _ => agent_is_gone(),
            }
        }
    }

    /// Takes a message; `None` if there is none and `wait` is not set.
    pub fn receive(&mut self, wait: bool) -> Option<(ToRank, Vec<i32>)> {
        loop {
            let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
            let mut came = Came::default();
            let count = match take(self.fd, &mut self.buffer, &mut came, flags) {
                Ok(0) => agent_is_gone(),
                Ok(count) => count,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => return None,
                    _ => agent_is_gone(),
                },
            };
            let passed: Vec<_> = came.fds().iter().map(|&fd| own(fd)).collect();
            match control::decode(&self.buffer[..count]) {
                Ok(message) => {
                    self.understood = true;
                    return Some((message, passed));
                }
                // A message of another version is ignored; but everything depends on the first
                // message.
                Err(_) if self.understood => passed.into_iter().for_each(close),
                Err(error) => fatal(
                    "ftmpiexec sent a message that this libmpi does not understand; install the same version \
                     of both",
                    &error,
                ),
            }
        }
    }
}

/// Asks the agent something and waits for its answer, without allocating: for moments at which
/// other threads stand still wherever they are. Nothing else may be on its way. Gives the length of
/// the answer, and the descriptor that came along.
pub fn ask(request: &[u8], answer: &mut [u8]) -> (usize, Option<i32>) {
    // SAFETY: the request lives over the call.
    let sent = || unsafe {
        libc::send(fds::CONTROL, request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL)
    };
    while sent() < 0 {
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN | libc::ENOBUFS) => {}
            _ => agent_is_gone(),
        }
    }
    loop {
        let mut came = Came::default();
        match take(fds::CONTROL, answer, &mut came, 0) {
            // At most one descriptor comes with an answer.
            Ok(count) if count > 0 => return (count, came.fds().first().map(|&fd| own(fd))),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            _ => agent_is_gone(),
        }
    }
}

/// Waits for a message with at most one descriptor.
///
/// # Errors
/// The socket broke, or its time limit is over.
pub(crate) fn receive_one(fd: i32, buffer: &mut [u8]) -> io::Result<(usize, Option<i32>)> {
    loop {
        let mut came = Came::default();
        match take(fd, buffer, &mut came, 0) {
            Ok(count) => return Ok((count, came.fds().first().map(|&fd| own(fd)))),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Descriptors that came with a message, wherever the kernel has put them.
#[derive(Debug, Default)]
struct Came {
    fds: [i32; PASSED_MAX],
    count: usize,
}

impl Came {
    fn fds(&self) -> &[i32] {
        &self.fds[..self.count]
    }
}

/// Takes a message with all its descriptors. The first look leaves the message where it is, and
/// gives copies of the descriptors. The kernel may have no room for one, because the program is at
/// its limit. The descriptor would then be lost, and with it a channel that nobody sends again.
/// Allocates nothing.
fn take(fd: i32, buffer: &mut [u8], came: &mut Came, flags: i32) -> io::Result<usize> {
    let mut look = |came: &mut Came, flags| {
        let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut ancillary = Ancillary([0; 64]);
        // SAFETY: all-zero is a valid `msghdr`.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = (&raw const part).cast_mut();
        header.msg_iovlen = 1;
        header.msg_control = ancillary.0.as_mut_ptr().cast();
        header.msg_controllen = ancillary.0.len();
        let flags = flags | libc::MSG_PEEK | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: everything that the header points to lives over the call.
        let count = unsafe { libc::recvmsg(fd, &mut header, flags) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        *came = passed_descriptors(&header);
        Ok((count as usize, header.msg_flags & libc::MSG_CTRUNC != 0))
    };
    let (mut count, mut lost) = look(came, flags)?;
    if lost {
        let again = with_all_descriptors(|| {
            came.fds().iter().for_each(|&fd| close(fd));
            look(came, libc::MSG_DONTWAIT)
        });
        (count, lost) = again.unwrap_or(Ok((count, true)))?;
    }
    if lost {
        let why = "it has as many files open as it may have at the most (ulimit -Hn)";
        fall("a connection that the agent has made for this process cannot be taken", &why);
    }
    let mut byte = 0u8;
    // SAFETY: one byte is written at the most; the rest of the message goes with it.
    unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    Ok(count)
}

/// The descriptors that came along.
fn passed_descriptors(header: &libc::msghdr) -> Came {
    let mut passed = Came::default();
    // SAFETY: the kernel filled the control buffer; the macros walk it within `msg_controllen`, and
    // a descriptor is read only where `cmsg_len` says that it is.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            if (*message).cmsg_level == libc::SOL_SOCKET && (*message).cmsg_type == libc::SCM_RIGHTS
            {
                let bytes = (*message).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(message).cast::<i32>();
                for i in 0..(bytes / 4).min(PASSED_MAX - passed.count) {
                    passed.fds[passed.count] = data.add(i).read_unaligned();
                    passed.count += 1;
                }
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    passed
}

/// The descriptors that are the library's, whatever their numbers. An image contains none of them,
/// so they must be known. Bits, because they are set where nothing can be allocated. A number
/// beyond them counts as the program's; then the program has too many for an image anyhow.
static OWN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// The word and the bit of a descriptor.
fn place(fd: i32) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok()?;
    Some((OWN.get(fd / 64)?, 1 << (fd % 64)))
}

/// Makes a descriptor the library's, and moves it out of the program's way. If the program has
/// lowered its hard limit on descriptors, the number stays.
#[must_use]
pub fn own(fd: i32) -> i32 {
    // SAFETY: a plain system call on a descriptor of ours.
    let move_up = || unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, fds::FIRST_OWN) };
    let mut high = move_up();
    if high < 0 {
        high = with_all_descriptors(move_up).unwrap_or(-1);
    }
    if high < 0 {
        note(fd);
        return fd;
    }
    close(fd);
    note(high);
    high
}

fn note(fd: i32) {
    if let Some((word, bit)) = place(fd) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// The descriptors of the incarnation's begin, and those that [`own`] gave and nobody has closed,
/// in ascending order.
pub fn all_own() -> Vec<i32> {
    let mut all = Vec::new();
    for (index, word) in OWN.iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != 0 {
            all.push(index as i32 * 64 + bits.trailing_zeros() as i32);
            bits &= bits - 1;
        }
    }
    all
}

/// An incarnation begins, from an image or without: the library has only the descriptors that the
/// agent opened for it.
pub fn begin_own() {
    OWN.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    note(fds::CONTROL);
    note(fds::STATUS);
}

/// All of them, a bit each: see [`ftmpi_checkpoint::boot_abi::BootTable::keep_open`].
pub fn own_bits() -> &'static [AtomicU64] {
    &OWN
}

/// Does something for which the program may have left no descriptors: its own limit on their number
/// may be below the library's. Up to the hard limit everybody may have them.
fn with_all_descriptors<T>(act: impl FnOnce() -> T) -> Option<T> {
    let mut own = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writing.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut own) } != 0 {
        return None;
    }
    let all = libc::rlimit { rlim_cur: own.rlim_max, ..own };
    // SAFETY: valid for reading.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all) } != 0 {
        return None;
    }
    let result = act();
    let mut meanwhile = all;
    // SAFETY: one valid for reading, one for writing; 0 is this process.
    unsafe { libc::prlimit(0, libc::RLIMIT_NOFILE, &raw const own, &raw mut meanwhile) };
    if (meanwhile.rlim_cur, meanwhile.rlim_max) != (all.rlim_cur, all.rlim_max) {
        // Another thread has just set its own.
        // SAFETY: valid for reading.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const meanwhile) };
    }
    Some(result)
}

/// Closes a descriptor of the library.
pub fn close(fd: i32) {
    // (Before somebody else has that number.)
    if let Some((word, bit)) = place(fd) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
    // SAFETY: a plain system call on a descriptor that the caller owns.
    unsafe { libc::close(fd) };
}

fn agent_is_gone() -> ! {
    // SAFETY: ends the process; nothing is left to do.
    unsafe { libc::_exit(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// In a process of its own: the limit is that of all threads.
    #[test]
    fn a_descriptor_for_which_there_is_no_room_is_not_lost() {
        const ALONE: &str = "FTMPI_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let name = "control::tests::a_descriptor_for_which_there_is_no_room_is_not_lost";
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let status = alone.args(["--exact", name]).env(ALONE, "1").status();
            assert!(status.unwrap().success());
            return;
        }
        let mut pair = [0; 2];
        // SAFETY: two descriptors are written.
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, pair.as_mut_ptr()) };
        let mut sender = Control { fd: pair[0], ..Control::inherited() };
        sender.send(&FromRank::OpenEventLog, Some(0));
        sender.send(&FromRank::Settled, None);
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: plain system calls; the structure is valid for reading and writing.
        unsafe {
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
            limit.rlim_cur = libc::dup(0) as u64 + 1;
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
            assert_eq!(libc::dup(0), -1, "there is no room");
        }
        let mut buffer = [0; 1024];
        let mut came = Came::default();
        let count = take(pair[1], &mut buffer, &mut came, libc::MSG_DONTWAIT).unwrap();
        assert_eq!(control::decode(&buffer[..count]), Ok(FromRank::OpenEventLog));
        let high = own(came.fds()[0]);
        assert!(high >= fds::FIRST_OWN && came.fds().len() == 1);
        close(high);
        // It was taken once.
        let count = take(pair[1], &mut buffer, &mut came, libc::MSG_DONTWAIT).unwrap();
        assert_eq!(control::decode(&buffer[..count]), Ok(FromRank::Settled));
        assert_eq!(came.fds(), []);
        let none = take(pair[1], &mut buffer, &mut came, libc::MSG_DONTWAIT).unwrap_err();
        assert_eq!(none.raw_os_error(), Some(libc::EAGAIN));
    }

    #[test]
    fn the_library_knows_its_descriptors() {
        // SAFETY: a plain system call.
        let fd = own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) });
        assert!(fd >= fds::FIRST_OWN && all_own().contains(&fd));
        close(fd);
        // Numbers that no other test gets meanwhile.
        let high = || all_own().into_iter().filter(|fd| *fd >= 40_000).collect::<Vec<_>>();
        [40_064, 40_000, i32::MAX, -1].into_iter().for_each(note);
        assert_eq!(high(), [40_000, 40_064]);
        close(40_000);
        assert_eq!(high(), [40_064]);
        close(40_064);
        assert_eq!(high(), []);
    }
}
