//! Tuning constants of images. Measurements are in `docs/performance/log.md`.

/// Raw bytes for each worker before a batch begins: enough that handing it over costs little.
pub(crate) const BATCH_BYTES: usize = 1 << 20;
/// Incremental images that follow each other before there is a complete one again: a restore reads
/// from all of them.
pub(crate) const CHAIN_IMAGES_MAX: u32 = 16;
/// Percent of the used bytes that all containers of a chain may take before there is a complete
/// image again. This is the price of incremental images on the disk.
pub(crate) const CHAIN_BYTES_PERCENT_MAX: u64 = 150;
/// Bytes of one sample when a chunk is tested for compressibility.
pub(crate) const SAMPLE_BYTES: usize = 4096;
/// Samples of a chunk: testing all of it would take as long as compressing it.
pub(crate) const SAMPLES: usize = 3;
/// Samples of a chunk where the image before did not become smaller. Their place differs from chunk
/// to chunk.
pub(crate) const SAMPLES_OF_NOISE: usize = 1;
/// An image becomes smaller if more than one of so many bytes are compressed.
pub(crate) const SHRINKS_FROM: u64 = 32;
