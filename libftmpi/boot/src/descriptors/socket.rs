//! Sockets that are connected to nobody: made again, bound to the same address, listening again.
//!
//! Guarantees: kind, options, address and, for datagrams, the address that they go to are as they
//! were. Lost are connections that nobody had accepted yet, and datagrams of the network that
//! nobody had read. If the address is taken on the host of the restore, the image does not fit
//! there.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::set_flags;
use crate::descriptors::library_descriptors::move_up;
use crate::descriptors::socket_calls::{Address, address, option, set_option, waiting};
use crate::descriptors::socket_pair;
use crate::memory::copies::Copies;
use crate::tuning::{PAUSE_NS, PREDECESSOR_PATIENCE_NS};
use ftmpi_checkpoint::stream::{
    ADDRESS_BYTES, Descriptor, SOCKET_OPTIONS, SocketState, content_at, descriptor as how,
};

/// Bytes of the address of a Unix socket without a name.
const NAMELESS: u32 = 2;

/// Fills the entry of a socket.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    let fd = it.entry.fd;
    let number = |name| option::<i32>(fd, libc::SOL_SOCKET, name).map_err(|errno| it.fail(errno));
    let domain = number(libc::SO_DOMAIN)?;
    let kind = number(libc::SO_TYPE)?;
    let listens = number(libc::SO_ACCEPTCONN)? != 0;
    it.entry.path = it.path;
    if fd <= 2 {
        return Err(it.refuse("a socket in place of a standard stream"));
    }
    let peer = address(fd, libc::SYS_getpeername).ok();
    match domain {
        libc::AF_UNIX if listens => {}
        libc::AF_UNIX => {
            let named = |(_, len): Address| len > NAMELESS;
            let has_name = address(fd, libc::SYS_getsockname).is_ok_and(named);
            let to_name = peer.is_some_and(named);
            let datagrams = kind == libc::SOCK_DGRAM;
            if peer.is_some() && !has_name && !to_name {
                return socket_pair::examine(it, kind);
            }
            if peer.is_some() && !(datagrams && to_name) {
                return Err(it.refuse("a socket that is connected by a name"));
            }
            if datagrams && waiting(fd) > 0 {
                return Err(it.refuse("a socket with messages that nobody has read"));
            }
        }
        libc::AF_INET | libc::AF_INET6 if kind == libc::SOCK_STREAM => {
            const UNUSED: u8 = 7;
            const LISTENS: u8 = 10;
            let state = option::<u8>(fd, libc::IPPROTO_TCP, libc::TCP_INFO);
            if !matches!(state, Ok(UNUSED | LISTENS)) {
                return Err(it.refuse("a socket that is connected over the network"));
            }
        }
        libc::AF_INET | libc::AF_INET6 if kind == libc::SOCK_DGRAM => {}
        libc::AF_NETLINK => {}
        _ => return Err(it.refuse("a socket of a special kind")),
    }
    it.entry.how = how::SOCKET;
    it.entry.size = size_of::<SocketState>() as u64;
    Ok(())
}

/// Writes down the state of the socket. `index`: the entry's place in the table.
pub fn copy(
    area: &ReservedArea,
    index: usize,
    entry: &Descriptor,
    copies: &mut Copies,
) -> Result<(), Errno> {
    let fd = entry.fd;
    let mut state = SocketState::NONE;
    let number = |name| option::<i32>(fd, libc::SOL_SOCKET, name);
    state.kind = [number(libc::SO_DOMAIN)?, number(libc::SO_TYPE)?, number(libc::SO_PROTOCOL)?];
    state.listens = u32::from(number(libc::SO_ACCEPTCONN)? != 0);
    state.buffers = [number(libc::SO_SNDBUF)?, number(libc::SO_RCVBUF)?];
    for (n, (level, name)) in SOCKET_OPTIONS.into_iter().enumerate() {
        if let Ok(value) = option(fd, level, name) {
            state.known |= 1 << n;
            state.values[n] = value;
        }
    }
    state.timeouts = [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO]
        .map(|name| option(fd, libc::SOL_SOCKET, name).unwrap_or_default());
    state.linger = option(fd, libc::SOL_SOCKET, libc::SO_LINGER).unwrap_or_default();
    if let Ok((name, len)) = address(fd, libc::SYS_getsockname)
        && is_bound(state.kind[0], &name, len)
    {
        (state.name, state.lengths[0]) = (name, len);
    }
    if state.kind[1] == libc::SOCK_DGRAM
        && let Ok((peer, len)) = address(fd, libc::SYS_getpeername)
    {
        (state.peer, state.lengths[1]) = (peer, len);
    }
    let into = copies.piece(area, content_at(index, 0), size_of::<SocketState>())?;
    // SAFETY: a piece begins on a page, has this length, and is nobody else's.
    unsafe { into.as_mut_ptr().cast::<SocketState>().write(state) };
    Ok(())
}

