//! Protocols of others: a shared library that `--protocol plugin:FILE` names.
//!
//! | module | what |
//! | --- | --- |
//! | [`table`] | the only thing that both sides must agree on byte by byte: a table of C |
//! | [`messages`] | what goes through it, as `postcard` encodes it |
//! | [`guest`] | the library's side: any [`Protocol`](ftmpi_protocols::protocol::Protocol) becomes a table |
//! | [`host`] | ftmpi's side: a table becomes a `Protocol` (feature `host`) |
//!
//! Guarantees: trait objects of Rust, whose layout may change with the compiler, never cross the
//! border; a library of another version, or that is none of ours, is refused with one line before
//! anything in it but its table is looked at; words that make no sense end the job with one line.
//!
//! What such a library must keep to:
//! - it keeps no state outside of what `make` returned: it is part of process images, and of each
//!   of the many ranks of a simulation;
//! - it takes memory only from the [`table::Host`] that it was given ([`guest::Memory`] as its
//!   global allocator): the engine may run while the program is within its own `malloc`;
//! - it starts no thread, opens nothing, and asks no clock.

pub mod guest;
#[cfg(feature = "host")]
pub mod host;
pub mod messages;
pub mod table;

#[cfg(all(test, feature = "host"))]
mod tests;
