//! Values that were chosen for speed or patience. Each has its unit and one line of reason.

/// Nanoseconds that all threads together may take to stop: a thread in the kernel does not stop.
pub const STOP_PATIENCE_NS: u64 = 1_000_000_000;
/// Nanoseconds that the children of a rank may take to stand still: they may have to be scheduled.
pub const CHILD_STOP_PATIENCE_NS: u64 = 2_000_000_000;
/// Nanoseconds that the children may take to write their images, while the rank stands still.
pub const CHILD_PATIENCE_NS: u64 = 10_000_000_000;
/// Nanoseconds until a child that did not answer is asked again: the rank stands still meanwhile.
pub const CHILD_SILENCE_NS: u64 = 30_000_000_000;
/// Looks at a child that blocks the signal, before the image is refused.
pub const CHILD_LOOKS: u32 = 20;
/// Nanoseconds between two such looks: a child that begins needs about a millisecond.
pub const CHILD_LOOK_NS: u64 = 2_000_000;
/// Bytes of memory of a child that the image of its rank may contain: the rank stands still
/// meanwhile, and contents of one file are bounded.
pub const CHILD_BYTES_MAX: u64 = 192 << 20;
/// Nanoseconds to wait for locks and leases that the previous incarnation's image child still
/// holds.
pub const PREDECESSOR_PATIENCE_NS: u64 = 5_000_000_000;
/// Nanoseconds between two attempts to get such a lock.
pub const PAUSE_NS: u64 = 2_000_000;
/// Milliseconds that a new process waits for a file that its agent may have kept: the agent answers
/// at once, unless the host is very busy.
pub const KEPT_FILE_PATIENCE_MS: i32 = 20_000;
/// Bytes from which on pages go into the pipe by `vmsplice`: for fewer, a copy is as fast.
pub const SPLICE_BYTES_MIN: usize = 16 << 10;
/// Records that the pipe may refer to and that the image child gives up later: the pipe holds 256
/// pages, and such records are mostly longer than 16 of them.
pub const UNREAD_RECORDS_MAX: usize = 32;
/// Bytes behind a mapped library, and around the thread pointer, where the code of the image child
/// may have data: several times what this library has there (0.6 MB).
pub const CODE_DATA_BYTES: usize = 4 << 20;
/// A record of pages ends at multiples of this address, so that the reader works while the image
/// child looks for zeros; in bytes.
pub const RECORD_BYTES: u64 = 4 << 20;
/// Bytes of zeros that end a record: fewer cost less than another record.
pub const ZERO_BYTES_MIN: u64 = 16 * 4096;
/// Bytes of one mapping of a data file that is part of an image: a larger file must stay.
pub const DATA_FILE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of all these mappings together: they make every image larger.
pub const DATA_FILES_BYTES_MAX: u64 = 1 << 30;
/// Timers that are made in vain before a restore gives up; the kernel counts their numbers
/// upwards.
pub const TIMER_ATTEMPTS: u32 = 200_000;
/// Watches that are begun in vain before a restore gives up; the kernel counts their numbers
/// upwards.
pub const WATCH_ATTEMPTS: u32 = 100_000;
/// Nanoseconds between two ticks of a kernel, at most: a coarse clock is so far behind the others.
pub const TICK_NS: i64 = 10_000_000;
/// Pages of shared memory that one `mincore` asks for; the answer has a byte for each.
pub const RESIDENT_PAGES: usize = 32_768;
/// Regions that one `PAGEMAP_SCAN` gives.
pub const SCAN_REGIONS: usize = 512;
