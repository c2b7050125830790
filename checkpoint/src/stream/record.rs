//! Records: the frame of the raw image, and the structures that are in no table.

/// First word of each record.
pub const RECORD_MAGIC: u32 = 0x4d54_4652;
/// Version of the stream.
pub const STREAM_VERSION: u32 = 9;

/// Bounds on the parts that are kept in the reserved area.
pub mod limit {
    /// Descriptors.
    pub const DESCRIPTORS: usize = 4096;
    /// Locks and leases of all descriptors together.
    pub const LOCKS: usize = 4096;
    /// Ranges of memory with properties that their mappings do not tell.
    pub const RANGES: usize = 8192;
    /// What all `epoll` descriptors watch.
    pub const WATCHES: usize = 16_384;
    /// Mapped files.
    pub const FILES: usize = 8192;
    /// Mappings. The kernel's own default limit is 65530.
    pub const MAPS: usize = 65_536;
    /// Bytes of all paths.
    pub const STRINGS: usize = 8 << 20;
    /// Threads.
    pub const THREADS: usize = 4096;
    /// Timers of `timer_create`.
    pub const TIMERS: usize = 1024;
    /// Pending signals.
    pub const SIGNALS: usize = 4096;
    /// Pieces of contents.
    pub const CONTENTS: usize = 8192;
    /// Bytes of contents of one descriptor.
    pub const CONTENT_BYTES: u64 = 256 << 20;
    /// Bytes of a small file whose contents are in images although it has a name.
    pub const SMALL_FILE_BYTES: u64 = 16 << 20;
    /// Bytes of a refusal.
    pub const REFUSAL: usize = 512;
}

/// Kinds of records.
pub mod kind {
    /// One [`ProcessState`](crate::stream::ProcessState).
    pub const PROCESS: u32 = 1;
    /// [`Descriptor`](crate::stream::Descriptor)s.
    pub const DESCRIPTORS: u32 = 2;
    /// [`File`](crate::stream::File)s.
    pub const FILES: u32 = 3;
    /// [`Map`](crate::stream::Map)s, ascending.
    pub const MAPS: u32 = 4;
    /// Bytes that [`Text`](crate::stream::Text) refers to; each text is followed by a zero byte.
    pub const STRINGS: u32 = 5;
    /// [`Thread`](crate::stream::Thread)s, the main thread first.
    pub const THREADS: u32 = 6;
    /// [`Timer`](crate::stream::Timer)s.
    pub const TIMERS: u32 = 7;
    /// [`Signal`](crate::stream::Signal)s.
    pub const SIGNALS: u32 = 8;
    /// [`FileLock`](crate::stream::FileLock)s, by descriptor.
    pub const LOCKS: u32 = 9;
    /// [`Range`](crate::stream::Range)s; guards come last, and may lie in others.
    pub const RANGES: u32 = 10;
    /// [`Watch`](crate::stream::Watch)es, by descriptor.
    pub const WATCHES: u32 = 11;
    /// Each kind up to here comes once, and its number is its place in the stream.
    pub const LAST_TABLE: u32 = WATCHES;
    /// Bytes of the file, pipe or socket behind a descriptor; `at` is
    /// [`content_at`](crate::stream::content_at).
    pub const CONTENTS: u32 = 12;
    /// Contents of memory from address `at`.
    pub const PAGES: u32 = 13;
    /// One [`Totals`](crate::stream::Totals).
    pub const END: u32 = 14;
    /// One line of text: no image.
    pub const REFUSED: u32 = 15;
}

/// The header of a record.
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
    /// Its offset.
    pub offset: u32,
    /// Its length, without the zero.
    pub len: u32,
}

/// The address of contents: an index in the table of descriptors, and an offset in the file.
#[must_use]
pub const fn content_at(entry: usize, offset: u64) -> u64 {
    (entry as u64) << 48 | offset & ((1 << 48) - 1)
}

/// The last record.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Records before this one.
    pub records: u64,
    /// Bytes in all PAGES.
    pub page_bytes: u64,
}
