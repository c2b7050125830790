//! The tables DESCRIPTORS and LOCKS.

use super::record::Text;

/// How a descriptor is restored.
pub mod descriptor {
    /// Standard stream `fd`, as the launcher gave it: the new process keeps its own.
    pub const KEEP: u32 = 0;
    /// The same open file as the earlier descriptor `other`.
    pub const DUPLICATE: u32 = 1;
    /// Open the path again, seek to the offset.
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
    /// The writing end of a [`PIPE`]. The reading end makes both.
    pub const PIPE_END: u32 = 8;
    /// The file of the earlier descriptor `other`, which is a [`RECREATE`], opened once more.
    pub const AGAIN: u32 = 9;
    /// As [`REOPEN`]. The library itself compares what the program reads of the file with what an
    /// earlier incarnation read, or takes the file back: a file of MPI.
    pub const REOPEN_GUARDED: u32 = 10;
    /// As [`REOPEN`]. It was open for writing, in this process only. (As a [`REOPEN_CUT`] was.)
    pub const REOPEN_ALONE: u32 = 11;
}

/// One open descriptor of the program.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// The number of the descriptor.
    pub fd: i32,
    /// One of [`descriptor`].
    pub how: u32,
    /// The other descriptor of `DUPLICATE`, `STREAM`, `AGAIN` and pipes.
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
