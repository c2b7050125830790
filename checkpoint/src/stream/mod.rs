//! The raw image: what the boot library's image child writes, and what a new process restores.
//!
//! A sequence of records, each a [`RecordHeader`] and `len` bytes:
//! PROCESS, DESCRIPTORS, FILES, MAPS, STRINGS, THREADS, TIMERS, SIGNALS, LOCKS, RANGES (in this order, once
//! each), then any number of CONTENTS (what is in files without a name and in pipes), then any number of PAGES with
//! ascending addresses, then END. Instead of any of them REFUSED may come, and is the last: the child
//! found that this process cannot be imaged, and says why.
//!
//! All structures are `#[repr(C)]`, little-endian, x86-64 only ([`ProcessState::arch`]), and hold numbers
//! only, so that the boot library can write and read them in place, without allocation. Everything
//! that decides whether an image fits comes before the first page: nothing is destroyed for an
//! image that does not fit.
//!
//! [`Watcher`] follows a stream without keeping it and tells whether it is whole; the bytes of a
//! stream are protected by the container around it, the tables by a number over all of them as well
//! ([`ProcessState::digest`]), and [`sound`] says whether they can be acted upon.

mod checker;
mod inspect;
pub mod validate;

pub use checker::{StreamError, Watcher};
pub use inspect::{Contents, InspectError, Inspector, Mapping, Open};

/// First word of each record.
pub const RECORD_MAGIC: u32 = 0x4d54_4652;
/// Version of the stream.
pub const STREAM_VERSION: u32 = 6;
/// ELF number of x86-64.
pub const ARCH_X86_64: u32 = 62;

/// Bounds on the parts that are kept in the reserved area.
pub mod limit {
    /// Descriptors.
    pub const DESCRIPTORS: usize = 4096;
    /// Locks and leases of all descriptors together.
    pub const LOCKS: usize = 4096;
    /// Ranges of memory with something about them that their mappings do not tell.
    pub const RANGES: usize = 8192;
    /// Mapped files.
    pub const FILES: usize = 8192;
    /// Mappings (the kernel's own default limit is 65530).
    pub const MAPS: usize = 65_536;
    /// Bytes of all paths.
    pub const STRINGS: usize = 8 << 20;
    /// Threads.
    pub const THREADS: usize = 4096;
    /// Timers of `timer_create`.
    pub const TIMERS: usize = 1024;
    /// Waiting signals.
    pub const SIGNALS: usize = 4096;
    /// Pieces of contents.
    pub const CONTENTS: usize = 8192;
    /// Bytes of contents of one descriptor.
    pub const CONTENT_BYTES: u64 = 256 << 20;
    /// Bytes of a refusal.
    pub const REFUSAL: usize = 512;
}

