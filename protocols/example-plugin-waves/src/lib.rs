//! A protocol in waves as a library: `ftmpiexec --protocol plugin:libftmpi_example_waves.so`.
//!
//! The library exports blocking coordinated checkpoints ([`Coordinated`], of
//! blocking-vs-nonblocking-2008 §3). Its table states [`Recovery::Waves`]: after a failure all
//! ranks return to the last complete wave. `protocols/example-plugin` shows a protocol with code of
//! its own.

use ftmpi_plugin::guest::{Export, Memory, table};
use ftmpi_plugin::messages::Settings;
use ftmpi_plugin::table::{Recovery, Table};
use ftmpi_protocols::coordinated::{Coordinated, blocking::Blocking};
use ftmpi_protocols::protocol::Protocol;
use std::ffi::CStr;

struct Waves;

impl Export for Waves {
    const NAME: &'static CStr = c"waves";
    const RECOVERY: Recovery = Recovery::Waves;
    const LOGGER: bool = false;

    fn make(_: &Settings) -> Option<Box<dyn Protocol>> {
        Some(Box::new(Coordinated::new(Blocking)))
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

static TABLE: Table = table::<Waves>();

/// The one symbol of this library.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_protocol() -> *const Table {
    &raw const TABLE
}
