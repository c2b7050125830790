//! The tables FILES, MAPS and RANGES.

use super::record::Text;

/// A file that is mapped.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct File {
    /// Path.
    pub path: Text,
    /// Size in bytes; must be equal if `hashed`.
    pub size: u64,
    /// [`Hash`](super::Hash) of its first [`HASHED_BYTES_MAX`] bytes; must be equal if `hashed`.
    pub hash: u64,
    /// Device and inode then.
    pub device: u64,
    /// See above.
    pub inode: u64,
    /// When the file was made, in nanoseconds since 1970; 0: not known.
    pub birth: u64,
    /// 1: privately mapped somewhere, so its contents matter.
    pub hashed: u32,
    /// A file without a name: its descriptor and one more; the path leads there, too. Otherwise 0.
    pub nameless: u32,
}

/// Of a larger file only so many bytes (and the size) are compared.
pub const HASHED_BYTES_MAX: u64 = 64 << 20;

/// Flags of a mapping.
pub mod map {
    /// `MAP_SHARED`.
    pub const SHARED: u32 = 1;
    /// The main stack: the kernel's own mapping.
    pub const STACK: u32 = 2;
    /// Grows downwards.
    pub const GROWS_DOWN: u32 = 4;
    /// May be made writable (a shared file is opened for writing).
    pub const MAY_WRITE: u32 = 8;
    /// `MADV_HUGEPAGE`.
    pub const HUGE: u32 = 16;
    /// `MADV_NOHUGEPAGE`.
    pub const NO_HUGE: u32 = 32;
    /// `MADV_DONTDUMP`.
    pub const DONT_DUMP: u32 = 64;
    /// Of a file that is no part of the image: all that it showed is in the stream. The mapping's
    /// offset says how many bytes that are, or 0.
    pub const CONTENTS: u32 = 128;
    /// `MADV_MERGEABLE`.
    pub const MERGEABLE: u32 = 256;
    /// `MAP_DROPPABLE`: what is in it may be gone at any time, and is gone in a restored process.
    pub const DROPPABLE: u32 = 512;
    /// No file behind it.
    pub const NO_FILE: u32 = u32::MAX;
}

/// Memory with something about it that [`Map`] does not tell: the image child does not have it, or
/// it is of pages.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// Of [`range`].
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// What there is about a range.
pub mod range {
    /// `mlock`.
    pub const LOCKED: u32 = 1;
    /// With it: `MLOCK_ONFAULT`.
    pub const ON_FAULT: u32 = 2;
    /// `MADV_DONTFORK`.
    pub const DONT_FORK: u32 = 4;
    /// `MADV_WIPEONFORK`.
    pub const WIPE_ON_FORK: u32 = 8;
    /// `MADV_GUARD_INSTALL`.
    pub const GUARD: u32 = 16;
    /// All there are.
    pub const ALL: u32 = 31;
}

/// A mapping.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Map {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Index of the file, or [`map::NO_FILE`].
    pub file: u32,
    /// `PROT_*`.
    pub prot: u32,
    /// Of [`map`].
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}
