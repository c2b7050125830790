//! The raw image: what the boot library's image child writes, and what a new process restores.
//!
//! | module | what |
//! | --- | --- |
//! | `record` | the frame: records, their kinds, bounds |
//! | `process`, `descriptors`, `memory` | the tables |
//! | `checker` | is a stream complete? |
//! | [`validate`] | can the tables be acted upon? |
//! | `inspect` | looks into an image without restoring it |
//!
//! A stream is a sequence of records, each a [`RecordHeader`] and `len` bytes. Each table comes
//! once, in this order: PROCESS, DESCRIPTORS, FILES, MAPS, STRINGS, THREADS, TIMERS, SIGNALS,
//! LOCKS, RANGES, WATCHES. Any number of CONTENTS follows (the bytes of files without a name, of
//! pipes and of sockets), then any number of PAGES with ascending addresses, then END. REFUSED may
//! come instead of any record, and is the last one: the child found that this process cannot be
//! imaged, and says why.
//!
//! All structures are `#[repr(C)]`, little-endian, for x86-64 only ([`ProcessState::arch`]). They
//! hold numbers only, so that the boot library can write and read them in place, without
//! allocation. Everything that decides whether an image fits comes before the first page: nothing
//! is destroyed for an image that does not fit.
//!
//! The container around a stream protects its bytes. A digest protects the tables as well
//! ([`ProcessState::digest`]).

mod checker;
mod descriptors;
mod hash;
mod inspect;
mod memory;
mod process;
mod record;
pub mod validate;

pub use checker::{StreamChecker, StreamError};
pub use descriptors::{
    ADDRESS_BYTES, Descriptor, FileLock, SOCKET_OPTIONS, SocketState, Watch, descriptor, lock,
    owner,
};
pub use hash::Hash;
pub use inspect::{Contents, InspectError, Inspector, Mapping, Open};
pub use memory::{File, HASHED_BYTES_MAX, Map, Range, map, range};
pub use process::{
    AFFINITY_WORDS, ARCH_X86_64, FEATURE_WORDS, IntervalTimer, LIMITS, PLACES, ProcessAttributes,
    ProcessState, Processor, Signal, SignalAction, Thread, ThreadAttributes, Timer, VDSO_FUNCTIONS,
};
pub use record::{
    RECORD_MAGIC, RecordHeader, STREAM_VERSION, Text, Totals, content_at, kind, limit,
};
