//! System calls about sockets, and what the kernel tells about a Unix socket.

use crate::base::syscalls::{self, Errno};
use ftmpi_checkpoint::stream::ADDRESS_BYTES;

/// An option that is a plain structure of numbers.
pub fn option<T: Default>(fd: i32, level: i32, name: i32) -> Result<T, Errno> {
    let mut value = T::default();
    let mut len = size_of::<T>() as u32;
    // SAFETY: value and length are valid for writing, and any bytes are a value: callers ask for
    // numbers.
    unsafe {
        syscalls::call!(libc::SYS_getsockopt, fd, level, name, &raw mut value, &raw mut len)
    }?;
    Ok(value)
}

/// Sets an option.
pub fn set_option<T>(fd: i32, level: i32, name: i32, value: &T) -> Result<(), Errno> {
    let (at, len) = (core::ptr::from_ref(value), size_of::<T>());
    // SAFETY: the value lives over the call.
    unsafe { syscalls::call!(libc::SYS_setsockopt, fd, level, name, at, len) }.map(|_| ())
}

/// An address, and its length.
pub type Address = ([u8; ADDRESS_BYTES], u32);

/// Where a socket is bound (`SYS_getsockname`), or whom it is connected to (`SYS_getpeername`).
pub fn address(fd: i32, call: libc::c_long) -> Result<Address, Errno> {
    let mut bytes = [0u8; ADDRESS_BYTES];
    let mut len = ADDRESS_BYTES as u32;
    // SAFETY: both are valid for writing.
    unsafe { syscalls::call!(call, fd, bytes.as_mut_ptr(), &raw mut len) }?;
    Ok((bytes, len.min(ADDRESS_BYTES as u32)))
}

/// Bytes that wait to be read; of datagrams, those of the first.
pub fn waiting(fd: i32) -> usize {
    const FIONREAD: usize = 0x541b;
    let mut unread = 0i32;
    // SAFETY: writes one number.
    let _ = unsafe { syscalls::call!(libc::SYS_ioctl, fd, FIONREAD, &raw mut unread) };
    unread.max(0) as usize
}

/// Looks at what waits and leaves it there. Gives the length of the whole message (of a stream: the
/// bytes that came) and what the kernel says with it (`MSG_*`).
pub fn look(fd: i32, into: &mut [u8]) -> Result<(usize, i32), Errno> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: all zero is a valid value.
    let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: everything that the header points to lives over the call.
    let len = unsafe { syscalls::call!(libc::SYS_recvmsg, fd, &raw mut header, flags) }?;
    Ok((len, header.msg_flags))
}

/// A Unix socket, as the kernel tells it (`unix_diag`).
#[derive(Debug, Clone, Copy)]
pub struct Diagnosis {
    /// Inode of the other end; 0: nobody has it.
    pub peer: u32,
    /// Bit 0: receiving is shut down; bit 1: sending.
    pub shut: u8,
}

#[repr(C)]
struct Request {
    len: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    protocol: u8,
    pad: u16,
    states: u32,
    inode: u32,
    show: u32,
    cookie: [u32; 2],
}

/// Asks the kernel about a Unix socket. An error if this kernel or container does not tell.
pub fn diagnose(inode: u64) -> Result<Diagnosis, Errno> {
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const SHOW_PEER: u32 = 4;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    let protocol = libc::NETLINK_SOCK_DIAG;
    // SAFETY: no memory involved.
    let fd = unsafe { syscalls::call!(libc::SYS_socket, libc::AF_NETLINK, kind, protocol) }? as i32;
    let request = Request {
        len: size_of::<Request>() as u32,
        kind: SOCK_DIAG_BY_FAMILY,
        flags: NLM_F_REQUEST,
        sequence: 1,
        port: 0,
        family: libc::AF_UNIX as u8,
        protocol: 0,
        pad: 0,
        states: u32::MAX,
        inode: inode as u32,
        show: SHOW_PEER,
        cookie: [u32::MAX; 2],
    };
    let mut answer = [0u8; 512];
    let result = (|| {
        let len = size_of::<Request>();
        // SAFETY: the request lives over the call.
        unsafe { syscalls::call!(libc::SYS_sendto, fd, &raw const request, len, 0, 0, 0) }?;
        // The kernel has answered before the call above returns.
        let (at, room) = (answer.as_mut_ptr(), answer.len());
        // SAFETY: valid for writing.
        unsafe { syscalls::call!(libc::SYS_recvfrom, fd, at, room, libc::MSG_DONTWAIT, 0, 0) }
    })();
    syscalls::close(fd);
    read_answer(&answer[..result?.min(512)]).ok_or(libc::ENOSYS)
}

/// Header (16 bytes), the socket (16 bytes), attributes.
fn read_answer(answer: &[u8]) -> Option<Diagnosis> {
    const PEER: u16 = 2;
    const SHUTDOWN: u16 = 6;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    let short = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    if short(4)? != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let (mut found, mut at) = (Diagnosis { peer: 0, shut: 0 }, 32);
    while let (Some(len), Some(kind)) = (short(at), short(at + 2)) {
        let value = answer.get(at + 4..at + usize::from(len))?;
        match kind {
            PEER => found.peer = u32::from_ne_bytes(value.get(..4)?.try_into().ok()?),
            SHUTDOWN => found.shut = *value.first()?,
            _ => {}
        }
        at += usize::from(len).max(4).next_multiple_of(4);
    }
    Some(found)
}
