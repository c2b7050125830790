//! What comes of the transfers of images: stored by [`super::checkpoint`], found by
//! [`super::restore`].

use super::errors::{CheckpointError, RestoreError};
use super::image_cost::KernelTime;
use super::local::Copy;
use crate::agent_protocol::Start;
use ftmpi_checkpoint::container::ChunkIndex;
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_servers::client::Committed;
use ftmpi_wire::ImageNo;
use ftmpi_wire::image_store::Counts;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// How the transfer of an image to its server ended.
#[derive(Debug)]
pub struct StoredImage {
    /// The image's number.
    pub image: ImageNo,
    /// What the server committed, and what was packed.
    pub outcome: Result<(Committed, Packed), CheckpointError>,
}

/// A packed image.
#[derive(Debug)]
pub struct Packed {
    /// Where the program's streams stood.
    pub counts: Counts,
    /// The chunks that the next image of the chain may name.
    pub known: ChunkIndex,
    /// Whether compression makes images of this rank smaller, if that is known.
    pub shrinks: Option<bool>,
    /// The copy on this host.
    pub copy: Option<Copy>,
    /// By how much the image held up the rank.
    pub cost: Duration,
    /// What the process had spent in the kernel when the image had been streamed.
    pub kernel_time: Option<KernelTime>,
}

/// An image that streams into a new process.
#[derive(Debug)]
pub struct Stream {
    /// The process's end.
    pub pipe: OwnedFd,
    /// The image.
    pub facts: ImageFacts,
}

/// What came of the search for an image.
#[derive(Debug)]
pub struct Restore {
    /// The launcher's order.
    pub start: Start,
    /// Images that could not be used.
    pub unusable: Vec<(ImageNo, String)>,
    /// The stream; `None`: the rank begins from its start; or why the incarnation cannot begin.
    pub outcome: Result<Option<Stream>, RestoreError>,
}
