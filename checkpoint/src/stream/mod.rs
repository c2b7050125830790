//! The raw image: what the boot library's image child writes, and what a new process restores.
//!
//! A sequence of records, each a [`RecordHeader`] and `len` bytes:
//! FACTS, DESCRIPTORS, FILES, MAPS, STRINGS (in this order, once each), then any number of PAGES
//! with ascending addresses, then END. Instead of any of them REFUSED may come, and is the last: the
//! child found that this process cannot be imaged, and says why.
//!
//! All structures are `#[repr(C)]`, little-endian, x86-64 only ([`Facts::arch`]), and hold numbers
//! only, so that the boot library can write and read them in place, without allocation. Everything
//! that decides whether an image fits comes before the first page: nothing is destroyed for an
//! image that does not fit.
//!
//! [`Watcher`] follows a stream without keeping it and tells whether it is whole; the bytes of a
//! stream are protected by the container around it.

mod watcher;

pub use watcher::{StreamError, Watcher};

/// First word of each record.
pub const RECORD_MAGIC: u32 = 0x4d54_4652;
/// Version of the stream.
pub const STREAM_VERSION: u32 = 2;
/// ELF number of x86-64.
pub const ARCH_X86_64: u32 = 62;

/// Bounds on the parts that are kept in the hole.
pub mod limit {
    /// Descriptors.
    pub const DESCRIPTORS: usize = 4096;
    /// Mapped files.
    pub const FILES: usize = 8192;
    /// Mappings (the kernel's own default limit is 65530).
    pub const MAPS: usize = 65_536;
    /// Bytes of all paths.
    pub const STRINGS: usize = 8 << 20;
    /// Bytes of a refusal.
    pub const REFUSAL: usize = 512;
}

/// Kinds of records.
pub mod kind {
    /// One [`super::Facts`].
    pub const FACTS: u32 = 1;
    /// [`super::Descriptor`]s.
    pub const DESCRIPTORS: u32 = 2;
    /// [`super::File`]s.
    pub const FILES: u32 = 3;
    /// [`super::Map`]s, ascending.
    pub const MAPS: u32 = 4;
    /// Bytes that [`super::Text`] refers to; each text is followed by a zero byte.
    pub const STRINGS: u32 = 5;
    /// Contents of memory from address `at`.
    pub const PAGES: u32 = 6;
    /// One [`super::Totals`].
    pub const END: u32 = 7;
    /// One line of text: no image.
    pub const REFUSED: u32 = 8;
}

/// Before each record.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordHeader {
    /// [`RECORD_MAGIC`].
    pub magic: u32,
    /// One of [`kind`].
    pub kind: u32,
    /// Position of the record in the stream, from 0.
    pub sequence: u64,
    /// PAGES: the address; otherwise 0.
    pub at: u64,
    /// Bytes that follow.
    pub len: u64,
}

/// A text in the STRINGS record.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text {
    /// Where it begins.
    pub offset: u32,
    /// Its length, without the zero.
    pub len: u32,
}

/// What binds an image to a kind of processor: resolved IFUNCs, size of the saved registers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// CPUID leaf 1 (ecx, edx), leaf 7.0 (ebx, ecx, edx), leaf 7.1 (eax), leaf 0x80000001
    /// (ecx, edx).
    pub features: [u32; 8],
    /// XCR0.
    pub xcr0: u64,
    /// Bytes of the XSAVE area.
    pub xsave_len: u64,
}

/// A signal's action, as the kernel knows it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignalAction {
    /// Handler.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Return trampoline.
    pub restorer: u64,
    /// Blocked meanwhile.
    pub mask: u64,
}

/// An interval timer: interval and value, each seconds and microseconds.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntervalTimer {
    /// seconds, microseconds of the interval; seconds, microseconds until it fires.
    pub words: [i64; 4],
}