/// Kinds of records.
pub mod kind {
    /// One [`super::ProcessState`].
    pub const PROCESS: u32 = 1;
    /// [`super::Descriptor`]s.
    pub const DESCRIPTORS: u32 = 2;
    /// [`super::File`]s.
    pub const FILES: u32 = 3;
    /// [`super::Map`]s, ascending.
    pub const MAPS: u32 = 4;
    /// Bytes that [`super::Text`] refers to; each text is followed by a zero byte.
    pub const STRINGS: u32 = 5;
    /// [`super::Thread`]s, the main thread first.
    pub const THREADS: u32 = 6;
    /// [`super::Timer`]s.
    pub const TIMERS: u32 = 7;
    /// [`super::Signal`]s.
    pub const SIGNALS: u32 = 8;
    /// [`super::FileLock`]s, by descriptor.
    pub const LOCKS: u32 = 9;
    /// [`super::Range`]s; guards come last, and may lie in others.
    pub const RANGES: u32 = 10;
    /// Up to here there is one of each, and the number tells the place in the stream.
    pub const LAST_TABLE: u32 = RANGES;
    /// Bytes of the file or pipe behind a descriptor; `at` is [`super::content_at`].
    pub const CONTENTS: u32 = 11;
    /// Contents of memory from address `at`.
    pub const PAGES: u32 = 12;
    /// One [`super::Totals`].
    pub const END: u32 = 13;
    /// One line of text: no image.
    pub const REFUSED: u32 = 14;
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
    /// PAGES: the address; CONTENTS: [`content_at`]; otherwise 0.
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

/// State of the process as a whole.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessState {
    /// [`STREAM_VERSION`].
    pub version: u32,
    /// `size_of::<ProcessState>()`.
    pub size: u32,
    /// [`ARCH_X86_64`].
    pub arch: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Number of the image.
    pub image_no: u64,
    /// Stands for the boot of the host that it was taken on; 0: not known.
    pub boot: u64,
    /// Of which rank.
    pub rank: u32,
    /// In which life.
    pub incarnation: u32,
    /// Process id then, and that of the main thread.
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
    /// Where the boot library puts the process together again, on the reserved area's stack.
    pub resume_ip: u64,
    /// Soft and hard limits of the process ([`LIMITS`] of them), and those that it was started with.
    pub limits: [[u64; 2]; LIMITS],
    /// See above.
    pub limits_at_start: [[u64; 2]; LIMITS],
    /// Processors that the process was given at its start.
    pub affinity_at_start: [u64; AFFINITY_WORDS],
    /// `nice` at its start.
    pub nice_at_start: i32,
    /// 0.
    pub reserved: i32,
    /// What the main thread was started with.
    pub thread_attributes_at_start: ThreadAttributes,
    /// What the process has asked the kernel for, and what it was started with.
    pub attributes: ProcessAttributes,
    /// See above.
    pub attributes_at_start: ProcessAttributes,
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
    /// Numbers of what follows: threads, timers, pieces of contents.
    pub threads: u32,
    /// See above.
    pub posix_timers: u32,
    /// See above.
    pub contents: u32,
    /// See above: waiting signals.
    pub signals: u32,
    /// See above: locks on files.
    pub locks: u32,
    /// See above: ranges.
    pub ranges: u32,
    /// [`validate::digest`] of this and all other tables.
    pub digest: u64,
}

/// Kinds of limits on resources that Linux has.
pub const LIMITS: usize = 16;
/// Words of a set of processors.
pub const AFFINITY_WORDS: usize = 16;

/// What a thread has asked the kernel for, and what decides over nothing that it computes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadAttributes {
    /// `PR_SET_NO_NEW_PRIVS`.
    pub no_new_privs: u32,
    /// `PR_SET_SECUREBITS`; `PR_SET_KEEPCAPS` is one of them.
    pub secure_bits: u32,
    /// `PR_SET_PDEATHSIG`.
    pub death_signal: i32,
    /// `SCHED_*`.
    pub policy: i32,
    /// With real-time policies.
    pub priority: i32,
    /// `ioprio_set`.
    pub io_priority: i32,
    /// `PR_SET_TIMERSLACK`.
    pub timer_slack: u64,
}

impl ThreadAttributes {
    /// All zero.
    pub const NONE: Self = Self {
        no_new_privs: 0,
        secure_bits: 0,
        death_signal: 0,
        policy: 0,
        priority: 0,
        io_priority: 0,
        timer_slack: 0,
    };
}

/// The same of the process as a whole.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessAttributes {
    /// `PR_SET_DUMPABLE`.
    pub dumpable: u32,
    /// `PR_SET_CHILD_SUBREAPER`.
    pub subreaper: u32,
    /// `PR_SET_THP_DISABLE`.
    pub no_huge_pages: u32,
    /// `/proc/self/oom_score_adj`.
    pub oom_score: i32,
    /// `personality`.
    pub personality: u32,
    /// `PR_SET_MEMORY_MERGE`.
    pub merges: u32,
    /// Commands of `membarrier` by which it has announced itself.
    pub barriers: u32,
}

impl ProcessAttributes {
    /// All zero.
    pub const NONE: Self = Self {
        dumpable: 0,
        subreaper: 0,
        no_huge_pages: 0,
        oom_score: 0,
        personality: 0,
        merges: 0,
        barriers: 0,
    };
}

/// What the kernel knows about a thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thread {
    /// Its id then.
    pub tid: i32,
    /// `nice`.
    pub nice: i32,
    /// Stack pointer and instruction to resume with.
    pub resume: [u64; 2],
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
    /// Alternative signal stack: address, flags, size.
    pub altstack: [u64; 3],
    /// The boot library's notes about the thread: its counter and the locks that it holds.
    pub notes: u64,
    /// Name, ended by a zero.
    pub name: [u8; 16],
    /// Processors that it may run on.
    pub affinity: [u64; AFFINITY_WORDS],
    /// What it has asked for.
    pub attributes: ThreadAttributes,
}

