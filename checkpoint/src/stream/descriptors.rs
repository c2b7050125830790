//! The tables DESCRIPTORS, LOCKS and WATCHES, and the contents of sockets.

use super::record::Text;

/// How a descriptor is restored.
pub mod descriptor {
    /// Standard stream `fd`, as the launcher gave it: the new process keeps its own.
    pub const KEEP: u32 = 0;
    /// The same open file as the earlier descriptor `other`.
    pub const DUPLICATE: u32 = 1;
    /// Open the path again, seek to the offset. `state[0]` is 1 if the contents are in the image: a
    /// restored [`REOPEN_CUT`] gives them back.
    pub const REOPEN: u32 = 2;
    /// As [`REOPEN`]. The file is cut to its recorded size if nobody else has it open. It was open
    /// for appending, or for reading and writing, in this process only.
    pub const REOPEN_CUT: u32 = 3;
    /// The same open file as standard stream `other`, as the launcher gave it.
    pub const STREAM: u32 = 4;
    /// A file without a name (deleted, `O_TMPFILE`, `memfd`): made from its contents.
    pub const RECREATE: u32 = 5;
    /// The reading end of a pipe of the program to itself, whose writing end is descriptor `other`.
    /// Made with the bytes that were in it.
    pub const PIPE: u32 = 6;
    /// An `eventfd`. `offset` is its counter; `size` is 1 if it is a semaphore.
    pub const EVENTFD: u32 = 7;
    /// The writing end of a [`PIPE`]. The reading end makes both. With a pipe, `other` is -1 if
    /// nobody has the other end.
    pub const PIPE_END: u32 = 8;
    /// The file of the earlier descriptor `other`, which is a [`RECREATE`], opened once more.
    pub const AGAIN: u32 = 9;
    /// As [`REOPEN`]. The library itself compares what the program reads of the file with what an
    /// earlier incarnation read, or takes the file back: a file of MPI.
    pub const REOPEN_GUARDED: u32 = 10;
    /// As [`REOPEN`]. It was open for writing, in this process only. (As a [`REOPEN_CUT`] was.)
    pub const REOPEN_ALONE: u32 = 11;
    /// An `epoll` descriptor. The table of [`Watch`](super::Watch)es tells what it watches.
    pub const EPOLL: u32 = 12;
    /// A `timerfd`. `state`: clock and flags, expirations that were not read, nanoseconds until it
    /// fires (or the time at which it fires), nanoseconds of the period.
    pub const TIMERFD: u32 = 13;
    /// A `signalfd`. `state[0]`: its signals.
    pub const SIGNALFD: u32 = 14;
    /// A descriptor of the process itself (`pidfd_open`), or, if `state[0]` is 1, of a process that
    /// has ended.
    pub const PIDFD: u32 = 15;
    /// One end of a `socketpair` of the program to itself, whose other end is descriptor `other`
    /// (-1: that end is closed). `state`: kind of socket and what is shut down, sizes of its
    /// buffers, time limits. Made with the bytes that wait in it, `size` at the most.
    pub const PAIR: u32 = 16;
    /// A socket that is connected to nobody: unused, bound, listening, or with an address to send
    /// datagrams to. Its contents are a [`SocketState`](super::SocketState).
    pub const SOCKET: u32 = 17;
    /// An `inotify` descriptor. The boot library remembers what it watches.
    pub const INOTIFY: u32 = 18;
    /// What the caller of the launcher passed on under the number `other`: the new process has it,
    /// or a descriptor for which each use fails.
    pub const OF_THE_CALLER: u32 = 20;
    /// In the image of a living child of a rank: the same open file as descriptor `other` of the
    /// rank.
    pub const OF_THE_RANK: u32 = 21;
}

/// One open descriptor of the program.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// The number of the descriptor.
    pub fd: i32,
    /// One of [`descriptor`].
    pub how: u32,
    /// The other descriptor of `DUPLICATE`, `STREAM`, `AGAIN`, `OF_THE_CALLER`, `OF_THE_RANK`,
    /// pipes and pairs.
    pub other: i32,
    /// `FD_CLOEXEC`.
    pub fd_flags: u32,
    /// Flags for opening the file again.
    pub open_flags: u32,
    /// `st_mode`.
    pub mode: u32,
    /// Path.
    pub path: Text,
    /// Offset.
    pub offset: u64,
    /// Size of the file, capacity of the pipe.
    pub size: u64,
    /// Device at the image.
    pub device: u64,
    /// Inode at the image.
    pub inode: u64,
    /// Time of the last write to the file, in nanoseconds since 1970.
    pub modified: u64,
    /// When the file was made, in nanoseconds since 1970; 0: not known.
    pub birth: u64,
    /// The receiver of the descriptor's signals (`F_SETOWN_EX`): one of [`owner`].
    pub owner: u32,
    /// The thread id at the image, with [`owner::THREAD`].
    pub owner_tid: i32,
    /// `F_SETSIG`.
    pub signal: i32,
    /// Seals of a `memfd` (`F_ADD_SEALS`).
    pub seals: u32,
    /// What the kernel keeps for a descriptor of this kind: see [`descriptor`].
    pub state: [u64; 4],
}

