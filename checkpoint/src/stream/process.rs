//! The tables PROCESS, THREADS, TIMERS and SIGNALS.

use super::record::Text;

/// ELF number of x86-64.
pub const ARCH_X86_64: u32 = 62;

/// Words of CPUID in [`Processor::features`].
pub const FEATURE_WORDS: usize = 12;

/// Properties of the processor that an image depends on: resolved IFUNCs, size of saved registers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// Instructions of programs: words of CPUID, see `host::FEATURES`.
    pub features: [u32; FEATURE_WORDS],
    /// XCR0.
    pub xcr0: u64,
    /// Bytes of the XSAVE area.
    pub xsave_len: u64,
    /// Hash of the places of its parts.
    pub xsave_layout: u64,
}

/// Addresses in [`ProcessState::places`].
pub const PLACES: usize = 9;

/// Functions of the vDSO that programs and C libraries call: the index is that of
/// [`ProcessState::vdso_functions`].
pub const VDSO_FUNCTIONS: [&core::ffi::CStr; 6] = [
    c"__vdso_clock_gettime",
    c"__vdso_gettimeofday",
    c"__vdso_time",
    c"__vdso_getcpu",
    c"__vdso_clock_getres",
    c"__vdso_getrandom",
];

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
    /// [`STREAM_VERSION`](super::STREAM_VERSION).
    pub version: u32,
    /// `size_of::<ProcessState>()`.
    pub size: u32,
    /// [`ARCH_X86_64`].
    pub arch: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Number of the image.
    pub image_no: u64,
    /// A number for the boot of the host on which the image was taken; 0: not known.
    pub boot: u64,
    /// The rank.
    pub rank: u32,
    /// The incarnation.
    pub incarnation: u32,
    /// Process id at the image, and thread id of the main thread.
    pub pid: i32,
    /// `umask`.
    pub umask: u32,
    /// Start of the heap.
    pub heap_start: u64,
    /// End of the heap.
    pub heap_end: u64,
    /// Start of the data that the vDSO reads, right before it.
    pub vvar_start: u64,
    /// Start of the vDSO.
    pub vdso_start: u64,
    /// End of the vDSO.
    pub vdso_end: u64,
    /// Hash of the vDSO.
    pub vdso_hash: u64,
    /// Where its functions begin, in bytes from its start; 0: it has no such function.
    pub vdso_functions: [u32; VDSO_FUNCTIONS.len()],
    /// Threads that stand inside of the vDSO: the image fits the same vDSO only.
    pub inside_vdso: u32,
    /// 0.
    pub reserved_vdso: u32,
    /// End of the stack's mapping.
    pub stack_end: u64,
    /// Where the kernel has the start and end of code and data, the start of the stack, and start
    /// and end of arguments and environment.
    pub places: [u64; PLACES],
    /// Must be equal: soft limit on the stack.
    pub stack_limit: u64,
    /// Must be equal: length of the window for shared memory. A limit on address space decides it.
    pub window_len: u64,
    /// Every feature must be there, with the same XSAVE area.
    pub processor: Processor,
    /// The address at which the boot library assembles the process, on the reserved area's stack.
    pub resume_ip: u64,
    /// Soft and hard limits of the process, [`LIMITS`] of them.
    pub limits: [[u64; 2]; LIMITS],
    /// Soft and hard limits at the start of the process.
    pub limits_at_start: [[u64; 2]; LIMITS],
    /// Processors that the process was given at its start.
    pub affinity_at_start: [u64; AFFINITY_WORDS],
    /// `nice` at its start.
    pub nice_at_start: i32,
    /// 0.
    pub reserved: i32,
    /// Attributes with which the main thread was started.
    pub thread_attributes_at_start: ThreadAttributes,
    /// What the process has asked of the kernel.
    pub attributes: ProcessAttributes,
    /// The same at the start of the process.
    pub attributes_at_start: ProcessAttributes,
    /// Timers: real, virtual, profiling.
    pub timers: [IntervalTimer; 3],
    /// Actions of signals 1 to 64.
    pub actions: [SignalAction; 64],
    /// Working directory.
    pub cwd: Text,
    /// The executable.
    pub executable: Text,
    /// Number of descriptors.
    pub descriptors: u32,
    /// Number of files.
    pub files: u32,
    /// Number of mappings.
    pub maps: u32,
    /// Bytes of STRINGS.
    pub strings_len: u32,
    /// Number of threads.
    pub threads: u32,
    /// Number of timers.
    pub posix_timers: u32,
    /// Number of CONTENTS.
    pub contents: u32,
    /// Number of pending signals.
    pub signals: u32,
    /// Number of locks on files.
    pub locks: u32,
    /// Number of ranges.
    pub ranges: u32,
    /// Number of watches.
    pub watches: u32,
    /// 0.
    pub reserved_too: u32,
    /// [`validate::digest`](super::validate::digest) of this and all other tables.
    pub digest: u64,
}

/// Kinds of limits on resources that Linux has.
pub const LIMITS: usize = 16;
/// Words of a set of processors.
pub const AFFINITY_WORDS: usize = 16;

/// Attributes of a thread that its computation does not depend on.
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
    /// Priority, with real-time policies.
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

/// Attributes of a process that its computation does not depend on.
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
    /// Commands of `membarrier` for which the process has registered.
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

/// State of a thread, as the kernel knows it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thread {
    /// Thread id at the image.
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
    /// The length argument of the list.
    pub robust_len: u64,
    /// Registered restartable-sequence area (0: none).
    pub rseq_address: u64,
    /// The length argument of the area.
    pub rseq_len: u64,
    /// Alternative signal stack: address, flags, size.
    pub altstack: [u64; 3],
    /// The boot library's record of the thread: its counter, and the locks that it holds.
    pub notes: u64,
    /// Name, ended by a zero.
    pub name: [u8; 16],
    /// Processors that it may run on.
    pub affinity: [u64; AFFINITY_WORDS],
    /// The attributes of the thread.
    pub attributes: ThreadAttributes,
}

/// A timer of `timer_create`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timer {
    /// The kernel's number of the timer.
    pub id: i32,
    /// `SIGEV_*`.
    pub notify: i32,
    /// The signal.
    pub signal: i32,
    /// The thread that gets it, with `SIGEV_THREAD_ID`.
    pub tid: i32,
    /// The value that comes with the signal.
    pub value: u64,
    /// The clock.
    pub clock: i32,
    /// 0.
    pub reserved: i32,
    /// Seconds and nanoseconds of the interval, and until it fires.
    pub words: [i64; 4],
}

/// A pending signal.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signal {
    /// The thread for which it is pending; 0: for any thread.
    pub tid: i32,
    /// The number of the signal.
    pub number: i32,
    /// `siginfo_t`.
    pub info: [u64; 16],
}
