//! The contract between the boot library (`libftmpi_boot.so`, preloaded into every rank) and the
//! runtime inside `libmpi.so.12`: one static table of C functions. `dlsym(RTLD_DEFAULT,
//! "ftmpi_boot_table")` finds it.
//!
//! Guarantees: plain data and `extern "C"` functions only. The two libraries may be built at
//! different times as long as [`VERSION`] agrees. Everything in the table may be called at any
//! moment, by one thread at a time, also from the hook: no function allocates or locks.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Version of [`BootTable`]; the runtime refuses another.
pub const VERSION: u32 = 8;

/// Name of the exported symbol, with its terminating zero.
pub const SYMBOL: &[u8] = b"ftmpi_boot_table\0";

/// The signal by which the agent asks a rank to look at its control socket *now*. Send it to the
/// main thread only (`tgkill(pid, pid, SIGNAL)`). Never send it to a process that has not said
/// `Hello`: the default disposition is death.
pub const SIGNAL: c_int = 62;

/// Exit code: the image is damaged, or its stream broke off. Try the next older image.
pub const EXIT_IMAGE_DAMAGED: i32 = 117;

/// Exit code: the image is sound but does not fit this host, kernel, limit or binary. The line on
/// standard error says which. The same image may fit elsewhere.
pub const EXIT_IMAGE_MISFIT: i32 = 118;

/// Exit code: a file that the program had open is gone, and nobody has kept it. The line on
/// standard error names it.
pub const EXIT_IMAGE_FILE_GONE: i32 = 119;

/// First address of the reserved area that the engine keeps for itself in every rank.
///
/// The area and the window lie where no other owner of addresses has a claim: above the heap of a
/// position-independent program (0x5555…), and in the part of the address space that
/// AddressSanitizer, ThreadSanitizer (0x5500_0000_0000 to 0x5680_0000_0000) and MemorySanitizer
/// leave to programs. Their shadow memory takes nearly all the rest.
pub const RESERVED_AREA_BASE: usize = 0x5600_0000_0000;
/// Length of the reserved area in bytes.
pub const RESERVED_AREA_LEN: usize = 32 << 20;
/// First of the places for the vDSO of a kernel that is not the image's.
pub const VDSO_SLOTS_BASE: usize = RESERVED_AREA_BASE + (256 << 20);
/// Bytes of a place: its data and its code are some pages.
pub const VDSO_SLOT_LEN: usize = 1 << 20;
/// How many there are: a process takes one for each kernel that it comes to.
pub const VDSO_SLOTS: usize = 64;
/// First address of the window for the runtime's shared memory. The window ends below the end of
/// the part for programs: behind that end ThreadSanitizer has a mapping of the same kind, and the
/// kernel would make one mapping of both.
pub const WINDOW_BASE: usize = 0x566f_0000_0000;
/// Length of the window in bytes. Where a limit on address space forbids it, the window is smaller:
/// see the table.
pub const WINDOW_LEN: usize = 64 << 30;

/// Called by the boot library's signal handler, on the main thread, with all signals blocked, at an
/// arbitrary point of the program.
pub type Hook = extern "C" fn();

/// The parameters of an image.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest {
    /// Where the image child writes the raw stream ([`crate::stream`]): a pipe, socket or file. The
    /// caller may close its copy as soon as `capture` has returned.
    pub fd: c_int,
    /// Must be 0.
    pub reserved: c_int,
    /// The number of the image. The restored process learns it as well.
    pub image_no: u64,
    /// Private anonymous memory whose contents are not wanted in the image, as pairs of begin and
    /// end on page boundaries. It is zero in the restored process. In this process the pages stay;
    /// as soon as the image child runs, writing them costs no copy. May be null if `useless_len` is
    /// 0.
    pub useless: *const [u64; 2],
    /// Number of pairs.
    pub useless_len: usize,
    /// The caller's own descriptors in ascending order, without those that a rank finds open when
    /// it starts. Any other descriptor belongs to the program. There is no image while one of these
    /// has a number from [`ftmpi_wire::control::fds::FIRST_OWN`] on. May be null if `own_len` is 0.
    pub own: *const c_int,
    /// Number of descriptors.
    pub own_len: usize,
    /// Descriptors of files whose contents the caller guards
    /// ([`crate::stream::descriptor::REOPEN_GUARDED`]), in ascending order. May be null if
    /// `guarded_len` is 0.
    pub guarded: *const c_int,
    /// Number of descriptors.
    pub guarded_len: usize,
    /// Called when all other threads stand still, before the process is looked at: what it writes
    /// is in the image. It runs on a stack of the boot library, with all signals blocked. It must
    /// not allocate, nor take locks that another thread may hold. A result other than 0 prevents
    /// the image, and `capture` refuses with this `errno`.
    pub stopped: Option<extern "C" fn(context: *mut c_void) -> c_int>,
    /// Called in this incarnation only, if `stopped` gave 0: the image child exists, or will not
    /// exist. The other threads stand still until it returns.
    pub made: Option<extern "C" fn(context: *mut c_void)>,
    /// Called in every incarnation that begins from the image, when all its threads exist and
    /// before any but the calling one continues. The rules of `stopped` apply, but it runs on that
    /// thread's own stack.
    pub restored: Option<extern "C" fn(context: *mut c_void)>,
    /// The argument of all three functions.
    pub context: *mut c_void,
}

