//! The table of C between ftmpi and a library with a protocol.
//!
//! ```c
//! struct ftmpi_bytes { const uint8_t *at; size_t length; };
//! struct ftmpi_host {                 /* what ftmpi gives; lives as long as the process */
//!     uint32_t version, size;
//!     void *(*take)(size_t bytes, size_t align);
//!     void (*give)(void *block, size_t bytes, size_t align);
//! };
//! struct ftmpi_protocol {             /* what the library gives; constant */
//!     char     magic[8];              /* "ftmpi/p" and a zero: never changes */
//!     uint32_t version, size;         /* never move; VERSION, sizeof(struct) */
//!     uint32_t recovery;              /* 0: none, 1: the failed rank, 2: all, to the last wave */
//!     uint32_t logger;                /* 1: determinants go to an event logger */
//!     const char *name;
//!     void *(*make)(const struct ftmpi_host *, const uint8_t *settings, size_t length);
//!     int32_t (*call)(void *protocol, const uint8_t *input, size_t length,
//!                     struct ftmpi_bytes *reply);
//!     void (*unmake)(void *protocol);
//! };
//! const struct ftmpi_protocol *ftmpi_protocol(void);   /* the one symbol of the library */
//! ```
//!
//! `make` gets a [`Settings`](crate::messages::Settings), `call` an
//! [`Input`](crate::messages::Input), and answers with a [`Reply`](crate::messages::Reply), which
//! stays valid until the next call for the same protocol. A null pointer of `make` refuses the
//! settings; any number but 0 of `call` says that the input was not understood. One thread at a
//! time calls.

use std::ffi::{c_char, c_void};

/// Begins every table.
pub const MAGIC: [u8; 8] = *b"ftmpi/p\0";
/// Of the table and of the words; both sides must have the same.
pub const VERSION: u32 = 2;
/// The one symbol of a library.
pub const SYMBOL: &str = "ftmpi_protocol";

/// Bytes that belong to the side that wrote them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    /// Where they begin.
    pub at: *const u8,
    /// How many.
    pub length: usize,
}

/// What ftmpi gives.
#[repr(C)]
#[derive(Debug)]
pub struct Host {
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of this.
    pub size: u32,
    /// Takes a block of memory; null: there is none.
    pub take: unsafe extern "C" fn(bytes: usize, align: usize) -> *mut u8,
    /// Gives it back.
    pub give: unsafe extern "C" fn(block: *mut u8, bytes: usize, align: usize),
}

/// How a job with this protocol comes back after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Not at all.
    None,
    /// The failed rank is started again, alone, and repeats what was logged.
    Restart,
    /// All ranks return to the images of the last complete wave.
    Waves,
}

impl Recovery {
    /// In the table.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Restart => 1,
            Self::Waves => 2,
        }
    }

    /// From a table.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        [Self::None, Self::Restart, Self::Waves].into_iter().find(|known| known.number() == number)
    }
}

/// What the library gives.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of this.
    pub size: u32,
    /// [`Recovery::number`].
    pub recovery: u32,
    /// 1: determinants go to an event logger.
    pub logger: u32,
    /// UTF-8 with a zero behind it.
    pub name: *const c_char,
    /// A protocol with these settings.
    pub make:
        unsafe extern "C" fn(host: *const Host, settings: *const u8, length: usize) -> *mut c_void,
    /// Something happened, or is asked.
    pub call: unsafe extern "C" fn(
        protocol: *mut c_void,
        input: *const u8,
        length: usize,
        reply: *mut Bytes,
    ) -> i32,
    /// It is needed no more.
    pub unmake: unsafe extern "C" fn(protocol: *mut c_void),
}

// SAFETY: a table is constant, and what its pointers lead to is, too.
unsafe impl Sync for Table {}
