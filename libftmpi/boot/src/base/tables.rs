//! Tables in the reserved area, in addition to those of the image.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use ftmpi_checkpoint::stream::{Text, limit};

/// A copy of shared memory, made while the process stands still.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct SharedCopy {
    pub start: usize,
    pub end: usize,
    pub copy: usize,
    /// Which memory the mapping shows, and from which offset on.
    pub inode: u64,
    pub offset: usize,
}

impl SharedCopy {
    /// Whether both mappings show a piece of the same memory.
    pub fn is_alias(&self, other: &Self) -> bool {
        self.inode == other.inode
            && self.offset < other.offset + (other.end - other.start)
            && other.offset < self.offset + (self.end - self.start)
    }
}

/// A range that survives the restore.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    pub start: u64,
    pub end: u64,
}

/// What the restorer in C needs. `restorer.c` has the same structure.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Control {
    pub image_fd: i64,
    /// Number of the next record in the stream.
    pub sequence: u64,
    pub maps: u64,
    pub map_count: u64,
    pub files: u64,
    pub strings: u64,
    pub heap_start: u64,
    pub heap_end: u64,
    /// Stack and heap of the image are not where the kernel placed those of this process.
    pub is_elsewhere: u64,
    pub fs_base: u64,
    pub gs_base: u64,
    pub tid_address: u64,
    pub robust_head: u64,
    pub robust_len: u64,
    pub rseq_address: u64,
    pub rseq_len: u64,
    pub resume_sp: u64,
    pub resume_ip: u64,
    pub keep_count: u64,
    pub keep: [Keep; KEEP_MAX],
    /// As which rank and incarnation this process was started. The restored process needs both.
    pub rank: u32,
    pub incarnation: u32,
    /// [`ftmpi_wire::control::RankEnv::died`]
    pub died: u64,
    /// Bit 0: [`ftmpi_wire::control::RankEnv::together`]. Bit 1: the process is not the rank, but a
    /// living child of it.
    pub together: u64,
    pub streams: [StreamIdentity; 3],
    /// Lines for standard error, for each way in which the restorer can fail.
    pub line_broken_off: [u8; 160],
    pub line_damaged: [u8; 160],
    pub line_map: [u8; 160],
    pub line_state: [u8; 160],
}

impl Control {
    pub fn together(&self) -> bool {
        self.together & 1 != 0
    }

    pub fn is_child(&self) -> bool {
        self.together & 2 != 0
    }
}

pub const COPIES_MAX: usize = 1024;

/// Which file a standard stream is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamIdentity {
    pub device: u64,
    pub inode: u64,
    pub mode: u64,
}

/// A copied piece of contents.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Piece {
    /// Where the piece belongs: [`content_at`](ftmpi_checkpoint::stream::content_at).
    pub at: u64,
    /// Address of the copy.
    pub copy: usize,
    pub len: usize,
}

/// Words of a note about a file.
pub const FILE_NOTE_WORDS: usize = 8;

/// A note about the contents of a file ([`crate::memory::known_hashes`]).
pub type FileNote = [AtomicU64; FILE_NOTE_WORDS];

/// Notes about files. Two files with the same place take turns.
pub const FILE_NOTES: usize = 4096;

/// Files that may be data, at most. Further files are treated as libraries.
pub const DATA_FILES_MAX: usize = 256;

/// A file, as it was when the process stood still.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct DataFile {
    /// As `/proc/self/maps` shows them.
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub time_ns: u64,
    /// The image child sets the path, if the file is data.
    pub path: Text,
    /// The file may be data: it is not too large, and it can be looked at.
    pub may_be: u32,
    /// The image child has looked whether the file is a program or library.
    pub examined: u32,
}

/// How threads agree to stand still and to go on. All zero at the begin of each incarnation.
#[repr(C)]
#[derive(Debug)]
pub struct Parking {
    /// Lowest bit: threads are to stand still. From bit 3 on: how often that bit has changed.
    /// Between: how often threads were to look for signals again.
    pub round: AtomicU32,
    /// Threads that stand still.
    pub parked: AtomicU32,
    /// Entries of the two arrays below.
    pub count: AtomicU32,
    /// In a restored process: whether threads may go on. See `threads::parking`.
    pub gate: AtomicU32,
    /// In a restored process: 1 when the newest thread has left the stack on which it began.
    pub left_start_stack: AtomicU32,
    /// Pending signals that were written down.
    pub signals: AtomicU32,
    /// A thread could not write its signals down.
    pub too_many: AtomicU32,
    pub tids: [AtomicI32; limit::THREADS],
    pub states: [AtomicU32; limit::THREADS],
}

/// Ranges that survive the restore, at most.
pub const KEEP_MAX: usize = 16;
