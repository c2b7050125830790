//! Communicators.

mod ranks;

pub use ranks::Ranks;
