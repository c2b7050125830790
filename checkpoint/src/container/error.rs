//! Why a container is refused: every text.

use super::header::VERSION;

/// Why a container is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The first bytes are not those of an image.
    #[error("not an image: wrong magic number; use an older image")]
    NotAnImage,
    /// Another version of ftmpi made the container.
    #[error(
        "image format {0} is unknown here (this is format {VERSION}); use the ftmpi that made it"
    )]
    Version(u32),
    /// The header's checksum is wrong.
    #[error("image damaged: checksum of the header; use an older image")]
    HeaderChecksum,
    /// A chunk has impossible lengths or flags.
    #[error("image damaged: chunk {chunk} has impossible lengths or flags; use an older image")]
    BadChunk {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// A chunk's checksum is wrong.
    #[error("image damaged: checksum of chunk {chunk}; use an older image")]
    ChunkChecksum {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// A chunk's checksum is right, but the chunk does not decompress to its length.
    #[error("image damaged: chunk {chunk} does not decompress; use an older image")]
    Decompress {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// An earlier container holds a chunk, and this reader needs complete containers.
    #[error("chunk {chunk} of the image is in an earlier image, which is not at hand")]
    Elsewhere {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// A chunk is encrypted.
    #[error(
        "the image is encrypted, and its key is not at hand; name the key with --image-key (default: \
         image-key in the job's directory)"
    )]
    Sealed {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// A chunk is not encrypted and should be.
    #[error(
        "chunk {chunk} of the image is not encrypted, but all images of this job are; use an older image"
    )]
    NotSealed {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// A chunk cannot be decrypted.
    #[error(
        "chunk {chunk} of the image is encrypted with another key or was changed; use an older image"
    )]
    Opened {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// The chunks of an encrypted image do not belong together.
    #[error("the {chunks} chunks of the image do not belong together; use an older image")]
    Seal {
        /// The number of chunks that came.
        chunks: u64,
    },
    /// The trailer does not agree with the chunks.
    #[error(
        "image damaged: the trailer does not agree with its {chunks} chunks; use an older image"
    )]
    Trailer {
        /// The number of chunks that came.
        chunks: u64,
    },
    /// Bytes follow the trailer.
    #[error("image damaged: bytes after its end; use an older image")]
    TrailingBytes,
    /// The bytes end before the trailer.
    #[error("image incomplete: it breaks off after {bytes} bytes; use an older image")]
    Truncated {
        /// The number of bytes that came.
        bytes: u64,
    },
}
