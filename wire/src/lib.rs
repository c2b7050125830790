//! What ftmpi's processes send to one another: names, frames and their encodings.
//!
//! Guarantees: no I/O, no `unsafe`. Every decoder takes hostile bytes and answers with an error,
//! never with a panic. No allocation is larger than a constant times the given bytes.
//!
//! | module | between |
//! | --- | --- |
//! | [`control`] | a rank and the agent of its host, over a Unix socket that passes descriptors |
//! | [`direct_start`] | ranks that another launcher started, and the agents that they start |
//! | [`event_log`] | a rank and an event logger, over TCP |
//! | [`determinant`] | the record that both store |
//! | [`hello`] | the first messages on every authenticated TCP connection |
//! | [`image_store`] | an agent and a checkpoint server, over TCP |
//! | [`job_control`], [`job_status`] | a running launcher and its users, over a Unix socket |
//! | [`traits`] | the facts about a protocol, from the launcher to agents and ranks |
//! | [`status`], [`waiting`], [`call_trace`] | the memory that a rank and its agent share |
//! | [`header`] | the envelope of a message between two ranks |
//! | [`new_processes`] | a rank and the launcher, by way of the agent |
//! | [`names`] | the numbers of the protocols, as types |
#![forbid(unsafe_code)]

pub mod call_trace;
pub mod control;
pub mod determinant;
pub mod direct_start;
pub mod event_log;
pub mod foreign_launcher;
pub mod group_news;
pub mod header;
pub mod hello;
pub mod image_store;
pub mod job_control;
pub mod job_status;
pub mod names;
pub mod new_processes;
mod rank_env;
pub mod status;
pub mod traits;
pub mod waiting;

pub use determinant::Determinant;
pub use header::Header;
pub use names::*;
pub use traits::{Logging, ProtocolTraits, Recovery};

/// A frame that could not be decoded; the text says which part and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {why}")]
pub struct DecodeError {
    /// The kind of frame.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

impl DecodeError {
    /// An error about `what`, because of `why`.
    pub const fn new(what: &'static str, why: &'static str) -> Self {
        Self { what, why }
    }
}