/// The result of `capture`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct CaptureOutcome {
    /// How long this process stood still, in nanoseconds. 0 in the restored process.
    pub pause_ns: u64,
    /// About how many bytes the image will have.
    pub estimate_bytes: u64,
    /// Number of the image taken, or of the image that this process was restored from.
    pub image_no: u64,
    /// 1 in the restored process.
    pub restored: c_int,
    /// The image child: a clone child without exit signal. [`BootTable::reap`] collects it.
    pub child_pid: c_int,
}

/// The table. The boot library writes the fields up to `window_len` at its start. `restored` and
/// `incarnation` differ after `capture` has returned 1.
#[repr(C)]
#[derive(Debug)]
pub struct BootTable {
    /// [`VERSION`].
    pub version: u32,
    /// Size of this structure in bytes.
    pub size: u32,
    /// 1 if this process is a rank, or was started by one (as by a wrapper script): the control
    /// socket and the status page are open. 0: all functions refuse.
    pub is_rank: c_int,
    /// 1 if this incarnation began from an image.
    pub restored: AtomicI32,
    /// The rank.
    pub rank: u32,
    /// The incarnation *now*. The environment of a restored process still has the earlier one.
    pub incarnation: AtomicU32,
    /// [`SIGNAL`].
    pub signal: c_int,
    /// 0.
    pub reserved: c_int,
    /// A reserved, inaccessible range. The runtime maps all memory that it shares with others
    /// inside it with `MAP_FIXED`. The range is never part of an image, and is empty after a
    /// restore.
    pub window_base: u64,
    /// Length of the window in bytes; 0 if there is none.
    pub window_len: u64,
    /// Sets the function that the signal handler calls. Returns the number of signals that came
    /// while there was none, and forgets them. Call it outside of signal handlers (from
    /// `MPI_Init`). Also marks the library's descriptors close-on-exec. `None` clears the function.
    pub set_hook: extern "C" fn(hook: Option<Hook>) -> c_int,
    /// Takes an image of this process. The engine must be at rest. Any thread may call it, one at a
    /// time; all others stand still meanwhile. In the restored process the same thread returns.
    ///
    /// 0: the process runs on, `out` is filled, the image streams in the background. 1: this is the
    /// *restored* process, in a later incarnation, where the call returns once more. Negative:
    /// refused with this `errno`; `can_capture` says why.
    pub capture:
        unsafe extern "C" fn(request: *const CaptureRequest, out: *mut CaptureOutcome) -> c_int,
    /// Collects the image child. 1: it still runs; 0: there is none (left).
    pub reap: extern "C" fn() -> c_int,
    /// 0: an image could be taken now. Otherwise an `errno`, and in `text` (at most `len` bytes,
    /// zero-terminated) one line with the reason. The reason may pass: ask again later. Only a
    /// request can tell which descriptors at [`ftmpi_wire::control::fds::FIRST_OWN`] and above are
    /// the program's.
    pub can_capture: unsafe extern "C" fn(text: *mut c_char, len: usize) -> c_int,
    /// The reason why the latest call of `capture` refused: one line in `text` (at most `len`
    /// bytes, zero-terminated).
    pub why_refused: unsafe extern "C" fn(text: *mut c_char, len: usize),
    /// Says which descriptors the program may neither close nor replace. Bit `n % 64` of word `n /
    /// 64` stands for descriptor `n`. The `count` words must stay where they are. The caller sets a
    /// bit after it has opened a descriptor, and clears it before it closes the descriptor.
    pub keep_open: extern "C" fn(words: *const AtomicU64, count: usize),
    /// The number of the calling thread, the same one in every incarnation of a program that makes
    /// its threads in the same way again. 0: it was not made by `pthread_create`.
    pub thread: extern "C" fn() -> u32,
}

impl BootTable {
    /// The incarnation now.
    #[must_use]
    pub fn incarnation(&self) -> u32 {
        self.incarnation.load(Ordering::Relaxed)
    }

    /// Whether this incarnation began from an image.
    #[must_use]
    pub fn restored(&self) -> bool {
        self.restored.load(Ordering::Relaxed) != 0
    }
}
