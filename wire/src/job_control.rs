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
/// Bytes of a request at the most: programs with their environment fit.
pub const REQUEST_BYTES_MAX: u64 = 16 << 20;

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
    /// Processes join the job. The connection stays, and the launcher writes on it what they print.
    Join(Box<JoinRequest>),
    /// The processes of a command that has asked for [`Verb::Join`] end.
    EndJoined {
        /// [`Answer::Joining`] has said it.
        number: u64,
        /// The exit code that the command is to have.
        code: i32,
    },
    /// Last images, then the end of the job, which can be continued.
    End,
}

/// Processes that join a running job, as one world. Words are text of
/// `ftmpi_options::os_text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// What they run, in the order of their ranks.
    pub parts: Vec<JoinPart>,
    /// Names of the hosts on which they may run; none: all hosts of the job.
    pub hosts: Vec<String>,
}

/// A program of [`JoinRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinPart {
    /// How many processes.
    pub count: u32,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// The working directory.
    pub directory: String,
}

/// Output of processes as a line can have it: a character for each byte.
#[must_use]
pub fn text_of_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of such a text.
#[must_use]
pub fn bytes_of_text(text: &str) -> Vec<u8> {
    text.chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect()
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
        /// The reason.
        why: String,
    },
    /// Something for the user to read; the request goes on.
    Line(String),
    /// Processes are about to join, under this number.
    Joining {
        /// For [`Verb::EndJoined`].
        number: u64,
    },
    /// They have all called `MPI_Init`.
    Joined {
        /// The number of the first one in the job.
        first: u32,
    },
    /// One of them has printed this.
    Output {
        /// On standard error.
        error: bool,
        /// See [`text_of_bytes`].
        text: String,
    },
    /// Their end.
    Ended {
        /// The exit code.
        code: i32,
        /// Why, if they have not all ended in order.
        why: Option<String>,
    },
    /// What was wanted is done.
    Done(String),
    /// It is not done; the text says why, and what to type instead.
    Refused(String),
}

impl Answer {
    /// Whether no other line follows.
    #[must_use]
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Refused(_) | Self::Ended { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_any_bytes_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of_text(&text_of_bytes(&bytes)), bytes);
    }
}