/// Whether the address is one that the socket was bound to.
fn is_bound(domain: i32, name: &[u8], len: u32) -> bool {
    match domain {
        libc::AF_UNIX => len > NAMELESS,
        // The port; a netlink socket has its number in the second half.
        libc::AF_NETLINK => name[4..12] != [0; 8],
        _ => name[2..4] != [0; 2],
    }
}

/// Makes the socket, before the memory of the new process is replaced: its state is next in the
/// image's stream.
pub fn fill(entry: &Descriptor, image: i32) -> Result<(), Errno> {
    let mut state = SocketState::NONE;
    // SAFETY: plain numbers without padding; any bytes are a value.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut((&raw mut state).cast::<u8>(), size_of::<SocketState>())
    };
    if syscalls::read_full(image, bytes)? != bytes.len() {
        return Err(libc::EBADMSG);
    }
    if state.lengths.iter().any(|&len| len as usize > state.name.len()) {
        return Err(libc::EBADMSG);
    }
    let [domain, kind, protocol] = state.kind;
    let kind = kind | libc::SOCK_CLOEXEC;
    // SAFETY: no memory involved.
    let made = unsafe { syscalls::call!(libc::SYS_socket, domain, kind, protocol) }?;
    let fd = move_up(made as i32)?;
    set_options(fd, &state);
    bind(fd, &mut state)?;
    if state.listens != 0 {
        const MOST: i32 = 4096;
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_listen, fd, MOST) }?;
    }
    if state.lengths[1] > 0 {
        // Nobody may be there, as at any other moment.
        let _ = connect(fd, &state.peer, state.lengths[1]);
    }
    syscalls::move_descriptor(fd, entry.fd, libc::O_CLOEXEC)
}

/// Sets what this host allows.
fn set_options(fd: i32, state: &SocketState) {
    for (n, (level, name)) in SOCKET_OPTIONS.into_iter().enumerate() {
        if state.known & 1 << n != 0 && option::<i32>(fd, level, name) != Ok(state.values[n]) {
            let _ = set_option(fd, level, name, &state.values[n]);
        }
    }
    for (n, name) in [libc::SO_SNDBUF, libc::SO_RCVBUF].into_iter().enumerate() {
        // The kernel doubles what it is told. A buffer that the program has not sized grows.
        if option::<i32>(fd, libc::SOL_SOCKET, name) != Ok(state.buffers[n]) {
            let _ = set_option(fd, libc::SOL_SOCKET, name, &(state.buffers[n] / 2));
        }
    }
    for (n, name) in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO].into_iter().enumerate() {
        let _ = set_option(fd, libc::SOL_SOCKET, name, &state.timeouts[n]);
    }
    if state.linger[0] != 0 {
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_LINGER, &state.linger);
    }
}

fn connect(fd: i32, name: &[u8], len: u32) -> Result<(), Errno> {
    // SAFETY: the address lives over the call.
    unsafe { syscalls::call!(libc::SYS_connect, fd, name.as_ptr(), len) }.map(|_| ())
}

fn bind(fd: i32, state: &mut SocketState) -> Result<(), Errno> {
    let len = state.lengths[0];
    if len == 0 {
        return Ok(());
    }
    if state.kind[0] == libc::AF_NETLINK {
        // The kernel chooses the number, which was that of the previous process.
        state.name[4..8].fill(0);
    }
    let connected = state.lengths[1] > 0;
    let begun = syscalls::now_ns();
    let mut removed = false;
    loop {
        // SAFETY: the address lives over the call.
        match unsafe { syscalls::call!(libc::SYS_bind, fd, state.name.as_ptr(), len) } {
            Ok(_) => return Ok(()),
            Err(libc::EADDRINUSE) if !removed && is_left_over(state) => {
                removed = true;
                let mut terminated = [0u8; ADDRESS_BYTES];
                terminated[..ADDRESS_BYTES - 2].copy_from_slice(&state.name[2..]);
                // SAFETY: terminated path.
                let _ = unsafe { syscalls::call!(libc::SYS_unlink, terminated.as_ptr()) };
            }
            // The previous incarnation may not have ended yet.
            Err(libc::EADDRINUSE) if syscalls::now_ns() - begun < PREDECESSOR_PATIENCE_NS => {
                syscalls::pause(PAUSE_NS);
            }
            // The kernel chose the address when the socket was connected.
            Err(_) if connected => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
}

/// Whether the path of a Unix socket is one that nobody listens at any more.
fn is_left_over(state: &SocketState) -> bool {
    let [domain, kind, _] = state.kind;
    if domain != libc::AF_UNIX || state.name[2] == 0 {
        return false;
    }
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory involved.
    let Ok(fd) = (unsafe { syscalls::call!(libc::SYS_socket, domain, kind, 0) }) else {
        return false;
    };
    let answer = connect(fd as i32, &state.name, state.lengths[0]);
    syscalls::close(fd as i32);
    answer == Err(libc::ECONNREFUSED)
}

/// Sets the flags, in the restored process.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let fd = entry.fd;
    set_flags(entry)
        .map_err(|errno| area.refuse(Refusal::NotMade { fd, path: Shown(b"a socket"), errno }))
}
