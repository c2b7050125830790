//! What can be wrong with a table, or with a function that a generator does not understand.

use std::io;
use std::path::PathBuf;

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table or a source file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line of a table is wrong.
    #[error("{}:{line}", path.display())]
    Line {
        /// The table.
        path: PathBuf,
        /// Which line, and why.
        line: LineError,
    },
    /// A generator does not know what to write for a function or a constant.
    #[error("{0}")]
    Problem(#[from] Problem),
}

/// A line of a table is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{line}: {problem}")]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub problem: Problem,
}

/// What is wrong with a line, a function or a parameter.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum Problem {
    #[error("{0}: {1}")]
    Of(String, Box<Problem>),
    #[error("no parameter list: write (PARAMETERS) behind name and version")]
    NoParameterList,
    #[error("the parameter list does not end: a ) is missing")]
    ListDoesNotEnd,
    #[error("no name of a function")]
    NoName,
    #[error("{0} is not an MPI name: begin it with MPI_")]
    NotMpi(String),
    #[error("no version of the standard behind the name")]
    NoVersion,
    #[error("unknown standing {0}: write deprecated, removed or nothing")]
    UnknownStanding(String),
    #[error("cannot read {0:?} behind the parameters: write -> KIND or nothing")]
    Trailing(String),
    #[error("a parameter has no kind")]
    NoKind,
    #[error("unknown kind {0}: the kinds are at the head of the table")]
    UnknownKind(String),
    #[error("a length does not end: a ] is missing")]
    LengthDoesNotEnd,
    #[error("a parameter has no name")]
    NoParameterName,
    #[error("{0}: a returned text needs a length")]
    TextWithoutLength(String),
    #[error("{0} is there twice")]
    Twice(String),
    #[error("unknown section {0}")]
    UnknownSection(String),
    #[error("a constant stands before the first section")]
    BeforeFirstSection,
    #[error("no value behind the name of a constant")]
    NoValue,
    #[error("{0} is no value of a constant")]
    NotAValue(String),
    #[error("not a constant of mpi_preamble.h, to which it is translated")]
    NotInFirstInterface,
    #[error("returns a value: write the function by hand")]
    ReturnsValue,
    #[error("a buffer without a datatype: write the function by hand")]
    BufferWithoutDatatype,
    #[error("no request whose end gives the buffer back: write the function by hand")]
    NoRequest,
    #[error("an array of indices without their number: write the function by hand")]
    IndicesWithoutNumber,
    #[error("{0}: kind {1} has no rule: write the function by hand")]
    NoRule(String, String),
    #[error("{0}: no fixed room for the text of length {1:?}")]
    NoRoom(String, Option<String>),
    #[error("{0}: no rule for the length {1:?}")]
    UnknownLength(String, Option<String>),
}

impl Problem {
    /// The problem, and whose it is.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        Self::Of(name.to_owned(), Box::new(self))
    }

    /// The problem, and the line that has it.
    #[must_use]
    pub fn in_line(self, line: usize) -> LineError {
        LineError { line, problem: self }
    }
}
