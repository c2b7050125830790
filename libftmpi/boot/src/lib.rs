//! The preloaded library: takes and restores the image of its process.
