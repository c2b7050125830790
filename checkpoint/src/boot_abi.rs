//! The contract between the boot library (`libftmpi_boot.so`, preloaded into every rank) and the
//! runtime inside `libmpi.so.12`: one static table of C functions, found by
//! `dlsym(RTLD_DEFAULT, "ftmpi_boot_table")`.
//!
//! Guarantees: plain data and `extern "C"` functions only; the two libraries may be built at
//! different times as long as [`VERSION`] agrees. Everything in the table may be called at any moment, by one
//! thread at a time, also from the hook: nothing behind it allocates or locks.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Version of [`BootTable`]; the runtime refuses another.
pub const VERSION: u32 = 6;

/// Name of the exported symbol, with its terminating zero.
pub const SYMBOL: &[u8] = b"ftmpi_boot_table\0";

/// The signal by which the agent asks a rank to look at its control socket *now*: send it to the
/// main thread only (`tgkill(pid, pid, SIGNAL)`). Never send it to a process that has not said
/// `Hello`: its disposition would be the default one, which is death.
pub const SIGNAL: c_int = 62;

/// Exit code: the image that was to be restored is damaged (or its stream broke off): try the
/// next older one.
pub const EXIT_IMAGE_DAMAGED: i32 = 117;

/// Exit code: the image is sound but does not fit this machine, kernel, limit or binary; the line
/// on standard error says which. The same image may fit elsewhere.
pub const EXIT_IMAGE_MISFIT: i32 = 118;

/// First address of the reserved area that the engine keeps for itself in every rank.
pub const RESERVED_AREA_BASE: usize = 0x100_0000_0000;
/// Its length in bytes.
pub const RESERVED_AREA_LEN: usize = 32 << 20;
/// First address of the window for the runtime's shared memory.
pub const WINDOW_BASE: usize = 0x200_0000_0000;
/// Its length in bytes (less, where a limit on address space forbids it: see the table).
pub const WINDOW_LEN: usize = 64 << 30;

/// Called by the boot library's signal handler, on the main thread, with all signals blocked, at
/// an arbitrary point of the program.
pub type Hook = extern "C" fn();

/// What an image needs to know.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest {
    /// Where the image child writes the raw stream ([`crate::stream`]): a pipe, socket or file. The
    /// caller may close its copy as soon as `capture` returned.
    pub fd: c_int,
    /// Must be 0.
    pub reserved: c_int,
    /// The image's number; told again in the restored process.
    pub image_no: u64,
    /// Private anonymous memory whose contents are not wanted in the image, as pairs of begin and end on page
    /// boundaries: it is zero in the restored process. In this process they stay as they are; as soon as the image
    /// child runs it need not copy these pages when it writes them. May be null if `useless_len` is 0.
    pub useless: *const [u64; 2],
    /// How many pairs.
    pub useless_len: usize,
    /// The descriptors of the caller's own (beside those that a rank finds open when it starts) at
    /// [`ftmpi_wire::control::fds::FIRST_OWN`] and above, in ascending order. Any other one there is the
    /// program's, and there is no image while it is open. May be null if `own_len` is 0.
    pub own: *const c_int,
    /// How many.
    pub own_len: usize,
    /// Called when all other threads stand still, before the process is looked at: what it writes is in the
    /// image. It runs on a stack of the boot library's, with all signals blocked, and must not take locks
    /// that another thread may hold (nor allocate). Not 0: no image is taken; `capture` refuses with this
    /// `errno`.
    pub stopped: Option<extern "C" fn(context: *mut c_void) -> c_int>,
    /// Called in this life only, if `stopped` gave 0: the image child is made, or will not be. The other
    /// threads stand still until it returns.
    pub made: Option<extern "C" fn(context: *mut c_void)>,
    /// Called in every life that begins from the image, when all its threads are there and before any but
    /// the calling one goes on; the same rules as for `stopped` (but on that thread's own stack).
    pub restored: Option<extern "C" fn(context: *mut c_void)>,
    /// For all three.
    pub context: *mut c_void,
}

