//! Why images of this host's ranks cannot be stored or restored: the texts that users read.

use ftmpi_wire::{ImageNo, Rank};

/// Why an image was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The protocol takes no images, or the launcher has not said where the servers are.
    #[error("there is no checkpoint server")]
    NoServer,
    /// The server did not answer, or refused the image; its own text.
    #[error("{0}")]
    Server(String),
    /// The file of a server on this host cannot be written; the server's own text.
    #[error("{0}")]
    File(String),
    /// A task of the transfer ended without a result.
    #[error("the transfer failed: {0}")]
    Task(String),
    /// The transfer was given up while the image was packed.
    #[error("its transfer was given up")]
    GivenUp,
    /// The pipe from the rank broke.
    #[error("reading it from the rank: {0}")]
    Read(String),
    /// The stream of the rank is not a whole image.
    #[error("{0}")]
    Stream(String),
    /// The stream was whole, but the rank died before it reported the image.
    #[error("its rank died before it reported the image")]
    RankDied,
    /// An event logger did not make the events durable that the image depends on; its own text.
    #[error("{0}")]
    Events(String),
}

/// Why an incarnation cannot begin from an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// No image is left, and the logs do not reach back to the start.
    #[error(
        "no image of it is left (of its cluster, if images are taken in waves), and the logs no \
         longer reach back to the start of the program"
    )]
    NothingLeft,
    /// All images were tried.
    #[error(
        "none of its images can be restored, and the logs no longer reach back to the start of \
         the program ({})", tried(.0)
    )]
    AllUnusable(Vec<(ImageNo, String)>),
    /// The server did not answer in time.
    #[error("its images cannot be fetched: {0}")]
    Unreachable(String),
    /// The server refuses, and asking again would not change that; its own text.
    #[error("{0}")]
    Refused(String),
    /// The server sent an image of another rank.
    #[error("the server sent an image of rank {0}")]
    WrongRank(Rank),
    /// Files cannot return to the image with the rank.
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// Why files cannot return to a wave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The journals do not reach back far enough.
    #[error(
        "no wave is left that can be read, and the files that the program changed ('{path}') can \
         return to wave {since} only; remove them and start the job again, without --restart"
    )]
    TooOld {
        /// The first of the files.
        path: String,
        /// The oldest wave to which the files can return.
        since: ImageNo,
    },
    /// A journal cannot be applied.
    #[error("the file '{path}' cannot be taken back to what it was at wave {wave}: {why}")]
    Journal {
        /// The file.
        path: String,
        /// The wave.
        wave: ImageNo,
        /// The text of the journal's error.
        why: String,
    },
    /// The task that applied the journals ended without a result.
    #[error("taking back the files of the program failed: {0}")]
    Task(String),
}

fn tried(unusable: &[(ImageNo, String)]) -> String {
    let lines = unusable.iter().map(|(image, why)| format!("image {image}: {why}"));
    lines.collect::<Vec<_>>().join("; ")
}
