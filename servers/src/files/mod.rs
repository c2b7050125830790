//! The ways to change stable storage: create, write, cut, sync, rename, remove, sync a directory.
//!
//! Servers and launcher change their files only through [`Files`]. A test can therefore let each
//! single change fail, or end the "process" or the "power" directly before it ([`Watch`]). In
//! production there is no watcher and nothing but the system call, unless the user asks for a slow
//! disk (`--inject slow:disk=TIME`).

mod append;
mod pieces;
mod read_ahead;
mod store_file;

pub use append::Appender;
pub use pieces::{Piece, Pieces};
pub use read_ahead::Source;
pub use store_file::{Files, Op, StoreFile, Watch};