/// What `capture` tells.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct CaptureOutcome {
    /// How long this process stood still, in nanoseconds; 0 in the restored process.
    pub pause_ns: u64,
    /// Bytes that the image will have, about.
    pub estimate_bytes: u64,
    /// Number of the image taken, or of the image that this process was restored from.
    pub image_no: u64,
    /// 1 in the restored process.
    pub restored: c_int,
    /// The image child (clone child without exit signal; [`BootTable::reap`] collects it).
    pub child_pid: c_int,
}

/// The table. Fields up to `window_len` are data that the boot library writes at start; `restored` and
/// `incarnation` are others after `capture` returned 1.
#[repr(C)]
#[derive(Debug)]
pub struct BootTable {
    /// [`VERSION`].
    pub version: u32,
    /// Size of this structure in bytes.
    pub size: u32,
    /// 1 if this process was started as a rank (or by one, as a wrapper script does): the control
    /// socket and the status page are open. 0: all functions refuse.
    pub is_rank: c_int,
    /// 1 if this life began from an image.
    pub restored: AtomicI32,
    /// Who we are.
    pub rank: u32,
    /// In which life *now* (the environment of a restored process still tells the old one).
    pub incarnation: AtomicU32,
    /// [`SIGNAL`].
    pub signal: c_int,
    /// 0.
    pub reserved: c_int,
    /// A reserved, inaccessible range. The runtime maps all memory that it shares with others
    /// inside it with `MAP_FIXED`. It is never part of an image and is empty again after a restore.
    pub window_base: u64,
    /// Its length in bytes; 0 if there is none.
    pub window_len: u64,
    /// Sets the function that the signal handler calls; gives the number of signals that came while
    /// there was none, and forgets them. Call it outside of signal handlers (from `MPI_Init`).
    /// Also marks the library's descriptors close-on-exec. `None` clears.
    pub set_hook: extern "C" fn(hook: Option<Hook>) -> c_int,
    /// Takes an image of this process; the engine must be at rest. Any thread may call it (one at a
    /// time); all others stand still meanwhile. In the restored process the same thread returns.
    /// 0: running on, `out` is filled, the image streams in the background.
    /// 1: this is the *restored* process, in a later life: this call returns once more there.
    /// Negative: refused with this `errno`; `can_capture` says why.
    pub capture:
        unsafe extern "C" fn(request: *const CaptureRequest, out: *mut CaptureOutcome) -> c_int,
    /// Collects the image child. 1: still running; 0: none (left).
    pub reap: extern "C" fn() -> c_int,
    /// 0: an image could be taken now. Otherwise an `errno`, and in `text` (at most `len` bytes,
    /// zero-terminated) one line why not. The reasons may pass: ask again later. (Whose descriptors beyond
    /// the library's first are, only a request can tell.)
    pub can_capture: unsafe extern "C" fn(text: *mut c_char, len: usize) -> c_int,
    /// Why the latest call of `capture` refused: one line in `text` (at most `len` bytes,
    /// zero-terminated).
    pub why_refused: unsafe extern "C" fn(text: *mut c_char, len: usize),
    /// Tells which descriptors the program may neither close nor replace: bit `n % 64` of word `n / 64` stands
    /// for descriptor `n`, of `count` words that stay where they are. The caller sets a bit after it has opened
    /// one, and takes it back before it closes it.
    pub keep_open: extern "C" fn(words: *const AtomicU64, count: usize),
}

impl BootTable {
    /// In which life we are now.
    #[must_use]
    pub fn incarnation(&self) -> u32 {
        self.incarnation.load(Ordering::Relaxed)
    }

    /// Whether this life began from an image.
    #[must_use]
    pub fn restored(&self) -> bool {
        self.restored.load(Ordering::Relaxed) != 0
    }
}
