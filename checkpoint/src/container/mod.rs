//! The container of an image: the form in which images travel and lie on disk.
//!
//! | module | what |
//! | --- | --- |
//! | `header` | first bytes: which image, which version of the format |
//! | `chunk` | header and checksum of a chunk |
//! | `trailer` | last bytes: seal, note, trailer |
//! | `encode`, `workers` | writer; threads that encode chunks |
//! | `decode` | reader, and verifier for those who do not need the contents |
//! | `compression`, `encryption` | what happens to one chunk |
//! | `chunk_index`, `chunk_place` | incremental images: chunks that earlier images hold |
//! | `assemble` | an incremental image as a complete one |
//! | `error` | why a container is refused |
//!
//! A container holds any byte stream in chunks of at most [`CHUNK_BYTES_MAX`] raw bytes. Each chunk
//! is compressed or stored, and has a checksum. A header says which image it is, a trailer says how
//! much it holds. A *note* may follow the chunks: facts about the image that are needed without
//! reading it. The container does not interpret the note.
//!
//! ```text
//! header  (40)  magic "FTMPIIMG" | version u32 | rank u32 | incarnation u32 | 0 u32 | image u64
//!               | 0 u32 | crc32c u32
//! chunk   (16+) raw_len u32 | stored_len u32 | flags u32 | crc32c u32 | stored bytes
//! elsewhere     raw_len u32 | 40 u32 | ELSEWHERE u32 | crc32c u32 | place of the chunk (40)
//! seal (16+32)  0 u32 | 32 u32 | SEAL u32 | crc32c u32 | seal; of an encrypted image only
//! note    (16+) 0 u32 | note_len u32 | NOTE u32 | crc32c u32 | note
//! trailer (40)  0 u32 | 24 u32 | TRAILER u32 | crc32c u32 | chunks u64 | raw bytes u64
//!               | crc32c of all checksums u32 | note_len u32 (0: there is no note)
//! ```
//! All numbers are little-endian. See `chunk` for what a checksum covers.
//!
//! *Incremental images.* Instead of a chunk a container may hold the place of the chunk in an
//! earlier container of the same rank ([`ChunkPlace`]). [`Assembler`] puts the chunk where its
//! place stands and so gives a complete container. A chunk keeps its position among the chunks.
//! Readers see complete containers only. [`ChunkIndex`] is what a writer knows of chunks that are
//! stored.
//!
//! *Encrypted images* ([`Secret`]). Each chunk is encrypted after its compression. Its stored
//! bytes, checksum and place are those of the encrypted chunk. Storing, verifying and assembling
//! therefore need no key.
//!
//! Guarantees: no I/O except through the readers that a caller hands over. Memory is bounded by one
//! chunk (with workers, by their batches). Hostile input is refused with a typed error, never with
//! a panic. One `push` of n bytes gives at most n × 255 + 1 MiB bytes.

mod assemble;
mod chunk;
mod chunk_index;
mod chunk_place;
mod compression;
mod decode;
mod encode;
mod encryption;
mod error;
mod header;
mod trailer;
mod workers;

pub use assemble::{AssembleError, Assembler};
pub use chunk::CHUNK_BYTES_MAX;
pub use chunk_index::ChunkIndex;
pub use chunk_place::{CHUNK_PLACE_BYTES, ChunkPlace};
pub use compression::{Compression, ZSTD_LEVEL_MAX};
pub use decode::{Decoder, Verifier, is_sealed, note_of};
pub use encode::Encoder;
pub use encryption::{SALT_BYTES, Secret};
pub use error::ContainerError;
pub use header::{MAGIC, VERSION};
pub use trailer::{NOTE_BYTES_MAX, Summary};

#[cfg(test)]
mod encryption_tests;
#[cfg(test)]
mod tests;
