//! Why an image cannot be stored or read: every text.

use crate::image_note::NoteError;
use ftmpi_checkpoint::container::{AssembleError, ContainerError};
use ftmpi_wire::ImageId;
use std::io;
use std::path::PathBuf;

/// Why an image cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("{0} (make room on the checkpoint server's disk)")]
    NoSpace(#[source] io::Error),
    /// A file cannot be read or written.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The container is damaged.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The image cannot be assembled.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The note of the image cannot be understood.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A base of the image is missing or damaged.
    #[error("it needs image {} of incarnation {}: {why}", .base.image, .base.incarnation)]
    Base {
        /// The base.
        base: ImageId,
        /// The problem.
        #[source]
        why: io::Error,
    },
    /// The note and the chunks of the image differ about its bases.
    #[error("its note does not name its bases")]
    UnnamedBases,
    /// A chunk would be at a place that no container has.
    #[error("it refers to a chunk at an impossible place")]
    ImpossiblePlace,
    /// A client sends bytes in both ways.
    #[error("its bytes come both on the connection and through a file")]
    MixedSources,
    /// A client ends an image without bytes.
    #[error("nothing was received")]
    Empty,
    /// An image is to be sent that nobody has verified.
    #[error("it was not verified")]
    Unverified,
    /// The file has another length than its writer says.
    #[error("its file has {found} bytes, and {announced} were announced")]
    Length {
        /// Bytes of the file.
        found: u64,
        /// Bytes that the writer announced.
        announced: u64,
    },
    /// The container is that of another image.
    #[error(
        "the container holds image {} of rank {}, incarnation {}, but image {} of rank {}, incarnation \
         {} was announced", .found.image, .found.rank, .found.incarnation, .expected.image,
         .expected.rank, .expected.incarnation
    )]
    OtherImage {
        /// The image in the container.
        found: ImageId,
        /// The announced image.
        expected: ImageId,
    },
    /// The file of an image that is given up cannot be removed.
    #[error("{} stays", .0.display())]
    Stays(PathBuf),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace(error),
            _ => Self::Io(error),
        }
    }
}

/// The machines of the protocols take the text of an error.
impl From<StoreError> for String {
    fn from(error: StoreError) -> Self {
        error.to_string()
    }
}
