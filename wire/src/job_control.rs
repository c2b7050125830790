//! The questions that a running launcher answers through the socket of its job, and the answers.
//!
//! One line of JSON asks ([`Request`]). Lines of JSON answer ([`Answer`]), one after the other; the
//! last one is [`Answer::Done`] or [`Answer::Refused`], and the launcher closes the connection.

use crate::job_status::{Health, JobStatus};
use serde::{Deserialize, Serialize};

/// Version of requests and answers.
pub const VERSION: u32 = 1;
/// Name of the socket, in the directory of the job or in the folder of the launcher.
pub const SOCKET: &str = "control";
/// Bytes of a request at the most.
pub const REQUEST_BYTES_MAX: u64 = 4096;

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`] of the program that asks.
    pub version: u32,
    /// What is wanted.
    pub verb: Verb,
}

impl Request {
    /// Of this version.
    #[must_use]
    pub fn new(verb: Verb) -> Self {
        Self { version: VERSION, verb }
    }
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verb {
    /// The state of the job.
    Status,
    /// An image of every rank now.
    Images,
    /// A rank moves.
    Migrate {
        /// The rank.
        rank: u32,
        /// Name of the host.
        to: String,
    },
    /// All ranks leave a host, and no rank begins there any more.
    Drain {
        /// Name of the host.
        host: String,
    },
    /// A host takes ranks again.
    Undrain {
        /// Name of the host.
        host: String,
    },
    /// A host joins the job.
    Add {
        /// The host as `-hosts` names it: `name` or `name:slots`.
        host: String,
    },
    /// What monitoring says about a host.
    Health {
        /// Name of the host.
        host: String,
        /// What it says.
        health: Health,
        /// Why, in one line.
        why: Option<String>,
    },
    /// Last images, then the end of the job, which can be continued.
    End,
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The state of the job.
    Status(Box<JobStatus>),
    /// An image is durable.
    Image {
        /// Of this rank.
        rank: u32,
        /// Its number.
        image: u64,
        /// Bytes stored.
        bytes: u64,
    },
    /// A rank has no image.
    NoImage {
        /// The rank.
        rank: u32,
        /// Why.
        why: String,
    },
    /// Something for the user to read; the request goes on.
    Line(String),
    /// What was wanted is done.
    Done(String),
    /// It is not done; the text says why, and what to type instead.
    Refused(String),
}

impl Answer {
    /// Whether no other line follows.
    #[must_use]
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Refused(_))
    }
}
