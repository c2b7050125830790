//! Why a container or record cannot be moved to or from an object store.

use ftmpi_checkpoint::container::ContainerError;
use std::io;

/// Why a container or record cannot be moved to or from an object store.
#[derive(Debug, thiserror::Error)]
pub enum ObjectStoreError {
    /// The object store refuses, or does not answer.
    #[cfg(feature = "object-store")]
    #[error("{address}: {text}")]
    Store {
        /// The address of the store.
        address: String,
        /// The answer.
        text: String,
    },
    /// The container is damaged.
    #[error(transparent)]
    Damaged(#[from] ContainerError),
    /// The file on this server's disk cannot be read or written.
    #[error("{0}")]
    Disk(#[from] io::Error),
}