impl Descriptor {
    /// Whether the image has the contents of a file that is opened again.
    #[must_use]
    pub fn has_contents(&self) -> bool {
        matches!(self.how, descriptor::REOPEN | descriptor::REOPEN_CUT) && self.state[0] == 1
    }
}

/// Something that an `epoll` descriptor watches.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch {
    /// The descriptor that watches.
    pub holder: i32,
    /// The number under which a file is watched.
    pub target: i32,
    /// A descriptor of that file. It differs from `target` if the program has closed or replaced
    /// that number, and has the file open under another one.
    pub file: i32,
    /// Events, with their flags.
    pub events: u32,
    /// `epoll_event::data`
    pub data: u64,
}

/// Options of a socket that are kept: level and name. All are numbers.
pub const SOCKET_OPTIONS: [(i32, i32); 13] = [
    (libc::SOL_SOCKET, libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT),
    (libc::SOL_SOCKET, libc::SO_BROADCAST),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_PASSCRED),
    (libc::SOL_SOCKET, libc::SO_PRIORITY),
    (libc::IPPROTO_IP, libc::IP_TOS),
    (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL),
    (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT),
];

/// Bytes of an address of a socket, rounded up.
pub const ADDRESS_BYTES: usize = 128;

/// A socket that is connected to nobody.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketState {
    /// `SO_DOMAIN`, `SO_TYPE`, `SO_PROTOCOL`.
    pub kind: [i32; 3],
    /// 1: the socket listens.
    pub listens: u32,
    /// `SO_SNDBUF`, `SO_RCVBUF`, as the kernel tells them (twice what a program asks for).
    pub buffers: [i32; 2],
    /// Which of [`SOCKET_OPTIONS`] there are, one bit each.
    pub known: u32,
    /// Their values.
    pub values: [i32; SOCKET_OPTIONS.len()],
    /// `SO_RCVTIMEO`, `SO_SNDTIMEO`: seconds and microseconds.
    pub timeouts: [[i64; 2]; 2],
    /// `SO_LINGER`
    pub linger: [i32; 2],
    /// Bytes of `name` and `peer`; 0: there is none.
    pub lengths: [u32; 2],
    /// The address that the socket is bound to.
    pub name: [u8; ADDRESS_BYTES],
    /// The address that its datagrams go to.
    pub peer: [u8; ADDRESS_BYTES],
}

impl SocketState {
    /// All zero.
    pub const NONE: Self = Self {
        kind: [0; 3],
        listens: 0,
        buffers: [0; 2],
        known: 0,
        values: [0; SOCKET_OPTIONS.len()],
        timeouts: [[0; 2]; 2],
        linger: [0; 2],
        lengths: [0; 2],
        name: [0; ADDRESS_BYTES],
        peer: [0; ADDRESS_BYTES],
    };
}

/// Receivers of the signals of a descriptor.
pub mod owner {
    /// Nobody, or a process that need not know of this incarnation.
    pub const NONE: u32 = 0;
    /// The process.
    pub const PROCESS: u32 = 1;
    /// One of its threads.
    pub const THREAD: u32 = 2;
    /// The group that the process is in.
    pub const GROUP: u32 = 3;
}

/// A lock on a file, or a lease.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLock {
    /// The descriptor that it was taken through.
    pub fd: i32,
    /// One of [`lock`].
    pub kind: u32,
    /// 1: nobody else may have one; 0: a shared one.
    pub writes: u32,
    /// 0.
    pub reserved: u32,
    /// Where it begins, if it is of a part.
    pub start: u64,
    /// Bytes; 0: to the end, wherever that is.
    pub len: u64,
}

/// Locks on files.
pub mod lock {
    /// `flock`
    pub const FLOCK: u32 = 1;
    /// `fcntl`, of the process.
    pub const POSIX: u32 = 2;
    /// `fcntl`, of the open file.
    pub const OPEN_FILE: u32 = 3;
    /// `F_SETLEASE`
    pub const LEASE: u32 = 4;
}
