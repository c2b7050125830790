//! The library's side: a [`Judge`] becomes a [`Table`].
//!
//! ```text
//! #[derive(Default)]
//! struct Mine { … }
//! impl Judge for Mine { … }
//! #[global_allocator]
//! static MEMORY: Memory = Memory;
//! static TABLE: Table = table::<Mine>();
//! #[unsafe(no_mangle)]
//! extern "C" fn ftmpi_judge() -> *const Table { &TABLE }
//! ```
//!
//! Guarantee: a panic of the judge ends the call, and no more: the launcher reports it, and the
//! next detector looks. That needs a library that is compiled with `panic = "unwind"`, which is
//! Cargo's default; with `abort` a panic ends the launcher, and with it the job.

use super::{Input, JUDGE_VERSION, MAGIC, Output, PANICKED, Table};
use crate::guest::take_host;
use crate::table::{Bytes, Host};
use ftmpi_protocols::judge::library::{Case, Found, Steps};
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Detectors and recoveries for others.
pub trait Judge: Default {
    /// Name of the library.
    const NAME: &'static CStr;
    /// Names of its detectors, none of which is built in.
    const DETECTORS: &'static [&'static str];
    /// Names of its recoveries, none of which is built in.
    const RECOVERIES: &'static [&'static str];
    /// Whether this detector recognises its fault. It hears of every fact that no detector before
    /// it has taken.
    fn look(&mut self, detector: &str, settings: &str, case: &Case) -> Option<Found>;
    /// What this recovery does; `None`: nothing, and the next detector looks.
    fn recover(
        &mut self,
        recovery: &str,
        settings: &str,
        case: &Case,
        found: &Found,
    ) -> Option<Steps>;
}

/// The table of a judge.
#[must_use]
pub const fn table<J: Judge>() -> Table {
    Table {
        magic: MAGIC,
        version: JUDGE_VERSION,
        size: size_of::<Table>() as u32,
        name: J::NAME.as_ptr(),
        make: make::<J>,
        call: call::<J>,
        unmake: unmake::<J>,
    }
}

/// One judge and its last reply.
struct Guest<J> {
    judge: J,
    reply: Vec<u8>,
}

unsafe extern "C" fn make<J: Judge>(host: *const Host) -> *mut c_void {
    take_host(host);
    let make = || Box::into_raw(Box::new(Guest { judge: J::default(), reply: Vec::new() })).cast();
    catch_unwind(make).unwrap_or(null_mut())
}

unsafe extern "C" fn unmake<J: Judge>(judge: *mut c_void) {
    // SAFETY: `make` made it, and nobody uses it any more.
    let guest = unsafe { Box::from_raw(judge.cast::<Guest<J>>()) };
    // The launcher ends: nothing is left to say.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(guest)));
}

unsafe extern "C" fn call<J: Judge>(
    judge: *mut c_void,
    input: *const u8,
    length: usize,
    reply: *mut Bytes,
) -> i32 {
    // SAFETY: `make` made it; one thread at a time calls, and no call is made within another.
    let guest = unsafe { &mut *judge.cast::<Guest<J>>() };
    // SAFETY: the caller's bytes, valid for this call.
    let input = unsafe { std::slice::from_raw_parts(input, length) };
    let Ok(input) = postcard::from_bytes::<Input<'_>>(input) else { return 1 };
    // What the judge remembers is its own: it may be asked again.
    let answered = catch_unwind(AssertUnwindSafe(|| answer(&mut guest.judge, input)));
    let Ok(output) = answered else { return PANICKED };
    guest.reply.clear();
    let buffer = std::mem::take(&mut guest.reply);
    let Ok(encoded) = postcard::to_extend(&output, buffer) else { return 2 };
    guest.reply = encoded;
    let bytes = Bytes { at: guest.reply.as_ptr(), length: guest.reply.len() };
    // SAFETY: the caller's place for the answer.
    unsafe { reply.write(bytes) };
    0
}

fn answer<J: Judge>(judge: &mut J, input: Input<'_>) -> Output {
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match input {
        Input::Names => {
            Output::Names { detectors: all(J::DETECTORS), recoveries: all(J::RECOVERIES) }
        }
        Input::Look { detector, settings, case } => {
            Output::Found(judge.look(detector, settings, &case))
        }
        Input::Recover { recovery, settings, case, found } => {
            Output::Steps(judge.recover(recovery, settings, &case, &found))
        }
    }
}
