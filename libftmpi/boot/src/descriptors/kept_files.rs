//! Files that images rest on: the image child gives them to the agent, and a new process asks for
//! them.
//!
//! Guarantees: what goes to the agent is a descriptor with `O_PATH`, made anew. Such a descriptor
//! is no open file: it holds none of the program's locks, breaks no lease, and its close takes no
//! lock away. Nothing is allocated. A process without an agent, or whose agent does not answer,
//! goes on without.

use crate::base::procfs::numbered;
use crate::base::syscalls;
use crate::descriptors::library_descriptors::move_up;
use crate::tuning::KEPT_FILE_PATIENCE_MS;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};
use ftmpi_wire::ImageNo;
use ftmpi_wire::control::{self, FileKey, FromRank, ToRank, fds};

/// The control message that carries one descriptor.
#[repr(C)]
struct Passed {
    len: usize,
    level: i32,
    kind: i32,
    fd: i32,
    padding: i32,
}

const PASSED_LEN: usize = 20;

/// Bytes of a message about a file, at most.
const MESSAGE_BYTES: usize = 64;

/// What an entry of the image's table says about its file.
pub fn key_of(entry: &Descriptor) -> FileKey {
    FileKey { device: entry.device, inode: entry.inode, birth: entry.birth }
}

/// Gives the agent all files of the table that the image rests on; in the image child.
pub fn offer(table: &[Descriptor], image: u64) {
    let named = |entry: &&Descriptor| {
        let opened_again = [how::REOPEN, how::REOPEN_CUT, how::REOPEN_GUARDED, how::REOPEN_ALONE]
            .contains(&entry.how);
        opened_again && entry.mode & libc::S_IFMT == libc::S_IFREG
    };
    for entry in table.iter().filter(named) {
        let mut name = [0; 64];
        let path = numbered("fd", entry.fd as u32, &mut name);
        let Ok(fd) = syscalls::open(path, libc::O_PATH | libc::O_CLOEXEC) else { continue };
        let (image, file) = (ImageNo(image), key_of(entry));
        let message = FromRank::KeepFile { image, file, replay: false };
        let _ = send(&message, Some(fd));
        syscalls::close(fd);
    }
}

/// Gives the agent the file at a path, if the path leads to this one; in the image child.
pub fn offer_at(path: &CStr, file: FileKey, image: u64) {
    let Ok(fd) = syscalls::open(path, libc::O_PATH | libc::O_CLOEXEC) else { return };
    let is_it = syscalls::fstat(fd)
        .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (file.device, file.inode));
    if is_it {
        let message = FromRank::KeepFile { image: ImageNo(image), file, replay: false };
        let _ = send(&message, Some(fd));
    }
    syscalls::close(fd);
}

/// The file of an image, if the agent has kept it: a descriptor with `O_PATH`, at a number of the
/// library. The rank has not said hello, so nothing else comes from the agent.
pub fn ask(file: FileKey) -> Option<i32> {
    let file = file.digest();
    send(&FromRank::NeedFile { file }, None)?;
    let mut wanted = [0; MESSAGE_BYTES];
    let wanted = control::encode_into(&ToRank::KeptFile { file }, &mut wanted)?;
    loop {
        let mut entry = libc::pollfd { fd: fds::CONTROL, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        let ready =
            unsafe { syscalls::call!(libc::SYS_poll, &raw mut entry, 1, KEPT_FILE_PATIENCE_MS) };
        match ready {
            Err(libc::EINTR) => continue,
            Ok(1) => {}
            _ => return None,
        }
        let mut bytes = [0; MESSAGE_BYTES];
        let (len, fd) = receive(&mut bytes)?;
        if &bytes[..len] == wanted {
            return fd.and_then(|fd| move_up(fd).ok());
        }
        fd.into_iter().for_each(syscalls::close);
    }
}

/// Sends one message to the agent, with a descriptor if there is one.
fn send(message: &FromRank, fd: Option<i32>) -> Option<()> {
    let mut bytes = [0; MESSAGE_BYTES];
    let bytes = control::encode_into(message, &mut bytes)?;
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut passed = Passed {
        len: PASSED_LEN,
        level: libc::SOL_SOCKET,
        kind: libc::SCM_RIGHTS,
        fd: fd.unwrap_or(-1),
        padding: 0,
    };
    // SAFETY: all-zero is a valid header.
    let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if fd.is_some() {
        header.msg_control = (&raw mut passed).cast();
        header.msg_controllen = size_of::<Passed>();
    }
    loop {
        // SAFETY: everything that the header points to lives over the call.
        let sent = unsafe {
            syscalls::call!(libc::SYS_sendmsg, fds::CONTROL, &raw const header, libc::MSG_NOSIGNAL)
        };
        match sent {
            Ok(_) => return Some(()),
            Err(libc::EINTR) => {}
            // Descriptors on their way to other processes are too many just now.
            Err(libc::ETOOMANYREFS | libc::ENOBUFS) => syscalls::pause(crate::tuning::PAUSE_NS),
            Err(_) => return None,
        }
    }
}

/// The next message, as far as it fits, and the descriptor that came along.
fn receive(bytes: &mut [u8]) -> Option<(usize, Option<i32>)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut passed = Passed { len: 0, level: 0, kind: 0, fd: -1, padding: 0 };
    // SAFETY: all-zero is a valid header.
    let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut passed).cast();
    header.msg_controllen = size_of::<Passed>();
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: everything that the header points to lives over the call.
    let got = unsafe { syscalls::call!(libc::SYS_recvmsg, fds::CONTROL, &raw mut header, flags) };
    let len = match got {
        Ok(0) => return None,
        Ok(len) => len,
        Err(libc::EINTR | libc::EAGAIN) => return Some((0, None)),
        Err(_) => return None,
    };
    let has_one = header.msg_controllen >= PASSED_LEN
        && (passed.level, passed.kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
        && passed.len == PASSED_LEN;
    Some((len, has_one.then_some(passed.fd)))
}