/// A timer of `timer_create`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timer {
    /// The kernel's number of it.
    pub id: i32,
    /// `SIGEV_*`.
    pub notify: i32,
    /// The signal.
    pub signal: i32,
    /// The thread that gets it, with `SIGEV_THREAD_ID`.
    pub tid: i32,
    /// What comes with the signal.
    pub value: u64,
    /// The clock.
    pub clock: i32,
    /// 0.
    pub reserved: i32,
    /// Seconds and nanoseconds of the interval, and until it fires.
    pub words: [i64; 4],
}

/// A signal that waits.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signal {
    /// For which thread; 0: for any.
    pub tid: i32,
    /// Which.
    pub number: i32,
    /// What comes with it (`siginfo_t`).
    pub info: [u64; 16],
}

/// Address of contents: which entry of the table of descriptors, and where in the file.
#[must_use]
pub const fn content_at(entry: usize, offset: u64) -> u64 {
    (entry as u64) << 48 | offset & ((1 << 48) - 1)
}

/// How a descriptor comes back.
pub mod descriptor {
    /// Standard stream `fd`, as the launcher gave it: keep the new process's.
    pub const KEEP: u32 = 0;
    /// The same open file as descriptor `other`, which comes earlier.
    pub const DUPLICATE: u32 = 1;
    /// Open the path again, seek to the offset.
    pub const REOPEN: u32 = 2;
    /// Like `REOPEN`, and cut the file to its recorded size if nobody else has it open: a file that
    /// was ours alone, appended to or open for reading and writing.
    pub const REOPEN_CUT: u32 = 3;
    /// The same open file as standard stream `other`, as the launcher gave it.
    pub const STREAM: u32 = 4;
    /// A file without a name (deleted, `O_TMPFILE`, `memfd`): made anew from its contents.
    pub const RECREATE: u32 = 5;
    /// The reading end of a pipe whose other end is descriptor `other`, both the program's: made
    /// anew with what was in it.
    pub const PIPE: u32 = 6;
    /// An `eventfd`; `offset` is its counter, `size` 1 if it is a semaphore.
    pub const EVENTFD: u32 = 7;
    /// The writing end of a [`PIPE`], which makes both.
    pub const PIPE_END: u32 = 8;
    /// The file of descriptor `other`, which is a [`RECREATE`] and comes earlier, opened once more.
    pub const AGAIN: u32 = 9;
}

/// One open descriptor of the program.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Its number.
    pub fd: i32,
    /// One of [`descriptor`].
    pub how: u32,
    /// For `DUPLICATE`, `STREAM` and `AGAIN`.
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
    /// Size of the file, capacity of the pipe.
    pub size: u64,
    /// Device and inode then.
    pub device: u64,
    /// See above.
    pub inode: u64,
    /// When the file had last been written to: nanoseconds since 1970.
    pub modified: u64,
    /// Who gets its signals (`F_SETOWN_EX`): one of [`owner`].
    pub owner: u32,
    /// With [`owner::THREAD`] its id then.
    pub owner_tid: i32,
    /// `F_SETSIG`.
    pub signal: i32,
    /// What may not be done to a `memfd` any more (`F_ADD_SEALS`).
    pub seals: u32,
}

/// Who gets the signals of a descriptor.
pub mod owner {
    /// Nobody, or somebody who is not to be told of this life.
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
    /// Of a file that is no part of the image: all that it showed is in the stream. The mapping's offset says how many
    /// bytes that are, or 0.
    pub const CONTENTS: u32 = 128;
    /// `MADV_MERGEABLE`.
    pub const MERGEABLE: u32 = 256;
    /// `MAP_DROPPABLE`: what is in it may be gone at any time, and is gone in a restored process.
    pub const DROPPABLE: u32 = 512;
    /// No file behind it.
    pub const NO_FILE: u32 = u32::MAX;
}

/// Memory with something about it that [`Map`] does not tell: the image child does not have it, or it is of pages.
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
