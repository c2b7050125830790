//! Protocols from shared libraries: `--protocol plugin:FILE`.
//!
//! | module | what |
//! | --- | --- |
//! | [`table`] | a table of C: the only thing that both sides must agree on byte by byte |
//! | [`messages`] | what goes through the table, as `postcard` encodes it |
//! | [`guest`] | the library's side: a `Protocol` becomes a table |
//! | [`judge`] | the same for detectors and recoveries of `--recovery` |
//! | [`host`] | ftmpi's side: a table becomes a `Protocol` (feature `host`) |
//!
//! Guarantees: trait objects of Rust, whose layout may change with the compiler, never cross the
//! border. A library of another version, or without a table, is refused with one line; ftmpi looks
//! at nothing in it but the table. Messages that make no sense end the job with one line.
//!
//! Rules for such a library:
//! - It keeps no state outside of what `make` returned. That state is part of process images, and
//!   of each of the many ranks of a simulation.
//! - It takes memory only from its [`table::Host`] ([`guest::Memory`] is its global allocator),
//!   because the engine may run while the program is within its own `malloc`.
//! - It starts no thread, opens nothing, and asks no clock.

pub mod guest;
#[cfg(feature = "host")]
pub mod host;
pub mod judge;
pub mod messages;
pub mod table;

#[cfg(all(test, feature = "host"))]
mod tests;