/// Facts about the process as a whole.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// [`STREAM_VERSION`].
    pub version: u32,
    /// `size_of::<Facts>()`.
    pub size: u32,
    /// [`ARCH_X86_64`].
    pub arch: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Number of the image.
    pub image_no: u64,
    /// Of which rank.
    pub rank: u32,
    /// In which life.
    pub incarnation: u32,
    /// Process and main thread id then.
    pub pid: i32,
    /// `umask`.
    pub umask: u32,
    /// Must be equal: start of the heap.
    pub heap_start: u64,
    /// End of the heap.
    pub heap_end: u64,
    /// Must be equal: where the vDSO lies.
    pub vdso_start: u64,
    /// Must be equal: where it ends.
    pub vdso_end: u64,
    /// Must be equal: what is in it.
    pub vdso_hash: u64,
    /// Must be equal: end of the stack's mapping.
    pub stack_end: u64,
    /// Must be equal: soft limit on the stack.
    pub stack_limit: u64,
    /// Must be equal: length of the window for shared memory (a limit on address space decides).
    pub window_len: u64,
    /// Must be equal.
    pub processor: Processor,
    /// Thread pointer.
    pub fs_base: u64,
    /// The other segment base.
    pub gs_base: u64,
    /// Where the C library keeps the thread's id (0: unknown).
    pub tid_address: u64,
    /// List of robust mutexes.
    pub robust_head: u64,
    /// Its length argument.
    pub robust_len: u64,
    /// Registered restartable-sequence area (0: none).
    pub rseq_address: u64,
    /// Its length argument.
    pub rseq_len: u64,
    /// Stack pointer to resume with.
    pub resume_sp: u64,
    /// Instruction to resume at.
    pub resume_ip: u64,
    /// Blocked signals.
    pub signal_mask: u64,
    /// Pending signals.
    pub signals_pending: u64,
    /// Alternative signal stack: address.
    pub altstack_sp: u64,
    /// Its flags.
    pub altstack_flags: u64,
    /// Its size.
    pub altstack_len: u64,
    /// Real, virtual, profiling.
    pub timers: [IntervalTimer; 3],
    /// Actions of signals 1 to 64.
    pub actions: [SignalAction; 64],
    /// Working directory.
    pub cwd: Text,
    /// The executable.
    pub executable: Text,
    /// Numbers of what follows: descriptors, files, maps.
    pub descriptors: u32,
    /// See above.
    pub files: u32,
    /// See above.
    pub maps: u32,
    /// Bytes of STRINGS.
    pub strings_len: u32,
}

/// How a descriptor comes back.
pub mod descriptor {
    /// Standard stream `fd`, as the launcher gave it: keep the new process's.
    pub const KEEP: u32 = 0;
    /// The same open file as descriptor `other`, which comes earlier.
    pub const DUPLICATE: u32 = 1;
    /// Open the path again, seek to the offset.
    pub const REOPEN: u32 = 2;
    /// Like `REOPEN`, and cut the file to its recorded size if nobody else has it open: an
    /// append-only file that was ours alone.
    pub const REOPEN_CUT: u32 = 3;
    /// The same open file as standard stream `other`, as the launcher gave it.
    pub const STREAM: u32 = 4;
}

/// One open descriptor of the program.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Its number.
    pub fd: i32,
    /// One of [`descriptor`].
    pub how: u32,
    /// For `DUPLICATE` and `STREAM`.
    pub other: i32,
    /// `FD_CLOEXEC`.
    pub fd_flags: u32,
    /// Flags to open it with again.
    pub open_flags: u32,
    /// `st_mode`.
    pub mode: u32,
    /// Path.
    pub path: Text,
    /// Offset.
    pub offset: u64,
    /// Size of the file.
    pub size: u64,
    /// Device and inode then.
    pub device: u64,
    /// See above.
    pub inode: u64,
}

/// A file that is mapped.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct File {
    /// Path.
    pub path: Text,
    /// Size in bytes; must be equal if `hashed`.
    pub size: u64,
    /// [`Hash`] of its first [`HASHED_BYTES_MAX`] bytes; must be equal if `hashed`.
    pub hash: u64,
    /// Device and inode then.
    pub device: u64,
    /// See above.
    pub inode: u64,
    /// 1: privately mapped somewhere, so its contents matter.
    pub hashed: u32,
    /// 0.
    pub reserved: u32,
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
    /// No file behind it.
    pub const NO_FILE: u32 = u32::MAX;
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

/// At the end.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Records before this one.
    pub records: u64,
    /// Bytes in all PAGES.
    pub page_bytes: u64,
}

/// A quick hash that tells builds of a file apart (not secure: an image is trusted as the program
/// itself is). Bytes may come in pieces whose lengths are multiples of 8, except for the last.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}

impl Hash {
    /// Of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// With more bytes.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut state = self.0;
        let mut mix = |word: u64| {
            state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state ^= state >> 29;
        };
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            mix(u64::from_le_bytes([
                word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7],
            ]));
        }
        for &byte in words.remainder() {
            mix(u64::from(byte) | 0x100);
        }
        Self(state)
    }

    /// The value.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}
