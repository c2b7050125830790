//! Detectors and recoveries from shared libraries, which a file of `--recovery` names.
//!
//! ```c
//! struct ftmpi_judge {                /* what the library gives; constant */
//!     char     magic[8];              /* "ftmpi/j" and a zero: never changes */
//!     uint32_t version, size;         /* never move; JUDGE_VERSION, sizeof(struct) */
//!     const char *name;
//!     void *(*make)(const struct ftmpi_host *);
//!     int32_t (*call)(void *judge, const uint8_t *input, size_t length,
//!                     struct ftmpi_bytes *reply);
//!     void (*unmake)(void *judge);
//! };
//! const struct ftmpi_judge *ftmpi_judge(void);         /* the symbol of the library */
//! ```
//!
//! `ftmpi_host` and `ftmpi_bytes` are those of [`crate::table`]. `call` gets an [`Input`] and
//! answers with an [`Output`], both encoded by `postcard`. The answer stays valid until the next
//! call. `call` returns 0, or [`PANICKED`] if the library has lost its way, or another number if it
//! has not understood the input. It must return soon: the launcher waits. Nothing may unwind out of
//! a function of the table. One thread at a time calls, in the launcher only. A library may also
//! have the symbol of a protocol.

pub mod guest;
#[cfg(feature = "host")]
pub mod host;

use crate::table::{Bytes, Host};
use ftmpi_protocols::judge::library::{Case, Found, Steps};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{c_char, c_void};

/// Begins every table.
pub const MAGIC: [u8; 8] = *b"ftmpi/j\0";
/// Of the table and of the words; both sides must have the same.
pub const JUDGE_VERSION: u32 = 1;
/// What `call` returns after a panic.
pub const PANICKED: i32 = 3;
/// The symbol of a library with detectors or recoveries.
pub const SYMBOL: &str = "ftmpi_judge";

/// What the library gives.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`JUDGE_VERSION`].
    pub version: u32,
    /// Bytes of this.
    pub size: u32,
    /// UTF-8 with a zero behind it.
    pub name: *const c_char,
    /// Makes what remembers.
    pub make: unsafe extern "C" fn(host: *const Host) -> *mut c_void,
    /// Something is asked.
    pub call: unsafe extern "C" fn(
        judge: *mut c_void,
        input: *const u8,
        length: usize,
        reply: *mut Bytes,
    ) -> i32,
    /// It is needed no more.
    pub unmake: unsafe extern "C" fn(judge: *mut c_void),
}

// SAFETY: a table is constant, and what its pointers lead to is, too.
unsafe impl Sync for Table {}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Input<'a> {
    /// The names of detectors and recoveries.
    Names,
    /// Whether a detector recognises its fault.
    Look {
        /// Its name.
        detector: &'a str,
        /// From the file of `--recovery`.
        settings: &'a str,
        /// What it looks at.
        case: Cow<'a, Case>,
    },
    /// What a recovery does.
    Recover {
        /// Its name.
        recovery: &'a str,
        /// From the file of `--recovery`.
        settings: &'a str,
        /// What it is about.
        case: Cow<'a, Case>,
        /// What the detector said.
        found: Cow<'a, Found>,
    },
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Output {
    /// To [`Input::Names`].
    Names {
        /// The detectors.
        detectors: Vec<String>,
        /// The recoveries.
        recoveries: Vec<String>,
    },
    /// To [`Input::Look`].
    Found(Option<Found>),
    /// To [`Input::Recover`].
    Steps(Option<Steps>),
}
